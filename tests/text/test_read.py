"""Bytes to text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.text.read import Unreadable, decode

TEXT = "kind: Job # é 😀\r\nname: x\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
)
def test_encodings(data: bytes) -> None:
    assert decode(data) == TEXT


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(codec: str) -> None:
    assert decode("kind: Job\n".encode(codec)) == "kind: Job\n"


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary"),
        (b"kind: Job\nname: \xff\n", "byte 0xff on line 2"),
        (codecs.BOM_UTF16_LE + b"a", "UTF-16"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "UTF-16"),
        (b"kind: \0Job\n", "NUL byte at offset 6"),
    ],
)
def test_what_is_no_text_has_a_reason(data: bytes, part: str) -> None:
    with pytest.raises(Unreadable) as caught:
        decode(data)
    assert part in caught.value.reason


def test_nothing_is_a_text() -> None:
    assert decode(b"") == ""
    assert decode(codecs.BOM_UTF8) == ""


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert isinstance(decode(data), str)
    except Unreadable as error:
        assert error.reason


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_text_comes_back(text: str) -> None:
    assert decode(codecs.BOM_UTF8 + text.encode()) == text
