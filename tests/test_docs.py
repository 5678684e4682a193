"""The pages of docs/: their configurations are valid, and they tell of every key and every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kube_gaplint.cli.check import command
from kube_gaplint.config import schema, settings
from kube_gaplint.config.find import ConfigFile

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
    assert settings.parse(ConfigFile(name, "/", text.encode())).places


def test_the_two_forms_say_the_same() -> None:
    first, second = (settings.parse(ConfigFile(name, "/", text.encode())) for name, text in (EXAMPLES[0], EXAMPLES[-1]))
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


def test_links_lead_somewhere() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for folder, text in ((DOCS, CONFIGURATION), (DOCS, ADOPTION), (DOCS, PLAN), (DOCS.parent, readme)):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (folder / target).exists(), target
