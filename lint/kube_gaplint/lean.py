"""Packages of others without what they bring along and nobody here uses."""

from __future__ import annotations

import sys
from typing import Any, cast


def import_msgspec() -> None:
    """Import msgspec so that it takes type hints from `typing`.

    Where `typing_extensions` is installed, msgspec prefers it, for older Pythons' sake; it brings `inspect` along, and
    both are a tenth of what a run on one manifest costs.
    """
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    modules = cast("dict[str, Any]", sys.modules)
    modules["typing_extensions"] = None  # as Python's manual says: an import of it fails
    try:
        import msgspec  # noqa: F401
    finally:
        del modules["typing_extensions"]
