"""Cluster API: how kubeadm's machines are set up, and the machines that they are.

KubeadmConfig, KubeadmConfigTemplate and KubeadmControlPlane (bootstrap.cluster.x-k8s.io, controlplane.cluster.x-k8s.io;
v1beta1 and v1beta2). Source row: k8s.md D "CAPI".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts import packages
from kube_gaplint.kinds import cloudinit, node_os
from kube_gaplint.kinds.cloudinit import Setup
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import UNKNOWN, Evidence, either
from kube_gaplint.kinds.inner import decoded
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Link, Origin, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import PlacedText

OWNERS = ("MachineDeployment", "MachineSet", "MachinePool", "Machine")

_MACHINE_TYPES = (
    ("instanceType",),  # AWS, GCP, OpenStack's flavor is another key
    ("instanceType", "id"),
    ("vmSize",),  # Azure
    ("flavor",),
    ("shape",),  # Oracle
    ("machineType",),
)
_IMAGES = (
    ("image",),
    ("imageLookupBaseOS",),
    ("imageLookupFormat",),
    ("template",),  # vSphere
    ("imageFamily",),
    ("image", "marketplace", "offer"),
    ("image", "id"),
)


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodeBootstrap]:
    """The set-up of the machines that a configuration makes."""
    context = Context(bundle, item, profile)
    spec = config_spec(context.root, item.kind)
    machines = list(_machines(context))
    setup = read_setup(spec, context)
    system = _system(spec, machines, setup)
    if setup.flatcar or (isinstance(system, Set) and system.value == "flatcar"):
        _flatcar_default(setup, spec, system)
    yield NodeBootstrap(
        subject=context.subject,
        origin=spec.origin,
        gpus=_gpus(context, spec, machines),
        os=system,
        actions=setup.actions(),
        opaque_because=setup.opaque_because,
    )


def config_spec(root: Part, kind: str) -> Part:
    """Where the KubeadmConfigSpec stands in an object of a kind."""
    spec = root.at("spec")
    if kind == "KubeadmConfigTemplate":
        return spec.at("template", "spec")
    if kind in ("KubeadmControlPlane", "KubeadmControlPlaneTemplate"):
        inner = spec if kind == "KubeadmControlPlane" else spec.at("template", "spec")
        return inner.at("kubeadmConfigSpec")
    return spec


def read_setup(spec: Part, context: Context) -> Setup:
    """Files, commands and the extra Ignition configuration of a KubeadmConfigSpec, in the order in which they act."""
    setup = Setup()
    for item in spec.at("files").items():
        _file(item, setup, context)
    for part in ("files", "preKubeadmCommands", "postKubeadmCommands", "bootCommands"):
        if spec.at(part).open_list:
            setup.close(f"{part} is not seen whole")
    for key in ("bootCommands", "preKubeadmCommands", "postKubeadmCommands"):
        for command in spec.at(key).items():
            cloudinit.run_item(command, None, setup)
    extra = spec.at("ignition", "containerLinuxConfig", "additionalConfig")
    if isinstance(extra.node, Scalar):
        from kube_gaplint.kinds.inner import inner_yaml

        inner = inner_yaml(scalar_text(extra.node))
        if inner.root is not None and not inner.broken:
            cloudinit.ignition(Part.of(inner.root, extra.chain), inner, setup)
        setup.flatcar = True
    return setup


def _file(item: Part, setup: Setup, context: Context) -> None:
    path = item.text("path")
    if not path:
        return
    content = item.at("content")
    chain = content.chain
    text: PlacedText | None = None
    if isinstance(content.node, Scalar):
        text = scalar_text(content.node)
    elif item.at("contentFrom").present:
        text, chain = _content_from(item.at("contentFrom", "secret"), context)
    encoding = (item.text("encoding") or "").lower()
    if text is not None and encoding:
        text = decoded(text) if "base64" in encoding else None
    if text is None:
        if packages.file_kind(path) is not None:
            setup.close(f"the content of {path} is not seen")
        return
    appends = item.boolean("append")
    cloudinit.write_file(path, text, chain, setup, appends=isinstance(appends, Set) and appends.value)


def _content_from(secret: Part, context: Context) -> tuple[PlacedText | None, tuple[Link, ...]]:
    """The text of a Secret's key where it is written in plain (`stringData`) or base64 (`data`)."""
    name, key = secret.text("name"), secret.text("key")
    if not name or not key:
        return None, ()
    found = context.find("", "Secret", name)
    if not isinstance(found, KubeObject):
        return None, ()
    chain = (*secret.chain, Link(secret.place, f"Secret {name}"))
    root = Part.of(found.node, chain)
    plain, encoded = root.at("stringData", key), root.at("data", key)
    if isinstance(plain.node, Scalar):
        return scalar_text(plain.node), chain
    if isinstance(encoded.node, Scalar):
        return decoded(scalar_text(encoded.node)), chain
    return None, ()


