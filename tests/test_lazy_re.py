"""Patterns that are compiled late: all of them compile, and what they say they need is what they need."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kube_gaplint
import kube_gaplint_rules
from kube_gaplint import lazy_re


def everything(package: ModuleType) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(("kube_gaplint.lsp", "kube_gaplint.__main__")):
            importlib.import_module(module.name)


everything(kube_gaplint)
everything(kube_gaplint_rules)
PATTERNS = sorted(  # whatever was imported first: workers of a parallel run must agree on the order
    (found for found in gc.get_objects() if type(found) in (lazy_re._Later, lazy_re._Needing)),
    key=lambda late: (str(late._text), int(late._flags)),
)
NEEDING = [found for found in PATTERNS if isinstance(found, lazy_re._Needing)]


def test_every_pattern_compiles() -> None:
    assert len(PATTERNS) > 100
    for late in PATTERNS:
        re.compile(late._text, late._flags)


@pytest.mark.parametrize("late", NEEDING, ids=lambda late: late._text[:40])
@settings(max_examples=40)
@given(data=st.data())
def test_every_match_holds_what_the_pattern_needs(late: lazy_re._Needing, data: st.DataObject) -> None:
    alphabet = st.characters(max_codepoint=0x7E)  # other letters may be the upper case of one of ours
    text = data.draw(st.from_regex(re.compile(late._text, late._flags), alphabet=alphabet))
    assert late.search(text), f"{late.needs} are not in {text!r}"


@pytest.mark.parametrize("method", ["search", "match", "fullmatch"])
def test_a_needing_pattern_answers_as_the_plain_one(method: str) -> None:
    late, plain = lazy_re.needing(("ab", "cd"), r"ab\d|cd\d", re.IGNORECASE), re.compile(r"ab\d|cd\d", re.IGNORECASE)
    for text in ("", "ab1", "xAB1", "cd", "Cd2x", "none of it"):
        one, other = getattr(late, method)(text), getattr(plain, method)(text)
        assert (one and one.span()) == (other and other.span())
    assert [found.group() for found in late.finditer("ab1 CD2")] == ["ab1", "CD2"]
    assert list(late.finditer("none")) == []


def test_a_text_without_the_needed_parts_compiles_nothing() -> None:
    assert lazy_re.needing(("ab",), "(").search("cd") is None
    with pytest.raises(re.error):
        lazy_re.needing(("ab",), "(").search("ab")
