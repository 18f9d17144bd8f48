"""docker-compose.yml and what it mounts: checked as they stand, and run where there is a Docker engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.http import get
from tests.backends.plain_yaml import parse_yaml

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "collector-config"
COMPOSE = ROOT / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = parse_yaml(COMPOSE.read_text())["services"]
FAN_OUT = (CONFIG / "fan-out.yaml").read_text()
YAML_FILES = [COMPOSE, *sorted(CONFIG.rglob("*.yaml"))]
# Not in the image: a shell, or anything else to ask a server with.
NOTHING_TO_CHECK_WITH = {"collector"}


def variables(text: str) -> dict[str, str]:
    """Each variable that a Collector's config reads, with its default."""
    return dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", text))


class TestTheFilesThemselves:
    @pytest.mark.parametrize("file", YAML_FILES, ids=lambda file: file.name)
    def test_the_yaml_parses(self, file):
        assert parse_yaml(file.read_text())

    def test_these_services_and_no_others(self):
        assert set(SERVICES) == {"collector", "jaeger", "tempo", "grafana"}

    @pytest.mark.parametrize("name", SERVICES)
    def test_it_is_reached_from_this_machine_alone(self, name):
        assert SERVICES[name]["ports"]
        for port in SERVICES[name]["ports"]:
            assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
        assert "network_mode" not in SERVICES[name]

    def test_no_port_of_this_machine_is_given_out_twice(self):
        ports = [port.split(":")[1] for service in SERVICES.values() for port in service["ports"]]
        assert len(ports) == len(set(ports)) == 5

    @pytest.mark.parametrize("name", SERVICES)
    def test_its_image_has_an_exact_version(self, name):
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", SERVICES[name]["image"])

    @pytest.mark.parametrize("name", SERVICES)
    def test_it_has_a_health_check_where_its_image_has_something_to_check_with(self, name):
        assert ("healthcheck" in SERVICES[name]) is (name not in NOTHING_TO_CHECK_WITH)

    def test_every_file_that_is_mounted_is_there_and_every_volume_declared(self):
        declared = set(parse_yaml(COMPOSE.read_text())["volumes"])
        used = set()
        for service in SERVICES.values():
            for volume in service.get("volumes", ()):
                source, _, rest = volume.partition(":")
                if source.startswith("."):
                    assert (ROOT / source).exists(), source
                    assert rest.endswith(":ro"), "a file of the repository is never written to"
                else:
                    used.add(source)
        assert used == declared

    def test_every_file_of_grafana_and_tempo_is_mounted(self):
        mounted = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
        of_compose = [CONFIG / "tempo.yaml", *(CONFIG / "grafana").iterdir()]
        assert {f"./{path.relative_to(ROOT)}" for path in of_compose} <= mounted


class TestTheCollectorInIt:
    def test_it_is_given_the_config_that_is_mounted(self):
        mounted = [volume.split(":")[1] for volume in SERVICES["collector"]["volumes"]]
        assert SERVICES["collector"]["command"] == [f"--config={mounted[0]}"]
        assert SERVICES["collector"]["volumes"][0].startswith("./collector-config/fan-out.yaml:")

    def test_each_variable_that_is_set_is_read(self):
        assert set(SERVICES["collector"]["environment"]) <= set(variables(FAN_OUT))

    def test_each_address_that_it_uses_is_set(self):
        """The defaults are on loopback, where there is nobody inside a container."""
        environment = SERVICES["collector"]["environment"]
        used = re.findall(r"[\w/]+", environment["FAN_OUT_TO"])
        exporters = parse_yaml(FAN_OUT)["exporters"]
        unused = json.dumps([exporters[name] for name in exporters if name not in [*used, "file"]])
        for name, default in variables(FAN_OUT).items():
            if "127.0.0.1" in default or default.startswith("./"):
                assert name in environment or name in unused, name

    def test_it_sends_to_services_that_are_here(self):
        environment = SERVICES["collector"]["environment"]
        exporters = parse_yaml(FAN_OUT)["exporters"]
        for name in re.findall(r"[\w/]+", environment["FAN_OUT_TO"]):
            (variable,) = variables(exporters[name]["endpoint"])
            service, port = environment[variable].split(":")
            assert (service in SERVICES, port) == (True, "4317")

    def test_its_files_are_on_a_volume(self):
        folder = str(Path(SERVICES["collector"]["environment"]["SPANS_FILE"]).parent)
        assert f"recordings:{folder}" in SERVICES["collector"]["volumes"]


