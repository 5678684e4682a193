"""Properties: any text is read, and what is read is what bash itself makes of it."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shell_reading import argv, environment_of, programs, script_of, whole

from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell import read_script
from kube_gaplint.launch.shell_reader import Reader
from kube_gaplint.launch.shell_tokens import tokens_of
from kube_gaplint.model.command import Script, Word
from kube_gaplint.model.setting import Unknown

PIECES = [
    *("run", "a", "--x", "$X", "${X}", '"', "'", "`", "$(", ")", "(", "((", "))", "{", "}", "[[", "]]", "[", "]"),
    *(";", "&", "&&", "||", "|", "|&", "\n", "\\", "\\\n", "<<EOF", "EOF", "<<<", ">", "2>&1", "<(", "#", "=", " "),
    *("if ", " then ", " fi", "for i in ", " do ", " done", "case x in ", " esac", ";;", "f() {", "while ", "!"),
    *("X=1", "X=(", "+=", "${X:-", "${#", "$((", "export ", "eval ", "source ", "set -e", "exec ", "local ", "\t"),
    *("{{ .x }}", "é", "\x00", "\r", "bash -c '", "$'", "*", "~", "{a,b}", "\ue000", "return", "exit"),
    *("function f", "trap 'x' EXIT"),
]
SOUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def check(script: Script) -> None:
    """Every place lies in its file."""
    for command in [*script.commands, *script.inner]:
        for place in [command.place, *(word.place for word in command.words)]:
            assert 0 <= place.span.start <= place.span.end <= len(place.source.text)
        for word in command.words:
            if word.placed is not None:
                assert word.known is None or word.placed.text == word.known
    for place in script.errors:
        assert 0 <= place.span.start <= place.span.end <= len(place.source.text)
    for heredoc in script.heredocs:
        for at in range(0, len(heredoc.text.text), 7):
            heredoc.text.place(at, at + 1)


@given(SOUP | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
@example("`")
@example('"${')
@example("$'\\x'")
@example("cat <<EOF")
@example("a\\")
@example("${X:=")
@example("<<")
@example("((x=")
@example("export X=(")
@example("case")
def test_any_text_is_read(text: str) -> None:
    script = read_script(whole(text), environment_of())
    check(script)


@given(SOUP)
@settings(max_examples=150, deadline=None)
def test_tokens_stand_in_order(text: str) -> None:
    at = 0
    for token in tokens_of(Reader(text)):
        assert at <= token.start < token.end <= len(text)
        at = token.end


@given(
    st.lists(
        st.text(st.characters(blacklist_characters="\x00\ue000", blacklist_categories=("Cs",)), max_size=12), max_size=8
    )
)
@settings(max_examples=200, deadline=None)
def test_printed_commands_give_the_same_arguments(arguments: list[str]) -> None:
    text = "run " + " ".join(shlex.quote(argument) for argument in arguments)
    (command,) = programs(script_of(text))
    assert argv(command)[1:] == arguments


@given(
    st.lists(st.text("abcAB019_./:,=+@%^*?![]#-", min_size=1, max_size=10), min_size=1, max_size=8),
    st.sampled_from([" ", "  ", " \\\n  ", "\t"]),
)
@settings(max_examples=100, deadline=None)
def test_places_of_plain_words(words: list[str], blank: str) -> None:
    text = f"ARGS='{' '.join(words)}'\nrun " + blank.join(words) + "\nrun $ARGS"
    plain, spliced = programs(script_of(text))
    expected = [word for word in words if not word.startswith("#")]
    if len(expected) == len(words):
        assert [word.place.text for word in plain.words[1:]] == words
    assert [word.place.text for word in spliced.words[1:]] == words
    assert all(word.place.start.line == 1 for word in spliced.words[1:])


# --- against bash --------------------------------------------------------------------------------------------------

BASH = shutil.which("bash")
VALUES = [
    *("a", "''", "'a b'", '"x  y"', "1", "u/v.w", "a\\ b", '"\\"q\\""', "'$A'", "\\$A", "$'t\\tu'", "~z", "{p,q}r"),
    *("$A", '"$A"', "${A}z", '"${B:-d e}"', "${C:-f}", "${A:+s t}", "x${A}y${B}", "$((1+2))", "$(echo k)"),
    *("${#A}", "${A##*/}", "${A%.*}", "${A/a/b}", "${A:1}", '"$#"', '"$@"', '"`echo l m`"'),
    *('"${D[@]}"', "${D[*]}", "${D[0]}", "${#D[@]}", '"-${D[@]}-"'),
]


def scripts(seed: int) -> str:
    """A script of assignments, branches on known values, functions and calls of `show`."""
    pick = random.Random(seed)
    lines = ["A=/u/v.w; B=; D=(one 'two three'); unset C", "set -- p 'q r'"]
    for _ in range(pick.randrange(3, 12)):
        name = pick.choice("ABCD")
        value = pick.choice(VALUES)
        kind = pick.randrange(10)
        if kind < 4:
            lines.append(f"{pick.choice('ABC')}={value if '@' not in value and '{p' not in value else 'w'}")
        elif kind == 4:
            lines.append(f"{pick.choice('ABC')}+={value if '@' not in value and '{p' not in value else 'w'}")
        elif kind == 5:
            lines.append(f"D{pick.choice(['', '+'])}=({value} {pick.choice(VALUES)})")
        elif kind == 6:
            lines.append(f'if [ -n "${pick.choice("ABC")}" ]; then {name}=1{name}; else show no {value}; fi')
        elif kind == 7:
            lines.append(f'f() {{ local A={pick.choice(["1", "$1"])}; show f "$A" {value} "$2"; B=f$B; }}; f {value} y')
        elif kind == 8:
            lines.append(f"case \"$B\" in ''|f*) show e {value};; *) show n;; esac")
        else:
            lines.append(f"show {value} {pick.choice(VALUES)}")
    lines.append('show "$A" $A "$B" ${C-unset} "${D[@]}" "$@"')
    return "\n".join(lines)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize("seed", range(120))
def test_the_same_words_as_bash(seed: int, tmp_path: Path) -> None:
    text = scripts(seed)
    head = 'shopt -u nullglob; set -f\nshow() { printf \'%s\\0\' "$#" "$@"; }\n'
    run = subprocess.run([BASH or "bash", "-c", head + text], capture_output=True, cwd=tmp_path, check=False)
    fields = run.stdout.decode().split("\0")[:-1]
    expected: list[list[str]] = []
    while fields:
        count = int(fields[0])
        expected.append(fields[1 : 1 + count])
        fields = fields[1 + count :]
    found = programs(script_of(text), "show")
    assert [argv(command)[1:] for command in found] == expected, text
    assert all(command.certainty == "always" for command in found)


# --- bounds --------------------------------------------------------------------------------------------------------

HOSTILE = {
    "doubling": "A=x\n" + 'A="$A $A"\n' * 200 + "run $A",
    "calls": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40)) + "f40() { run; }\nf0",
    "branches": "if a; then " * 500 + "run" + "; fi" * 500,
    "subshells": "(" * 3000,
    "defaults": "run " + "${a:-" * 2000 + "}" * 2000,
    "open defaults": "run " + "${a:-" * 3000,
    "substitutions": "$(" * 3000,
    "closed substitutions": "$(echo " * 500 + ")" * 500,
    "quotes": '"$(' * 3000,
    "backticks": "`" * 5001,
    "loops": "for i in a b; do A=$i; " * 200 + "run" + "; done" * 200,
    "conditions": "[[ " * 3000,
    "arithmetic": "run $((" + "(" * 2000 + "1" + ")" * 2000 + "))",
    "braces": "run " + "{1..1000}" * 6,
    "array": "A=(" + "a " * 5000 + ')\n' + 'run "${A[@]}"\n' * 30,
    "nested": "bash -c '" * 300,
    "appends": "A=x\n" + "".join(f'A="$A --o{n} {n}"\nrun $A\n' for n in range(300)),
    "templates": "{{ if .x }}\n" * 3000 + "run",
    "documents": "cat <<A\n" * 2000,
    "words": "run " + "a " * 90000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_scripts_stay_small(name: str) -> None:
    budget = Budget()
    script = read_script(whole(HOSTILE[name]), environment_of(), budget=budget)
    check(script)
    assert sum(len(command.words) for command in script.commands) <= Budget().words + 10_000
    assert len(script.commands) <= Budget().commands
    assert budget.depth == 0


def test_what_is_beyond_the_budget_is_unknown() -> None:
    script = read_script(whole("run a b; run c d e; run f"), environment_of(), budget=Budget(words=4))
    words: list[Word] = [word for command in script.commands for word in command.words]
    assert [word.shown for word in words][:4] == ["run", "a", "b", "run"]
    assert any(isinstance(piece, Unknown) and "more text" in piece.reason for word in words for piece in word.pieces)
    open_script = read_script(whole("x\n" * 30 + "export A=1\nrun"), environment_of(), budget=Budget(commands=20))
    assert isinstance(open_script.exports.get("A"), Unknown | None)
    assert len(open_script.commands) <= 20


def test_a_script_that_is_too_long_is_cut() -> None:
    script = script_of("run a\n" + "# x\n" * 270_000 + "run b\n")
    assert [argv(command) for command in programs(script)] == [["run", "a"]]
    assert script.errors


def test_errors_do_not_stop_the_reading() -> None:
    script = script_of("run ${a/b \\\n  --x 1\nif y; then\n  run c\nfi )\nrun d 'e\nrun f\n")
    assert [argv(command)[-1] for command in programs(script)] == ["1", "c", "e", "f"]
    assert len(script.errors) >= 2
