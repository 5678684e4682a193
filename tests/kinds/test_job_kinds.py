"""Job, CronJob, Pod, Deployment, StatefulSet and JobSet: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import (
    ABSENT,
    ENDLESS,
    UNKNOWN,
    gpu_pod,
    layers,
    main,
    plain,
    profile,
    role,
    workload,
    workloads,
)

from kube_gaplint.model.retry import failure_rules, pod_failure_policy
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload


def job(spec: str = "", pod: str = "", metadata: str = "name: j") -> Workload:
    template = pod or gpu_pod(restartPolicy="Never")
    return workload(
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{{metadata}}}\nspec:\n  template: {template}\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
    )


IGNORE = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}"
FAIL_ON_ONE = "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}"
FAIL_UNLESS_42 = "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: NotIn, values: [42]}}]}"


@pytest.mark.parametrize(
    ("spec", "budget", "expected"),
    [
        pytest.param("", 6, [("Job", "pod", 6, "efn")], id="A1 backoffLimit defaults to 6"),
        pytest.param("backoffLimit: 0", 0, [("Job", "pod", 0, "efn")], id="A1 backoffLimit 0"),
        pytest.param("backoffLimitPerIndex: 2", ENDLESS, [("Job", "pod", ENDLESS, "efn")], id="A1 per index: no limit"),
        pytest.param("backoffLimit: ${N}", UNKNOWN, [("Job", "pod", UNKNOWN, "efn")], id="G9 placeholder"),
        pytest.param(
            f"backoffLimit: 3\n{IGNORE}", 3, [("Job", "pod", 3, "f"), ("Job", "pod", ENDLESS, "en")], id="A1 Ignore"
        ),
        pytest.param(
            f"backoffLimit: 3\n{FAIL_ON_ONE}", 0, [("Job", "pod", 0, "f"), ("Job", "pod", 3, "en")], id="A1 FailJob"
        ),
        pytest.param(
            f"backoffLimit: 3\n{FAIL_UNLESS_42}", 0, [("Job", "pod", 0, "f"), ("Job", "pod", 3, "en")], id="F10 exit 1"
        ),
    ],
)
def test_job_restarts(spec: str, budget: int | str, expected: list[object]) -> None:
    found = job(spec)
    assert plain(found.restart_budget) == budget
    assert layers(found) == expected


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ("", 1),
        ("parallelism: 4", 4),
        ("parallelism: 4\ncompletions: 2", 2),
        ("parallelism: 4\ncompletions: 16", 4),
        ("completions: 16", 1),
        ("parallelism: ${N}", UNKNOWN),
        ("parallelism: 4\ncompletions: ${N}", UNKNOWN),
    ],
)
def test_job_nodes(spec: str, nodes: int | str) -> None:
    found = job(spec)
    assert plain(found.nodes) == nodes
    assert plain(found.accelerators_per_node) == 8


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        pytest.param("", "spec.backoffLimit", "6", id="A1 backoffLimit"),
        pytest.param("", "spec.completionMode", "NonIndexed", id="A1 completionMode"),
        pytest.param("", "spec.podReplacementPolicy", "TerminatingOrFailed", id="A1 podReplacementPolicy"),
        pytest.param(IGNORE, "spec.podReplacementPolicy", "Failed", id="A1 Failed with podFailurePolicy"),
        pytest.param("", "spec.suspend", "false", id="A1 suspend"),
        pytest.param("", "spec.ttlSecondsAfterFinished", ABSENT, id="A1 ttl nil"),
        pytest.param("", "spec.activeDeadlineSeconds", ABSENT, id="A1 deadline nil"),
        pytest.param("ttlSecondsAfterFinished: 0", "spec.ttlSecondsAfterFinished", "0", id="A1 ttl 0"),
        pytest.param("", "spec.template.spec.restartPolicy", "Never", id="written"),
    ],
)
def test_job_fields(spec: str, path: str, expected: str) -> None:
    assert plain(job(spec).fields[path]) == expected


def test_a_defaulted_field_says_so_and_stands_in_the_spec() -> None:
    setting = job().fields["spec.backoffLimit"]
    assert isinstance(setting, Set)
    assert (setting.origin.via, setting.origin.place.start.line) == ("default", 4)


def test_restart_policy_of_a_job_has_no_valid_default() -> None:
    found = job(pod=gpu_pod())
    assert plain(found.roles[0].pod.restart_policy) == ABSENT


def test_on_failure_restarts_in_place() -> None:
    assert layers(job(pod=gpu_pod(restartPolicy="OnFailure"))) == [("Job", "container", 6, "efn")]


def test_an_indexed_job_gives_its_pods_their_index() -> None:
    assert "JOB_COMPLETION_INDEX" in main(job("completionMode: Indexed")).environment
    assert "JOB_COMPLETION_INDEX" not in main(job()).environment


@pytest.mark.parametrize(
    ("spec", "deadline", "days"),
    [
        ("activeDeadlineSeconds: 3600", 3600.0, ABSENT),
        ("activeDeadlineSeconds: 864000", 864000.0, 10.0),
        ("", ABSENT, ABSENT),
    ],
)
def test_a_deadline_of_a_day_or_more_is_a_planned_duration(spec: str, deadline: float, days: float) -> None:
    found = job(spec)
    assert plain(found.deadline_seconds) == deadline
    assert plain(found.run_days) == days


def test_the_earlier_of_two_deadlines_counts() -> None:  # A1: two fields exist
    found = job("activeDeadlineSeconds: 7200", gpu_pod(restartPolicy="Never", activeDeadlineSeconds="600"))
    assert plain(found.deadline_seconds) == 600.0


def test_declared_numbers_come_from_annotations_before_the_profile() -> None:
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {gaplint.dev/run-days: '30'}}\n"
        "spec:\n  template:\n    metadata: {annotations: {gaplint.dev/step-seconds: '2.5'}}\n"
        "    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n"
    )
    found = workload(text, profile(run_days=7.0, save_seconds=40.0, step_seconds=9.0))
    assert [plain(one) for one in (found.run_days, found.step_seconds, found.save_seconds)] == [30.0, 2.5, 40.0]


def test_pod_failure_policy_is_exposed() -> None:
    rules = pod_failure_policy(job(IGNORE).roles[0])
    assert rules is not None
    assert [(plain(rule.action), rule.conditions) for rule in rules] == [("Ignore", ("DisruptionTarget",))]
    assert pod_failure_policy(job().roles[0]) is None


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("name: j, labels: {kueue.x-k8s.io/queue-name: q}", True),
        ("name: j, labels: {kueue.x-k8s.io/queue-name: '${Q}'}", UNKNOWN),
        ("name: j, labels: {app: x}", False),
        ("name: j, labels: {kai.scheduler/queue: q}", True),
    ],
)
def test_gang_by_label(metadata: str, expected: bool | str) -> None:
    assert plain(job(metadata=metadata).gang_scheduled) == expected


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("volcano", True),
        ("kai-scheduler", True),
        ("default-scheduler", False),
        ("my-own", UNKNOWN),
        ("'${S}'", UNKNOWN),
    ],
)
def test_gang_by_scheduler(scheduler: str, expected: bool | str) -> None:
    assert plain(job(pod=gpu_pod(restartPolicy="Never", schedulerName=scheduler)).gang_scheduled) == expected


def test_gang_by_profile() -> None:
    text = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec: {{template: {gpu_pod()}}}"
    assert plain(workload(text, profile(gang_scheduler=True)).gang_scheduled) is True


def test_an_outer_tool_makes_the_budget_unknown() -> None:
    found = job("backoffLimit: 0", metadata="name: j, labels: {dag_id: nightly}")
    assert plain(found.restart_budget) == UNKNOWN
    assert layers(found)[0][0] == "Airflow"


def test_kueue_takes_preempted_jobs_back() -> None:  # A10
    found = job("backoffLimit: 0", metadata="name: j, labels: {kueue.x-k8s.io/queue-name: q}")
    assert layers(found) == [("Kueue", "workload", ENDLESS, "e"), ("Job", "pod", 0, "efn")]
    assert plain(found.restart_budget) == 0


def test_cron_job_reads_as_its_job() -> None:
    found = workload(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: '0 1 * * *'\n  jobTemplate:\n"
        f"    spec:\n      backoffLimit: 2\n      parallelism: 3\n      template: {gpu_pod(restartPolicy='Never')}\n"
    )
    assert (plain(found.restart_budget), plain(found.nodes)) == (2, 3)
    assert plain(found.fields["spec.backoffLimit"]) == "2"
    assert plain(found.fields["cron.concurrencyPolicy"]) == "Allow"  # A1 CronJob
    assert plain(found.fields["cron.schedule"]) == "0 1 * * *"


@pytest.mark.parametrize(
    ("kind", "budget", "expected"),
    [
        ("Deployment", ENDLESS, [("Deployment", "pod", ENDLESS, "efn")]),
        ("StatefulSet", ENDLESS, [("StatefulSet", "pod", ENDLESS, "ef")]),  # A1: stays on an unreachable node
    ],
)
def test_kept_pods(kind: str, budget: int, expected: list[object]) -> None:
    found = workload(
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: k}}\nspec: {{replicas: 3, template: {gpu_pod()}}}"
    )
    assert (plain(found.restart_budget), plain(found.nodes)) == (budget, 3)
    assert layers(found) == expected


@pytest.mark.parametrize(("policy", "budget"), [("Always", ENDLESS), ("OnFailure", ENDLESS), ("Never", 0)])
def test_a_bare_pod_is_restarted_by_the_kubelet_alone(policy: str, budget: int) -> None:
    found = workload(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        f"spec: {{restartPolicy: {policy}, containers: [{{name: c, image: i, command: [python, t.py]}}]}}"
    )
    assert plain(found.restart_budget) == budget
    assert layers(found)[0] == ("kubelet", "container", budget, "f")


def test_claims_of_a_stateful_set_are_one_a_pod() -> None:
    found = workload(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  replicas: 2\n  volumeClaimTemplates:\n"
        "  - metadata: {name: data}\n    spec: {accessModes: [ReadWriteOnce]}\n"
        f"  template: {gpu_pod()}\n"
    )
    volume = found.roles[0].pod.volume("data")
    assert volume is not None
    assert (volume.kind, volume.per_pod, plain(volume.shared)) == ("claim", True, False)


# JobSet


def jobset(policy: str = "", child: str = "backoffLimit: 0", more: str = "", pod: str = "") -> Workload:
    template = pod or gpu_pod(restartPolicy="Never")
    return workload(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n"
        + "".join(f"  {line}\n" for line in f"{policy}\n{more}".splitlines() if line)
        + "  replicatedJobs:\n  - name: workers\n    replicas: 2\n    template:\n      spec:\n"
        + "".join(f"        {line}\n" for line in child.splitlines())
        + f"        parallelism: 4\n        template: {template}\n"
    )


HOST_MAINTENANCE = (
    "failurePolicy: {maxRestarts: 0, rules: [{action: RestartJobSetAndIgnoreMaxRestarts, "
    "onJobFailureReasons: [PodFailurePolicy]}]}"
)
DISRUPTION_FAILS = (
    "backoffLimit: 0\npodFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}"
)
ALWAYS_AGAIN = "failurePolicy: {maxRestarts: 0, rules: [{action: RestartJobSetAndIgnoreMaxRestarts}]}"
FAIL_SET = "failurePolicy: {maxRestarts: 5, rules: [{action: FailJobSet, onJobFailureReasons: [PodFailurePolicy]}]}"
XPK = "backoffLimit: 0\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: NotIn, values: [42]}}]}"
OTHER_TARGET = "failurePolicy: {maxRestarts: 3, rules: [{action: FailJobSet, targetReplicatedJobs: [loader]}]}"


@pytest.mark.parametrize(
    ("policy", "child", "budget", "outer"),
    [
        pytest.param("", "backoffLimit: 0", 0, [("JobSet", "workload", 0, "efn")], id="A2 nil policy"),
        pytest.param(
            "failurePolicy: {}", "backoffLimit: 0", 0, [("JobSet", "workload", 0, "efn")], id="A2 empty policy"
        ),
        pytest.param(
            "failurePolicy: {maxRestarts: 4}", "backoffLimit: 0", 4, [("JobSet", "workload", 4, "efn")], id="G1 child 0"
        ),
        pytest.param(
            "failurePolicy: {maxRestarts: 4}",
            "",
            34,
            [("JobSet", "workload", 4, "efn")],
            id="A2 child default 6: 5*7-1",
        ),
        pytest.param(
            "failurePolicy: {maxRestarts: '${N}'}",
            "backoffLimit: 0",
            UNKNOWN,
            [("JobSet", "workload", UNKNOWN, "efn")],
            id="G9 placeholder",
        ),
        pytest.param(
            "failurePolicy: ${P}", "backoffLimit: 0", UNKNOWN, [("JobSet", "workload", UNKNOWN, "efn")], id="G9 whole"
        ),
        pytest.param(
            ALWAYS_AGAIN, "backoffLimit: 0", ENDLESS, [("JobSet", "workload", ENDLESS, "efn")], id="G2 ignore rule"
        ),
        pytest.param(
            HOST_MAINTENANCE,
            DISRUPTION_FAILS,
            0,
            [("JobSet", "workload", 0, "f"), ("JobSet", "workload", ENDLESS, "en")],
            id="A2 host maintenance model",
        ),
        pytest.param(
            FAIL_SET, XPK, 0, [("JobSet", "workload", 0, "f"), ("JobSet", "workload", 5, "en")], id="F10 xpk: exit 1"
        ),
        pytest.param(
            OTHER_TARGET, "backoffLimit: 0", 3, [("JobSet", "workload", 3, "efn")], id="A2 rule for another job"
        ),
    ],
)
def test_jobset_restarts(policy: str, child: str, budget: int | str, outer: list[object]) -> None:
    found = jobset(policy, child)
    assert plain(found.restart_budget) == budget
    assert [layer for layer in layers(found) if layer[0] == "JobSet"] == outer


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("spec.network.enableDNSHostnames", "true", id="A2 DNS"),
        pytest.param("spec.network.publishNotReadyAddresses", "true", id="A2 unready"),
        pytest.param("spec.failurePolicy.maxRestarts", ABSENT, id="A2 nil policy"),
        pytest.param("spec.replicatedJobs[workers].replicas", "2", id="written"),
    ],
)
def test_jobset_fields(path: str, expected: str) -> None:
    assert plain(jobset().fields[path]) == expected


def test_jobset_policy_defaults() -> None:
    found = jobset("failurePolicy: {}")
    assert plain(found.fields["spec.failurePolicy.maxRestarts"]) == "0"
    assert plain(found.fields["spec.failurePolicy.restartStrategy"]) == "Recreate"


def test_jobset_webhook_defaults_of_the_child() -> None:  # A2, G6
    found = jobset(pod=gpu_pod(), child="suspend: false")
    child = role(found, "workers")
    assert plain(child.pod.restart_policy) == "OnFailure"
    assert plain(child.fields["completionMode"]) == "Indexed"
    assert plain(child.fields["backoffLimit"]) == "6"
    assert plain(child.replicas) == 8
    assert plain(found.nodes) == 8
    assert plain(found.accelerators) == 64


def test_jobset_rules_are_exposed() -> None:
    (rule,) = failure_rules(jobset(HOST_MAINTENANCE))
    assert rule.ignores_budget
    assert rule.reasons == ("PodFailurePolicy",)


def test_a_driver_without_accelerators_holds_no_rank() -> None:
    found = workload(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n"
        "  - name: driver\n    template: {spec: {template: {spec: {containers: [{name: d, image: i}]}}}}\n"
        f"  - name: workers\n    template: {{spec: {{parallelism: 4, template: {gpu_pod()}}}}}\n"
    )
    assert [(one.name, one.trains) for one in found.roles] == [("driver", False), ("workers", True)]
    assert plain(found.nodes) == 4


def test_claims_of_a_jobset_are_mounted_by_name() -> None:  # A2 volumeClaimPolicies
    found = jobset(
        more="volumeClaimPolicies: [{templates: [{metadata: {name: ckpt}, spec: {accessModes: [ReadWriteOnce]}}]}]"
    )
    volume = role(found, "workers").pod.volume("ckpt")
    assert volume is not None
    assert (plain(volume.source), plain(volume.shared), volume.per_pod) == ("ckpt-s", False, False)


# Wrappers


def test_jobs_in_a_list_are_workloads_of_their_own() -> None:
    item = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: %s}}, spec: {{template: {gpu_pod()}}}}}"
    found = workloads(f"apiVersion: v1\nkind: List\nitems:\n- {item % 'a'}\n- {item % 'b'}\n")
    assert [one.subject.name for one in found] == ["a", "b"]
