from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, ReplaceValue, Severity
from kube_gaplint.model.gang import gang_minimums
from kube_gaplint.model.rendezvous import computes_together, may_shrink
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="SCHED002",
    name="min-available-below-gang",
    view=Workload,
    severity=Severity.ERROR,
    evidence=("gang-deadlock",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The gang starts with fewer pods than the training needs.

    ## What it flags
    `minAvailable` of a Volcano Job or of Kubeflow's schedulingPolicy, or `minMember` of the PodGroup that the pods
    name, below the number of pods that train. Helpers without GPUs and an MPIJob's launcher do not count; elastic jobs
    (elasticPolicy, a range of --nnodes, elastic Horovod) and pods that do not need one another are left alone.

    ## Why it hurts
    The scheduler sees to that many pods and no more. The rest is placed when there is room, and until then those that
    started hold their GPUs and wait in the rendezvous: the very deadlock that gang scheduling is there for. Volcano
    also takes a job for completed when that many pods have ended well.

    ## Bad
    ```yaml
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: vit}
    spec:
      minAvailable: 1
      schedulerName: volcano
      plugins: {pytorch: ["--master=master", "--worker=worker"]}
      tasks:
      - name: master
        replicas: 1
        template:
          spec:
            containers:
            - name: trainer
              image: ghcr.io/acme/vit:1.4
              command: [torchrun, --nnodes=4, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
      - name: worker
        replicas: 3
        template:
          spec:
            containers:
            - name: trainer
              image: ghcr.io/acme/vit:1.4
              command: [torchrun, --nnodes=4, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: vit}
    spec:
      minAvailable: 4
      schedulerName: volcano
      plugins: {pytorch: ["--master=master", "--worker=worker"]}
      tasks:
      - name: master
        replicas: 1
        template:
          spec:
            containers:
            - name: trainer
              image: ghcr.io/acme/vit:1.4
              command: [torchrun, --nnodes=4, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
      - name: worker
        replicas: 3
        template:
          spec:
            containers:
            - name: trainer
              image: ghcr.io/acme/vit:1.4
              command: [torchrun, --nnodes=4, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the program itself goes on with fewer pods in a way that its command line does not show.

    ## Fix safety
    Unsafe: a job that used to start in parts now waits until there is room for the whole.

    ## References
    - https://volcano.sh/en/docs/vcjob/
    - https://github.com/kubernetes-retired/kube-batch/issues/158
    """
    if not workload.trains or workload.batch is not None or may_shrink(workload) or not computes_together(workload):
        return
    for minimum in gang_minimums(workload):
        least, pods = minimum.least, minimum.pods
        if not isinstance(least, Set) or pods is None or least.value >= pods:
            continue
        missing = pods - least.value
        yield Gap(
            minimum.origin,
            f"{minimum.key} {least.value} lets the job start with {least.value} of the {pods} pods that it computes on",
            f"when {'1 pod finds' if missing == 1 else f'{missing} pods find'} no room, the others hold their GPUs and "
            "wait in the rendezvous",
            detail=minimum.key,
            fix=Fix(f"set {minimum.key} to {pods}", (ReplaceValue(minimum.origin, str(pods)),)),
        )
