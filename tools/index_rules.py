"""Write the index of the built-in rules: `python tools/index_rules.py` (with `--check` it only compares).

The engine reads the index instead of importing a hundred rule modules.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path

from kube_gaplint.rule import Rule

PACK = "kube_gaplint_rules"
WIDTH = 120
"""Columns of a line, as everywhere."""
HEADER = '''"""The index of the rules in this pack. Written by tools/index_rules.py; do not edit."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
'''


def found_rules() -> list[tuple[Rule, str]]:
    """All rules of the pack with the module that declares each."""
    pack = importlib.import_module(PACK)
    rules = {}
    for module_info in pkgutil.walk_packages(pack.__path__, f"{PACK}."):
        if module_info.name.rsplit(".", 1)[-1].startswith("_"):
            continue
        module = importlib.import_module(module_info.name)
        for value in vars(module).values():
            if isinstance(value, Rule):
                rules[value.code, module_info.name] = value
    return sorted(((rule, name) for (_, name), rule in rules.items()), key=lambda pair: pair[0].code)


def rendered() -> str:
    """The text of the index module."""
    lines = [HEADER]
    for rule, module in found_rules():
        row = (rule.code, rule.name, str(rule.severity), rule.view.__name__, module, rule.tier, rule.summary)
        cells = [*map(_quoted, row), _tuple_of(need.__name__ for need in rule.needs), _tuple_of(rule.variables)]
        lines.append("    (\n" + "".join(f"        {cell},\n" for cell in cells) + "    ),\n")
    lines.append(")\n")
    return "".join(lines)


def _tuple_of(names: Iterable[str]) -> str:
    cells = [_quoted(name) for name in names]
    line = f"({cells[0]},)" if len(cells) == 1 else f"({', '.join(cells)})"
    if len(f"        {line},") <= WIDTH:
        return line
    return "(\n" + "".join(f"            {cell},\n" for cell in cells) + "        )"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main() -> int:
    path = Path(__file__).parent.parent / "rules" / PACK / "_index.py"
    text = rendered()
    if "--check" in sys.argv:
        if path.read_text(encoding="utf-8") != text:
            print(f"{path} is stale: run python tools/index_rules.py", file=sys.stderr)
            return 1
        return 0
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
