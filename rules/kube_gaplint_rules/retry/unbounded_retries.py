from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, ReplaceValue, SetKey, Severity
from kube_gaplint.model.budget import endless_layer, proposed_budget
from kube_gaplint.model.retry import ends_for_errors
from kube_gaplint.model.scale import held
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY006",
    name="unbounded-retries",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("kubeflow-1589", "marin-4339"),
    sources=("kubeflow-exit-code-2",),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """Retries have no bound, so that a job which always fails restarts for ever and holds its GPUs.

    ## What it flags
    A Kubeflow job with restartPolicy OnFailure or Always (OnFailure is PyTorchJob's default) without
    `runPolicy.backoffLimit`: there is no limit then. A `backoffLimit`, `maxRestarts`, `maxRetry` or `--max-restarts`
    above 100; in a Slurm batch script the launcher's, where `--time=UNLIMITED` keeps even the partition's limit from
    ending the job. Quiet where a deadline ends the job or `timeout` the launcher, where a FailJob or FailJobSet rule
    ends it for errors that a retry does not mend, where each index has a `backoffLimitPerIndex`, and where the number
    is within three times the failures to expect.

    ## Why it hurts
    A worker of a PyTorchJob with a bug in its code restarted without end and held its GPUs, because nobody had set
    runPolicy.backoffLimit. Marin retried a job that was out of memory up to 10,000 times: the same error, each time.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 4, maxRestarts: 5}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {backoffLimit: 20}
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 4, maxRestarts: 5}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    On a very large job whose failures really are that many: declare the length of the run (`gaplint.dev/run-days`), or
    add a rule that ends the job for exit codes of configuration errors.

    ## Fix safety
    Unsafe: a number that is too small ends a healthy run.

    ## References
    - https://github.com/kubeflow/trainer/issues/1589
    - https://github.com/marin-community/marin/pull/4339
    """
    if not workload.trains or not isinstance(workload.deadline_seconds, Absent) or _may_have_limit(workload):
        return
    if ends_for_errors(workload) or _in_place(workload):
        return
    layer = endless_layer(workload, context.profile)
    if layer is None or not isinstance(layer.budget, Set) or _counts_by_index(workload, layer):
        return
    if layer.scope == "process" and any(map(_is_timed, workload.processes)):
        return
    proposed = proposed_budget(workload, context.profile)
    title = f"allow a number that covers the faults to expect, such as {proposed}"
    if _is_uncounted(layer.budget):
        title = f"leave only disruptions uncounted, and {title}"
    yield Gap(
        _place(workload, layer),
        _message(layer, layer.budget),
        _cost(workload),
        detail=f"{layer.owner} retries",
        fix=Fix(title, _changes(workload, layer, proposed)),
    )


def _cost(workload: Workload) -> str:
    again = "a program that fails at its start does so again and again, and"
    if workload.asks_for_no_accelerator:
        return f"{again} the job never counts as failed"
    return f"{again} meanwhile nobody else gets {held(workload)}"


def _may_have_limit(workload: Workload) -> bool:
    """A batch job that names no time limit gets the one of its partition."""
    return workload.batch is not None and not isinstance(workload.batch.get("time"), Set)


def _is_timed(process: TrainingProcess) -> bool:
    """`timeout` ends the launcher with all its restarts, or the step's own limit (`srun --time`)."""
    step = process.launcher("srun")
    return "timeout" in process.command.wrappers or (step is not None and step.options.find("time") is not None)


def _in_place(workload: Workload) -> bool:
    """JobSet's webhook wants backoffLimit 2147483647 for restarts in place."""
    strategy = workload.fields.get("spec.failurePolicy.restartStrategy")
    return isinstance(strategy, Set) and strategy.value == "InPlaceRestart"


def _counts_by_index(workload: Workload, layer: RestartLayer) -> bool:
    """Each index of a Job may have a limit of its own: backoffLimitPerIndex, beside which backoffLimit means little."""
    limits = (role.fields.get("backoffLimitPerIndex") for role in workload.roles)
    return layer.owner == "Job" and any(limit is not None and not isinstance(limit, Absent) for limit in limits)


def _place(workload: Workload, layer: RestartLayer) -> Origin:
    assert isinstance(layer.budget, Set)
    limit = workload.fields.get("spec.runPolicy.backoffLimit")
    if layer.budget.origin.via == "default" and isinstance(limit, Absent):
        return limit.origin
    return layer.budget.origin


def _message(layer: RestartLayer, budget: Set[int]) -> str:
    if budget.origin.via == "default":
        policy = layer.note.partition(":")[0] or f"{layer.owner} retries"
        return f"{policy} without a backoffLimit: there is no limit to the restarts"
    if not _is_uncounted(budget):
        many = f"{layer.owner} may restart it {budget.value:,} times"
        return f"{many}, and no rule ends it for errors that a retry does not mend"
    return f"a rule lets {layer.owner} restart it after failures of its own without counting them: there is no limit"


def _is_uncounted(budget: Set[int]) -> bool:
    """A rule restarts it without counting: no number is written, and none is the default."""
    return budget.value == UNBOUNDED and budget.origin.via != "default" and not _is_the_number(budget)


def _is_the_number(budget: Set[int]) -> bool:
    return budget.origin.place.text.strip("\"'") == str(budget.value)


def _changes(workload: Workload, layer: RestartLayer, number: int) -> tuple[Change, ...]:
    assert isinstance(layer.budget, Set)
    if _is_the_number(layer.budget):
        return (ReplaceValue(layer.budget.origin, str(number)),)
    if layer.owner != "training operator":
        return ()
    whole = Origin(workload.origin.place, node=workload.origin.node)
    return (SetKey(whole, ("spec", "runPolicy", "backoffLimit"), number),)
