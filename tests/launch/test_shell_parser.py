"""The grammar: what bash accepts is understood, with the structure that bash gives it; what it rejects is reported."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from kube_gaplint.launch.shell_parser import parse, structure
from kube_gaplint.launch.shell_tree import (
    MAX_DEPTH,
    Block,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipe,
    Redirected,
    Simple,
    Statement,
)

BASH = shutil.which("bash")


def shown(statement: Statement, text: str) -> str:
    """A statement in prefix form, its words as written."""
    if isinstance(statement, Simple):
        return " ".join(text[token.start : token.end] for token in statement.tokens)
    if isinstance(statement, Pipe):
        return f"pipe({', '.join(shown(item, text) for item in statement.items)})"
    if isinstance(statement, Chain):
        return f"chain({', '.join(f'{operator}{shown(item, text)}' for operator, item in statement.items)})"
    if isinstance(statement, Block):
        return "; ".join(shown(item, text) + (" &" if background else "") for item, background in statement.items)
    if isinstance(statement, Not):
        return f"not({shown(statement.body, text)})"
    if isinstance(statement, Group):
        return f"{'sub' if statement.subshell else 'group'}({shown(statement.body, text)})"
    if isinstance(statement, Redirected):
        return f"redirected({shown(statement.body, text)}, {len(statement.redirects)})"
    if isinstance(statement, Function):
        return f"{statement.name}: {shown(statement.body, text)}"
    if isinstance(statement, If):
        clauses = [f"{shown(condition, text)} => {shown(body, text)}" for condition, body in statement.clauses]
        return f"if({', '.join(clauses + ([shown(statement.otherwise, text)] if statement.otherwise else []))})"
    if isinstance(statement, Loop):
        words = None if statement.words is None else [text[one.start : one.end] for one in statement.words]
        head = shown(statement.condition, text) if statement.condition is not None else words
        return f"{statement.kind}({head}: {shown(statement.body, text)})"
    assert isinstance(statement, Case)
    items = [
        f"{'|'.join(text[one.start : one.end] for one in patterns)} => {shown(body, text)}{ends}"
        for patterns, body, ends in statement.items
    ]
    return f"case({', '.join(items)})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b && c | d || e", "chain(pipe(a, b), &&pipe(c, d), ||e)"),
        ("a |\n  b && # why\n c &\nd", "chain(pipe(a, b), &&c) &; d"),
        ("! a | b; ! (c || d)", "not(pipe(a, b)); not(sub(chain(c, ||d)))"),
        ("{ a; b; } > f 2>&1 < g; (c) & d", "redirected(group(a; b), 3); sub(c) &; d"),
        ("if a; then b; elif c; then d; else e; fi", "if(a => b, c => d, e)"),
        ("if { a; } then b; fi | c", "pipe(if(group(a) => b), c)"),
        ("for i in 1 2; do a; done; for j do b; done", "for(['1', '2']: a); for(None: b)"),
        ("for ((i=0; i<3; i++)) { a; }", "count(None: a)"),
        ("while a; b; do c; done < f; until d\ndo\ne\ndone", "redirected(while(a; b: c), 1); until(d: e)"),
        ("case $x in a|b) c;; (d) e;& *) f;;& esac", "case(a|b => c;;, d => e;&, * => f;;&)"),
        ("case x in\na) b\nesac", "case(a => b)"),
        ("f() { a; }; function g { b; } > h; function k() (c)", "f: group(a); g: redirected(group(b), 1); k: sub(c)"),
        ("f()\n{\n a\n}\nf", "f: group(a); f"),
        ("time { a; }; [[ -n x && y ]] && ((i++))", "group(a); chain([[ -n x && y ]], &&((i++)))"),
        ("cat <<E | b\nif\nE\nc", "pipe(cat <<E, b); c"),
    ],
)
def test_structure(text: str, expected: str) -> None:
    parsed = parse(text)
    assert shown(parsed.body, text) == expected
    assert not parsed.errors


@pytest.mark.parametrize(
    ("text", "expected", "errors"),
    [
        ("a\nfi\nb", "a; b", ["fi"]),
        ("a )\nb", "a; b", [")"]),
        ("if a; then b", "if(a => b)", ["if"]),
        ("( if a; then b ) ; c", "sub(if(a => b)); c", ["if"]),
        ("for i in 1; do a", "for(['1']: a)", ["for"]),
        ("a && && b", "chain(a, &&b)", ["&&"]),
        ("a | ; b", "a; b", ["|"]),
        ("a (b c)", "a; b c", ["(", ")"]),
        ("fi b", "b", ["fi"]),
        ("f() echo x", "echo x", ["f"]),
        ("case x in a) b", "case(a => b)", ["case"]),
    ],
)
def test_mistakes_cost_no_command(text: str, expected: str, errors: list[str]) -> None:
    parsed = parse(text)
    assert shown(parsed.body, text) == expected
    assert [text[start:end] for start, end in parsed.errors] == errors


def test_what_is_nested_too_deeply_is_passed_over_whole() -> None:
    deep = MAX_DEPTH + 20
    text = "a\n" + "if x; then\n" * deep + "case y in z) b;; esac\n" + "fi\n" * deep + "c"
    parsed = parse(text)
    assert [shown(item, text) for item, _ in parsed.body.items][::2] == ["a", "c"]
    assert parsed.errors == []
    assert parsed.deep is not None
    assert text[parsed.deep[0] :].startswith("if x")


def test_one_structure_for_all_who_look_at_a_text() -> None:
    text = "run a\nrun b\n"
    assert structure(text) is structure("run a\n" + "run b\n")
    long = "run a\n" * 50_000
    assert len(structure(long).tokens) < len(parse(long).tokens), "only as much as is read"


GRAMMAR = (
    *("a", "b c", "x=1", "> f", "[[ y ]]", "((z))", "&&", "||", "|", ";", "\n", "&", "!", "(", ")", "{", "}", "time"),
    *("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for i in 1 2", "for j", "f()", "function g"),
    *("case x in", "p)", "(q|r)", ";;", ";&", "esac", "# c\n", "if a; then", "do b; done", "b; fi", "{ a; }", "( b )"),
)


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize("seed", range(12))
def test_what_bash_accepts_has_no_error(seed: int) -> None:
    """Texts out of pieces of the grammar: `bash -n` says which of them are right."""
    assert BASH is not None
    pick = random.Random(seed)
    texts = [" ".join(pick.choices(GRAMMAR, k=pick.randrange(1, 9))) for _ in range(40)]
    quoted = "".join(f"bash -n -c {_quoted(text)} 2>/dev/null; echo $?\n" for text in texts)
    run = subprocess.run([BASH, "-s"], input=quoted, capture_output=True, text=True, check=True)
    accepted = [text for text, status in zip(texts, run.stdout.split(), strict=True) if status == "0"]
    assert [text for text in accepted if parse(text).errors] == []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
