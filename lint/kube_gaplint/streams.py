"""Bytes to a standard stream, whole or with an error."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def write(stream: TextIO, data: bytes) -> None:
    """Write bytes past the encoding of a stream, and flush.

    Raises OSError: BrokenPipeError where the reader has gone (`| head`).
    """
    buffer = getattr(stream, "buffer", None)
    try:
        if buffer is None:  # a stream that takes text only
            stream.write(data.decode(stream.encoding or "utf-8"))
        else:
            stream.flush()
            left = memoryview(data)
            while left:  # without a buffer (PYTHONUNBUFFERED) a part may be written, or nothing
                written = buffer.write(left)
                if written is None:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                left = left[written:]
        stream.flush()
    except OSError:
        _silence(stream)  # or the interpreter tries once more at its end, and complains in its own words
        raise


def _silence(stream: TextIO) -> None:
    """Send what is still buffered nowhere: it cannot be written."""
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - pathlib costs more than what this module is for
            os.dup2(nowhere.fileno(), stream.fileno())
    except (OSError, ValueError, AttributeError):
        pass
