"""Whatever names and values a repository holds, `gaplint show` shows them without obeying them."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from show_samples import understood
from test_show_json import data_of

from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.show import plain, text
from kube_gaplint.report.show.shape import Location, Shown, Value
from kube_gaplint.report.show.words import Places

NASTY = st.sampled_from([
    "\x1b[31m", "\x1b]0;t\x07", "\r", "\n", "\t", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028",
    "\ufeff", "\udcff", "::error file=x::y", "\n::stop-commands::z", "##[group]a", "##vso[task.x]", "%0A",
    "訓", "e\u0301", "\U000e0041", "<a>&", '"', "'", "`", "  ", "$X", "${{ y }}", "│",
])  # fmt: skip
TOKEN = "hf_" + "a" * 30
WORD = st.lists(NASTY | st.text(max_size=6), max_size=5).map("".join)


def job(words: dict[str, str]) -> str:
    """A job with hostile words for names and values. JSON is YAML, and its escapes carry any character."""

    def word(name: str) -> str:
        return words.get(name, name)

    container = {
        "name": word("container"),
        "image": word("image"),
        "command": ["sh", "-c", f"{word('variable')}=1 python {word('program')} --save {word('path')}"],
        "env": [{"name": word("variable"), "value": word("value")}, {"name": "ID", "value": TOKEN}],
        "resources": {"limits": {"nvidia.com/gpu": word("count")}},
        "volumeMounts": [{"name": word("volume"), "mountPath": word("mount")}],
    }
    pod = {
        "containers": [container],
        "nodeSelector": {word("label"): word("value")},
        "volumes": [{"name": word("volume"), "persistentVolumeClaim": {"claimName": word("claim")}}],
    }
    data = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": word("name"), "namespace": word("namespace"), "annotations": {word("key"): word("value")}},
        "spec": {
            "parallelism": 2,
            "template": {"metadata": {"annotations": {word("key"): word("value")}}, "spec": pod},
        },
    }
    return json.dumps(data, ensure_ascii=True).replace("\\udcff", "\\u00ff")


NAMES = (
    "container", "image", "variable", "program", "path", "value", "count", "volume", "mount", "label", "claim", "name",
    "namespace", "key",
)  # fmt: skip
OPTIONS = RenderOptions(width=80)


def raw(shown: str) -> list[str]:
    """The characters that a terminal would obey instead of showing them."""
    return [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(NAMES), WORD))
def test_hostile_names_and_values(tmp_path: Path, words: dict[str, str]) -> None:
    shown = understood(tmp_path, "job.yaml", job(words))
    tree = text.render(shown, OPTIONS)
    assert raw(tree) == []
    assert "hf_aaa" not in tree
    assert not re.search(r"(?m)^\s*::|##(?=\w*\[)", tree)
    assert text.render(shown, RenderOptions(width=80, ascii_only=True)).isascii()
    coloured = text.render(shown, RenderOptions(width=80, color=True))
    assert raw(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == []
    out = plain.render(shown)
    assert out.isascii()
    assert "hf_aaa" not in out
    data_of(shown)


@settings(max_examples=200, deadline=None)
@given(WORD, WORD, st.integers(40, 120), st.booleans())
def test_no_text_breaks_the_tree(first: str, second: str, width: int, ascii_only: bool) -> None:
    from kube_gaplint.report.layout import Palette, width_of
    from kube_gaplint.report.show.tree import NARROWEST, Branch, Pen, Row

    pen = Pen(width, Palette(), ascii_only=ascii_only)
    inner = Branch([(second, "title"), (first, "where")], [Row(second, [(first, ""), (second, "unknown")])])
    lines = list(pen.draw(Branch([(first, "title")], [Row(first, [(second, "")], [Row("", [(first, "")])])], [inner])))
    assert all(raw(line) == [] for line in lines)
    # A line that would start with `::` is made longer at the last moment.
    assert all(width_of(line) <= width or "\\x3a" in line for line in lines)
    said = "".join(pen.draw(Branch([(first, "title")])))
    for piece in pen._safe(first).split():
        if len(piece) < NARROWEST // 2 and "::" not in piece:
            assert piece in said


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | WORD, st.lists, max_leaves=6), WORD)
def test_any_value_can_be_said(value: Any, word: str) -> None:
    places = Places("x")
    at = Location(word, 1, 1, 1, 1)
    for state in ("set", "absent", "unknown"):
        runs = places.value(Value(state, value, False, "injected", word, word, word, at))  # type: ignore[arg-type]
        assert all(isinstance(run, str) for run, _ in runs)


@pytest.mark.parametrize("width", [0, 1, 40, 1000])
def test_any_width(width: int, tmp_path: Path) -> None:
    shown: Shown = understood(tmp_path, "job.yaml", job({}))
    assert "Job namespace/name" in text.render(shown, RenderOptions(width=width)).replace("\n│  ", " ")
