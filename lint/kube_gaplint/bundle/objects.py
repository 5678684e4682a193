"""Kubernetes objects in YAML documents, taken out of the lists and wrappers that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from kube_gaplint.bundle.embedded import embedded_documents
from kube_gaplint.discover import FileId
from kube_gaplint.text.compose import DEFAULT_LIMITS, Limits, Problem
from kube_gaplint.text.limits import WRAPPING, reached
from kube_gaplint.text.nodes import Document, Mapping, Node, Scalar, Sequence, dig, mapping, text_at
from kube_gaplint.text.source import Place, Source

_EMPTY_FILE = FileId("")


class KubeObject(Struct, eq=False):
    """One Kubernetes object.

    `name` is empty where only `generateName` stands; a templated name is kept as written. `namespace` is empty where
    none is written. `node` is the object as it will be applied; where Kustomize composed it, its nodes come from
    several sources, and `build` names the kustomization (as shown) that did so. `wrapped_by` lists the objects that
    carry this one, outermost first. `template` is the chart template that Helm's `# Source:` comment names.
    """

    api_version: str
    kind: str
    name: str
    namespace: str
    node: Mapping
    document: Document
    file: FileId = _EMPTY_FILE
    wrapped_by: tuple[KubeObject, ...] = ()
    build: str = ""
    template: str = ""
    folder: str = ""
    """The real folder from which nearness is measured: that of the file, or of the build; empty for standard input."""
    open_because: str = ""
    """Not empty where a step that is not seen (a Kustomize plugin) may change the object: nothing in it is absent."""
    problems: list[Problem] = field(default_factory=list)
    """What is wrong with YAML embedded in the object."""

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def source(self) -> Source:
        return self.node.source

    @property
    def place(self) -> Place:
        return self.node.place

    @property
    def given(self) -> bool:
        """Whether it stands in the given paths, or was only reached by a reference."""
        return self.file.given

    @property
    def metadata(self) -> Mapping | None:
        return mapping(self.node, "metadata")

    @property
    def labels(self) -> dict[str, Scalar]:
        return _scalars(dig(self.node, "metadata", "labels"))

    @property
    def annotations(self) -> dict[str, Scalar]:
        return _scalars(dig(self.node, "metadata", "annotations"))

    @property
    def name_node(self) -> Scalar | None:
        found = dig(self.node, "metadata", "name")
        return found if isinstance(found, Scalar) else None

    def is_a(self, group: str | None, *kinds: str) -> bool:
        """Whether it is of one of these kinds in a group (None: any group)."""
        return self.kind in kinds and (group is None or self.group == group)

    def __repr__(self) -> str:
        return f"<{self.api_version} {self.kind} {self.namespace}/{self.name} at {self.place!r}>"


def _scalars(node: Node | None) -> dict[str, Scalar]:
    if not isinstance(node, Mapping):
        return {}
    return {entry.name: entry.value for entry in node if isinstance(entry.value, Scalar)}


class Wrapper(Struct, frozen=True):
    """A kind that carries other objects. In a path `*` stands for every element of a list or value of a mapping.

    `as_text`: the path leads to a string of YAML. `transparent`: the wrapper is a mere list, nothing of its own.
    """

    group: str
    kinds: frozenset[str]
    paths: tuple[tuple[str, ...], ...]
    as_text: bool = False
    transparent: bool = False


_ARGO_TEMPLATE = ("templates", "*", "resource", "manifest")
_ARGO_PATHS = (
    ("spec", *_ARGO_TEMPLATE),
    ("spec", "templates", "*", "steps", "*", "*", "inline", "resource", "manifest"),
    ("spec", "templates", "*", "dag", "tasks", "*", "inline", "resource", "manifest"),
)

WRAPPERS = (
    Wrapper(
        "workload.codeflare.dev",
        frozenset({"AppWrapper"}),
        (
            ("spec", "components", "*", "template"),  # v1beta2
            ("spec", "resources", "GenericItems", "*", "generictemplate"),  # v1beta1
            ("spec", "resources", "Items", "*", "template"),
        ),
    ),
    Wrapper(
        "mcad.ibm.com",
        frozenset({"AppWrapper"}),
        (
            ("spec", "resources", "GenericItems", "*", "generictemplate"),
            ("spec", "resources", "Items", "*", "template"),
        ),
    ),
    Wrapper(
        "argoproj.io", frozenset({"Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"}), _ARGO_PATHS, as_text=True
    ),
    Wrapper(
        "argoproj.io",
        frozenset({"CronWorkflow"}),
        tuple(("spec", "workflowSpec", *path[1:]) for path in _ARGO_PATHS),
        as_text=True,
    ),
    Wrapper("kubeflow.org", frozenset({"Experiment"}), (("spec", "trialTemplate", "trialSpec"),)),  # Katib
    Wrapper("kubeflow.org", frozenset({"Trial"}), (("spec", "runSpec"),)),
    Wrapper("template.openshift.io", frozenset({"Template"}), (("objects", "*"),), transparent=True),
    Wrapper("work.open-cluster-management.io", frozenset({"ManifestWork"}), (("spec", "workload", "manifests", "*"),)),
    Wrapper("kubernetes.crossplane.io", frozenset({"Object"}), (("spec", "forProvider", "manifest"),)),
)
"""Kinds that hold whole objects which a controller applies as they stand. A ConfigMap is not among them: what is
written in it need not be applied by anybody."""

_BY_KIND: dict[str, list[Wrapper]] = {}
for _wrapper in WRAPPERS:
    for _kind in _wrapper.kinds:
        _BY_KIND.setdefault(_kind, []).append(_wrapper)

_NO_APPLY = frozenset({"get", "delete"})
"""Argo's `resource.action` values that apply no manifest."""


