"""The Python interpreter: its own switches, and the script, module or text that it runs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.launchers.base import Form
from kube_gaplint.model.command import Word

_INTERPRETER = lazy_re.needing(("python", "pypy"), r"(?:python|pypy)(?:\d+(?:\.\d+)*)?\Z")
_WITH_VALUE = "WX"


class Interpreted(Struct, frozen=True):
    """What the interpreter runs. `target` is None for an interactive interpreter or a program on standard input."""

    form: Form
    target: Word | None
    arguments: tuple[Word, ...]


def is_python(name: str) -> bool:
    return _INTERPRETER.match(name) is not None


def read(words: Sequence[Word]) -> Interpreted:
    """Read the words after the interpreter's name."""
    at = 0
    while at < len(words):
        text = words[at].known
        if text is None or not text.startswith("-") or text == "-":
            break
        if text.startswith("--"):
            at += 1
            if text == "--":
                break
            continue
        at += 1
        for offset, letter in enumerate(text[1:], start=1):
            if letter in "mc":
                form: Form = "module" if letter == "m" else "inline"
                attached = text[offset + 1 :]
                if attached:
                    target = words[at - 1].from_offset(offset + 1)
                    return Interpreted(form, target, tuple(words[at:]))
                if at >= len(words):
                    return Interpreted(form, None, ())
                return Interpreted(form, words[at], tuple(words[at + 1 :]))
            if letter in _WITH_VALUE:
                if offset == len(text) - 1:
                    at += 1
                break
    if at >= len(words) or words[at].known == "-":
        return Interpreted("script", None, tuple(words[at + 1 :]))
    return Interpreted("script", words[at], tuple(words[at + 1 :]))
