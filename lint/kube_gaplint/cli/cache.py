"""`gaplint cache`: where results are remembered, and how to forget them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kube_gaplint.cache import place
from kube_gaplint.cache.shelf import MOST_BYTES, MOST_DAYS, Shelf, Stored, Unusable
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.types import Near
from kube_gaplint.report.words import count


@click.command(context_settings=CONTEXT)
@click.argument("action", type=Near(("show", "clear")), default="show", metavar="[clear]")
def command(action: str) -> int:
    """Show where gaplint remembers results and what they take; with `clear`, forget them.

    A run over files that have not changed since repeats its result. It lies in the user's own cache folder,
    $XDG_CACHE_HOME/gaplint or ~/.cache/gaplint, or where GAPLINT_CACHE_DIR says; never in a git work tree, where others
    could put false results. `gaplint --no-cache` does without it once, GAPLINT_NO_CACHE=1 always.
    """
    path = place.folder()
    why = place.why_not(path)
    stored: Sequence[Stored] = ()
    if path and (not why or action == "clear"):
        try:
            with Shelf(path) as shelf:
                stored = shelf.clear() if action == "clear" else shelf.stored()
        except FileNotFoundError:
            pass
        except Unusable as problem:
            why = str(problem)
    size = f"{count(len(stored), 'file')}, {sum(one.size for one in stored) / 2**20:.1f} MiB"
    if action == "clear":
        console.write_out(f"removed {size}\n")
        return 0
    rows = [
        ("folder", path or "none"),
        ("holds", f"{size} (at most {MOST_BYTES // 2**20} MiB; what is not used for {MOST_DAYS} days goes)"),
        ("used", f"no: {why}" if why else "yes"),
    ]
    console.write_out("".join(f"{name:8}{said}\n" for name, said in rows))
    return 0
