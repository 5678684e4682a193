"""From a pod template to a `Pod`: containers with their environment, what they start, and what they stand on."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.facts import accelerators as devices
from kube_gaplint.facts.images import is_image_file, parse_reference
from kube_gaplint.kinds.checkouts import Checkout, in_repository
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.hooks import read_hook
from kube_gaplint.kinds.own_images import OwnImage
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.scheduling import (
    read_affinity,
    read_ports,
    read_probe,
    read_security,
    read_spread,
    read_tolerations,
)
from kube_gaplint.kinds.variables import environment_of, references_of, word_of
from kube_gaplint.kinds.volumes import files_in, over_image, read_mounts, read_volumes
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import DEFAULT_GRACE, DeviceClaim, Security, Surplus
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Accelerators, Container, Mount, Pod, Volume
from kube_gaplint.text.nodes import Scalar, Sequence
from kube_gaplint.text.source import Files, PlacedText
from kube_gaplint.text.templates import placeholder

KUBERNETES = "Kubernetes' default"
_MOST_FILES = 256
"""Files of a container that are remembered by their path."""


class Making(Struct, frozen=True):
    """What a controller does with a pod template before the pod exists.

    `restart_policy` replaces the template's (Kubeflow's replica policy); `restart_default` stands in where the
    template has none. `variables` are injected into every container. `fields` are pod fields with the value that the
    controller gives them where the template has none. `claims`: claim templates by volume name. `volumes` and
    `mounts` are added to every container. `shm_note`: who mounts a memory-backed /dev/shm into the first container.
    `command`: what the first container runs where the template says nothing. `unseen`: why more may come from
    somewhere.
    """

    restart_policy: Setting[str] | None = None
    restart_default: str | None = "Always"
    restart_note: str = KUBERNETES
    variables: Mapping[str, Setting[str]] = field(default_factory=dict)
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    claims: Mapping[str, Part] = field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()
    mounts: tuple[Mount, ...] = ()
    shm_note: str = ""
    command: tuple[str, ...] = ()
    unseen: str = ""


PLAIN = Making()

_OPEN_LISTS = ("volumes", "containers", "initContainers", "tolerations", "imagePullSecrets", "resourceClaims")


def read_pod(template: Part, context: Context, making: Making = PLAIN) -> Pod:
    """A pod as its controller makes it from a template (a mapping with `metadata` and `spec`)."""
    spec = template.at("spec")
    volumes = (*read_volumes(spec, context, making.claims), *making.volumes)
    security = read_security(spec)
    claims = _device_claims(spec, context)
    by_name = {claim.name: claim for claim in claims}
    checkout = Checkout(spec, context)
    reader = _ContainerReader(template, context, making, volumes, security, by_name, checkout)
    containers = tuple(reader.read(item, first=not index) for index, item in enumerate(spec.at("containers").items()))
    init_containers = tuple(reader.read(item, init=True) for item in spec.at("initContainers").items())
    restart = making.restart_policy
    if restart is None:
        restart = spec.string("restartPolicy", default=making.restart_default, note=making.restart_note)
    grace = spec.seconds("terminationGracePeriodSeconds", default=DEFAULT_GRACE, note=KUBERNETES)
    unseen = making.unseen or template.unknown or spec.unknown or spec.at("containers").open_list
    if reader.shm_volume is not None:
        volumes = (*volumes, reader.shm_volume)
    exposed: dict[str, object] = {
        "tolerations": read_tolerations(spec),
        "affinity": read_affinity(spec),
        "security": security,
        "spread": read_spread(spec),
        "claims": claims,
        "pull_secrets": tuple(
            name for item in spec.at("imagePullSecrets").items() if (name := item.text("name")) is not None
        ),
        "open_parts": Surplus({key: reason for key in _OPEN_LISTS if (reason := spec.at(key).open_list)}),
    }
    return Pod(
        origin=spec.origin if spec.present else template.origin,
        containers=containers,
        init_containers=init_containers,
        volumes=volumes,
        annotations=template.texts("metadata", "annotations"),
        labels=template.texts("metadata", "labels"),
        restart_policy=restart,
        grace_seconds=grace,
        node_selector=spec.texts("nodeSelector"),
        fields=fields_of(spec, _pod_defaults(spec, making, restart)),
        exposed=exposed,
        template=template.origin if template.present else None,
        overrides_unknown=unseen,
    )


# core/v1 defaults of pod fields that rules ask for.
_POD_DEFAULTS = {
    "hostNetwork": "false",
    "hostIPC": "false",
    "hostPID": "false",
    "shareProcessNamespace": "false",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": "30",
}


def _pod_defaults(spec: Part, making: Making, restart: Setting[str]) -> dict[str, Setting[str]]:
    found: dict[str, Setting[str]] = {"restartPolicy": restart}
    for key, value in _POD_DEFAULTS.items():
        part = spec.at(key)
        if part.state is False:
            own = making.fields.get(key)
            found[key] = part.default(value, KUBERNETES) if own is None else own
    for key, setting in making.fields.items():
        if key not in found and spec.at(key).state is False:
            found[key] = setting
    return found


def _device_claims(spec: Part, context: Context) -> tuple[DeviceClaim, ...]:
    """Claims of dynamic resource allocation, looked up where their template is in the paths."""
    found = []
    for item in spec.at("resourceClaims").items():
        name = item.text("name")
        if name is not None:
            found.append(_device_claim(name, item, context))
    return tuple(found)


def _device_claim(name: str, item: Part, context: Context) -> DeviceClaim:
    for key, kind, path in (
        ("resourceClaimTemplateName", "ResourceClaimTemplate", ("spec", "spec", "devices", "requests")),
        ("resourceClaimName", "ResourceClaim", ("spec", "devices", "requests")),
    ):
        target = item.text(key) or item.text("source", key)
        if target is None:
            continue
        found = context.find("resource.k8s.io", kind, target)
        if found is None or isinstance(found, Unknown):
            reason = f"{kind} {target} is not in the given paths" if found is None else found.reason
            return DeviceClaim(name, Unknown(reason, item.origin), Unknown(reason, item.origin), item.origin)
        for request in Part.of(found.node).at(*path).items():
            exact = request.at("exactly") if request.at("exactly").present else request
            device_class = exact.string("deviceClassName")
            count = exact.integer("count", default=1, note="one device a request")
            if exact.text("allocationMode") == "All":
                count = Unknown("the request takes all devices of a node", exact.origin)
            return DeviceClaim(name, device_class, count, item.origin)
    unknown = Unknown("the claim's devices are not seen", item.origin)
    return DeviceClaim(name, unknown, unknown, item.origin)


class _ContainerReader(Struct):
    template: Part
    context: Context
    making: Making
    volumes: tuple[Volume, ...]
    security: Security
    claims: Mapping[str, DeviceClaim]
    checkout: Checkout
    shm_volume: Volume | None = None

    def read(self, part: Part, *, init: bool = False, first: bool = False) -> Container:
        spec = self.template.at("spec")
        name = part.text("name") or ""
        origin = replace(part.origin, place=part.place)
        environment = environment_of(part, self.context, self.making.variables, self.template)
        environment = replace(environment, home=origin)
        mounts = (*read_mounts(part), *self.making.mounts)
        if first and self.making.shm_note:
            mounts = self._with_shm(mounts, part)
        command, args = part.at("command"), part.at("args")
        words = _words(command, environment), _words(args, environment)
        if first and self.making.command and command.state is False and args.state is False:
            words = tuple(Word((text,), part.place) for text in self.making.command), ()
        working_dir = part.text("workingDir") or ""
        mounted = files_in(spec, mounts, self.context, working_dir)
        own = OwnImage(part.string("image"), self.context, working_dir, (*words[0], *words[1]))
        files = lru_cache(maxsize=_MOST_FILES)(  # many ask for the program
            _with_checkout(over_image(mounted, mounts, own.files, working_dir), self.checkout, working_dir)
        )
        accelerators = _accelerators(part, self.claims)
        if accelerators and not environment.open_because:
            environment = replace(environment, variables={**own.variables(), **environment.variables})
        requests, limits = part.texts("resources", "requests"), part.texts("resources", "limits")
        host_network = spec.boolean("hostNetwork")
        container = Container(
            name=name,
            origin=origin,
            subject=self.context.subject.in_container(name),
            image=_image(part),
            environment=environment,
            command=_texts(command, words[0]),
            args=_texts(args, words[1]),
            accelerators=accelerators or (() if init else self._share(name, first)),
            requests=requests,
            limits=limits,
            mounts=mounts,
            mounts_open=part.at("volumeMounts").open_list,
            refers=references_of(part),
            init=init,
            sidecar=init and part.text("restartPolicy") == "Always",
            fields=fields_of(part, _container_defaults(part)),
        )
        exposed: dict[str, object] = {
            "security": read_security(part, self.security),
            "ports": read_ports(part, isinstance(host_network, Set) and host_network.value),
            "claims": tuple(
                claim for item in part.at("resources", "claims").items() if (claim := item.text("name")) is not None
            ),
            "files": files,
            "repository": lambda path: in_repository(path, self.context),
            "recipes": own.recipe,
            "folders": own.folders,
            "packages": own.packages,
            "image_starts": own.starts if command.state is False and args.state is False else None,
        }
        for key, kind in (("livenessProbe", "liveness"), ("readinessProbe", "readiness"), ("startupProbe", "startup")):
            exposed[kind] = read_probe(part, key, kind)  # type: ignore[arg-type]
        for key, kind in (("preStop", "pre_stop"), ("postStart", "post_start")):
            told = _words(part.at("lifecycle", key, "exec", "command"), environment)
            exposed[kind] = read_hook(part, key, told, environment, files)
        container.exposed = {key: value for key, value in exposed.items() if value is not None}
        self._start(container, part, words)
        return container

    def _share(self, name: str, first: bool) -> tuple[Accelerators, ...]:
        """The part of a GPU that annotations ask the scheduler for."""
        annotations = self.template.at("metadata", "annotations")
        named = annotations.at(devices.SHARED_BY)
        if not first if named.state is False else named.text() != name:
            return ()
        for key in devices.SHARES:
            part = annotations.at(key)
            if part.present or part.unknown:
                several = annotations.at(devices.SHARED_DEVICES)
                count = several.count() if several.present else Set(1, part.origin)
                return (Accelerators(key, count, "nvidia", part.origin, partial=True),)
        return ()

    def _start(self, container: Container, part: Part, words: tuple[tuple[Word, ...], tuple[Word, ...]]) -> None:
        """Fill in what the container runs."""
        command, args = words
        if part.at("command").unknown or part.at("args").unknown:
            container.entrypoint_unknown = part.at("command").unknown or part.at("args").unknown
            return
        if not command:
            if not args:
                container.entrypoint_unknown = "the image's own entry point starts"
                return
            if not _is_program(args[0]):
                container.entrypoint_unknown = "the image's own entry point starts with these arguments"
                container.commands = [
                    Command((Word((Unknown("the image's entry point"),), args[0].place), *args), container.environment,
                            part.at("args").place)
                ]  # fmt: skip
                return
        folder = part.string("workingDir")
        started = start(
            (*command, *args),
            container.environment,
            container.files,
            directory=folder if isinstance(folder, Set) else None,
        )
        container.commands = list(started.commands)
        container.scripts = list(started.scripts)
        container.entrypoint_unknown = started.unknown

    def _with_shm(self, mounts: tuple[Mount, ...], part: Part) -> tuple[Mount, ...]:
        """The mounts with a /dev/shm that the controller adds where the template has none."""
        if any(isinstance(mount.path, Set) and mount.path.value.rstrip("/") == "/dev/shm" for mount in mounts):
            return mounts
        origin = Origin(part.place, via="injected", note=self.making.shm_note)
        none = Absent(origin)
        no = Set(False, origin)
        self.shm_volume = Volume(
            "shared-mem", "memory", Set("Memory", origin), origin, part.string("resources", "limits", "memory"),
            none, none, none, no, no,
        )  # fmt: skip
        return (*mounts, Mount(Set("/dev/shm", origin), "shared-mem", "", False, origin))


def _with_checkout(files: Files, checkout: Checkout, working_dir: str) -> Files:
    """`files`, and those of the repository where the pod fetches it."""

    def look_up(path: str) -> PlacedText | None:
        found = files(path)
        return found if found is not None else checkout.files(posixpath.normpath(posixpath.join(working_dir, path)))

    return look_up


def _words(part: Part, environment: Environment) -> tuple[Word, ...]:
    if isinstance(part.node, Scalar) or not isinstance(part.node, Sequence):
        return ()
    return tuple(word_of(item, environment) for item in part.items())


def _texts(part: Part, words: tuple[Word, ...]) -> Setting[tuple[str, ...]]:
    if not part.present or part.unknown or not isinstance(part.node, Sequence):
        return part.strings()
    texts = []
    for word in words:
        text = word.placed.text if word.placed is not None else word.known
        if text is None:
            return Unknown("part of it is not known", part.origin)
        texts.append(text)
    return Set(tuple(texts), part.origin)


def _is_program(word: Word) -> bool:
    """Whether the first argument names a program: images without an entry point, and those whose entry point runs its
    arguments (`exec "$@"`, as NVIDIA's do), then start it."""
    text = word.known
    if not text or text.startswith("-") or any(space in text for space in " \n\t"):
        return False
    if text.startswith(("/", "./")):
        return True
    from kube_gaplint.facts.purposes import PROGRAMS_AS_ARGUMENTS

    name = text.rsplit("/", 1)[-1]
    return name in PROGRAMS_AS_ARGUMENTS or name.startswith("python")


def _container_defaults(part: Part) -> dict[str, Setting[str]]:
    found: dict[str, Setting[str]] = {}
    policy, image = part.at("imagePullPolicy"), part.string("image")
    if policy.state is False:
        if isinstance(image, Set):
            value = "Always" if _tag(image.value) in ("", "latest") and "@" not in image.value else "IfNotPresent"
            found["imagePullPolicy"] = policy.default(value, "Kubernetes' default for this tag")
        else:
            found["imagePullPolicy"] = Unknown("it follows from the image's tag, which is not known", policy.origin)
    message = part.at("terminationMessagePolicy")
    if message.state is False:
        found["terminationMessagePolicy"] = message.default("File", KUBERNETES)
    return found


def _image(part: Part) -> Setting[str]:
    """The image. Its name is in lower case: `IMAGE_URI` and the like are there to be filled in."""
    image = part.string("image")
    if isinstance(image, Set) and not is_image_file(image.value):
        name = parse_reference(image.value).repository.rpartition("/")[2]
        if name != name.lower():
            return Unknown("its name is a placeholder", image.origin)
    return image


def _tag(image: str) -> str:
    """The tag of an image name; empty where it has none."""
    last = image.split("@", 1)[0].rsplit("/", 1)[-1]
    return last.partition(":")[2]


def _accelerators(part: Part, claims: Mapping[str, DeviceClaim]) -> tuple[Accelerators, ...]:
    """Accelerators among limits and requests (limits win), and among device claims."""
    resources = part.at("resources")
    found: dict[str, Accelerators] = {}
    open_because = resources.unknown
    for section in ("requests", "limits"):
        table = resources.at(section)
        open_because = open_because or table.unknown
        for name, value in table.entries():
            row = devices.device(name)
            if row is None:
                unfilled = placeholder(name)
                if unfilled:  # `${GPU_RESOURCE}: 8`
                    open_because = open_because or f"the name of a resource is {unfilled}"
                continue
            count = value.count()
            if isinstance(count, Absent):
                continue
            if isinstance(count, Set) and count.value <= 0:
                found.pop(name, None)
                continue
            found[name] = Accelerators(name, count, row.vendor, value.origin, row.partial)
    out = list(found.values())
    if not out:
        for item in resources.at("claims").items():
            out.extend(_claimed(item, claims))
    if not out and open_because:
        unknown = Unknown(open_because, resources.origin)
        out.append(Accelerators("", unknown, "", resources.origin))
    return tuple(out)


def _claimed(item: Part, claims: Mapping[str, DeviceClaim]) -> list[Accelerators]:
    name = item.text("name")
    claim = claims.get(name or "")
    if claim is None:
        return []
    if isinstance(claim.device_class, Set):
        row = devices.device_class(claim.device_class.value)
        if row is None:
            return []  # a network device, or an IMEX channel
        return [Accelerators(claim.device_class.value, claim.count, row.vendor, item.origin, row.partial)]
    return [Accelerators(f"claim {claim.name}", claim.count, "nvidia" if "gpu" in claim.name else "", item.origin)]
