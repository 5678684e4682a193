"""What is fuzzed: each target takes bytes, runs one part of gaplint, and checks what it promises of any input.

An exception out of a target is a finding. `TARGETS` gives each with the inputs that it begins with and the share of
executions that it gets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import seeds

from kube_gaplint import discover, engine, fix
from kube_gaplint.bundle.editing import Budget, Unbuildable, copied_mapping
from kube_gaplint.bundle.embedded import every_node
from kube_gaplint.bundle.generators import Content
from kube_gaplint.bundle.kustomize import Builder
from kube_gaplint.bundle.patching import json_patch, strategic_merge
from kube_gaplint.bundle.plain import plain
from kube_gaplint.discover import FileId
from kube_gaplint.findings import RemoveEntry, Report, Severity
from kube_gaplint.launch.python import read_python
from kube_gaplint.launch.shell import read_script
from kube_gaplint.launch.shell_status import end_status, lost_status
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin
from kube_gaplint.report import FORMATS, render
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.show import render as render_shown
from kube_gaplint.report.show.gather import gather
from kube_gaplint.text.comments import comments
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Document, Scalar
from kube_gaplint.text.nodes import Mapping as YamlMapping
from kube_gaplint.text.nodes import Sequence as YamlSequence
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Place, Source, Span, WholeText


class Broken(AssertionError):
    """A promise that does not hold for an input."""


def _promise(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def _decoded(data: bytes) -> str | None:
    try:
        return decode(data)
    except Unreadable:
        return None


# Text


def yaml(data: bytes) -> None:
    """Bytes to nodes: every node, comment and problem lies within the text, and scalars are placed."""
    text = _decoded(data)
    if text is None:
        return
    source = Source("f.yaml", text)
    composed = compose(source)
    for problem in composed.problems:
        _inside(problem.place)
    for document in composed.documents:
        for node in every_node(document.root):
            _inside(node.place)
            if isinstance(node, Scalar):
                placed = scalar_text(node)
                _promise(placed.text == node.text, "a scalar's placed text is another one")
                _inside(placed.place(0, len(placed.text)))
                _inside(placed.place(len(placed.text) // 2, len(placed.text) // 2))
    for comment in comments(source, composed.documents):
        _inside(comment.place)
        _promise(comment.place.text.startswith("#"), "a comment that begins with no #")


def _inside(place: Place) -> None:
    start, end = place.span.start, place.span.end
    _promise(0 <= start <= end <= len(place.source.text), f"a place out of the text: {start}-{end}")
    _promise(place.start <= place.end, "a place that ends before it begins")


# Programs


_FOLLOWED = 10
"""Commands at both ends whose status is followed: only those that train are in earnest."""
_HOME = Origin(Place(Source("pod.yaml", ""), Span(0, 0)))


def shell(data: bytes) -> None:
    """A script is read, and what each of its commands does with its status."""
    text = _decoded(data)
    if text is None:
        return
    script = read_script(WholeText(Source("job.sh", text)), Environment(_HOME), arguments=None)
    for command in script.commands:
        _inside(command.place)
        for word in command.words:
            _inside(word.place)
    for command in (*script.commands[:_FOLLOWED], *script.commands[-_FOLLOWED:]):
        lost_status(command)
        end_status(command)


def python(data: bytes) -> None:
    """The facts of a program."""
    text = _decoded(data)
    if text is not None:
        read_python(WholeText(Source("train.py", text)), None, Environment(_HOME))


# Kustomize


class _Memory:
    """The files of one folder in memory (kustomize.Files)."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self.texts = texts
        self.parsed: dict[str, list[Document] | None] = {}

    def documents(self, file: FileId) -> list[Document] | None:
        if file.path not in self.parsed:
            data = self.texts.get(file.path)
            text = None if data is None else _decoded(data)
            self.parsed[file.path] = None if text is None else compose(Source(file.shown, text)).documents
        return self.parsed[file.path]

    def content(self, file: FileId) -> Content | None:
        data = self.texts.get(file.path)
        if data is None:
            return None
        text = _decoded(data)
        return Content(data, None if text is None else Source(file.shown, text))

    def kustomization_in(self, folder: FileId) -> FileId | None:
        path = f"{folder.path}/kustomization.yaml"
        return FileId("kustomization.yaml", path, folder.root) if path in self.texts else None


_FOLDER = "/nowhere/kustomize"
_NAMES = ("kustomization.yaml", "one.yaml", "two.yaml", "three.yaml")


def kustomize(data: bytes) -> None:
    """A build of a kustomization and up to three files gives whole objects, and leaves the files' own nodes alone."""
    texts = {f"{_FOLDER}/{name}": part for name, part in zip(_NAMES, data.split(seeds.SEPARATOR), strict=False)}
    memory = _Memory(texts)
    before = {
        path: [plain(one.root) for one in memory.documents(FileId(path, path)) or () if one.root] for path in texts
    }
    build = Builder(memory).build(FileId("kustomization.yaml", f"{_FOLDER}/kustomization.yaml", _FOLDER))
    for path, documents in memory.parsed.items():
        if path in before:
            after = [plain(one.root) for one in documents or () if one.root]
            _promise(repr(after) == repr(before[path]), "a build changes the nodes of a file")
    if build is None:
        return
    for resource in build.resources:
        plain(resource.node)
        ids = [id(node) for node in _collections(resource.node)]
        _promise(len(ids) == len(set(ids)), "a node stands in two places of one object")
    for note in build.notes:
        _inside(note.place)


