"""Volcano Jobs: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ENDLESS, UNKNOWN, gpu_pod, layers, plain, workload

from kube_gaplint.model.retry import policies
from kube_gaplint.model.workload import Workload


def volcano(spec: str = "", task: str = "", pod: str = "") -> Workload:
    return workload(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec:\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
        + f"  tasks:\n  - {{name: w, replicas: 4, {task}template: {pod or gpu_pod(restartPolicy='Never')}}}\n"
    )


RESTART_BOTH = "policies: [{event: PodEvicted, action: RestartJob}, {event: PodFailed, action: RestartJob}]"


@pytest.mark.parametrize(
    ("spec", "task", "budget", "expected"),
    [
        pytest.param("", "", 0, [("Volcano", "workload", 0, "f"), ("Volcano", "workload", 0, "en")], id="A6 none"),
        pytest.param(
            "policies: [{event: PodEvicted, action: RestartJob}]",
            "",
            0,
            [("Volcano", "workload", 0, "f"), ("Volcano", "workload", 3, "en")],
            id="A6 PodEvicted alone",
        ),
        pytest.param(
            RESTART_BOTH, "", 3, [("Volcano", "workload", 3, "f"), ("Volcano", "workload", 3, "en")], id="A6 both"
        ),
        pytest.param(
            f"maxRetry: 0\n{RESTART_BOTH}",
            "",
            3,
            [("Volcano", "workload", 3, "f"), ("Volcano", "workload", 3, "en")],
            id="A6 maxRetry 0 becomes 3",
        ),
        pytest.param(
            "maxRetry: 9\npolicies: [{events: ['*'], action: RestartJob}]",
            "",
            9,
            [("Volcano", "workload", 9, "f"), ("Volcano", "workload", 9, "en")],
            id="A6 any event",
        ),
        pytest.param(
            "policies: [{event: PodFailed, action: AbortJob}]",
            "policies: [{event: PodFailed, action: RestartTask}], ",
            3,
            [("Volcano", "role", 3, "f"), ("Volcano", "workload", 0, "en")],
            id="A6 the task's own policy first",
        ),
        pytest.param(
            "policies: [{exitCode: 1, action: RestartJob}]",
            "",
            3,
            [("Volcano", "workload", 3, "f"), ("Volcano", "workload", 0, "en")],
            id="A6 exit code",
        ),
        pytest.param(
            "policies: '${POLICIES}'",
            "",
            UNKNOWN,
            [("Volcano", "workload", UNKNOWN, "f"), ("Volcano", "workload", UNKNOWN, "en")],
            id="G9 placeholder",
        ),
    ],
)
def test_volcano_policies(spec: str, task: str, budget: int | str, expected: list[object]) -> None:
    found = volcano(spec, task)
    assert plain(found.restart_budget) == budget
    assert layers(found) == expected


def test_volcano_containers_restart_before_a_policy_hears_of_it() -> None:  # A6 OnFailure + PodFailed
    found = volcano(RESTART_BOTH, pod=gpu_pod(restartPolicy="OnFailure"))
    assert layers(found)[-1] == ("kubelet", "container", ENDLESS, "f")


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        pytest.param("", "spec.maxRetry", "3", id="A6 maxRetry"),
        pytest.param("maxRetry: 0", "spec.maxRetry", "3", id="G6 0 becomes 3"),
        pytest.param("", "spec.minAvailable", "4", id="A6 minAvailable"),
        pytest.param("minAvailable: 0", "spec.minAvailable", "4", id="A6 0 is rewritten"),
        pytest.param("minAvailable: 1", "spec.minAvailable", "1", id="written"),
        pytest.param("", "spec.schedulerName", "volcano", id="A6 schedulerName"),
        pytest.param("", "spec.queue", "default", id="webhook queue"),
    ],
)
def test_volcano_fields(spec: str, path: str, expected: str) -> None:
    assert plain(volcano(spec).fields[path]) == expected


def test_volcano_fills_pods_in() -> None:  # A6 hostNetwork, C2 priorityClassName
    found = volcano(
        "priorityClassName: high\nplugins: {pytorch: [], env: []}\nvolumes: [{mountPath: /ckpt, volumeClaimName: c}]",
        pod=gpu_pod(hostNetwork="true"),
    )
    pod = found.roles[0].pod
    assert plain(pod.fields["dnsPolicy"]) == "ClusterFirstWithHostNet"
    assert plain(pod.fields["priorityClassName"]) == "high"
    assert plain(pod.fields["schedulerName"]) == "volcano"
    assert [plain(mount.path) for mount in pod.containers[0].mounts] == ["/ckpt"]
    environment = pod.containers[0].environment
    assert [plain(environment.get(name)) for name in ("WORLD_SIZE", "VC_W_NUM", "VC_TASK_INDEX")] == ["4", "4", UNKNOWN]
    assert plain(found.gang_scheduled) is True


def test_volcano_policies_are_exposed() -> None:
    found = volcano(RESTART_BOTH, "policies: [{event: TaskCompleted, action: CompleteJob}], ")
    assert [policy.events for policy in policies(found)] == [("PodEvicted",), ("PodFailed",)]
    assert [policy.events for policy in policies(found.roles[0])] == [("TaskCompleted",)]
