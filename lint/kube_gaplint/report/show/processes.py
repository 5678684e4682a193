"""Training processes as plain values: launchers, program, framework, versions, checkpoints."""

from __future__ import annotations

from typing import Any

from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.storage import kept
from kube_gaplint.model.training import Launcher as ModelLauncher
from kube_gaplint.model.training import Options, TrainingProcess, TrainingSettings
from kube_gaplint.report.show.shape import Checkpoints, Framework, Launcher, Named, Process, Storage, Value
from kube_gaplint.report.show.values import (
    all_named,
    changes_of,
    named,
    origin_location,
    release,
    value_of,
)


def process_of(process: TrainingProcess) -> Process:
    settings = process.settings
    framework = process.framework
    return Process(
        role=process.role.name,
        container=process.container.name,
        program=process.program,
        opaque_because=process.opaque_because,
        location=origin_location(process.origin),
        certainty=process.command.certainty,
        condition=process.command.condition,
        wrappers=list(process.command.wrappers),
        launchers=[_launcher(launcher) for launcher in process.launchers],
        framework=None
        if framework is None
        else Framework(framework.name, framework.title, framework.evidence.note, origin_location(framework.evidence)),
        torch=value_of(process.torch, release),
        torch_is_early=process.torch_is_early,
        nccl=value_of(process.nccl, release),
        uses_torch=value_of(process.uses_torch),
        timeout_seconds=value_of(settings.timeout),
        checkpoints=_checkpoints(process, settings),
        further=all_named(settings.extra),
        options=_options(process.options),
        options_open_because=process.options.open_because,
        environment=changes_of(process.environment, process.container.environment),
    )


def _launcher(launcher: ModelLauncher) -> Launcher:
    settings: list[tuple[str, Setting[Any]]] = [
        ("nodes", launcher.nodes),
        ("processesPerNode", launcher.processes_per_node),
        ("maxRestarts", launcher.max_restarts),
        ("rendezvousBackend", launcher.rendezvous_backend),
        ("rendezvousId", launcher.rendezvous_id),
        ("rendezvousEndpoint", launcher.rendezvous_endpoint),
        ("rendezvousConf", launcher.rendezvous_conf),
        ("elastic", launcher.elastic),
    ]
    return Launcher(
        launcher.kind,
        origin_location(launcher.origin),
        [Named(name, value_of(setting)) for name, setting in settings if not isinstance(setting, Absent)],
        all_named(launcher.exports),
    )


def _options(options: Options) -> list[Named]:
    """Each option once, as it is in force; a bare flag has the value true."""
    found: dict[str, Named] = {}
    for occurrence in options.occurrences:
        if options.find(occurrence.name) is not occurrence:
            continue
        setting: Setting[Any] = occurrence.value
        if occurrence.bare and isinstance(occurrence.value, Set):
            setting = Set(True, occurrence.value.origin)
        found[occurrence.name] = named(occurrence.name, setting)
    return list(found.values())


def _checkpoints(process: TrainingProcess, settings: TrainingSettings) -> Checkpoints:
    return Checkpoints(
        saving=value_of(settings.saving),
        interval=value_of(settings.save_interval),
        path=value_of(settings.save_path),
        storage=_storage(process),
        second_path=value_of(settings.second_path),
        total=value_of(settings.total),
        retention=value_of(settings.retention),
        resume=value_of(settings.resume),
        asynchronous=value_of(settings.asynchronous),
        in_memory=value_of(settings.in_memory),
        best_only=value_of(settings.best_only),
        signal_save=value_of(settings.signal_save),
        exit_after_seconds=value_of(settings.exit_after),
        samples_per_step=value_of(settings.samples_per_step),
    )


def _storage(process: TrainingProcess) -> Storage:
    found = kept(process, process.settings.save_path)
    mount: Value | None = None
    volume = ""
    if found.mount is not None and found.mount.origin is not None:
        origin = found.mount.origin
        at = next((one for one in process.container.mounts if one.origin == origin), None)
        if at is not None:
            mount, volume = value_of(at.path), at.volume
    return Storage(found.state, found.where, mount, volume)