def _collections(root: YamlMapping) -> list[YamlMapping | YamlSequence]:
    found: list[YamlMapping | YamlSequence] = []
    pending: list[object] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, YamlMapping):
            found.append(node)
            pending.extend(entry.value for entry in node.entries)
        elif isinstance(node, YamlSequence):
            found.append(node)
            pending.extend(item.value for item in node.items)
    return found


def merge(data: bytes) -> None:
    """The second document is merged into the first, or applied to it as a JSON patch."""
    text = _decoded(data)
    if text is None:
        return
    roots = [one.root for one in compose(Source("f.yaml", text)).documents if one.root is not None]
    if len(roots) < 2 or not isinstance(roots[0], YamlMapping):
        return
    target, patch = roots[0], roots[1]
    before = repr(plain(target)), repr(plain(patch))
    budget = Budget()
    with suppress(Unbuildable):
        if isinstance(patch, YamlMapping):
            strategic_merge(copied_mapping(target, budget), patch, budget)
        elif isinstance(patch, YamlSequence):
            json_patch(copied_mapping(target, budget), patch, budget)
    _promise((repr(plain(target)), repr(plain(patch))) == before, "a merge changes what it was given")


# The whole


_OPTIONS = RenderOptions(statistics=True)
_DAY = date(2027, 1, 1)


def _request(data: bytes, name: str = "") -> engine.Request:
    return engine.Request(paths=("-",), stdin=data, stdin_filename=name, min_severity=min(Severity), today=_DAY)


def lint(data: bytes) -> None:
    """A manifest is judged by all rules, and reported in every format."""
    report = engine.lint(_request(data))
    _reported(report)


def batch(data: bytes) -> None:
    """A batch script is judged by all rules, and reported."""
    _reported(engine.lint(_request(data, "job.sbatch")))


def show(data: bytes) -> None:
    """What is understood of a manifest is shown."""
    reading = engine.read(_request(data))
    shown = gather(
        reading.model.views,
        missed=reading.loaded.bundle.unresolved,
        problems=reading.problems,
        errors=reading.errors,
        summary=reading.summary(),
    )
    render_shown("tree", shown, _OPTIONS)
    json.loads(render_shown("json", shown, _OPTIONS))


def _reported(report: Report) -> None:
    for finding in report.findings:
        _inside(finding.place)
        for related in finding.related:
            _inside(related.origin.place)
    shown = {name: render(name, report, _OPTIONS) for name in FORMATS}
    for name in ("json", "sarif", "gitlab"):
        json.loads(shown[name])
    for text in shown.values():
        _promise("\x1b" not in text and "\0" not in text, "a report with control characters")
        text.encode()
    live = sum(finding.suppressed is None for finding in report.findings)
    _promise(len(shown["github"].splitlines()) == live, "github: not one command a finding")


def fixes(data: bytes) -> None:
    """All fixes, the unsafe ones too: they add no finding of a like object, no problem, keep comments, and end."""
    request = _request(data)
    text = _decoded(data)
    if text is None:
        return
    report = engine.lint(request)
    plan = _repaired(report, data)
    if not plan.changes:
        return
    (change,) = plan.changes
    new = change.new_text
    _promise(new != text, "a change that changes nothing")
    after = engine.lint(_request(new.encode("utf-8", "surrogatepass")))
    broken = {"GAP001", "GAP002"}
    _promise(
        sum(one.code in broken for one in after.findings) <= sum(one.code in broken for one in report.findings),
        "a fix breaks the file",
    )
    again = _repaired(after, new.encode("utf-8", "surrogatepass"))
    _promise(not again.changes, "a fix is not idempotent")
    if any(isinstance(one, RemoveEntry) for found in change.findings if found.fix for one in found.fix.changes):
        return  # the comment of what is removed goes with it
    kept = Counter(_comments(new))
    kept.subtract(_comments(text))
    _promise(not any(count < 0 for count in kept.values()), "a fix loses a comment")


def _comments(text: str) -> list[str]:
    source = Source("f.yaml", text)
    return [comment.text for comment in comments(source, compose(source).documents)]


def _repaired(report: Report, data: bytes) -> fix.FixPlan:
    wanted = {one.fingerprint for one in report.findings if one.suppressed is None and one.fixable != "no"}
    if not wanted:
        return fix.FixPlan()

    def judge(texts: Mapping[str, str]) -> Sequence[object]:
        text = texts.get(discover.STDIN)
        return engine.lint(_request(data if text is None else text.encode("utf-8", "surrogatepass"))).findings

    return fix.repair(wanted, judge, unsafe=True, codes=engine.selected_codes(_request(b"")))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Target:
    """`share` of all the time."""

    run: Callable[[bytes], None]
    seeds: Callable[[], tuple[bytes, ...]]
    share: float


TARGETS: dict[str, Target] = {
    "yaml": Target(yaml, seeds.manifests, 0.1),
    "shell": Target(shell, seeds.scripts, 0.2),
    "python": Target(python, seeds.programs, 0.06),
    "merge": Target(merge, seeds.pairs, 0.06),
    "kustomize": Target(kustomize, seeds.kustomizations, 0.12),
    "lint": Target(lint, seeds.manifests, 0.16),
    "batch": Target(batch, seeds.batch, 0.1),
    "show": Target(show, seeds.manifests, 0.06),
    "fixes": Target(fixes, seeds.manifests, 0.14),
}
