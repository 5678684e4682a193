"""The start page: the README, with ways into the site after its example."""

from __future__ import annotations

from pathlib import Path

from docsite import addresses, rules, sample
from docsite.text import front, relisted
from kube_gaplint import incidents


def page(root: Path) -> str:
    text = (root / "README.md").read_text(encoding="utf-8")
    first, heading, rest = text.partition("\n## Try it from this repository\n")
    if not heading:
        raise ValueError("README.md has lost the heading that the start page is cut at")
    head = front(
        title="gaplint",
        description="Finds what will hang a GPU training run, lose its work or leave it dead",
        hide=["navigation"],
    )
    return head + relisted(addresses.rewritten(first + _cards() + heading + rest, "README.md", "index.md"))


def _cards() -> str:
    number = len(rules.codes())
    cards = [
        (f"[{number} rules](docs/rules/index.md)", "What gaplint finds, why it hurts, a bad and a good example."),
        (
            f"[{len(incidents.ids())} incidents](docs/incidents/index.md)",
            "What happened to others, why, and what a manifest would have shown. "
            "[The graph](docs/incidents/graph.md) shows how causes, components, symptoms and rules hang together.",
        ),
        (f"[A report](docs/{sample.PAGE})", "Of the bundled examples, as `--output html=FILE` writes it."),
        (
            "[The arithmetic of a run](docs/plan.md)",
            "Failures to expect, the best time between saves, restarts to allow.",
        ),
        ("[In a pipeline](docs/ci/README.md)", "pre-commit, GitHub, GitLab, Jenkins, Buildkite, Argo CD and Flux."),
        ("[How it decides](docs/deciding.md)", "Set, absent, unknown: what is not seen is never called missing."),
    ]
    items = "".join(f"- **{link}**\n\n    {text}\n\n" for link, text in cards)
    return f'\n<div class="grid cards" markdown>\n\n{items}</div>\n'
