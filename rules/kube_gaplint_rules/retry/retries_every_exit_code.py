from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.retry import FEW
from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.budget import KEEPERS, OUTER_OWNERS, failure_layers
from kube_gaplint.model.retry import tells_errors_apart
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Workload
from kube_gaplint.rule import Context, rule

# How to tell the two apart, by the controller that retries.
_REMEDIES = {
    "Job": "a podFailurePolicy: FailJob for the exit codes of errors in the configuration, Ignore for DisruptionTarget",
    "JobSet": "a podFailurePolicy in the child Job (FailJob for exit codes), and rules of the failurePolicy for it",
    "Volcano": "a policy with the exitCode of errors in the configuration, and the action AbortJob",
    "training operator": "restartPolicy ExitCode, and a script that ends with 128 or more where a retry helps",
}


@rule(
    code="RETRY009",
    name="retries-every-exit-code",
    view=Workload,
    severity=Severity.INFO,
    evidence=("acme-llm-datacenter", "marin-4339"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """All retries are open to every failure: an error of the program is tried as often as the loss of a node.

    ## What it flags
    A training job whose controller retries more than three times, and nothing of it tells faults of the infrastructure
    from errors of the program: no podFailurePolicy with exit codes or for disruptions, no rule of a JobSet's
    failurePolicy, no restartPolicy ExitCode, no policy of Volcano for an exit code. That retries have no bound is a gap
    of its own (RETRY006).

    ## Why it hurts
    In six months of LLM jobs in the Acme datacenter many failures came early in a job, while those of the
    infrastructure came late and were expensive; its authors sort a failure before they restart anything. Marin took a
    job that ran out of memory for a victim of its node and tried it up to 10,000 times. Each try of a run that cannot
    work allocates all nodes, pulls images and loads data, and the person who could mend it learns of it hours later.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 8
      parallelism: 8
      backoffLimit: 20
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 8
      parallelism: 8
      backoffLimit: 20
      podFailurePolicy:
        rules:
        - action: FailJob
          onExitCodes: {operator: In, values: [2, 78]}
        - action: Ignore
          onPodConditions: [{type: DisruptionTarget}]
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the program cannot tell them apart either: torchrun ends with 1 for a lost link as for a wrong option.

    ## Fix safety
    There is no automatic fix: which exit codes stand for errors that a retry does not mend is for the program to say.

    ## References
    - https://arxiv.org/abs/2403.07648
    - https://github.com/marin-community/marin/pull/4339
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
    """
    if not workload.trains or workload.batch is not None or tells_errors_apart(workload):
        return
    if any(layer.owner in OUTER_OWNERS for layer in workload.restarts):
        return  # an AppWrapper and an Argo Workflow have rules for exit codes of their own
    layer = _many(workload)
    if layer is None or not isinstance(layer.budget, Set):
        return
    number = layer.budget.value
    often = "without end" if number >= UNBOUNDED else f"{number:,} times"
    tries = "until its deadline" if number >= UNBOUNDED else f"{number + 1:,} times"
    yield Gap(
        layer.budget.origin,
        f"{layer.owner_shown} retries {often} after any failure: nothing tells a lost node from an error in the code",
        f"a run that cannot work is tried {tries}, each time with {size(workload)}",
        detail=f"{layer.owner} retries everything",
        fix=Fix(_REMEDIES.get(layer.owner, "let the program say by its exit code what a retry does not mend")),
    )


def _many(workload: Workload) -> RestartLayer | None:
    """The controller of the job that retries more than a few times."""
    for layer in failure_layers(workload):
        if layer.owner not in KEEPERS and isinstance(layer.budget, Set) and layer.budget.value > FEW:
            return layer
    return None
