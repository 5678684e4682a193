from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.variables import variable
from kube_gaplint.findings import Fix, Gap, Related, RemoveEntry, RenameKey, Severity
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.variables import stands_alone
from kube_gaplint.model.watchdog import RENAMED
from kube_gaplint.rule import Context, rule

OLD_NAMES = (
    "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING",
    "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
)


@rule(
    code="NCCL009",
    name="renamed-variable",
    view=TrainingProcess,
    variables=OLD_NAMES,
    severity=Severity.INFO,
    tier="later",
    evidence=("renamed-nccl-variable", "pytorch-97191"),
    evidence_kind="facts",
    sources=("pytorch-elastic-agent", "pytorch-process-group-nccl"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """A variable of torch stands under its old name, which torch 2.2 and later read with a warning or not at all.

    ## What it flags
    `NCCL_ASYNC_ERROR_HANDLING`, `NCCL_BLOCKING_WAIT` or `NCCL_DESYNC_DEBUG` (and two rarer ones) where torch is known
    to be 2.2 or later. The names are `TORCH_NCCL_…` since then. The old one is still read, but the new one wins where
    both are set, and torchrun sets `TORCH_NCCL_ASYNC_ERROR_HANDLING=1` by itself: another value under the old name is
    then without effect.

    ## Why it hurts
    Little today: a warning in every rank's log, which frameworks and scripts carried on for two years and more
    (ray, issue 47286; physicsnemo, issue 568). The value that torchrun overrides in silence is the trap. The
    watchdog that failed to end hung processes (pytorch issue 97191) led to new defaults together with the new
    names; a manifest that still has the old ones was written for another torch. No report tells of a loss by it:
    the rule rests on how torch and torchrun read the names.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ddp}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [python, train.py]
                env: [{name: NCCL_ASYNC_ERROR_HANDLING, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ddp}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [python, train.py]
                env: [{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    In a manifest that is used with images of torch before 2.2 as well: set both names there.

    ## Fix safety
    Safe: the new name means the same. Where the old one has no effect it is removed, since renaming it would change
    what the run does.

    ## References
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    - https://github.com/pytorch/pytorch/issues/97191
    - https://github.com/ray-project/ray/issues/47286
    """
    if process.torch_at_least(RENAMED) is not True or process.uses_torch_surely_not:
        return
    for name in OLD_NAMES:
        row = variable(name)
        value = process.environment.variables.get(name)
        if row is None or value is None or isinstance(value, Absent) or value.origin is None:
            continue
        if not value.origin.written or value.origin.place == process.environment.home.place:
            continue
        new = process.environment.get(row.replaced_by)
        editable = stands_alone(name, value.origin)
        named_at = value.origin if isinstance(value, Set) else process.environment.names.get(name, value.origin)
        related: tuple[Related, ...] = ()
        shown = f"{name}={value.value}" if isinstance(value, Set) else name
        if isinstance(new, Absent):
            fix = Fix(
                f"rename it to {row.replaced_by}",
                (RenameKey(named_at, row.replaced_by),) if editable else (),
                safe=True,
            )
            message = f"{shown}: since torch 2.2 the name is {row.replaced_by}"
            consequence = "the old name is read with a warning"
        elif isinstance(new, Set) and isinstance(value, Set) and new.value != value.value:
            fix = Fix(f"remove {name}", (RemoveEntry(value.origin),) if editable else (), safe=True)
            by = f" ({new.origin.note})" if new.origin.note else ""
            message = f"{shown} has no effect: {row.replaced_by}={new.value}{by} wins"
            consequence = f"{new.value} is in force"
            related = (Related(new.origin, f"{row.replaced_by} comes from here"),)
        else:
            fix = Fix(f"remove {name}", (RemoveEntry(value.origin),) if editable else (), safe=True)
            message = f"{shown} repeats {row.replaced_by} under its old name"
            consequence = f"{row.replaced_by} wins where the two differ"
        yield Gap(
            value.origin,
            message,
            consequence,
            detail=name,
            related=related,
            fix=fix,
            container=process.container.name,
        )
