# ruff: noqa: PTH118, PTH120, PTH122
# Paths are strings here: an object for every file would double the time of the walk.
"""All objects of one run, and how they refer to one another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from kube_gaplint import disk
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.bundle.nearness import Distance, distance
from kube_gaplint.bundle.objects import KubeObject, objects_in
from kube_gaplint.bundle.package_lists import guides, lists_around
from kube_gaplint.bundle.plain import plain
from kube_gaplint.bundle.recipes import Recipe, RecipeBook, Recipes
from kube_gaplint.bundle.submissions import Submission, SubmissionBook
from kube_gaplint.discover import Discovery, FileId, read_file, within
from kube_gaplint.facts.candidates import YAML_ENDINGS
from kube_gaplint.findings import FileError
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.text.compose import DEFAULT_LIMITS, Limits, Problem, compose
from kube_gaplint.text.nodes import Document, Mapping, Scalar
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import Files, Place, PlacedText, Source, WholeText
from kube_gaplint.text.templates import placeholder

if TYPE_CHECKING:
    from kube_gaplint.bundle.config_map_commands import ConfigMapCommands
    from kube_gaplint.bundle.kustomize import Build
    from kube_gaplint.bundle.node_commands import NodeCommandBook

Found: TypeAlias = "KubeObject | Unknown | None"

_LARGEST_REFERRED = 2**20
_PROGRAMS = (".py", ".sh", ".bash")
_OF_THE_SYSTEM = (["bin"], ["dev"], ["etc"], ["lib"], ["proc"], ["sbin"], ["sys"], ["usr"], ["var"])
"""Folders below `/` that hold nothing of anybody's own."""
_HASH_LENGTH = 10
"""Letters that Kustomize appends to the names of generated objects."""
_MOST_FILES_A_FOLDER = 400
_MOST_FILES_SEARCHED = 4000


class ScriptFile(Struct, eq=False):
    """A batch script, or another text file that is read as a whole (`slurm.conf`)."""

    source: Source
    file: FileId

    @property
    def text(self) -> PlacedText:
        return WholeText(self.source)


class ConfigMapData(Struct, eq=False):
    """What a ConfigMap or a Secret holds. `opaque` are keys whose content is not visible text."""

    entries: dict[str, Scalar]
    object: KubeObject
    opaque: frozenset[str] = frozenset()


class Unresolved(Struct, frozen=True):
    """A reference that leads nowhere in the given paths: who refers, to what, where, and why it was not found."""

    object: KubeObject | None
    what: str
    place: Place
    reason: str


