from __future__ import annotations

import math
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.budget import failure_layers, failures_over_the_run
from kube_gaplint.model.needs import knows_run_days
from kube_gaplint.model.retry import disruptions_are_ignored
from kube_gaplint.model.scale import duration, node_count
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

ENOUGH_WITH_RULE = 10
"""With disruptions left uncounted, a budget of this size stands for faults of the job itself."""
DAY = 86_400.0
_ARRAY = lazy_re.compile(r"(.*?)(\d+)-\d+%1")


@rule(
    code="RETRY016",
    name="retry-budget-below-expected-failures",
    view=Workload,
    needs=(knows_run_days,),
    severity=Severity.WARNING,
    evidence=("meta-llama3-405b", "meta-rsc-reliability", "opt-175b"),
    evidence_kind="facts",
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The restart budget is smaller than the number of failures to expect over the planned run.

    ## What it flags
    A budget through all layers (backoffLimit, maxRestarts, maxRetry, max_failures, torchrun's restarts) below nodes ×
    days × failures per 1,000 node-days. The length of the run must be known: `gaplint.dev/run-days` on the object,
    `run_days` in the profile, a batch script's time limit, or an `activeDeadlineSeconds` of a day or more. The rate is
    5 where the profile declares none.

    ## Why it hurts
    The published rates are close to one another: Llama 3 lost its job 3.8 times per 1,000 node-days, BLOOM 3.0, Meta's
    RSC-1 cluster 6.5. 128 nodes that run for a month meet about 19 failures; a budget of 3 is used up in the first
    week, and the rest of the month waits for a person. OPT-175B took around 90 restarts on 124 to 128 nodes.

    ## Bad
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata:
      name: llm
      annotations: {gaplint.dev/run-days: "30"}
    spec:
      failurePolicy: {maxRestarts: 3}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 128
            completions: 128
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=128, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata:
      name: llm
      annotations: {gaplint.dev/run-days: "30"}
    spec:
      failurePolicy: {maxRestarts: 40}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 128
            completions: 128
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=128, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the run is cut into shorter jobs, or the cluster fails less often: declare the length or the rate.

    ## Fix safety
    Unsafe: a larger budget also lets a broken program try more often. `gaplint plan FILE --days N` gives the number
    that suffices in 99 of 100 runs.

    ## References
    - https://arxiv.org/abs/2407.21783 (section 3.3.4)
    - https://arxiv.org/abs/2410.21680
    - https://github.com/facebookresearch/metaseq/tree/main/projects/OPT/chronicles
    """
    budget, days, nodes = workload.restart_budget, workload.run_days, node_count(workload)
    expected = failures_over_the_run(workload, context.profile)
    if not workload.trains or expected is None or not isinstance(budget, Set) or not isinstance(days, Set):
        return
    if budget.value == 0 or budget.value >= expected:
        return
    if disruptions_are_ignored(workload) and budget.value >= ENOUGH_WITH_RULE:
        return
    number = _number_to_raise(workload)
    proposed = math.ceil(2 * expected)
    rate = context.profile.failures_per_1000_node_days
    yield Gap(
        number or budget.origin,
        f"{_restarts(budget.value)}, but {nodes:,} nodes × {days.value:g} days × {rate:g} per 1,000 node-days make "
        f"{f'{expected:.0f}' if expected >= 10 else f'{expected:.2g}'} failures",
        f"the budget is used up after about {duration(DAY * days.value * (budget.value + 1) / expected)}, and then "
        "somebody has to start the run again",
        detail="below expected failures",
        related=() if days.origin.via == "default" else (Related(days.origin, "the length of the run"),),
        fix=Fix(f"allow about twice as many restarts as failures are expected: {proposed}", _changes(number, proposed)),
    )


def _changes(number: Origin | None, proposed: int) -> tuple[Change, ...]:
    """Another number where a number is written, or a job array of so many more elements than one."""
    if number is None or not number.written:
        return ()
    text = number.place.text
    array = _ARRAY.fullmatch(text)
    if array is not None:
        return (ReplaceValue(number, f"{array[1]}{array[2]}-{int(array[2]) + proposed}%1"),)
    return (ReplaceValue(number, str(proposed)),) if text.strip("\"'").isdecimal() else ()


def _restarts(number: int) -> str:
    return "only one restart is allowed" if number == 1 else f"only {number} restarts are allowed"


def _number_to_raise(workload: Workload) -> Origin | None:
    """The number that should grow: of the outermost layer that restarts something, best one that is written."""
    budgets = [layer.budget for layer in failure_layers(workload)]
    numbers = [budget.origin for budget in budgets if isinstance(budget, Set) and budget.value > 0]
    return next((one for one in numbers if one.written), numbers[0] if numbers else None)
