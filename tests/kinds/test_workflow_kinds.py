"""Argo Workflows and Tekton: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ABSENT, ENDLESS, gpu_pod, layers, main, plain, workload, workloads

from kube_gaplint.model.workload import Workload


def argo(template: str = "", spec: str = "", name: str = "main") -> list[Workload]:
    return workloads(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
        + f"  templates:\n  - name: {name}\n"
        + "".join(f"    {line}\n" for line in template.splitlines())
        + "    container: {image: i, command: [python, train.py], resources: {limits: {nvidia.com/gpu: 8}}}\n"
    )


@pytest.mark.parametrize(
    ("template", "spec", "expected"),
    [
        pytest.param("", "", ("Argo Workflow", "workload", 0, "efn"), id="A13 absent: no retry"),
        pytest.param("retryStrategy: {limit: 3}", "", ("Argo Workflow", "workload", 3, "f"), id="A13 OnFailure"),
        pytest.param(
            "retryStrategy: {limit: '3'}", "", ("Argo Workflow", "workload", 3, "f"), id="A13 limit is text too"
        ),
        pytest.param("retryStrategy: {}", "", ("Argo Workflow", "workload", ENDLESS, "f"), id="A13 no limit"),
        pytest.param(
            "retryStrategy: {limit: 2, retryPolicy: Always}",
            "",
            ("Argo Workflow", "workload", 2, "efn"),
            id="A13 Always",
        ),
        pytest.param(
            "retryStrategy: {limit: 2, expression: 'true'}",
            "",
            ("Argo Workflow", "workload", 2, "efn"),
            id="A13 Always with an expression",
        ),
        pytest.param(
            "",
            "templateDefaults: {retryStrategy: {limit: 4}}",
            ("Argo Workflow", "workload", 4, "f"),
            id="A13 defaults",
        ),
    ],
)
def test_argo_retries(template: str, spec: str, expected: object) -> None:
    (found,) = argo(template, spec)
    assert layers(found) == [expected]


def test_argo_templates_share_what_the_workflow_says() -> None:
    (found,) = argo(
        "nodeSelector: {gpu: h100}",
        "tolerations: [{operator: Exists}]\nvolumes: [{name: v, emptyDir: {}}]\npodMetadata: {annotations: {a: b}}\n"
        "activeDeadlineSeconds: 7200",
    )
    pod = found.roles[0].pod
    assert plain(pod.node_selector["gpu"]) == "h100"
    assert pod.volume("v") is not None
    assert plain(pod.annotations["a"]) == "b"
    assert plain(pod.restart_policy) == "Never"
    assert plain(found.deadline_seconds) == 7200.0


MANIFEST = """
    resource:
      action: create
      successCondition: status.succeeded > 0
      manifest: |
        apiVersion: batch/v1
        kind: Job
        metadata: {generateName: inner-}
        spec: {backoffLimit: 0, template: %s}
"""


@pytest.mark.parametrize(("strategy", "budget"), [("", 0), ("    retryStrategy: {limit: 5}\n", 5)])
def test_jobs_in_argo_manifests_have_the_workflow_above_them(strategy: str, budget: int) -> None:  # G10
    found = workload(
        "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: w}\nspec:\n  templates:\n"
        "  - name: other\n    retryStrategy: {limit: 9}\n    suspend: {}\n  - name: job\n"
        + strategy
        + (MANIFEST % gpu_pod(restartPolicy="Never")).lstrip("\n")
    )
    assert (found.subject.kind, found.subject.name) == ("Job", "inner-")
    assert plain(found.restart_budget) == budget


def test_argo_scripts_are_read() -> None:
    found = workload(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n  - name: s\n"
        "    script:\n      image: i\n      command: [bash]\n      resources: {limits: {nvidia.com/gpu: 8}}\n"
        "      source: |\n        set -e\n        torchrun train.py\n"
    )
    names = [command.name for command in main(found).commands]
    assert names[-1] == "torchrun"
    assert main(found).commands[-1].place.text == "torchrun train.py"


@pytest.mark.parametrize(
    ("spec", "deadline", "timeout"),
    [
        pytest.param("", 3600.0, "3600", id="A13 60 minutes"),
        pytest.param("timeouts: {pipeline: 24h}", 86400.0, "86400", id="A13 timeouts"),
        pytest.param("timeouts: {pipeline: '0'}", ABSENT, "0", id="A13 no timeout"),
    ],
)
def test_tekton_timeouts(spec: str, deadline: float | str, timeout: str) -> None:
    found = workload(
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: p}\nspec:\n"
        + (f"  {spec}\n" if spec else "")
        + "  pipelineSpec:\n    tasks:\n    - name: train\n      retries: 2\n      taskSpec:\n        steps:\n"
        "        - name: s\n          image: i\n          computeResources: {limits: {nvidia.com/gpu: 8}}\n"
        "          script: |\n            #!/bin/bash\n            torchrun train.py\n"
    )
    assert plain(found.deadline_seconds) == deadline
    assert plain(found.fields["timeout"]) == timeout
    assert layers(found) == [("Tekton", "workload", 2, "efn")]
    assert main(found).commands[-1].name == "torchrun"
    assert plain(main(found).accelerator_count) == 8
