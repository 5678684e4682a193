"""Manifests that mean harm: each is answered by findings, in bounded time and memory, and hides no other file."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from running import JOB_CODES, job, lint, lint_file

ALIASES = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: 1}}\n" for n in range(1, 600))


class Row(NamedTuple):
    """One input and what must come out: a code, or nothing but what the job in it gives."""

    name: str
    make: Callable[[], str | bytes]
    code: str = ""
    word: str = ""
    """A part of the message."""
    job: bool = False
    """Whether the job beside it is still judged."""


def after(text: str) -> str:
    """A broken document, and a job after it."""
    return f"{text}\n---\n{job()}"


def nested_maps(depth: int) -> str:
    return "".join(f"{' ' * n}a{n}:\n" for n in range(depth)) + " " * depth + "x: 1\n"


ROWS = [
    Row("alias-bomb", lambda: after(ALIASES), "GAP002", "expand to more than", job=True),
    Row("alias-bomb-within-the-job", lambda: job() + ALIASES, "GAP002", "expand to more than"),
    Row("merge-keys-upon-merge-keys", lambda: after(MERGES), "", job=True),
    Row("merge-key-to-itself", lambda: after("a: &a {<<: *a, b: 1}"), "GAP001", job=True),
    Row("merge-keys-in-a-ring", lambda: after("a: &a\n  b: &b\n    <<: *a\n  <<: *b\n"), "GAP001", job=True),
    Row("anchor-within-itself", lambda: after("a: &a [*a]"), "GAP001", job=True),
    Row("anchor-within-itself-as-a-key", lambda: after("? &a [*a]\n: 1"), "GAP001", job=True),
    Row("unknown-alias", lambda: after("a: *nothing"), "GAP001", job=True),
    Row("200000-brackets", lambda: after("[" * 200_000), "GAP002", "levels deep", job=True),
    Row("200000-brackets-closed", lambda: after("[" * 200_000 + "]" * 200_000), "GAP002", "levels deep", job=True),
    Row("200000-braces", lambda: after("{a: " * 200_000), "GAP002", "levels deep", job=True),
    Row("200000-dashes", lambda: after("- " * 200_000), "GAP002", "levels deep", job=True),
    Row("200000-questions", lambda: after("? " * 200_000), "GAP002", "levels deep", job=True),
    Row("3000-nested-maps", lambda: after(nested_maps(3_000)), "GAP002", "levels deep", job=True),
    Row("200000-keys-in-a-job", lambda: job() + "".join(f"k{n}: 1\n" for n in range(200_000)), "GAP002", "values"),
    Row("3000-documents", lambda: "---\n".join(["a: 1\n"] * 3_000 + [job()]), "", job=True),
    Row("20000-empty-documents", lambda: "---\n" * 20_000 + job(), "", job=True),
    Row("20000-broken-documents", lambda: "---\n[\n" * 20_000 + job(), "GAP001"),
    Row("python-object", lambda: after("a: !!python/object/apply:os.system ['touch owned']"), "", job=True),
    Row("python-name", lambda: after("!!python/name:os.system x"), "", job=True),
    Row("unknown-tags", lambda: job().replace("name: train", "name: !<tag:example.com,2000:x> train"), "", job=True),
    Row("nul", lambda: after("a: 1\0"), "GAP001", "binary"),
    Row("nul-escape", lambda: job().replace("name: train", 'name: "tr\\0ain"'), "", job=True),
    Row("control-characters", lambda: after("a: \x01\x02\x1b[31m"), "GAP001", job=True),
    Row("surrogates-as-bytes", lambda: after("a: ").encode() + b"\xed\xa0\x80", "GAP001", "not valid UTF-8"),
    Row("surrogates-as-escapes", lambda: job().replace("name: train", 'name: "tr\\ud800\\udfffain"'), "GAP001"),
    Row("overlong-utf-8", lambda: job().encode() + b"# \xc0\xaf\n", "GAP001", "not valid UTF-8"),
    Row("utf-8-mark", lambda: codecs.BOM_UTF8 + job().encode(), "", job=True),
    Row("two-marks", lambda: codecs.BOM_UTF8 * 2 + job().encode(), "", job=True),
    Row("utf-16-le-mark", lambda: codecs.BOM_UTF16_LE + job().encode("utf-16-le"), "", job=True),
    Row("utf-16-be-mark", lambda: codecs.BOM_UTF16_BE + job().encode("utf-16-be"), "", job=True),
    Row("utf-16-le", lambda: job().encode("utf-16-le"), "", job=True),
    Row("utf-16-be", lambda: job().encode("utf-16-be"), "", job=True),
    Row("utf-16-cut", lambda: codecs.BOM_UTF16_LE + job().encode("utf-16-le") + b"\x00", "GAP001", "not valid UTF-16"),
    Row("utf-16-lone-surrogate", lambda: codecs.BOM_UTF16_LE + b"\x00\xd8" + job().encode("utf-16-le"), "GAP001"),
    Row("utf-32-le-mark", lambda: codecs.BOM_UTF32_LE + job().encode("utf-32-le"), "", job=True),
    Row("utf-32-be-mark", lambda: codecs.BOM_UTF32_BE + job().encode("utf-32-be"), "", job=True),
    Row("utf-32-le", lambda: job().encode("utf-32-le"), "GAP001", "binary"),
    Row("utf-32-be", lambda: job().encode("utf-32-be"), "GAP001", "binary"),
    Row("carriage-returns-only", lambda: job().replace("\n", "\r"), "", job=True),
    Row("carriage-returns-too-many", lambda: job().replace("\n", "\r\r\n"), ""),
    Row("next-line-characters", lambda: job().replace("\n", "\x85"), ""),
    Row("tabs", lambda: after("a:\n\tb: 1"), "GAP001", "tab", job=True),
    Row("duplicate-keys", lambda: job(extra="  backoffLimit: 0\n"), "GAP001", "twice", job=True),
    Row("20000-duplicate-keys", lambda: after("a: 1\n" * 20_000), "GAP001", "twice", job=True),
    Row("key-that-is-a-map", lambda: after("? {a: b}\n: 1\n? [a]\n: 2"), "", job=True),
    Row("key-of-nothing", lambda: after(": 1\n? \n"), "", job=True),
    Row("a-line-of-9-mb", lambda: after(f"a: {'x' * 9_000_000}"), "", job=True),
    Row("a-quoted-line-of-9-mb", lambda: after('a: "' + "x " * 4_500_000 + '"'), "", job=True),
    Row("a-line-of-9-mb-of-escapes", lambda: after('a: "' + "\\n" * 4_500_000 + '"'), "", job=True),
    Row("a-comment-of-9-mb", lambda: after(f"# {'x' * 9_000_000}"), "", job=True),
    Row("a-key-of-9-mb", lambda: after(f"{'x' * 9_000_000}: 1"), "GAP001", job=True),
    Row("9-mb-of-nothing", lambda: after("\n" * 9_000_000), "", job=True),
    Row("9-mb-of-spaces", lambda: after(" " * 9_000_000), "", job=True),
    Row("9-mb-of-block-text", lambda: after("a: |\n" + "  x\n" * 2_250_000), "", job=True),
    Row("9-mb-of-folded-text", lambda: after("a: >\n" + "  x\n\n" * 1_500_000), "", job=True),
    Row("9-mb-of-colons", lambda: after(":" * 9_000_000), "GAP001", job=True),
    Row("9-mb-of-comments", lambda: after("#x\n" * 3_000_000), "", job=True),
    Row("9-mb-of-anchors", lambda: after("- &a b\n" * 1_200_000), "GAP002"),
    Row("11-mb", lambda: job() + "# x\n" * 2_750_000, "GAP002", "larger than"),
    Row("100000-suppressions", lambda: job() + "# gaplint: ignore[NCCL001] why\n" * 100_000, "", job=True),
    Row("2000-unknown-suppressions", lambda: job() + "".join(f"# gaplint: ignore[NCCL{n}] why\n" for n in range(100_000, 102_500)), "GAP002", "suppresses more than", job=True),
    Row("a-suppression-of-100000-codes", lambda: job() + f"# gaplint: ignore[{','.join(f'X{n}' for n in range(100_000))}] why\n", "GAP002", "suppresses more than", job=True),
    Row("a-suppression-of-a-long-code", lambda: job() + f"# gaplint: ignore[{'X' * 1_000_000}] why\n" * 5, "", job=True),
    Row("suppressions-times-findings", lambda: "".join(f"{job(name=f'train-{n}')}# gaplint: ignore[RETRY001] why\n---\n" for n in range(700)), "", job=True),
    Row("odd-suppressions", lambda: job() + "# gaplint: ignore[[[,,]] until=99999-99-99 \\\n# gaplint: ignore-file[\n", "", job=True),
    Row("a-number-of-a-million-digits", lambda: job().replace("backoffLimit: 0", f"backoffLimit: {'9' * 1_000_000}"), ""),
    Row("a-hexadecimal-number", lambda: job().replace("backoffLimit: 0", f"backoffLimit: 0x{'f' * 100_000}"), ""),
    Row("a-great-exponent", lambda: job().replace("backoffLimit: 0", "backoffLimit: 1e999999999"), ""),
    Row("json", lambda: '{"apiVersion":"batch/v1","kind":"Job","a":' + "[" * 100_000 + "]" * 100_000 + "}", "GAP002"),
    Row("nothing", lambda: "", ""),
    Row("a-mark-alone", lambda: codecs.BOM_UTF16_LE, ""),
    Row("half-a-utf-16-character", lambda: codecs.BOM_UTF16_LE + b"a", "GAP001"),
    Row("random-bytes", lambda: bytes((n * n * 31 + n * 7) % 256 for n in range(1, 100_000)), "GAP001", "binary"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_manifest_that_means_harm(row: Row, tmp_path: Path) -> None:
    found = lint_file(tmp_path, row.make())
    assert sorted(tmp_path.iterdir()) == [tmp_path / "job.yaml"], "something was run or written"
    if row.code:
        assert found.code == 1
        assert any(row.word in message for message in found.messages(row.code)), found.report["findings"][:3]
    if row.job:
        assert set(found.codes) >= JOB_CODES
    if not row.code and not row.job:
        assert "GAP001" not in found.codes


def test_what_is_broken_hides_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ALIASES + "\nkind: Job\napiVersion: batch/v1\n# gpu\n")
    (tmp_path / "b.yaml").write_bytes(b"kind: Job\napiVersion: batch/v1\n# gpu \xff\n")
    (tmp_path / "c.yaml").write_text(job())
    (tmp_path / "d.yaml").write_text(job() + "# x\n" * 2_750_000)
    found = lint(".", folder=tmp_path)
    assert set(found.codes) >= JOB_CODES
    codes = [(one["code"], one["location"]["file"]) for one in found.report["findings"]]
    assert {pair for pair in codes if pair[0] in ("GAP001", "GAP002")} == {
        ("GAP002", "a.yaml"),
        ("GAP001", "b.yaml"),
        ("GAP002", "d.yaml"),
    }
