from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.nodes import NodeDaemon
from kube_gaplint.model.setting import Set
from kube_gaplint.model.units import share
from kube_gaplint.rule import Context, rule

MOST_AT_ONCE = 0.2
"""Share of the nodes from which on a bad change is everywhere before somebody sees it."""


@rule(
    code="NODE007",
    name="daemonset-rolls-all-nodes",
    view=NodeDaemon,
    severity=Severity.WARNING,
    evidence=("IL-0116",),
)
def check(daemon: NodeDaemon, _context: Context) -> Iterator[Gap]:
    """A change of the network, driver or device plugin DaemonSet reaches most GPU nodes at once.

    ## What it flags
    A DaemonSet for the network, a driver or a device plugin whose rolling update may take more than a fifth of the
    nodes at once (`maxUnavailable`), or whose image is the newest one at every start of a pod (no tag or `latest`,
    pulled always). Quiet for `OnDelete`, and for DaemonSets that run on nodes without GPUs alone.

    ## Why it hurts
    In January 2023 a change of the network plugin that had looked safe in staging broke one hardware variant: a GPU
    cluster of OpenAI lost its network. 80 % of the capacity came back in about an hour, all of it in about four,
    because models had to be loaded onto the GPUs again. Every run that such a roll-out meets ends at the same time.

    ## Bad
    ```yaml
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: cilium, namespace: kube-system}
    spec:
      selector: {matchLabels: {k8s-app: cilium}}
      updateStrategy: {rollingUpdate: {maxUnavailable: "100%"}}
      template:
        metadata: {labels: {k8s-app: cilium}}
        spec:
          containers: [{name: agent, image: "quay.io/cilium/cilium:v1.16.4"}]
    ```

    ## Good
    ```yaml
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: cilium, namespace: kube-system}
    spec:
      selector: {matchLabels: {k8s-app: cilium}}
      updateStrategy: {rollingUpdate: {maxUnavailable: 1}}
      template:
        metadata: {labels: {k8s-app: cilium}}
        spec:
          containers: [{name: agent, image: "quay.io/cilium/cilium:v1.16.4"}]
    ```

    ## When to keep it
    On clusters that are made anew for every run.

    ## Fix safety
    Unsafe: a roll-out takes longer.

    ## References
    - https://status.openai.com/incidents/tljwlz08w539
    - https://kubernetes.io/docs/tasks/manage-daemon/update-daemon-set/
    """
    if daemon.gpus.answer == "no" or not isinstance(daemon.strategy, Set) or daemon.strategy.value == "OnDelete":
        return
    most = daemon.max_unavailable
    at_once = share(most.value, None) if isinstance(most, Set) else None
    only_starts = daemon.role == "device-plugin"
    if isinstance(most, Set) and at_once is not None and at_once > MOST_AT_ONCE:
        yield Gap(
            most.origin,
            f"{daemon.title} is replaced on {most.value} of the nodes at once",
            "a version that does not work leaves no node where a pod with GPUs can start: restarted jobs stay pending"
            if only_starts
            else "a version that breaks one kind of node breaks all of them, and every run on them, within minutes",
            detail="maxUnavailable",
            related=_related(daemon),
            fix=Fix("roll it a few nodes at a time: maxUnavailable: 10%", (ReplaceValue(most.origin, "10%"),)),
        )
    if daemon.image_floats and isinstance(daemon.image, Set):
        yield Gap(
            daemon.image.origin,
            f"{daemon.title} takes the newest image at every start: {daemon.image.value}, pulled always",
            "nodes that boot during a run get another version than the rest, and nobody has tested it",
            detail="image",
            related=_related(daemon),
            fix=Fix("name a version that you tested"),
        )


def _related(daemon: NodeDaemon) -> tuple[Related, ...]:
    gpus = daemon.gpus
    return () if gpus.origin is None else (Related(gpus.origin, gpus.reason),)
