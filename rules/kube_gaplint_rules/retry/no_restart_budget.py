from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.retry import IGNORE_RULES, RESTART_RULES
from kube_gaplint.findings import Change, Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.budget import (
    deciding_layer,
    is_brief,
    large,
    loses_nodes,
    pods_of_its_run,
    proposed_budget,
    time_between_failures,
)
from kube_gaplint.model.lone_restart import lone_restart
from kube_gaplint.model.placement import any_spot
from kube_gaplint.model.rendezvous import meeting
from kube_gaplint.model.retry import FAILS_THE_SET, disruptions_are_ignored, pod_failure_policy, restart_policies
from kube_gaplint.model.scale import gpu_count
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import RestartLayer, Workload
from kube_gaplint.rule import Context, rule

# What to do, by the controller that should restart.
_REMEDIES = {
    "JobSet": "set failurePolicy.maxRestarts, so that the whole set starts again",
    "Job": "set backoffLimit, or let a JobSet with a failurePolicy restart all pods together",
    "training operator": "set restartPolicy OnFailure and runPolicy.backoffLimit",
    "mpi-operator": "set runPolicy.backoffLimit, the retries of the launcher",
    "Volcano": "add the policies {event: PodFailed, action: RestartJob} and {event: PodEvicted, action: RestartJob}",
    "RayJob": "set backoffLimit, and FailureConfig(max_failures) in the program",
    "Argo Workflow": "give the template a retryStrategy",
    "Tekton": "set retries on the task",
    "kubelet": "make it a Job with a backoffLimit",
}
_ALL_TOGETHER = "let a JobSet with a failurePolicy restart all pods together"
_OF_A_RULE = (
    "let the rule match only what a restart does not mend (onJobFailureReasons: [PodFailurePolicy] beside a "
    "podFailurePolicy), and set maxRestarts"
)
FEW_GPUS = 4
"""GPUs up to which a job may well be a try."""


