from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.eviction import gang
from kube_gaplint.model.needs import chooses_nodes
from kube_gaplint.model.placement import spot_choice
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT006",
    name="grace-exceeds-spot-notice",
    view=Workload,
    needs=(chooses_nodes,),
    severity=Severity.INFO,
    evidence=("ray-63968",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The grace period is longer than the notice with which spot nodes are taken away.

    ## What it flags
    A written `terminationGracePeriodSeconds` above the provider's notice on pods that go to spot nodes: 15 s for pods
    on GKE (of 30 s; newer clusters can extend it to 120 s), 30 s on Azure, 120 s on EC2. On-demand nodes are left
    alone.

    ## Why it hurts
    The node is gone when the notice is over, whatever the pod was promised. A save that counts on five minutes is cut
    off, and nothing says so: Ray's users lost a whole interval of work on every worker at each preemption.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 50
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 600
          nodeSelector: {eks.amazonaws.com/capacityType: SPOT}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 50
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 120
          nodeSelector: {eks.amazonaws.com/capacityType: SPOT}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    The grace period is for drains and upgrades, which keep it, and a save fits into the notice too.

    ## Fix safety
    There is no automatic fix: the save has to fit into the notice, or to happen often enough without one.

    ## References
    - https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
    - https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html
    - https://github.com/ray-project/ray/issues/63968
    """
    if not workload.trains or workload.batch is not None:
        return
    for role in gang(workload):
        grace, choice = role.pod.grace_seconds, spot_choice(role.pod)
        notice = None if choice is None else choice.notice
        if choice is None or notice is None or not isinstance(grace, Set) or not grace.origin.written:
            continue
        if grace.value <= notice.seconds:
            continue
        yield Gap(
            grace.origin,
            f"{duration(grace.value)} of grace on spot nodes, and {notice.title} gives {duration(notice.seconds)}",
            f"a save that takes longer than {duration(notice.seconds)} is lost with the node by {size(workload)}",
            detail="notice",
            related=(Related(choice.origin, "the pods go to spot nodes"),),
            fix=Fix("make the save fit into the notice, or save often enough to do without one"),
        )