class Bundle(Struct, eq=False, dict=True):
    """All objects of one run.

    `objects` holds those of the given paths, as they will be applied (Kustomize builds composed), in a stable order.
    `others` are documents without an object: cloud-init, Helm values. Objects that only a reference led to are found
    by `find` but are in no list.
    """

    objects: list[KubeObject] = field(default_factory=list)
    scripts: list[ScriptFile] = field(default_factory=list)
    slurm_confs: list[ScriptFile] = field(default_factory=list)
    others: list[Document] = field(default_factory=list)
    other_files: dict[str, FileId] = field(default_factory=dict)
    """Where these documents lie, by the paths of their sources."""
    templates: list[str] = field(default_factory=list)
    """The texts of templates that are not filled in, and may hold workloads on GPU nodes."""
    unresolved: list[Unresolved] = field(default_factory=list)
    limits: Limits = DEFAULT_LIMITS
    builds: list[Build] = field(default_factory=list)
    """The Kustomize builds, each with what it could not see."""
    beside_files: BesideFiles = field(default_factory=BesideFiles)
    _by_name: dict[tuple[str, str], list[KubeObject]] = field(default_factory=dict)
    _by_kind: dict[str, list[KubeObject]] | None = field(default=None)
    _read: dict[str, Source | None] = field(default_factory=dict)
    _loaded: set[str] = field(default_factory=set)
    _listings: dict[str, list[str]] = field(default_factory=dict)
    _searched: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    _files_searched: int = 0
    _missed: set[tuple[str, int, str, int]] = field(default_factory=set)
    _open_builds: dict[str, str] = field(default_factory=dict)
    _near: dict[tuple[str, str, str], Source | None] = field(default_factory=dict)
    """By the top folder, the folder that one looks from and the path: the programs of a repository import the same
    modules, and most of these are packages that lie in none of its folders."""
    _lists: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    """By folder, its lists of packages: many jobs lie in few folders."""
    _guides: dict[str, list[str]] = field(default_factory=dict)
    _stems: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """By build and kind, the names of its objects by what stands in front of a generator's hash."""

    @cached_property
    def _recipe_book(self) -> RecipeBook:
        return RecipeBook(self.source_of, self.files_near)

    # Objects

    def by_kind(self, group: str | None, kind: str) -> list[KubeObject]:
        """The given objects of a kind, in order; a group of None means any."""
        if self._by_kind is None:
            self._by_kind = {}
            for kube in self.objects:
                self._by_kind.setdefault(kube.kind, []).append(kube)
        return [kube for kube in self._by_kind.get(kind, ()) if group is None or kube.group == group]

    def find(
        self,
        group: str | None,
        kind: str,
        name: str,
        namespace: str | None,
        near: KubeObject,
        place: Place | None = None,
    ) -> Found:
        """The object that a reference in `near` means.

        None: surely not in reach. Unknown: the name is a placeholder, or candidates equally near disagree. Nearness:
        the same Kustomize build, the same file, the same folder, then the nearest folder around. A namespace that is
        not written matches any; pass None for kinds without one. With a `place` (of the reference), a failure is
        recorded in `unresolved`.
        """
        what = f"{kind} {name}"
        reason = placeholder(name)
        if reason:
            return self._missing(near, what, place, f"its name is {reason}")
        found = self._nearest(self._candidates(group, kind, name, namespace), near, namespace)
        if found is None and self._search_outside(kind, name, near):
            found = self._nearest(self._candidates(group, kind, name, namespace), near, namespace)
        if found is None:
            unseen = self._open_builds.get(near.build, "") if near.build else ""
            if unseen:
                return self._missing(near, what, place, f"{unseen}, and it may be there")
            self._missing(near, what, place, self._hashed(kind, name, near) or "it is not in the given paths")
        elif isinstance(found, Unknown):
            self._missing(near, what, place, found.reason)
        return found

    def config_map(
        self, name: str, namespace: str | None, near: KubeObject, place: Place | None = None
    ) -> ConfigMapData | Unknown:
        """The content of a ConfigMap; Unknown where it is not in reach or candidates disagree."""
        return self._data("ConfigMap", name, namespace, near, place)

    def secret(
        self, name: str, namespace: str | None, near: KubeObject, place: Place | None = None
    ) -> ConfigMapData | Unknown:
        """The content of a Secret: `stringData` as entries, the keys of `data` as opaque ones."""
        return self._data("Secret", name, namespace, near, place)

    def miss(self, near: KubeObject | None, what: str, place: Place, reason: str) -> None:
        """Record a reference of an object that could not be resolved, once."""
        key = (place.source.path, place.span.start, what, id(near))
        if key not in self._missed:
            self._missed.add(key)
            self.unresolved.append(Unresolved(near, what, place, reason))

    def add(self, kube: KubeObject) -> None:
        """Take an object in."""
        if kube.given:
            self.objects.append(kube)
            self._by_kind = None
        if kube.name:
            self._by_name.setdefault((kube.kind, kube.name), []).append(kube)

    def add_build(self, build: Build, objects: Iterable[KubeObject]) -> None:
        """Take a Kustomize build in, with the objects that it gives."""
        self.builds.append(build)
        self._open_builds[build.file.shown] = build.open_because
        for kube in objects:
            self.add(kube)
        for note in build.notes:
            self.miss(None, note.what, note.place, note.reason)

    def _missing(self, near: KubeObject, what: str, place: Place | None, reason: str) -> Unknown:
        if place is not None:
            self.miss(near, what, place, reason)
        return Unknown(f"{what}: {reason}", None if place is None else Origin(place))

    def _hashed(self, kind: str, name: str, near: KubeObject) -> str:
        """Where a generator of the same build makes an object under a name with a hash, which Kustomize does not write
        into kinds that it does not know: why it is not found. Empty for anything else."""
        if not near.build or kind not in ("ConfigMap", "Secret"):
            return ""
        key = near.build, kind
        if key not in self._stems:
            made = (one.name for one in self.by_kind("", kind) if one.build == near.build)
            self._stems[key] = {one[:-_HASH_LENGTH]: one for one in made}
        found = self._stems[key].get(f"{name}-", "")
        if not found:
            return ""
        unwritten = f"Kustomize does not write that name into a {near.kind}"
        return f"its generator makes {found}, and {unwritten} (disableNameSuffixHash leaves the hash out)"

    def _candidates(self, group: str | None, kind: str, name: str, namespace: str | None) -> list[KubeObject]:
        return [
            kube
            for kube in self._by_name.get((kind, name), ())
            if (group is None or kube.group == group)
            and (not namespace or not kube.namespace or kube.namespace == namespace or placeholder(kube.namespace))
        ]

    def _nearest(self, candidates: Sequence[KubeObject], near: KubeObject, namespace: str | None) -> Found:
        if not candidates:
            return None
        ranked: list[tuple[Distance, bool, KubeObject]] = [
            (distance(near, kube), bool(namespace) and kube.namespace != namespace, kube) for kube in candidates
        ]
        best = min((away, loose) for away, loose, _ in ranked)
        nearest = [kube for away, loose, kube in ranked if (away, loose) == best]
        first = nearest[0]
        if len(nearest) > 1:
            content = _content(first)
            if any(_content(other) != content for other in nearest[1:]):
                return Unknown(f"{first.kind} {first.name} stands in {len(nearest)} places that differ")
        return first

    def _data(
        self, kind: str, name: str, namespace: str | None, near: KubeObject, place: Place | None
    ) -> ConfigMapData | Unknown:
        found = self.find("", kind, name, namespace, near, place)
        if found is None:
            return Unknown(f"the {kind} {name} is not in the given paths", None if place is None else Origin(place))
        if isinstance(found, Unknown):
            return found
        entries: dict[str, Scalar] = {}
        opaque: set[str] = set()
        for key in ("data", "binaryData", "stringData"):
            values = found.node.get(key)
            visible = key == ("data" if kind == "ConfigMap" else "stringData")
            if isinstance(values, Scalar) and values.value is not None:
                return Unknown(f"the {key} of {kind} {name} is not written out", Origin(values.place))
            if not isinstance(values, Mapping):
                continue
            for entry in values:
                if visible and isinstance(entry.value, Scalar):
                    entries[entry.name] = entry.value
                    opaque.discard(entry.name)
                else:
                    opaque.add(entry.name)
        return ConfigMapData(entries, found, frozenset(opaque))

    # Files

    def text_near(self, path: str, file: FileId) -> PlacedText | None:
        """The text of a file that `file` names by a relative path: beside it, or in the nearest folder around it.

        None where there is no such file within the root, or it is no text.
        """
        if not file.path or not path or path.startswith(("/", "~")):
            return None
        source = None
        passed = []
        for level, folder in enumerate(file.folders()):
            key = (file.root, folder, path)
            if key in self._near:  # which knows of the folders around it, too
                source = self._near[key]
                break
            passed.append(key)
            found = file.beside("../" * level + path)
            source = None if found is None else self._source(found)
            if source is not None:
                break
        self._near.update(dict.fromkeys(passed, source))
        return None if source is None else WholeText(source)

    def text_at_top(self, path: str, file: FileId) -> PlacedText | None:
        """The text of a file by its path from the top folder of the repository that `file` lies in."""
        if not file.root or not path or path.startswith("/"):
            return None
        key = (file.root, file.root, path)
        if key not in self._near:
            found = file.beside(os.path.join(os.path.relpath(file.root, file.folder), path))
            self._near[key] = None if found is None else self._source(found)
        source = self._near[key]
        return None if source is None else WholeText(source)

    def text_in_checkout(self, path: str, file: FileId) -> PlacedText | None:
        """The text of a file by its path on a machine that holds a checkout of the repository in which `file` lies:
        what follows the repository's name (`/scratch/me/name/env.sh`, `name/env.sh` in the folder around it) is the
        path from its top folder."""
        name = file.repository
        if not name or name not in path:
            return None
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            if part == name:
                found = self.text_at_top("/".join(parts[at + 1 :]), file)
                if found is not None:
                    return found
        return None

    def text_of_copy(self, path: str, file: FileId) -> PlacedText | None:
        """The text of a program by its path on a cluster to which somebody copied what lies here: the file of that name
        in the folder of `file`, or at the end of that path below the top folder of the repository."""
        *folders, name = path.split("/")
        if not folders or not name.endswith(_PROGRAMS) or folders[1:2] in _OF_THE_SYSTEM:
            return None
        for at in range(1, len(folders)):
            found = self.text_at_top("/".join((*folders[at:], name)), file)
            if found is not None:
                return found
        beside_it = [f"../{folders[-1]}/{name}"] if folders[-1].strip(".~") else []  # meant, if it is there
        for near in (*beside_it, "./" + name):
            key = (file.root, file.folder, near)
            if key not in self._near:
                beside = file.beside(near)
                self._near[key] = None if beside is None else self._source(beside)
            source = self._near[key]
            if source is not None:
                return WholeText(source)
        return None

    def files_near(self, file: FileId) -> Files:
        """`text_near` for one file: what a batch script reads where it stands."""
        return lambda path: self.text_near(path, file)

    def requirements_near(self, file: FileId) -> Iterator[list[WholeText]]:
        """The files around a file that by their names list what is to be installed, those of a folder at a time, the
        nearest folder first; after each folder's own those in folders that it has for them (`requirements/gpu.txt`)."""
        for folder in file.folders():
            if folder not in self._lists:
                self._lists[folder] = lists_around(folder)
            for paths in self._lists[folder]:
                yield self._texts(paths, file)

    def guides_near(self, file: FileId) -> Iterator[list[WholeText]]:
        """The READMEs around a file, and the texts and scripts about how to install, those of a folder at a time, the
        nearest folder first."""
        for folder in file.folders():
            if folder not in self._guides:
                self._guides[folder] = guides(folder)
            yield self._texts(self._guides[folder], file)

    def _texts(self, paths: list[str], near: FileId) -> list[WholeText]:
        named = (near.toward(path) for path in paths)
        return [WholeText(source) for one in named if one is not None and (source := self._source(one))]

    def recipes_near(self, file: FileId) -> Recipes:
        """The Dockerfiles of images that one file names."""
        return lambda image: self._recipe_book.near(image, file)

    def recipes_for(self, image: str, file: FileId) -> list[Recipe]:
        """The Dockerfiles around a file: an image that it names may be built from one of them."""
        return self._recipe_book.around(image, file)

    def submissions_of(self, script: ScriptFile) -> list[Submission]:
        """The `sbatch` commands by which files around a batch script submit it."""
        return self._submission_book.of(script.file, script.text)

    def files_by_command(self, name: str, file: FileId) -> dict[str, Scalar]:
        """The files of a ConfigMap that a command around `file` makes, by key; empty where none is seen to."""
        found = {}
        for key, path in self._config_map_commands.files_of(name, file).items():
            text = self.text_near(path, file)
            if text is not None:
                place = text.place(0, len(text.text))
                found[key] = Scalar(place.source, place.span, text.text, text.text, "plain")
        return found

    def speaks_of(self, word: str, source: Source) -> str:
        """The path of a file in which a word stands, by another one that is no manifest: a document of its folder or of
        one around or below it, a script, a README or Terraform beside it; empty where there is none."""
        file = self.other_files.get(source.path)
        if file is None or not file.path:
            return ""
        for document in self.others:
            path = document.source.path
            other = self.other_files.get(path)
            if other is None or path == source.path or word not in document.source.text:
                continue
            if within(other.folder, file.folder) or within(file.folder, other.folder):
                return path
        for _, text in self.beside_files.around(file):
            if word in text.text:
                return text.place(0, 0).source.path
        return ""

    def gpus_of_nodes(self, file: FileId) -> Set[int] | Unknown | None:
        """The most GPUs of a node, by the commands around a file that make node pools; None where there are none."""
        return self._node_command_book.most_gpus(file)

    @cached_property
    def _submission_book(self) -> SubmissionBook:
        return SubmissionBook(self.beside_files)

    @cached_property
    def _config_map_commands(self) -> ConfigMapCommands:
        from kube_gaplint.bundle.config_map_commands import ConfigMapCommands

        return ConfigMapCommands(self.beside_files)

    @cached_property
    def _node_command_book(self) -> NodeCommandBook:
        from kube_gaplint.bundle.node_commands import NodeCommandBook

        return NodeCommandBook(self.beside_files)

    def mark_loaded(self, path: str, source: Source) -> None:
        """A file was parsed: its text is kept, and a search for objects leaves it out."""
        self._loaded.add(path)
        self._read[path] = source

    def source_of(self, file: FileId, data: bytes) -> Source | None:
        """The text of a file whose bytes were read already; None where it is none."""
        if file.path not in self._read:
            try:
                self._read[file.path] = Source(file.shown, decode(data))
            except Unreadable:
                self._read[file.path] = None
        return self._read[file.path]

    def _source(self, file: FileId) -> Source | None:
        if file.path not in self._read:
            data = read_file(file)
            if data is None or len(data) > _LARGEST_REFERRED:
                self._read[file.path] = None
            else:
                self.source_of(file, data)
        return self._read[file.path]

    def _search_outside(self, kind: str, name: str, near: KubeObject) -> bool:
        """Look for an object in YAML files of the folder of `near` and those around it, up to its root.

        Files are picked by their bytes and parsed only then. Whether something was added; asked again, False.
        """
        folder, root = near.folder, near.file.root
        key = (folder, kind, name)
        if not folder or key in self._searched:
            return False
        self._searched[key] = True
        words = (kind.encode(), name.encode("utf-8", "surrogatepass"))
        while within(folder, root):
            added = False
            for path in self._listing(folder):
                if path in self._loaded:
                    continue
                file = _outside(path, near.file)
                data = read_file(file)
                if data is None or len(data) > _LARGEST_REFERRED or not all(word in data for word in words):
                    continue
                self._loaded.add(path)
                for kube in _objects_of(file, data, self.limits):
                    self.add(kube)
                    added = added or (kube.kind == kind and kube.name == name)
            if added:
                return True
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
        return False

    def _listing(self, folder: str) -> list[str]:
        """The YAML files of a folder, not those below it; empty once too many files were looked at in all."""
        if folder not in self._listings:
            found: list[str] = []
            if self._files_searched < _MOST_FILES_SEARCHED:
                found = [
                    os.path.join(folder, name)
                    for name in disk.file_names(folder)
                    if os.path.splitext(name)[1].lower() in YAML_ENDINGS
                ][:_MOST_FILES_A_FOLDER]
            self._files_searched += len(found)
            self._listings[folder] = found
        return self._listings[folder]


