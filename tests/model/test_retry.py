"""Rules by which controllers react to failures: which of them matches, and what they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads
from msgspec.structs import replace

from kube_gaplint.model.retry import (
    JobSetRule,
    LifecyclePolicy,
    PodFailureRule,
    action_on,
    disruptions_are_ignored,
    ends_for_errors,
    failure_rules,
    pod_failure_policy,
    policies,
    restart_policies,
    tells_errors_apart,
)
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Workload
from kube_gaplint.text.source import Place, Source, Span

HERE = Origin(Place(Source("a", "a"), Span(0, 1)))
UNKNOWN: Unknown = Unknown("$X", HERE)


def setting(text: str) -> Setting[str]:
    return UNKNOWN if text == "$X" else Set(text, HERE)


def codes(action: str, operator: str, *listed: str) -> PodFailureRule:
    known: Setting[tuple[str, ...]] = UNKNOWN if "$X" in listed else Set(listed, HERE)
    return PodFailureRule(setting(action), operator, known, (), HERE)


def conditions(action: str, *names: str) -> PodFailureRule:
    return PodFailureRule(setting(action), "", Absent(HERE), names, HERE)


def jobset_rule(action: str) -> JobSetRule:
    return JobSetRule("", setting(action), (), (), HERE)


@pytest.fixture
def plain(tmp_path: Path) -> Workload:
    (found,) = workloads(
        tmp_path,
        job_yaml="""\
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sample}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: t, image: "a/b:1", command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}}}
        """,
    )
    return found


def with_rules(found: Workload, *rules: PodFailureRule) -> Workload:
    (role,) = found.roles
    return replace(found, roles=(replace(role, exposed={**role.exposed, "pod_failure_policy": rules}),))


@pytest.mark.parametrize(("code", "retried"), [("1", False), ("2", True)])
def test_a_crash_of_python_is_exit_code_1(code: str, retried: bool, tmp_path: Path) -> None:
    """torchrun, and Python after an uncaught error of CUDA or NCCL, end with 1: a rule for it decides of each crash."""
    (found,) = workloads(
        tmp_path,
        job_yaml=f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: j}}
        spec:
          backoffLimit: 6
          podFailurePolicy:
            rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [{code}]}}}}]
          template:
            spec:
              restartPolicy: Never
              containers:
              - {{name: t, image: "a/b:1", command: [python, train.py], resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
        """,
    )
    assert isinstance(found.restart_budget, Set)
    assert found.restart_budget.value == (6 if retried else 0)


@pytest.mark.parametrize(
    ("rules", "exit_code", "condition", "action"),
    [
        ([], 1, "", ""),
        ([codes("FailJob", "In", "1")], 1, "", "FailJob"),
        ([codes("FailJob", "In", "2", "3")], 1, "", ""),
        ([codes("FailJob", "NotIn", "2")], 1, "", "FailJob"),
        ([codes("FailJob", "NotIn", "1")], 1, "", ""),
        ([codes("Count", "In", "1"), codes("FailJob", "In", "1")], 1, "", "Count"),
        ([codes("FailJob", "In", "2"), codes("Ignore", "In", "1")], 1, "", "Ignore"),
        ([codes("$X", "In", "1"), codes("Ignore", "In", "1")], 1, "", ""),
        ([codes("FailJob", "In", "$X"), codes("Ignore", "In", "1")], 1, "", "Ignore"),
        ([conditions("Ignore", "DisruptionTarget")], None, "DisruptionTarget", "Ignore"),
        ([conditions("$X", "DisruptionTarget")], None, "DisruptionTarget", ""),
        ([conditions("Ignore", "DisruptionTarget")], 1, "", ""),
        ([conditions("Ignore", "Other")], None, "DisruptionTarget", ""),
        ([codes("FailJob", "NotIn", "0"), conditions("Ignore", "D")], None, "D", "Ignore"),
        ([conditions("Ignore", "D"), codes("FailJob", "In", "1")], 1, "", "FailJob"),
    ],
)
def test_the_first_rule_that_matches(
    rules: list[PodFailureRule], exit_code: int | None, condition: str, action: str
) -> None:
    assert action_on(tuple(rules), exit_code=exit_code, condition=condition) == action


