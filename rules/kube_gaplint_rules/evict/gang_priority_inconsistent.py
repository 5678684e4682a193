from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.eviction import gang
from kube_gaplint.model.needs import has_priority, has_several_roles
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

FIELD = "priorityClassName"
_LAUNCHER = "Launcher"
"""A role that holds no ranks, and without which they end: mpirun runs in it."""


@rule(
    code="EVICT005",
    name="gang-priority-inconsistent",
    view=Workload,
    needs=(has_several_roles, has_priority),
    severity=Severity.WARNING,
    evidence=("trainer-preemption",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Roles of one gang have different priorities, so that part of it can be preempted.

    ## What it flags
    Roles on accelerators of one training job whose `priorityClassName` differ, or that have one in part only: those
    with ranks, and an MPI launcher that asks for a GPU. Launchers and heads without accelerators are left alone, and so
    are Volcano tasks, which inherit the class of their job.

    ## Why it hurts
    The scheduler preempts pods, not jobs. When the role with the lower class goes, the others hold their GPUs and wait
    for it in a collective. Kubeflow found that the group of pods of a TrainJob takes the class of whichever role comes
    last, and that preempted pods were not made anew.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          restartPolicy: OnFailure
          template:
            spec:
              priorityClassName: research-high
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          restartPolicy: OnFailure
          template:
            spec:
              priorityClassName: research-high
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          restartPolicy: OnFailure
          template:
            spec:
              priorityClassName: research-high
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    The lower role is a helper that the training does without.

    ## Fix safety
    Safe where a role has no class: it gets that of the others. Which of two different classes is meant, a person knows.

    ## References
    - https://github.com/kubeflow/trainer/pull/3316
    - https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """
    if not workload.trains or workload.batch is not None:
        return
    members = (role for role in gang(workload) if role.trains or role.name == _LAUNCHER)
    roles = [role for role in members if not role.pod.overrides_unknown]
    classes = [role.pod.fields.get(FIELD, Absent(role.pod.origin)) for role in roles]
    if len(roles) < 2 or any(isinstance(one, Unknown) for one in classes):
        return
    first = next((one for one in classes if isinstance(one, Set)), None)
    if first is None:
        return
    odd = [(role, one) for role, one in zip(roles, classes, strict=True) if _name(one) != first.value]
    if not odd:
        return
    role, setting = odd[0]
    missing = all(isinstance(one, Absent) for _, one in odd)
    other = f"none on {role.name}" if isinstance(setting, Absent) else f"{_name(setting)} on {role.name}"
    yield Gap(
        setting.origin if isinstance(setting, Set) else role.pod.origin,
        f"roles of one gang have different priorities: {first.value} on {_owner(roles, classes, first)}, {other}",
        f"the scheduler preempts the lower ones, and the rest of {size(workload)} wait for them on their GPUs",
        detail="priority",
        related=(Related(first.origin, "the class of the other roles"),),
        fix=_fix(odd, first.value, missing=missing),
    )


def _name(setting: Set[str] | Absent | Unknown) -> str:
    return setting.value if isinstance(setting, Set) else ""


def _owner(roles: list[Role], classes: list[Set[str] | Absent | Unknown], found: Set[str]) -> str:
    return next(role.name for role, one in zip(roles, classes, strict=True) if one is found)


def _fix(odd: list[tuple[Role, Set[str] | Absent | Unknown]], name: str, *, missing: bool) -> Fix:
    if not missing or any(role.pod.origin.chain for role, _ in odd):
        return Fix("give all roles of the gang the same priorityClassName")
    changes: tuple[Change, ...] = tuple(SetKey(role.pod.origin, (FIELD,), name) for role, _ in odd)
    return Fix(f"give them the class of the others: priorityClassName: {name}", changes, safe=True)
