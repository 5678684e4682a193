from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.resources import CPUS_OF_A_GPU
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.resources import Asked, asked, data_workers, limit
from kube_gaplint.model.scale import counted
from kube_gaplint.model.setting import Set
from kube_gaplint.model.units import quantity
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


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
    A CPU limit below four cores a GPU or below the number of data-loader workers that the program is given; and a
    container with GPUs on a shared node that requests memory but no CPU (where memory is missing too, that finding
    tells of both). Launchers without GPUs, slices of GPUs and benchmarks are left alone.

    ## Why it hurts
    The limit is a quota in every 100 ms: threads that use it up stand still for the rest, 90 of 100 ms in one report
    with 40 threads on 4 CPUs, and the GPUs stand still with them. Of 706 causes of GPUs that idled half of their time,
    46 % were in data operations. A slow rank slows all ranks down; one that stops for long ends in a timeout.

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
    """
    for one in asked(workload, context.profile):
        bound = limit("cpu", one.container, one.role.pod, workload)
        if isinstance(bound, Set):
            yield from _too_low(workload, one, bound)
        elif "cpu" in one.missing and not one.alone and not one.shared_without_memory:
            yield Gap(
                one.place,
                f"{counted(one.devices, 'GPU')}, but no CPU request",
                "other pods on the node take the cores that feed the GPUs, and the slowest rank sets everybody's pace",
                detail="request",
                fix=Fix(f"request at least {CPUS_OF_A_GPU} CPUs a GPU, and what the data loaders need"),
                container=one.container.name,
            )


def _too_low(workload: Workload, one: Asked, bound: Set[str]) -> Iterator[Gap]:
    cores = quantity(bound.value)
    if cores is None or any(device.partial or device.vendor == "tpu" for device in one.container.accelerators):
        return
    workers = data_workers(workload, one.container)
    least = CPUS_OF_A_GPU * one.devices
    need, why = least, f"{counted(one.devices, 'GPU')} ({CPUS_OF_A_GPU} cores each: {least})"
    if workers is not None and workers.value > need:
        need, why = workers.value, f"the {workers.value} data-loader workers of a process"
    if cores >= need:
        return
    yield Gap(
        bound.origin,
        f"a CPU limit of {bound.value} is too low for {why}",
        "the kernel stops the threads that use it up for the rest of each 100 ms, and the GPUs wait for them",
        detail="limit",
        related=() if workers is None else (Related(workers.origin, "the data-loader workers"),),
        fix=Fix(f"raise the limit to {need} or more, or drop it and keep a request"),
        container=one.container.name,
    )
