from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import declared_short, runs_once
from kube_gaplint.model.eviction import gang
from kube_gaplint.model.needs import chooses_nodes
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.placement import SpotChoice, spot_choice, spot_pool
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.stopping import deaf_shell
from kube_gaplint.model.storage import keeps_nothing, kept
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT003",
    name="spot-unprotected",
    view=Workload,
    needs=(chooses_nodes,),
    severity=Severity.ERROR,
    evidence=("kubeflow-1570", "ray-63968", "karpenter-consolidation"),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """A job on spot nodes does not survive that they are taken away.

    ## What it flags
    Pods that a node selector or a required affinity sends to spot or preemptible nodes, or to a pool of the given paths
    that has only such nodes (a warning where it has others too: a ComputeClass of GKE that falls back to spot, a
    Karpenter pool that may take both), together with any of: no retry after a lost pod, no checkpoint that outlives the
    pod, a shell that keeps SIGTERM from a program which may save then. A toleration alone is no placement. Quiet for
    jobs that are declared to be shorter than an hour, and for elastic ones that save to storage which lasts. Smoke
    tests of up to 200 steps are left alone.

    ## Why it hurts
    The provider takes such nodes whenever it wants them, with a notice of 15 s (GKE), 30 s (Azure) or 2 minutes (EC2).
    Kubeflow's jobs on preemptible GKE nodes failed as a whole when one node was shut down, because nothing made the pod
    anew. Where the signal does not reach the program each preemption throws away a whole interval of every worker.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {eks.amazonaws.com/capacityType: SPOT}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 50
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {eks.amazonaws.com/capacityType: SPOT}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    Something outside the manifest starts the job again (`supervisor` in the profile), or it is short: declare
    `gaplint.dev/run-days`.

    ## Fix safety
    There is no automatic fix: retries, storage and signals are three different changes.

    ## References
    - https://github.com/kubeflow/trainer/issues/1570
    - https://github.com/ray-project/ray/issues/63968
    """
    if not workload.trains or workload.batch is not None or declared_short(workload):
        return
    processes = [process for process in workload.processes if process.program]
    if any(Pace.of(process, context.profile).smoke for process in processes):
        return
    if isinstance(workload.elastic, Set) and workload.elastic.value and _all_kept(processes):
        return
    for role in gang(workload):
        placed = _placed(workload, role)
        if placed is None:
            continue
        gaps = list(_gaps(workload, context, [one for one in processes if one.role is role]))
        if not gaps:
            continue
        notice = placed.choice.notice
        warned = f" after {duration(notice.seconds)} of notice" if notice is not None else ""
        yield Gap(
            placed.choice.origin,
            f"the pods {placed.how}: {' and '.join(what for what, _ in gaps)}",
            f"the first node that is taken away{warned} costs {size(workload)} the run, or all since the last save",
            detail="spot",
            severity=None if placed.surely else Severity.WARNING,
            related=(*placed.related, *(Related(origin, what) for what, origin in gaps)),
            fix=Fix(
                "give it retries, a checkpoint on storage that lasts, and the signal: exec in front of the program"
            ),
        )
        return


class _Placed(Struct, frozen=True):
    """That pods run on spot nodes, in words, and what sends them there."""

    choice: SpotChoice
    how: str
    surely: bool = True
    related: tuple[Related, ...] = ()


def _placed(workload: Workload, role: Role) -> _Placed | None:
    """By what the pods say themselves, or by the pool that they name."""
    choice = spot_choice(role.pod)
    if choice is not None:
        return _Placed(choice, f"run on spot nodes ({choice.key})")
    pool = spot_pool(workload, role.pod)
    if pool is None or pool.spot is None:
        return None
    label = role.pod.node_selector[pool.name_label]
    choice = SpotChoice(pool.name_label, label.origin or role.origin)
    name = f"{pool.subject.kind} {pool.name}"
    how = (
        f"run on spot nodes ({name} has no others)" if pool.spot.only else f"may run on spot nodes ({name} takes some)"
    )
    return _Placed(choice, how, pool.spot.only, (Related(pool.spot.origin, "spot nodes"),))


def _all_kept(processes: list[TrainingProcess]) -> bool:
    return bool(processes) and all(kept(one, one.settings.save_path).state == "kept" for one in processes)


def _gaps(workload: Workload, context: Context, processes: list[TrainingProcess]) -> Iterator[tuple[str, Origin]]:
    """What is missing, in words, with its place."""
    once = runs_once(workload, context.profile)
    if once is not None:
        yield "nothing makes a lost pod anew", once
    for process in processes:
        lost = keeps_nothing(process)
        if lost:
            path = process.settings.save_path
            yield lost, path.origin if isinstance(path, Set) else process.origin
            break
    for process in processes:
        held, saves = deaf_shell(process), process.settings.signal_save
        if held is not None and not (isinstance(saves, Set) and not saves.value):
            yield f"{held.shell} keeps SIGTERM from the program", Origin(held.command.place)
            break
