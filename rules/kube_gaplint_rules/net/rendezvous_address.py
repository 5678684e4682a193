from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.hostnames import misses
from kube_gaplint.model.network import Address, addresses
from kube_gaplint.model.pod import on_host_network
from kube_gaplint.model.rendezvous import spans_pods
from kube_gaplint.model.scale import size
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="NET004",
    name="rendezvous-address",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("dns-race",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The processes are to meet at an address that no pod of the job has, or not for long.

    ## What it flags
    In a job of several pods: `MASTER_ADDR`, `--master-addr`, `--rdzv-endpoint` and their kin with an IP address written
    down, unless the pods are on the host's network; and a name that means a pod of the job but differs from what its
    controller calls it: without the pods' subdomain, with another one, in another namespace, or a pod that the JobSet
    or Volcano Job does not have. Variables that an operator replaces do not count.

    ## Why it hurts
    A pod gets another IP address with every restart, so that a job that ran once can never meet again. A name that does
    not match fails from the start: "Name or service not known", a crash loop, and with retries of its own a job that
    holds its GPUs and waits.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: gpt}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          subdomain: gpt-workers
          containers:
          - name: trainer
            image: ghcr.io/acme/gpt:1.4
            command: [sh, -c, "exec torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$JOB_COMPLETION_INDEX
              --master-addr=gpt-0.gpt train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: gpt}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          subdomain: gpt-workers
          containers:
          - name: trainer
            image: ghcr.io/acme/gpt:1.4
            command: [sh, -c, "exec torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$JOB_COMPLETION_INDEX
              --master-addr=gpt-0.gpt-workers train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the address belongs to a rendezvous server outside of the job, which keeps it.

    ## Fix safety
    There is no automatic fix: the name must fit the Service as well.

    ## References
    - https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
    - https://github.com/kubeflow/pytorch-operator/issues/125
    """
    if not workload.trains or workload.batch is not None or not spans_pods(workload):
        return
    for address in addresses(workload):
        message = _trouble(workload, address)
        if message:
            yield Gap(
                address.origin,
                message,
                f"{size(workload)} never meet again after that pod has been replaced"
                if address.is_literal
                else f"{size(workload)} hold their GPUs and do not find one another",
                detail=address.given_by,
                fix=Fix("name the pod by its controller's pattern below a headless Service, or let an operator do it"),
                container=address.container.name,
            )


def _trouble(workload: Workload, address: Address) -> str:
    if address.is_literal:
        pods = [role.pod for role in workload.roles if role.trains]
        if any(on_host_network(pod) is not False for pod in pods):
            return ""
        return f"{address.given_by} is {address.host}, the address that a pod has until it is replaced"
    why = misses(workload, address.host) if address.is_name else ""
    return f"{address.given_by} is {address.host}, but {why}" if why else ""
