"""Kustomize builds, natively and offline.

A build gives the objects that `kubectl kustomize` would give, each node with the line that wrote it: the base, the
patch or the kustomization. What cannot be known (a remote base, a plugin, a Helm chart) is noted; what Kustomize would
refuse is left out and noted as well, so that the rest can still be judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.bundle import transformers
from kube_gaplint.bundle.editing import (
    Budget,
    OverLimit,
    Unbuildable,
    applies,
    copied_mapping,
    drop,
    opened,
    put,
    text_like,
)
from kube_gaplint.bundle.embedded import embedded_documents
from kube_gaplint.bundle.generators import Content, absorb, generate
from kube_gaplint.bundle.patching import json_patch, strategic_merge
from kube_gaplint.bundle.resources import Id, Resource, Selector
from kube_gaplint.discover import FileId
from kube_gaplint.facts import kustomize as facts
from kube_gaplint.facts.kustomize import FieldSpec, Referral
from kube_gaplint.text import limits
from kube_gaplint.text.limits import BASES, BUILD_OBJECTS
from kube_gaplint.text.nodes import Document, Entry, Mapping, Node, Scalar, Sequence, mapping, scalar, sequence, text_at
from kube_gaplint.text.source import Place

_COST_OF_INCLUDING = 100
_COST_OF_A_PATH = 40
"""What a path costs in objects that are looked at: the disk is asked for it."""


class Note(Struct, frozen=True):
    """Something that a build could not do or see: what was looked for, where, and why it failed."""

    what: str
    place: Place
    reason: str


class Build(Struct, eq=False):
    """The outcome of one kustomization: its objects, and what was not seen.

    `open_because` is not empty where objects may be missing (a base that is not local), so that nothing can be called
    absent. `file` is the kustomization.
    """

    file: FileId
    place: Place
    resources: list[Resource] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    open_because: str = ""


class Files(Protocol):
    """How a build reads files. None where one is missing, out of reach or broken."""

    def documents(self, file: FileId) -> list[Document] | None: ...

    def content(self, file: FileId) -> Content | None: ...

    def kustomization_in(self, folder: FileId) -> FileId | None: ...


class _Config(Struct):
    """What `configurations` files add to the transformers; it is handed upwards with the objects."""

    referrals: list[Referral] = field(default_factory=list)
    fields: dict[str, list[FieldSpec]] = field(default_factory=dict)
    """Further fields by the transformer that touches them, under the key of the configuration."""

    def of(self, key: str) -> list[FieldSpec]:
        return self.fields.get(key, [])

    def take(self, other: _Config) -> None:
        self.referrals.extend(other.referrals)
        for key, specs in other.fields.items():
            self.fields.setdefault(key, []).extend(specs)


class _Variable(Struct):
    name: str
    entry: Mapping


class Builder:
    """Builds kustomizations. `included` gathers the folders that another kustomization takes in."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._budget = Budget()

    def build(self, file: FileId) -> Build | None:
        """Build one kustomization; None where the file holds none."""
        root = self._root_of(file)
        if root is None:
            return None
        build = Build(file, root.place)
        accumulation = _Accumulation(build)
        self._budget.start_build()
        try:
            self._accumulate(file, accumulation, (file.path,))
        except OverLimit as error:
            limits.tell(error.place or build.place, error.message)
            build.open_because = error.message
            return build
        resources = [resource for resource in accumulation.resources if not resource.deleted]
        try:
            transformers.add_hashes(resources)
            transformers.fix_references(resources, [*facts.REFERRALS, *accumulation.config.referrals])
            self._fill_variables(resources, accumulation)
        except Unbuildable as error:
            accumulation.note("the kustomization", error.place or build.place, error.message)
        build.resources = transformers.remove_local(resources)
        transformers.tidy(build.resources)
        for resource in build.resources:
            if resource.open_because:
                self._open(resource, accumulation)
        return build

    def _open(self, resource: Resource, accumulation: _Accumulation) -> None:
        """Let nothing in an object count as surely missing."""
        try:
            node = opened(resource.node, resource.open_because, self._budget)
        except OverLimit as error:
            limits.tell(accumulation.build.place, error.message)
            return
        assert isinstance(node, Mapping)
        resource.node = node

    def _root_of(self, file: FileId) -> Mapping | None:
        document = self._document_of(file)
        return None if document is None or not isinstance(document.root, Mapping) else document.root

    def _document_of(self, file: FileId) -> Document | None:
        documents = self._files.documents(file)
        return next((document for document in documents or () if document.root is not None), None)

    def _accumulate(self, file: FileId, accumulation: _Accumulation, stack: tuple[str, ...]) -> None:
        """Take in what a kustomization gives, in Kustomize's own order."""
        document = self._document_of(file)
        if document is None or not isinstance(document.root, Mapping):
            return
        layer = _Layer(self, file, document, document.root, accumulation)
        self._resources(layer, stack)
        layer.read_configurations()
        layer.run_generators()
        self._components(layer, stack)
        layer.run_transformers()
        layer.keep_variables()

    def _resources(self, layer: _Layer, stack: tuple[str, ...]) -> None:
        for path in (*layer.texts("resources"), *layer.texts("bases")):
            if _is_remote(path.text):
                layer.unseen(f"the base {path.text}", path.place, "it is not local")
                continue
            self._budget.look_at(_COST_OF_A_PATH)
            file = layer.file.beside(path.text)
            if file is None:
                layer.unseen(path.text, path.place, "it is outside of the repository or the given paths")
                continue
            documents = self._files.documents(file)
            if documents is not None:
                layer.take_documents(documents, file)
            else:
                self._include(path, file, layer, stack, component=False)

    def _components(self, layer: _Layer, stack: tuple[str, ...]) -> None:
        for path in layer.texts("components"):
            if _is_remote(path.text):
                layer.unseen(f"the base {path.text}", path.place, "it is not local")
                continue
            self._budget.look_at(_COST_OF_A_PATH)
            self._include(path, layer.file.beside(path.text), layer, stack, component=True)

    def _include(
        self, path: Scalar, folder: FileId | None, layer: _Layer, stack: tuple[str, ...], *, component: bool
    ) -> None:
        """Take in another kustomization: a component works on all that is there, a base on its own objects."""
        file = None if folder is None else self._files.kustomization_in(folder)
        if file is None:
            layer.unseen(path.text, path.place, "there is no such file and no kustomization in a folder of that name")
            return
        self._budget.spend(_COST_OF_INCLUDING)
        if file.path in stack:
            limits.tell(path.place, "the kustomizations include one another in a ring: Kustomize refuses to build them")
            return
        if len(stack) > BASES.most:
            layer.unseen(path.text, path.place, BASES.message)
            limits.reached(BASES, path.place)
            return
        if component:
            self._accumulate(file, layer.accumulation, (*stack, file.path))
            return
        inner = _Accumulation(layer.accumulation.build)
        self._accumulate(file, inner, (*stack, file.path))
        layer.accumulation.merge(inner, path.place)

    def _fill_variables(self, resources: list[Resource], accumulation: _Accumulation) -> None:
        values: dict[str, Scalar] = {}
        for variable in accumulation.variables:
            reference = mapping(variable.entry, "objref")
            path = text_at(variable.entry, "fieldref", "fieldpath") or text_at(variable.entry, "fieldref", "fieldPath")
            found = [resource for resource in resources if reference is not None and _is_meant(resource, reference)]
            value = scalar(found[0].node, *(path or "metadata.name").split(".")) if len(found) == 1 else None
            if value is None:
                accumulation.note(f"the variable {variable.name}", variable.entry.place, "it stands for no field")
            else:
                values[variable.name] = value
        if values:
            transformers.fill_variables(resources, values, [*facts.VARIABLES, *accumulation.config.of("varReference")])


