from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.nodes import UpgradeAgent
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.rule import Context, rule

KEEP_BACK = {
    "gke": "give the cluster a maintenanceExclusion with scope NO_MINOR_OR_NODE_UPGRADES, or a maintenance window",
    "aks-os": "set nodeOSUpgradeChannel to None, or give the cluster an aksManagedNodeOSUpgradeSchedule",
    "aks-kubernetes": "set upgradeChannel to none, or give the cluster an aksManagedAutoUpgradeSchedule",
    "plan": "name a version instead of a channel, and give the Plan a window",
    "k0s": "give the UpdateConfig a window, or write a Plan with a fixed version",
    "bottlerocket": "give the operator a schedule (scheduler_cron_expression) with a window",
    "openshift": "pause the pool while jobs run (paused: true)",
    "kured": "give kured a window, and a blocking-pod-selector on the training pods",
}
"""By kind of agent: what keeps it from a running job."""


@rule(
    code="NODE001",
    name="node-auto-upgrade",
    view=UpgradeAgent,
    severity=Severity.WARNING,
    evidence=("gke-drain-1h", "openai-2025-06-os-update", "gke-driver-autoupdate", "aks-node-image"),
)
def check(agent: UpgradeAgent, _context: Context) -> Iterator[Gap]:
    """Something upgrades, reboots or replaces GPU nodes by itself, at an hour that it chooses.

    ## What it flags
    GPU nodes under an agent that acts by itself and that nothing keeps back: GKE's auto-upgrade without a maintenance
    window or exclusion, AKS' node image and Kubernetes channels without a maintenance configuration, a Plan that
    follows a channel, k0s' UpdateConfig, the Bottlerocket update operator with its default schedule, an OpenShift pool
    on a channel that is not paused, kured without window or blocking selector. A schedule that names every hour of
    every day is no window. Info where nothing tells that the nodes carry GPUs, or where the window may stand in an
    object that is not in the given paths.

    ## Why it hurts
    GKE respects disruption budgets for an hour, then it deletes the pods: two public reports count 85 and 17 of them.
    An auto-upgrade moved the GPU driver from 410 to 418 under images that were built for the old one. AKS shipped node
    images whose driver modules and libraries did not match, so that GPUs were never advertised. In June 2025 a routine
    update of the host took GPU nodes of OpenAI off the network for hours.

    ## Bad
    ```yaml
    apiVersion: upgrade.cattle.io/v1
    kind: Plan
    metadata: {name: rke2-gpu}
    spec:
      channel: https://update.rke2.io/v1-release/channels/stable
      nodeSelector: {matchLabels: {nvidia.com/gpu.present: "true"}}
      upgrade: {image: rancher/rke2-upgrade}
    ```

    ## Good
    ```yaml
    apiVersion: upgrade.cattle.io/v1
    kind: Plan
    metadata: {name: rke2-gpu}
    spec:
      version: v1.33.5+rke2r1
      nodeSelector: {matchLabels: {nvidia.com/gpu.present: "true"}}
      window: {days: [sunday], startTime: "02:00", endTime: "05:00"}
      upgrade: {image: rancher/rke2-upgrade}
    ```

    ## When to keep it
    Jobs are short against the interval of upgrades, or all of them resume within minutes.

    ## Fix safety
    There is no automatic fix: when nodes may be upgraded is for you to say.

    ## References
    - https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
    - https://learn.microsoft.com/azure/aks/auto-upgrade-node-os-image
    - https://kured.dev/docs/configuration/
    """
    if agent.gpus.answer == "no" or not isinstance(agent.active, Set) or not agent.active.value:
        return
    if isinstance(agent.restraint, Set):
        return
    certain = agent.gpus.answer == "yes" and isinstance(agent.restraint, Absent)
    nodes = "GPU nodes" if agent.gpus.answer == "yes" else "nodes that may carry GPUs"
    related = [Related(origin, "the channel") for origin in agent.related]
    if agent.gpus.origin is not None:
        related.append(Related(agent.gpus.origin, agent.gpus.reason))
    if isinstance(agent.restraint, Absent) and agent.restraint.origin.place != agent.origin.place:
        related.append(Related(agent.restraint.origin, "no window, exclusion or pause here"))
    default = ", on by default," if agent.active.origin.via == "default" else ""
    doubt = f" ({agent.restraint.reason})" if isinstance(agent.restraint, Unknown) else ""
    yield Gap(
        agent.origin,
        f"{agent.title}{default} acts on {nodes} at any hour: it {agent.does or 'changes them'}{doubt}",
        "a job that spans hundreds of nodes ends with the first of them, in the middle of a run",
        detail=agent.kind,
        severity=Severity.WARNING if certain else Severity.INFO,
        related=tuple(related),
        fix=Fix(KEEP_BACK.get(agent.kind, "keep it to a maintenance window")),
    )
