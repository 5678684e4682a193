"""Every fix on every firing fixture: what it answers is gone, a second run changes nothing, and nothing is added."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from fixture_files import ROOT, fixtures
from kube_gaplint import fix, registry
from kube_gaplint.disk import reading_instead
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Finding, Severity

WITH_RULES = [path for path in fixtures("fires") if not path.parent.name.startswith("GAP")]


def findings(path: Path, *select: str) -> list[Finding]:
    return lint(Request(paths=(str(path),), select=select, min_severity=Severity.INFO)).findings


def copied(path: Path, folder: Path) -> Path:
    target = folder / path.name
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)
    return target


@pytest.mark.parametrize("path", WITH_RULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_fix_answers_its_finding(path: Path, tmp_path: Path) -> None:
    code = path.parent.name
    target = copied(path, tmp_path)
    plan = fix.plan(findings(target, code), unsafe=True)
    for change in plan.changes:
        fix.write(change)
    answered = {(one.message, one.subject) for change in plan.changes for one in change.findings}
    after = findings(target, code)
    assert not answered & {(one.message, one.subject) for one in after}
    again = fix.plan(after, unsafe=True)
    assert not again.changes, [change.diff() for change in again.changes]


@pytest.mark.parametrize("path", WITH_RULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_fix_adds_a_finding(path: Path, tmp_path: Path) -> None:
    """By meaning, with all rules at all severities; and every safe fix is made."""
    code = path.parent.name
    target = copied(path, tmp_path)
    before = findings(target)

    def judge(texts: Mapping[str, str]) -> list[Finding]:
        with reading_instead({os.path.realpath(name): text.encode() for name, text in texts.items()}):
            return findings(target)

    for unsafe in (False, True):
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        wanted = {one.fingerprint for one in before if one.code == code and one.fixable in fixable}
        plan = fix.repair(wanted, judge, unsafe=unsafe, codes=registry.select((), ()))
        after = judge({change.path: change.new_text for change in plan.changes})
        assert not by_meaning(after) - by_meaning(before)
        assert unsafe or not plan.dropped


def by_meaning(found: list[Finding]) -> Counter[tuple[str, Severity]]:
    """How many findings of each meaning there are, from each severity up: a worse one is one more."""
    live = [one for one in found if one.suppressed is None]
    return Counter((one.digest, least) for one in live for least in Severity if one.severity >= least)


@pytest.mark.parametrize("code", sorted({path.parent.name for path in WITH_RULES}))
def test_the_page_says_what_kind_of_fix_there_is(code: str) -> None:
    made = {found.fixable for path in WITH_RULES if path.parent.name == code for found in findings(path, code)} - {"no"}
    section = registry.load(code).page.partition("## Fix safety")[2].partition("## References")[0].lower()
    words = set(re.findall(r"\b(?:un)?safe\b", section))
    assert made <= words
    assert bool(made) is not ("no automatic fix" in section or "no change is made" in section)


def test_processes_without_slots_get_slots_not_fewer_processes() -> None:
    found = findings(ROOT / "GPU003" / "fires-mpi-default-slots.yaml", "GPU003")
    [change] = fix.plan(found, unsafe=True).changes
    assert "\nspec:\n  slotsPerWorker: 8\n" in change.new_text
    assert '- "16"' in change.new_text


@pytest.mark.parametrize(
    ("options", "careful", "edit"),
    [
        ("pretrain_gpt.py --train-iters=90000 --save=/ckpt --load=/ckpt --save-interval=500", False, True),
        ("pretrain_gpt.py --train-iters=90000 --save=/ckpt --save-interval=500", True, False),
        ("train.py", True, False),
        ("train.py --resume /ckpt/last.pt --seed $SLURM_ARRAY_TASK_ID", False, False),
        ("train.py --resume /ckpt/model_3.pt", True, False),
    ],
)
def test_more_runs_are_queued_for_programs_that_resume(tmp_path: Path, options: str, careful: bool, edit: bool) -> None:
    script = tmp_path / "job.sbatch"
    head = "#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --gpus-per-node=8\n"
    script.write_text(f"{head}srun python -u {options}\n")
    [found] = findings(script, "SLURM002")
    assert found.fix is not None
    assert found.fix.title.startswith("see to it") == careful
    assert bool(found.fix.changes) == edit


def test_the_status_is_kept_by_the_shell_that_has_the_pipe() -> None:
    """What a script sets does not hold in the shell that it starts by `bash -c`."""
    (nested,) = findings(ROOT / "RETRY004" / "fires-pipe-of-a-nested-shell.sbatch", "RETRY004")
    assert nested.fix is not None
    assert "the end of what `bash -c` runs" in nested.fix.title
