"""LeaderWorkerSet: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ENDLESS, UNKNOWN, gpu_pod, layers, main, plain, workload

from kube_gaplint.model.workload import Workload


def lws(template: str, spec: str = "") -> Workload:
    return workload(
        f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: l}}\n"
        f"spec: {{{spec}leaderWorkerTemplate: {{{template}, workerTemplate: {gpu_pod()}}}}}\n"
    )


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("size: 4", ("LeaderWorkerSet", "workload", ENDLESS, "efn"), id="A8 default recreates the group"),
        pytest.param("size: 4, restartPolicy: None", ("LeaderWorkerSet", "pod", ENDLESS, "efn"), id="A8 None"),
        pytest.param("size: 4, restartPolicy: Default", ("LeaderWorkerSet", "pod", ENDLESS, "efn"), id="A8 Default"),
        pytest.param("restartPolicy: '${P}'", ("LeaderWorkerSet", "workload", UNKNOWN, "efn"), id="G9 placeholder"),
    ],
)
def test_lws_restarts(template: str, expected: object) -> None:
    assert layers(lws(template))[0] == expected


def test_one_group_is_one_collective() -> None:
    found = lws(f"size: 4, leaderTemplate: {gpu_pod()}", "replicas: 2, ")
    assert plain(found.nodes) == 4
    assert {one.name: plain(one.replicas) for one in found.roles} == {"leader": 2, "worker": 6}
    assert plain(main(found).environment.get("LWS_GROUP_SIZE")) == "4"
    assert plain(lws("restartPolicy: None").fields["spec.leaderWorkerTemplate.size"]) == "1"  # A8
