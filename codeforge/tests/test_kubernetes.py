"""The manifests of ``docs/deploy/kubernetes`` are valid, agree with the compose file, and give no privileges."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.queries.resources.operations import FIGURES
from codeforge.config import load_config
from tests.support import services

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/deploy/kubernetes"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
OBJECTS: list[dict[str, Any]] = [
    found for name in KUSTOMIZATION["resources"] for found in yaml.safe_load_all((FOLDER / name).read_text())
]
PODS = {
    found["metadata"]["name"]: found["spec"]["template"] for found in OBJECTS if found["kind"] in ("Deployment", "Job")
}


def named(kind: str, name: str) -> dict[str, Any]:
    return next(found for found in OBJECTS if (found["kind"], found["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize("manifest", OBJECTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_the_published_schemas_accept_each_manifest(manifest: dict[str, Any]) -> None:
    if importlib.util.find_spec("kubernetes_validate") is None:
        services.missing("the package kubernetes-validate")
    import kubernetes_validate

    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_every_file_is_applied() -> None:
    assert {*KUSTOMIZATION["resources"], "kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}


def test_containers_run_what_compose_runs_without_privileges() -> None:
    (image,) = KUSTOMIZATION["images"]
    assert f"{image['name']}:{image['newTag']}" == COMPOSE["x-application"]["image"]
    for name, pod in PODS.items():
        (container,) = pod["spec"]["containers"]
        assert container["image"] == image["name"]
        assert container.get("command") == COMPOSE["services"][container["name"]].get("command"), name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        assert f"--uid {pod['spec']['securityContext']['runAsUser']} " in (ROOT / "Dockerfile").read_text()
        assert not pod["spec"]["automountServiceAccountToken"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {
            each["name"] for each in pod["spec"]["volumes"]
        }


def test_variables_are_those_of_the_application() -> None:
    known = set(re.findall(r"^#? ?([A-Z][A-Z_0-9]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    known |= set(COMPOSE["x-application"]["environment"])
    given = {*named("ConfigMap", "codeforge")["data"], *named("Secret", "codeforge")["stringData"]}
    given |= {each["name"] for pod in PODS.values() for each in pod["spec"]["containers"][0].get("env", [])}
    assert given <= known
    assert {"SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL"} <= given


def test_the_configuration_file_is_valid(tmp_path: Path) -> None:
    (tmp_path / "codeforge.yaml").write_text(named("ConfigMap", "codeforge-files")["data"]["codeforge.yaml"])
    assert set(load_config(tmp_path / "codeforge.yaml").providers) == {"openai"}


def test_selectors_ports_and_the_metric_of_the_autoscaler_exist() -> None:
    labels = [pod["metadata"]["labels"] for pod in PODS.values()]
    policies = [found["spec"]["podSelector"]["matchLabels"] for found in OBJECTS if found["kind"] == "NetworkPolicy"]
    assert sorted(policies, key=str) == sorted(labels, key=str)
    assert named("Service", "codeforge-web")["spec"]["selector"] in labels
    scaler = named("HorizontalPodAutoscaler", "codeforge-worker")["spec"]
    assert scaler["scaleTargetRef"]["name"] in PODS
    metric = scaler["metrics"][0]["external"]["metric"]["name"]
    assert metric.removeprefix("codeforge_") in FIGURES
    ports = {each["containerPort"] for pod in PODS.values() for each in pod["spec"]["containers"][0].get("ports", [])}
    rules = [rule for found in OBJECTS if found["kind"] == "NetworkPolicy" for rule in found["spec"].get("ingress", [])]
    assert {port["port"] for rule in rules for port in rule["ports"]} == ports
