"""The length of a run that the program's own text fixes: `config.train.train_iters = 10`, `trainer.max_steps = 50`.

So trainings of Megatron-Bridge and NeMo are told their length, whose recipes are Python. Programs with a loop of their
own count up to a setting that has a default: `while step < config.max_steps`, `max_steps: int = 40000`; others hand it
to their trainer: `TrainingArguments(max_steps=args.max_steps)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from kube_gaplint import lazy_re

_LENGTH = lazy_re.needing(
    ("train_iters", "_steps", "max_iters"),
    r"^(?P<indent>[ \t]*)(?:\w+\.)*(?:train|trainer|training|\w*args|config|cfg|conf|hparams|opts?)\."
    r"(?:train_iters|max_steps|max_train_steps|total_steps|num_train_steps|training_steps|max_iters)"
    r"[ \t]*=[ \t]*(?P<steps>\d[\d_]{0,12})[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_MOST_LINES = 400
"""Lines that are looked through for the block that a line belongs to."""


@lru_cache(maxsize=256)  # each rule on lengths asks again
def fixed_steps(text: str) -> int | None:
    """The most steps that a program's text sets whatever happens; None where it sets none, or only in some case."""
    lines, number, last = text.split("\n"), 0, 0
    steps: list[int] = []
    for found in _LENGTH.finditer(text):
        number += text.count("\n", last, found.start())
        last = found.start()
        if _unconditional(lines[max(0, number - _MOST_LINES) : number], len(found["indent"].expandtabs())):
            steps.append(int(found["steps"].replace("_", "")))
    return max(steps, default=None)


_LOOP = lazy_re.needing(
    ("while", "range"),
    r"^[ \t]*(?:while[ \t]+\w*(?:step|iter)\w*[ \t]*<=?[ \t]*|for[ \t]+\w+[ \t]+in[ \t]+range\()"
    r"(?:\w+\.)+(?P<name>\w*(?:step|iter)\w*)\)?[ \t]*:",
    re.MULTILINE,
)
"""The head of a loop over steps, with the attribute that ends it."""
_HANDED_OVER = lazy_re.needing(
    ("max_steps",),
    r"\b\w*(?:TrainingArguments|Trainer)\((?:[^()]|\((?:[^()]|\([^()]{0,500}\)){0,1000}\)){0,4000}?"
    r"(?<![\w.])max_steps[ \t]*=[ \t]*(?:\w+\.)+(?P<name>\w*(?:step|iter)\w*)[ \t]*[,)\n]",
)
"""The length in the call that makes a trainer or its arguments, with the attribute that gives it. A length in epochs
beside it can only end the run sooner."""
_DEFAULT = lazy_re.needing(
    ("step", "iter"),
    r"^[ \t]+(?P<field>\w*(?:step|iter)\w*)[ \t]*(?::[ \t]*int[ \t]*)?=[ \t]*(?P<value>\d[\d_]{0,12})[ \t]*,?"
    r"[ \t]*(?:#.*)?$"
    r"|[\"']--(?P<option>[\w-]*(?:step|iter)[\w-]*)[\"'][^()\n]{0,200}\bdefault[ \t]*="
    r"[ \t]*(?P<number>\d[\d_]{0,12})\b",
    re.MULTILINE,
)
"""A field of a settings class with its default, or an option of argparse."""

_SET_AGAIN = lazy_re.needing(
    ("step", "iter"),
    r"^[ \t]+(?:\w+\.)+(?P<name>\w*(?:step|iter)\w*)[ \t]*[-+*/]{0,2}="
    r"(?![=]|[ \t]*(?:\w+\.)*(?P=name)[ \t]*(?:#.*)?$)",
    re.MULTILINE,
)
"""An assignment to such a setting in a function, `args.max_steps = len(loader) * args.epochs`, but not what takes it
over, `self.max_steps = args.max_steps`."""


@lru_cache(maxsize=1024)  # the programs of a repository import the same modules
def _counted_to(text: str) -> frozenset[str]:
    """The settings up to which loops and trainers in a text count steps."""
    return frozenset(found["name"] for head in (_LOOP, _HANDED_OVER) for found in head.finditer(text))


def default_steps(texts: Iterable[str]) -> tuple[str, int] | None:
    """The setting up to which the program's own loop or its trainer counts the steps, and the one default that its
    texts give it; None where there is no such loop or trainer, where the texts do not agree, or where they set it
    again."""
    seen = list(texts)
    names = {name for text in seen for name in _counted_to(text)}
    if len(names) != 1:
        return None
    name = names.pop()
    if any(found["name"] == name for text in seen for found in _SET_AGAIN.finditer(text)):
        return None
    values = {
        int((found["value"] or found["number"]).replace("_", ""))
        for text in seen
        for found in _DEFAULT.finditer(text)
        if (found["field"] or found["option"].replace("-", "_")) == name
    }
    return (name, values.pop()) if len(values) == 1 else None


def _unconditional(before: list[str], indent: int) -> bool:
    """Whether a line with this indentation runs whenever its function does, by the lines before it."""
    for line in reversed(before):
        if indent == 0:
            break
        content = line.strip()
        depth = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if not content or depth >= indent or content[0] in "#)]}":
            continue
        if content.startswith(("def ", "async def ")):
            return True
        if not content.startswith(("with ", "if __name__")):
            return False
        indent = depth
    return indent == 0
