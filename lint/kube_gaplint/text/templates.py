"""Placeholders: texts that something else will fill in before Kubernetes sees them.

A value with a placeholder is not known, so nothing may be concluded from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from re import Match

from kube_gaplint import lazy_re

_TRIGGERS = ("$", "{{", "{%", "<", "%%", "@@", "#{", "__")
"""Without one of these a text has no placeholder, but for the whole words of the last pattern."""
_LONGEST_WORD = 80

# What stands between double braces tells whose language it is. The first match counts.
_BRACES: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy_re.compile(r"\$\{\{"), "a ${{ }} expression"),
    (
        lazy_re.compile(r"\{\{[-=]?\s*(?:workflow|inputs|outputs|item|steps|tasks|pod|retries|node|cronworkflow)\b"),
        "an Argo Workflows parameter",
    ),
    (
        lazy_re.compile(
            r"\{\{-?\s*(?:/\*|[$.(]|(?:if|else|end|range|with|include|template|define|tpl|toYaml|required|default)\b)"
        ),
        "a Helm expression",
    ),
    (lazy_re.compile(r"\{\{"), "a {{ }} template expression"),
)

# Each of these is unmistakable by itself: none may match what a program or Kubernetes would read as a literal.
# Repetitions that could run to the end of a long text are bounded, so that a search stays linear.
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[Match[str]], str]], ...] = (
    (lazy_re.needing(("${",), r"\$\{([^{}\s]{0,200})[^{}]{0,200}\}"), lambda m: f"a ${{{_name(m[1])}}} placeholder"),
    # $$(NAME) is the escape for a literal $(NAME).
    (
        lazy_re.needing(("$(",), r"(?<!\$)(?:\$\$)*\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)"),
        lambda m: f"a $({m[1]}) reference",
    ),
    (lazy_re.needing(("$",), r"\A\$([A-Za-z_][A-Za-z0-9_]*)\Z"), lambda m: f"a ${m[1]} placeholder"),
    (lazy_re.needing(("<",), r"\A<[A-Za-z][A-Za-z0-9 _./:|-]*>\Z"), lambda m: f"a {_short(m[0])} placeholder"),
    (
        lazy_re.needing(
            ("<",),
            r"<(?:[A-Z][A-Z0-9_-]+|(?i:your|my|insert|replace|enter)[ _-][\w .-]*|[a-z0-9]+(?:[-_][a-z0-9]+)+)>",
        ),
        lambda m: f"a {_short(m[0])} placeholder",
    ),
    (lazy_re.needing(("%%",), r"%%[A-Za-z][\w.-]*%%"), lambda m: f"a {_short(m[0])} placeholder"),
    (lazy_re.needing(("@@",), r"@@[A-Za-z][\w.-]*@@"), lambda m: f"a {_short(m[0])} placeholder"),
    (lazy_re.needing(("#{",), r"#\{[A-Za-z][\w.-]*\}"), lambda m: f"a {_short(m[0])} placeholder"),
    (
        lazy_re.needing(("__",), r"(?<![A-Za-z0-9])__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__(?![A-Za-z0-9])"),
        lambda m: f"a {_short(m[0])} placeholder",
    ),
    (
        lazy_re.needing(
            ("replace", "change", "fill", "insert", "your"),
            r"\A(?:(?:REPLACE|CHANGE|FILL|INSERT)[_-]?(?:ME|THIS|HERE|IN)|(?-i:YOUR[_-][A-Z][A-Z0-9_-]*))\Z",
            re.IGNORECASE,
        ),
        lambda m: f"a {_short(m[0])} placeholder",
    ),
)


def placeholder(text: str) -> str:
    """Why the value of a text is not known ("a Helm expression", "a $(NAME) reference"); "" for a plain literal.

    A `$(NAME)` reference has a reason of its own because Kubernetes itself expands it in `env`, `command` and `args`:
    there it is no placeholder.
    """
    if len(text) <= _LONGEST_WORD:
        return _of_word(text)
    return _searched(text) if any(trigger in text for trigger in _TRIGGERS) else ""


@lru_cache(maxsize=8192)  # the same names and numbers stand in every manifest
def _of_word(text: str) -> str:
    return _searched(text)


def _searched(text: str) -> str:
    if _encloses(text, "{%", "%}"):
        return "a Jinja statement"
    if _encloses(text, "{{", "}}"):
        for pattern, reason in _BRACES:
            if pattern.search(text) is not None:
                return reason
    for pattern, describe in _PATTERNS:
        match = pattern.search(text)
        if match is not None:
            return describe(match)
    return ""


def _encloses(text: str, opening: str, closing: str) -> bool:
    start = text.find(opening)
    return start >= 0 and text.find(closing, start + len(opening)) >= 0


def _name(text: str) -> str:
    """The variable's name without shell modifiers, for messages."""
    match = re.match(r"[!#]?[A-Za-z_][\w.]*", text)
    return match[0] if match else _short(text)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