@rule(
    code="RETRY001",
    name="no-restart-budget",
    view=Workload,
    severity=Severity.WARNING,
    evidence=(
        "meta-llama3-405b", "opt-175b", "acme-llm-datacenter", "vllm-608", "marin-7652", "megatron-bridge-4480",
        "glm-130b", "unicron", "tangle-358",
    ),
    sources=("pytorch-torchrun", "jobset-api"),
)  # fmt: skip
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """Nothing starts the job again: one failed pod ends the whole run until a person notices.

    ## What it flags
    A training job with several pods, or with 8 GPUs or more, whose restart budget is zero through every layer: a Job
    with `backoffLimit: 0`; a bare pod, also where it is one of several that torchrun waits for (`--nnodes=4`); a JobSet
    or training runtime without `failurePolicy.maxRestarts` whose child Jobs have `backoffLimit: 0`; a Kubeflow job
    whose effective `restartPolicy` is Never (the default of TFJob, XGBoostJob, JAXJob and MPIJob v1); a JobSet whose
    FailJobSet rule matches first; a Volcano Job that does not restart on PodFailed; and so on. Error on spot or
    preemptible nodes. For a RayJob without `backoffLimit` it is info where the program may have retries of its own, and
    so it is for jobs of up to 4 GPUs whose image alone knows what they run. Pods of a Volcano Job that the kubelet
    restarts one by one and that cannot meet again are RETRY003's.

    ## Why it hurts
    Llama 3 405B was interrupted 466 times in 54 days, mostly by hardware, and only three of these needed a person,
    because automation restarted the rest. OPT-175B saw more than 40 restarts in two weeks, most of them by hand. A
    healthy 4-node job of Marin's ended for good after 4.9 hours because the tolerance for failed pods was zero.

    ## Bad
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Something outside the manifest starts the job again: declare `supervisor` in the profile. Owners that are visible
    (AppWrapper, an Argo Workflow with a retryStrategy) or that a label gives away (Airflow, Flyte) are known already.
    Of runs of less than an hour, of up to 200 steps, or over a data set as small as MNIST (by its name, or by the text
    of a visible program), nothing is said.

    ## Fix safety
    Unsafe: restarts help only where the program continues from its last checkpoint. There is no edit where it is seen
    that it does not.

    ## References
    - https://arxiv.org/abs/2407.21783 (section 3.3.4)
    - https://github.com/facebookresearch/metaseq/tree/main/projects/OPT/chronicles
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
    """
    whole = pods_of_its_run(workload)
    if not workload.trains or workload.batch is not None or context.profile.supervisor:
        return
    if whole is None and not large(workload):
        return
    layer = deciding_layer(workload)
    if layer is None or disruptions_are_ignored(workload) or "ExitCode" in restart_policies(workload).values():
        return
    if _restarts_after_losses(workload):
        return
    if is_brief(workload, context.profile) or any(_meets_in_a_file(process) for process in workload.processes):
        return
    found = _zero(workload, layer)
    if found is None:
        return
    severity, message = found
    spot = any_spot(workload.roles)
    if spot is not None and severity is Severity.WARNING:
        severity = Severity.ERROR
    elif severity is Severity.WARNING and _may_be_a_try(workload):
        severity = Severity.INFO
    rate = time_between_failures(workload, context.profile)
    remedy = _OF_A_RULE if _by_rule(layer) else _ALL_TOGETHER if whole else _REMEDIES.get(layer.owner)
    if layer.owner == "training operator" and any(meeting(process) == "static" for process in workload.processes):
        remedy = "let a JobSet restart all pods together, or start by torchrun with c10d under restartPolicy OnFailure"

    changes = () if _by_rule(layer) else _changes(workload, layer, proposed_budget(workload, context.profile))
    resumes = [process.settings.resume for process in workload.processes]
    if remedy is not None and not (resumes and all(isinstance(one, Set) and one.value for one in resumes)):
        remedy = f"see to it that a new start goes on from the last checkpoint; then {remedy}"
        if any(isinstance(one, Absent) or (isinstance(one, Set) and not one.value) for one in resumes):
            changes = ()
    yield Gap(
        layer.origin,
        message,
        "a person has to notice it and start the job again" + (f"; {rate}" if rate else ""),
        detail=f"no restarts by {layer.owner}",
        severity=severity,
        related=() if spot is None else (Related(spot, "the pods run on nodes that may be taken away at any time"),),
        fix=None if remedy is None else Fix(remedy, changes),
    )


def _may_be_a_try(workload: Workload) -> bool:
    """A few GPUs, and a program of which nothing is seen: it may run for minutes."""
    gpus = gpu_count(workload)
    return gpus is not None and gpus <= FEW_GPUS and not any(process.program for process in workload.processes)


def _restarts_after_losses(workload: Workload) -> bool:
    """A JobSet whose rule ends it for some failures alone, and which starts again after the others."""
    return any(
        layer.owner == "JobSet" and "failure" not in layer.on and not _is_zero(layer) for layer in workload.restarts
    )


def _meets_in_a_file(process: TrainingProcess) -> bool:
    """The ranks meet by a file, which a crash leaves behind: whoever starts again finds the old one and hangs."""
    return any(
        isinstance(one.value, Set) and one.value.value.startswith("file://") for one in process.options.occurrences
    )


def _zero(workload: Workload, layer: RestartLayer) -> tuple[Severity, str] | None:
    """How bad it is that nothing restarts the job, and why that is so; None where something may restart it."""
    kind = workload.subject.kind
    budget = workload.restart_budget
    if isinstance(budget, Set) and budget.value == 0:
        whole = pods_of_its_run(workload)
        what = f"run of {whole.value} pods" if whole is not None else kind
        return Severity.WARNING, f"{_reason(workload, layer)}: the first pod that fails ends the {what}"
    if layer.owner == "RayJob":
        return _of_ray(workload, layer)
    if loses_nodes(workload) and lone_restart(workload) is None:
        return (
            Severity.WARNING,
            "no policy restarts the whole job when a pod fails or is lost: its ranks come back one by one, if at all",
        )
    return None


