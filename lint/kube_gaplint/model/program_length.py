"""The length of a run that the program's own text fixes: `config.train.train_iters = 10`, `trainer.max_steps = 50`.

So trainings of Megatron-Bridge and NeMo are told their length, whose recipes are Python.
"""

from __future__ import annotations

import re
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
