from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.nccl import IB_TIMEOUT_LIMIT, ib_timeout_default, ib_total_seconds
from kube_gaplint.facts.variables import strtoll
from kube_gaplint.findings import Fix, Gap, Related, Severity, give
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess, known_release
from kube_gaplint.rule import Context, rule

TIMEOUT, RETRIES = "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT"
MOST_RETRIES = 7
RECOMMENDED = 22
COMMON_RELEASE, LATER_RELEASE = (2, 14), (2, 23)
"""Named in messages where the release is not known: most images in use ship NCCL 2.14 or newer, and the default is
another one from 2.23."""


@rule(
    code="NCCL005",
    name="ib-timeout",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("IL-0128", "nccl-error-12"),
    sources=("nccl-net-ib", "nccl-env", "nccl-ib-timeout-infinite", "nccl-ib-lowered"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """The InfiniBand/RoCE timeout is at NCCL's default or below: a link that is away for seconds ends the run.

    ## What it flags
    Several nodes over RDMA, and `NCCL_IB_TIMEOUT` is unset or not above the release's default (14 up to NCCL 2.13, 18
    from 2.14, 20 from 2.23), or `NCCL_IB_RETRY_CNT` is below 7. One try lasts 4.096 µs × 2^timeout, and 7 tries are the
    most that the hardware knows: 18 gives up after about 7.5 s, 20 after 30 s, 22 after two minutes. Info where RDMA is
    not evident. NCCL's own files (`NCCL_CONF_FILE` or `~/.nccl.conf`, `/etc/nccl.conf`) count where a ConfigMap or the
    script fills them; one that is mounted and not seen leaves the variable unknown.

    ## Why it hurts
    MegaScale traced stalls and failures on more than 10,000 GPUs to links that flapped for seconds while NCCL's default
    expired, and raised it. Elsewhere the same ends as `NET/IB: Got completion with error 12`.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: vlm}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_TIMEOUT, value: "14"}]
                resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: vlm}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_TIMEOUT, value: "22"}]
                resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    ```

    ## When to keep it
    On a fabric where a lost link never comes back within a minute. EFA, TCPX and GIB plugins do not read the variable.

    ## Fix safety
    Unsafe: a dead link is noticed later as well. Mend the link, too.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-timeout
    - https://github.com/NVIDIA/nccl/issues/902
    """
    if process.workload.multi_node is not True or not process.collective or process.other_fabric:
        return
    rdma = process.rdma_evidence
    evident = rdma is not None or context.profile.rdma is True
    related = () if rdma is None else (Related(rdma, "RDMA is used"),)
    release = known_release(process.nccl)
    default = ib_timeout_default(release or COMMON_RELEASE)
    timeout = process.environment.get(TIMEOUT)
    home = process.environment.home
    fix = Fix(f"set {TIMEOUT}={RECOMMENDED}", give(process, TIMEOUT, str(RECOMMENDED)))
    if isinstance(timeout, Absent) and context.profile.rdma is not False:
        shown = "NCCL's default" if release is None else f"{default}, the default of its NCCL release"
        yield Gap(
            Origin(home.place, "derived", node=home.node),
            f"{TIMEOUT} is not set and stays at {shown}",
            _cost(process, default, None if release else ib_timeout_default(LATER_RELEASE)),
            detail="unset",
            severity=Severity.WARNING if evident else Severity.INFO,
            related=related,
            fix=fix,
            container=process.container.name,
        )
    elif isinstance(timeout, Set):
        number, _ = strtoll(timeout.value)
        if 0 < number < IB_TIMEOUT_LIMIT and number <= (default if release else default - 1):
            yield Gap(
                timeout.origin,
                f"{TIMEOUT}={timeout.value} is not above NCCL's default of {default}",
                _cost(process, number),
                detail="low",
                severity=Severity.WARNING if evident else Severity.INFO,
                related=related,
                fix=fix,
                container=process.container.name,
            )
    retries = process.environment.get(RETRIES)
    if isinstance(retries, Set):
        number, rest = strtoll(retries.value)
        if 0 <= number < MOST_RETRIES and not rest.strip():
            yield Gap(
                retries.origin,
                f"{RETRIES}={retries.value} is below the default of {MOST_RETRIES}, which is also the maximum",
                f"a link gets {number} tries instead of {MOST_RETRIES} before the run ends",
                detail="retries",
                severity=Severity.WARNING if evident else Severity.INFO,
                related=related,
                fix=Fix(f"remove {RETRIES}, or set it to {MOST_RETRIES}"),
                container=process.container.name,
            )


def _cost(process: TrainingProcess, timeout: int, later: int | None = None) -> str:
    """`later`: the timeout of later releases, where the release is not known."""
    seconds, more = ib_total_seconds(timeout), None if later is None else ib_total_seconds(later)
    away = "for long" if seconds is None else f"for about {duration(seconds)}"
    if more is not None:
        away += f", with NCCL {'.'.join(map(str, LATER_RELEASE))} or later {duration(more)},"
    return f"a link that is away {away} ends the run of {size(process.workload)}"
