"""What NCCL003 says of a timeout that nobody chose, how loudly, and where it keeps quiet."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged import finding, finding_in

from kube_gaplint.findings import Finding, Severity

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample}}
spec:
  completions: {nodes}
  parallelism: {nodes}
  completionMode: Indexed
  {limit}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: {image}
        command: [{command}]
        env: [{env}]
        {resources}
"""
BATCH = """\
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
srun --kill-on-bad-exit=1 torchrun --nnodes=8 --nproc-per-node=8 train.py
"""
AGENT = "torchrun, --nnodes=8, --nproc-per-node=8, "
GPT = "pretrain_gpt.py, --tensor-model-parallel-size=4, --train-iters=200000"
TRAINER = "run_clm.py, --model_name_or_path=/m, --output_dir=/ckpt, --max_steps=9000, --per_device_train_batch_size=8"
TORCH_1, TORCH_2 = "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime", "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"
HANDLING = "{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: 'VALUE'}, {name: NCCL_ASYNC_ERROR_HANDLING, value: 'VALUE'}"
WARNING, INFO = Severity.WARNING, Severity.INFO
NOT_COUNTED = "how long a hang holds all nodes was left to a default"


def found(
    command: str, *, nodes: int = 8, gpus: int = 8, limit: str = "", image: str = TORCH_2, env: str = ""
) -> Finding | None:
    resources = f"resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}" if gpus else ""
    text = JOB.format(nodes=nodes, limit=limit, image=image, command=command, env=env, resources=resources)
    return finding("NCCL003", text)


@pytest.mark.parametrize(
    ("command", "severity", "who", "shown", "cost", "option"),
    [
        (AGENT + GPT, WARNING, "Megatron-LM", "10 min", "11 GPU-hours", "--distributed-timeout-minutes"),
        (AGENT + TRAINER, WARNING, "Hugging Face Trainer", "30 min", "32 GPU-hours", "ddp_timeout, in seconds"),
        # A hang ends soon by itself: after up to five minutes.
        (
            AGENT + "-m, torchtitan.train, --training.steps=10000, --model.name=llama3",
            INFO, "torchtitan", "100 s", "1.8 GPU-hours", "comm.train_timeout_seconds",
        ),
        # Its user cannot set it.
        ("fairseq-train, /data, --max-update=100000", INFO, "fairseq", "10 min", "11 GPU-hours", "the timeout"),
    ],
)  # fmt: skip
def test_which_default_and_what_a_hang_costs(
    command: str, severity: Severity, who: str, shown: str, cost: str, option: str
) -> None:
    one = found(command)
    assert one is not None
    assert one.severity is severity
    assert one.message == f"{who} leaves the process-group timeout at its default of {shown}"
    assert one.consequence == f"each hang idles 8 nodes with 64 GPUs for {shown}: {cost}"
    assert one.fix is not None
    assert one.fix.title.startswith(f"set {option}: longer than")


def test_where_the_gpus_are_not_known_no_cost_is_told() -> None:
    one = found(AGENT + GPT, gpus=0)
    assert one is not None
    assert one.consequence == NOT_COUNTED


@pytest.mark.parametrize(("nodes", "gpus", "severity"), [(4, 2, INFO), (9, 1, WARNING), (2, 8, WARNING)])
def test_up_to_8_gpus_it_is_a_hint(nodes: int, gpus: int, severity: Severity) -> None:
    one = found(AGENT.replace("=8", f"={nodes}", 1) + GPT, nodes=nodes, gpus=gpus)
    assert one is not None
    assert one.severity is severity


@pytest.mark.parametrize(
    ("command", "most"), [(AGENT + GPT, 6 * 600), (AGENT + TRAINER, 6 * 1800), (AGENT + "train.py", 6 * 600)]
)
def test_a_limit_of_six_timeouts_ends_a_hang_as_well(command: str, most: int) -> None:
    assert found(command, limit=f"activeDeadlineSeconds: {most}") is None
    assert found(command, limit=f"activeDeadlineSeconds: {most + 1}") is not None


@pytest.mark.parametrize(
    ("image", "env", "ends"),
    [
        (TORCH_2, "", True),
        (TORCH_2, HANDLING.replace("VALUE", "0"), False),
        (TORCH_1, "", False),
        (TORCH_1, HANDLING.replace("VALUE", "1"), True),
    ],
)
def test_a_timeout_that_ends_no_hang_costs_no_stated_hours(image: str, env: str, ends: bool) -> None:
    """Without asynchronous error handling (off by itself before torch 2.1) a hang lasts as long as the job may."""
    one = found("python, " + GPT, image=image, env=env)
    assert one is not None
    assert one.consequence.startswith("each hang idles") is ends
    assert (one.consequence == NOT_COUNTED) is not ends


@pytest.mark.parametrize("image", [TORCH_1, TORCH_2])
def test_torchrun_switches_handling_on_unless_it_is_told_otherwise(image: str) -> None:
    switched_off = found(AGENT + GPT, image=image, env=HANDLING.replace("VALUE", "0"))
    assert switched_off is not None
    assert switched_off.consequence == NOT_COUNTED
    by_itself = found(AGENT + GPT, image=image)
    assert by_itself is not None
    assert by_itself.consequence.startswith("each hang idles")


def test_a_program_that_is_not_visible_is_a_hint() -> None:
    one = found(AGENT + "train.py")
    assert one is not None
    assert one.severity is INFO
    assert one.message == "no process-group timeout is visible, and the text of train.py is not seen"
    assert one.consequence == NOT_COUNTED
    assert one.fix is not None
    assert one.fix.title.startswith("set init_process_group(timeout=timedelta(…))")


@pytest.mark.parametrize(
    "command",
    [
        AGENT + "'train.py', '--ddp-timeout=$(TIMEOUT)'",  # it is given, though not how long
        AGENT + "train.py, --ddp-timeout=3600",
        AGENT + "train",  # a binary may be anything
        "/opt/launch, train.py",  # a launcher that nobody knows may set anything
    ],
)
def test_of_a_program_that_is_not_visible_nothing_is_said(command: str) -> None:
    assert found(command) is None


@pytest.mark.parametrize(
    ("program", "severity", "message"),
    [
        (
            "import torch\ntorch.distributed.init_process_group('nccl')\n",
            WARNING, "PyTorch does not set the process-group timeout",
        ),
        (
            "import torch\nimport ours\nours.train(torch.zeros(8))\n",
            INFO, "no process-group timeout is visible in train.py",
        ),
        # A hang ends soon by itself: after up to five minutes.
        (
            "from composer import Trainer\nTrainer(model=m, save_folder='/ckpt', max_duration='90ep').fit()\n",
            INFO, "Composer leaves the process-group timeout at its default of 5 min",
        ),
    ],
)  # fmt: skip
def test_a_program_in_the_given_paths(program: str, severity: Severity, message: str, tmp_path: Path) -> None:
    one = finding_in("NCCL003", tmp_path, job__sbatch=BATCH, train__py=program)
    assert one is not None
    assert (one.severity, one.message) == (severity, message)


@pytest.mark.parametrize("given", ["timedelta(seconds=1200)", "timedelta(seconds=int(os.environ['SECONDS']))"])
def test_a_program_that_chooses_its_timeout(given: str, tmp_path: Path) -> None:
    head = "import os\nimport torch\nfrom datetime import timedelta\n"
    program = f"{head}torch.distributed.init_process_group('nccl', timeout={given})\n"
    assert finding_in("NCCL003", tmp_path, job__sbatch=BATCH, train__py=program) is None
