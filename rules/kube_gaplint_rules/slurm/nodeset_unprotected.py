from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, Severity, put
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.slurm import SlurmNodeSet
from kube_gaplint.model.units import share
from kube_gaplint.rule import Context, rule

MOST_AT_ONCE = 0.2
"""Share of a node set up to which a rolling update takes few jobs down."""

_AWARE = "slurmAwareRollingUpdate"


@rule(
    code="SLURM004",
    name="nodeset-unprotected",
    view=SlurmNodeSet,
    severity=Severity.WARNING,
    evidence=("slinky-eviction",),
    tier="later",
    sources=("slinky", "soperator"),
)
def check(nodes: SlurmNodeSet, _context: Context) -> Iterator[Gap]:
    """A change of the node set replaces slurmd pods under the jobs that run in them.

    ## What it flags
    Slinky: `workloadDisruptionProtection: false` together with `RollingUpdate`, so that neither a disruption budget nor
    the update waits for busy nodes. Soperator: the plain `rollingUpdate` with more than a fifth of the nodes at once;
    both are its defaults (`maxUnavailable` is 500). Info where nothing tells that the nodes carry GPUs, and for a
    single node.

    ## Why it hurts
    Kubernetes does not know that a slurmd pod carries a rank of a job that spans a hundred others. In public reports a
    rollout killed running Slurm jobs, and a failed look-up let pods be deleted that should have been spared. The
    operators' answer is a disruption budget on busy pods and an update that drains through Slurm first.

    ## Bad
    ```yaml
    apiVersion: slurm.nebius.ai/v1alpha1
    kind: NodeSet
    metadata: {name: h100}
    spec:
      replicas: 32
      gpu: {enabled: true}
      updateStrategy: rollingUpdate
    ```

    ## Good
    ```yaml
    apiVersion: slurm.nebius.ai/v1alpha1
    kind: NodeSet
    metadata: {name: h100}
    spec:
      replicas: 32
      gpu: {enabled: true}
      updateStrategy: slurmAwareRollingUpdate
    ```

    ## When to keep it
    The node set is changed in maintenance windows only, when no job runs.

    ## Fix safety
    Unsafe: an update that waits for jobs takes as long as the longest of them.

    ## References
    - https://github.com/SlinkyProject/slurm-operator/pull/79
    - https://github.com/nebius/soperator/pull/2962
    """
    if nodes.gpus.answer == "no":
        return
    gap = _slinky(nodes) if nodes.operator == "slinky" else _soperator(nodes)
    if gap is not None:
        yield gap


def _severity(nodes: SlurmNodeSet) -> Severity:
    single = isinstance(nodes.replicas, Set) and nodes.replicas.value <= 1
    return Severity.INFO if single or nodes.gpus.answer == "unknown" else Severity.WARNING


def _slinky(nodes: SlurmNodeSet) -> Gap | None:
    strategy, protected = nodes.strategy, nodes.protected
    if not (isinstance(protected, Set) and isinstance(strategy, Set)):
        return None
    if protected.value or strategy.value != "RollingUpdate":
        return None
    return Gap(
        protected.origin,
        "workloadDisruptionProtection is off, and RollingUpdate replaces pods with running jobs",
        "a new image or a node drain ends every job that has a rank on one of these nodes",
        detail="slinky",
        severity=_severity(nodes),
        related=(Related(strategy.origin, f"updateStrategy {strategy.value}"),),
        fix=Fix("leave workloadDisruptionProtection on, or update with OnDelete", _switched_on(protected.origin)),
    )


def _soperator(nodes: SlurmNodeSet) -> Gap | None:
    strategy, most = nodes.strategy, nodes.max_unavailable
    if not (isinstance(strategy, Set) and strategy.value == "rollingUpdate" and isinstance(most, Set)):
        return None
    replicas = nodes.replicas.value if isinstance(nodes.replicas, Set) else None
    at_once = share(most.value, replicas)
    if at_once is None or at_once <= MOST_AT_ONCE:
        return None
    default = "" if most.origin.written else ", the default,"
    return Gap(
        strategy.origin if strategy.origin.written else most.origin,
        f"rollingUpdate with maxUnavailable {most.value}{default} replaces {_amount(at_once)} at once, busy or not",
        "a new image ends the jobs on all of them, and the next attempt finds no nodes",
        detail="soperator",
        severity=_severity(nodes),
        related=(Related(most.origin, f"maxUnavailable {most.value}"),),
        fix=Fix(
            f"update through Slurm: updateStrategy: {_AWARE}",
            (put(strategy.origin, strategy.origin, ("updateStrategy",), _AWARE),),
        ),
    )


def _switched_on(origin: Origin) -> tuple[Change, ...]:
    return (ReplaceValue(origin, "true"),) if origin.written else ()


def _amount(share_of_nodes: float) -> str:
    return "all nodes" if share_of_nodes >= 1 else f"{share_of_nodes:.0%} of the nodes"
