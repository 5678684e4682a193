"""What an author's own comment says of a value: that it is there for now, and another is to take its place.

A comment is no setting, so this never makes a rule speak; it lets one be silent where the author knows already.
"""

from __future__ import annotations

import re

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import line_start_before

_LINES_ABOVE = 3
_NAME = lazy_re.compile(r"\s*(?:-\s+)?(?:export\s+)?[\"']?(?P<name>[\w.-]+)[\"']?\s*[=:]")
_NUMBER = lazy_re.compile(r"#\s*\d[\d_,]*\s*\Z")
_FOR_NOW = lazy_re.needing(
    ("change", "set", "for now", "temporar", "first launch"),
    r"\b(?:change (?:it )?(?:back )?to|set (?:it )?back to|for now|temporar(?:y|ily)|first launch|to be changed)\b",
    re.IGNORECASE,
)


def _another_value(line: str) -> re.Pattern[str]:
    """A comment that gives a value to the name which a line gives one to."""
    found = _NAME.match(line)
    name = re.escape(found["name"]) if found else r"(?!)"
    return re.compile(rf"#\s*(?:export\s+)?[\"']?{name}[\"']?\s*[=:]\s*\S")


def stands_for_now(origin: Origin) -> bool:
    """Whether the comment lines right above a value hold another value for the same name, or say that it will change.

    `# SAVE_INTERVAL=249` above `SAVE_INTERVAL=5` does, and `# 249` alone; a comment on the same line counts for its
    words alone.
    """
    text, start = origin.place.source.text, origin.place.span.start
    line_start = line_start_before(text, start)
    end = text.find("\n", line_start)
    line = text[line_start : len(text) if end < 0 else end]
    _, hash_mark, remark = line.partition(" #")
    if hash_mark and _FOR_NOW.search(remark):
        return True
    other: re.Pattern[str] | None = None
    for _ in range(_LINES_ABOVE):
        if line_start <= 0:
            return False
        above = line_start_before(text, line_start - 1)
        comment = text[above : line_start - 1].strip()
        if not comment.startswith("#"):
            return False
        if _FOR_NOW.search(comment) or _NUMBER.match(comment):
            return True
        other = other or _another_value(line)
        if other.match(comment):
            return True
        line_start = above
    return False
