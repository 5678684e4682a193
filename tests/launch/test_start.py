"""What an argument list starts."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_reading import argv, environment_of, literal, script_of, value, whole

from kube_gaplint.launch.start import Started, nested, peel_wrappers, start
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.setting import Set, Unknown
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Scalar, sequence
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Source

FILES = {
    "/s/run.sh": "#!/bin/sh\nexport A=1\nexec train $1 $B\n",
    "/s/outer.sh": "cd /s\nbash run.sh x\ntrain y\n",
    "/s/tool": "#!/usr/bin/env python3\nprint(1)\n",
    "/s/bare": "train bare\n",
    "/s/ends.sh": "setup\nexec /app/real.sh\n",
    "/s/helper.sh": "/app/helper.sh\ntrain z\n",
}


def started(line: str, variables: dict[str, str] | None = None) -> Started:
    """What a shell line starts as an exec array; each word is one element."""
    known = {path: whole(text, path) for path, text in FILES.items()}
    return start(literal("\n".join(shlex.split(line))), environment_of(variables), known.get)


def trains(found: Started) -> list[str]:
    return [" ".join(argv(command)) for command in found.commands if command.name == "train"]


STARTS = {
    "train a b": ["train a b"],
    "/opt/bin/train a": ["/opt/bin/train a"],
    "bash -c 'train a'": ["train a"],
    "sh -c 'train a' --": ["train a"],
    "bash -lc 'train a'": ["train a"],
    "/bin/bash -exc 'train a'": ["train a"],
    "bash -o pipefail -c 'train a'": ["train a"],
    "bash -eo pipefail -c 'train a | tee l'": ["train a"],
    "bash --norc -c 'train $0 $1 $#' zero one two": ["train zero one 2"],
    'sh -c \'exec "$0" "$@"\' train a': ["train a"],
    "bash -c 'exec \"$@\"' _ train a b": ["train a b"],
    "busybox sh -c 'train a'": ["train a"],
    "bash /s/run.sh a": ["train a …"],
    "/s/run.sh a": ["train a …"],
    "/s/bare": ["train bare"],
    "bash /s/outer.sh": ["train x …", "train y"],
    "tini -- bash -c 'train a'": ["train a"],
    "/usr/bin/tini -g -- train a": ["train a"],
    "dumb-init --rewrite 15:2 train a": ["train a"],
    "env A=1 B=2 train a": ["train a"],
    "env -i -u X -- train a": ["train a"],
    "numactl --membind=0 -N 0 train a": ["train a"],
    "numactl -l train --numa": ["train --numa"],
    "timeout -s INT 3600 train a": ["train a"],
    "nohup nice -n 5 ionice -c2 -n 0 stdbuf -oL train a": ["train a"],
    "taskset -c 0-3 train a": ["train a"],
    "sudo -E -u trainer TOKEN=x train a": ["train a"],
    "gosu trainer train a": ["train a"],
    "su-exec 1000:1000 train a": ["train a"],
    "su - trainer -c 'train a'": ["train a"],
    "nsys profile -o out -t cuda,nvtx --force-overwrite=true train a": ["train a"],
    "nsys stats train": [],
    "conda run -n env --no-capture-output train a": ["train a"],
    "conda install train": [],
    "uv run --with torch train a": ["train a"],
    "poetry run train a": ["train a"],
    "xvfb-run -a train a": ["train a"],
    "script -qec 'train a' /dev/null": ["train a"],
    "time -p train a": ["train a"],
    "setsid flock /tmp/lock train a": ["train a"],
    "bash -c 'bash -c \"train a\"'": ["train a"],
    "/s/helper.sh": ["train z"],
}


@pytest.mark.parametrize("line", STARTS)
def test_start(line: str) -> None:
    found = started(line)
    name = "/opt/bin/train" if line.startswith("/opt") else "train"
    assert [" ".join(argv(c)) for c in found.commands if argv(c)[0] == name] == STARTS[line]
    assert found.unknown == ""


UNSEEN = {
    "/app/entry.sh train": "/app/entry.sh is in the image",
    "docker-entrypoint.sh train": "docker-entrypoint.sh is in the image",
    "bash /app/run.sh": "/app/run.sh is in the image",
    "env A=1 bash -x /app/run.sh": "/app/run.sh is in the image",
    "bash": "`bash` reads its commands from standard input",
    "bash /s/ends.sh": "/app/real.sh is in the image",
}


@pytest.mark.parametrize("line", UNSEEN)
def test_unseen(line: str) -> None:
    assert started(line).unknown == UNSEEN[line]


def test_nothing_and_unknown_words() -> None:
    assert start((), environment_of()).unknown
    (name,) = literal("x")
    unknown = Word((Unknown("a Helm expression"),), name.place)
    assert start((unknown,), environment_of()).unknown == "a Helm expression"
    bash, flag = literal("bash\n-c")
    assert start((bash, flag, unknown), environment_of()).unknown == "a Helm expression"


def test_a_string_with_an_unknown_part_is_read() -> None:
    bash, flag, text = literal("bash\n-c\nx")
    mixed = Word(("train --lr ", Unknown("a $(LR) reference"), " --x 1"), text.place)
    found = start((bash, flag, mixed), environment_of())
    assert argv(found.commands[0]) == ["train", "--lr", "…", "--x", "1"]


def test_one_program() -> None:
    (command,) = started("train a").commands
    assert command.script is None
    assert command.is_last
    assert command.certainty == "always"
    assert command.place.text == "train\na"


def test_environment() -> None:
    (command,) = [c for c in started("env A=1 C= bash -c 'D=4 train; E=5'", {"B": "2"}).commands if c.name == "train"]
    assert [value(command.environment.get(name)) for name in "ABCDE"] == ["1", "2", "", "4", "-"]
    (command,) = [c for c in started("/s/run.sh a", {"B": "2"}).commands if c.name == "train"]
    assert argv(command) == ["train", "a", "2"]
    assert value(command.environment.get("A")) == "1"
    (command,) = started("env -i A=1 train", {"B": "2"}).commands
    assert [value(command.environment.get(name)) for name in "AB"] == ["1", "-"]
    (command,) = started("env -u B train", {"B": "2"}).commands
    assert value(command.environment.get("B")) == "-"


def test_a_login_shell_reads_the_profile_of_the_image() -> None:
    for line in ("bash -lc train", "bash --login -c train", "su -l x -c train", "bash -l /s/bare"):
        (command,) = [c for c in started(line).commands if c.name == "train"]
        found = command.environment.get("NCCL_DEBUG")
        assert isinstance(found, Unknown), line
        assert "profile" in found.reason
    (command,) = started("bash -c train").commands
    assert value(command.environment.get("NCCL_DEBUG")) == "-"


def test_scripts_are_listed_outermost_first() -> None:
    found = started("bash /s/outer.sh")
    assert [script.text.text for script in found.scripts] == [FILES["/s/outer.sh"], FILES["/s/run.sh"]]
    assert found.scripts[1].parent is found.scripts[0]
    assert found.scripts[0].started_by is not None
    assert found.scripts[0].started_by.name == "bash"


def test_options_of_the_shell_hold_in_the_script() -> None:
    (command, _) = started("bash -eo pipefail -c 'train | tee l'").commands
    assert value(command.errexit) is True  # type: ignore[arg-type]
    assert value(command.pipeline.pipefail) is True  # type: ignore[arg-type]


def test_wrappers_are_kept() -> None:
    (command,) = started("tini -- exec numactl -l train").commands
    assert command.wrappers == ("tini", "exec", "numactl")
    assert command.is_exec
    (command,) = started("tini -- bash -c 'exec nohup train'").commands
    assert command.wrappers == ("tini", "exec", "nohup")
    assert peel_wrappers(command) is command


def test_nested_behind_a_launcher() -> None:
    script = script_of(
        "export A=1; B=2; if x; then srun -n 2 bash -c 'train $A $B' | tee l & fi; wait; srun -n 2 train"
    )
    first, second = [c for c in script.commands if c.name == "srun"]
    found = nested(first, first.words[3:])
    assert found is not None
    (command,) = found.commands
    assert argv(command) == ["train", "1", "…"]
    assert (command.certainty, command.background, command.pipeline.length) == ("conditional", True, 2)
    assert found.scripts[0].parent is script
    assert nested(second, second.words[3:]) is None


def test_a_script_that_the_batch_script_writes() -> None:
    text = "cat > r.sh <<EOF\ntrain a\nEOF\ncat > $D/s.sh <<EOF\ntrain b\nEOF\nsrun bash r.sh; srun bash $D/s.sh"
    first, second = [c for c in script_of(text).commands if c.name == "srun"]
    for command, expected in ((first, "train a"), (second, "train b")):
        found = nested(command, command.words[1:])
        assert found is not None
        assert trains(found) == [expected]
    script = script_of("cat > $D/s.sh <<EOF\ntrain b\nEOF\nread D; bash $D/s.sh")
    assert [c.name for c in script.commands] == ["cat", "read", "bash"]
    script = script_of("S=$D/s.sh; cat > $S <<EOF\ntrain b\nEOF\nsrun bash $S; bash $S")
    assert [argv(c) for c in script.commands if c.name == "train"] == [["train", "b"]]
    found = nested(script.commands[1], script.commands[1].words[1:])
    assert found is not None
    assert trains(found) == ["train b"]


def test_relative_paths_and_the_working_directory() -> None:
    known = {path: whole(text, path) for path, text in FILES.items()}
    at = Set("/s", literal("x")[0].setting.origin)  # type: ignore[union-attr]
    for words in (literal("bash\nrun.sh\na"), literal("./run.sh\na")):
        found = start(words, environment_of(), known.get, directory=at)
        assert trains(found) == ["train a …"]
        assert start(words, environment_of(), known.get).unknown


def test_heredoc_for_a_shell_behind_a_launcher() -> None:
    (srun, _) = [*script_of("srun bash <<EOF\ntrain a\nEOF\n").commands, None]
    assert srun is not None
    found = nested(srun, srun.words[1:])
    assert found is not None
    assert trains(found) == ["train a"]


PIECES = [
    *("env", "A=1", "bash", "-c", "x", "--", "-", "-o", "exec", "sudo", "-u", "nsys", "profile", "/s/run.sh", ""),
    *("timeout", "su", "script", "$(x", "uv", "run"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=7))
@settings(max_examples=200, deadline=None)
def test_any_array_is_read(words: list[str]) -> None:
    source = literal("\n".join(["x"] * len(words)))
    array = tuple(Word((text,), word.place) for text, word in zip(words, source, strict=True))
    known = {path: whole(text, path) for path, text in FILES.items()}
    found = start(array, environment_of(), known.get)
    for command in found.commands:
        assert isinstance(command, Command)
        assert command.words


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda text: "\n" not in text), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_direct_program_keeps_its_arguments(words: list[str]) -> None:
    source = literal("\n".join(["x"] * len(words)))
    array = (*literal("train"), *(Word((text,), word.place) for text, word in zip(words, source, strict=True)))
    (command,) = start(array, environment_of()).commands
    assert argv(command) == ["train", *words]


def test_places_in_a_manifest() -> None:
    text = (
        "a:\n- |\n  ARGS=\"--save /ckpt \\\n     --every 5\"\n  train a.py $ARGS\n"
        "- >-\n  train --a 1\n  --b 2\n- \"train \\\"--q\\\" --z\"\n- 'train ''--s'' x'\n"
    )  # fmt: skip
    source = Source("pod.yaml", text)
    nodes = sequence(compose(source).documents[0].root, "a")
    assert nodes is not None
    expected = [
        [("a.py", 5), ("--save", 3), ("/ckpt", 3), ("--every", 4), ("5", 4)],
        [("--a", 7), ("1", 7), ("--b", 8), ("2", 8)],
        [('--q', 9), ("--z", 9)],
        [("--s", 10), ("x", 10)],
    ]  # fmt: skip
    bash, flag = literal("bash\n-c")
    for node, words in zip(nodes, expected, strict=True):
        assert isinstance(node, Scalar)
        word = Word((node.text,), node.place, placed=scalar_text(node))
        (command,) = start((bash, flag, word), environment_of()).commands
        assert [(each.known, each.place.start.line) for each in command.words[1:]] == words
        assert all(each.known == each.place.text for each in command.words[1:])


def test_shell_text_needs_no_foreign_grammar() -> None:
    code = (
        "import sys\n"
        "from kube_gaplint.launch.shell import read_script\n"
        "from kube_gaplint.model.environment import Environment\n"
        "from kube_gaplint.model.setting import Origin\n"
        "from kube_gaplint.text.source import Source, WholeText\n"
        "for text in ('export A=1\\nexec train $A', 'a && b'):\n"
        "    whole = WholeText(Source('x', text))\n"
        "    read_script(whole, Environment(Origin(whole.place(0, 0))))\n"
        "    print('tree_sitter' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
