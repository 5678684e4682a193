"""Whether a shell stays in front of the program: what was measured with bash 5.2 and dash 0.5.12."""

from __future__ import annotations

import pytest
from shell_reading import environment_of, literal, whole

from kube_gaplint.launch.shell_pid1 import shell_in_front, shell_stays_pid1
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import ShellInFront, Word

# string given to -c: (bash stays, dash stays)
MEASURED = {
    "train": (False, True),
    "a; train": (False, True),
    "a && train": (False, True),
    "a || train": (False, True),
    "a\nb\ntrain": (False, True),
    "X=1 train": (False, True),
    "set -e\ntrain": (False, True),
    "train;": (False, True),
    "train # comment": (False, True),
    "train\n": (False, True),
    "nohup train": (False, True),
    "command train": (False, True),
    "trap '' TERM; train": (False, True),
    "train\n\n": (True, True),
    "train\n# comment": (True, True),
    "train > log": (True, True),
    "train | tee log": (True, True),
    "(train)": (True, True),
    "{ train; }": (True, True),
    "if a; then train; fi": (True, True),
    "for i in 1; do train; done": (True, True),
    "! train": (True, True),
    "time train": (True, True),
    "trap 'b' TERM; train": (True, True),
    "f() { train; }; f": (True, True),
    "eval train": (True, True),
    "train && a": (True, True),
    "train; a": (True, True),
    "train & wait": (True, True),
    "exec train": (False, False),
    "a\nexec train\n\n": (False, False),
    "trap 'b' TERM; exec train": (False, False),
}


def stays(words: tuple[Word, ...], files: dict[str, str] | None = None) -> bool | None:
    known = {path: whole(text, path) for path, text in (files or {}).items()}
    found = start(words, environment_of(), known.get)
    (command,) = [c for c in found.commands if c.name == "train"]
    assert command.script is not None
    return shell_stays_pid1(command.script, command)


def shell(name: str, text: str) -> tuple[Word, ...]:
    bash, flag, place = literal(f"{name}\n-c\nx")
    return (bash, flag, Word((text,), place.place, placed=whole(text)))


@pytest.mark.parametrize("text", MEASURED)
def test_strings(text: str) -> None:
    bash, dash = MEASURED[text]
    assert stays(shell("bash", text)) is bash
    assert stays(shell("dash", text)) is dash
    # sh is one of the two
    assert stays(shell("sh", text)) is (bash if bash is dash else None)


def test_script_files() -> None:
    assert stays(literal("bash\n/r.sh"), {"/r.sh": "train"}) is True
    assert stays(literal("bash\n/r.sh"), {"/r.sh": "exec train"}) is False
    assert stays(literal("/r.sh"), {"/r.sh": "#!/bin/bash\ntrain"}) is True


def test_shells_in_shells() -> None:
    files = {"/r.sh": "exec train", "/t.sh": "train"}
    assert stays(shell("bash", "bash -c train")) is False
    assert stays(shell("bash", "bash -c train; a")) is True
    assert stays(shell("bash", "a; bash /r.sh"), files) is False
    assert stays(shell("bash", "exec bash /t.sh"), files) is True
    assert stays(shell("bash", ". /r.sh"), files) is False
    assert stays(shell("bash", ". /t.sh"), files) is True
    assert stays(shell("sh", "bash -c train")) is None


def test_the_last_command_by_default() -> None:
    def last(text: str) -> bool | None:
        return shell_stays_pid1(start(shell("bash", text), environment_of()).scripts[0])

    assert last("a; train") is False
    assert last("if x; then exec a; else exec b; fi") is False
    assert last("if x; then exec a; fi; b | c") is None
    assert last("a | b") is True
    assert last("") is True


def in_front(words: tuple[Word, ...], files: dict[str, str] | None = None, sh: str = "") -> ShellInFront | None:
    known = {path: whole(text, path) for path, text in (files or {}).items()}
    (command,) = [c for c in start(words, environment_of(), known.get).commands if c.name == "train"]
    return shell_in_front(command, sh)


REASONS = {
    "train; a": ("later", False),
    "train > log": ("redirected", True),
    "X=1 train > log": ("redirected", False),
    "nohup train > log": ("redirected", False),
    "(train > log)": ("redirected", False),
    "train | tee log": ("pipe", False),
    "train || true": ("fallback", False),
    "if a; then train; fi": ("compound", False),
    "train\n\n": ("text", True),
    "train & wait": ("background", False),
    "trap 'rm -f lock' TERM; train": ("trap", False),
    "for i in 1 2; do train > log; done": ("redirected", False),
}


@pytest.mark.parametrize("text", REASONS)
def test_why_a_shell_stays(text: str) -> None:
    found = in_front(shell("bash", text))
    assert found is not None
    assert (found.why, found.exec_suffices) == REASONS[text]
    assert found.shell == "bash"
    assert found.command.name == "train"


def test_what_comes_next() -> None:
    found = in_front(shell("bash", "train; a; b"))
    assert found is not None and found.after is not None
    assert found.after.name == "a"
    assert in_front(shell("bash", "a; train")) is None


def test_sh_is_what_the_image_has() -> None:
    assert in_front(shell("sh", "train")) is None
    assert in_front(shell("sh", "train"), sh="bash") is None
    found = in_front(shell("sh", "train"), sh="dash")
    assert found is not None
    assert (found.why, found.exec_suffices) == ("dash", True)


def test_traps_that_hand_the_signal_on() -> None:
    told = "trap 'kill -TERM $p; wait' TERM; train & p=$!; wait $p"
    assert in_front(shell("bash", told)) is None
    assert in_front(shell("bash", "stop() { kill $p; }; trap stop 15; train & p=$!; wait")) is None
    assert in_front(shell("bash", "trap 'kill $(jobs -p)' EXIT; train & wait")) is None
    said = in_front(shell("bash", "trap 'echo bye' TERM; train & wait"))
    assert said is not None and not said.deaf_trap
    late = in_front(shell("bash", "trap 'kill -TERM $p' TERM; train; a"))
    assert late is not None and late.deaf_trap


def test_the_innermost_shell_counts() -> None:
    found = in_front(shell("bash", "bash /r.sh; a"), {"/r.sh": "train"})
    assert found is not None
    assert (found.why, found.exec_suffices) == ("file", True)
    outer = in_front(shell("bash", "bash /r.sh; a"), {"/r.sh": "exec train"})
    assert outer is not None
    assert (outer.why, outer.command.name) == ("later", "bash")
