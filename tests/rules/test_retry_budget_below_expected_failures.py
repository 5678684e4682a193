"""Which budgets RETRY016 finds smaller than the failures to expect, and the number that it proposes."""

from __future__ import annotations

import pytest
from judged import finding

from kube_gaplint.findings import Finding, ReplaceValue, Severity
from kube_gaplint.model.profile import Profile

SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: sample{declared}}}
spec:
  failurePolicy: {{maxRestarts: {budget}{rules}}}
  replicatedJobs:
  - name: node
    template:
      spec:
        parallelism: {nodes}
        completions: {nodes}
        backoffLimit: 0
        {policy}
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: trainer
              image: nvcr.io/nvidia/pytorch:24.05-py3
              command: [torchrun, --nnodes={nodes}, --nproc-per-node=8, train.py]
              resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample, annotations: {{gaplint.dev/run-days: "{days}"}}}}
spec:
  {limit}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:24.05-py3
        command: [torchrun, --nproc-per-node=8, {options} train.py]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
UNCOUNTED = ", rules: [{action: RestartJobSetAndIgnoreMaxRestarts, onJobFailureReasons: [PodFailurePolicy]}]"
DISRUPTED = "podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}"


def jobset(
    nodes: int, budget: int, *, days: float | None = None, profile: Profile | None = None, uncounted: bool = False
) -> Finding | None:
    declared = "" if days is None else f', annotations: {{gaplint.dev/run-days: "{days}"}}'
    rules, policy = (UNCOUNTED, DISRUPTED) if uncounted else ("", "")
    return finding(
        "RETRY016", SET.format(nodes=nodes, budget=budget, declared=declared, rules=rules, policy=policy), profile
    )


def changed(one: Finding) -> list[str]:
    assert one.fix is not None
    return [change.text for change in one.fix.changes if isinstance(change, ReplaceValue)]


@pytest.mark.parametrize(
    ("nodes", "days", "budget", "message", "consequence", "proposed"),
    [
        (
            64, 60, 8,
            "only 8 restarts are allowed, but 64 nodes × 60 days × 5 per 1,000 node-days make 19 failures",
            "the budget is used up after about 28.1 days, and then somebody has to start the run again", 39,
        ),
        (
            2_048, 54, 1,
            "only one restart is allowed, but 2,048 nodes × 54 days × 5 per 1,000 node-days make 553 failures",
            "the budget is used up after about 4.7 h, and then somebody has to start the run again", 1_106,
        ),
        (
            8, 35, 1,
            "only one restart is allowed, but 8 nodes × 35 days × 5 per 1,000 node-days make 1.4 failures",
            "the budget is used up after about 50 days, and then somebody has to start the run again", 3,
        ),
    ],
)  # fmt: skip
def test_what_is_said(nodes: int, days: int, budget: int, message: str, consequence: str, proposed: int) -> None:
    one = jobset(nodes, budget, days=days)
    assert one is not None
    assert (one.severity, one.message, one.consequence) == (Severity.WARNING, message, consequence)
    assert one.origin.place.text == str(budget)
    assert [(place.note, place.origin.place.text) for place in one.related] == [("the length of the run", f'"{days}"')]
    assert one.fix is not None
    assert one.fix.title == f"allow about twice as many restarts as failures are expected: {proposed}"
    assert changed(one) == [str(proposed)]
    assert not one.fix.safe


def test_as_many_restarts_as_failures_are_enough() -> None:
    assert jobset(40, 20, days=100) is None  # 20 failures
    assert jobset(40, 19, days=100) is not None


def test_no_restart_at_all_is_another_rules() -> None:
    assert jobset(40, 0, days=100) is None


def test_ten_are_enough_beside_rules_that_leave_disruptions_uncounted() -> None:
    assert jobset(40, 10, days=100, uncounted=True) is None
    assert jobset(40, 9, days=100, uncounted=True) is not None
    assert jobset(40, 10, days=100) is not None


def test_the_profile_says_how_long_and_how_often() -> None:
    """What no manifest says has no second place to show."""
    assert jobset(40, 20) is None
    one = jobset(40, 20, profile=Profile(run_days=100, failures_per_1000_node_days=10))
    assert one is not None
    assert "40 nodes × 100 days × 10 per 1,000 node-days make 40 failures" in one.message
    assert one.related == ()


def test_a_job_array_gets_more_elements() -> None:
    script = """\
#!/bin/bash
#SBATCH --nodes=512
#SBATCH --gres=gpu:8
#SBATCH --time=4-00:00:00
#SBATCH --array=1-4%1
srun --kill-on-bad-exit=1 python -u pretrain_gpt.py --save /ckpt --load /ckpt --train-iters 100000
"""
    one = finding("RETRY016", script)
    assert one is not None
    assert one.message.startswith("only 3 restarts are allowed, but 512 nodes × 4 days × 5")
    assert changed(one) == ["--array=1-22%1"]


@pytest.mark.parametrize(
    ("limit", "options", "place", "changes"),
    [
        ("backoffLimit: 1", "", "1", ["6"]),
        # What is written in the command is shown, and left to its author.
        ("backoffLimit: 0", "--max-restarts=1,", "--max-restarts=1", []),
        ("backoffLimit: 1", "--max-restarts=0,", "1", ["6"]),
    ],
)
def test_which_number_grows(limit: str, options: str, place: str, changes: list[str]) -> None:
    one = finding("RETRY016", JOB.format(limit=limit, options=options, days=600))
    assert one is not None
    assert one.origin.place.text == place
    assert changed(one) == changes


def test_a_default_is_no_number_to_replace() -> None:
    one = finding("RETRY016", JOB.format(limit="", options="", days=2_000))
    assert one is not None
    assert one.message.startswith("only 6 restarts are allowed")
    assert changed(one) == []
