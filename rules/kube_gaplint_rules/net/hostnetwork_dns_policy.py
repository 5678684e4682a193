from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.needs import is_on_host_network
from kube_gaplint.model.network import has_own_dns, names_services
from kube_gaplint.model.pod import on_host_network
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule

_WANTED = "ClusterFirstWithHostNet"


@rule(
    code="NET007",
    name="hostnetwork-dns-policy",
    view=Workload,
    needs=(is_on_host_network,),
    severity=Severity.WARNING,
    evidence=("volcano-778", "dns-race"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Pods on the host's network ask the node's resolver for names that only the cluster knows.

    ## What it flags
    A training job of several pods with `hostNetwork: true` and a dnsPolicy other than ClusterFirstWithHostNet whose
    processes meet at, or are given, names of Services. A dnsConfig of its own, addresses written as IP, Volcano and the
    mpi-operator, which set the policy by themselves, are left alone.

    ## Why it hurts
    With the default ClusterFirst a pod on the host's network falls back to the node's resolver, which has no
    Service and no pod. Rank 0's name does not resolve: the workers crash until their retries are spent, or wait
    with their GPUs. An MPI job on Volcano ended with “unknown host” for all of its workers; Volcano has set the
    policy itself since then (issue 778), most others do not.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template: &trainer
            spec:
              hostNetwork: true
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          template: *trainer
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template: &trainer
            spec:
              hostNetwork: true
              dnsPolicy: ClusterFirstWithHostNet
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          template: *trainer
    ```

    ## When to keep it
    Where the nodes' own resolver forwards the cluster's domain to the cluster's DNS.

    ## Fix safety
    Safe: the cluster's DNS hands other names on to the node's resolver.

    ## References
    - https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    - https://github.com/volcano-sh/volcano/issues/778
    """
    if not workload.trains or workload.batch is not None or not several_pods(workload):
        return
    used = names_services(workload)
    if used is None:
        return
    for role in workload.roles:
        policy = role.pod.fields.get("dnsPolicy")
        if not role.trains or not on_host_network(role.pod) or has_own_dns(role.pod):
            continue
        if isinstance(policy, Set) and policy.value != _WANTED:
            yield _gap(role.pod, policy, used)


def _gap(pod: Pod, policy: Set[str], used: Origin) -> Gap:
    written = policy.origin.written
    default = "" if written else ", the default"
    spec = Origin(pod.origin.place, chain=pod.origin.chain, node=pod.origin.node)
    return Gap(
        policy.origin if written else pod.fields["hostNetwork"].origin or pod.origin,
        f"hostNetwork with dnsPolicy {policy.value}{default}: names of Services do not resolve",
        "the node's resolver does not know the rendezvous name; workers crash or wait with their GPUs",
        detail="dnsPolicy",
        related=(Related(used, "a name that only the cluster's DNS knows"),),
        fix=Fix(
            f"set dnsPolicy: {_WANTED}",
            (ReplaceValue(policy.origin, _WANTED) if written else SetKey(spec, ("dnsPolicy",), _WANTED),),
            safe=True,
        ),
    )
