"""Machine templates of Cluster API: which image new machines get.

Cluster API replaces no machine because its image is no longer the newest: an image that floats shows where machines are
added or made anew. Sources: k8s.md D "EKS node groups elsewhere" (CAPA); cluster-api-provider-gcp
cloud/scope/machine.go, InstanceImageSpec; cluster-api-provider-azure api/v1beta1/types.go, Image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.kubeadm import machine_gpus, machine_spec
from kube_gaplint.model.nodes import NodeImage, NodePool
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown

NEWEST = "the newest image for the version"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool]:
    """The pool of machines that a template stands for."""
    spec = machine_spec(item)
    images = _IMAGES[item.kind](spec)
    named = spec.string("imageLookupBaseOS") if item.kind == "AWSMachineTemplate" else _name(images, spec)
    yield NodePool(
        subject=Context(bundle, item, profile).subject,
        origin=spec.origin,
        gpus=machine_gpus(item),
        images=images,
        os=node_os.of_image(named),
        controller="cluster-api",
    )


def _name(images: tuple[NodeImage, ...], spec: Part) -> Setting[str]:
    return images[0].value if images else Unknown("the image is not known", spec.origin)


def _aws(spec: Part) -> tuple[NodeImage, ...]:
    """An image id, or a look-up by base system and Kubernetes version."""
    ami = spec.at("ami", "id")
    value = ami.string()
    if isinstance(value, Set):
        return (NodeImage("id", value, Set(False, ami.origin), ami.origin),)
    if isinstance(value, Unknown):
        return ()
    base = spec.at("imageLookupBaseOS")
    family = base.string() if base.present else spec.default(NEWEST, "CAPA's default")
    return (NodeImage("family", family, Set(True, base.origin), base.origin),)


def _google(spec: Part) -> tuple[NodeImage, ...]:
    """`image`, else `imageFamily`, else a family after the Kubernetes version. Either may name a family by its path."""
    for key in ("image", "imageFamily"):
        part = spec.at(key)
        value = part.string()
        if isinstance(value, Absent):
            continue
        floats: Setting[bool] = value if isinstance(value, Unknown) else Set(True, part.origin)
        if isinstance(value, Set) and key == "image":
            floats = Set("/family/" in value.value, part.origin)
        by_family = isinstance(floats, Set) and floats.value
        return (NodeImage("family" if by_family else "id", value, floats, part.origin),)
    return (NodeImage("family", spec.default(NEWEST, "CAPG's default"), Set(True, spec.origin), spec.origin),)


def _azure(spec: Part) -> tuple[NodeImage, ...]:
    """A version of a marketplace's or a gallery's image; `latest` is the newest one when a machine is made."""
    for source in ("marketplace", "computeGallery", "sharedGallery"):
        part = spec.at("image", source, "version")
        value = part.string()
        if not isinstance(value, Absent):
            floats = value if isinstance(value, Unknown) else Set(value.value == "latest", part.origin)
            return (NodeImage("release", value, floats, part.origin),)
    return ()


_IMAGES: dict[str, Callable[[Part], tuple[NodeImage, ...]]] = {
    "AWSMachineTemplate": _aws,
    "GCPMachineTemplate": _google,
    "AzureMachineTemplate": _azure,
}
