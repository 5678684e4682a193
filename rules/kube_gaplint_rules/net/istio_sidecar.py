from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.needs import is_in_mesh
from kube_gaplint.model.pod import on_host_network
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set, Unknown
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule

_KEY = "sidecar.istio.io/inject"


@rule(
    code="NET006",
    name="istio-sidecar",
    view=Workload,
    needs=(is_in_mesh,),
    severity=Severity.WARNING,
    evidence=("istio-training",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Istio puts its proxy into the training pods, because nothing tells it not to.

    ## What it flags
    A training job in a namespace whose pods get a sidecar, as far as the given paths show it (the namespace's
    `istio-injection` or `istio.io/rev` label, a Kubeflow profile, Istio's own objects in it), with a pod template that
    does not say `sidecar.istio.io/inject: "false"` as label or annotation. Ambient mode has no sidecars.

    ## Why it hurts
    The proxy takes the connections between the ranks: `init_process_group` hangs, for collectives speak no protocol
    that it knows, or they run before it does. And it does not end when training does, so that a Job stays Running and
    its GPUs stay taken. Users of Kubeflow reported both, again and again, from 2019 on.

    ## Bad
    ```yaml
    apiVersion: v1
    kind: Namespace
    metadata: {name: team-ana, labels: {istio-injection: enabled}}
    ---
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ner, namespace: team-ana}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/ner:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: v1
    kind: Namespace
    metadata: {name: team-ana, labels: {istio-injection: enabled}}
    ---
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ner, namespace: team-ana}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            metadata: {labels: {sidecar.istio.io/inject: "false"}}
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/ner:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the mesh is told to leave the ports of the rendezvous and of NCCL alone, and sidecars are native ones.

    ## Fix safety
    Safe for the training itself. A pod that calls services which accept mesh traffic alone loses them.

    ## References
    - https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/
    - https://github.com/kubeflow/trainer/issues/1636
    - https://github.com/kubeflow/trainer/pull/1778
    """
    mesh = workload.surroundings.mesh
    if not workload.trains or mesh is None:
        return
    for role in workload.roles:
        pod = role.pod
        if _opts_out(pod) is not False or on_host_network(pod) is not False:  # Istio passes over the host's network
            continue
        changes = () if pod.template is None else (SetKey(pod.template, ("metadata", "labels", _KEY), "false"),)
        yield Gap(
            pod.origin,
            f"Istio puts a sidecar into these pods ({mesh.what}), and nothing opts out",
            f"{size(workload)} may hang in the rendezvous, and the pods keep running when training has ended",
            detail="inject",
            related=() if mesh.origin is None else (Related(mesh.origin, "what shows that sidecars are injected"),),
            fix=Fix(f'label the pod template {_KEY}: "false"', changes, safe=True),
        )


def _opts_out(pod: Pod) -> bool | None:
    """Whether the template refuses the sidecar; None where a placeholder or something unseen may do it."""
    for table in (pod.labels, pod.annotations):
        value = table.get(_KEY)
        if isinstance(value, Set):
            return value.value.lower() in ("false", "n", "no", "off", "0")
        if isinstance(value, Unknown):
            return None
    return None if pod.overrides_unknown else False
