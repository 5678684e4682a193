from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetVariable, Severity
from kube_gaplint.model.scale import gpu_count
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

DEBUG, SUBSYSTEMS, TORCH_DEBUG = "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "TORCH_DISTRIBUTED_DEBUG"


@rule(
    code="NCCL013",
    name="debug-left-on",
    view=TrainingProcess,
    variables=(DEBUG, TORCH_DEBUG),
    severity=Severity.INFO,
    evidence=("IL-0125",),
    evidence_kind="facts",
    sources=("nccl-env", "nccl-cumem"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Debugging output of every collective is left on in a multi-node run: it slows the run and buries the error.

    ## What it flags
    In a training job of several nodes: `NCCL_DEBUG=TRACE`, `NCCL_DEBUG=INFO` together with `NCCL_DEBUG_SUBSYS=ALL`, and
    `TORCH_DISTRIBUTED_DEBUG=DETAIL`. `INFO` alone is not flagged: it writes at the start and when something fails.
    `CUDA_LAUNCH_BLOCKING=1` is not flagged either: BLOOM kept it on purpose, against another hang.

    ## Why it hurts
    NVIDIA's guide lists these as settings that should not stand in production. With all subsystems every collective of
    every rank writes lines, which fills logs and hides the one line that tells which rank failed first. `DETAIL` lets
    torch compare every collective across the ranks before it runs. No incident blames this for a lost run; BLOOM's
    engineers, who had to find one bad rank among 384, show what a log is needed for.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: loud}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_DEBUG, value: TRACE}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: quiet}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_DEBUG, value: WARN}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    While a hang is being looked for. Let `NCCL_DEBUG_FILE` point to a volume then, so that the logs stay readable.

    ## Fix safety
    Safe: what is computed does not change. `WARN` still tells why NCCL failed.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#debugging
    - https://pytorch.org/docs/stable/distributed.html#torch-distributed-debug
    """
    if not process.workload.trains or process.workload.multi_node is not True:
        return
    level = process.environment.get(DEBUG)
    parts = process.environment.get(SUBSYSTEMS)
    if isinstance(level, Set):
        word = level.value.strip().upper()
        everything = isinstance(parts, Set) and "ALL" in {part.strip().upper() for part in parts.value.split(",")}
        if word == "TRACE" or (word == "INFO" and everything):
            related = (Related(parts.origin, "for all subsystems"),) if everything and isinstance(parts, Set) else ()
            shown = f"{DEBUG}={level.value}" + (f" with {SUBSYSTEMS}=ALL" if everything else "")
            yield _gap(process, level, shown, "writes lines for every collective of every rank", related, DEBUG, "WARN")
    detail = process.environment.get(TORCH_DEBUG)
    if isinstance(detail, Set) and detail.value.strip().upper() == "DETAIL" and not process.uses_torch_surely_not:
        shown = f"{TORCH_DEBUG}={detail.value}"
        yield _gap(process, detail, shown, "compares every collective across all ranks first", (), TORCH_DEBUG, "OFF")


def _gap(
    process: TrainingProcess, value: Set[str], shown: str, effect: str, related: tuple[Related, ...], name: str, to: str
) -> Gap:
    gpus = gpu_count(process.workload)
    ranks = f"{gpus:,} ranks write and wait for it" if gpus else "every rank writes and waits for it"
    return Gap(
        value.origin,
        f"{shown} {effect}",
        f"{ranks}, and the line that names the first failure is hard to find",
        detail=name,
        related=related,
        fix=Fix(f"set {name} to {to}", (SetVariable(process.environment.home, name, to),), safe=True),
        container=process.container.name,
    )
