"""Training data: where programs read it, what they fetch from the Hub, and what brings it to the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint.facts import data as facts
from kube_gaplint.facts.storage import CACHE_WORDS, FUSE_DRIVERS, NETWORK_CLIENTS, PARALLEL_FILE_SYSTEMS
from kube_gaplint.model.command import Command
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.start import operands, start_commands
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Pod, Role, Volume, Workload


def data_paths(process: TrainingProcess) -> Iterator[Set[str]]:
    """The absolute paths that the program reads its data from: those that it is told, then mounts with the name of a
    data folder on which it saves nothing."""
    for _, found in process.options.among(facts.DATA_OPTIONS):
        if isinstance(found.value, Set) and found.value.value.startswith("/"):
            yield found.value
    for mount in process.container.mounts:
        if isinstance(mount.path, Set) and _holds_data(mount.path.value, process):
            yield Set(mount.path.value, mount.origin)


def _holds_data(folder: str, process: TrainingProcess) -> bool:
    """A mount is called like a data folder, and the program does not save below it."""
    if folder.rstrip("/").rpartition("/")[2].lower() not in facts.DATA_FOLDERS:
        return False
    saved = process.settings.save_path
    known = saved.value if isinstance(saved, Set) else saved.prefix if isinstance(saved, Unknown) else ""
    return not f"{known}/".startswith(f"{folder.rstrip('/')}/")


def streams(process: TrainingProcess) -> bool:
    """Its loader reads a stream of large files and caches by itself, as far as its options tell."""
    words = [one.name.lower() for one in process.options.occurrences]
    words += [one.value.value.lower() for one in process.options.occurrences if isinstance(one.value, Set)]
    return any(part in word for word in words for part in facts.STREAMING_WORDS)


# Volumes


def driver_of(volume: Volume) -> str:
    """What mounts a volume, in lower case; empty where that is not seen."""
    if volume.backing is not None:
        return volume.backing.driver.lower()
    return volume.kind if volume.kind == "nfs" else ""


def is_bucket(volume: Volume) -> bool:
    """It shows a bucket as a folder."""
    return any(part in driver_of(volume) for part in FUSE_DRIVERS)


def is_parallel(volume: Volume) -> bool:
    """It lies on a parallel file system, by its driver or the name of its class."""
    names = [driver_of(volume)]
    if isinstance(volume.storage_class, Set):
        names.append(volume.storage_class.value.lower())
    return any(part in name for name in names for part in PARALLEL_FILE_SYSTEMS)


def one_server(volume: Volume) -> bool:
    """All nodes surely read it from the same place: NFS and its kin, a bucket, a claim that many mount."""
    if is_parallel(volume) or volume.per_pod:
        return False
    driver = driver_of(volume)
    if volume.kind == "nfs" or is_bucket(volume) or any(part in driver for part in NETWORK_CLIENTS):
        return True
    return volume.kind == "claim" and isinstance(volume.shared, Set) and volume.shared.value


def is_cached(volume: Volume) -> bool:
    """Options of the mount keep data near, or may do so."""
    backing = volume.backing
    if backing is None or isinstance(backing.mount_options, Unknown):
        return True
    texts = [f"{name}={value.value}" for name, value in backing.attributes.items() if isinstance(value, Set)]
    if isinstance(backing.mount_options, Set):
        texts.extend(backing.mount_options.value)
    if any(isinstance(value, Unknown) for value in backing.attributes.values()):
        return True
    return any(word in text.lower() for text in texts for word in CACHE_WORDS)


def local_tier(container: Container, pod: Pod) -> bool:
    """Something of the node's own is mounted that data can be staged on."""
    for mount in container.mounts:
        volume = pod.volume(mount.volume)
        if not isinstance(mount.path, Set) or volume is None or volume.kind == "unknown":
            return True
        if mount.path.value.startswith(("/dev", "/sys", "/proc", "/etc", "/var/log")):
            continue
        if volume.kind in {"empty-dir", "memory", "ephemeral", "host-path"} or volume.per_pod:
            return True
    return False


# The Hub


def hub_ids(process: TrainingProcess) -> list[Set[str]]:
    """Models and datasets that the program is told, or names itself, by their ids on the Hub, each once."""
    found: dict[str, Set[str]] = {}
    settings: list[Setting[str] | None] = [process.settings.extra.get("model"), process.settings.extra.get("dataset")]
    for names in (facts.MODEL_OPTIONS, facts.DATASET_OPTIONS):
        settings.extend(given.value for _, given in process.options.among(names))
    settings.extend(process.settings.fetched)
    for setting in settings:
        if isinstance(setting, Set) and setting.origin.via != "default" and facts.is_hub_id(setting.value):
            found.setdefault(setting.value, setting)
    return list(found.values())


