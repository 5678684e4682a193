"""The pages of docs/: their configurations are valid, and they tell of every key and every option."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kube_gaplint import engine
from kube_gaplint.cli.check import command
from kube_gaplint.config import schema, settings
from kube_gaplint.config.find import ConfigFile
from kube_gaplint.config.parse import parse

DOCS = Path(__file__).parent.parent / "docs"
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")
PLAN = (DOCS / "plan.md").read_text(encoding="utf-8")
ADOPTION = (DOCS / "adoption.md").read_text(encoding="utf-8")
EXAMPLES = [
    *((".gaplint.yaml", text) for text in re.findall(r"```yaml\n(# \.gaplint\.yaml\n.*?)```", CONFIGURATION, re.S)),
    *(("pyproject.toml", text) for text in re.findall(r"```toml\n(.*?)```", CONFIGURATION, re.S)),
]


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_examples_are_valid(name: str, text: str) -> None:
    assert parse(ConfigFile(name, "/", text.encode())).places


def test_the_two_forms_say_the_same() -> None:
    first, second = (parse(ConfigFile(name, "/", text.encode())) for name, text in (EXAMPLES[0], EXAMPLES[-1]))
    for key in ("fail_on", "ignore", "severity", "exclude", "per_file_ignores", "profile"):
        assert getattr(first, key) == getattr(second, key), key


def test_every_key_is_explained() -> None:
    keys = [*schema.schema()["properties"], *settings.PROFILE_KEYS]
    assert [key for key in keys if f"`{key}`" not in CONFIGURATION] == []


def test_every_option_about_living_with_findings_is_explained() -> None:
    options = [
        name
        for parameter in command.params
        if getattr(parameter, "group", "") in ("Living with findings", "Fixes")
        for name in parameter.opts
    ]
    assert len(options) > 5
    assert [name for name in options if name not in ADOPTION] == []


JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {"parallelism": 2, "template": {"spec": {"restartPolicy": "Never"}}},
}


@pytest.mark.parametrize("number", range(3))
def test_the_three_states_are_as_the_page_says(number: int, tmp_path: Path) -> None:
    page = (DOCS / "deciding.md").read_text(encoding="utf-8")
    text = re.findall(r"```yaml\n(.*?)```", page, re.S)[number]
    container = {
        "name": "c",
        "image": "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime",
        "command": ["python", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
        **YAML(typ="safe").load(text),
    }
    pod = JOB["spec"]["template"]["spec"] | {"containers": [container]}
    job = JOB | {"spec": JOB["spec"] | {"template": {"spec": pod}}}
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(job), encoding="utf-8")
    (workload,) = engine.read(engine.Request(paths=(str(path),))).model.workloads
    environment = workload.roles[0].pod.containers[0].environment
    state = type(environment.get("NCCL_IB_TIMEOUT")).__name__.lower()
    assert re.search(r"#\s*(set|absent|unknown)", text)[1] == state  # type: ignore[index]


def test_links_lead_somewhere() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for folder, text in ((DOCS, CONFIGURATION), (DOCS, ADOPTION), (DOCS, PLAN), (DOCS.parent, readme)):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (folder / target).exists(), target
