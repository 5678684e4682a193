"""What keeps pods from being taken away: annotations, local storage, budgets, tolerations."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.facts.placement import POOL_TAINTS
from kube_gaplint.model.eviction import (
    DO_NOT_DISRUPT,
    SAFE_TO_EVICT,
    holding_budgets,
    is_low_priority,
    refuses_drain,
    unspared,
)
from kube_gaplint.model.pod import tolerances
from kube_gaplint.model.workload import Pod, Workload

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: run, annotations: {%(own)s}}
spec:
  completions: 4
  parallelism: 4
  template:
    metadata: {labels: {app: run}, annotations: {%(annotations)s}}
    spec:
      restartPolicy: Never
      %(spec)s
      containers:
      - {name: c, image: "acme.example/m:1", command: [python, train.py], resources: {limits: {nvidia.com/gpu: 8}}}
%(more)s
"""


def job(folder: Path, own: str = "", annotations: str = "", spec: str = "", more: str = "") -> Workload:
    text = JOB % {"own": own, "annotations": annotations, "spec": spec, "more": more}
    (found,) = workloads(folder, job_yaml=text)
    return found


def pod(folder: Path, spec: str) -> Pod:
    return job(folder, spec=spec).roles[0].pod


@pytest.mark.parametrize(
    ("key", "annotations", "own", "protected"),
    [
        (DO_NOT_DISRUPT, "", "", False),
        (DO_NOT_DISRUPT, f'{DO_NOT_DISRUPT}: "true"', "", True),
        (DO_NOT_DISRUPT, f"{DO_NOT_DISRUPT}: 30m", "", True),
        (DO_NOT_DISRUPT, f'{DO_NOT_DISRUPT}: "yes"', "", False),
        (DO_NOT_DISRUPT, f'{DO_NOT_DISRUPT}: "false"', "", False),
        (DO_NOT_DISRUPT, f"{DO_NOT_DISRUPT}: '${{SPARE}}'", "", True),
        (DO_NOT_DISRUPT, 'karpenter.sh/do-not-evict: "true"', "", True),
        (DO_NOT_DISRUPT, "", f'{DO_NOT_DISRUPT}: "true"', True),
        (SAFE_TO_EVICT, f'{SAFE_TO_EVICT}: "false"', "", True),
        (SAFE_TO_EVICT, f"{SAFE_TO_EVICT}: false", "", True),
        (SAFE_TO_EVICT, f'{SAFE_TO_EVICT}: "true"', "", False),
        (SAFE_TO_EVICT, 'karpenter.sh/do-not-evict: "true"', "", False),
    ],
)
def test_annotations(key: str, annotations: str, own: str, protected: bool, tmp_path: Path) -> None:
    assert (unspared(job(tmp_path, own, annotations), key) == []) is protected


LOCAL = "volumes: [{name: scratch, %s}]"


@pytest.mark.parametrize(
    ("spec", "annotations", "expected"),
    [
        ("", "", ""),
        (LOCAL % "emptyDir: {medium: Memory}", "", ""),
        (LOCAL % "persistentVolumeClaim: {claimName: c}", "", ""),
        (LOCAL % "emptyDir: {}", "", "local storage (scratch)"),
        (LOCAL % "hostPath: {path: /data}", "", "local storage (scratch)"),
        (LOCAL % "emptyDir: {}", "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: scratch", ""),
        (LOCAL % "emptyDir: {}", "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: '${LOCAL}'", None),
        (LOCAL % "hostPath: {path: /data}", f'{SAFE_TO_EVICT}: "true"', ""),
        ("volumes: ${VOLUMES}", "", None),
    ],
)
def test_pods_that_are_not_drained(spec: str, annotations: str, expected: str | None, tmp_path: Path) -> None:
    found = job(tmp_path, annotations=annotations, spec=spec)
    assert refuses_drain(found, found.roles[0].pod) == expected


@pytest.mark.parametrize(
    ("spec", "holds"),
    [
        ("maxUnavailable: 0", True),
        ("maxUnavailable: 0%", True),
        ("maxUnavailable: 1", False),
        ("minAvailable: 4", True),
        ("minAvailable: 100%", True),
        ("minAvailable: 3", False),
        ("minAvailable: 75%", False),
        ("minAvailable: ${LEAST}", False),
    ],
)
def test_budgets_that_let_none_go(spec: str, holds: bool, tmp_path: Path) -> None:
    budget = (
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
        f"spec:\n  selector: {{matchLabels: {{app: run}}}}\n  {spec}\n"
    )
    assert bool(holding_budgets(job(tmp_path, more=budget))) is holds


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ("{key: kubernetes.azure.com/scalesetpriority, value: spot, effect: NoSchedule}", True),
        ("{key: kubernetes.azure.com/scalesetpriority, operator: Exists}", True),
        ("{operator: Exists}", True),
        ("{key: kubernetes.azure.com/scalesetpriority, value: regular, effect: NoSchedule}", False),
        ("{key: kubernetes.azure.com/scalesetpriority, operator: Exists, effect: NoExecute}", False),
        ("{key: nvidia.com/gpu, operator: Exists}", False),
        ("{key: ${KEY}, operator: Exists}", None),
    ],
)
def test_tolerations(toleration: str, expected: bool | None, tmp_path: Path) -> None:
    aks = next(taint for taint in POOL_TAINTS if taint.title.startswith("AKS"))
    quoted = toleration.replace("${KEY}", '"${KEY}"')
    found = tolerances(pod(tmp_path, f"tolerations: [{quoted}]")).cover(aks.taint, aks.value, aks.effect)
    assert found is expected


@pytest.mark.parametrize(
    ("name", "low"),
    [
        ("preemptible", True),
        ("team-a-scavenger", True),
        ("best-effort", True),
        ("low-priority", True),
        ("low", True),
        ("priority-low", True),
        ("low-latency", False),
        ("high-priority", False),
        ("non-critical", False),
        ("flow-control", False),
    ],
)
def test_names_of_low_classes(name: str, low: bool) -> None:
    assert is_low_priority(name) is low


def test_the_template_is_where_metadata_stand(tmp_path: Path) -> None:
    found = process(tmp_path).role.pod
    assert found.template is not None
    assert found.template.place.span.start <= found.origin.place.span.start
