from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.resources import WORDS, asked
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU005",
    name="no-memory-request",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("memory-evictions", "marin-4339", "ephemeral-evictions"),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """A training container on a shared node asks for GPUs and for no memory.

    ## What it flags
    A container with accelerators and neither a memory request nor a memory limit, on a node that others may share. What
    a limit, the pod's own resources, a LimitRange of the namespace or GKE Autopilot supply counts; Run:ai, whose own
    policies supply it unseen, is left alone. A pod that takes a whole node (eight GPUs, or as many as its machine type
    has, or as many as the nodes have that a `gcloud`, `eksctl` or `az` command or Terraform beside the manifest makes,
    or else as the largest machine that a README or script beside it names, by its type or in words (`nodes with 4
    GPUs`), or as eksctl's node groups in the given paths have) is left alone too. Missing CPU and ephemeral-storage
    requests of the same container are told with it.

    ## Why it hurts
    The scheduler believes that the container uses nothing and fills the node up. When memory runs out the kubelet
    evicts first what is most above its request, and that is the training pod: one rank dies, and all others wait.
    Jobs of Kubeflow ended so after hours (trainer, issue 301), and in another cluster a training pod that used 5 GB
    against a request of 0 (KubeFATE, issue 64). Marin's runs were killed for memory and started again up to 10,000
    times.

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
            resources:
              requests: {cpu: 24, memory: 240Gi}
              limits: {nvidia.com/gpu: 2, memory: 240Gi}
    ```

    ## When to keep it
    When nothing else runs on the GPU nodes (`gpus-per-node` in the profile tells how many GPUs a node has).

    ## Fix safety
    There is no automatic fix: the amount is yours to measure.

    ## References
    - https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#pod-selection-for-kubelet-eviction
    - https://github.com/marin-community/marin/pull/4339
    - https://github.com/kubeflow/trainer/issues/301
    - https://github.com/FederatedAI/KubeFATE/issues/64
    """
    for one in asked(workload, context.profile):
        if not one.shared_without_memory:
            continue
        others = [WORDS[name] for name in one.missing if name != "memory"]
        also = f", and none for {' and '.join(others)}" if others else ""
        yield Gap(
            one.place,
            f"{one.shown}, but no memory request or limit{also}",
            "the node is filled up with other pods, and when its memory runs out this one is evicted first",
            detail="memory",
            fix=Fix("request the memory that the container needs, and set the limit to the same"),
            container=one.container.name,
        )
