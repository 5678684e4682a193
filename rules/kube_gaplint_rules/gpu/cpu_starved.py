from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.resources import CPUS_OF_A_GPU
from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.loader_workers import workers_in_text
from kube_gaplint.model.rendezvous import computes_together
from kube_gaplint.model.resources import Asked, asked, busy_cores, cpus_of_a_node, data_workers, limit, processes_in
from kube_gaplint.model.scale import counted
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.units import quantity
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

LEAST_OF_A_GPU = 2
"""Cores that a process and one data-loader worker keep busy."""
THREADS_OF_A_CORE = 2
"""What Slurm counts as a CPU may be a core with so many threads."""


@rule(
    code="GPU007",
    name="cpu-starved",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("msr-low-gpu-util", "cfs-throttle"),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The training container has too few CPUs for its GPUs and data workers, or asks for none.

    ## What it flags
    A CPU limit below what the training processes and their data-loader workers keep busy, where the program is told of
    workers, or every `DataLoader` in its script is written with a number of them; below four cores a GPU, where that is
    not known of each. From two cores a GPU on that is info: PyTorch's DataLoader starts no workers unless it is told
    to, a program that starts one needs no more, and how many it starts may stand in its code. And a container with GPUs
    on a shared node that requests memory but no CPU (where memory is missing too, that finding tells of both). In a
    batch script: fewer than half as many CPUs a node (`--cpus-per-task`, `--cpus-per-gpu`) as the program is told of
    workers. A bare `--num-workers` of a program of Ray's does not count: it may be the number of its ranks. Launchers
    without GPUs, slices of GPUs, benchmarks and Slurm jobs with `--exclusive` are left alone.

    ## Why it hurts
    The limit is a quota in every 100 ms: threads that use it up stand still for the rest, 90 of 100 ms in one report
    with 40 threads on 4 CPUs, and the GPUs stand still with them. Of 706 causes of GPUs that idled half of their time,
    46 % were in data operations. Among several ranks a slow one slows all down; one that stops for long ends in a
    timeout.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=4, train.py, --num_workers=6]
            resources: {limits: {nvidia.com/gpu: 4, cpu: 8, memory: 400Gi}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=4, train.py, --num_workers=6]
            resources:
              requests: {cpu: 40, memory: 400Gi}
              limits: {nvidia.com/gpu: 4, memory: 400Gi}
    ```

    ## When to keep it
    When the data lies ready in GPU memory and the CPUs are known to idle.

    ## Fix safety
    Unsafe: a larger request may not fit on the nodes that you have.

    ## References
    - https://www.microsoft.com/en-us/research/publication/an-empirical-study-on-low-gpu-utilization-of-deep-learning-jobs
    - https://github.com/kserve/kserve/issues/1031
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """
    yield from _of_slurm(workload)
    for one in asked(workload, context.profile):
        bound = limit("cpu", one.container, one.role.pod, workload)
        if isinstance(bound, Set):
            yield from _too_low(workload, one, bound)
        elif "cpu" in one.missing and not one.alone and not one.shared_without_memory:
            yield Gap(
                one.place,
                f"{one.shown}, but no CPU request",
                f"other pods on the node take the cores that feed the {one.noun}s, and {_loss(workload, one)}",
                detail="request",
                fix=Fix(
                    f"request at least {CPUS_OF_A_GPU} CPUs a GPU, and what the data loaders need",
                    _requested(one, CPUS_OF_A_GPU * one.devices),
                ),
                container=one.container.name,
            )


def _of_slurm(workload: Workload) -> Iterator[Gap]:
    """CPUs that the options of a batch script ask for, against the data-loader workers that its program is told of."""
    cpus = cpus_of_a_node(workload)
    for process in workload.processes if cpus is not None else ():
        workers, processes = data_workers(workload, process.container), processes_in(workload, process.container)
        if cpus is None or workers is None or THREADS_OF_A_CORE * cpus.value >= processes * workers.value:
            continue
        many = "" if processes == 1 else f" of each of {processes} processes"
        yield Gap(
            cpus.origin,
            f"{counted(cpus.value, 'CPU')} a node {'is' if cpus.value == 1 else 'are'} too few for "
            f"{counted(workers.value, 'data-loader worker')}{many}",
            "the workers take turns on them, and the GPUs wait for data",
            detail="slurm",
            related=(Related(workers.origin, "the data-loader workers"),),
            fix=Fix(f"ask for {processes * workers.value} CPUs a node, or start fewer workers"),
            container=process.container.name,
        )
        return


def _loss(workload: Workload, one: Asked) -> str:
    """What a slow process costs: the pace of all ranks, or that of its own GPUs."""
    ranks = several_pods(workload) and computes_together(workload)
    if ranks or processes_in(workload, one.container) > 1:
        return "the slowest rank sets everybody's pace"
    return f"the {one.noun} waits for its process" if one.devices == 1 else f"the {one.noun}s wait for their process"


def _too_low(workload: Workload, one: Asked, bound: Set[str]) -> Iterator[Gap]:
    cores = quantity(bound.value)
    if cores is None or any(device.partial or device.vendor == "tpu" for device in one.container.accelerators):
        return
    workers, processes = data_workers(workload, one.container), processes_in(workload, one.container)
    told = workers is not None and processes >= one.devices  # what each GPU has for company is known
    need = 0 if told else CPUS_OF_A_GPU * one.devices
    why = f"{one.shown} ({CPUS_OF_A_GPU} cores each: {need})"
    if workers is not None and (busy := busy_cores(processes, workers.value)) > need:
        many = "" if processes == 1 else f" of each of {processes} processes"
        need, why = busy, f"{counted(workers.value, 'data-loader worker')}{many}"
    written = workers_in_text(workload, one.container) if workers is None and processes >= one.devices else None
    counts = written is not None and busy_cores(processes, written) > need
    if written is not None and counts:
        many = "" if processes == 1 else f" in each of {processes} processes"
        need, why = (
            busy_cores(processes, written),
            f"the {counted(written, 'data-loader worker')} that its program starts{many}",
        )
    if cores >= need:
        return
    yield Gap(
        bound.origin,
        f"a CPU limit of {bound.value} is too low for {why}",
        f"the kernel stops the threads that use it up for the rest of each 100 ms, and {_loss(workload, one)}",
        detail="limit",
        severity=Severity.INFO if workers is None and not counts and cores >= LEAST_OF_A_GPU * one.devices else None,
        related=() if workers is None else (Related(workers.origin, "the data-loader workers"),),
        fix=Fix(f"raise the limit to {need} or more, or drop it and keep a request", _raised(bound.origin, need)),
        container=one.container.name,
    )


def _requested(one: Asked, cores: int) -> tuple[Change, ...]:
    container = one.container.origin
    return () if container.node is None else (SetKey(container, ("resources", "requests", "cpu"), cores),)


def _raised(bound: Origin, cores: int) -> tuple[Change, ...]:
    return (ReplaceValue(bound, str(cores)),) if bound.written else ()
