"""Makes the recordings beside this file again, with a real Collector.

    OTELCOL=/path/to/otelcol python tests/recordings/otelcol-0.161.0/make.py

Each file is one run of examples/broker on a host with OpenTelemetry of its own (tests/acceptance/otlp_host.py),
sent by a stock exporter to the Collector, which wrote the file. Every config of collector-config beside this
file is validated first, and its digest kept in collector-config.sha256.
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CONFIG = HERE / "collector-config"

sys.path.insert(0, str(ROOT))

from tests.acceptance.otlp_host import run_host  # noqa: E402

# The file, the exporter that its run was sent by, and the configs that the Collector had.
RECORDINGS = (
    ("broker.jsonl", "grpc", ("collector.yaml",)),
    ("broker.json.zst", "http", ("collector.yaml", "file-zstd.yaml")),
    ("broker.pb", "grpc", ("collector.yaml", "file-proto.yaml")),
)
# Of the Collector itself only errors are of interest, and the port of its own metrics may be taken.
QUIET = ("yaml:service::telemetry::metrics::level: none", "yaml:service::telemetry::logs::level: error")


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def options(configs: tuple[str, ...]) -> list[str]:
    return [f"--config={CONFIG / name}" for name in configs]


@contextmanager
def collector(configs: tuple[str, ...], file: Path) -> Iterator[dict[str, str]]:
    """Run the Collector; gives the endpoint of each protocol. Ended, it has flushed its file."""
    addresses = {"grpc": free_address(), "http": free_address()}
    command = [os.environ["OTELCOL"], *options(configs), *(f"--config={setting}" for setting in QUIET)]
    env = {
        "PATH": os.environ["PATH"],
        "OTLP_GRPC_ENDPOINT": addresses["grpc"],
        "OTLP_HTTP_ENDPOINT": addresses["http"],
        "SPANS_FILE": str(file),
    }
    with subprocess.Popen(command, env=env) as process:
        for address in addresses.values():
            wait_for(address, process)
        try:
            yield {protocol: f"http://{address}" for protocol, address in addresses.items()}
        finally:
            process.terminate()
    if process.returncode:
        sys.exit(f"the Collector ended with {process.returncode}")


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    while process.poll() is None:
        try:
            socket.create_connection((host, int(port))).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"the Collector ended with {process.returncode} before it listened on {address}")


def main() -> None:
    for config in sorted(CONFIG.iterdir()):
        command = [os.environ["OTELCOL"], "validate", *options(("collector.yaml", config.name))]
        subprocess.run(command, check=True)
    for name, protocol, configs in RECORDINGS:
        # A folder of its own: the Collector appends to a file that is there.
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / name
            with collector(configs, written) as endpoints:
                run_host(protocol, "broker", endpoints[protocol], env={"OTEL_SERVICE_NAME": "broker"})
            (HERE / name).write_bytes(written.read_bytes())
    (HERE / "collector-config.sha256").write_text(
        "".join(
            f"{hashlib.sha256(config.read_bytes()).hexdigest()}  {config.name}\n"
            for config in sorted(CONFIG.iterdir())
        )
    )


if __name__ == "__main__":
    main()
