"""Volumes and mounts of a pod, and the files that ConfigMap volumes put into a container."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Backing, Mount, Volume, VolumeKind
from kube_gaplint.text.nodes import Mapping as MappingNode
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import Files, PlacedText

if TYPE_CHECKING:
    from kube_gaplint.kinds.context import Context


class Form(Struct, frozen=True):
    """A kind of volume. `source`: path of what it stands on, below the volume. None: not known for all of the kind."""

    key: str
    kind: VolumeKind
    source: tuple[str, ...]
    durable: bool | None
    shared: bool | None


# core/v1 VolumeSource. Data on a network disk outlives the pod; only network file systems serve several nodes at once.
FORMS: tuple[Form, ...] = (
    Form("persistentVolumeClaim", "claim", ("claimName",), True, None),
    Form("emptyDir", "empty-dir", ("medium",), False, False),
    Form("hostPath", "host-path", ("path",), True, None),
    Form("nfs", "nfs", ("server",), True, True),
    Form("csi", "csi", ("driver",), None, None),
    Form("configMap", "config-map", ("name",), False, True),
    Form("secret", "secret", ("secretName",), False, True),
    Form("projected", "projected", (), False, True),
    Form("downwardAPI", "downward", (), False, True),
    Form("ephemeral", "ephemeral", ("volumeClaimTemplate", "spec", "storageClassName"), False, False),
    Form("image", "image", ("reference",), False, True),
    Form("cephfs", "other", ("path",), True, True),
    Form("glusterfs", "other", ("path",), True, True),
    Form("azureFile", "other", ("shareName",), True, True),
    Form("quobyte", "other", ("volume",), True, True),
    Form("rbd", "other", ("image",), True, False),
    Form("iscsi", "other", ("iqn",), True, False),
    Form("fc", "other", (), True, False),
    Form("gcePersistentDisk", "other", ("pdName",), True, False),
    Form("awsElasticBlockStore", "other", ("volumeID",), True, False),
    Form("azureDisk", "other", ("diskName",), True, False),
    Form("portworxVolume", "other", ("volumeID",), True, None),
    Form("flexVolume", "other", ("driver",), None, None),
)

# Inline CSI volumes whose data lies in a bucket or on a network file system.
_NETWORK_DRIVERS = (
    "gcsfuse", "s3.csi", "blob.csi", "file.csi", "efs.csi", "fsx", "lustre", "weka", "beegfs", "juicefs", "cephfs",
    "nfs.csi", "smb.csi", "mountpoint", "ossplugin", "nasplugin", "parallelstore", "quobyte", "vast",
)  # fmt: skip
_LOCAL_DRIVERS = ("local", "lvm", "topolvm", "secrets-store", "csi.cert-manager", "spiffe", "image.csi", "hostpath")


def read_volumes(spec: Part, context: Context, claims: Mapping[str, Part]) -> tuple[Volume, ...]:
    """The volumes of a pod. `claims`: claim templates of its controller, each giving a volume of its name."""
    found = [_claim_template(name, part) for name, part in claims.items()]
    names = {volume.name for volume in found}
    for item in spec.at("volumes").items():
        name = item.text("name")
        if name is not None and name not in names:
            found.append(_volume(name, item, context))
    return tuple(found)


def _volume(name: str, item: Part, context: Context) -> Volume:
    written = [entry.name for entry in item.node] if isinstance(item.node, MappingNode) else []
    for form in FORMS:
        if form.key not in written:
            continue
        part = item.at(form.key)
        source = part.string(*form.source) if form.source else Absent(part.origin)
        if form.kind == "claim":
            return _claim(name, item, source, context)
        if form.kind == "empty-dir":
            return _empty_dir(name, item, part, source)
        durable = _setting(form.durable, part.origin, "what the driver does with the data is not known")
        shared = _setting(form.shared, part.origin, "whether several nodes can mount it is not known")
        if form.kind == "csi" and isinstance(source, Set):
            durable, shared = _csi(source)
        if form.kind == "host-path":
            shared = Unknown("the path on the hosts may be a network mount", part.origin)
        volume = _plain(name, form.kind, source, item.origin, durable, shared)
        return replace(volume, backing=_inline_backing(form.kind, part, source))
    if written == ["name"]:
        return _empty_dir(name, item, item.at("emptyDir"), Absent(item.origin))  # core/v1: no source is an emptyDir
    reason = item.unknown or "the kind of the volume is not known"
    unknown = Unknown(reason, item.origin)
    return _plain(name, "unknown", unknown, item.origin, unknown, unknown)


def _plain(
    name: str, kind: VolumeKind, source: Setting[str], origin: Origin, durable: Setting[bool], shared: Setting[bool]
) -> Volume:
    none = Absent(origin)
    return Volume(name, kind, source, origin, none, none, none, none, durable, shared)


def _setting(value: bool | None, origin: Origin, reason: str) -> Setting[bool]:
    return Unknown(reason, origin) if value is None else Set(value, Origin(origin.place, "derived", node=origin.node))


def _csi(driver: Set[str]) -> tuple[Setting[bool], Setting[bool]]:
    name = driver.value.lower()
    origin = driver.origin
    if any(part in name for part in _NETWORK_DRIVERS):
        return _setting(True, origin, ""), _setting(True, origin, "")
    if any(part in name for part in _LOCAL_DRIVERS):
        return _setting(False, origin, ""), _setting(False, origin, "")
    unknown = Unknown(f"what {driver.value} does with the data is not known", origin)
    return unknown, unknown


def _empty_dir(name: str, item: Part, part: Part, medium: Setting[str]) -> Volume:
    kind: VolumeKind = "empty-dir"
    if isinstance(medium, Unknown):
        kind = "unknown"
    elif isinstance(medium, Set) and medium.value == "Memory":
        kind = "memory"
    elif isinstance(medium, Set) and medium.value.startswith("HugePages"):
        kind = "other"
    none = Absent(item.origin)
    no = _setting(False, item.origin, "")
    return Volume(name, kind, medium, item.origin, part.string("sizeLimit"), none, none, none, no, no)


def _claim(name: str, item: Part, source: Setting[str], context: Context) -> Volume:
    found = context.find("", "PersistentVolumeClaim", source.value, item.place) if isinstance(source, Set) else None
    if found is None or isinstance(found, Unknown):
        if not isinstance(source, Set):
            reason = source.reason if isinstance(source, Unknown) else "the claim has no name"
        else:
            reason = f"claim {source.value} is not in the given paths" if found is None else found.reason
        unknown = Unknown(reason, item.origin)
        durable = _setting(True, item.origin, "")
        return Volume(
            name, "claim", source, item.origin, Absent(item.origin), unknown, unknown, unknown, durable, unknown
        )
    spec = Part.of(found.node, (Link(item.place, "claimName"),)).at("spec")
    return replace(_of_claim(name, source, item.origin, spec), backing=_claim_backing(spec, context))


def _inline_backing(kind: VolumeKind, part: Part, source: Setting[str]) -> Backing | None:
    """An inline volume: a CSI driver has its options among the attributes, NFS has none at all."""
    none = Absent(part.origin)
    if kind == "nfs":
        return Backing("nfs", {}, none, part.origin)
    if kind != "csi" or not isinstance(source, Set):
        return None
    attributes = _attributes(part.at("volumeAttributes"))
    given = attributes.get("mountOptions")
    options: Setting[tuple[str, ...]] = none
    if isinstance(given, Set):
        options = Set(tuple(one.strip() for one in given.value.split(",")), given.origin)
    elif isinstance(given, Unknown):
        options = given
    if part.at("volumeAttributes").unknown:
        options = Unknown(part.at("volumeAttributes").unknown, part.origin)
    return Backing(source.value, attributes, options, part.origin)


def _claim_backing(spec: Part, context: Context) -> Backing | None:
    """A claim's PersistentVolume, where it names one, else its StorageClass."""
    volume = spec.text("volumeName")
    if volume:
        found = context.find("", "PersistentVolume", volume, cluster_wide=True)
        if found is None or isinstance(found, Unknown):
            return None
        part = Part.of(found.node, (Link(spec.place, "volumeName"),)).at("spec")
        options = part.strings("mountOptions")
        if part.at("nfs").present:
            return Backing("nfs", {}, options, part.origin)
        driver = part.text("csi", "driver")
        return (
            None
            if driver is None
            else Backing(driver, _attributes(part.at("csi", "volumeAttributes")), options, part.origin)
        )
    named = spec.text("storageClassName")
    found = context.find("storage.k8s.io", "StorageClass", named, cluster_wide=True) if named else None
    if found is None or isinstance(found, Unknown):
        return None
    part = Part.of(found.node, (Link(spec.place, "storageClassName"),))
    driver = part.text("provisioner")
    if driver is None:
        return None
    return Backing(driver, _attributes(part.at("parameters")), part.strings("mountOptions"), part.origin)


