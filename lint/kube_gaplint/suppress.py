"""Suppressions: what people have decided to live with, and why.

They stand in YAML comments, in comments of scripts, and in the annotation `gaplint.dev/ignore`. Each names codes (or
rule names) and a reason; without a reason it is not in force. One silences what it stands at: a line with the value
on it, a logical command of a script, a whole object where it stands at the object's first line, or a file. Whatever
silences nothing, names an unknown code or has run out is reported in its turn.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re, trace
from kube_gaplint.facts.candidates import SUPPRESSION_WORD
from kube_gaplint.findings import Finding, Gap, Suppressed
from kube_gaplint.model.setting import Origin
from kube_gaplint.text import nodes
from kube_gaplint.text.comments import comments
from kube_gaplint.text.limits import SUPPRESSIONS, reached
from kube_gaplint.text.nodes import Document, Node, Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Place, PlacedText, Source, Span, WholeText

ANNOTATION = "gaplint.dev/ignore"

MetaCode: TypeAlias = Literal["GAP010", "GAP011", "GAP012", "GAP013"]
UNUSED: MetaCode = "GAP010"
NO_REASON: MetaCode = "GAP011"
UNKNOWN_CODE: MetaCode = "GAP012"
EXPIRED: MetaCode = "GAP013"

_IGNORE = lazy_re.compile(
    r"\bgaplint:[ \t]*ignore(?P<file>-file)?\b[ \t]*(?:\[(?P<codes>[^\]\r\n]*)\])?(?P<rest>[^\r\n]*)"
)
_UNTIL = lazy_re.compile(r"(?:^|(?<=\s))until=(\S*)")
_SCRIPT_COMMENT = lazy_re.compile(r"^(?P<before>[^\r\n]*?)(?:(?<=[ \t;])|^)#[ \t]*(?=gaplint:[ \t]*ignore)", re.M)
_CONTINUED = lazy_re.compile(r"(?:\\|\||&&)[ \t]*\r?\Z")
_SKIPPED_LINE = lazy_re.compile(r"---[ \t]*(?:#.*)?|%.*|#.*")
_MOST = SUPPRESSIONS.most
_MOST_HINTS = 50
"""Unknown words for which the nearest rule is looked for."""
_LONGEST_WORD = 60
_MOST_LINES_BETWEEN = 50
"""Further comments that may stand between a suppression and what it is about."""
_LINE = lazy_re.compile(r"[^\n]*")


class _Line(Struct, frozen=True):
    """One line of a file; `node` is the text of the value that goes on over it, where one does."""

    span: Span
    node: Span | None

    def covers(self, span: Span) -> bool:
        if self.span.start <= span.start <= self.span.end:
            return True
        node = self.node
        return node is not None and node.start <= span.start < self.span.start < span.end


class _Within(Struct, frozen=True):
    """Everything that begins in a span. `whole_object`: also what is found elsewhere on behalf of the object in it."""

    span: Span
    whole_object: bool = False

    def covers(self, span: Span) -> bool:
        return self.span.start <= span.start <= self.span.end


class Suppression(Struct, frozen=True):
    """One suppression as written: the codes or names, the reason, the last day (or ""), and where it stands.

    `covered` tells what it silences in its own file; None stands for the whole file.
    """

    codes: tuple[str, ...]
    reason: str
    until: str
    place: Place
    covered: tuple[_Line | _Within, ...] | None
    owners: tuple[Place, ...] = ()
    """Further objects that carry it: those that Kustomize composed."""

    @property
    def path(self) -> str:
        return self.place.source.path

    def names(self, finding: Finding) -> str | None:
        """The code or name among `codes` that the finding goes by."""
        return next((code for code in self.codes if code.upper() == finding.code or code == finding.name), None)

    def covers(self, finding: Finding) -> bool:
        """Whether the finding stands where the suppression has effect."""
        place = finding.place
        if self.covered is None:
            return place.source.path == self.path
        owner = finding.owner
        if owner is not None and any(_same(owner, carried) for carried in self.owners):
            return True
        for region in self.covered:
            if place.source.path == self.path and region.covers(place.span):
                return True
            if isinstance(region, _Within) and region.whole_object:
                ways = [link.place for link in finding.origin.chain]
                if owner is not None:
                    ways.append(owner)
                if any(way.source.path == self.path and region.covers(way.span) for way in ways):
                    return True
        return False


def _same(one: Place, other: Place) -> bool:
    return one.source.path == other.source.path and one.span == other.span


class Outcome(Struct, frozen=True):
    """Findings with those silenced marked, and what is wrong with the suppressions, by code."""

    findings: list[Finding]
    gaps: list[tuple[MetaCode, Gap]]


# Reading


def read(source: Source, documents: list[Document]) -> list[Suppression]:
    """All suppressions of one file, in order. `documents` are empty for a script file."""
    if SUPPRESSION_WORD not in source.text:
        return []
    found: list[Suppression] = []
    if any(isinstance(document.root, nodes.Mapping | nodes.Sequence) for document in documents):
        layout = _Layout(documents)
        for comment in comments(source, documents):
            if len(found) >= _MOST:
                break
            for match in _IGNORE.finditer(comment.place.text):
                start = comment.place.span.start + match.start()
                span = Span(start, comment.place.span.start + len(comment.place.text[: match.end()].rstrip()))
                covered = _covered_by_comment(source, layout, comment.place.span.start, own_line=comment.own_line)
                found.append(_suppression(match, Place(source, span), covered))
        for scalar in layout.scripts:
            found += _in_script(scalar_text(scalar))
        found += layout.annotated()
    else:
        found += _in_script(WholeText(source))
    found.sort(key=lambda suppression: suppression.place.span)
    return _as_many_as_are_read(found)


def _as_many_as_are_read(found: list[Suppression]) -> list[Suppression]:
    codes = 0
    for index, suppression in enumerate(found):
        codes += max(1, len(suppression.codes))
        if codes >= _MOST:
            reached(SUPPRESSIONS, suppression.place)
            return found[: index + 1]
    return found


def with_owners(
    suppressions: Iterable[Suppression], objects: Iterable[tuple[nodes.Mapping, Place]]
) -> list[Suppression]:
    """The suppressions, with annotations also in force for composed objects that inherit them.

    `objects` gives the node and the place of each object as it will be applied.
    """
    owners: dict[str, list[tuple[Span, Place]]] = {}
    for node, place in objects:
        scalar = nodes.scalar(node, "metadata", "annotations", ANNOTATION)
        if scalar is not None:
            owners.setdefault(scalar.source.path, []).append((scalar.span, place))
    return [
        replace(suppression, owners=tuple(
            place
            for span, place in owners.get(suppression.path, ())
            if span.start <= suppression.place.span.start <= span.end
        ))
        for suppression in suppressions
    ]  # fmt: skip


def _suppression(match: re.Match[str], place: Place, covered: tuple[_Line | _Within, ...]) -> Suppression:
    codes = tuple(code.strip() for code in (match["codes"] or "").split(",", _MOST)[:_MOST] if code.strip())
    until, reason = _until_and_reason(match["rest"])
    return Suppression(codes, reason, until, place, None if match["file"] else covered)


def _until_and_reason(text: str) -> tuple[str, str]:
    until = _UNTIL.search(text)
    if until is not None:
        text = text[: until.start()] + text[until.end() :]
    reason = text.strip().lstrip(":-–— \t").strip()
    return ("" if until is None else until[1] or "?"), reason if re.search(r"\w", reason) else ""


# What a YAML comment covers


class _Layout:
    """Where the values of some documents stand, line by line."""

    def __init__(self, documents: list[Document]) -> None:
        self.scripts: list[Scalar] = []
        self._leaves: list[Span] = []
        """Keys with a value that is no block of lines of its own: one logical node, however many lines it has."""
        self._objects: list[nodes.Mapping] = []
        self._holders: list[tuple[Scalar, nodes.Mapping]] = []
        for document in documents:
            self._walk(document.root)
        self._leaves.sort()
        self._objects.sort(key=lambda node: node.span)
        self._outer: list[Span] = []
        """The leaves that stand in no other one."""
        for span in self._leaves:
            if not self._outer or span.start >= self._outer[-1].end:
                self._outer.append(span)

    def _walk(self, root: Node | None) -> None:
        stack: list[Node] = [] if root is None else [root]
        while stack:
            node = stack.pop()
            if isinstance(node, nodes.Mapping):
                if "kind" in node and "apiVersion" in node:
                    self._objects.append(node)
                annotation = nodes.scalar(node, "metadata", "annotations", ANNOTATION)
                if annotation is not None:
                    self._holders.append((annotation, node))
                for entry in node.entries:
                    if entry.alias is not None or _is_leaf(entry.value):
                        self._leaves.append(entry.place.span)
                    if entry.alias is None:
                        stack.append(entry.value)
            elif isinstance(node, nodes.Sequence):
                for item in node.items:
                    if item.alias is None:
                        if _is_leaf(item.value):
                            self._leaves.append(item.value.span)
                        stack.append(item.value)
            elif isinstance(node, Scalar) and node.style == "literal" and SUPPRESSION_WORD in node.text:
                self.scripts.append(node)

    def at_line(self, line: Span) -> tuple[_Line | _Within, ...]:
        """What a comment on a line, or above it, covers."""
        first = bisect_left(self._objects, line.start, key=lambda node: node.span.start)
        if first < len(self._objects) and self._objects[first].span.start <= line.end:
            return (_Within(self._objects[first].span, whole_object=True),)
        covered: list[_Line | _Within] = []
        index = bisect_left(self._leaves, line.start, key=_start)
        while index < len(self._leaves) and self._leaves[index].start <= line.end:
            covered.append(_Within(self._leaves[index]))
            index += 1
        before = bisect_left(self._outer, line.start, key=_start) - 1
        inside = self._outer[before] if before >= 0 and self._outer[before].end >= line.start else None
        return (*covered, _Line(line, inside))

    def annotated(self) -> Iterator[Suppression]:
        for scalar, holder in self._holders:
            covered = (_Within(holder.span, whole_object=True),)
            text = scalar_text(scalar)
            for start, end, codes, rest in _annotation_entries(scalar.text):
                until, reason = _until_and_reason(rest)
                yield Suppression(codes, _unquoted(reason), until, text.place(start, end), covered)


def _start(span: Span) -> int:
    return span.start


def _is_leaf(node: Node) -> bool:
    return isinstance(node, Scalar) or (isinstance(node, nodes.Mapping | nodes.Sequence) and node.flow)


def _covered_by_comment(source: Source, layout: _Layout, offset: int, *, own_line: bool) -> tuple[_Line | _Within, ...]:
    line = source.position(offset).line
    if own_line:
        line += 1
        for _ in range(_MOST_LINES_BETWEEN):
            span = source.line_span(line)
            if _SKIPPED_LINE.fullmatch(source.text[span.start : span.end].strip()) is None:
                break
            line += 1
    return layout.at_line(source.line_span(line))


# Scripts


def _in_script(script: PlacedText) -> Iterator[Suppression]:
    text = script.text
    for comment in islice(_SCRIPT_COMMENT.finditer(text), _MOST):
        match = _IGNORE.search(text, comment.end())
        if match is None:
            continue
        place = script.place(match.start(), match.start() + len(match[0].rstrip()))
        own_line = not comment["before"].strip()
        start, end = _logical_line(text, comment.start(), own_line=own_line)
        if own_line:  # a script as a whole begins with its first line, and a directive may be commented out
            start = comment.start()
        yield _suppression(match, place, (_Within(script.place(start, end).span),))


def _logical_line(text: str, start: int, *, own_line: bool) -> tuple[int, int]:
    """The command on the line at `start`, or for a comment of its own the one that follows, with all its lines."""

    def line_at(offset: int) -> str:
        match = _LINE.match(text, offset)
        return "" if match is None else match[0]

    if own_line:
        for _ in range(_MOST_LINES_BETWEEN):
            start += len(line_at(start)) + 1
            line = line_at(start).strip()
            # A directive of a batch script is a comment to the shell and the very thing to sbatch.
            if not line.startswith("#") or line.startswith("#SBATCH"):
                break
    else:
        while start > 0:
            before = text.rfind("\n", 0, start - 1) + 1
            if _CONTINUED.search(text[before : start - 1]) is None:
                break
            start = before
    end = start
    while end < len(text):
        line = line_at(end)
        end += len(line)
        if line.startswith("#") or _CONTINUED.search(line) is None:
            break
        end += 1
    return min(start, len(text)), min(end, len(text))


# The annotation

_ANNOTATION_PART = lazy_re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|;|[^;\"']+|[\"']", re.S)


def _annotation_entries(text: str) -> Iterator[tuple[int, int, tuple[str, ...], str]]:
    """Start, end, codes, and what follows the first colon, of each `CODE: reason`; a quoted reason may hold `;`."""
    start = 0
    ends = [match.start() for match in _ANNOTATION_PART.finditer(text) if match[0] == ";"]
    for end in [*ends, len(text)]:
        part = text[start:end]
        if part.strip():
            codes, _, rest = part.partition(":")
            begin = start + len(part) - len(part.lstrip())
            yield (
                begin,
                start + len(part.rstrip()),
                tuple(code.strip() for code in codes.split(",") if code.strip()),
                rest,
            )
        start = end + 1


def _unquoted(reason: str) -> str:
    if len(reason) < 2 or reason[0] != reason[-1] or reason[0] not in "\"'":
        return reason
    inner = reason[1:-1].strip()
    return re.sub(r'\\(["\\])', r"\1", inner) if reason[0] == '"' else inner


# Writing


def comment(codes: Iterable[str], reason: str, *, whole_file: bool = False) -> str:
    """The comment that suppresses some codes."""
    return f"# {SUPPRESSION_WORD}: ignore{'-file' if whole_file else ''}[{','.join(sorted(codes))}] {reason}"


def annotation(codes: Iterable[str], reason: str, there: str = "") -> str:
    """The value of the annotation that suppresses some codes, besides what is there already."""
    until, reason = _until_and_reason(reason)
    if re.search("[;\"']", reason):
        if "'" in reason:
            escaped = reason.replace("\\", "\\\\").replace('"', '\\"')
            reason = f'"{escaped}"'
        else:
            reason = f"'{reason}'"
    entries = [there.strip().rstrip(";").rstrip()] if there.strip() else []
    last_day = f"until={until} " if until else ""
    return "; ".join([*entries, *(f"{code}: {last_day}{reason}" for code in sorted(codes))])


def wrong_reason(reason: str) -> str:
    """Why a text cannot be the reason of a suppression, or nothing."""
    if re.search(r"[\x00-\x1f\x7f\x85\u2028\u2029]", reason):
        return "it is more than one line"
    if not _until_and_reason(reason)[1]:
        return "it has no words"
    return f"it holds `{SUPPRESSION_WORD}: ignore`" if _IGNORE.search(reason) else ""


# Applying


class _State(Struct):
    """One suppression while findings are compared with it."""

    suppression: Suppression
    codes: dict[str, bool] = field(default_factory=dict)
    """The codes and names in force, and whether they silenced anything."""


def renamed(suppressions: Iterable[Suppression], former: Mapping[str, str]) -> list[Suppression]:
    """The suppressions with the present codes for former codes and names."""
    return [
        replace(one, codes=tuple(former.get(code) or former.get(code.upper()) or code for code in one.codes))
        for one in suppressions
    ]


def hints(suppressions: Iterable[Suppression], outdated: Callable[[str], str]) -> Iterator[str]:
    """What to say of suppressions whose codes lead on to others."""
    for one in suppressions:
        for code in one.codes:
            if said := outdated(code):
                place = one.place
                yield f"{place.source.path}:{place.start.line}: {said}"


def apply(
    findings: Iterable[Finding],
    suppressions: Iterable[Suppression],
    *,
    known: Mapping[str, str],
    selected: Collection[str] | None = None,
    today: date | None = None,
    outdated: Callable[[str], str] = lambda _code: "",
) -> Outcome:
    """Mark findings that are suppressed, and report what is wrong with the suppressions.

    `known`: the names of all rules by code. `outdated`: what has become of a code that is not in use any more.
    `selected`: the codes that were run (all of them by default); only these can be unused. `today` decides what has run
    out; without it nothing has.
    """
    gaps: list[tuple[MetaCode, Gap]] = []
    names = {name: code for code, name in known.items()}
    states = [_State(suppression) for suppression in suppressions]
    nearest = _Nearest(known, names)
    for state in states:
        gaps += _check(state, known, names, today, outdated, nearest)
    in_force = [state for state in states if state.codes]
    index = _Index(in_force, names)
    out = []
    for finding in findings:
        reason: Suppressed | None = None
        for state in index.near(finding):
            suppression = state.suppression
            code = suppression.names(finding)
            if code is None or code not in state.codes or not suppression.covers(finding):
                continue
            state.codes[code] = True
            if reason is None:
                reason = Suppressed(suppression.reason, suppression.place, suppression.until)
        out.append(finding if reason is None else finding.with_suppression(reason))
    for state in in_force:
        for code, used in state.codes.items():
            ran = selected is None or names.get(code, code.upper()) in selected
            if not used and ran:
                gaps.append(_gap(UNUSED, state.suppression, f"the suppression of {code} silences nothing here", code))
    gaps.sort(key=lambda gap: (gap[1].origin.place.source.path, gap[1].origin.place.span, gap[0], gap[1].detail))
    return Outcome(out, gaps)


class _Index:
    """Which suppressions may silence a finding: those of its code that stand where it does, or where its object is.

    Thousands of suppressions beside thousands of findings would else be millions of questions.
    """

    def __init__(self, states: Iterable[_State], names: Mapping[str, str]) -> None:
        self._order = {id(state): index for index, state in enumerate(states)}
        self._found: dict[tuple[str, str, int], dict[int, _State]] = {}
        for state in states:
            for code in state.codes:
                for path, part in self._parts(state.suppression):
                    key = (names.get(code, code.upper()), path, part)
                    self._found.setdefault(key, {})[id(state)] = state

    @staticmethod
    def _parts(suppression: Suppression) -> Iterator[tuple[str, int]]:
        """The files and the parts of them where it has effect."""
        for owner in suppression.owners:
            yield owner.source.path, _ANYWHERE
        covered = suppression.covered
        starts = [at for one in covered or () for at in (one.span.start, _first(one))]
        first, last = min(starts, default=0) // _PART, max((one.span.end for one in covered or ()), default=0) // _PART
        if covered is None or last - first > _MOST_PARTS:
            yield suppression.path, _ANYWHERE
            return
        for part in range(first, last + 1):
            yield suppression.path, part

    def near(self, finding: Finding) -> list[_State]:
        """In their order."""
        ways = [finding.place, *(link.place for link in finding.origin.chain)]
        if finding.owner is not None:
            ways.append(finding.owner)
        found: dict[int, _State] = {}
        for path, part in {(way.source.path, at) for way in ways for at in (_ANYWHERE, way.span.start // _PART)}:
            found |= self._found.get((finding.code, path, part), {})
        return sorted(found.values(), key=lambda state: self._order[id(state)])


_ANYWHERE = -1
_PART = 4096
"""Characters of a file that count as one place in the index."""
_MOST_PARTS = 16


def _first(region: _Line | _Within) -> int:
    """Where the earliest finding may begin that a region covers."""
    return region.node.start if isinstance(region, _Line) and region.node is not None else region.span.start


class _Nearest:
    """The code or name of a rule that is most like a word. To find it is dear, so only some words are asked about."""

    def __init__(self, known: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._known = known
        self._names = names
        self._found: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        if word not in self._found:
            if len(self._found) >= _MOST_HINTS or len(word) > _LONGEST_WORD:
                return ""
            from difflib import get_close_matches

            near = get_close_matches(word.upper(), self._known, 1) or get_close_matches(word, self._names, 1)
            self._found[word] = near[0] if near else ""
        return self._found[word]


def _check(
    state: _State,
    known: Mapping[str, str],
    names: Mapping[str, str],
    today: date | None,
    outdated: Callable[[str], str],
    nearest: Callable[[str], str],
) -> Iterator[tuple[MetaCode, Gap]]:
    """Find out what of a suppression is in force, and report the rest."""
    suppression = state.suppression
    shown = ", ".join(suppression.codes)
    if not suppression.codes:
        yield _gap(UNKNOWN_CODE, suppression, "the suppression names no rule: write ignore[CODE] and a reason", "")
        return
    for code in suppression.codes:
        if code.upper() in known or code in names:
            state.codes[code] = False
            continue
        hint = nearest(code)
        hint = f"; did you mean {hint}?" if hint else ""
        yield _gap(UNKNOWN_CODE, suppression, outdated(code) or f"there is no rule {code}{hint}", code)
    if not suppression.reason:
        message = f"the suppression of {shown} gives no reason, so it is not in force"
        yield _gap(NO_REASON, suppression, message, shown)
        state.codes.clear()
        return
    if not suppression.until:
        return
    try:
        last = date.fromisoformat(suppression.until) if len(suppression.until) == 10 else None
    except ValueError:
        last = None
    if last is None:
        message = f"until={suppression.until} is no date (YYYY-MM-DD), so the suppression of {shown} is not in force"
        yield _gap(EXPIRED, suppression, message, shown)
        state.codes.clear()
    elif today is not None:
        trace.depends_on(today)
        if last < today:
            yield _gap(EXPIRED, suppression, f"the suppression of {shown} was good until {suppression.until}", shown)
            state.codes.clear()


def _gap(code: MetaCode, suppression: Suppression, message: str, detail: str) -> tuple[MetaCode, Gap]:
    return code, Gap(Origin(suppression.place), message, detail=f"{detail}:{suppression.reason}")
