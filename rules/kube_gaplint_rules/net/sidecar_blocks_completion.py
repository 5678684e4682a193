from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.endless import endless
from kube_gaplint.model.needs import has_several_containers
from kube_gaplint.model.scale import idle_cost
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule

_ENDING = frozenset(
    {"Job", "CronJob", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "Pod"}
)
"""Kinds that are done when all containers of their pods are. Argo and Tekton stop helpers by themselves."""


@rule(
    code="NET010",
    name="sidecar-blocks-completion",
    view=Workload,
    needs=(has_several_containers,),
    severity=Severity.WARNING,
    evidence=("istio-training",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A helper beside the trainer never ends, so that the job never does.

    ## What it flags
    A container that runs until somebody stops it (TensorBoard, a log shipper, an exporter, a proxy, `tail -f`, `sleep
    infinity`) beside the training container of a Job, JobSet, Kubeflow or Volcano job, or a Pod that is not restarted.
    Init containers with `restartPolicy: Always`, pods whose processes share a namespace (the trainer may stop the
    helper), and helpers that wait for a sign are left alone.

    ## Why it hurts
    A pod has ended only when all of its containers have. Training is done, the helper is not: the job stays Running,
    its GPUs stay taken, and whatever waits for its end waits for ever. Users of Kubeflow met it with Istio's proxy in
    their training pods.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/tune:1.4
            command: [python, train.py, --logdir, /logs]
            resources: {limits: {nvidia.com/gpu: 8}}
          - name: tensorboard
            image: tensorflow/tensorflow:2.16.1
            command: [tensorboard, --logdir, /logs]
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
          initContainers:
          - name: tensorboard
            restartPolicy: Always
            image: tensorflow/tensorflow:2.16.1
            command: [tensorboard, --logdir, /logs]
          containers:
          - name: trainer
            image: ghcr.io/acme/tune:1.4
            command: [python, train.py, --logdir, /logs]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where something outside of the job deletes it when training has ended.

    ## Fix safety
    Unsafe, so no change is made: as an init container the helper starts before the trainer, and needs Kubernetes 1.29.

    ## References
    - https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
    - https://github.com/istio/istio/issues/11045
    """
    if not workload.trains or workload.subject.kind not in _ENDING:
        return
    for role in workload.roles:
        main = next((one for one in role.pod.containers if not isinstance(one.accelerator_count, Absent)), None)
        if main is None or not _is_to_end(role):
            continue
        for helper in _helpers(role, main):
            running = endless(helper)
            if running is not None:
                cost = idle_cost(workload, 3600.0)
                yield Gap(
                    helper.origin,
                    f"container {helper.name} never ends ({running.what}), so the pod does not end with its training",
                    f"the job stays Running and holds its GPUs: {cost} in every hour"
                    if cost
                    else "the job stays Running",
                    detail=f"helper {helper.name}",
                    related=(Related(running.origin, "what runs until it is stopped"),),
                    fix=Fix("make it an init container with restartPolicy: Always"),
                    container=helper.name,
                )


def _is_to_end(role: Role) -> bool:
    """Whether the pod is meant to end, and its containers cannot stop one another."""
    restart, shared = role.pod.restart_policy, role.pod.fields.get("shareProcessNamespace")
    ends = isinstance(restart, Set) and restart.value in ("Never", "OnFailure", "ExitCode")
    return ends and isinstance(shared, Set) and shared.value == "false"


def _helpers(role: Role, main: Container) -> Iterator[Container]:
    return (one for one in role.pod.containers if one is not main and isinstance(one.accelerator_count, Absent))