def _attributes(part: Part) -> dict[str, Setting[str]]:
    return {name: value.string() for name, value in part.entries()}


def claim_volume(name: str, item: Part, source: Setting[str], context: Context, inline: Part) -> Volume:
    """A volume that a controller mounts by claim name, or by a claim that stands inline (a claim spec)."""
    if inline.present:
        return _of_claim(name, source, item.origin, inline)
    return _claim(name, item, source, context)


def _claim_template(name: str, part: Part) -> Volume:
    source = Set(name, Origin(part.place, "derived", "a claim of each pod", node=part.node))
    return _of_claim(name, source, part.origin, part.at("spec"), per_pod=True)


def _of_claim(name: str, source: Setting[str], origin: Origin, spec: Part, per_pod: bool = False) -> Volume:
    modes = spec.strings("accessModes")
    shared: Setting[bool]
    if isinstance(modes, Set):
        many = any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes.value)
        shared = Set(many, Origin(modes.origin.place, "derived", chain=modes.origin.chain, node=modes.origin.node))
    else:
        shared = Unknown("its access modes are not seen", spec.origin)
    return Volume(
        name,
        "claim",
        source,
        origin,
        Absent(origin),
        modes,
        spec.string("storageClassName"),
        spec.string("resources", "requests", "storage"),
        _setting(True, origin, ""),
        shared,
        per_pod=per_pod,
    )


