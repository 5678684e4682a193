"""The manifests of before and after an incident, from fixtures/incidents, with the lines marked that gaplint finds."""

from __future__ import annotations

import re
from pathlib import Path

from docsite import rules

_MARK = re.compile(r"\s*#\s*expect(?:\+(?P<down>\d+))?:\s*(?P<code>[A-Z]+\d+)(?:\s+(?:error|warning|info))?")
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".sh": "bash", ".sbatch": "bash", ".slurm": "bash", ".py": "python"}


def shown(identifier: str, root: Path, page: str) -> str:
    """The replay of an incident as two tabs; empty where it has none."""
    folder = root / "fixtures" / "incidents" / identifier
    if not folder.is_dir():
        return ""
    tabs = []
    for name, title in (("before", "Before: what gaplint finds"), ("after", "After: nothing of it is left")):
        (side,) = folder.glob(f"{name}*")
        files = sorted(path for path in side.rglob("*") if path.is_file()) if side.is_dir() else [side]
        blocks = [_block(path, str(path.relative_to(folder)), page) for path in files]
        tabs.append(f'=== "{title}"\n\n' + _indented("\n\n".join(blocks)))
    return (
        "## Replayed\n\nManifests made up after the report. A test holds that gaplint finds the marked lines before, "
        "and nothing of it after.\n\n" + "\n\n".join(tabs) + "\n"
    )


def _block(path: Path, name: str, page: str) -> str:
    """A file without its marks, the lines that they mean highlighted, and what is found on each."""
    lines: list[str] = []
    numbers: dict[int, int] = {}
    marks: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        here = [*_MARK.finditer(line)]
        marks += [(number + int(mark["down"] or 0), mark["code"]) for mark in here]
        bare = _MARK.sub("", line)
        if bare.strip() or not here:
            lines.append(bare)
            numbers[number] = len(lines)
    found: dict[str, list[int]] = {}
    for number, code in marks:
        found.setdefault(code, []).append(numbers[number])
    marked = sorted({number for numbers in found.values() for number in numbers})
    attributes = f' title="{name}"' + (f' linenums="1" hl_lines="{" ".join(map(str, marked))}"' if marked else "")
    language = _LANGUAGES.get(path.suffix, "text")
    told = "".join(
        f"- line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: {rules.linked(code, page)}\n"
        for code, numbers in sorted(found.items(), key=lambda item: item[1])
    )
    return f"```{language}{attributes}\n" + "\n".join(lines) + f"\n```\n\n{told}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
