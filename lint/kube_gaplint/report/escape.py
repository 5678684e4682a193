"""Text from outside, made harmless for the place where it is shown.

Paths, names, values and source lines come from repositories that nobody has vetted. Shown raw, they could move the
cursor, hide text from a reviewer or speak to the CI runner that reads the log.
"""

from __future__ import annotations

from kube_gaplint import lazy_re

# A runner that reads a log line obeys `##[command]` (GitHub, Azure: `##vso[…]`, TeamCity: `##teamcity[…]`) wherever
# it stands, and `::command::` where the line starts with it.
LOG_COMMAND = lazy_re.compile(r"##(?=\w*\[)")
_COMMAND_LINE = lazy_re.compile(r"^((?:\s|\x1b\[[0-9;]*m)*):(?=:)")

# What an encoding without typographic characters is given instead.
_PLAIN = dict(zip("×÷√–—≥≤→·’“”", ("x", "/", "sqrt", "-", "-", ">=", "<=", "->", "-", "'", '"', '"'), strict=True)) | {
    "…": "..."
}


def visible(text: str, *, ascii_only: bool = False) -> str:
    """The text with everything spelled out that a terminal would not print as such.

    Control characters, bidirectional marks, zero-width characters, line separators and undecodable bytes appear as
    `\\x1b`, `\\u202e`, `\\xff`; with `ascii_only` all characters beyond ASCII do. The result is one line.
    """
    if ascii_only and not text.isascii():
        text = "".join(_PLAIN.get(character, character) for character in text)
    if not text.isprintable() or (ascii_only and not text.isascii()):
        text = "".join(
            character if _prints(character) and not (ascii_only and not character.isascii()) else _spelled(character)
            for character in text
        )
    return LOG_COMMAND.sub(r"#\\x23", text) if "##" in text else text


def _prints(character: str) -> bool:
    return character.isprintable() or (character.isspace() and character in "\u00a0\u3000")


def _spelled(character: str) -> str:
    code = ord(character)
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8 (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def guarded(line: str) -> str:
    """A finished line of a text report, so that no runner takes it for a `::command`."""
    return _COMMAND_LINE.sub(r"\1\\x3a", line) if "::" in line else line


def encodable(text: str) -> str:
    """The text without lone surrogates, which no strict decoder of JSON or UTF-8 accepts; they are spelled out."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_spelled(c) if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def json_text(data: object, *, indent: int | None = None) -> str:
    """Data as JSON in ASCII, one document with its line end. A runner that reads it in its log finds no command there.

    Raises ValueError for a number that JSON does not know.
    """
    import json

    text = json.dumps(data, indent=indent, allow_nan=False) + "\n"
    return LOG_COMMAND.sub(r"#\\u0023", text) if "##" in text else text


def command_data(text: str) -> str:
    """Text for the message of a GitHub workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """Text for a property of a GitHub workflow command."""
    return command_data(text).replace(":", "%3A").replace(",", "%2C")