def read_mounts(container: Part) -> tuple[Mount, ...]:
    """The volume mounts of a container."""
    found = []
    for item in container.at("volumeMounts").items():
        path = _absolute(item.string("mountPath"))
        expression = item.at("subPathExpr").verbatim()  # `$(POD_NAME)` is no template of somebody's
        sub_path = item.text("subPath") or (expression.value if isinstance(expression, Set) else "")
        read_only = item.boolean("readOnly", default=False)
        writable = not (isinstance(read_only, Set) and read_only.value)
        found.append(Mount(path, item.text("name") or "", sub_path, not writable, item.origin))
    return tuple(found)


def _absolute(path: Setting[str]) -> Setting[str]:
    """A mount path as the kubelet makes it: a relative one begins at the root (`makeAbsolutePath` in its
    kubelet_pods.go). Windows' paths with a drive stay."""
    if not isinstance(path, Set) or not path.value or path.value.startswith("/") or path.value[1:2] == ":":
        return path
    return Set(f"/{path.value}", path.origin)


def files_in(spec: Part, mounts: tuple[Mount, ...], context: Context, working_dir: str = "") -> Files:
    """A look-up of files by the path at which a container sees them, through its ConfigMap mounts.

    Relative paths stand in the container's working directory, where that is known.
    """
    found: dict[str, Scalar] | None = None

    def files(path: str) -> PlacedText | None:
        nonlocal found
        if found is None:
            found = _mounted_files(spec, mounts, context)
        node = found.get(posixpath.normpath(posixpath.join(working_dir or "/", path)))
        if node is None:
            return None
        from kube_gaplint.text.scalar_text import scalar_text

        return scalar_text(node)

    return files


def over_image(
    mounted: Files,
    mounts: tuple[Mount, ...],
    in_image: Files,
    working_dir: str = "",
) -> Files:
    """`mounted`, and below it the files of the image, as far as no mount hides them."""
    hidden = [mount.path.value.rstrip("/") for mount in mounts if isinstance(mount.path, Set)]

    def files(path: str) -> PlacedText | None:
        found = mounted(path)
        if found is not None:
            return found
        whole = posixpath.normpath(posixpath.join(working_dir, path))
        if any(whole == folder or whole.startswith(folder + "/") for folder in hidden):
            return None
        return in_image(whole)

    return files


def _mounted_files(spec: Part, mounts: tuple[Mount, ...], context: Context) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    volumes = spec.at("volumes")
    for mount in mounts:
        volume = volumes.named(mount.volume)
        if volume is None or not isinstance(mount.path, Set):
            continue
        for name, node in _entries(volume, context):
            if not mount.sub_path:
                place = posixpath.join(mount.path.value, name)
            elif mount.sub_path == name:
                place = mount.path.value
            elif name.startswith(mount.sub_path.rstrip("/") + "/"):
                place = posixpath.join(mount.path.value, name[len(mount.sub_path.rstrip("/")) + 1 :])
            else:
                continue
            found[posixpath.normpath(place)] = node
    return found


def _entries(volume: Part, context: Context) -> list[tuple[str, Scalar]]:
    """Files of a ConfigMap volume, or of the ConfigMaps in a projected one, by their path in the volume."""
    if volume.at("configMap").present:
        return _of_map(volume.at("configMap"), context)
    found = []
    for source in volume.at("projected", "sources").items():
        if source.at("configMap").present:
            found.extend(_of_map(source.at("configMap"), context))
    return found


def _of_map(part: Part, context: Context) -> list[tuple[str, Scalar]]:
    name = part.text("name")
    if name is None:
        return []
    data = context.config_map(name, part.place)
    made = context.bundle.files_by_command
    entries = made(name, context.object.file) if isinstance(data, Unknown) else data.entries
    items = part.at("items")
    if not items.present:
        return list(entries.items())
    chosen = []
    for item in items.items():
        key, path = item.text("key"), item.text("path")
        if key is not None and path is not None and key in entries:
            chosen.append((path, entries[key]))
    return chosen
