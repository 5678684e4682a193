"""Suppressions for findings that are there: a comment at the place of each, or an annotation on its object.

A comment goes above the command in a script, and above the line in YAML where the script is not written line by line.
Where neither can stand, the object gets the annotation, and a script file a comment for all of it. The files are judged
with the suppressions in them: one that silences nothing is not written, and the next way is tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re, suppress
from kube_gaplint.findings import Finding
from kube_gaplint.fix.desk import SHELL_ENDINGS, Desk, Draft, OpenFile, Refused, in_order
from kube_gaplint.fix.expected import Expected
from kube_gaplint.fix.files import FileChange
from kube_gaplint.fix.repair import Judge
from kube_gaplint.fix.scripts import Script
from kube_gaplint.text import nodes
from kube_gaplint.text.compose import compose
from kube_gaplint.text.edit import Edit, Overlap, Tree, apply, replace_scalar, set_key
from kube_gaplint.text.nodes import Entry, Scalar
from kube_gaplint.text.source import Source, Span, line_start_before

_MOST_PASSES = 40
_BLANKS = lazy_re.compile(r"[ \t]*")
_SHELL = lazy_re.compile(r"#!.*\b(?:ba|da|k|z)?sh\b")
_ANNOTATION_PATH = ("metadata", "annotations", suppress.ANNOTATION)


class Suppressing(Struct):
    """The files with their new comments and annotations, and the findings for which there is no place."""

    changes: list[FileChange] = field(default_factory=list)
    left: list[Finding] = field(default_factory=list)


def add_suppressions(wanted: Collection[str], judge: Judge, reason: str) -> Suppressing:
    """Suppress the findings with these fingerprints, for one reason (see `suppress.wrong_reason`)."""
    return _Suppressor(wanted, judge, reason).run()


class _Spot(Struct, frozen=True):
    """A place for a suppression. Findings with the same offset share it; `draft` makes the edit for their codes."""

    start: int
    draft: Callable[[set[str]], Draft]


class _Mark(Struct):
    """One suppression to be written: for some findings, in one way, at one place."""

    file: OpenFile
    spot: _Spot
    findings: list[Finding]

    def draft(self) -> Draft:
        return self.spot.draft({finding.code for finding in self.findings})


class _Suppressor:
    def __init__(self, wanted: Collection[str], judge: Judge, reason: str) -> None:
        self.wanted = {fingerprint.partition("-")[0] for fingerprint in wanted}
        self.judge = judge
        self.reason = reason
        self.tried: dict[tuple[str, str], int] = defaultdict(int)
        """How many ways have failed, by fingerprint and text of the place."""
        self.covered: set[tuple[str, str]] = set()
        """Findings that another suppression covers as well, it seems."""
        self.texts: dict[str, str] = {}
        self.changes: dict[str, FileChange] = {}

    def run(self) -> Suppressing:
        findings = self.judge({})
        known = _live(findings)
        left: list[Finding] = []
        for _ in range(_MOST_PASSES):
            left = [one for one in findings if one.suppressed is None and one.digest in self.wanted]
            marks, new = self._written(list(self._marks(left)))
            if not left or all(self.tried[_key(finding)] >= len(_WAYS) for finding in left):
                break
            if not new:
                self.covered.clear()
                continue
            after = self.judge({**self.texts, **new})
            if self._is_wrong(marks, after, known):
                continue
            for mark in marks:
                path = mark.file.original.path
                change = self.changes.get(path) or FileChange(mark.file.original, "", ())
                self.changes[path] = replace(change, new_text=new[path], findings=(*change.findings, *mark.findings))
            self.texts |= new
            self.covered.clear()
            findings = after
        return Suppressing(list(self.changes.values()), left)

    def _marks(self, findings: Iterable[Finding]) -> Iterable[_Mark]:
        """What is to be written now, each finding in the first way that is left for it."""
        desk = Desk()
        marks: dict[tuple[str, int, int], _Mark] = {}
        for finding in findings:
            key = _key(finding)
            if key in self.covered:
                continue
            while self.tried[key] < len(_WAYS):
                try:
                    file = desk.open(finding.place)
                    spot = _WAYS[self.tried[key]](finding, file, self.reason)
                except Refused:
                    self.tried[key] += 1
                    continue
                place = (file.original.path, self.tried[key], spot.start)
                marks.setdefault(place, _Mark(file, spot, [])).findings.append(finding)
                break
        return marks.values()

    def _written(self, marks: list[_Mark]) -> tuple[list[_Mark], dict[str, str]]:
        """The marks that can stand in their files, and the new texts of these by path."""
        by_file: dict[OpenFile, list[_Mark]] = defaultdict(list)
        for mark in marks:
            by_file[mark.file].append(mark)
        kept: list[_Mark] = []
        texts: dict[str, str] = {}
        for file, there in by_file.items():
            good = there if _attempt(file, there) is not None else [one for one in there if _attempt(file, [one])]
            text = _attempt(file, good) if good else None
            if text is not None:
                kept += good
                texts[file.original.path] = text
            stand = {id(mark) for mark in good} if text is not None else set()
            self._fail(finding for mark in there if id(mark) not in stand for finding in mark.findings)
        return kept, texts

    def _is_wrong(self, marks: list[_Mark], after: Sequence[Finding], known: Counter[str]) -> bool:
        """Whether a suppression silences nothing or something new is found: then another try is due.

        A finding that is silent although its own suppression does nothing is left to the other one.
        """
        live = _live(after)
        new = {finding.place.source.path for finding in after if finding.digest in live - known}
        failed = [one for mark in marks if mark.file.original.path in new for one in mark.findings]
        covered: list[Finding] = []
        idle = [finding for finding in after if finding.code == suppress.UNUSED]
        for mark, lines in _with_lines(marks):
            there = [
                one.message
                for one in idle
                if one.place.source.path == mark.file.original.path and one.place.start.line in lines
            ]
            for finding in mark.findings:
                if any(f" {finding.code} " in message for message in there):
                    (failed if live[finding.digest] else covered).append(finding)
        self._fail(failed)
        self.covered.update(map(_key, covered))
        return bool(failed or covered)

    def _fail(self, findings: Iterable[Finding]) -> None:
        for key in {_key(finding) for finding in findings}:
            self.tried[key] += 1


def _live(findings: Iterable[Finding]) -> Counter[str]:
    """How many findings of each meaning count; unused suppressions aside."""
    return Counter(one.digest for one in findings if one.suppressed is None and one.code != suppress.UNUSED)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.fingerprint, finding.place.text


def _with_lines(marks: list[_Mark]) -> Iterable[tuple[_Mark, range]]:
    """The marks, each with the lines that it has in the new text."""
    by_file: dict[OpenFile, list[tuple[Edit, _Mark]]] = defaultdict(list)
    for mark in marks:
        by_file[mark.file].append((mark.draft().edits[0], mark))
    for file, there in by_file.items():
        added = 0
        for edit, mark in sorted(there, key=lambda one: one[0].span):
            first, more = file.source.position(edit.span.start).line + added, edit.text.count("\n")
            yield mark, range(first, first + more + 1)
            added += more


def _attempt(file: OpenFile, marks: list[_Mark]) -> str | None:
    """The text with some suppressions, or None where anything but comments and annotations would change."""
    drafts = [mark.draft() for mark in marks]
    try:
        text = apply(file.text, in_order(edit for draft in drafts for edit in draft.edits))
    except Overlap:
        return None
    if not file.is_yaml:
        return text
    before, after = file.composed, compose(Source(file.original.path, text))
    if len(after.documents) != len(before.documents) or len(after.problems) > len(before.problems):
        return None
    expected = [Expected(document) for document in before.documents]
    for draft in drafts:
        for tree, change in draft.changes:
            change(expected[tree.document.index])
    same = all(wanted.matches(document) for wanted, document in zip(expected, after.documents, strict=True))
    return text if same else None


# The ways, in the order in which they are tried. Each raises Refused where it cannot be gone.


def _in_script(finding: Finding, file: OpenFile, reason: str) -> _Spot:
    """A comment above the command, in the script."""
    span = finding.place.span
    script = Script.around(file, span)
    if script.scalar is not None and script.tree is not None and not _is_shell(script.tree, script.scalar):
        raise Refused("it may be no shell script")

    def draft(codes: set[str]) -> Draft:
        return script.add_comment_before(span, suppress.comment(codes, reason))

    return _Spot(draft({finding.code}).edits[0].span.start, draft)


def _is_shell(tree: Tree, scalar: Scalar) -> bool:
    """Whether a text in a manifest is surely read by a shell: a start command, or named or begun as a script."""
    if _SHELL.match(scalar.text):
        return True
    held = tree.held(scalar)
    if held is not None and isinstance(held.parent, nodes.Sequence):
        held = tree.held(held.parent)
    if held is None or not isinstance(held.slot, Entry):
        return False
    return held.slot.name in ("command", "args") or held.slot.name.endswith(SHELL_ENDINGS)


def _above(finding: Finding, file: OpenFile, reason: str) -> _Spot:
    """A comment above the line in YAML; for a value of several lines above its first one, with its key."""
    if not file.is_yaml:
        raise Refused("it is no YAML")
    if file.text.lstrip()[:1] in ("{", "["):
        raise Refused("JSON has no comments")
    start = finding.place.span.start
    tree = file.tree_at(start)
    scalar = None if tree is None else tree.scalar_around(finding.place.span)
    if tree is not None and scalar is not None:
        held = tree.held(scalar)
        start = scalar.span.start
        if held is not None and isinstance(held.slot, Entry):
            start = held.slot.place.span.start
    start = line_start_before(file.text, start)
    blanks = _BLANKS.match(file.text, start)
    assert blanks is not None
    indentation = blanks[0]

    def draft(codes: set[str]) -> Draft:
        line = f"{indentation}{suppress.comment(codes, reason)}{file.source.newline}"
        return Draft(file, (Edit(Span(start, start), line),))

    return _Spot(start, draft)


def _on_object(finding: Finding, file: OpenFile, reason: str) -> _Spot:
    """The annotation of the object."""
    owner = finding.owner
    if owner is None or owner.source.path != file.original.path or not file.is_yaml:
        raise Refused("it belongs to no object in its file")
    tree = file.tree_at(owner.span.start)
    found = None if tree is None else tree.starting(nodes.Mapping, owner.span.start)
    if tree is None or not isinstance(found, nodes.Mapping):
        raise Refused("there is no object")
    there, annotated, its_tree = nodes.scalar(found, *_ANNOTATION_PATH), found, tree

    def draft(codes: set[str]) -> Draft:
        value = suppress.annotation(codes, reason, "" if there is None else there.text)
        if there is None:
            edits = set_key(its_tree, annotated, _ANNOTATION_PATH, value)
        else:
            edits = replace_scalar(its_tree, there, value)
        if not edits:
            raise Refused("the object is written in a way that cannot be edited safely")

        def change(expected: Expected) -> None:
            if there is None:
                expected.set(annotated, _ANNOTATION_PATH, value)
            else:
                expected.replace(there, value, as_text=True)

        return Draft(file, tuple(edits), ((its_tree, change),))

    draft({finding.code})
    return _Spot(owner.span.start, draft)


def _in_file(_finding: Finding, file: OpenFile, reason: str) -> _Spot:
    """A comment at the head of a script file, for places inside quoted text and here-documents."""
    if file.is_yaml:
        raise Refused("a file of manifests holds more than one object")
    text, newline = file.text, file.source.newline
    start = text.find(newline) + len(newline) if text.startswith("#!") and newline in text else 0

    def draft(codes: set[str]) -> Draft:
        line = suppress.comment(codes, reason, whole_file=True)
        return Draft(file, (Edit(Span(start, start), f"{line}{newline}"),))

    return _Spot(start, draft)


_WAYS: tuple[Callable[[Finding, OpenFile, str], _Spot], ...] = (_in_script, _above, _on_object, _in_file)
