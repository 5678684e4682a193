from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, RemoveEntry, Severity
from kube_gaplint.model.pod import device_claims
from kube_gaplint.model.resources import takes_whole_node
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

NAME = "NVIDIA_VISIBLE_DEVICES"
OFF = frozenset({"none", "void", ""})


@rule(
    code="GPU004",
    name="visible-devices-override",
    view=Workload,
    variables=(NAME,),
    severity=Severity.ERROR,
    evidence=("gpu-visible-all",),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The container asks the runtime for GPUs past the scheduler, and sees those of other jobs.

    ## What it flags
    `NVIDIA_VISIBLE_DEVICES` set to `all` or to indices in a training container. `none` and `void` switch devices off,
    and exporters that run as a DaemonSet need `all`; both are left alone, and so are pods with device claims. Where a
    container asks for all GPUs of its node (eight, or as many as its machine type is known to have), there are no other
    jobs on it.

    ## Why it hurts
    The device plugin hands GPUs out through this variable. A manifest that sets it wins or loses against the plugin by
    the runtime's configuration; where it wins, two jobs compute on one GPU, and both fail for lack of memory with an
    error that names neither.

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
            command: [torchrun, --nproc-per-node=2, train.py]
            env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
            resources: {limits: {nvidia.com/gpu: 2}}
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
            command: [torchrun, --nproc-per-node=2, train.py]
            resources: {limits: {nvidia.com/gpu: 2}}
    ```

    ## When to keep it
    When the node is used without a device plugin.

    ## Fix safety
    Unsafe: a pod that requests no GPU loses the ones that it took.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    if not workload.trains or workload.batch is not None:
        return
    for role, container in workload.containers():
        value = container.environment.variables.get(NAME)
        if not isinstance(value, Set) or not value.origin.written or value.value.strip().lower() in OFF:
            continue
        text = value.value.strip()
        if device_claims(role.pod) or not (text == "all" or text.replace(",", "").replace(" ", "").isdecimal()):
            continue
        if container.accelerators and takes_whole_node(role.pod, context.profile, workload.surroundings):
            continue
        requested = isinstance(container.accelerator_count, Set)
        yield Gap(
            value.origin,
            f"{NAME}={text} overrides the GPUs that the device plugin hands out",
            "the container sees GPUs of other jobs: both run out of GPU memory, and neither error names the cause",
            detail=NAME,
            fix=Fix(
                f"remove {NAME}" if requested else f"remove {NAME}, and request nvidia.com/gpu",
                (RemoveEntry(value.origin),) if requested else (),
            ),
            container=container.name,
        )