# The machines behind a configuration


def _machines(context: Context) -> Iterator[tuple[Part, KubeObject | Unknown | None]]:
    """The owners (MachineDeployment …) that use the configuration, each with its infrastructure template."""
    own = context.object
    if own.kind.startswith("KubeadmControlPlane"):
        return
    for kind in OWNERS:
        for owner in context.bundle.by_kind("cluster.x-k8s.io", kind):
            root = Part.of(owner.node)
            spec = root.at("spec") if kind == "Machine" else root.at("spec", "template", "spec")
            ref = spec.at("bootstrap", "configRef")
            if ref.text("kind") != own.kind or ref.text("name") != own.name:
                continue
            if context.bundle.find(own.group, own.kind, own.name, owner.namespace, owner) is not own:
                continue
            infra = spec.at("infrastructureRef")
            name, infra_kind = infra.text("name"), infra.text("kind")
            machine: KubeObject | Unknown | None = None
            if name and infra_kind:
                machine = context.bundle.find(None, infra_kind, name, owner.namespace, owner)
            yield root, machine


def machine_spec(machine: KubeObject) -> Part:
    """The spec of one machine in an infrastructure template (AWSMachineTemplate, GCPMachineTemplate …)."""
    spec = Part.of(machine.node).at("spec")
    inner = spec.at("template", "spec") if machine.kind.endswith("Template") else spec.at("template")
    return inner if inner.present else spec


def machine_gpus(machine: KubeObject) -> CarriesGpus:
    """Whether the machines of an infrastructure template carry GPUs."""
    evidence = Evidence()
    spec = machine_spec(machine)
    for name in ("guestAccelerators", "pciDevices", "gpus"):
        part = spec.at(name)
        if part.items():  # added to a machine type that has none of its own
            return CarriesGpus("yes", f"{name} of the machine", part.origin)
    for path in _MACHINE_TYPES:
        part = spec.at(*path)
        if isinstance(part.node, Scalar):
            evidence.machine(part.string())
    return evidence.answer()


def _gpus(context: Context, spec: Part, machines: list[tuple[Part, KubeObject | Unknown | None]]) -> CarriesGpus:
    """By the labels and taints that the kubelet registers with, the owners' labels, the machine types."""
    own = Evidence()
    kind = context.object.kind
    if kind.startswith("KubeadmControlPlane"):
        return CarriesGpus("no", "control plane nodes", spec.origin)
    for configuration in ("joinConfiguration", "initConfiguration"):
        registration = spec.at(configuration, "nodeRegistration")
        own.taints(registration.at("taints"))
        arguments = registration.at("kubeletExtraArgs")
        own.node_labels(arguments.string("node-labels"))
        for item in arguments.items():  # v1beta2: a list of name and value
            if item.text("name") == "node-labels":
                own.node_labels(item.string("value"))
    answers = []
    for owner, machine in machines:
        one = Evidence(own.yes, own.no, own.open)
        one.labels(owner.texts("spec", "template", "metadata", "labels"))
        answer = one.answer()
        if isinstance(machine, KubeObject):
            by_machine = machine_gpus(machine)
            if by_machine.answer == "no" or answer.answer == "unknown":
                answer = by_machine
        answers.append(answer)
    if answers:
        return either(answers)
    found = own.answer()
    return found if found.origin is not None else CarriesGpus("unknown", UNKNOWN.reason, spec.origin)


def _system(spec: Part, machines: list[tuple[Part, KubeObject | Unknown | None]], setup: Setup) -> Setting[str]:
    if setup.flatcar:
        return Set("flatcar", spec.origin)
    for _, machine in machines:
        if not isinstance(machine, KubeObject):
            continue
        inner = machine_spec(machine)
        for path in _IMAGES:
            part = inner.at(*path)
            if isinstance(part.node, Scalar):
                found = node_os.of_image(part.string())
                if isinstance(found, Set):
                    return found
    return Unknown("the machine image is not seen", spec.origin)


def _flatcar_default(setup: Setup, spec: Part, system: Setting[str]) -> None:
    """Flatcar updates and reboots by itself unless something says otherwise."""
    from kube_gaplint.model.nodes import UpgradeAction

    if any(action.kind in ("os-update-agent", "unattended-off") for action in setup.actions()):
        return
    origin = system.origin if isinstance(system, Set) else spec.origin
    what = "Flatcar's update engine, on by default"
    setup.add_action(
        UpgradeAction("os-update-agent", what, Origin(origin.place, "default", what, origin.chain), False, True)
    )