def test_rules_are_read_from_where_they_are_shown(plain: Workload) -> None:
    rule = codes("FailJob", "In", "1")
    assert pod_failure_policy(plain.roles[0]) is None
    assert pod_failure_policy(with_rules(plain).roles[0]) == ()
    assert pod_failure_policy(with_rules(plain, rule).roles[0]) == (rule,)
    assert failure_rules(plain) == ()
    one = jobset_rule("RestartJobSet")
    assert failure_rules(replace(plain, exposed={"failure_rules": (one, "other")})) == (one,)
    assert failure_rules(replace(plain, exposed={"failure_rules": one})) == ()
    assert policies(plain) == ()


@pytest.mark.parametrize(
    ("rules", "ignored"),
    [
        ([], False),
        ([conditions("Ignore", "DisruptionTarget")], True),
        ([conditions("Count", "DisruptionTarget")], False),
        ([conditions("$X", "DisruptionTarget")], False),
        ([conditions("Ignore", "Other")], False),
        ([codes("Ignore", "In", "1")], False),
        ([codes("FailJob", "In", "1"), conditions("Ignore", "Other", "DisruptionTarget")], True),
    ],
)
def test_disruptions_that_spend_no_retries(rules: list[PodFailureRule], ignored: bool, plain: Workload) -> None:
    assert disruptions_are_ignored(with_rules(plain, *rules)) is ignored


@pytest.mark.parametrize(
    ("action", "ignores"),
    [
        ("RestartJobSetAndIgnoreMaxRestarts", True), ("RestartJobAndIgnoreMaxRestarts", True), ("RestartJobSet", False),
        ("FailJobSet", False), ("$X", False),
    ],
)  # fmt: skip
def test_rules_of_a_set_that_spend_no_restarts(action: str, ignores: bool, plain: Workload) -> None:
    rule = jobset_rule(action)
    assert rule.ignores_budget is ignores
    assert disruptions_are_ignored(replace(plain, exposed={"failure_rules": (rule,)})) is ignores


@pytest.mark.parametrize(
    ("rules", "set_action", "ends"),
    [
        ([], "", False),
        ([codes("FailJob", "In", "1")], "", True),
        ([codes("FailIndex", "In", "1")], "", True),
        ([codes("Ignore", "In", "1")], "", False),
        ([codes("Count", "In", "1"), codes("FailJob", "In", "2")], "", True),
        ([codes("$X", "In", "1")], "", True),
        ([conditions("FailJob", "DisruptionTarget")], "", False),
        ([], "FailJobSet", True),
        ([], "RestartJobSet", False),
        ([], "$X", True),
        ([codes("Ignore", "In", "1")], "RestartJobSet", False),
    ],
)
def test_rules_that_end_the_job(rules: list[PodFailureRule], set_action: str, ends: bool, plain: Workload) -> None:
    found = with_rules(plain, *rules)
    if set_action:
        found = replace(found, exposed={"failure_rules": (jobset_rule(set_action),)})
    assert ends_for_errors(found) is ends
    assert tells_errors_apart(found) is (ends or any(rule.exit_operator for rule in rules))


def test_restart_policies_of_replicas(plain: Workload) -> None:
    (role,) = plain.roles
    kubeflow = replace(plain, roles=(replace(role, fields={**role.fields, "restartPolicy": Set("ExitCode", HERE)}),))
    assert restart_policies(kubeflow) == {role.name: "ExitCode"}
    assert tells_errors_apart(kubeflow) is True
    other = replace(plain, roles=(replace(role, fields={**role.fields, "restartPolicy": Set("OnFailure", HERE)}),))
    assert tells_errors_apart(other) is False
    unknown = replace(plain, roles=(replace(role, fields={**role.fields, "restartPolicy": UNKNOWN}),))
    assert restart_policies(unknown) == {}


@pytest.mark.parametrize(("code", "apart"), [(Set(137, HERE), True), (UNKNOWN, True), (Absent(HERE), False)])
@pytest.mark.parametrize("of_the_role", [True, False])
def test_policies_of_volcano_for_an_exit_code(
    code: Setting[int], apart: bool, of_the_role: bool, plain: Workload
) -> None:
    policy = LifecyclePolicy(("PodFailed",), Set("RestartJob", HERE), code, HERE)
    (role,) = plain.roles
    if of_the_role:
        found = replace(plain, roles=(replace(role, exposed={"policies": (policy,)}),))
    else:
        found = replace(plain, exposed={"policies": (policy,)})
    assert tells_errors_apart(found) is apart
