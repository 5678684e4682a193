from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.torch import RECORDER_BUFFER_SUGGESTED, defaults, names_read
from kube_gaplint.facts.variables import stoi
from kube_gaplint.findings import Change, Fix, Gap, Related, Severity, give
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.storage import durable_mounts, volume_at
from kube_gaplint.model.training import Release, TrainingProcess, known_release
from kube_gaplint.rule import Context, rule

FIRST: Release = (2, 2)
RENAMED: Release = (2, 8)
ON_BY_DEFAULT: Release = (2, 11)
BUFFER, PREFIX, DUMP = "TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DUMP_ON_TIMEOUT"
FILE = "nccl_trace_rank_"


@rule(
    code="NCCL006",
    name="flight-recorder",
    view=TrainingProcess,
    severity=Severity.INFO,
    evidence=("meta-llama3-405b",),
    sources=("pytorch-flight-recorder", "flight-recorder-lost"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """torch's flight recorder is off or writes where its dump is lost: after a hang nothing tells who was missing.

    ## What it flags
    In a job of several nodes with a known torch: 2.2 to 2.10 without a buffer under a name that the release reads
    (`TORCH_NCCL_TRACE_BUFFER_SIZE`, from 2.8 on also `TORCH_FR_BUFFER_SIZE`), or a buffer of 0. From 2.11 on the
    recorder is on by itself. Where it is on, the dump's path on the pod's own disk is flagged: `/tmp` up to 2.6,
    `~/.cache/torch` later, by default. The value is the beginning of a file name, to which the rank is added.

    ## Why it hurts
    Llama 3 405B stopped 419 times unplanned in 54 days on up to 16,384 GPUs. Meta found the rank at fault by the
    recorder, whose ring buffer of collectives the watchdog dumps when one times out. Without it the logs of thousands
    of ranks all say that somebody else did not come. A dump in the pod goes with the pod.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                volumeMounts: [{name: out, mountPath: /out}]
                resources: {limits: {nvidia.com/gpu: 8}}
              volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env:
                - {name: TORCH_NCCL_TRACE_BUFFER_SIZE, value: "2000"}
                - {name: TORCH_NCCL_DUMP_ON_TIMEOUT, value: "1"}
                - {name: TORCH_NCCL_DEBUG_INFO_TEMP_FILE, value: /out/nccl_trace_rank_}
                volumeMounts: [{name: out, mountPath: /out}]
                resources: {limits: {nvidia.com/gpu: 8}}
              volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
    ```

    ## When to keep it
    Where the platform collects dumps from the pod's disk before it is gone.

    ## Fix safety
    Safe: 2000 entries cost a few megabytes, and files are written only when a collective times out.

    ## References
    - https://pytorch.org/tutorials/prototype/flight_recorder_tutorial.html
    - https://arxiv.org/abs/2407.21783
    """
    torch = known_release(process.torch)
    if process.workload.multi_node is not True or not process.collective or process.uses_torch_surely_not:
        return
    if torch is None or process.torch_at_least(FIRST) is not True or "flight-recorder-buffer" in process.settings.extra:
        return
    if process.torch_is_early and torch[:2] in {RENAMED, ON_BY_DEFAULT}:
        return
    buffer = process.environment.get(*names_read(BUFFER, torch))
    if isinstance(buffer, Absent) and torch < ON_BY_DEFAULT:
        home = process.environment.home
        name = names_read(BUFFER, torch)[0]
        yield _gap(
            process,
            torch,
            Origin(home.place, "derived", node=home.node),
            f"the flight recorder is off: {name} is not set, and {process.torch_shown} has no buffer by default",
        )
    elif isinstance(buffer, Set) and stoi(buffer.value) == 0:
        yield _gap(process, torch, buffer.origin, f"the flight recorder is off: its buffer is {buffer.value}")
    elif isinstance(buffer, Absent | Set) and process.workload.batch is None:
        yield from _lost_dump(process, torch)


def _lost_dump(process: TrainingProcess, torch: Release) -> Iterator[Gap]:
    """The recorder is on: its dump must not go with the pod."""
    row = defaults(torch)
    path = process.environment.get(*names_read(PREFIX, torch))
    if isinstance(path, Set):
        prefix, origin, shown = path.value, path.origin, path.value
    elif isinstance(path, Absent) and row is not None and row.dump_prefix:
        home = process.environment.home
        prefix, origin = _default_prefix(row.dump_prefix, process.environment), Origin(home.place, "derived")
        shown = f"{row.dump_prefix}, the default of {process.torch_shown}"
    else:
        return
    volume = volume_at(prefix, process.container, process.role.pod)
    if isinstance(volume, Absent):
        where: Setting[bool] = volume
    elif isinstance(volume, Set) and isinstance(volume.value.durable, Set) and not volume.value.durable.value:
        where = volume.value.durable
    else:
        return
    yield _gap(
        process,
        torch,
        origin,
        f"the flight recorder dumps to {shown}, on the pod's own disk",
        () if isinstance(where, Absent) or not isinstance(volume, Set) else (Related(volume.origin, "this volume"),),
    )


def _default_prefix(prefix: str, environment: Environment) -> str:
    """A default prefix with its home folder filled in; empty where that is not known."""
    cache = environment.get("XDG_CACHE_HOME")
    home = environment.get("HOME")
    at_home = home.value if isinstance(home, Set) else "/root" if isinstance(home, Absent) else ""
    if "XDG_CACHE_HOME" in prefix:
        base = cache.value if isinstance(cache, Set) else f"{at_home}/.cache" if isinstance(cache, Absent) else ""
        return base + prefix.partition("}")[2] if base else ""
    return prefix.replace("~", at_home, 1) if at_home or not prefix.startswith("~") else ""


def _gap(
    process: TrainingProcess, torch: Release, origin: Origin, message: str, related: tuple[Related, ...] = ()
) -> Gap:
    return Gap(
        origin,
        message,
        f"after a hang of {size(process.workload)} nothing tells which rank stopped first",
        detail="recorder",
        related=related,
        fix=_fix(process, torch),
        container=process.container.name,
    )


def _fix(process: TrainingProcess, torch: Release) -> Fix:
    """In a pod nothing is changed without a volume that outlives it: the dump would be lost, which is a gap as well."""
    environment = process.environment
    changes: list[Change] = []
    mount = next((path for path, _ in durable_mounts(process.container, process.role.pod)), "")
    name = names_read(PREFIX, torch)[0]
    if not mount and process.workload.batch is None:
        return Fix(f"record collectives, and let {name} point to a volume that outlives the pod")
    buffer = environment.get(*names_read(BUFFER, torch))
    if (not isinstance(buffer, Set) and torch < ON_BY_DEFAULT) or (isinstance(buffer, Set) and stoi(buffer.value) == 0):
        changes.extend(give(process, names_read(BUFFER, torch)[0], str(RECORDER_BUFFER_SUGGESTED)))
        row = defaults(torch)
        if row is not None and not row.dump_on_timeout and isinstance(environment.get(DUMP), Absent):
            changes.extend(give(process, DUMP, "1"))
    if not mount:
        return Fix(
            f"record collectives, and let {name} point to a file system that outlives the job",
            tuple(changes),
            safe=True,
        )
    if not isinstance(environment.get(*names_read(PREFIX, torch)), Set) or not changes:
        changes.extend(give(process, name, f"{mount.rstrip('/')}/{FILE}"))
    return Fix(f"record collectives, and dump them to {mount}", tuple(changes), safe=True)
