"""Bytes to text: encodings, byte-order marks, and the test for binary data."""

from __future__ import annotations

import codecs

from kube_gaplint.text import limits

MAX_BYTES = limits.FILE.most
"""Files above this size are not read; manifests and scripts are far smaller."""

_MARKS = (
    # The UTF-32 mark of little-endian texts begins with that of UTF-16, so it is tried first.
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_SAMPLE = 256
"""Bytes that are looked at to tell UTF-16 without a mark from binary data."""


class Unreadable(Exception):
    """The bytes are no text. `reason` completes the sentence "it is not read, because it …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decode(data: bytes) -> str:
    """The text of a file, without its byte-order mark and with its own line ends.

    Raises `Unreadable` for binary data and for bytes that the encoding does not allow.
    """
    for mark, codec, title in _MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], codec, title)
    if b"\0" in data:
        unmarked = _unmarked_utf16(data)
        if unmarked is None:
            raise Unreadable(f"is binary (a NUL byte at offset {data.index(0)})")
        return _decode(data, unmarked, "UTF-16")
    return _decode(data, "utf-8", "UTF-8")


def encode_like(data: bytes, text: str) -> bytes:
    """The bytes of a text in the encoding of a file, with its byte-order mark where it has one.

    Raises `Unreadable` where the file could not be decoded itself.
    """
    for mark, codec, _ in _MARKS:
        if data.startswith(mark):
            return mark + text.encode(codec)
    if b"\0" not in data:
        return text.encode("utf-8")
    unmarked = _unmarked_utf16(data)
    if unmarked is None:
        raise Unreadable("is binary")
    return text.encode(unmarked)


def _decode(data: bytes, codec: str, title: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        if codec == "utf-8":
            line = data.count(b"\n", 0, error.start) + 1
            raise Unreadable(f"is not valid UTF-8 (byte 0x{data[error.start]:02x} on line {line})") from None
        raise Unreadable(f"is not valid {title} (at offset {error.start})") from None


def _unmarked_utf16(data: bytes) -> str | None:
    """The codec where every other byte of the beginning is zero, as in UTF-16 text of Latin letters."""
    head = data[:_SAMPLE]
    if len(data) % 2:
        return None
    if not any(head[1::2]) and all(head[::2]):
        return "utf-16-le"
    if not any(head[::2]) and all(head[1::2]):
        return "utf-16-be"
    return None
