"""What CKPT002 says of a training that saves nothing, and what shows it that something may be saved."""

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
  completions: 4
  parallelism: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: {image}
        command: [{command}]
        env: [{env}]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
        {mounts}
      {volumes}
"""
BATCH = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
srun --kill-on-bad-exit=1 {command}
"""
AGENT = "torchrun, --nnodes=4, --nproc-per-node=8, "
OWN = AGENT + "train.py, --lr=0.1"
MOUNTS = "volumeMounts: [{name: out, mountPath: /out}]"
WARNING, INFO = Severity.WARNING, Severity.INFO
FROM_SCRATCH = "any failure of 4 nodes with 32 GPUs starts the training from scratch"
NOT_VISIBLE = "no checkpoint is visible: no save option, no volume that outlives the pod, no bucket"


def found(command: str, *, env: str = "", volume: str = "", image: str = "registry.example/train:7") -> Finding | None:
    mounts = MOUNTS if volume else ""
    volumes = f"volumes: [{{name: out, {volume}}}]" if volume else ""
    return finding("CKPT002", JOB.format(command=command, env=env, mounts=mounts, volumes=volumes, image=image))


@pytest.mark.parametrize(
    ("command", "message", "place"),
    [
        (
            AGENT + "pretrain_gpt.py, --tensor-model-parallel-size=2, --train-iters=90000",
            "by default Megatron-LM saves nothing while it trains", "torchrun",
        ),
        (
            AGENT + "run_clm.py, --output_dir=/out, --max_steps=9000, --per_device_train_batch_size=8, "
            "--save_strategy=no",
            "Hugging Face Trainer is told not to save while it trains", "--save_strategy=no",
        ),
        (
            "python, -m, openrlhf.cli.train_ppo_ray, --actor.num_nodes=4, --actor.num_gpus_per_node=8, "
            "--ckpt.output_dir=/out, --train.max_epochs=1",
            "by default OpenRLHF saves nothing while it trains, only when it is done", "python",
        ),
    ],
)  # fmt: skip
def test_a_framework_that_saves_nothing(command: str, message: str, place: str) -> None:
    one = found(command, volume="persistentVolumeClaim: {claimName: out}")
    assert one is not None
    assert (one.severity, one.message, one.consequence) == (WARNING, message, FROM_SCRATCH)
    assert one.origin.place.text.startswith(place)
    assert one.related == ()
    assert one.fix is not None
    assert one.fix.title.endswith("on a claim, a network file system or an object store")


@pytest.mark.parametrize(
    ("end", "severity", "message"),
    [
        ("", WARNING, "nothing in the program saves its state"),
        ("print(exported)\n", INFO, "by default PyTorch saves nothing while it trains"),
        ("# mnist\nMNIST('/data')\n", INFO, "by default PyTorch saves nothing while it trains"),
        ("torch.save(state, '/out/model.pt')\n", INFO, "the program saves once, when its training is over"),
    ],
)
def test_a_program_of_ones_own(end: str, severity: Severity, message: str, tmp_path: Path) -> None:
    """It is a hint where a word leaves open that it saves, and where it trains for minutes."""
    program = f"""\
import torch
torch.distributed.init_process_group("nccl")
for batch in batches:
    model(batch).backward()
    optimizer.step()
{end}"""
    script = BATCH.format(command="torchrun --nnodes=4 --nproc-per-node=8 train.py")
    one = finding_in("CKPT002", tmp_path, job__sbatch=script, train__py=program)
    assert one is not None
    assert (one.severity, one.message, one.consequence) == (severity, message, FROM_SCRATCH)
    assert one.fix is not None
    assert one.fix.title.endswith("on a file system that all nodes share, or an object store")


def test_replicas_that_heal_from_one_another_lose_all_with_the_last_one() -> None:
    torchtitan = AGENT + "-m, torchtitan.train, --training.steps=20000, --checkpoint.enable=false"
    one = found(torchtitan, env="{name: TORCHFT_LIGHTHOUSE, value: 'http://lighthouse:29510'}")
    assert one is not None
    assert one.severity is INFO
    assert one.consequence == (
        "a replica that fails takes its state from a live one; when the last one ends, all work is lost"
    )
    alone = found(torchtitan)
    assert alone is not None
    assert (alone.severity, alone.consequence) == (WARNING, FROM_SCRATCH)


