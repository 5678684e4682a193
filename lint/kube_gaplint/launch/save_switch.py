"""Whether one switch of a program decides on all that it saves while it trains: `if config.save_checkpoints: …`.

The text is read by lines and their indentation: which loops and conditions a call stands in. That is enough to be sure
of a yes, and modules that are read only for this need no grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kube_gaplint import lazy_re

_LOOP = lazy_re.compile(r"(?:async\s+)?(?:for|while)\b")
_TEST = lazy_re.compile(r"(?:if|elif)\b(?P<condition>[^:#]{1,300}):")
_SCOPE = lazy_re.compile(r"(?:async\s+)?(?:def|class)\b")
_CALL = lazy_re.compile(r"(?P<callee>[\w.\[\]\"']*?(?P<last>\w*(?:save|checkpoint|ckpt)\w*))\(", re.IGNORECASE)
_NO_SAVE = lazy_re.compile(
    r"(?i:load|from_|resume|restore|find|get_|latest|last_|is_|has_|should|activation|gradient|wrapper|enable|list_|"
    r"parse|path|dir|name|callback|config|delete|remove|clean|prune|print|log_|savefig|savez|savetxt)"
    r"|\Acheckpoint\Z"
)
"""Names that speak of checkpoints and write none; a plain `checkpoint(…)` computes activations anew."""
_OTHER_FILES = lazy_re.compile(r"(?i:np|numpy|omegaconf|plt|image|img|tokenizer|processor|wandb|json|fig)\Z")
"""Whose `save` writes no checkpoint."""
_MOST_TEXT = 1_000_000


def decides_on_saves(texts: Iterable[str], name: str) -> bool:
    """Whether a program saves in its loops under the switch `name`, and in none without it. A switch for the result
    alone, which is written when the training is over, is none for checkpoints."""
    found = False
    for text in texts:
        if "save" not in text and "checkpoint" not in text and "ckpt" not in text:
            continue
        under, besides = _saves(text, name)
        if besides:
            return False
        found = found or under
    return found


@lru_cache(maxsize=512)  # the programs of a repository import the same modules
def _saves(text: str, name: str) -> tuple[bool, bool]:
    """Whether a text saves in a loop under the switch, and whether it saves in a loop without it."""
    if len(text) > _MOST_TEXT:
        return False, True
    asked = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    denied = re.compile(
        rf"\bnot\s+[\w.\[\]\"'()]*{re.escape(name)}|{re.escape(name)}\W*\s*(?:==|is)\s*(?:False|None|not)"
    )
    under = False
    for line, looped, conditions in _lines(text):
        for call in _CALL.finditer(line):
            if not looped or not _writes(call["callee"], call["last"]):
                continue
            if not any(asked.search(one) and not denied.search(one) for one in conditions):
                return under, True
            under = True
    return under, False


def _writes(callee: str, last: str) -> bool:
    owner = callee[: -len(last)].rstrip(".").rpartition(".")[2]
    return _NO_SAVE.search(last) is None and _OTHER_FILES.search(owner) is None


def _lines(text: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Each line of code, whether it stands in a loop of its function, and the conditions that it stands under."""
    blocks: list[tuple[int, str, str]] = []
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line[0] in "#)]}":
            continue
        indent = len(raw) - len(raw.lstrip())
        while blocks and blocks[-1][0] >= indent:
            blocks.pop()
        test = _TEST.match(line)
        if _SCOPE.match(line):
            blocks.append((indent, "scope", ""))
            continue
        if test is not None:
            blocks.append((indent, "test", test["condition"]))
            line = line[test.end() :]
        elif _LOOP.match(line):
            blocks.append((indent, "loop", ""))
        scope = next((at for at in range(len(blocks) - 1, -1, -1) if blocks[at][1] == "scope"), -1)
        inside = blocks[scope + 1 :]
        yield line, any(kind == "loop" for _, kind, _ in inside), [one for _, kind, one in inside if kind == "test"]