def _of_ray(workload: Workload, layer: RestartLayer) -> tuple[Severity, str] | None:
    """RayJob's own retries are visible, those of Ray Train stand in the program."""
    if not all(_is_zero(one) for one in workload.restarts if one.owner != "Ray Train" and "failure" in one.on):
        return None
    tries = [one for process in workload.processes if (one := process.settings.extra.get("max-failures")) is not None]
    if any(isinstance(one, Set) and one.value.strip() != "0" for one in tries):
        return None
    reason = f"{_reason(workload, layer)}: the loss of the head ends the RayJob"
    if not tries or any(isinstance(one, Unknown) for one in tries):
        return Severity.INFO, f"{reason}, unless the program has retries of its own"
    return Severity.WARNING, f"{reason}, and the program's max_failures is 0"


def _is_zero(layer: RestartLayer) -> bool:
    return isinstance(layer.budget, Set) and layer.budget.value == 0


def _by_rule(layer: RestartLayer) -> bool:
    """Whether a rule of a JobSet ends it before maxRestarts counts."""
    return isinstance(layer.budget, Set) and layer.budget.origin.note == FAILS_THE_SET


def _reason(workload: Workload, layer: RestartLayer) -> str:
    """Why a controller restarts nothing."""
    origin = layer.budget.origin if isinstance(layer.budget, Set) else layer.origin
    default = "" if origin.written else ", the default"
    if layer.owner == "JobSet":
        if _by_rule(layer):
            return "a rule with action FailJobSet matches every failure of its pods"
        if "failurePolicy" in origin.note:
            return "there is no failurePolicy, and backoffLimit of the child Job is 0"
        return f"failurePolicy.maxRestarts is 0{default}"
    if layer.owner == "training operator":
        never = [name for name, policy in restart_policies(workload).items() if policy == "Never"]
        return f"the restartPolicy of {' and '.join(never)} is Never{default}"
    if layer.owner == "Volcano":
        return "no policy restarts the job on PodFailed" if "no policy" in layer.note else f"the policy is {layer.note}"
    if layer.owner == "Argo Workflow":
        return "the template has no retryStrategy"
    if layer.owner == "kubelet":
        return "a bare pod with restartPolicy Never"
    field = {"Tekton": "retries", "AppWrapper": "retryLimit"}.get(layer.owner, "backoffLimit")
    return f"{field} is 0{default}"


def _changes(workload: Workload, layer: RestartLayer, budget: int) -> tuple[Change, ...]:
    """Only where one place is the obvious one: a JobSet's failurePolicy, the backoffLimit of a single pod."""
    if not workload.roles:  # what a reference that leads nowhere would have given
        return ()
    kind, role = workload.subject.kind, workload.roles[0]
    restart = role.pod.restart_policy
    open_to_policy = pod_failure_policy(role) is None and isinstance(restart, Set) and restart.value == "Never"
    if kind == "JobSet" and layer.owner == "JobSet" and len(workload.roles) == 1:
        whole = Origin(workload.origin.place, node=workload.origin.node)
        changes = [SetKey(whole, ("spec", "failurePolicy", "maxRestarts"), budget)]
        if open_to_policy:
            changes.append(SetKey(whole, ("spec", "failurePolicy", "rules"), RESTART_RULES))
            changes.append(SetKey(role.origin, ("podFailurePolicy", "rules"), IGNORE_RULES["JobSet"]))
        return tuple(changes)
    if kind == "Job" and layer.owner == "Job" and workload.multi_node is False:
        changes = [SetKey(role.origin, ("backoffLimit",), budget)]
        if open_to_policy:
            changes.append(SetKey(role.origin, ("podFailurePolicy", "rules"), IGNORE_RULES["Job"]))
        return tuple(changes)
    return ()
