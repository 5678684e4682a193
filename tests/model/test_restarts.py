"""What the model derives about restarts: budgets without bound, sets that restart whole, brief runs, node checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.model.budget import endless_layer, is_brief, whole_set
from kube_gaplint.model.health import screens_nodes
from kube_gaplint.model.logs import logs_are_kept
from kube_gaplint.model.lone_restart import lone_restart
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.rendezvous import host_role, is_foreign
from kube_gaplint.model.retry import tells_errors_apart
from kube_gaplint.model.workload import Workload

COMMAND = "[torchrun, --nnodes=4, train.py]"


def job(
    folder: Path,
    *,
    spec: str = "",
    pod: str = "",
    command: str = COMMAND,
    container: str = "",
    profile: Profile | None = None,
) -> Workload:
    """An indexed Job of four pods with eight GPUs each."""
    (found,) = workloads(
        folder,
        profile,
        job_yaml=f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: gpt}}
        spec:
          completionMode: Indexed
          completions: 4
          parallelism: 4
          {spec}
          template:
            spec:
              restartPolicy: Never
              {pod}
              containers:
              - name: trainer
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: {command}
                resources: {{limits: {{nvidia.com/gpu: 8}}}}
                {container}
        """,
    )
    return found


def jobset(folder: Path, policy: str) -> Workload:
    (found,) = workloads(
        folder,
        set_yaml=f"""\
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: gpt}}
        spec:
          {policy}
          replicatedJobs:
          - name: leader
            template: {{spec: {{template: {{spec: &pod {{containers: [{{name: t, image: "a/b:1", command: {COMMAND},
              resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}}}}}}}
          - name: workers
            template: {{spec: {{parallelism: 3, completions: 3, template: {{spec: *pod}}}}}}
        """,
    )
    return found


@pytest.mark.parametrize(("limit", "endless"), [(20, False), (100, False), (101, True), (5000, True)])
def test_a_hundred_retries_are_a_bound(tmp_path: Path, limit: int, endless: bool) -> None:
    found = endless_layer(job(tmp_path, spec=f"backoffLimit: {limit}"), Profile())
    assert (found is not None) is endless


def test_as_many_retries_as_failures_are_expected_are_a_bound(tmp_path: Path) -> None:
    long = Profile(run_days=365, failures_per_1000_node_days=100)
    assert endless_layer(job(tmp_path, spec="backoffLimit: 300", profile=long), long) is None


@pytest.mark.parametrize(
    ("policy", "whole"),
    [
        ("failurePolicy: {maxRestarts: 3}", True),
        ("failurePolicy: {maxRestarts: 0}", False),
        ("failurePolicy: {maxRestarts: 0, rules: [{action: RestartJobSetAndIgnoreMaxRestarts}]}", True),
        ("failurePolicy: {maxRestarts: 3, rules: [{action: FailJobSet}]}", False),
        ("failurePolicy: {maxRestarts: $N}", False),
        ("suspend: false", False),
    ],
)
def test_what_restarts_a_set(tmp_path: Path, policy: str, whole: bool) -> None:
    assert (whole_set(jobset(tmp_path, policy)) is not None) is whole


@pytest.mark.parametrize(
    ("spec", "command", "brief"),
    [
        ("", COMMAND, False),
        ("activeDeadlineSeconds: 1800", COMMAND, True),
        ("activeDeadlineSeconds: 7200", COMMAND, False),
        ("", "[torchrun, --nnodes=4, pretrain_gpt.py, --train-iters, '100']", True),
        ("", "[torchrun, --nnodes=4, pretrain_gpt.py, --train-iters, '100000']", False),
    ],
)
def test_brief_runs(tmp_path: Path, spec: str, command: str, brief: bool) -> None:
    assert is_brief(job(tmp_path, spec=spec, command=command), Profile()) is brief


@pytest.mark.parametrize(
    ("command", "vain"),
    [
        (COMMAND, True),
        ("[torchrun, --nnodes=4, --rdzv-backend=c10d, --rdzv-endpoint=gpt-0.gpt, train.py]", True),
        ("[torchrun, --nnodes=4, --rdzv-backend=c10d, --rdzv-endpoint=gpt-0.gpt, --max-restarts=3, train.py]", False),
        ("[torchrun, --standalone, train.py]", False),
        ("[python, train.py]", False),
    ],
)
def test_lone_restarts_in_vain(tmp_path: Path, command: str, vain: bool) -> None:
    assert (lone_restart(job(tmp_path, command=command)) is not None) is vain