def objects_in(
    document: Document, file: FileId = _EMPTY_FILE, *, template: str = "", limits: Limits = DEFAULT_LIMITS
) -> list[KubeObject]:
    """All objects of a document in the order in which they stand, wrappers before what they carry."""
    if not isinstance(document.root, Mapping):
        return []
    return list(unwrapped(document.root, document, file, template=template, limits=limits))


def unwrapped(
    root: Mapping,
    document: Document,
    file: FileId = _EMPTY_FILE,
    *,
    template: str = "",
    build: str = "",
    folder: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[KubeObject]:
    """The object that a mapping is, and all that it carries."""
    pending: list[tuple[Mapping, tuple[KubeObject, ...], tuple[str, str]]] = [(root, (), ("", ""))]
    while pending:
        node, owners, default_type = pending.pop()
        kube = _object(node, document, file, owners, default_type)
        if kube is None:
            continue
        kube.template, kube.build, kube.folder = template, build, folder or file.folder
        inner, transparent = _carried(kube, limits)
        if inner and len(owners) >= WRAPPING.most:
            reached(WRAPPING, kube.place)
            inner, transparent = [], False
        if not transparent:
            yield kube
        pending.extend(reversed(inner))


def _object(
    node: Mapping, document: Document, file: FileId, owners: tuple[KubeObject, ...], default_type: tuple[str, str]
) -> KubeObject | None:
    api_version = text_at(node, "apiVersion") or default_type[0]
    kind = text_at(node, "kind") or default_type[1]
    if not api_version or not kind:
        return None
    return KubeObject(
        api_version=api_version,
        kind=kind,
        name=text_at(node, "metadata", "name") or "",
        namespace=text_at(node, "metadata", "namespace") or "",
        node=node,
        document=document,
        file=file,
        wrapped_by=owners,
    )


_Carried = list[tuple[Mapping, tuple[KubeObject, ...], tuple[str, str]]]


def _carried(kube: KubeObject, limits: Limits) -> tuple[_Carried, bool]:
    """What an object carries, and whether it is nothing but a list."""
    owners = (*kube.wrapped_by, kube)
    listed = _list_items(kube)
    if listed is not None:
        default = ("", "") if kube.kind == "List" else (kube.api_version, kube.kind.removesuffix("List"))
        return [(item, owners, default) for item in listed], True
    inner: _Carried = []
    transparent = False
    for wrapper in _BY_KIND.get(kube.kind, ()):
        if wrapper.group != kube.group and not (wrapper.transparent and kube.group == ""):
            continue
        transparent = wrapper.transparent
        for path in wrapper.paths:
            for node in _at(kube.node, path):
                if wrapper.as_text:
                    inner.extend((found, owners, ("", "")) for found in _from_text(node, kube, limits))
                elif isinstance(node, Mapping):
                    inner.append((node, owners, ("", "")))
    return inner, transparent


def _list_items(kube: KubeObject) -> list[Mapping] | None:
    """The items of a `List` or of a typed list such as `JobList`; None where the object is none."""
    items = kube.node.get("items")
    if not kube.kind.endswith("List") or not isinstance(items, Sequence):
        return None
    found = [item for item in items if isinstance(item, Mapping)]
    if kube.kind != "List" and not all("metadata" in item for item in found):
        return None
    return found


def _from_text(node: Node, kube: KubeObject, limits: Limits) -> Iterable[Mapping]:
    if not isinstance(node, Scalar):
        return ()
    documents, problems = embedded_documents(node, limits)
    if "{{" not in node.text:  # expressions are filled in before anybody reads the YAML
        kube.problems.extend(problems)
    return [document.root for document in documents if isinstance(document.root, Mapping)]


def _at(root: Mapping, path: tuple[str, ...]) -> list[Node]:
    """All nodes at a path with stars."""
    nodes: list[Node] = [root]
    for step in path:
        below: list[Node] = []
        for node in nodes:
            if step == "*":
                if isinstance(node, Sequence):
                    below.extend(node)
                elif isinstance(node, Mapping):
                    below.extend(entry.value for entry in node)
            elif isinstance(node, Mapping):
                if step == "manifest" and text_at(node, "action") in _NO_APPLY:
                    continue
                value = node.get(step)
                if value is not None:
                    below.append(value)
        nodes = below
    return nodes
