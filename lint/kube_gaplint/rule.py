"""How a rule is declared.

    @rule(
        code="SLURM001",
        name="srun-survives-dead-rank",
        view=Batch,
        severity=Severity.WARNING,
        evidence=("IL-0125",),
    )
    def check(batch: Batch, context: Context) -> Iterator[Gap]:
        \"\"\"The page, under fixed headings.\"\"\"

The function's docstring is the rule's page (`gaplint explain CODE`). A rule is called once for every view of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct, field

from kube_gaplint.findings import Gap, Severity
from kube_gaplint.model.profile import Profile

View = TypeVar("View")
EvidenceKind: TypeAlias = Literal["direct", "derived", "thin", "facts"]


class Context(Struct, frozen=True):
    """What a rule knows besides its view. `today` is not in it: the same input gives the same output."""

    profile: Profile = field(default_factory=Profile)


Check: TypeAlias = Callable[[Any, Context], Iterator[Gap]]
Need: TypeAlias = Callable[[Any], bool]


class Rule(Struct, frozen=True):
    """A rule as declared. `view` is the type of model object that the check is called with.

    `needs` are functions of `model.needs`: where one says no, the rule has nothing to say, and is not imported. No more
    it is where `variables` names environment variables and none of them is given.
    """

    code: str
    name: str
    view: type
    severity: Severity
    check: Check
    needs: tuple[Need, ...] = ()
    variables: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    evidence_kind: EvidenceKind = "direct"
    tier: Literal["core", "later"] = "core"
    since: str = "0.1.0"
    summary: str = ""

    @property
    def page(self) -> str:
        """The rule's page, as it stands in the docstring."""
        return self.check.__doc__ or ""


def rule(
    *,
    code: str,
    name: str,
    view: type[View],
    severity: Severity,
    needs: tuple[Callable[[View], bool], ...] = (),
    variables: tuple[str, ...] = (),
    evidence: tuple[str, ...] = (),
    sources: tuple[str, ...] = (),
    evidence_kind: EvidenceKind = "direct",
    tier: Literal["core", "later"] = "core",
    since: str = "0.1.0",
) -> Callable[[Callable[[View, Context], Iterator[Gap]]], Rule]:
    """Declare a rule; the decorated function becomes a `Rule`."""

    def declare(check: Callable[[View, Context], Iterator[Gap]]) -> Rule:
        first = (check.__doc__ or "").strip().split("\n", 1)[0]
        return Rule(
            code=code,
            name=name,
            view=view,
            severity=severity,
            check=check,
            needs=needs,
            variables=variables,
            evidence=evidence,
            sources=sources,
            evidence_kind=evidence_kind,
            tier=tier,
            since=since,
            summary=first,
        )

    return declare
