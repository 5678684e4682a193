"""What holds for every rule: its page, its examples, its evidence, its fixtures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixture_files import fixtures
from kube_gaplint import incidents, registry
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity

HEADINGS = [
    "What it flags",
    "Why it hurts",
    "Bad",
    "Good",
    "When to keep it",
    "Fix safety",
    "References",
]
EXAMPLE = re.compile(r"## (Bad|Good)\n+```(yaml|bash)\n(.*?)```", re.DOTALL)
RULES = [row.code for row in registry.rules() if row.module]


def page(code: str) -> str:
    import inspect

    return inspect.cleandoc(registry.load(code).page)


def test_codes_and_names_are_unique() -> None:
    rows = registry.rules()
    assert len({row.code for row in rows}) == len(rows)
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[A-Z]+\d{3}", row.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.name)


def test_index_is_fresh() -> None:
    root = Path(__file__).parent.parent
    outcome = subprocess.run(
        [sys.executable, str(root / "tools" / "index_rules.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("code", [row.code for row in registry.rules()])
def test_page_has_the_headings_in_order(code: str) -> None:
    assert re.findall(r"^## (.+)$", page(code), re.MULTILINE) == HEADINGS
    first = page(code).split("\n", 1)[0]
    assert first.endswith("."), "the first line is one sentence"
    assert len(first) <= 120


@pytest.mark.parametrize("code", RULES)
def test_evidence_resolves(code: str) -> None:
    rule = registry.load(code)
    assert rule.evidence or rule.sources
    for identifier in rule.evidence:
        assert incidents.incident(identifier) is not None, identifier
    for identifier in rule.sources:
        assert incidents.document(identifier) is not None, identifier


@pytest.mark.parametrize("code", RULES)
def test_direct_evidence_shows_the_rule(code: str) -> None:
    """A rule that claims direct evidence is named by an incident of its own, as what would have found it."""
    rule = registry.load(code)
    if rule.evidence_kind == "direct":
        shown = [found.id for found in incidents.for_rule(code) if found.id in rule.evidence]
        assert shown, f"no incident among {rule.evidence} names {code}"


@pytest.mark.parametrize("code", RULES)
def test_indirect_evidence_is_said_on_the_page(code: str) -> None:
    rule = registry.load(code)
    if rule.evidence_kind in ("derived", "thin"):
        assert rule.evidence_kind in page(code).split("## Why it hurts")[1].split("## Bad")[0]


@pytest.mark.parametrize("code", RULES)
def test_bad_example_fires_and_good_one_is_quiet(code: str, tmp_path: Path) -> None:
    examples = {kind: (language, text) for kind, language, text in EXAMPLE.findall(page(code))}
    assert set(examples) == {"Bad", "Good"}
    for kind, (language, text) in examples.items():
        path = tmp_path / f"{kind.lower()}.{'yaml' if language == 'yaml' else 'sbatch'}"
        path.write_text(text, encoding="utf-8")
        report = lint(Request(paths=(str(path),), select=(code,), min_severity=Severity.WARNING))
        if registry.info(code).severity is Severity.INFO:
            report = lint(Request(paths=(str(path),), select=(code,), min_severity=Severity.INFO))
        codes = [finding.code for finding in report.findings]
        assert codes == ([code] if kind == "Bad" else []), [(repr(f.place), f.message) for f in report.findings]


@pytest.mark.parametrize("code", RULES)
def test_at_least_two_fixtures_of_each_sort(code: str) -> None:
    for prefix in ("fires", "quiet"):
        assert len([path for path in fixtures(prefix) if path.parent.name == code]) >= 2, prefix
