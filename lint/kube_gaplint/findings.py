"""Gaps and findings: what a rule yields, and what the user is shown.

A rule yields `Gap`s: an origin, the words, and a semantic `detail`. The engine adds what the rule's decorator
declares and makes a `Finding` of it. Fixes are data here; `fix.py` turns them into edits on spans.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.units import two_digits
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.eviction import Unspared
    from kube_gaplint.model.training import Quantity, TrainingProcess


class Severity(enum.IntEnum):
    """How bad: `ERROR` when a common fault will hang the run or lose its work, `WARNING` when it depends on a
    default or choice that incidents show to be costly, `INFO` for advice that is hidden unless asked for."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Severity:
        return cls[text.upper()]


class Related(Struct, frozen=True):
    """A second place that explains a gap, with what it says there."""

    origin: Origin
    note: str


# Fixes, by meaning. Each names the origin (with its node) that it changes.


class SetVariable(Struct, frozen=True):
    """Set an environment variable: in the container's `env`, or by `export` in a batch script."""

    home: Origin
    """The container, or the batch script's header."""
    name: str
    value: str


class ReplaceValue(Struct, frozen=True):
    """Replace a scalar or a word by another text; quoting follows what stands there.

    `raw`: in a script, the text is put as it is (a comment, a whole line). `as_text`: the value becomes a string,
    whatever it looks like (an annotation that says `true`).
    """

    origin: Origin
    text: str
    raw: bool = False
    as_text: bool = False


class SetKey(Struct, frozen=True):
    """Set a key below a mapping; missing mappings on the path are made. A value is a scalar or nested data."""

    parent: Origin
    path: tuple[str, ...]
    value: object


class AppendItem(Struct, frozen=True):
    """Add an item at the end of a list below a mapping; a list that is missing is made. Data as for SetKey."""

    parent: Origin
    key: str
    item: object


class RenameKey(Struct, frozen=True):
    """Rename a key (or a variable's name) in place."""

    origin: Origin
    text: str


class RemoveEntry(Struct, frozen=True):
    """Remove a key or list item together with its value."""

    origin: Origin


class AddOption(Struct, frozen=True):
    """Add options to a command, behind the word at the origin: the program's name, or the value of another option."""

    origin: Origin
    words: tuple[str, ...]


class AddLine(Struct, frozen=True):
    """Add a line to a script before the command at the origin (`before`), or after the #SBATCH block (`header`)."""

    origin: Origin
    line: str
    where: Literal["before", "header"] = "before"


def give(process: TrainingProcess, name: str, value: str) -> tuple[Change, ...]:
    """The change that gives a program a variable: by `mpirun -x` where only that reaches it, none where gaplint cannot
    tell how."""
    if process.environment.sealed_by:
        return ()
    mpirun = process.remote_mpirun
    if mpirun is not None:
        return (AddOption(mpirun.origin, ("-x", f"{name}={value}")),)
    return (SetVariable(process.environment.home, name, value),)


_NAMED = lazy_re.compile(r"--?[\w.-]+=")
_NUMBER = lazy_re.compile(r"((?:[\w.-]+=)?)(\d+(?:\.\d+)?)")


def rescaled(origin: Origin, now: float, wanted: float) -> tuple[ReplaceValue, ...]:
    """The change of a number to what is wanted, in the unit in which it is written: of 300 seconds written as `5` or
    `--minutes=5`, 600 are `10`. None where anything else stands there."""
    found = _NUMBER.fullmatch(origin.place.text.strip("\"'"))
    if found is None or not origin.written or now <= 0 or float(found[2]) <= 0:
        return ()
    number = wanted * float(found[2]) / now
    return (ReplaceValue(origin, f"{found[1]}{round(number) if number >= 1 else number:g}"),)


def longer_or_shorter(interval: Set[Quantity], factor: float) -> tuple[ReplaceValue, ...]:
    """The change of an interval by a factor, to a number of two digits that matter; none to less than one."""
    wanted = two_digits(interval.value.amount * factor)
    return rescaled(interval.origin, interval.value.amount, wanted) if wanted >= 1 else ()


_AFTER_OPTION = lazy_re.compile(r"(?:^|[\s\"'])--?[\w.-]+[ =]\Z")


def beside(process: TrainingProcess, value: Origin, option: str, argument: str) -> tuple[AddOption, ...]:
    """The change that gives a program an option behind the value of another one, joined by `=` as that one is. None
    where the value stands in no list of options: in a variable of its own, or a configuration file."""
    place, whole = value.place, process.origin.place
    text, start = place.source.text, place.span.start
    inside = place.source is whole.source and whole.span.start <= start and place.span.end <= whole.span.end
    if not inside and not _AFTER_OPTION.search(text[max(0, start - 80) : start]) and not _NAMED.match(place.text):
        return ()
    joined = "=" in place.text or not option.startswith("-")
    return (AddOption(value, (f"{option}={argument}",) if joined else (option, argument)),)


