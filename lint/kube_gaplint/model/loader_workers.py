"""How many data-loader workers a training program starts by its own text, where no option tells it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kube_gaplint import lazy_re

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Container, Workload

_LOADER = lazy_re.needing(("DataLoader(",), r"(?<!\w)DataLoader\(")
_WORKERS = lazy_re.compile(r"\bnum_workers\s*=\s*(?P<number>\d{1,3})\s*[,)]")
_LONGEST = 3_000
"""Characters of a call that are looked through for its end."""


def workers_in_text(workload: Workload, container: Container) -> int | None:
    """The fewest workers that a DataLoader of the container's training script is written with. None where one of its
    loaders has none, or a number that something else decides; what other modules load is not looked at."""
    for process in workload.processes:
        if process.container is container:
            return _fewest(next(process.text.texts, ""))
    return None


@lru_cache(maxsize=64)
def _fewest(text: str) -> int | None:
    numbers = [None if found is None else int(found["number"]) for found in map(_WORKERS.search, _calls(text))]
    known = [number for number in numbers if number]
    return min(known) if known and len(known) == len(numbers) else None


def _calls(text: str) -> Iterator[str]:
    """Every call of a DataLoader with its arguments, up to the parenthesis that closes it."""
    for found in _LOADER.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if text[line : found.start()].lstrip().startswith(("#", "class ")):
            continue
        depth, end = 0, found.end()
        for end in range(found.end() - 1, min(len(text), found.end() + _LONGEST)):
            depth += (text[end] in "([{") - (text[end] in ")]}")
            if not depth:
                break
        yield text[found.start() : end + 1]
