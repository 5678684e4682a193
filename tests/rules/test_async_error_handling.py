"""What NCCL001 says, how surely, and what it would change."""

from __future__ import annotations

import pytest
from judged import finding

from kube_gaplint.findings import Finding, Severity

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: sample}}
spec:
  runPolicy: {{{policy}}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          containers:
          - name: pytorch
            image: {image}
            command: {command}
            env: [{env}]
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
OLD, NEW = "NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"
T113, T25 = "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime", "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"
NGC_22, UNKNOWN = "nvcr.io/nvidia/pytorch:23.11-py3", "registry.example/train:7"
BARE, TORCHRUN = "[python, /app/pretrain.py]", "[torchrun, --nnodes=4, train.py]"


def found(image: str = T113, command: str = BARE, policy: str = "backoffLimit: 3", **env: str) -> Finding | None:
    given = ", ".join(f'{{name: {name}, value: "{value}"}}' for name, value in env.items())
    text = JOB.format(image=image, command=command, policy=policy, env=given)
    return finding("NCCL001", text)


@pytest.mark.parametrize(
    ("image", "command", "env", "severity", "message"),
    [
        (T113, BARE, {}, Severity.ERROR, f"{OLD} is not set: torch 1.13 leaves it off"),
        (T25, BARE, {}, Severity.INFO, f"{NEW} is not set: torch 2.5 turns it on by default"),
        (T25, BARE, {NEW: "0"}, Severity.ERROR, f"{NEW}=0 switches asynchronous error handling off"),
        (T25, BARE, {OLD: "0"}, Severity.ERROR, f"{OLD}=0 switches asynchronous error handling off"),
        (
            NGC_22, BARE, {NEW: "0"}, Severity.WARNING,
            f"{NEW}=0 switches asynchronous error handling off, if a pre-release of torch 2.2 knows that name",
        ),
        (
            "pytorch/pytorch:latest", BARE, {}, Severity.WARNING,
            f"{OLD} is not set: torch up to 2.0 leaves it off, and the release is not known",
        ),
        (
            UNKNOWN, BARE, {}, Severity.INFO,
            f"{OLD} is not set: whether and with which release the program uses torch is not known",
        ),
        (
            T113, "[/opt/launch, /app/pretrain.py]", {}, Severity.INFO,
            f"{OLD} is not set: what the program or its launcher sets is not visible",
        ),
    ],
)  # fmt: skip
def test_what_is_said(image: str, command: str, env: dict[str, str], severity: Severity, message: str) -> None:
    one = found(image, command, **env)
    assert one is not None
    assert (one.severity, one.message) == (severity, message)
    assert one.fix is not None
    assert one.fixable == "safe"
    assert one.fix.title.endswith("1")


@pytest.mark.parametrize(("image", "env"), [(T113, {OLD: "1"}), (T25, {NEW: "3"}), (T25, {NEW: "false"})])
def test_nothing_is_said_where_it_is_set(image: str, env: dict[str, str]) -> None:
    assert found(image, **env) is None


def test_where_the_release_is_open_the_old_name_is_the_one_that_all_read() -> None:
    one = found(UNKNOWN)
    assert one is not None
    assert one.message.startswith(f"{OLD} is not set")
    assert one.fix is not None
    assert one.fix.title == f"set {OLD}=1"


def test_torchrun_sets_it() -> None:
    assert found(UNKNOWN, TORCHRUN) is None
    assert found(T25, TORCHRUN) is None


@pytest.mark.parametrize(
    ("policy", "severity", "cost"),
    [
        (
            "backoffLimit: 3", Severity.ERROR,
            "when one rank dies, the rest of 4 nodes with 32 GPUs waits in its collective until a person looks; every "
            "hour of it burns 32 GPU-hours",
        ),
        (
            "activeDeadlineSeconds: 3600", Severity.WARNING,
            "when one rank dies, the rest of 4 nodes with 32 GPUs waits in its collective until the job's limit of 60 "
            "min ends it",
        ),
        (
            "activeDeadlineSeconds: 3601", Severity.ERROR,
            "when one rank dies, the rest of 4 nodes with 32 GPUs waits in its collective until a person looks; every "
            "hour of it burns 32 GPU-hours",
        ),
    ],
)  # fmt: skip
def test_what_a_dead_rank_costs(policy: str, severity: Severity, cost: str) -> None:
    one = found(policy=policy)
    assert one is not None
    assert (one.severity, one.consequence) == (severity, cost)


def test_a_note_has_no_cost() -> None:
    one = found(T25)
    assert one is not None
    assert one.consequence == ""


@pytest.mark.parametrize(
    ("image", "effect"),
    [
        (T113, "torch 1.13 then switches asynchronous error handling off"),
        (T25, "torch 2.5 then switches asynchronous error handling off"),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "torch 2.6 then starts no watchdog thread"),
        (UNKNOWN, "gives up asynchronous error handling (up to 2.5) or its watchdog thread (from 2.6 on)"),
    ],
)
def test_what_blocking_wait_takes_away(image: str, effect: str) -> None:
    """NCCL002, whose two effects have one boundary."""
    text = JOB.format(image=image, command=TORCHRUN, policy="", env='{name: NCCL_BLOCKING_WAIT, value: "1"}')
    one = finding("NCCL002", text)
    assert one is not None
    assert one.message.endswith(effect)
