"""The rules that exist, known by a generated index so that only the modules in need are imported.

A rule pack is a package with a module `_index` whose `ROWS` list its rules: code, name, severity, view, module, tier,
first line of the page, needs, variables. The built-in pack is found by its name; other packs come through the entry
point `kube_gaplint.rules` when the configuration names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from kube_gaplint import BUILTIN_PACK
from kube_gaplint.findings import Severity
from kube_gaplint.meta import META_RULES
from kube_gaplint.rule import Rule


class RuleInfo(Struct, frozen=True):
    """A row of the index. `view` is the name of the model class that the rule looks at; empty for meta codes. `needs`:
    names of functions in `model.needs`; `variables`: of environment variables, one of which the rule needs."""

    code: str
    name: str
    severity: Severity
    view: str
    module: str
    tier: str
    summary: str
    needs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The letters of the code: `NCCL`."""
        return self.code.rstrip("0123456789")


class UnknownSelector(ValueError):
    """A name that is no code, family or rule name. `suggestions` are near ones."""

    def __init__(self, text: str, suggestions: Sequence[str]) -> None:
        super().__init__(text)
        self.text = text
        self.suggestions = tuple(suggestions)


@cache
def rules() -> tuple[RuleInfo, ...]:
    """All rules of the built-in pack and the meta codes, by code."""
    rows = importlib.import_module(f"{BUILTIN_PACK}._index").ROWS
    found = [RuleInfo(code, name, Severity.parse(severity), *rest) for code, name, severity, *rest in rows]
    found.extend(
        RuleInfo(meta.code, meta.name, meta.severity, "", "", meta.tier, meta.summary) for meta in META_RULES.values()
    )
    return tuple(sorted(found, key=lambda info: info.code))


@cache
def _by_key() -> dict[str, RuleInfo]:
    table = {info.code: info for info in rules()}
    table.update({info.name: info for info in rules()})
    return table


def former() -> dict[str, str]:
    """Codes and names that rules had before, with the present code."""
    return dict(importlib.import_module(f"{BUILTIN_PACK}.former").FORMER)


def gone() -> dict[str, str]:
    """Codes and names of rules that no other has replaced, with the reason."""
    return dict(importlib.import_module(f"{BUILTIN_PACK}.former").GONE)


def outdated(said: str) -> str:
    """What has become of a code or name that is no longer in use, in a sentence; empty for one that is."""
    new, why = _among(former(), said), _among(gone(), said)
    if new:
        return f"{said} is called {new} now"
    return f"{said} is no rule any more: {why}" if why else ""


def _among(table: dict[str, str], said: str) -> str:
    return table.get(said) or table.get(said.upper()) or table.get(said.lower()) or ""


def info(key: str) -> RuleInfo:
    """The index row of a code or a name, also of a former one. Raises UnknownSelector."""
    key = _among(former(), key) or key
    found = _by_key().get(key) or _by_key().get(key.upper()) or _by_key().get(key.lower())
    if found is None:
        raise UnknownSelector(key, _near(key))
    return found


def load(key: str) -> Rule:
    """Import a rule by code or name. Raises UnknownSelector."""
    return _loaded(info(key))


_of_code: dict[str, Rule] = {}
"""Rules that were imported."""


def _loaded(row: RuleInfo) -> Rule:
    found = _of_code.get(row.code)
    if found is not None:
        return found
    if not row.module:
        return META_RULES[row.code]
    module = importlib.import_module(row.module)
    for value in vars(module).values():
        if isinstance(value, Rule) and value.code == row.code:
            _of_code[row.code] = value
            return value
    raise LookupError(f"{row.module} declares no rule {row.code}: the index is stale")


def load_all(codes: frozenset[str]) -> None:
    """Import the rules of these codes."""
    for row in rules():
        if row.code in codes:
            _loaded(row)


def resolve(selector: str) -> tuple[str, ...]:
    """The codes that a selector stands for: a code, a family (`NCCL`), a rule name; none for a rule that is gone.

    Raises UnknownSelector.
    """
    if _among(gone(), selector):
        return ()
    upper = selector.upper()
    family = tuple(row.code for row in rules() if row.family == upper)
    return family or (info(selector).code,)


def select(selected: Collection[str], ignored: Iterable[str]) -> frozenset[str]:
    """The codes that are switched on: those selected (all, where nothing is) without the ignored ones."""
    chosen = {code for selector in selected for code in resolve(selector)}
    if not selected:
        chosen = {row.code for row in rules()}
    return frozenset(chosen.difference(code for selector in ignored for code in resolve(selector)))


def for_view(view: type, codes: frozenset[str]) -> list[RuleInfo]:
    """The rules among `codes` that look at this type of view."""
    return [row for row in rules() if row.view == view.__name__ and row.code in codes]


def asked(rows: Iterable[RuleInfo], view: Any) -> Iterator[Rule]:
    """Those of the rules that find in a view what they need, imported now."""
    from kube_gaplint.model import needs

    met: dict[str, bool] = {}
    for row in rows:
        for need in row.needs:
            is_met = met.get(need)
            if is_met is None:
                is_met = met[need] = getattr(needs, need)(view)
            if not is_met:
                break
        else:
            if not row.variables or needs.gives(view, row.variables):
                yield _of_code.get(row.code) or _loaded(row)


def _near(text: str) -> list[str]:
    families = sorted({row.family for row in rules()})
    codes = [row.code for row in rules()]
    names = [row.name for row in rules()]
    return _closest(text.upper(), codes + families, 0.7) + _closest(text.lower(), names, 0.6)


def _closest(text: str, known: Sequence[str], least: float) -> list[str]:
    """The three closest of the known words; of equally close ones, the first in order."""
    if len(text) > 60:
        return []
    from difflib import SequenceMatcher

    scored = [(-SequenceMatcher(None, text, word).ratio(), word) for word in known]
    return [word for score, word in sorted(scored)[:3] if -score >= least]
