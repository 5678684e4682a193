from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.frameworks import PLAIN_TIMEOUT
from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.scale import duration, idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.watchdog import ASYNC, handling_by_default, handling_is_off, switch
from kube_gaplint.model.world import all_processes
from kube_gaplint.rule import Context, rule

SHORTEST_DEFAULT = 600.0
FEW_ACCELERATORS = 8
"""A hang of so small a job costs a few GPU-hours, and a default ends it."""
BRIEF = 300.0
"""A default of so few seconds ends a hang soon, as torchtitan's 100 s do."""
MANY_TIMES = 6
"""Jobs that may run for fewer timeouts than this have their own limit to end a hang."""


@rule(
    code="NCCL003",
    name="process-group-timeout-default",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("IL-0128",),
    tier="later",
    sources=("pytorch-constants", "axolotl-ddp-timeout", "deepspeed-save-timeout"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """A multi-node job leaves the collective timeout at its default, so nobody chose how long a hang may last.

    ## What it flags
    Several nodes, and neither the script nor the framework's options set the process-group timeout. Defaults differ: 10
    minutes in torch 2.2+, Megatron-LM and Accelerate; 30 minutes in the Hugging Face Trainer, Lightning, DeepSpeed and
    Ray Train, whatever torch says. No environment variable sets it. Info where the program is not visible, for up to 8
    GPUs or, where those are not known, processes, where the default is at most 5 minutes (torchtitan), and where the
    framework has no option for it; jobs whose own time limit is below six timeouts and smoke tests of up to 200 steps
    are left alone.

    ## Why it hurts
    The timeout is what ends a hang: until it expires, every GPU waits. Too short is as bad: MegaScale saw jobs on more
    than 10,000 GPUs die from links that were away for seconds, and set explicit, larger timeouts. Choose it knowingly.

    ## Bad
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: gpt}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 8
            completions: 8
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: megatron
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=8, --nproc-per-node=8, pretrain_gpt.py, --train-iters=200000,
                            --tensor-model-parallel-size=4, --save=/ckpt, --load=/ckpt, --save-interval=500]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: gpt}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 8
            completions: 8
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: megatron
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=8, --nproc-per-node=8, pretrain_gpt.py, --train-iters=200000,
                            --tensor-model-parallel-size=4, --save=/ckpt, --load=/ckpt, --save-interval=500,
                            --distributed-timeout-minutes=20]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When the default was looked at and fits: longer than the longest work that only rank 0 does, and not much longer.

    ## Fix safety
    There is no automatic fix: the right number depends on the slowest step of the run.

    ## References
    - https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    - https://github.com/pytorch/pytorch/pull/110947 (10 minutes for NCCL since torch 2.2)
    """
    if process.workload.multi_node is not True or not process.collective or process.uses_torch_surely_not:
        return
    if Pace.of(process, context.profile).smoke:
        return
    timeout = process.settings.timeout
    limit = process.workload.deadline_seconds
    seconds = timeout.value if isinstance(timeout, Set) else SHORTEST_DEFAULT
    if isinstance(limit, Set) and limit.value <= MANY_TIMES * seconds:
        return  # the job's own time limit ends a hang about as soon as a timeout would
    total = process.workload.accelerators
    if not isinstance(total, Set):
        total = all_processes(process) or total
    small = isinstance(total, Set) and total.value <= FEW_ACCELERATORS
    no_option = process.framework is not None and not process.framework.timeout_option
    brief = isinstance(timeout, Set) and timeout.value <= BRIEF
    severity = Severity.INFO if small or no_option or brief else Severity.WARNING
    if isinstance(timeout, Set) and timeout.origin.via == "default":
        yield _gap(process, timeout.origin, timeout.value, severity)
    elif isinstance(timeout, Absent):
        yield _gap(process, timeout.origin, None, severity)
    elif _nothing_is_seen(process):
        yield _gap(process, process.origin, None, Severity.INFO)


def _nothing_is_seen(process: TrainingProcess) -> bool:
    """Whether the program is one that may set a timeout, and no option of it says so, not even an unknown one."""
    given = process.settings.timeout.origin
    by_option = given is not None and given.place != process.origin.place
    own = process.framework is None and process.program.endswith(".py") and not process.opaque_because
    return own and not by_option


def _ends_hangs(process: TrainingProcess) -> bool:
    """Whether a timeout is enforced; where nothing surely does it, that is NCCL001's."""
    by_default = not process.launched_bare or bool(handling_by_default(process))
    told = not isinstance(switch(process, ASYNC).value, Absent)
    return (by_default or told) and handling_is_off(process) is None


def _gap(process: TrainingProcess, origin: Origin, seconds: float | None, severity: Severity) -> Gap:
    who = process.framework.title if process.framework else "the program"
    how = process.framework.timeout_option if process.framework else PLAIN_TIMEOUT
    if not isinstance(process.settings.timeout, (Set, Absent)):
        name = process.program
        where = f" in {name}" if any(process.text.texts) else f", and the text of {name} is not seen"
        message = f"no process-group timeout is visible{where}"
    elif seconds is None:
        message = f"{who} does not set the process-group timeout"
    else:
        message = f"{who} leaves the process-group timeout at its default of {duration(seconds)}"
    cost = idle_cost(process.workload, seconds) if seconds and _ends_hangs(process) else ""
    consequence = (
        f"each hang idles {size(process.workload)} for {duration(seconds)}: {cost}" if cost and seconds else ""
    )
    return Gap(
        origin,
        message,
        consequence or "how long a hang holds all nodes was left to a default",
        detail="default",
        severity=severity,
        fix=Fix(f"set {how or 'the timeout'}: longer than the slowest step that only one rank does"),
        container=process.container.name,
    )
