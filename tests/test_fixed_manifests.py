"""After all fixes a manifest is still one to Kubernetes: its published schemas take what they took before, strictly.

Kinds of operators have no schema there; the pod templates within them are checked as pods.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_validate import ValidationError, validate
from kubernetes_validate.utils import SchemaNotFoundError

from fixture_files import fixtures
from kube_gaplint.cli.app import run

KUBERNETES = "1.33"
MANIFESTS = [path for path in fixtures("fires") if path.is_dir() or path.suffix == ".yaml"]


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Objects and pods in a document, in order: a list of them depends on its shape alone, not on what a fix adds."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str):
            yield value
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            metadata = {"name": "pod", **(value.get("metadata") or {})}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def verdict(value: dict[str, Any]) -> str:
    """What the schema of the object's kind has against it; empty for nothing, `no schema` for kinds without one."""
    try:
        validate(value, KUBERNETES, strict=True)
    except SchemaNotFoundError:
        return "no schema"
    except ValidationError as error:
        return error.message
    return ""


def verdicts(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            found += [verdict(value) for value in objects(document)]
    return found


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_fixed_manifest_is_as_valid_as_before(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "manifests"
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        target.mkdir()
        shutil.copy(path, target)
    try:
        before = verdicts(target)
    except yaml.YAMLError:  # a fixture of what is no YAML, or a template
        pytest.skip("it cannot be read")
    run([str(target), "--fix", "--unsafe-fixes", "--min-severity", "info", "--quiet", "--fail-on", "never"])
    after = verdicts(target)
    assert len(after) == len(before)
    assert [now for was, now in zip(before, after, strict=True) if now and not was] == []


def test_the_schemas_are_strict() -> None:
    job = yaml.safe_load(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never,"
        " containers: [{name: c, image: x, env: [{name: A, value: '1'}]}]}}}}"
    )
    assert [verdict(value) for value in objects(job)] == ["", ""]
    job["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = 1
    assert all("is not" in verdict(value) for value in objects(job))
    job["spec"]["template"]["spec"]["containers"][0]["env"] = []
    job["spec"]["backoffLimt"] = 1
    assert [bool(verdict(value)) for value in objects(job)] == [True, False]