class TestGrafanaInIt:
    def test_its_data_sources_are_the_backends(self):
        sources = parse_yaml((CONFIG / "grafana" / "datasources.yaml").read_text())["datasources"]
        assert {one["uid"]: one["type"] for one in sources} == {"tempo": "tempo", "jaeger": "jaeger"}
        assert {one["url"] for one in sources} == {"http://tempo:3200", "http://jaeger:16686"}

    def test_its_dashboard_asks_data_sources_that_it_has(self):
        (file,) = (CONFIG / "grafana" / "dashboards").iterdir()
        dashboard = json.loads(file.read_text())
        assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]) > 2
        for panel in dashboard["panels"]:
            for asked in (panel, *panel["targets"]):
                assert asked["datasource"] == {"type": "tempo", "uid": "tempo"}

    def test_its_dashboards_are_read_from_where_they_are_mounted(self):
        (provider,) = parse_yaml((CONFIG / "grafana" / "dashboards.yaml").read_text())["providers"]
        path = provider["options"]["path"]
        assert f"./collector-config/grafana/dashboards:{path}:ro" in SERVICES["grafana"]["volumes"]


def test_tempo_keeps_strings_as_long_as_a_prompt():
    assert parse_yaml((CONFIG / "tempo.yaml").read_text())["distributor"]["max_attribute_bytes"] >= 262_144


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_docker_compose_understands_it():
    if shutil.which("docker") is None or docker("compose", "version").returncode:
        pytest.skip("docker compose is not on this machine")
    done = docker("compose", "config", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["services"]) == set(SERVICES)


@pytest.fixture
def brought_up() -> Iterator[None]:
    if shutil.which("docker") is None or docker("compose", "version").returncode:
        pytest.skip("docker compose is not on this machine")
    if docker("info").returncode:
        pytest.skip("there is no Docker engine")
    project = ("compose", "--project-name", "tracetape-test")
    try:
        done = docker(*project, "up", "--detach")
        assert done.returncode == 0, done.stderr
        yield
    finally:
        docker(*project, "down", "--volumes")


@pytest.mark.slow
def test_a_run_that_is_sent_to_it_is_in_the_file_in_jaeger_and_in_tempo(brought_up, tmp_path):
    import tracetape
    from tests.backends.program import run_program

    def until(done: Any, what: str) -> None:
        deadline = time.monotonic() + 180
        while not done():
            assert time.monotonic() < deadline, what
            time.sleep(1)

    def answers(url: str) -> bool:
        try:
            return get(url)[0] == 200
        except OSError:
            return False

    until(lambda: answers("http://127.0.0.1:16686/api/services"), "Jaeger is up")
    until(lambda: answers("http://127.0.0.1:3200/ready"), "Tempo is up")
    until(lambda: answers("http://127.0.0.1:3000/api/dashboards/uid/tracetape"), "Grafana has the dashboard")
    run_program("grpc", "payloads", str(tmp_path / "own"), "http://127.0.0.1:4317")
    own = tracetape.load(tmp_path / "own")
    until(lambda: answers(f"http://127.0.0.1:16686/api/v3/traces/{own.trace_id}"), "Jaeger has the run")
    until(lambda: answers(f"http://127.0.0.1:3200/api/v2/traces/{own.trace_id}"), "Tempo has the run")
    copied = docker(
        "compose", "--project-name", "tracetape-test", "cp", "collector:/recordings", str(tmp_path / "recordings")
    )
    assert copied.returncode == 0, copied.stderr
    assert tracetape.compare(own, tracetape.load(tmp_path / "recordings")) == []
