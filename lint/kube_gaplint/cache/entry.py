"""The bytes of an entry: what a run asked and was told, and what it said.

After a digest of all that follows, made with the entry's own key, come a header and the parts that it counts. Whatever
is damaged, or stands under another key, does not fit the digest.
"""

from __future__ import annotations

import struct

from kube_gaplint.trace import DIGEST, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = struct.Struct("<qB10sQQQQ")
"""Begin of the run (ns), exit code, the day that the result holds for, and the sizes of the parts in bytes."""
_SAID = struct.Struct("<BQ")
_NO_DAY = b"\0" * 10


class Damaged(Exception):
    """The bytes are no entry for this key."""


class Entry:
    """One run.

    `begun`: when it began, in nanoseconds since 1970. `day`: the only day that its result holds for, if any.
    `paths` and `seen` go together: what was seen of each path, as `trace.SEEN` packs it. `answers` are those to all
    other questions: question, path, argument, answer.
    """

    __slots__ = ("answers", "begun", "code", "day", "paths", "said", "seen")

    def __init__(
        self,
        *,
        begun: int,
        code: int,
        day: str,
        paths: Sequence[str],
        seen: bytes,
        answers: Sequence[tuple[str, str, int, str]],
        said: Sequence[tuple[int, bytes]],
    ) -> None:
        self.begun = begun
        self.code = code
        self.day = day
        self.paths = paths
        self.seen = seen
        self.answers = answers
        self.said = said

    def seen_at(self, now: int, seen: bytes) -> Entry:
        """The same run, as if it had seen the files just now."""
        return Entry(
            begun=now,
            code=self.code,
            day=self.day,
            paths=self.paths,
            seen=seen,
            answers=self.answers,
            said=self.said,
        )


def encoded(entry: Entry, key: bytes) -> bytes:
    """The bytes of an entry. Raises ValueError for texts that hold NUL, which no path does."""
    words = [word for question, path, argument, told in entry.answers for word in (question, path, str(argument), told)]
    parts = [
        _joined(entry.paths),
        entry.seen,
        _joined(words),
        b"".join(_SAID.pack(where, len(what)) + what for where, what in entry.said),
    ]
    day = entry.day.encode("ascii") or _NO_DAY
    body = _HEADER.pack(entry.begun, entry.code, day, *map(len, parts)) + b"".join(parts)
    return digest_of(body, key) + body


def decoded(data: bytes, key: bytes) -> Entry:
    """The entry for a key. Raises Damaged."""
    body = data[DIGEST:]
    if digest_of(body, key) != data[:DIGEST]:
        raise Damaged
    begun, code, day, *sizes = _HEADER.unpack_from(body)
    at, parts = _HEADER.size, []
    for size in sizes:
        parts.append(body[at : at + size])
        at += size
    paths, seen, answers, said = parts
    words = iter(_split(answers))
    return Entry(
        begun=begun,
        code=code,
        day="" if day == _NO_DAY else day.decode("ascii"),
        paths=_split(paths),
        seen=seen,
        answers=[(question, next(words), int(next(words)), next(words)) for question in words],
        said=_said(said),
    )


def _said(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data):
        where, size = _SAID.unpack_from(data, at)
        at += _SAID.size
        found.append((where, data[at : at + size]))
        at += size
    return found


def _joined(texts: Sequence[str]) -> bytes:
    joined = "\0".join(texts)
    if joined.count("\0") != max(len(texts) - 1, 0):
        raise ValueError("a text holds NUL")
    return joined.encode("utf-8", "surrogatepass")


def _split(data: bytes) -> list[str]:
    return data.decode("utf-8", "surrogatepass").split("\0") if data else []
