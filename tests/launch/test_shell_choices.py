"""Variables that a branch may set: what they can hold is known, and so is what they cannot."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.options import OptionSpec, parse_launcher, parse_options
from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place, Source, Span, WholeText

SRUN = OptionSpec(
    flags=frozenset({"label"}),
    valued={"mpi": 1, "nodes": 1},
    optional=frozenset({"kill-on-bad-exit", "auto-resume"}),
    short={"l": "label", "K": "kill-on-bad-exit", "N": "nodes"},
    overrides=False,
)


def options(script: str) -> Options:
    source = Source("job.sh", script)
    home = Origin(Place(source, Span(0, 0)))
    commands = read_script(WholeText(source), Environment(home)).commands
    command = next(command for command in commands if command.name == "srun")
    return parse_launcher(command.words[1:], home, SRUN).options


@pytest.mark.parametrize(
    ("script", "absent", "possible"),
    [
        ('X=""; if [ -d /h ]; then X="--auto-resume=1"; fi; srun $X python t.py', "kill-on-bad-exit", "auto-resume"),
        ("if [ $A ]; then X=-K1; else X=-l; fi; srun $X python t.py", "auto-resume", "kill-on-bad-exit"),
        ('X="-l"; [ $A ] && X="$X --mpi=pmix -K1"; srun $X python t.py', "auto-resume", "kill-on-bad-exit"),
        ("case $A in a) X=-l;; b) X=-K;; *) X=;; esac; srun $X python t.py", "auto-resume", "kill-on-bad-exit"),
        ('X=""; if [ $A ]; then X=-l; elif [ $B ]; then X=-K1; fi; srun $X python t.py', "nodes", "kill-on-bad-exit"),
        ('if [ $A ]; then X=(-l -N $B); fi; srun "${X[@]}" python t.py', "kill-on-bad-exit", "nodes"),
        ('X=(-l); if [ $A ]; then X+=(-K1 --mpi "p q"); fi; srun "${X[@]}" python t.py', "nodes", "kill-on-bad-exit"),
    ],
)
def test_what_no_branch_holds_is_absent(script: str, absent: str, possible: str) -> None:
    found = options(script)
    assert isinstance(found.get(absent), Absent)
    assert isinstance(found.get(possible), Unknown)


@pytest.mark.parametrize(
    "script",
    [
        'X="$GIVEN"; if [ $A ]; then X=-l; fi; srun $X python t.py',  # one value is not seen
        'X=""; if [ $A ]; then X="$(cat options)"; fi; srun $X python t.py',
        'X=""; if [ $A ]; then X="nice -n 5"; fi; srun $X python t.py',  # no options, but a program
        'if [ $A ]; then X=(-l $B); fi; srun "${X[@]}" python t.py',  # B may hold more words
        'if [ $A ]; then X=(-l "$B"); fi; srun "${X[@]}" python t.py',
        "for X in -l -K1 $MORE; do :; done; srun $X python t.py",
    ],
)
def test_where_a_value_is_not_seen_options_are_unknown(script: str) -> None:
    assert isinstance(options(script).get("kill-on-bad-exit"), Unknown)


@pytest.mark.parametrize(
    ("element", "closed"),
    [("--id b --epochs 30 20", True), ("--id b", True), ("--id b evaluate", False), ("--id b 30 $MORE", False)],
)
def test_numbers_of_one_option_in_an_element_of_an_array(element: str, closed: bool) -> None:
    script = f'opt[0]="--id a --epochs 40 40"\nopt[1]="{element}"\npython t.py --lr 1 ${{opt[$I]}}\n'
    source = Source("job.sh", script)
    home = Origin(Place(source, Span(0, 0)))
    command = next(one for one in read_script(WholeText(source), Environment(home)).commands if one.name == "python")
    found = parse_options(command.words[2:], home)
    assert (found.open_because == "") is closed
    assert isinstance(found.get("epochs"), Unknown)