def put(origin: Origin, parent: Origin, path: tuple[str, ...], value: str) -> Change:
    """The change that gives a setting another value: at the place where it is written, be it in a patch, else as a new
    key below its parent."""
    return ReplaceValue(origin, value) if origin.written else SetKey(parent, path, value)


Change: TypeAlias = SetVariable | ReplaceValue | SetKey | AppendItem | RenameKey | RemoveEntry | AddOption | AddLine


class Fix(Struct, frozen=True):
    """A fix in one sentence, and the changes that make it. `safe`: behaviour only gains resilience."""

    title: str
    changes: tuple[Change, ...] = ()
    safe: bool = False

    @property
    def applicable(self) -> bool:
        return bool(self.changes)


def annotate(pod: Unspared, key: str, value: str) -> Fix:
    """The safe fix that gives a template's pods an annotation; only words where the template is another object's."""
    title = f'annotate the pod template: {key}: "{value}"'
    if pod.value:
        return Fix(title, (ReplaceValue(pod.origin, value),), safe=True)
    if pod.origin.chain or pod.pod.template is None:
        return Fix(title)
    return Fix(title, (SetKey(pod.origin, ("metadata", "annotations", key), value),), safe=True)


class Gap(Struct, frozen=True):
    """What a rule found.

    `message` names the value and the number that triggered it; `consequence` says what a failure then costs.
    `detail` is the semantic part of the fingerprint: equal for the same gap in like roles, free of paths and lines.
    `container` narrows the subject. `evidence` replaces the rule's own list where one gap has its own incident.
    """

    origin: Origin
    message: str
    consequence: str = ""
    detail: str = ""
    severity: Severity | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    container: str = ""
    evidence: tuple[str, ...] | None = None


class Suppressed(Struct, frozen=True):
    """Why a finding is not counted: the reason given, where, and what says so.

    `how`: a comment or annotation in the source, the key `per-file-ignores`, or the baseline.
    """

    reason: str
    place: Place | None
    until: str = ""
    how: Literal["source", "configuration", "baseline"] = "source"


class Finding(Struct, frozen=True):
    """One gap at one place, ready to be shown."""

    code: str
    name: str
    severity: Severity
    message: str
    consequence: str
    subject: Subject
    origin: Origin
    related: tuple[Related, ...]
    evidence: tuple[str, ...]
    fix: Fix | None
    fingerprint: str
    suppressed: Suppressed | None = None
    owner: Place | None = None
    """Where the object stands that the finding belongs to: its own place may be in a file that the object refers to."""
    also: tuple[Subject, ...] = ()
    """Other objects with the same gap at the same place: what they share is a base, a runtime, a script."""

    @property
    def place(self) -> Place:
        return self.origin.place

    @property
    def digest(self) -> str:
        """The fingerprint without the ordinal that tells equal ones apart."""
        return self.fingerprint.partition("-")[0]

    @property
    def fixable(self) -> Literal["safe", "unsafe", "no"]:
        if self.fix is None or not self.fix.applicable:
            return "no"
        return "safe" if self.fix.safe else "unsafe"

    def with_suppression(self, suppressed: Suppressed | None) -> Finding:
        return replace(self, suppressed=suppressed)


class FileError(Struct, frozen=True):
    """A file that could not be read."""

    path: str
    reason: str


class Summary(Struct):
    """Counts of one run. `judged`: what rules looked at: workloads, node pools and whatever else has any.
    `skipped`: what was passed over, by reason. `hidden`: findings below --min-severity.

    `accepted` findings are in the baseline, `gone` ones are in it and were not found any more. `elsewhere`: findings
    that do not come from the change, with --diff-base or --changed.
    `hints` say what to run so that more is judged, one sentence each.
    """

    files: int = 0
    documents: int = 0
    workloads: int = 0
    judged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    hidden: int = 0
    suppressed: int = 0
    accepted: int = 0
    gone: int = 0
    elsewhere: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    by_class: dict[str, int] = field(default_factory=dict)
    hints: list[str] = field(default_factory=list)

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + count


class Report(Struct):
    """The outcome of one run, in the order in which it is shown."""

    findings: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)

    def worst(self) -> Severity | None:
        return max((f.severity for f in self.findings if f.suppressed is None), default=None)

    def count(self, severity: Severity) -> int:
        return sum(f.severity is severity and f.suppressed is None for f in self.findings)