def fetches_from_hub(process: TrainingProcess) -> bool:
    """Ids are surely looked up at the Hub by every pod: not offline, no mirror, no cache that outlives the pod."""
    environment = process.environment
    for name in facts.HUB_OFFLINE:
        value = environment.get(name)
        if isinstance(value, Unknown) or (
            isinstance(value, Set) and value.value.strip().lower() not in {"", "0", "false", "no"}
        ):
            return False
    endpoint = environment.get("HF_ENDPOINT")
    if not isinstance(endpoint, Absent) and not (isinstance(endpoint, Set) and facts.HUB_HOST in endpoint.value):
        return False
    return not _keeps_cache(process)


def _keeps_cache(process: TrainingProcess) -> bool:
    """A cache folder of the Hub's libraries lies on what outlives the pod, or may lie there."""
    container, pod = process.container, process.role.pod
    named: list[Setting[str]] = [process.environment.get(name) for name in facts.HUB_CACHES]
    for option in facts.HUB_CACHE_OPTIONS:
        given = process.options.find(option)
        if given is not None:
            named.append(given.value)
    for value in named:
        if isinstance(value, Unknown):
            return True
        if isinstance(value, Set) and _outlives(volume_at(value.value, container, pod)):
            return True
    for mount in container.mounts:
        if not isinstance(mount.path, Set) or facts.HUB_CACHE_FOLDER in mount.path.value or mount.path.value == "/root":
            volume = pod.volume(mount.volume)
            if volume is None or volume.kind not in {"empty-dir", "memory"}:
                return True
    return bool(container.mounts_open)


def _outlives(at: Setting[Volume]) -> bool:
    if isinstance(at, Set):
        return at.value.kind not in {"empty-dir", "memory", "ephemeral"}
    return isinstance(at, Unknown)


def prefetched(workload: Workload) -> bool:
    """A step before the training brings models or data: an initializer's role, an init container."""
    if any(path.startswith("spec.initializer") for path in workload.fields):
        return True
    names = [role.name for role in workload.roles if not role.trains]
    for role in workload.roles:
        for container in role.pod.init_containers:
            names.append(container.name)
            if any(command.name in {"hf", "huggingface-cli", "git"} for command in container.commands):
                return True
    for name in names:
        words = name.lower().replace("_", "-").split("-")
        if facts.PREFETCH_WORDS.intersection(words):
            return True
    return any(
        stager.program in {"hf", "huggingface-cli"}
        for role in workload.roles
        for container in role.pod.containers
        for command in container.commands
        if (stager := _stager(command)) is not None
    )


# Staging


class Staging(Struct, frozen=True):
    """A command that copies data from a bucket or a server to a folder, and what that folder lies on."""

    title: str
    source: str
    target: str
    incremental: bool
    kept: bool
    origin: Origin


def stagings(workload: Workload, role: Role, container: Container) -> Iterator[Staging]:
    """What a container copies before it trains, where both ends are seen."""
    for command in start_commands(workload, container):
        stager = _stager(command)
        if stager is None:
            continue
        ends = _ends(stager, command)
        if ends is None:
            continue
        source, target = ends
        if target.startswith(".") or not target.startswith("/"):
            base = command.directory
            if not isinstance(base, Set):
                continue
            target = f"{base.value.rstrip('/')}/{target}"
        at = volume_at(target, container, role.pod)
        if isinstance(at, Unknown):
            continue
        yield Staging(stager.title, source, target, stager.incremental, _outlives(at), Origin(command.place))


def _stager(command: Command) -> facts.Stager | None:
    texts = [word.known for _, word in operands(command.words[1:], facts.STAGER_VALUED)]
    for stager in facts.STAGERS:
        if command.name == stager.program and tuple(texts[: len(stager.words)]) == stager.words:
            return stager
    return None


def _ends(stager: facts.Stager, command: Command) -> tuple[str, str] | None:
    """Source and target of a copy towards the container; None for the other direction, for small files, for what is
    not known."""
    words = [word.known or word.prefix for word in command.words[1:]]
    target = ""
    for index, text in enumerate(words[:-1]):
        if text in facts.DATA_TARGET_OPTIONS:
            target = words[index + 1]
    rest = [word.known or word.prefix for _, word in operands(command.words[1:], facts.STAGER_VALUED)][
        len(stager.words) :
    ]
    rest = [text for text in rest if text and text != target]
    if not rest:
        return None
    source = rest[0]
    target = target or (rest[-1] if len(rest) > 1 else ".")
    if facts.SMALL_FILES.fullmatch(source) or "://" in target or ("://" not in source and not facts.is_hub_id(source)):
        return None
    if stager.program in {"wget", "curl"} and not facts.ARCHIVES.fullmatch(source):
        return None
    if stager.program == "git" and not facts.DATA_REPOSITORY.fullmatch(source):
        return None
    return source, target
