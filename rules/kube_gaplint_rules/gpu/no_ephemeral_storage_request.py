from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.disk import disk_writes
from kube_gaplint.model.rendezvous import computes_together
from kube_gaplint.model.resources import asked
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU006",
    name="no-ephemeral-storage-request",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("ephemeral-evictions",),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The job fills the node's disk, which it did not ask for.

    ## What it flags
    A training container that writes caches, logs, data or checkpoints into its own layer or an emptyDir on disk, by the
    folders that its variables, options and start script name, and has no request or limit for `ephemeral-storage`.
    Persistent volumes, host paths and emptyDirs in memory are no such disk. An emptyDir that is mounted as scratch
    space counts where a command or a variable names it, a tracker's folder (`WANDB_DIR`) where the program's options
    turn the tracker on, and checkpoints where it is known when the program saves them: the run may be over before.
    Checkpoints that are lost with the pod are another rule's, and where memory is not requested either, that finding
    tells of both.

    ## Why it hurts
    A request of zero means that any use is above it: under disk pressure the kubelet evicts this pod first ("using 40
    Gi, which exceeds its request of 0"), and the scheduler keeps putting more pods on the disk. The caches are lost
    with the pod, the rank's peers wait if it has any, and the next node fills up in the same way.

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
            command: [torchrun, --nproc-per-node=8, train.py]
            env: [{name: HF_HOME, value: /tmp/hf}]
            resources: {limits: {nvidia.com/gpu: 8, memory: 900Gi}}
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
            command: [torchrun, --nproc-per-node=8, train.py]
            env: [{name: HF_HOME, value: /tmp/hf}]
            resources:
              requests: {ephemeral-storage: 400Gi}
              limits: {nvidia.com/gpu: 8, memory: 900Gi}
    ```

    ## When to keep it
    When what is written is known to be small.

    ## Fix safety
    There is no automatic fix: the amount is yours to measure, and must fit on the node's disk.

    ## References
    - https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage
    - https://github.com/kubernetes/kubernetes/issues/91600
    """
    loss = "the other ranks wait" if several_pods(workload) and computes_together(workload) else "its work stops there"
    for one in asked(workload, context.profile):
        if "ephemeral-storage" not in one.missing or one.shared_without_memory:
            continue
        writes = disk_writes(workload, one.role, one.container)
        if not writes:
            continue
        first = writes[0]
        more = f" and {len(writes) - 1} more" if len(writes) > 1 else ""
        yield Gap(
            one.place,
            f"{first.what} in {first.path} on {first.where}{more}, but no request for ephemeral-storage",
            f"under disk pressure the kubelet evicts first what is most above its request, and {loss}",
            detail="ephemeral-storage",
            related=tuple(Related(write.origin, f"{write.what} in {write.path}") for write in writes),
            fix=Fix("request the ephemeral-storage that the job fills, or write to a volume"),
            container=one.container.name,
        )
