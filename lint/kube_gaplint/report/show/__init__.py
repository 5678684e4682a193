"""`gaplint show`: what gaplint understood, for people and for programs.

`gather` turns the model into plain values (`shape`); `text` and `plain` render those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kube_gaplint.report.options import RenderOptions
    from kube_gaplint.report.show.shape import Shown

FORMATS = ("tree", "json")


def render(name: str, shown: Shown, options: RenderOptions) -> str:
    """The answer in a format. Raises KeyError for a format that does not exist."""
    if name == "json":
        from kube_gaplint.report.show import plain

        return plain.render(shown)
    if name == "tree":
        from kube_gaplint.report.show import text

        return text.render(shown, options)
    raise KeyError(name)
