"""Work grows with a script and not with its square: twice the lines are twice the steps, and twice what is kept.

Steps are lines of our own code that run, every round of a loop among them; what is kept is memory. Neither depends on
the machine or its load.
"""

from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import kube_gaplint
from kube_gaplint.engine import Request, lint
from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import Place, Source, Span, WholeText

CODE = str(Path(kube_gaplint.__file__).parents[2])


FRESH = itertools.count(1_000_000, 1_000)
"""Texts and names that were seen before are answered from memory: none comes twice."""


def lines(template: str) -> Callable[[int], str]:
    def text(count: int) -> str:
        first = next(FRESH)
        return "\n".join(template.replace("@", str(index)) for index in range(first, first + count))

    return text


def within(before: str, template: str, after: str) -> Callable[[int], str]:
    return lambda count: f"{before}\n{lines(template)(count)}\n{after}"


SHAPES: dict[str, Callable[[int], str]] = {
    "exports": lines("export V@=v@; run @"),
    "exports in ifs": lines('if [ "$A@" = x ]; then\n  export B@=1; run\nfi'),
    "elif": within('if [ "$X" = a ]; then\n  run', 'elif [ "$X" = @ ]; then\n  export A@=@; run', "fi"),
    "case": within('case "$X" in', "a*@|b@) export Y@=1; run @;;", "esac"),
    "chains": lines('[ -n "$A@" ] && export B@="$A@" || run @'),
    "loops": lines("for i in 1 2; do\n  export A@=$i; run $i\ndone"),
    "loop": within("while true; do", "x@=$((x@ + 1)); [ $x@ -gt 5 ] && break", "done"),
    "functions": lines("f@() {\n  export F@=$1; run $1\n}\nf@ a"),
    "function in branches": lambda count: "f() {\n  run $1\n}\n" + lines("if [ $A = @ ]; then\n  f @\nfi")(count),
    "array": within("ARGS=()", "ARGS+=(--x@ @)", 'torchrun train.py "${ARGS[@]}"'),
    "array in ifs": within("A=()", "if [ $X = @ ]; then\n  A+=(--x@)\nfi", 'torchrun train.py "${A[@]}"'),
    "text": within("A=''", 'A="$A --x@ @"', "torchrun train.py $A"),
    "text in ifs": within("A=''", 'if [ $X = @ ]; then\n  A="$A --x@"\nfi', "torchrun train.py $A"),
    "here-document": within("cat > f.yaml <<EOF", "key@: ${A@:-@} $B $(hostname)", "EOF"),
    "here-documents": lines("cat > f@ <<EOF\na: $X\nEOF"),
    "nested scripts": lines("export Q@=1\nbash -c 'export A=1; run @'"),
    "subshells": lines("( export A@=1; run @ )"),
    "substitutions": lines("X@=$(hostname -f | head -n @)"),
    "launches": lines("export X@=@\ntorchrun --nnodes 2 train.py --x @"),
    "sourced": lines("echo 'export A@=1' > /tmp/l@.sh\nsource /tmp/l@.sh"),
    "unset": lines("export U@=1\nunset U@\nrun"),
    "unclosed": lines("if [ x = @ ]"),
}


def steps(run: Callable[[], object]) -> int:
    """How many lines of our code run."""
    count = 0

    def local(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(CODE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def kept(run: Callable[[], object]) -> int:
    """How many bytes of what it made are held by what it gives."""
    tracemalloc.start()
    try:
        result = run()
        size, _ = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return size


def reading(text: str) -> Callable[[], object]:
    home = Origin(Place(Source("job.yaml", ""), Span(0, 0)))
    return lambda: read_script(WholeText(Source("run.sh", text)), Environment(home=home))


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_script_takes_twice_the_steps_to_read(shape: str) -> None:
    some, twice = reading(SHAPES[shape](100)), reading(SHAPES[shape](200))
    reading(SHAPES[shape](10))()  # tables are filled once
    assert steps(twice) < 2.2 * steps(some)


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_script_keeps_twice_the_memory(shape: str) -> None:
    some, twice = reading(SHAPES[shape](200)), reading(SHAPES[shape](400))
    reading(SHAPES[shape](10))()
    assert kept(twice) < 2.4 * kept(some)


@pytest.mark.parametrize("shape", ["exports in ifs", "case", "chains", "loop", "nested scripts", "launches"])
def test_twice_the_script_takes_twice_the_steps_to_judge(tmp_path: Path, shape: str) -> None:
    def judging(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}.sbatch"
        path.write_text(f"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n{SHAPES[shape](count)}\n")
        return lambda: lint(Request(paths=(str(path),)))

    judging(10)()
    assert steps(judging(400)) < 2.2 * steps(judging(200))
