"""The backends themselves."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.backends.cache import BACKENDS, SOURCES
from tests.backends.http import get
from tests.backends.processes import Server, StartError, free_ports

__all__ = ["Collector", "Jaeger", "Kafka", "Phoenix", "validate"]


def validate(*configs: Path, env: Mapping[str, str] | None = None) -> str | None:
    """Why the real Collector refuses these configs, merged in this order; None where it takes them."""
    done = subprocess.run(
        [str(BACKENDS["collector"].path), "validate", *(f"--config={one}" for one in configs)],
        env=dict(env or {}),
        capture_output=True,
        text=True,
    )
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()


class Collector(Server):
    """An OpenTelemetry Collector with the configs of this repository, each address of which is a variable.

    grpc, http: its OTLP endpoints, where the config has an OTLP receiver
    """

    def __init__(
        self,
        config: Path | Sequence[Path],
        folder: Path,
        env: Mapping[str, str] | None = None,
        *,
        name: str = "collector",
    ) -> None:
        super().__init__(name, folder, ready_within=30)
        self._configs = [config] if isinstance(config, Path) else list(config)
        grpc, http, metrics, health = free_ports(4)
        self._addresses = {
            "OTLP_GRPC_ENDPOINT": f"127.0.0.1:{grpc}",
            "OTLP_HTTP_ENDPOINT": f"127.0.0.1:{http}",
            "METRICS_PORT": str(metrics),
            "HEALTH_ENDPOINT": f"127.0.0.1:{health}",
        }
        self._env = dict(env or {})
        self.grpc = f"http://127.0.0.1:{grpc}"
        self.http = f"http://127.0.0.1:{http}"
        self._metrics = f"http://127.0.0.1:{metrics}/metrics"

    def command(self) -> Sequence[str]:
        return [str(BACKENDS["collector"].path), *(f"--config={one.absolute()}" for one in self._configs)]

    def environment(self) -> Mapping[str, str]:
        return self._addresses | self._env

    def ready(self) -> bool:
        # Said when every receiver listens; they are started last.
        return "Everything is ready" in self.said()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of one of its own metrics over everything with those labels."""
        status, _, answer = get(self._metrics, accept="text/plain")
        assert status == 200, answer
        total = 0.0
        for line in answer.decode().splitlines():
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if not found or found[1] not in (name, f"{name}_total"):
                continue
            has = dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
            if all(has.get(key) == value for key, value in labels.items()):
                total += float(found[3])
        return total


class Jaeger(Server):
    """Jaeger 2 with its traces in memory. `query` is the address of its HTTP APIs; it has no user interface."""

    must_stop = False

    def __init__(self, folder: Path) -> None:
        super().__init__("jaeger", folder, ready_within=30, stops_within=2)
        grpc, http, query, query_grpc, health, metrics = free_ports(6)
        self.grpc = f"http://127.0.0.1:{grpc}"
        self.http = f"http://127.0.0.1:{http}"
        self.query = f"http://127.0.0.1:{query}"
        self._health = f"http://127.0.0.1:{health}/status"
        self._env = {
            "OTLP_GRPC_ENDPOINT": f"127.0.0.1:{grpc}",
            "OTLP_HTTP_ENDPOINT": f"127.0.0.1:{http}",
            "QUERY_HTTP_ENDPOINT": f"127.0.0.1:{query}",
            "QUERY_GRPC_ENDPOINT": f"127.0.0.1:{query_grpc}",
            "HEALTH_ENDPOINT": f"127.0.0.1:{health}",
            "METRICS_PORT": str(metrics),
        }

    def command(self) -> Sequence[str]:
        return [str(BACKENDS["jaeger"].path), f"--config={SOURCES / 'jaeger' / 'config.yaml'}"]

    def environment(self) -> Mapping[str, str]:
        return self._env

    def ready(self) -> bool:
        return _answers(self._health)


class Phoenix(Server):
    """Arize Phoenix with its own SQLite. `url` is the address of its APIs, and of OTLP over HTTP.

    Its gRPC port listens on every interface, which Phoenix leaves no choice about: it is not given away here.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__("phoenix", folder, ready_within=180)
        port, grpc = free_ports(2)
        self.url = f"http://127.0.0.1:{port}"
        self._env = {
            "PHOENIX_WORKING_DIR": str(folder / "phoenix"),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(grpc),
            "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        }
        (folder / "phoenix").mkdir(parents=True, exist_ok=True)

    def command(self) -> Sequence[str]:
        return [str(BACKENDS["phoenix"].path), "-m", "phoenix.server.main", "serve"]

    def environment(self) -> Mapping[str, str]:
        return self._env

    def ready(self) -> bool:
        return _answers(f"{self.url}/healthz")


class Kafka(Server):
    """One Kafka broker, its own controller. `brokers` is its address."""

    def __init__(self, folder: Path) -> None:
        super().__init__("kafka", folder, ready_within=60, stops_within=60)
        port, controller = free_ports(2)
        self.brokers = f"127.0.0.1:{port}"
        self._settings = folder / "server.properties"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(folder / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "message.max.bytes": "16777216",
        }
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        cluster = self._tool("kafka.tools.StorageTool", "random-uuid").strip().splitlines()[-1]
        self._tool("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._settings))

    def command(self) -> Sequence[str]:
        return [*self._java("512m"), "kafka.Kafka", str(self._settings)]

    def ready(self) -> bool:
        if "Kafka Server started" not in self.said():
            return False
        host, port = self.brokers.split(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True

    def create_topic(self, name: str, partitions: int) -> None:
        """Before anything subscribes to it: a Collector that subscribed to a missing topic sees nothing of it."""
        self._tool(
            "org.apache.kafka.tools.TopicCommand",
            f"--bootstrap-server={self.brokers}",
            "--create",
            f"--topic={name}",
            f"--partitions={partitions}",
            "--replication-factor=1",
        )

    def lag(self, group: str) -> int | None:
        """How many messages the group has not taken yet; None before it has taken any."""
        said = self._tool(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            f"--bootstrap-server={self.brokers}",
            "--describe",
            f"--group={group}",
        )
        behind = [line.split()[5] for line in said.splitlines() if line.startswith(f"{group} ")]
        return sum(int(one) for one in behind) if behind and all(one.isdecimal() for one in behind) else None

    def _java(self, memory: str) -> list[str]:
        quiet = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=info", f"-Dkafka.logs.dir={self.folder}")
        return ["java", f"-Xmx{memory}", *quiet, "-cp", f"{BACKENDS['kafka'].path}/*"]

    def _tool(self, main: str, *arguments: str) -> str:
        done = subprocess.run(
            [*self._java("256m"), main, *arguments], cwd=self.folder, capture_output=True, text=True
        )
        if done.returncode:
            raise StartError(f"{main} {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")
        return done.stdout


def _answers(url: str) -> bool:
    try:
        return get(url)[0] == 200
    except OSError:
        return False
