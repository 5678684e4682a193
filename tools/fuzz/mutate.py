"""Changing inputs at random so that most stay nearly valid: lines move, words are swapped, other files are spliced in.

All choices come from one `random.Random`, so a seed repeats a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

LONGEST = 6_000
"""Bytes of an input: what breaks a reader is small, and small inputs run fast."""

_WORD = re.compile(rb"[A-Za-z0-9_./@=${}-]+|[^\sA-Za-z0-9]|\s+")

NASTY: tuple[bytes, ...] = (
    b"\0", b"\x1b[31m", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc2\x85", b"\xe2\x80\xa8", b"\r",
    b"\r\n", b"\t", b"\n---\n", b"\n...\n", b"\n%YAML 1.2\n---\n", b"&a ", b"*a", b"<<: *a\n", b"!!binary ",
    b"!!int ", b"!x ", b"? ", b": ", b"- ", b"[", b"]", b"{", b"}", b"|\n", b">-\n", b"|2+\n", b"'", b'"', b"\\",
    b"#", b" #", b"`", b"$(", b"$((", b"${", b"${a[@]}", b"${x:-", b"<<EOF\n", b"<<-'E'\n", b"EOF\n", b"<(", b"&&",
    b"||", b";;", b"do", b"done", b"fi", b"esac", b"case x in", b"for i in", b"while :; do", b"if ", b"then",
    b"f() {", b"eval ", b"source ", b"exec ", b"trap ", b"set -e\n", b"export ", b"unset ", b"0x7fffffffffffffff",
    b"-1", b"1e999", b".nan", b".inf", b"~", b"null", b"yes", b"0o17", b"1_000", b"99999999999999999999", b"1h30m",
    b"-0", b"12:30:45", b"2001-01-01", b"{{ x }}", b"{% if x %}", b"${VAR}", b"$(VAR)", b"<NAME>", b"#SBATCH ",
    b"--nodes=", b"--time=", b"srun ", b"torchrun ", b"bash -c ", b"python -c ", b"$patch: delete\n",
    b"$patch: replace\n", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"e\xcc\x81", b"::error::",
)  # fmt: skip


def mutated(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """A changed input: one to six changes, the later ones rarer."""
    for _ in range(1 + min(random.getrandbits(4), random.getrandbits(4), 5)):
        data = random.choice(_CHANGES)(data, others, random)
    return data[:LONGEST]


def _cut(data: bytes, random: Random) -> tuple[int, int]:
    """A short stretch of the data."""
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 16, 64, 256)))


def _insert_nasty(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.choice(NASTY) + data[at:]


def _replace_word(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    words = list(_WORD.finditer(data))
    if not words:
        return data
    match = random.choice(words)
    source = random.choice(others) if random.getrandbits(1) else data
    found = [one[0] for one in _WORD.finditer(source, random.randint(0, len(source)))][:200]
    new = random.choice(NASTY) if not found or not random.getrandbits(2) else random.choice(found)
    return data[: match.start()] + new + data[match.end() :]


def _drop_word(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    words = list(_WORD.finditer(data))
    if not words:
        return data
    match = random.choice(words)
    return data[: match.start()] + data[match.end() :]


def _lines(change: Callable[[list[bytes], Random], None]) -> Callable[[bytes, Sequence[bytes], Random], bytes]:
    def changed(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
        lines = data.splitlines(keepends=True)
        if lines:
            change(lines, random)
        return b"".join(lines)

    return changed


def _swap(lines: list[bytes], random: Random) -> None:
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]


def _repeat(lines: list[bytes], random: Random) -> None:
    at = random.randrange(len(lines))
    count = random.randint(1, 5)
    lines[at:at] = lines[at : at + count] * random.choice((1, 1, 1, 2, 8))


def _drop(lines: list[bytes], random: Random) -> None:
    at = random.randrange(len(lines))
    del lines[at : at + random.randint(1, 3)]


def _indent(lines: list[bytes], random: Random) -> None:
    at = random.randrange(len(lines))
    by = random.choice((-4, -2, -1, 1, 2, 4))
    for index in range(at, min(len(lines), at + random.randint(1, 4))):
        line = lines[index]
        lines[index] = b" " * by + line if by > 0 else line[min(-by, len(line) - len(line.lstrip(b" "))) :]


def _splice(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Some lines of another input."""
    source = random.choice(others).splitlines(keepends=True)
    lines = data.splitlines(keepends=True)
    if not source:
        return data
    start = random.randrange(len(source))
    at = random.randint(0, len(lines))
    lines[at : at + random.choice((0, 0, 1, 3))] = source[start : start + random.randint(1, 12)]
    return b"".join(lines)


def _another(_data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return random.choice(others)


def _flip(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes((data[at] ^ (1 << random.randrange(8)),)) + data[at + 1 :]


def _remove(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    start, end = _cut(data, random)
    return data[:start] + data[end:]


def _again(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    start, end = _cut(data, random)
    times = random.choice((2, 3, 10, 100, 1000))
    return data[:start] + data[start:end] * min(times, LONGEST // max(1, end - start)) + data[end:]


def _truncate(data: bytes, _others: Sequence[bytes], random: Random) -> bytes:
    return data[: random.randint(0, len(data))]


_CHANGES: tuple[Callable[[bytes, Sequence[bytes], Random], bytes], ...] = (
    *(_insert_nasty, _insert_nasty, _replace_word, _replace_word, _replace_word, _drop_word),
    *(_lines(_swap), _lines(_repeat), _lines(_drop), _lines(_indent), _lines(_indent)),
    *(_splice, _splice, _another, _flip, _remove, _again, _truncate),
)
