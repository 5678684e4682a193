from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import is_brief, loses_nodes, time_between_failures
from kube_gaplint.model.health import screens_nodes
from kube_gaplint.model.scale import size
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY010",
    name="no-node-health-gate",
    view=Workload,
    severity=Severity.INFO,
    evidence=(
        "IL-0137", "IL-0025", "bigscience-13b-shm-bad-node", "opt-175b", "meta-rsc-reliability", "gemini-sdc",
        "ibm-vela", "gpu-after-reboot",
    ),
)  # fmt: skip
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The job starts again by itself, and nothing keeps it from the node on which it has just failed.

    ## What it flags
    A training job on several nodes that something restarts, where no node is looked at first and none is left out: no
    health check in an init container or in front of training in the script (`dcgmi diag`, a script whose name says so,
    `nvidia-smi` where its failure ends the pod), no node affinity or selector for a health label, no list of hosts. It
    keeps quiet where the paths or the profile (`node_health`) tell of something that finds and removes bad nodes: the
    node problem detector, NVSentinel, Autopilot, a MachineHealthCheck, HyperPod, a pool of GKE, AKS or CoreWeave, node
    groups of EKS or Karpenter that are repaired. Of batch scripts nothing is said: checks between jobs belong to
    Slurm's prolog.

    ## Why it hurts
    A GPU that has failed once often fails again, and the scheduler likes an empty node. On 63 B200 nodes three of them
    made up more than half of all exclusions, and retries alone came through in a third of their chains. BigScience's
    13B run crashed at once on the very node that it had left weeks before. OPT-175B's replacement machines often were
    the same ones. Imbue ran checks of GPUs, links and disks before every start of its 70B run, and Meta's cluster study
    found that a few such nodes account for many of the failures.

    ## Bad
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                initContainers:
                - name: gpu-check
                  image: nvcr.io/nvidia/cloud-native/dcgm:3.3.9-1-ubuntu22.04
                  command: [dcgmi, diag, -r, "1"]
                  resources: {limits: {nvidia.com/gpu: 8}}
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Something in the cluster drains bad nodes: declare `node_health: true` in the profile.

    ## Fix safety
    There is no automatic fix: which check fits depends on the hardware and on how long a start may take.

    ## References
    - https://arxiv.org/abs/2605.09370
    - https://imbue.com/research/70b-infrastructure/
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr1-13B-base/chronicles.md
    - https://arxiv.org/abs/2410.21680
    """
    again = workload.starts_again
    if not workload.trains or not workload.multi_node or workload.batch is not None or again is None:
        return
    if is_brief(workload, context.profile) or loses_nodes(workload) or screens_nodes(workload) is not False:
        return
    rate = time_between_failures(workload, context.profile)
    yield Gap(
        workload.origin,
        f"{size(workload)} start again by themselves, and no health check, node affinity or list of hosts keeps them "
        "from the node that failed",
        "restarts are spent on the same broken node" + (f"; {rate}" if rate else ""),
        detail="no health gate",
        related=(Related(again, "this starts it again"),),
        fix=Fix("check the GPUs and links in an init container, or keep to nodes with a health label"),
    )
