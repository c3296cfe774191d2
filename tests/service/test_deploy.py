"""The files in deploy/: they fit together and to the code, name what is there, and follow the schemas of Kubernetes."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from runpy import run_path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.command_line import call
from tests.service.brokers_here import running

from benchmarks.brokers import LocalNats, free_port
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import anonymizer
from oboro.service.health import FIGURES, health_page
from oboro.service.settings import ServiceSettings
from oboro.stream.engine import Watch

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes"
KUBERNETES = ("1.32", "1.34")
METRIC = re.compile(r"\boboro_[a-z_]+\b")


def test_settings_and_recipe_fit_together() -> None:
    settings = ServiceSettings.load(DEPLOY / "service.yaml", {})
    assert anonymizer(Recipe.load(settings.recipe), settings.decide).fields == ["age", "sex", "note"]


def test_the_container_may_nothing() -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["oboro"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER 10001$", image, re.MULTILINE)
    assert "oboro warm-up" in image


def test_the_port_is_open_to_this_machine_only_unless_somebody_says_otherwise() -> None:
    assert ServiceSettings.load(DEPLOY / "service.yaml", {}).listen == "127.0.0.1:9464"
    assert "http://127.0.0.1:9464/health/ready" in (DEPLOY / "Dockerfile").read_text()


# The image and its compose file ---------------------------------------------------------------------------------------


def copied() -> list[str]:
    """What the Dockerfile copies out of the checkout."""
    found = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    return list(chain.from_iterable(line.split() for line in found))


def test_the_image_is_built_from_a_fresh_checkout() -> None:
    """Every path is under version control, is not kept out of the build, and all that the build of the package reads is there."""
    listed = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = [line[1:] for line in listed if line.startswith("!")]
    for path in copied():
        known = subprocess.run(
            ["git", "ls-files", "--", path], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert known or not (ROOT / ".git").exists(), path
        assert path in allowed, path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    read = [project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"]
    read += project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    read += project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    for path in read:
        assert any(path == one or path.startswith(f"{one}/") or fnmatch(path, one) for one in copied()), path


def test_everything_in_the_image_is_locked() -> None:
    installs = re.findall(r"pip install (.*?)(?: \\|$)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert [("--require-hashes" in one, "--no-deps" in one) for one in installs] == [(True, False), (False, True)]
    locked = (DEPLOY / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[a-z])", locked)
    versions = {}
    for entry in entries:
        line = entry.splitlines()[0]
        assert "--hash=sha256:" in entry, line
        name, version = re.match(r"([\w.-]+)==([^ ;]+)", line).groups()  # type: ignore[union-attr]
        versions.setdefault(canonicalize_name(name), set()).add(version)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = wanted["optional-dependencies"]
    named = chain(
        wanted["dependencies"],
        *(extras[one] for one in ("build", "nats", "redis", "kafka", "mqtt", "rabbitmq", "service")),
    )
    for one in map(Requirement, named):
        found = versions[canonicalize_name(one.name)]
        assert all(one.specifier.contains(version) for version in found), one
    tested = (ROOT / "requirements-dev.lock").read_text()
    for name, found in versions.items():
        assert any(f"\n{name}=={version}" in f"\n{tested}" for version in found), (
            f"{name} is not the one that is tested"
        )


def test_compose_names_what_is_there() -> None:
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in content["services"].items():
        if "build" in service:
            context = DEPLOY / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).is_file()
            assert (context / "pyproject.toml").is_file()
        for mounted in service["volumes"]:
            place = mounted.split(":")[0]
            assert place in content["volumes"] if "/" not in place else (DEPLOY / place).is_file(), (name, mounted)
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "test" in content["services"][other]["healthcheck"]
    settings = ServiceSettings.load(DEPLOY / "service.yaml", {})
    places = [settings.source, settings.target, str(settings.dead_letters)]
    assert {place.split("/")[2] for place in places} <= set(content["services"])
    assert str(settings.state).startswith("/state/")


@pytest.mark.skipif(
    shutil.which("docker") is None
    or subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0,
    reason="no docker compose to read the file with",
)
def test_docker_understands_the_compose_file() -> None:
    words = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_compose_starts_anonymizes_the_example_records(tmp_path: Path) -> None:
    """The same files on a broker of this machine: the example fills a topic, twice without harm, and the service reads it."""
    with running(LocalNats, tmp_path) as broker:
        fill = run_path(str(DEPLOY / "example_records.py"))["main"]
        address = broker.place("PEOPLE").rsplit("/", 1)[0]
        with ThreadPoolExecutor(1) as pool:  # a loop of its own
            for _ in range(2):
                pool.submit(asyncio.run, fill(address)).result()
        settings = (
            (DEPLOY / "service.yaml").read_text().replace("nats://nats", address).replace("/state", str(tmp_path))
        )
        (tmp_path / "service.yaml").write_text(settings.replace("9464", str(free_port())))
        (tmp_path / "recipe.yaml").write_text((DEPLOY / "recipe.yaml").read_text())
        done = call("stream", "--config", tmp_path / "service.yaml", "--once")
        assert done.code == 0, done.err
        released = [json.loads(body) for _, body in broker.held("RELEASED")]
        assert len(released) == 1000
        assert all("name" not in one for one in released)


# Kubernetes -----------------------------------------------------------------------------------------------------------


def manifests() -> dict[str, dict[str, Any]]:
    """The objects of the base by their kind."""
    listed = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(one.name for one in MANIFESTS.glob("*.yaml") if one.name != "kustomization.yaml")
    read = [yaml.safe_load((MANIFESTS / name).read_text()) for name in listed]
    return {one["kind"]: one for one in read}


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_follow_the_schemas_of_kubernetes(version: str) -> None:
    for one in manifests().values():
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl to build the base with")
def test_kustomize_builds_the_base() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(MANIFESTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    for one in built:
        kubernetes_validate.validate(one, KUBERNETES[-1], strict=True)
    names = {one["kind"]: one["metadata"]["name"] for one in built}
    assert names.keys() == {*manifests(), "ConfigMap"}
    (found,) = (one for one in built if one["kind"] == "StatefulSet")
    volumes = {one["name"]: one for one in found["spec"]["template"]["spec"]["volumes"]}
    assert volumes["config"]["configMap"]["name"] == names["ConfigMap"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl to build the overlay with")
def test_the_overlay_of_the_documentation_is_built(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "service.md").read_text()
    shown = yaml.safe_load(page.partition("```yml\n# kustomization.yaml\n")[2].partition("```")[0])
    assert shown["resources"][0].endswith("//deploy/kubernetes")
    shutil.copytree(MANIFESTS, tmp_path / "base")
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(yaml.safe_dump({**shown, "resources": ["../base"]}))
    for name in ("service.yaml", "recipe.yaml"):
        (tmp_path / "overlay" / name).write_text(f"of: {name}")
    done = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path / "overlay")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    built = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    stateful = built["StatefulSet"]["spec"]
    assert stateful["replicas"] == 4
    assert stateful["template"]["spec"]["containers"][0]["image"] == "registry.example/oboro:0.1.0"
    assert built["ConfigMap"]["data"]["service.yaml"] == "of: service.yaml"


def test_every_name_in_the_manifests_is_the_name_of_something() -> None:
    found = manifests()
    stateful = found["StatefulSet"]["spec"]
    pod = stateful["template"]["spec"]
    (container,) = pod["containers"]
    labels = stateful["template"]["metadata"]["labels"]
    selectors = [stateful["selector"]["matchLabels"], found["Service"]["spec"]["selector"],
                 found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                 found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]]  # fmt: skip
    assert all(one.items() <= labels.items() and one for one in selectors)
    assert stateful["serviceName"] == found["Service"]["metadata"]["name"]
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    volumes = {one["name"] for one in (*pod["volumes"], *(one["metadata"] for one in stateful["volumeClaimTemplates"]))}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    generated = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["configMapGenerator"]
    files = {one["name"]: dict(file.split("=") for file in one["files"]) for one in generated}
    assert all((MANIFESTS / place).is_file() for place in files["oboro"].values())
    for volume in pod["volumes"]:
        assert volume.get("configMap", {}).get("name", "oboro") in files
        assert volume.get("secret", {}).get("optional", True)
    assert all(one["secretRef"]["optional"] for one in container["envFrom"])
    # The image, its user, its port and its paths are those of the Dockerfile.
    image = (DEPLOY / "Dockerfile").read_text()
    assert container["image"] in image
    assert f"USER {pod['securityContext']['runAsUser']}" in image
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert f'"{mounts["config"]}/service.yaml"' in image
    assert "service.yaml" in files["oboro"]


def test_the_pods_serve_the_partitions_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    stateful = manifests()["StatefulSet"]["spec"]
    (container,) = stateful["template"]["spec"]["containers"]
    assert [one["name"] for one in container["env"]] == ["OBORO_PARTITION"]
    settings = ServiceSettings.load(MANIFESTS / "config" / "service.yaml", {})
    fields = anonymizer(Recipe.load(settings.recipe), settings.decide).fields
    assert settings.partitions is not None
    assert settings.partitions.count == stateful["replicas"]
    assert set(settings.partitions.by) <= set(fields)
    places = set()
    for number in range(stateful["replicas"]):
        monkeypatch.setenv("OBORO_PARTITION", str(number))
        placed = settings.placed()
        places.add((placed.target, placed.dead_letters))
    assert len(places) == stateful["replicas"]
    (state,) = (one for one in container["volumeMounts"] if one["name"] == "state")
    assert settings.state is not None
    assert settings.state.is_relative_to(state["mountPath"])


def test_probes_ask_what_the_service_answers() -> None:
    (container,) = manifests()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    port = {one["name"]: one["containerPort"] for one in container["ports"]}
    settings = ServiceSettings.load(MANIFESTS / "config" / "service.yaml", {})
    assert str(settings.listen) == f"0.0.0.0:{port['metrics']}"  # outside the pod, where the kubelet is
    watch = Watch()
    watch.ready = True
    here = f"127.0.0.1:{free_port()}"
    with health_page(here, watch):
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[name]["httpGet"]
            assert asked["port"] in port
            with urllib.request.urlopen(f"http://{here}{asked['path']}", timeout=5) as answer:
                assert answer.status == 200
    # A broker that is away at the start is waited for; Kubernetes must not end the pod before the service does.
    startup = container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] > settings.patience


# Watching -------------------------------------------------------------------------------------------------------------


def metrics() -> set[str]:
    """The names of all metrics of a service."""
    watch = Watch()
    watch.glance = lambda: {name: 1 for name in FIGURES if name != "state_age_seconds"}
    watch.saved()
    watch.reasons["not_json"] = 1
    here = f"127.0.0.1:{free_port()}"
    with health_page(here, watch), urllib.request.urlopen(f"http://{here}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return set(re.findall(r"^(oboro_\w+)", text, re.MULTILINE))


def test_alerts_ask_for_metrics_that_there_are() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "oboro.rules.yaml").read_text())["groups"]
    known, named = metrics(), []
    for rule in group["rules"]:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "description"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "0m"))
        assert rule["expr"].count("(") == rule["expr"].count(")")
        used = METRIC.findall(rule["expr"])
        assert used, rule["alert"]
        assert set(used) <= known, rule["alert"]
        named.append(rule["alert"])
    assert len(set(named)) == len(named)


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "oboro.json").read_text())
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    known, shown, ids = metrics(), set(), set()
    for panel in dashboard["panels"]:
        ids.add(panel["id"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for target in panel["targets"]:
            used = set(METRIC.findall(target["expr"]))
            assert used, panel["title"]
            assert used <= known, panel["title"]
            assert target["expr"].count("(") == target["expr"].count(")")
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= {*variables, "__rate_interval"}
            shown |= used
    assert len(ids) == len(dashboard["panels"])
    # Whatever is counted is on the dashboard, under one of the names that Prometheus gives it.
    families = {re.sub(r"_(total|bucket|sum|count|created)$", "", one) for one in known} - {"oboro_blocks"}
    assert families <= {re.sub(r"_(total|bucket)$", "", one) for one in shown}


# systemd --------------------------------------------------------------------------------------------------------------


def test_the_unit_starts_what_there_is() -> None:
    unit = (DEPLOY / "oboro-stream.service").read_text()
    assert "oboro stream --config /etc/oboro/service.yaml" in unit
    assert "NoNewPrivileges=yes" in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze to read the unit with")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "oboro-stream.service"
    unit.write_text((DEPLOY / "oboro-stream.service").read_text().replace("/opt/oboro/bin/oboro", sys.executable))
    told = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
