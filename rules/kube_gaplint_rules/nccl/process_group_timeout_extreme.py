from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity, rescaled
from kube_gaplint.model.needs import sets_timeout
from kube_gaplint.model.scale import duration, idle_cost, size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

LONG = 2 * 3600.0
SHORT = 60.0
"""Seconds. A link that flaps or a slow save takes longer than the one; nobody waits out the other."""


@rule(
    code="NCCL004",
    name="process-group-timeout-extreme",
    view=TrainingProcess,
    needs=(sets_timeout,),
    severity=Severity.WARNING,
    evidence=("bloom-eval-deadlock", "unicron"),
    sources=("pytorch-constants", "composer-timeout"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """The collective timeout is hours long or switched off, or so short that a flapping link ends the run.

    ## What it flags
    A process-group timeout that somebody set: two hours or more, 0 or less (no limit in effect), or below 60 seconds
    where the job runs over RDMA. Units are the framework's own: `ddp_timeout` is seconds,
    `--distributed-timeout-minutes` and `DEEPSPEED_TIMEOUT` are minutes. One for the first step alone is not judged.

    ## Why it hurts
    The timeout is the least that a silent hang costs: every GPU waits until it expires. BLOOM lost about 18, 6 and 11
    hours of 384 A100s to three deadlocks at evaluation which no timeout ended; Alibaba's study of failures in its
    cluster names slow detection as a main part of their cost. Some tutorials ship `ddp_timeout: 180000000`: 5.7 years.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: sft}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime
                command: [torchrun, run_clm.py, --output_dir, /ckpt, --ddp_timeout, "180000000"]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: sft}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime
                command: [torchrun, run_clm.py, --output_dir, /ckpt, --ddp_timeout, "2400"]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When one rank really works alone for hours (tokenising, converting a checkpoint). Better do that in its own job.

    ## Fix safety
    Unsafe: the timeout must be longer than the slowest step that only one rank does. A long one becomes 30 minutes, a
    short one 10. One that is switched off is left to you: nothing tells in which unit to write it.

    ## References
    - https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    - https://arxiv.org/abs/2401.00134
    """
    workload = process.workload
    timeout = process.settings.timeout
    if not workload.trains or workload.alone or not isinstance(timeout, Set) or not timeout.origin.written:
        return
    seconds = timeout.value
    related = () if timeout.origin.place == process.origin.place else (Related(process.origin, "started here"),)
    if seconds <= 0:
        yield Gap(
            timeout.origin,
            f"the process-group timeout is {seconds:g}: no hang is ever ended",
            f"{size(workload)} waits until a person looks",
            detail="off",
            related=related,
            fix=Fix(_remedy(process, "10 to 30 minutes")),
            container=process.container.name,
        )
    elif seconds >= LONG:
        cost = idle_cost(workload, seconds)
        yield Gap(
            timeout.origin,
            f"the process-group timeout is {duration(seconds)}: a hang goes unnoticed for that long",
            f"each hang idles {size(workload)} for {duration(seconds)}" + (f": {cost}" if cost else ""),
            detail="long",
            related=related,
            fix=Fix(_remedy(process, "30 minutes"), rescaled(timeout.origin, seconds, 1800.0)),
            container=process.container.name,
        )
    elif seconds < SHORT and workload.multi_node is not False:
        rdma = process.rdma_evidence
        if rdma is not None or (context.profile.rdma is True and not process.other_fabric):
            yield Gap(
                timeout.origin,
                f"the process-group timeout is {duration(seconds)}, less than a link that flaps may take",
                f"a link that is away for {duration(seconds)} ends the run of {size(workload)}",
                detail="short",
                related=related if rdma is None else (*related, Related(rdma, "RDMA is used")),
                fix=Fix(_remedy(process, "10 minutes"), rescaled(timeout.origin, seconds, 600.0)),
                container=process.container.name,
            )


def _remedy(process: TrainingProcess, length: str) -> str:
    how = process.framework.timeout_option if process.framework is not None else ""
    return f"set {how or 'it'} to {length}, if that is longer than the slowest step that only one rank does"
