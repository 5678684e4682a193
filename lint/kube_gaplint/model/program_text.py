"""What is visible of a training program's own text: its script, and the modules of its repository that it imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct, field


class TextSource(Protocol):
    """Gives the texts of a program one after the other. `open_because` holds when all of them were taken."""

    @property
    def open_because(self) -> str: ...

    def texts(self) -> Iterator[str]: ...


class _Nothing:
    open_because = "its text is not visible"

    def texts(self) -> Iterator[str]:
        return iter(())


class ProgramText(Struct, eq=False):
    """The text of a program. It is read when it is first asked for, and only as far as the answer needs it."""

    find: Callable[[], TextSource] = _Nothing
    _source: TextSource | None = None
    _rest: Iterator[str] | None = None
    _taken: list[str] = field(default_factory=list)

    @property
    def texts(self) -> Iterator[str]:
        """The script first, then the modules in the order in which they are imported."""
        at = 0
        while at < len(self._taken) or self._take():
            yield self._taken[at]
            at += 1

    @property
    def open_because(self) -> str:
        """Why there is more to the program than is seen; empty where all of it was seen."""
        while self._take():
            pass
        assert self._source is not None
        return self._source.open_because

    def mentions(self, *words: str) -> bool | None:
        """Whether any of these stands in the program: True, False, or None where the part that is seen has none."""
        if any(word in text for text in self.texts for word in words):
            return True
        return None if self.open_because or not self._taken else False

    def _take(self) -> bool:
        if self._rest is None:
            self._source = self.find()
            self._rest = self._source.texts()
        text = next(self._rest, None)
        if text is not None:
            self._taken.append(text)
        return text is not None
