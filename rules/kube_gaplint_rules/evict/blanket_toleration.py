from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, SetKey, Severity
from kube_gaplint.model.needs import has_tolerations
from kube_gaplint.model.pod import Toleration, tolerations
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

SECONDS = 300
"""How long Kubernetes lets pods stay on a dead node where nothing is said."""
DEAD = frozenset({"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"})


@rule(
    code="EVICT010",
    name="blanket-toleration",
    view=Workload,
    needs=(has_tolerations,),
    severity=Severity.WARNING,
    evidence=(
        "IL-0025",
        "kubeflow-2072",
    ),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The pods tolerate every taint, also those that say that their node is dead or unhealthy.

    ## What it flags
    A toleration with `operator: Exists` and no key, or one of the taints `unreachable` and `not-ready` without
    `tolerationSeconds`, in a training workload. DaemonSets need such tolerations and are left alone.

    ## Why it hurts
    Kubernetes marks a dead or broken node with a taint so that pods leave it. A pod that tolerates everything stays
    bound to the node for ever and is never made anew, and new ones are put on nodes that were tainted because their
    GPUs fail. IBM-scale runs lost hours to jobs that came back onto the node that had just killed them.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          tolerations: [{operator: Exists}]
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
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
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When something outside of Kubernetes deletes pods of dead nodes.

    ## Fix safety
    Unsafe: pods leave a node that may come back. A blanket itself is left to you: the pods may need one of the taints
    that it covers.

    ## References
    - https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
    """
    if not workload.trains or workload.batch is not None:
        return
    for role in workload.roles:
        for toleration in tolerations(role.pod):
            what = _blanket(toleration)
            if what and toleration.origin.written:
                yield Gap(
                    toleration.origin,
                    what,
                    f"a pod of {size(workload)} on a dead node is never replaced, and the rest waits for it",
                    detail="blanket",
                    fix=_fix(toleration),
                )


def _fix(toleration: Toleration) -> Fix:
    """Kubernetes takes tolerationSeconds with the effect NoExecute alone."""
    if not (isinstance(toleration.key, Set) and toleration.key.value in DEAD):
        return Fix("name the taints of your GPU pool, and give NoExecute ones tolerationSeconds")
    changes: list[Change] = [SetKey(toleration.origin, ("tolerationSeconds",), SECONDS)]
    if isinstance(toleration.effect, Absent):
        changes.insert(0, SetKey(toleration.origin, ("effect",), "NoExecute"))
    return Fix(f"let the pod go after a while: tolerationSeconds: {SECONDS}", tuple(changes))


def _blanket(toleration: Toleration) -> str:
    """What is too wide about a toleration; empty for one that is not."""
    if not isinstance(toleration.operator, Set) or toleration.operator.value != "Exists":
        return ""
    no_execute = isinstance(toleration.effect, Absent) or (
        isinstance(toleration.effect, Set) and toleration.effect.value == "NoExecute"
    )
    for_ever = no_execute and isinstance(toleration.seconds, Absent)
    if isinstance(toleration.key, Absent) or (isinstance(toleration.key, Set) and not toleration.key.value):
        return "operator Exists without a key tolerates every taint" if for_ever or not no_execute else ""
    if isinstance(toleration.key, Set) and toleration.key.value in DEAD and for_ever:
        return f"{toleration.key.value} is tolerated for ever"
    return ""