def _is_meant(resource: Resource, reference: Mapping) -> bool:
    api_version = text_at(reference, "apiVersion")
    return (
        any(one.name == text_at(reference, "name") for one in resource.ids)
        and resource.kind == text_at(reference, "kind")
        and (not api_version or resource.api_version == api_version)
    )


class _Accumulation:
    """Objects and settings that are gathered from a kustomization and all below it."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.resources: list[Resource] = []
        self.config = _Config()
        self.variables: list[_Variable] = []
        self._ids: set[Id] | None = None
        self._by_name: dict[str, list[Resource]] | None = None

    def note(self, what: str, place: Place, reason: str) -> None:
        self.build.notes.append(Note(what, place, reason))

    def append(self, resource: Resource, place: Place) -> None:
        if len(self.resources) >= BUILD_OBJECTS.most:
            raise OverLimit(BUILD_OBJECTS.message, place)
        if self._ids is None:
            self._ids = {other.id for other in self.resources if not other.deleted}
        own = resource.id
        if own.name and own in self._ids:
            self.note(f"{own.kind} {own.name}", place, "the build holds an object of that name already")
            return
        self._ids.add(own)
        self.resources.append(resource)
        if self._by_name is not None:
            self._list(resource)

    def named(self, wanted: Id) -> list[Resource]:
        """The objects that have an id, or had it."""
        if self._by_name is None:
            self._by_name = {}
            for resource in self.resources:
                self._list(resource)
        near = self._by_name.get(wanted.name, ())
        return [resource for resource in near if not resource.deleted and wanted in resource.ids]

    def _list(self, resource: Resource) -> None:
        assert self._by_name is not None
        for name in {resource.name, *(name for _, name, _ in resource.former)}:
            self._by_name.setdefault(name, []).append(resource)

    def changed(self) -> None:
        """Names may have changed."""
        self._ids = self._by_name = None

    def merge(self, inner: _Accumulation, place: Place) -> None:
        for resource in inner.resources:
            self.append(resource, place)
        self.config.take(inner.config)
        self.variables.extend(inner.variables)


class _Layer:
    """One kustomization at work on an accumulation."""

    def __init__(
        self, builder: Builder, file: FileId, document: Document, root: Mapping, accumulation: _Accumulation
    ) -> None:
        self.builder = builder
        self.file = file
        self.document = document
        self.root = root
        self.accumulation = accumulation
        self._files = builder._files
        self._budget = builder._budget

    @property
    def resources(self) -> list[Resource]:
        return [resource for resource in self.accumulation.resources if not resource.deleted]

    def note(self, what: str, place: Place, reason: str) -> None:
        self.accumulation.note(what, place, reason)

    def unseen(self, what: str, place: Place, reason: str) -> None:
        """Objects may be missing in this build."""
        self.note(what, place, reason)
        build = self.accumulation.build
        build.open_because = build.open_because or f"{what} is not seen"

    def changed_by_unseen(self, what: str, place: Place) -> None:
        """Something that is not seen may change every object that is there."""
        self.unseen(what, place, "gaplint runs no plugin")
        for resource in self.resources:
            resource.open_because = resource.open_because or f"{what} may change it"

    def texts(self, key: str) -> list[Scalar]:
        """The scalars of a list in the kustomization."""
        return [item for item in sequence(self.root, key) or () if isinstance(item, Scalar)]

    def entries(self, key: str) -> list[Mapping]:
        """The mappings of a list in the kustomization."""
        return [item for item in sequence(self.root, key) or () if isinstance(item, Mapping)]

    def instruct(self, what: str, place: Place, action: Callable[..., object], *arguments: object) -> None:
        """Do one step that looks at all objects."""
        self._budget.look_at(len(self.accumulation.resources))
        self.attempt(what, place, action, *arguments)

    def attempt(self, what: str, place: Place, action: Callable[..., object], *arguments: object) -> None:
        """Do one step; note it where it fails, and go on."""
        try:
            action(*arguments)
        except OverLimit:
            raise
        except Unbuildable as error:
            self.note(what, error.place or place, error.message)

    # Resources

    def take_documents(self, documents: Iterable[Document], file: FileId) -> None:
        for document in documents:
            for node in _objects(document.root):
                self.attempt("an object", node.place, self._take, node, document, file)

    def _take(self, node: Mapping, document: Document, file: FileId) -> None:
        if text_at(node, "kind") == "CustomResourceDefinition":
            # Its schema is larger than all else together, and nobody judges it: only the outside is copied.
            metadata = mapping(node, "metadata")
            entries = [Entry(entry.key, entry.value) for entry in node]
            copy = Mapping(node.source, node.span, entries=entries)
            if metadata is not None:
                put(copy, text_like(metadata, "metadata"), copied_mapping(metadata, self._budget))
        else:
            copy = copied_mapping(node, self._budget)
        self.accumulation.append(Resource(copy, document, file), node.place)

    def run_generators(self) -> None:
        options = mapping(self.root, "generatorOptions")
        for key, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
            for entry in self.entries(key):
                self.attempt(f"a generated {kind}", entry.place, self._generate, entry, kind, options)
        for key in ("generators", "helmCharts", "helmChartInflationGenerator"):
            found = self.root.get(key)
            if isinstance(found, Sequence) and found.items:
                what = "a generator plugin" if key == "generators" else "a Helm chart"
                self.unseen(what, found.place, "gaplint runs no plugin")

    def _generate(self, entry: Mapping, kind: str, options: Mapping | None) -> None:
        new = generate(entry, kind, options, self.document, self.file, self._content)
        old = absorb(self.accumulation.named(new.id), new)
        if old is None:
            self.accumulation.append(new, entry.place)
        else:
            at = self.accumulation.resources.index(old)
            self.accumulation.resources[at] = new
            self.accumulation.changed()

    def _content(self, named: Scalar, path: str) -> Content:
        file = self.file.beside(path)
        content = None if file is None else self._files.content(file)
        if content is None:
            raise Unbuildable(f"the file {path[:200]} cannot be read", named.place)
        return content

    # Transformers

    def run_transformers(self) -> None:
        for entry in sequence(self.root, "patchesStrategicMerge") or ():
            if isinstance(entry, Scalar):
                self.instruct("a patch", entry.place, self._legacy_patch, entry)
        for patch in self.entries("patches"):
            self.instruct("a patch", patch.place, self._patch, patch)
        self._names()
        self._labels()
        for patch in self.entries("patchesJson6902"):
            self.instruct("a patch", patch.place, self._patch, patch)
        for replica in self.entries("replicas"):
            self.instruct("replicas", replica.place, self._replicas, replica)
        for image in (*self.entries("images"), *self.entries("imageTags")):
            self.instruct("images", image.place, self._image, image)
        for entry in self.entries("replacements"):
            self.instruct("a replacement", entry.place, self._replacement, entry)
        self.accumulation.changed()
        for item in self.texts("transformers"):
            self._plugin(item)
        self.accumulation.changed()

    # Transformers that are configured by objects of their own

    def _plugin(self, item: Scalar) -> None:
        """An element of `transformers`: a file, a folder, or the configuration itself. Kustomize's own are run."""
        if "\n" in item.text:
            documents: list[Document] | None = embedded_documents(item)[0]
        else:
            file = None if _is_remote(item.text) else self.file.beside(item.text)
            documents = None if file is None else self._files.documents(file)
        for document in documents or ():
            root = document.root
            action = _BUILTIN.get(text_at(root, "kind") or "")
            if not isinstance(root, Mapping) or text_at(root, "apiVersion") != "builtin" or action is None:
                documents = None
                break
            self.instruct(f"a {text_at(root, 'kind')}", root.place, action, self, root)
        if not documents:
            self.changed_by_unseen("a transformer plugin", item.place)

    def builtin_patch(self, config: Mapping) -> None:
        self._patch(config)

    def builtin_json_patch(self, config: Mapping) -> None:
        operations = scalar(config, "jsonOp")
        selector = mapping(config, "target")
        if operations is None or selector is None:
            self._patch(config)
            return
        for document in embedded_documents(operations)[0]:
            if isinstance(document.root, Sequence):
                self._json_patch(document.root, Selector.of(selector), config.place)

    def builtin_merge_patches(self, config: Mapping) -> None:
        for path in sequence(config, "paths") or ():
            if isinstance(path, Scalar):
                self._legacy_patch(path)
        inline = scalar(config, "patches")
        for document in embedded_documents(inline)[0] if inline is not None else ():
            for patch in _objects(document.root):
                self._merge_by_name(patch)

    def builtin_namespace(self, config: Mapping) -> None:
        metadata = mapping(config, "metadata")
        entry = None if metadata is None else metadata.entry("namespace")
        if entry is not None and isinstance(entry.key, Scalar) and isinstance(entry.value, Scalar):
            specs = _field_specs(sequence(config, "fieldSpecs"))
            transformers.set_namespace(self.resources, entry.key, entry.value, specs)

    def builtin_affix(self, config: Mapping) -> None:
        specs = list(_field_specs(sequence(config, "fieldSpecs")))
        for key in ("prefix", "suffix"):
            affix = scalar(config, key)
            if affix is not None and affix.text:
                by_name = [spec for spec in specs if spec.path == "metadata/name"]
                if by_name:
                    wanted = [
                        one
                        for one in self.resources
                        if any(applies(spec, one.api_version, one.kind) for spec in by_name)
                    ]
                    transformers.rename(wanted, affix, suffix=key == "suffix")
                others = [spec for spec in specs if spec.path != "metadata/name"]
                transformers.add_affix(self.resources, affix, others, suffix=key == "suffix")

    def builtin_pairs(self, config: Mapping) -> None:
        specs = list(_field_specs(sequence(config, "fieldSpecs")))
        for key in ("labels", "annotations"):
            pairs = mapping(config, key)
            if pairs is not None:
                transformers.add_pairs(self.resources, pairs, specs)

    def builtin_image(self, config: Mapping) -> None:
        image = mapping(config, "imageTag")
        if image is not None:
            transformers.set_image(self.resources, image, _field_specs(sequence(config, "fieldSpecs")))

    def builtin_replicas(self, config: Mapping) -> None:
        name, count = scalar(config, "replica", "name"), scalar(config, "replica", "count")
        if name is not None and count is not None:
            transformers.set_replicas(self.resources, name, count, _field_specs(sequence(config, "fieldSpecs")))

    def builtin_replacements(self, config: Mapping) -> None:
        for entry in sequence(config, "replacements") or ():
            if isinstance(entry, Mapping):
                self._replacement(entry)

    def _names(self) -> None:
        config = self.accumulation.config
        entry = self.root.entry("namespace")
        if entry is not None and isinstance(entry.value, Scalar) and isinstance(entry.key, Scalar) and entry.value.text:
            transformers.set_namespace(self.resources, entry.key, entry.value, config.of("namespace"))
        for key in ("namePrefix", "nameSuffix"):
            affix = scalar(self.root, key)
            if affix is not None and affix.value is not None:
                transformers.rename(self.resources, affix, suffix=key == "nameSuffix")
                transformers.add_affix(self.resources, affix, config.of(key), suffix=key == "nameSuffix")

    def _labels(self) -> None:
        config = self.accumulation.config
        for label in self.entries("labels"):
            pairs = mapping(label, "pairs")
            if pairs is None:
                continue
            specs = [*_field_specs(sequence(label, "fields")), *config.of("labels")]
            if text_at(label, "includeSelectors") == "true":
                specs.extend((*facts.COMMON_LABELS, *config.of("commonLabels")))
            else:
                if text_at(label, "includeTemplates") == "true":
                    specs.extend((*facts.TEMPLATE_LABELS, *facts.CLAIM_LABELS, *config.of("templateLabels")))
                elif text_at(label, "includeVolumeClaimTemplates") == "true":
                    specs.extend(facts.CLAIM_LABELS)
                specs.append(FieldSpec("metadata/labels", create=True))
            self._add_pairs(pairs, specs)
        common = mapping(self.root, "commonLabels")
        if common is not None:
            self._add_pairs(common, [*facts.COMMON_LABELS, *config.of("commonLabels")])
        annotations = mapping(self.root, "commonAnnotations")
        if annotations is not None:
            self._add_pairs(annotations, [*facts.COMMON_ANNOTATIONS, *config.of("commonAnnotations")])

    def _add_pairs(self, pairs: Mapping, specs: list[FieldSpec]) -> None:
        self._budget.look_at(len(self.accumulation.resources) * (1 + len(pairs.entries) // 10))
        transformers.add_pairs(self.resources, pairs, specs)

    def _image(self, image: Mapping) -> None:
        transformers.set_image(self.resources, image, self.accumulation.config.of("images"))

    def _replicas(self, entry: Mapping) -> None:
        name, count = scalar(entry, "name"), scalar(entry, "count")
        if name is None or count is None:
            raise Unbuildable("an entry of replicas has no name or count", entry.place)
        transformers.set_replicas(self.resources, name, count, self.accumulation.config.of("replicas"))

    def _replacement(self, entry: Mapping) -> None:
        path = scalar(entry, "path")
        if path is None:
            transformers.replace(self.resources, entry, self._budget)
            return
        for document in self._patch_documents(path):
            root = document.root
            for one in root if isinstance(root, Sequence) else [root]:
                if isinstance(one, Mapping):
                    transformers.replace(self.resources, one, self._budget)

    # Patches

    def _legacy_patch(self, entry: Scalar) -> None:
        """An element of patchesStrategicMerge is a file, or the patch itself."""
        documents = self._patch_documents(entry) if "\n" not in entry.text else embedded_documents(entry)[0]
        for document in documents:
            for patch in _objects(document.root):
                self._merge_by_name(patch)

    def _patch(self, entry: Mapping) -> None:
        text, path = scalar(entry, "patch"), scalar(entry, "path")
        if text is not None and text.text.strip():
            documents, problems = embedded_documents(text)
            if problems:
                raise Unbuildable(f"the patch is no YAML: {problems[0].message}", problems[0].place)
        elif path is not None:
            documents = self._patch_documents(path)
        else:
            raise Unbuildable("an entry of patches has neither a patch nor a path", entry.place)
        selector = mapping(entry, "target")
        target = None if selector is None else Selector.of(selector)
        options = mapping(entry, "options")
        for document in documents:
            if isinstance(document.root, Sequence):
                self._json_patch(document.root, target, entry.place)
                continue
            for patch in _objects(document.root, anything=True):
                if target is None:
                    self._merge_by_name(patch, options)
                else:
                    for resource in [one for one in self.resources if target.selects(one)]:
                        self._merge(resource, patch, options)

    def _patch_documents(self, path: Scalar) -> list[Document]:
        file = self.file.beside(path.text)
        documents = None if file is None else self._files.documents(file)
        if documents is None:
            raise Unbuildable(f"the patch {path.text[:200]} cannot be read", path.place)
        return documents

    def _json_patch(self, operations: Sequence, target: Selector | None, place: Place) -> None:
        if target is None:
            raise Unbuildable("a JSON patch needs a target", place)
        for resource in [one for one in self.resources if target.selects(one)]:
            resource.remember()
            resource.node = json_patch(resource.node, operations, self._budget)
        self.accumulation.changed()

    def _merge_by_name(self, patch: Mapping, options: Mapping | None = None) -> None:
        wanted = Resource(patch, self.document, self.file).id
        if wanted.kind == "CustomResourceDefinition":
            return  # those are not even read
        found = self.accumulation.named(wanted)
        if len(found) != 1:
            reason = (
                "there is no object for the patch of" if not found else "there are several objects for the patch of"
            )
            raise Unbuildable(f"{reason} {wanted.kind} {wanted.name}", patch.place)
        self._merge(found[0], patch, options)

    def _merge(self, resource: Resource, patch: Mapping, options: Mapping | None) -> None:
        """Apply a strategic merge patch; identity changes only where the options allow it."""
        kept = {part: scalar(resource.node, *path) for part, path in _IDENTITY.items()}
        free_kind = text_at(options, "allowKindChange") == "true"
        free_name = text_at(options, "allowNameChange") == "true"
        if free_kind or free_name:
            resource.remember()
            self.accumulation.changed()
        node = strategic_merge(resource.node, patch, self._budget)
        if node is None or not node.entries:
            resource.deleted = True
            return
        resource.node = node
        for part, before in kept.items():
            if (part == "kind" and free_kind) or (part == "name" and free_name):
                continue
            parent = node if part in ("kind", "apiVersion") else mapping(node, "metadata")
            if before is not None:
                if parent is None:
                    parent = Mapping(before.source, before.span)
                    put(node, text_like(before, "metadata"), parent)
                if parent.get(part) is not before:
                    put(parent, text_like(before, part), before)
            elif part == "namespace" and parent is not None:
                drop(parent, part)

    # Configuration

    def read_configurations(self) -> None:
        config = self.accumulation.config
        for path in self.texts("configurations"):
            try:
                documents = self._patch_documents(path)
            except Unbuildable as error:
                self.note(path.text, path.place, error.message)
                continue
            for document in documents:
                root = document.root
                for reference in sequence(root, "nameReference") or ():
                    config.referrals.append(
                        Referral(
                            text_at(reference, "kind") or "",
                            text_at(reference, "group") or "",
                            text_at(reference, "version") or "",
                            tuple(_field_specs(sequence(reference, "fieldSpecs"))),
                        )
                    )
                for key in _CONFIGURED:
                    specs = list(_field_specs(sequence(root, key)))
                    if specs:
                        config.fields.setdefault(key, []).extend(specs)

    def keep_variables(self) -> None:
        for entry in self.entries("vars"):
            name = text_at(entry, "name")
            if name:
                self.accumulation.variables.append(_Variable(name, entry))


_CONFIGURED = (
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "commonAnnotations",
    "varReference",
    "images",
    "replicas",
)
"""The transformers whose fields a configuration may add to."""

_IDENTITY = {
    "apiVersion": ("apiVersion",),
    "kind": ("kind",),
    "name": ("metadata", "name"),
    "namespace": ("metadata", "namespace"),
}


_BUILTIN: dict[str, Callable[[_Layer, Mapping], None]] = {
    "PatchTransformer": _Layer.builtin_patch,
    "PatchJson6902Transformer": _Layer.builtin_json_patch,
    "PatchStrategicMergeTransformer": _Layer.builtin_merge_patches,
    "NamespaceTransformer": _Layer.builtin_namespace,
    "PrefixTransformer": _Layer.builtin_affix,
    "SuffixTransformer": _Layer.builtin_affix,
    "PrefixSuffixTransformer": _Layer.builtin_affix,
    "LabelTransformer": _Layer.builtin_pairs,
    "AnnotationsTransformer": _Layer.builtin_pairs,
    "ImageTagTransformer": _Layer.builtin_image,
    "ReplicaCountTransformer": _Layer.builtin_replicas,
    "ReplacementTransformer": _Layer.builtin_replacements,
}
"""Kustomize's own transformers, by the kind of their configuration."""


def _field_specs(nodes: Sequence | None) -> Iterator[FieldSpec]:
    for node in nodes or ():
        path = text_at(node, "path")
        if path:
            yield FieldSpec(
                path.strip("/"),
                text_at(node, "kind") or "",
                text_at(node, "group") or "",
                text_at(node, "version") or "",
                text_at(node, "create") == "true",
            )


def _objects(root: Node | None, *, anything: bool = False) -> Iterator[Mapping]:
    """The objects of a document; a list gives its items. With `anything`, a mapping need not be a whole object."""
    if not isinstance(root, Mapping):
        return
    kind = text_at(root, "kind") or ""
    items = root.get("items")
    if kind.endswith("List") and isinstance(items, Sequence) and kind != "List":
        items = items if all(isinstance(item, Mapping) and "kind" in item for item in items) else None
    if kind.endswith("List") and isinstance(items, Sequence):
        for item in items:
            yield from _objects(item, anything=anything)
    elif anything or (kind and text_at(root, "apiVersion")):
        yield root


_REMOTE = lazy_re.compile(
    r"[a-z][a-z0-9+.-]*://|git@|git::|(?:www\.)?(?:github|gitlab|bitbucket)\.(?:com|org)[/:]|.*[?&]ref=", re.I
)


def _is_remote(path: str) -> bool:
    """Whether a path is a URL or a repository somewhere else."""
    return _REMOTE.match(path) is not None


def included_paths(root: Node | None) -> list[tuple[str, str]]:
    """All local paths that a kustomization takes in, with the key that does so."""
    found = []
    for key in ("resources", "bases", "components", "patchesStrategicMerge", "configurations", "crds", "transformers",
                "generators", "validators"):  # fmt: skip
        for item in sequence(root, key) or ():
            if isinstance(item, Scalar) and "\n" not in item.text and not _is_remote(item.text):
                found.append((key, item.text))
    for key in ("patches", "patchesJson6902", "replacements"):
        for item in sequence(root, key) or ():
            path = text_at(item, "path")
            if path:
                found.append((key, path))
    for key in ("configMapGenerator", "secretGenerator"):
        for item in sequence(root, key) or ():
            for part in ("files", "envs"):
                for source in sequence(item, part) or ():
                    if isinstance(source, Scalar):
                        found.append((key, source.text.rpartition("=")[2]))
            env_file = text_at(item, "env")
            if env_file:
                found.append((key, env_file))
    return found


def is_kustomization(root: Node | None) -> bool:
    """Whether a file of that name holds a kustomization: Flux has a kind of the same name."""
    group = (text_at(root, "apiVersion") or "").partition("/")[0]
    return isinstance(root, Mapping) and group in ("", "kustomize.config.k8s.io")