def _content(kube: KubeObject) -> object:
    """What two objects of one name must have in common to be the same to a reader: all but the metadata."""
    data = plain(kube.node)
    return {key: value for key, value in data.items() if key != "metadata"} if isinstance(data, dict) else data


def _outside(path: str, near: FileId) -> FileId:
    """A file that a reference from `near` leads to."""
    relative = os.path.relpath(path, near.folder)
    shown = os.path.normpath(os.path.join(os.path.dirname(near.shown), relative))
    return FileId(shown, path, near.root, given=False)


def _objects_of(file: FileId, data: bytes, limits: Limits) -> list[KubeObject]:
    try:
        text = decode(data)
    except Unreadable:
        return []
    out = []
    for document in compose(Source(file.shown, text), limits).documents:
        out.extend(objects_in(document, file, limits=limits))
    return out


# Loading


class Loaded(Struct):
    """The outcome of loading. `files` and `documents` count what was parsed; `skipped` adds to the walk's counts."""

    bundle: Bundle
    files: int = 0
    documents: int = 0
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: list[FileError] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    sources: list[tuple[Source, list[Document]]] = field(default_factory=list)
    """Every text that was parsed, with its documents (none for a script): where suppressing comments may stand."""

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def load(discovery: Discovery, limits: Limits = DEFAULT_LIMITS) -> Loaded:
    """Parse the candidates and make the bundle of them."""
    from kube_gaplint.bundle.loading import Loader

    return Loader(discovery, limits).run()