@pytest.mark.parametrize(
    ("spec", "apart"),
    [
        ("backoffLimit: 9", False),
        ("podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}", True),
        ("podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [2]}}]}", True),
        ("podFailurePolicy: {rules: [{action: Count, onPodConditions: [{type: DisruptionTarget}]}]}", False),
    ],
)
def test_rules_that_tell_errors_apart(tmp_path: Path, spec: str, apart: bool) -> None:
    assert tells_errors_apart(job(tmp_path, spec=spec)) is apart


@pytest.mark.parametrize(
    ("pod", "screened"),
    [
        ("", False),
        ("nodeSelector: {nvidia.com/gpu.product: H100}", False),
        ("nodeSelector: {example.com/gpu-health: ok}", True),
        ("nodeSelector: {kubernetes.io/hostname: gpu-7}", True),
        (
            "initContainers: [{name: a, image: 'busybox:1', command: [sh, -c, 'until nslookup gpt-0; do :; done']}]",
            False,
        ),
        ("initContainers: [{name: a, image: 'cuda:12', command: [nvidia-smi]}]", True),
        ("initContainers: [{name: gpu-check, image: 'a/b:1'}]", True),
        ("initContainers: [{name: prepare, image: 'a/b:1'}]", None),
        ("initContainers: $INIT", None),
    ],
)
def test_what_keeps_a_job_from_bad_nodes(tmp_path: Path, pod: str, screened: bool | None) -> None:
    assert screens_nodes(job(tmp_path, pod=pod)) is screened


@pytest.mark.parametrize(
    ("script", "screened"),
    [
        ("nvidia-smi; torchrun --nnodes=4 train.py", False),
        ("set -e; nvidia-smi; torchrun --nnodes=4 train.py", True),
        ("set -e; nvidia-smi || true; torchrun --nnodes=4 train.py", False),
        ("nvidia-smi && torchrun --nnodes=4 train.py", True),
        ("nvidia-smi -L || exit 1; torchrun --nnodes=4 train.py", True),
        ("dcgmi diag -r 1; torchrun --nnodes=4 train.py", True),
        ("/opt/check_gpus.sh && torchrun --nnodes=4 train.py", True),
    ],
)
def test_checks_in_front_of_training(tmp_path: Path, script: str, screened: bool) -> None:
    assert screens_nodes(job(tmp_path, command=f"[sh, -c, '{script}']")) is screened


@pytest.mark.parametrize(
    ("pod", "container", "command", "kept"),
    [
        ("", "", COMMAND, False),
        ("", "", "[sh, -c, 'torchrun --nnodes=4 train.py | tee /data/train.log']", False),
        (
            "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]",
            "volumeMounts: [{name: d, mountPath: /data}]",
            "[sh, -c, 'torchrun --nnodes=4 train.py | tee /data/train.log']",
            True,
        ),
        (
            "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]",
            "volumeMounts: [{name: d, mountPath: /data}]",
            "[torchrun, --nnodes=4, --log-dir=/data/logs, train.py]",
            True,
        ),
        (
            "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]",
            "volumeMounts: [{name: d, mountPath: /data}]",
            "[torchrun, --nnodes=4, train.py, --output=/data/out]",
            False,
        ),
    ],
)
def test_logs_that_outlive_the_pod(tmp_path: Path, pod: str, container: str, command: str, kept: bool) -> None:
    assert logs_are_kept(job(tmp_path, pod=pod, container=container, command=command)) is kept


def test_where_an_endpoint_lies(tmp_path: Path) -> None:
    found = jobset(tmp_path, "failurePolicy: {maxRestarts: 3}")
    one = found.processes[0]
    role = host_role(one, "gpt-leader-0-0.gpt:29400")
    assert role is not None
    assert role.name == "leader"
    assert host_role(one, "gpt:29400") is None, "two roles train, and none of them is named"
    assert host_role(one, "10.0.0.7:29400") is None
    assert is_foreign(one, "etcd.infra.svc:2379")
    assert not is_foreign(one, "gpt-leader-0-0.gpt:29400")
    assert not is_foreign(one, "10.0.0.7:29400")
    assert not is_foreign(one, "$HEAD:29400")


def test_processes_of_a_role(tmp_path: Path) -> None:
    one = process(tmp_path)
    assert one.workload.processes_of(one.role) == [one]
