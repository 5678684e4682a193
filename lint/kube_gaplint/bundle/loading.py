"""From candidates to the bundle: what is parsed, in which order, and what is left alone.

First the files that are judged, then the Kustomize builds that they belong to, then the files that say something about
either. A file that a build takes in is not judged by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re, progress
from kube_gaplint.bundle.builds import Kustomizations
from kube_gaplint.bundle.bundle import Bundle, Loaded, ScriptFile
from kube_gaplint.bundle.embedded import every_node
from kube_gaplint.bundle.objects import KubeObject, objects_in, unwrapped
from kube_gaplint.discover import BINARY, BROKEN, IRRELEVANT, TEMPLATE, Candidate, Discovery, FileId, read_file
from kube_gaplint.findings import FileError
from kube_gaplint.text.compose import Limits, Problem, compose
from kube_gaplint.text.nodes import Document, Scalar
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import Place, Source, Span

if TYPE_CHECKING:
    from kube_gaplint.bundle.generators import Content
    from kube_gaplint.bundle.kustomize import Build


class _Parsed(Struct, eq=False):
    """One parsed YAML file. `order` is its place among the candidates; a file that was only referred to has none."""

    file: FileId
    order: int
    source: Source
    documents: list[Document]
    objects: list[KubeObject] = field(default_factory=list)
    others: list[Document] = field(default_factory=list)
    named: bool = False


class _Composed(Struct):
    """The objects of one build, with its place in the order of everything."""

    order: int
    build: Build
    objects: list[KubeObject]


class Loader:
    """Loads the candidates of one discovery, once."""

    def __init__(self, discovery: Discovery, limits: Limits) -> None:
        self.discovery = discovery
        self.limits = limits
        self.bundle = Bundle(limits=limits)
        self.loaded = Loaded(self.bundle)
        self.judged: list[_Parsed] = []
        self.builds: list[_Composed] = []
        self._by_path: dict[str, _Parsed | None] = {}
        self._waiting: dict[str, tuple[int, Candidate]] = {}
        self._templates: list[str] = []
        self._opened: set[str] = set()
        """Paths that builds have read since the last reset."""

    def run(self) -> Loaded:
        kustomizations: list[tuple[int, Candidate]] = []
        for order, candidate in enumerate(self.discovery.candidates):
            progress.tell("reading files", order, len(self.discovery.candidates))
            if candidate.form != "yaml":
                self._script(candidate)
            elif candidate.interest == "judged":
                parsed = self._parse(candidate, order)
                if parsed is not None:
                    self.judged.append(parsed)
            elif candidate.interest == "kustomization":
                kustomizations.append((order, candidate))
            else:
                self._waiting[candidate.file.path] = (order, candidate)
        self._build(kustomizations)
        self._supporting()
        self._assemble()
        self.bundle.templates = self.discovery.templates
        self.loaded.hints.extend(self.discovery.hints)
        if self._templates:
            self.loaded.hints.append(_of_templates(self._templates))
        return self.loaded

    def _assemble(self) -> None:
        """Everything into the bundle, in the order of the candidates."""
        parts: list[tuple[int, _Parsed | _Composed]] = [(part.order, part) for part in self.judged]
        parts.extend((part.order, part) for part in self.builds)
        for _, part in sorted(parts, key=lambda pair: pair[0]):
            for kube in part.objects:
                self.loaded.problems.extend(kube.problems)
            if isinstance(part, _Composed):
                self.bundle.add_build(part.build, part.objects)
                continue
            for kube in part.objects:
                self.bundle.add(kube)
            self.bundle.others.extend(part.others)

    # Files

    def _script(self, candidate: Candidate) -> None:
        source = self._source(candidate)
        if source is not None:
            script = ScriptFile(source, candidate.file)
            (self.bundle.scripts if candidate.form == "script" else self.bundle.slurm_confs).append(script)
            self.loaded.sources.append((source, []))

    def _parse(self, candidate: Candidate, order: int) -> _Parsed | None:
        """Parse a candidate, once; None where it cannot be judged."""
        path = candidate.file.path
        parsed = self._read(candidate, order)
        if path:
            self._by_path[path] = parsed
        return parsed

    def _read(self, candidate: Candidate, order: int) -> _Parsed | None:
        source = self._source(candidate)
        if source is None:
            return None
        text = source.text
        source.text = without_schemas(text)
        composed = compose(source, self.limits)
        source.text = text
        if _is_template(source.text, composed.problems):
            self.loaded.files -= 1
            self.loaded.skip(TEMPLATE)
            self._templates.append(candidate.file.shown)
            self.discovery.keep_template(text)
            return None
        builds = candidate.interest == "kustomization"
        if not candidate.named and not builds and _is_broken(source.text, composed.problems):
            self.loaded.files -= 1
            self.loaded.skip(BROKEN)
            return None
        parsed = _Parsed(candidate.file, order, source, composed.documents, named=candidate.named)
        if candidate.file.given:
            self.loaded.problems.extend(composed.problems)
        self.loaded.documents += len(composed.documents)
        self.loaded.sources.append((source, composed.documents))
        self.bundle.mark_loaded(candidate.file.path, source)
        for document, template in zip(composed.documents, _template_names(source, composed.documents), strict=True):
            objects = objects_in(document, candidate.file, template=template, limits=self.limits)
            parsed.objects.extend(objects)
            if not objects and document.root is not None:
                parsed.others.append(document)
                self.bundle.other_files[document.source.path] = candidate.file
        return parsed

    def _source(self, candidate: Candidate) -> Source | None:
        """The text of a candidate; a reason why there is none becomes a problem or a count."""
        shown = candidate.file.shown
        if candidate.problem:
            place = Place(Source(shown, ""), Span(0, 0))
            self.loaded.problems.append(Problem("limit", f"the file is {candidate.problem}: it was not read", place))
            return None
        try:
            source = Source(shown, decode(candidate.data))
        except Unreadable as error:
            if candidate.named or candidate.form != "yaml" or _is_manifest(candidate):
                place = Place(Source(shown, ""), Span(0, 0))
                message = f"the file is not read, because it {error.reason}"
                self.loaded.problems.append(Problem("syntax", message, place))
            else:
                self.loaded.skip(BINARY)
            return None
        candidate.data = b""
        self.loaded.files += 1
        return source

    # What a build reads (kustomize.Files)

    def documents(self, file: FileId) -> list[Document] | None:
        """The documents of a YAML file that a kustomization names."""
        self._opened.add(file.path)
        if file.path not in self._by_path:
            waiting = self._waiting.pop(file.path, None)
            order, candidate = waiting if waiting is not None else (-1, Candidate(file, "yaml", "evidence"))
            data = read_file(file)
            if data is None:
                self._by_path[file.path] = None
            else:
                if waiting is None and file.path in self.discovery.passed_over:
                    self.discovery.passed_over.discard(file.path)
                    self.discovery.skip(IRRELEVANT, -1)
                self._parse(replace(candidate, data=data), order)
        parsed = self._by_path[file.path]
        return None if parsed is None else parsed.documents

    def content(self, file: FileId) -> Content | None:
        """The bytes of a file that a generator takes in, and its text where it is UTF-8."""
        from kube_gaplint.bundle.generators import Content

        self._opened.add(file.path)
        data = read_file(file)
        if data is None:
            return None
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return Content(data, None)
        return Content(data, self.bundle.source_of(file, data))

    def kustomization_in(self, folder: FileId) -> FileId | None:
        return Kustomizations.file_in(folder)

    # Kustomize

    def _build(self, candidates: list[tuple[int, Candidate]]) -> None:
        """Build every kustomization that matters and is not part of another."""
        judged = {parsed.file.path for parsed in self.judged if parsed.file.path}
        named = [parsed.file for parsed in self.judged if parsed.named and parsed.file.path]
        if not candidates and not named:
            return
        kustomizations = Kustomizations(candidates, judged, self.discovery.roots)
        for candidate in kustomizations.irrelevant():
            self.discovery.skip(IRRELEVANT)
            self.discovery.passed_over.add(candidate.file.path)  # another one may still take it in
        relevant = kustomizations.relevant()
        for order, candidate in relevant:
            self._parse(candidate, order)
        around = list(kustomizations.around(named))
        if not relevant and not around:
            return
        from kube_gaplint.bundle.kustomize import Builder

        builder = Builder(self)
        reached: set[str] = set()
        for order, candidate in kustomizations.roots(relevant, self._root_of):
            self._opened = set()
            build = builder.build(candidate.file)
            if build is None:
                continue
            reached |= self._opened
            self._add_build(build, order, given=True)
        for file in around:
            self._opened = set()
            build = builder.build(file)
            touched = {path for path in self._opened if path in judged and path not in reached}
            if build is None or not touched:
                continue
            reached |= self._opened
            order = min(parsed.order for parsed in self.judged if parsed.file.path in touched)
            self._add_build(build, order, given=False, touched=touched)
        self.judged = [parsed for parsed in self.judged if parsed.file.path not in reached]

    def _root_of(self, candidate: Candidate) -> Document | None:
        parsed = self._by_path.get(candidate.file.path)
        return None if parsed is None else next((one for one in parsed.documents if one.root is not None), None)

    def _add_build(self, build: Build, order: int, *, given: bool, touched: Iterable[str] = ()) -> None:
        """The objects of a build. Of one that is not given, those that hold something of the named files are judged."""
        sources = {id(parsed.source) for path in touched if (parsed := self._by_path.get(path)) is not None}
        composed = _Composed(order, build, [])
        for resource in build.resources:
            is_given = given or any(id(node.source) in sources for node in every_node(resource.node))
            for kube in unwrapped(
                resource.node,
                resource.document,
                replace(resource.file, given=is_given),
                build=build.file.shown,
                folder=build.file.folder,
                limits=self.limits,
            ):
                kube.open_because = resource.open_because
                composed.objects.append(kube)
        self.builds.append(composed)

    # Files that say something about judged objects

    def _supporting(self) -> None:
        """Parse what is evidence for all, and what is named, again and again until nothing more is named."""
        if not self.judged and not self.builds and not self.bundle.scripts:
            for _ in self._waiting:
                self.loaded.skip(IRRELEVANT)
            return
        wanted: set[str] = set()
        parts: list[_Parsed | _Composed] = [*self.judged, *self.builds]
        for part in parts:
            for kube in part.objects:
                wanted.update(_names_wanted(kube))
        waiting = self._waiting
        while waiting:
            fresh: list[KubeObject] = []
            for path, (order, candidate) in list(waiting.items()):
                if candidate.interest != "evidence" and wanted.isdisjoint(candidate.names):
                    continue
                del waiting[path]
                parsed = self._parse_late(candidate, order)
                if parsed is not None:
                    self.judged.append(parsed)
                    fresh.extend(parsed.objects)
            before = len(wanted)
            for kube in fresh:
                if kube.kind in _LEADING_ON:
                    wanted.update(_names_wanted(kube))
            if len(wanted) == before:
                break
        for _ in waiting:
            self.loaded.skip(IRRELEVANT)

    def _parse_late(self, candidate: Candidate, order: int) -> _Parsed | None:
        data = read_file(candidate.file)
        if data is None:
            self.loaded.errors.append(FileError(candidate.file.shown, "it could not be read any more"))
            return None
        return self._parse(replace(candidate, data=data), order)


_LEADING_ON = frozenset(
    {"PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate", "LocalQueue", "ClusterQueue"}
)
"""Supporting kinds that name further objects."""

_WORD = lazy_re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 253
_LONGEST_SCANNED = 100_000


def _names_wanted(kube: KubeObject) -> set[str]:
    """Every text in an object that may be the name of another one.

    A name may stand in a longer text as well: the Service in `train-0.train.ml.svc:29500`, within a script.
    """
    wanted: set[str] = set()
    for node in every_node(kube.node):
        if isinstance(node, Scalar):
            text = node.text
            if len(text) <= _LONGEST_NAME:
                wanted.add(text)
            if not text.isalnum():
                wanted.update(_WORD.findall(text, 0, _LONGEST_SCANNED))
    return wanted


_SCHEMA_KIND = lazy_re.needing(
    ("CustomResourceDefinition",), r"^kind:[ \t]*['\"]?CustomResourceDefinition\b", re.MULTILINE
)
_DOCUMENT_START = lazy_re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_SMALL_SCHEMA = 2000


def without_schemas(text: str) -> str:
    """The text with blanks for each large CustomResourceDefinition, all else where it was.

    Their schemas are larger than everything else together, and nothing in them is judged.
    """
    if len(text) < _SMALL_SCHEMA or _SCHEMA_KIND.search(text) is None:
        return text
    starts = [0, *(match.start() for match in _DOCUMENT_START.finditer(text)), len(text)]
    parts = []
    for start, end in pairwise(starts):
        part = text[start:end]
        if end - start >= _SMALL_SCHEMA and _SCHEMA_KIND.search(part) is not None:
            # The separator stays, and the line ends do.
            head = 3 if part.startswith("---") else 0
            part = part[:head] + "\n".join(" " * len(line) for line in part[head:].split("\n"))
        parts.append(part)
    return "".join(parts)


_TEMPLATE_MARKS = ("{{", "{%", "<%")
_VERB = lazy_re.compile(r"%(?:[sdvq]|[({]\w)")
"""A value that `printf` or Python's `%` fills in; no plain YAML begins with a percent sign."""
_TEMPLATE_LINE = lazy_re.compile(r"^[ \t]*(?:\{\{|\{%|<%)", re.MULTILINE)
_PLACEHOLDERS = (
    r"\$\{\w+(?::?[-=?+][^}\n]*)?\}", r"\$\w+",  # the shell's, as envsubst fills them in
    r"<[A-Z][\w .-]*>", r"\{[A-Za-z_]\w*\}", r"@@?\w+@@?", r"__\w+__", r"%\w+%", r"\[\[[^]\n]*\]\]",
)  # fmt: skip
_PLACEHOLDER_LINE = lazy_re.compile(rf"^[ \t]*(?:{'|'.join(_PLACEHOLDERS)})[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
"""A line that is a placeholder and nothing else: `envsubst`, `sed` or a person puts lines of YAML in its place."""

_CAPITALS = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_GLUED_WORD = lazy_re.compile(
    rf"^[ \t]*(?:- )?[\w.-]+:(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?{_CAPITALS}[ \t]*\r?$", re.MULTILINE
)
"""A word in capitals right behind a colon or a quoted value (`env:POD_ENV`): a program puts YAML in its place."""
_WORD_TO_FILL_IN = lazy_re.compile(
    rf"^[ \t]*(?:- )?(?!(?:name|key|value|type):)[\w./-]+: +([\"']?)({_CAPITALS})\1[ \t]*\r?$", re.MULTILINE
)
_FEWEST_WORDS = 2
"""Other values of a file that are such words, from which on the one at the mistake is no slip."""


def _is_template(text: str, problems: Iterable[Problem]) -> bool:
    """Whether a text that is no YAML would become some by a template engine: the parser stopped at a template mark,
    after a line that begins with one, at a line that is a placeholder, or at one of many words to be filled in."""
    for problem in problems:
        if problem.kind != "syntax":
            continue
        at = problem.place.span.start
        before = text.rfind("\n", 0, max(0, text.rfind("\n", 0, at))) + 1
        after = text.find("\n", at)
        near = text[before : len(text) if after < 0 else after]
        if any(mark in near for mark in _TEMPLATE_MARKS) or _TEMPLATE_LINE.search(text, 0, at) or _VERB.match(text, at):
            return True
        if _PLACEHOLDER_LINE.search(near):
            return True
        if _GLUED_WORD.search(near) and len(_words_to_fill_in(text)) >= _FEWEST_WORDS:
            return True
    return False


def _words_to_fill_in(text: str) -> set[str]:
    return {found[2] for found in _WORD_TO_FILL_IN.finditer(text)}


def _is_manifest(candidate: Candidate) -> bool:
    """Whether a file that is no text was meant as a manifest: no cluster would take it."""
    return candidate.interest == "judged" and b"apiVersion" in candidate.data and b"kind" in candidate.data


_PRINTED = lazy_re.compile(r":[ \t]+class V\d[a-z0-9]*[A-Z]\w+ \{[ \t]*\r?$", re.MULTILINE)
"""How the Java client prints its objects (`metadata: class V1ObjectMeta {`): a record that no cluster is given."""


def _is_broken(text: str, problems: Iterable[Problem]) -> bool:
    """Whether a text is no YAML and no manifest either: a workflow of a CI, say, that only speaks of Slurm, or what a
    program printed of its objects."""
    if any(problem.kind == "syntax" for problem in problems):
        if _PRINTED.search(text):
            return True
        return not ("apiVersion" in text and "kind" in text) and not text.lstrip().startswith("#cloud-config")
    return False


_SOURCE_COMMENT = lazy_re.needing(("# Source: ",), r"^# Source: (\S.*?)[ \t]*\r?$", re.MULTILINE)


def _template_names(source: Source, documents: Sequence[Document]) -> list[str]:
    """For each document the chart template that Helm's `# Source:` comment above it names, else empty."""
    marks = [(match.start(), match[1]) for match in _SOURCE_COMMENT.finditer(source.text)]
    names = [""] * len(documents)
    if not marks:
        return names
    after = 0
    at = 0
    for index, document in enumerate(documents):
        if document.root is None:
            continue
        before = document.root.span.start
        while at < len(marks) and marks[at][0] < before:
            if marks[at][0] >= after:
                names[index] = marks[at][1]
            at += 1
        after = document.root.span.end
    return names


def _of_templates(paths: list[str]) -> str:
    """What to do with files that are no YAML before somebody fills them in."""
    if len(paths) == 1:
        return f"{paths[0]} is a template: give gaplint what it becomes, by a pipe into `gaplint -`"
    more = len(paths) - 2
    names = f"{paths[0]} and {paths[1]}" if not more else f"{paths[0]}, {paths[1]} and {more} more"
    return f"{names} are templates: give gaplint what they become, by a pipe into `gaplint -`"
