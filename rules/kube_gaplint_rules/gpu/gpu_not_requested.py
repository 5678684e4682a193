from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.gpu_use import asks_for_none, gpu_sign, own_sign, takes_by_variable
from kube_gaplint.model.needs import has_no_device
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU009",
    name="gpu-not-requested",
    view=TrainingProcess,
    needs=(has_no_device,),
    severity=Severity.WARNING,
    evidence=("gpu-visible-all",),
    tier="later",
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """The job means to train on GPUs and asks the scheduler for none.

    ## What it flags
    A training job none of whose pods requests or claims an accelerator, while something shows that it runs on GPUs: the
    runtime class `nvidia`, a node label of GPUs, `deepspeed`, `--backend nccl`, `--nproc_per_node=gpu` or 8, an
    `NCCL_*` variable. Where other roles of the job have GPUs, a role without any whose own command says so
    (`--nproc_per_node`, `--backend nccl`). An annotation that asks the scheduler for part of a GPU (`gpu-fraction` of
    KAI and Run:ai) is a request. Jobs on CPUs (gloo as an option or in the program, `--device cpu`, CPU images),
    unknown device resources and runtimes that are not in the given paths are left alone. `NVIDIA_VISIBLE_DEVICES` in
    the container is another rule's.

    ## Why it hurts
    Where NVIDIA's runtime is the node's default, such a pod sees all GPUs of the node, and the scheduler gives the same
    GPUs to others: two jobs share memory, and one of them dies of lack of it, or both crawl. A driver upgrade cannot
    evict the pod either, because it looks for requests. Elsewhere the pod finds no GPU and fails.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          runtimeClassName: nvidia
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=gpu, train.py]
            resources: {requests: {memory: 64Gi}}
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
          runtimeClassName: nvidia
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=gpu, train.py]
            resources: {requests: {memory: 64Gi}, limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    On a single machine without a device plugin.

    ## Fix safety
    There is no automatic fix: how many GPUs it needs is yours to say.

    ## References
    - https://github.com/NVIDIA/k8s-device-plugin/issues/61
    - https://github.com/NVIDIA/gpu-operator/issues/2570
    """
    workload, container = process.workload, process.container
    if not workload.trains or workload.batch is not None or takes_by_variable(container):
        return
    if not asks_for_none(process.role):
        return
    alone = all(map(asks_for_none, workload.roles))
    sign = gpu_sign(process) if alone else own_sign(process)
    if sign is not None:
        what, origin = sign
        who = "nothing requests a GPU" if alone else f"the pods of {process.role.name} request no GPU, as others do"
        yield Gap(
            container.origin,
            f"{who}, but {what} shows that {'the job runs' if alone else 'they run'} on GPUs",
            "it takes GPUs that the scheduler gives to others, and one of the two runs out of memory; or it finds none",
            detail="request",
            related=(Related(origin, what),),
            fix=Fix("request the GPUs under resources.limits"),
            container=container.name,
        )
