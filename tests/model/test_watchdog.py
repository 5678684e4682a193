"""torch's own means against hangs, by release and by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads
from msgspec.structs import replace

from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.watchdog import (
    ASYNC,
    handling_by_default,
    handling_is_off,
    is_watched,
    shows_recent_torch,
    switch,
    waits_blocked,
)

OLD_NAME, NEW_NAME = "NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"
T113, T21, T22, T25 = (
    f"pytorch/pytorch:{release}-cuda12.1-cudnn8-runtime" for release in ("1.13.1", "2.1.2", "2.2.2", "2.5.1")
)
NGC_21, NGC_22 = "nvcr.io/nvidia/pytorch:23.04-py3", "nvcr.io/nvidia/pytorch:23.11-py3"
UNKNOWN = "registry.example/train:7"


@pytest.mark.parametrize(
    ("image", "env", "name", "value", "read"),
    [
        (T113, "", OLD_NAME, None, True),
        (T113, f"{OLD_NAME}=0", OLD_NAME, "0", True),
        (T113, f"{NEW_NAME}=0", OLD_NAME, None, True),
        (T21, f"{NEW_NAME}=1", OLD_NAME, None, True),
        (T22, "", NEW_NAME, None, True),
        (T22, f"{NEW_NAME}=0", NEW_NAME, "0", True),
        (T22, f"{OLD_NAME}=0", OLD_NAME, "0", True),
        (T25, f"{OLD_NAME}=0 {NEW_NAME}=1", NEW_NAME, "1", True),
        (NGC_22, f"{NEW_NAME}=0", NEW_NAME, "0", False),
        (NGC_22, f"{OLD_NAME}=0", OLD_NAME, "0", True),
        (UNKNOWN, f"{NEW_NAME}=0", NEW_NAME, "0", False),
        (UNKNOWN, f"{OLD_NAME}=3", OLD_NAME, "3", True),
    ],
)
def test_async_error_handling(image: str, env: str, name: str, value: str | None, read: bool, tmp_path: Path) -> None:
    given = [pair.split("=") for pair in env.split()]
    shown = "[" + ", ".join(f'{{name: {key}, value: "{text}"}}' for key, text in given) + "]"
    found = switch(process(tmp_path, image=image, command="[python, train.py]", env=shown), ASYNC)
    assert (found.name, found.read) == (name, read)
    assert isinstance(found.value, Absent) if value is None else isinstance(found.value, Set)
    if isinstance(found.value, Set):
        assert found.value.value == value


def test_a_secret_may_hold_it(tmp_path: Path) -> None:
    env = "[{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
    assert isinstance(switch(process(tmp_path, command="[python, train.py]", env=env), ASYNC).value, Unknown)


@pytest.mark.parametrize(
    ("image", "by_default"),
    [(T113, False), (T21, True), (T22, True), (T25, True), (NGC_21, None), (NGC_22, True), (UNKNOWN, None)],
)
def test_the_default(image: str, by_default: bool | None, tmp_path: Path) -> None:
    assert handling_by_default(process(tmp_path, image=image)) is by_default


def test_zero_is_off_and_text_is_not(tmp_path: Path) -> None:
    def off(value: str) -> bool:
        env = f'[{{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: "{value}"}}]'
        return handling_is_off(process(tmp_path, env=env)) is not None

    assert [off(text) for text in ("0", " 0", "00", "1", "3", "false", "")] == [True, True, True] + [False] * 4


@pytest.mark.parametrize(
    ("image", "name", "value", "blocked"),
    [
        (T25, "TORCH_NCCL_BLOCKING_WAIT", "Yes", True),
        (T25, "TORCH_NCCL_BLOCKING_WAIT", "f", False),
        (T25, "NCCL_BLOCKING_WAIT", "1", True),
        (T25, "TORCH_NCCL_BLOCKING_WAIT", "on", False),
        (T21, "NCCL_BLOCKING_WAIT", "1", True),
        (T21, "NCCL_BLOCKING_WAIT", "yes", False),
        (T21, "TORCH_NCCL_BLOCKING_WAIT", "1", False),
        (UNKNOWN, "TORCH_NCCL_BLOCKING_WAIT", "true", True),
    ],
)
def test_blocking_wait(image: str, name: str, value: str, blocked: bool, tmp_path: Path) -> None:
    env = f'[{{name: {name}, value: "{value}"}}]'
    assert (waits_blocked(process(tmp_path, image=image, env=env)) is not None) is blocked


@pytest.mark.parametrize(
    ("command", "env", "recent"),
    [
        ("[python, train.py]", "TORCH_NCCL_AVOID_RECORD_STREAMS", True),
        ("[python, train.py]", "TORCH_FR_BUFFER_SIZE", True),
        ("[python, train.py]", "NCCL_DEBUG", False),
        ("[python, train.py]", "NCCL_DESYNC_DEBUG", False),
        ("[python, train.py]", "TORCH_DISTRIBUTED_DEBUG", False),
        ("[torchrun, -m, torchtitan.train]", "NCCL_DEBUG", True),
        ("[litgpt, pretrain, pythia-14m]", "NCCL_DEBUG", True),
        ("[torchrun, pretrain_gpt.py, --train-iters=5]", "NCCL_DEBUG", False),
    ],
)
def test_what_gives_a_recent_torch_away(command: str, env: str, recent: bool, tmp_path: Path) -> None:
    found = process(tmp_path, image=UNKNOWN, command=command, env=f'[{{name: {env}, value: "1"}}]')
    shown = shows_recent_torch(found)
    assert "torch" in shown if recent else shown == ""


@pytest.mark.parametrize(("least", "recent"), [("2.0", False), ("2.1", True), ("2.4", True)])
def test_requirements_may_ask_for_a_recent_torch(least: str, recent: bool, tmp_path: Path) -> None:
    """Error handling is on by itself since 2.1."""
    script = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun python train.py\n"
    (workload,) = workloads(tmp_path, job_sbatch=script, requirements_txt=f"torch>={least}\n")
    (found,) = workload.processes
    assert (shows_recent_torch(found) != "") is recent


@pytest.mark.parametrize(
    ("command", "more", "pod", "watched"),
    [
        ("[torchrun, train.py]", "", "", False),
        ("[ft_launcher, train.py]", "", "", True),
        ("[torchrun, pretrain_gpt.py, --train-iters=5, --enable-ft-package]", "", "", True),
        ("[torchrun, train.py, --stall-timeout=600]", "", "", True),
        ("[torchrun, train.py]", "livenessProbe: {exec: {command: [cat, /tmp/alive]}}", "", True),
        ("[torchrun, train.py]", "", "initContainers: [{name: log-watchdog, image: w, restartPolicy: Always}]", True),
        ('[bash, -c, "python watch_dog.py & torchrun train.py"]', "", "", False),
        ('[bash, -c, "python watchdog.py & torchrun train.py"]', "", "", True),
    ],
)
def test_what_watches_progress(command: str, more: str, pod: str, watched: bool, tmp_path: Path) -> None:
    assert is_watched(process(tmp_path, command=command, more=more, pod=pod)) is watched


@pytest.mark.parametrize(
    ("command", "watched"),
    [
        ("[nice, -n, '5', watchdog, torchrun, train.py]", True),
        ("[/opt/tools/heart-beat, torchrun, train.py]", True),
        ("[env, A=1, B=2, C=3, /opt/watchdog/bin/torchrun, train.py]", False),
    ],
)
def test_programs_are_looked_for_at_the_front_of_a_command(command: str, watched: bool, tmp_path: Path) -> None:
    assert is_watched(process(tmp_path, command=command)) is watched


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("SITE_WATCHDOG_SECONDS", True), ("HANG_DETECT", True), ("TORCH_NCCL_PROGRESS_TIMEOUT", False),
        ("NCCL_WATCHDOG", False), ("NCCL_DEBUG", False),
    ],
)  # fmt: skip
def test_variables_of_the_users_own_watchdog(name: str, watched: bool, tmp_path: Path) -> None:
    assert is_watched(process(tmp_path, env=f'[{{name: {name}, value: "1"}}]')) is watched


@pytest.mark.parametrize(
    ("group", "kind", "watched"),
    [
        ("sagemaker.amazonaws.com", "HyperPodPyTorchJob", True),
        ("example.com", "HyperPodPyTorchJob", False),
        ("sagemaker.amazonaws.com", "PyTorchJob", False),
    ],
)
def test_kinds_whose_operators_look_for_hangs(group: str, kind: str, watched: bool, tmp_path: Path) -> None:
    found = process(tmp_path)
    found.workload.subject = replace(found.workload.subject, api_version=f"{group}/v1", kind=kind)
    assert is_watched(found) is watched


def test_early_states_of_a_release(tmp_path: Path) -> None:
    early = process(tmp_path, image=NGC_22)
    assert early.torch_is_early
    assert [early.torch_at_least(release) for release in ((2, 1), (2, 2), (2, 3))] == [True, None, False]
    assert early.torch_shown == "a pre-release of torch 2.2"
    late = process(tmp_path, image=T22)
    assert [late.torch_at_least(release) for release in ((2, 1), (2, 2), (2, 3))] == [True, True, False]
    assert process(tmp_path, image=UNKNOWN).torch_at_least((2, 2)) is None


def test_an_installed_release_is_not_the_images(tmp_path: Path) -> None:
    command = '[bash, -c, "pip install torch==2.2.2 && torchrun train.py"]'
    found = process(tmp_path, image=NGC_21, command=command)
    assert isinstance(found.torch, Set)
    assert found.torch.value == (2, 2, 2)
    assert not found.torch_is_early


def test_several_processes(tmp_path: Path) -> None:
    job = """\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: sample}}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - name: main
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: {}
                resources: {{limits: {{nvidia.com/gpu: 8}}}}
        """
    for command, several in (
        ("[python, train.py]", False),
        ("[torchrun, --nproc-per-node=8, train.py]", True),
        ("[torchrun, --nproc-per-node=1, train.py]", False),
        ("[mpirun, -np, '8', python, train.py]", True),
    ):
        (workload,) = workloads(tmp_path, job_yaml=job.format(command))
        assert workload.processes[0].surely_several is several, command
