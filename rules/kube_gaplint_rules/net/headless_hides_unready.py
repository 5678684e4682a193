from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.network import addresses
from kube_gaplint.model.pod import Probe, probe
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set, known
from kube_gaplint.model.surroundings import NetworkService
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_OF_JOBSETS = ("spec.network.publishNotReadyAddresses", "jobset.network.publishNotReadyAddresses")
_KEY = "publishNotReadyAddresses"


@rule(
    code="NET005",
    name="headless-hides-unready",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("dns-race",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The Service of the rendezvous hides pods until they are ready, and they get ready only after it.

    ## What it flags
    A headless Service through which the pods of a training job find one another (it is their subdomain or serviceName,
    or part of the rendezvous address) without `publishNotReadyAddresses: true`, while the pods have a readiness or
    startup probe; and a JobSet whose `network.publishNotReadyAddresses` is false. Services that operators make are left
    alone.

    ## Why it hurts
    DNS has a pod's name only once the pod is ready. A probe that waits for training to begin waits for the rendezvous,
    which waits for the name of rank 0: a deadlock, or crash loops with "Name or service not known". Users of Kubeflow,
    JobSet and Grove all ran into it.

    ## Bad
    ```yaml
    apiVersion: v1
    kind: Service
    metadata: {name: mae}
    spec: {clusterIP: None, selector: {app: mae}, ports: [{port: 29500}]}
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: mae}
    spec:
      serviceName: mae
      replicas: 4
      selector: {matchLabels: {app: mae}}
      template:
        metadata: {labels: {app: mae}}
        spec:
          containers:
          - name: trainer
            image: ghcr.io/acme/mae:1.4
            command: [torchrun, --nnodes=4, --master-addr=mae-0.mae, train.py]
            readinessProbe: {exec: {command: [test, -e, /tmp/training]}}
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: v1
    kind: Service
    metadata: {name: mae}
    spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: mae}, ports: [{port: 29500}]}
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: mae}
    spec:
      serviceName: mae
      replicas: 4
      selector: {matchLabels: {app: mae}}
      template:
        metadata: {labels: {app: mae}}
        spec:
          containers:
          - name: trainer
            image: ghcr.io/acme/mae:1.4
            command: [torchrun, --nnodes=4, --master-addr=mae-0.mae, train.py]
            readinessProbe: {exec: {command: [test, -e, /tmp/training]}}
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the probe passes before the rendezvous and the programs try the name again until it is there.

    ## Fix safety
    Safe: the pods' names are there earlier. A headless Service has no address of its own that traffic could come to.

    ## References
    - https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
    - https://github.com/kubernetes-sigs/jobset/issues/504
    - https://github.com/ai-dynamo/grove/issues/134
    """
    if not workload.trains or not several_pods(workload):
        return
    for path in _OF_JOBSETS:
        value = workload.fields.get(path)
        if isinstance(value, Set) and value.value == "false" and value.origin.written:
            yield _gap(workload, value.origin, "the JobSet", None, ReplaceValue(value.origin, "true"))
    for service in workload.surroundings.services:
        hides = known(service.headless) is True and known(service.publishes_unready) is False
        waits = _probe_behind(workload, service)
        if not hides or waits is None or not _meets(workload, service):
            continue
        home = Origin(service.origin.place, node=service.origin.node)
        at = service.publishes_unready.origin or service.origin
        yield _gap(workload, at, f"Service {service.name}", waits, SetKey(home, ("spec", _KEY), True))


def _gap(workload: Workload, at: Origin, who: str, waits: Probe | None, change: ReplaceValue | SetKey) -> Gap:
    until = "until it is ready" if waits is None else f"until its {waits.kind} probe passes"
    return Gap(
        at,
        f"{who} hides the name of a pod {until}",
        f"{size(workload)} look for rank 0 by a name that DNS does not have yet: a crash loop, or a deadlock",
        detail=who,
        related=() if waits is None else (Related(waits.origin, "the probe that has to pass first"),),
        fix=Fix(f"set {_KEY}: true", (change,), safe=True),
    )


def _probe_behind(workload: Workload, service: NetworkService) -> Probe | None:
    """A probe that keeps a pod behind the Service from being ready."""
    for role, container in workload.containers():
        found = probe(container, "readiness") or probe(container, "startup")
        if found is not None and role.name in service.roles:
            return found
    return None


def _meets(workload: Workload, service: NetworkService) -> bool:
    """Whether the pods find one another through the Service."""
    names = [workload.fields.get("spec.serviceName"), *(role.pod.fields.get("subdomain") for role in workload.roles)]
    if any(isinstance(name, Set) and name.value == service.name for name in names):
        return True
    return any(service.name in address.host.split(".")[:2] for address in addresses(workload))