def test_nothing_shows_a_place_to_save_to() -> None:
    one = found(OWN)
    assert one is not None
    assert (one.severity, one.message, one.consequence) == (INFO, NOT_VISIBLE, "")
    assert one.fix is not None
    assert one.fix.title == "mount a claim, or save to a bucket"


@pytest.mark.parametrize(
    ("volume", "quiet"),
    [
        ("persistentVolumeClaim: {claimName: out}", True),
        ("nfs: {server: nfs-1, path: /out}", True),
        ("emptyDir: {}", False),
        ("configMap: {name: out}", False),
    ],
)
def test_a_volume_that_outlives_the_pod_may_hold_checkpoints(volume: str, quiet: bool) -> None:
    assert (found(OWN, volume=volume) is None) is quiet


@pytest.mark.parametrize(
    ("command", "env"),
    [
        (AGENT + "train.py, --bucket=s3://runs/a", ""),
        (OWN, "{name: BUCKET, value: 's3://runs/a'}"),
        (AGENT + "train.py, --save-dir=/scratch", ""),  # where it lies is CKPT001's
        (AGENT + "megatron_gpt_pretraining.py, trainer.max_steps=9000, exp_manager.explicit_log_dir=/results", ""),
        (f"bash, -c, 'source /opt/site.sh; {OWN.replace(',', '')}'", ""),  # the variables are not all seen
    ],
)
def test_what_may_name_a_place_to_save_to(command: str, env: str) -> None:
    assert found(command, env=env) is None


def test_the_file_systems_of_a_cluster_are_not_seen(tmp_path: Path) -> None:
    script = BATCH.format(command="torchrun --nnodes=4 --nproc-per-node=8 train.py --lr=0.1")
    assert finding_in("CKPT002", tmp_path, job__sbatch=script) is None


@pytest.mark.parametrize(
    ("directives", "fires"),
    [
        ("--time=1:00:00", False),
        ("--time=1:00:01", True),
        ("--time=1:00:00 --array=1-40%1", True),  # each hour begins with nothing
        ("--job-name=long", True),
    ],
)
def test_no_more_than_an_hour_can_be_lost(directives: str, fires: bool) -> None:
    command = "torchrun --nnodes=4 --nproc-per-node=8 pretrain_gpt.py --tensor-model-parallel-size=2"
    head = "".join(f"#SBATCH {one}\n" for one in directives.split())
    script = BATCH.replace("srun", f"{head}srun").format(command=f"{command} --train-iters=90000")
    assert (finding("CKPT002", script) is not None) is fires


def test_a_job_of_kubernetes_that_ends_within_an_hour() -> None:
    gpt = AGENT + "pretrain_gpt.py, --tensor-model-parallel-size=2, --train-iters=90000"
    text = JOB.format(command=gpt, env="", mounts="", volumes="", image="a/b")
    for limit, fires in ((3600, False), (3601, True)):
        deadline = text.replace("spec:\n", f"spec:\n  activeDeadlineSeconds: {limit}\n", 1)
        assert (finding("CKPT002", deadline) is not None) is fires


@pytest.mark.parametrize(("options", "message"), [("", True), ("--save-checkpoints", False)])
def test_a_switch_of_the_program_itself(options: str, message: bool, tmp_path: Path) -> None:
    program = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--save-checkpoints", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(300):
    for _ in torch.utils.data.DataLoader(range(1000)):
        optimizer.step()
    if args.save_checkpoints:
        torch.save(model.state_dict(), f"epoch-{epoch}.pt")
"""
    script = BATCH.format(command=f"torchrun --nnodes=4 --nproc-per-node=8 train.py {options}")
    one = finding_in("CKPT002", tmp_path, job__sbatch=script, train__py=program)
    assert (one is not None) is message
    if one is not None:
        assert one.severity is WARNING
        assert one.message.startswith("the program does not save while it trains: ")
        assert one.fix is not None
        assert one.fix.title == "switch it on, and save to a file system that all nodes share, or an object store"
        assert [place.note for place in one.related] == ["the switch"]
