"""HyperPod, ElasticJob, KubeDL and Run:ai: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ENDLESS, UNKNOWN, gpu_pod, layers, main, plain, workload


@pytest.mark.parametrize(
    ("policy", "expected", "budget"),
    [
        pytest.param("{}", [("HyperPod operator", "workload", UNKNOWN, "efn")], UNKNOWN, id="A11 not known"),
        pytest.param(
            "{jobMaxRetryCount: 3}", [("HyperPod operator", "workload", 3, "efn")], 3, id="A11 jobMaxRetryCount"
        ),
        pytest.param(
            "{restartPolicy: {numRestartBeforeFullJobRestart: 2, evalPeriodSeconds: 60, maxFullJobRestarts: 4}}",
            [("HyperPod operator", "workload", 4, "efn")],
            14,
            id="A11 restartPolicy is an object: 5*3-1",
        ),
    ],
)
def test_hyperpod(policy: str, expected: list[object], budget: int | str) -> None:
    found = workload(
        "apiVersion: sagemaker.amazonaws.com/v1\nkind: HyperPodPyTorchJob\nmetadata: {name: h}\nspec:\n"
        f"  runPolicy: {policy}\n"
        f"  replicaSpecs: [{{name: pods, replicas: 8, template: {gpu_pod('[hyperpodrun, train.py]')}}}]\n"
    )
    assert layers(found) == expected
    assert plain(found.restart_budget) == budget
    assert plain(found.nodes) == 8
    assert plain(found.fields["spec.runPolicy.cleanPodPolicy"]) == "All"  # A11
    assert plain(found.fields["spec.runPolicy.ttlSecondsAfterFinished"]) == "0"


def test_dlrover_elastic_job() -> None:
    found = workload(
        "apiVersion: elastic.iml.github.io/v1alpha1\nkind: ElasticJob\nmetadata: {name: e}\nspec:\n  replicaSpecs:\n"
        f"    worker: {{replicas: 4, restartCount: 3, template: {gpu_pod('[dlrover-run, train.py]')}}}\n"
    )
    assert layers(found) == [("DLRover", "pod", 3, "efn")]
    assert plain(found.elastic) is True


@pytest.mark.parametrize(
    ("restart", "budget"), [("restartPolicy: Never, ", 0), ("restartPolicy: OnFailure, ", 5), ("", UNKNOWN)]
)
def test_kubedl(restart: str, budget: int | str) -> None:
    found = workload(
        "apiVersion: training.kubedl.io/v1alpha1\nkind: PyTorchJob\nmetadata: {name: k}\nspec:\n  backoffLimit: 5\n"
        f"  pytorchReplicaSpecs: {{Worker: {{{restart}replicas: 2, template: {gpu_pod()}}}}}\n"
    )
    assert plain(found.restart_budget) == budget


@pytest.mark.parametrize(("intranet", "restart"), [("PodIP", "Never"), ("Service", "OnFailure")])
def test_paddle_operator(intranet: str, restart: str) -> None:
    found = workload(
        "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: p}\nspec:\n"
        f"  intranet: {intranet}\n"
        f"  worker: {{replicas: 3, template: {gpu_pod('[python, -m, paddle.distributed.launch, train.py]')}}}\n"
    )
    assert plain(found.nodes) == 3
    assert plain(found.roles[0].pod.restart_policy) == restart
    assert plain(found.restart_budget) == UNKNOWN
    assert plain(found.elastic) is False
    assert plain(main(found).environment.get("PADDLE_TRAINER_ID")) == UNKNOWN
    assert not found.roles[0].pod.overrides_unknown


def test_run_ai_is_read_shallowly() -> None:  # A12
    found = workload(
        "apiVersion: run.ai/v2alpha1\nkind: TrainingWorkload\nmetadata: {name: r}\nspec:\n  image: {value: 'm:1'}\n"
        "  gpuDevices: {value: 2}\n  command: {value: python train.py}\n"
        "  environment: {items: {NCCL_DEBUG: {value: INFO}}}\n"
    )
    container = main(found)
    assert plain(container.accelerator_count) == 2
    assert [word.shown for word in container.commands[0].words] == ["python", "train.py"]
    assert plain(container.environment.get("NCCL_DEBUG")) == "INFO"
    assert plain(found.restart_budget) == UNKNOWN
    assert found.roles[0].pod.overrides_unknown


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (
            "sagemaker.amazonaws.com/enable-job-auto-resume: 'true', sagemaker.amazonaws.com/job-max-retry-count: '2'",
            [("HyperPod", "workload", 2, "n"), ("training operator", "pod", ENDLESS, "efn")],
        ),
        (
            "sagemaker.amazonaws.com/enable-job-auto-resume: 'true'",
            [("HyperPod", "workload", UNKNOWN, "n"), ("training operator", "pod", ENDLESS, "efn")],
        ),
        ("sagemaker.amazonaws.com/enable-job-auto-resume: 'false'", [("training operator", "pod", ENDLESS, "efn")]),
    ],
)
def test_hyperpod_resumes_jobs_by_annotation(annotations: str, expected: list[object]) -> None:  # A11, older path
    found = workload(
        f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: h, annotations: {{{annotations}}}}}\n"
        f"spec: {{pytorchReplicaSpecs: {{Worker: {{replicas: 2, template: {gpu_pod()}}}}}}}\n"
    )
    assert layers(found) == expected
