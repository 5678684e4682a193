"""`gaplint incidents`, `gaplint explain ID --check`, `gaplint --incident ID`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from fixture_files import ROOT
from kube_gaplint import incidents
from kube_gaplint.cli.app import run
from kube_gaplint.report.layout import width_of

Captured = pytest.CaptureFixture[str]
SCHEMA = json.loads((resources.files("kube_gaplint.report") / "library.schema.json").read_text(encoding="utf-8"))
REPLAYS = ROOT / "incidents"
BLOOM = REPLAYS / "IL-0125" / "before" / "176b.slurm"


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def out(capsys: Captured, *arguments: str) -> str:
    assert run(["incidents", *arguments]) == 0
    return capsys.readouterr().out


def err(capsys: Captured, *arguments: str) -> str:
    assert run([*arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err


def listed(shown: str) -> list[str]:
    """The ids of a table."""
    table = shown.split("\n\n", maxsplit=1)[0]
    return [line.split()[0] for line in table.splitlines() if not line.startswith(" ")]


def test_all_of_them(capsys: Captured) -> None:
    shown = out(capsys)
    assert sorted(listed(shown)) == sorted(incidents.ids())
    assert f"\n{len(incidents.ids())} of {len(incidents.ids())} incidents\n" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("arguments", [[], ["--view", "card", "--org", "meta"], ["--words"], ["HBM"], ["gpu"]])
def test_it_fits_80_columns(capsys: Captured, arguments: list[str]) -> None:
    shown = out(capsys, *arguments)
    assert [line for line in shown.splitlines() if width_of(line) > 80 and "://" not in line] == []


def test_facets_narrow_and_are_counted(capsys: Captured) -> None:
    shown = out(capsys, "--symptom", "hang,crash", "--component", "slurm", "--year", "2021-")
    assert "IL-0125" in listed(shown)
    counted = shown.rsplit("\n\n", maxsplit=1)[1]
    assert counted.splitlines()[0] == f"{len(listed(shown))} of {len(incidents.ids())} incidents"
    assert f" slurm {len(listed(shown))}," in counted
    assert "\n  year       2021 " in counted


def test_options_are_repeatable_and_take_commas(capsys: Captured) -> None:
    apart = listed(out(capsys, "--symptom", "hang", "--symptom", "eviction"))
    assert apart == listed(out(capsys, "--symptom", "hang,eviction"))
    assert listed(out(capsys, "--year", "2021", "--year", "2022")) == listed(out(capsys, "--year", "2021-2022"))
    assert listed(out(capsys, "--year", "-2019")) == [found.id for found in _newest_first() if found.year <= 2019]
    assert listed(out(capsys, "--year", "2025-")) == [found.id for found in _newest_first() if found.year >= 2025]


def _newest_first() -> list[incidents.Incident]:
    return sorted(incidents.all_incidents(), key=lambda found: (-found.year, found.id))


def test_a_rule_by_code_name_or_family(capsys: Captured) -> None:
    by_code = listed(out(capsys, "--rule", "CKPT003"))
    assert "IL-0125" in by_code
    assert listed(out(capsys, "--rule", "checkpoint-interval-long")) == by_code
    assert set(by_code) < set(listed(out(capsys, "--rule", "CKPT")))


def test_one_hit_is_shown_whole(capsys: Captured) -> None:
    shown = out(capsys, "HBM")
    assert shown.startswith("meta-llama3-405b  Meta, ")
    assert "\nLesson\n" in shown
    assert "\nFiled under\n  symptoms    crash, hang, slow-training\n" in shown
    assert listed(out(capsys, "HBM", "--view", "table")) == ["meta-llama3-405b"]


def test_cards(capsys: Captured) -> None:
    shown = out(capsys, "--org", "meta", "--view", "card")
    assert shown.count("\nLesson\n") == shown.count("\nSources\n") == 4
    assert shown.count("─" * 80) == 3


def test_no_hit(capsys: Captured) -> None:
    assert run(["incidents", "wathcdog"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no incident matches" in captured.err
    assert "did you mean watchdog?" in captured.err
    assert run(["incidents", "watchdog", "--year", "2026"]) == 0
    assert "5 match the words alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--symptom", "hung"], "no symptom 'hung'. Did you mean hang?"),
        (["--cause", "hardware"], "Did you mean hardware-fault?"),
        (["--component", "zzz"], "no component 'zzz'. There are gpu, tpu,"),
        (["--factor", "hang,no-resum"], "no factor 'hang'."),
        (["--org", "bytedanse"], "Did you mean bytedance?"),
        (["--year", "1999"], "no incident is of 1999; there are some from 2017 to 2026."),
        (["--year", "20240"], "is no year; give 2024, 2022-2024 or 2023-."),
        (["--year", "-"], "is no year"),
        (["--rule", "CKPT03"], "Did you mean CKPT003"),
        (["--view", "cards"], "Did you mean card?"),
        (["--symptom", ","], "it names no word"),
        (["--symptom", "\x1b[31m"], "no symptom '\\x1b[31m'"),
    ],
)
def test_unknown_values(capsys: Captured, arguments: list[str], said: str) -> None:
    assert said in err(capsys, "incidents", *arguments)


@pytest.mark.parametrize("arguments", [[], ["HBM"], ["wathcdog"], ["--org", "meta", "--rule", "CKPT"], ["\x00é\ud800"]])
def test_json(capsys: Captured, arguments: list[str]) -> None:
    shown = out(capsys, *arguments, "--format", "json")
    assert shown.isascii()
    data = json.loads(shown)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["total"] == len(incidents.ids())
    for facet, values in data["facets"].items():
        assert sum(values.values()) >= len(data["incidents"]) or facet in ("factors", "rules")


def test_json_holds_the_whole_incident(capsys: Captured) -> None:
    data = json.loads(out(capsys, "IL-0125", "--org", "bigscience", "--format", "json"))
    assert data["query"]["words"] == "IL-0125"
    assert data["query"]["organisations"] == ["bigscience"]
    row = data["incidents"][0]
    for name, value in incidents.data("IL-0125").items():
        assert row[name] == value
    assert set(row["rules"]) == {code for condition in row["visible"] for code in condition["rules"]}


def test_words(capsys: Captured) -> None:
    shown = out(capsys, "--words")
    for facet, words in incidents.vocabulary().items():
        for word in words:
            number = sum(word in found.facets()[facet] for found in incidents.all_incidents())
            assert any(line.split()[:2] == [word, str(number)] for line in shown.splitlines()), word


def test_the_same_gap_elsewhere(capsys: Captured) -> None:
    assert run(["explain", "IL-0125", "--check", str(BLOOM)]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("IL-0125  ")
    conditions = shown.split("\nThe same gap here?\n")[1]
    assert (
        f"  found      srun without --kill-on-bad-exit / --wait (SLURM001)\n             {BLOOM}:14:1\n" in conditions
    )
    assert "  not found  Async error handling set to 0, or unset with an old PyTorch\n" in conditions
    assert "\n  Cannot be seen in a manifest:\n  - which GPU will die\n" in conditions
    assert "Looked at 1 workload, 1 file." in conditions


def test_the_gap_is_closed(capsys: Captured) -> None:
    assert run(["explain", "il-0125", "--check", str(REPLAYS / "IL-0125" / "after")]) == 0
    shown = capsys.readouterr().out
    assert "\n  found " not in shown
    assert shown.count("\n  not found  ") == len(incidents.data("IL-0125")["visible"])


def test_a_suppressed_gap_is_accepted(capsys: Captured, tmp_path: Path) -> None:
    copy = tmp_path / "run.slurm"
    text = BLOOM.read_text(encoding="utf-8")
    copy.write_text(text.replace("\nsrun", "\n# gaplint: ignore[SLURM001] the site sets it\nsrun", 1), encoding="utf-8")
    assert run(["explain", "IL-0125", "--check", str(copy)]) == 1
    shown = capsys.readouterr().out
    assert "  accepted   srun without --kill-on-bad-exit / --wait (SLURM001)" in shown
    assert "suppressed: the site sets it" in shown


def test_nothing_to_compare_with(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing", encoding="utf-8")
    assert run(["explain", "IL-0125", "--check", str(tmp_path)]) == 0
    assert "There was nothing to judge" in capsys.readouterr().out


def test_check_of_what_cannot_be_checked(capsys: Captured) -> None:
    assert "gaplint --select CKPT003 PATH" in err(capsys, "explain", "CKPT003", "--check", ".")
    assert "give it, too" in err(capsys, "explain", "IL-0125", "--isolated")
    assert "no manifest would have shown openai-2023-03-boot" in err(
        capsys, "explain", "openai-2023-03-boot", "--check", "."
    )
    assert "no such file" in err(capsys, "explain", "IL-0125", "--check", "nowhere").lower()
    assert "Did you mean IL-0125" in err(capsys, "explain", "IL-125")


@pytest.mark.parametrize("command", [[], ["check"]])
def test_just_the_rules_of_an_incident(capsys: Captured, command: list[str]) -> None:
    before = REPLAYS / "IL-0137" / "before.yaml"
    assert run([*command, "--incident", "il-0137", "--format", "json", str(before)]) == 1
    codes = {finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert {"DATA001", "DATA002", "DATA006"} <= codes <= set(_rules("IL-0137")), "notes are shown, too"
    assert run([*command, "--incident", "IL-0137", "--ignore", "DATA", "--format", "json", str(before)]) == 0
    codes = {finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert codes <= {"RETRY010"}


def _rules(identifier: str) -> tuple[str, ...]:
    found = incidents.incident(identifier)
    assert found is not None
    return found.rules


def test_several_incidents(capsys: Captured) -> None:
    run(["--incident", "IL-0137", "--incident", "IL-0125", "--format", "json", str(BLOOM)])
    codes = {finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert "SLURM001" in codes
    assert codes <= {*_rules("IL-0137"), *_rules("IL-0125")}


def test_incidents_that_cannot_be_run(capsys: Captured) -> None:
    assert "Did you mean IL-0125" in err(capsys, "--incident", "IL-125", ".")
    assert "give one of them" in err(capsys, "--incident", "IL-0125", "--select", "CKPT", ".")
    assert "no manifest would have shown" in err(capsys, "check", "--incident", "openai-2023-03-boot", ".")
