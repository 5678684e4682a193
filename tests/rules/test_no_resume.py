"""Which restarts begin at step 0 for CKPT005, what it shows beside them, and what it would add."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged import finding, finding_in

from kube_gaplint.findings import AddOption, Finding, Severity

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample}}
spec:
  backoffLimit: {limit}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:24.05-py3
        command: [torchrun, --nproc-per-node=8, {command}]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
        volumeMounts:
        - {{name: runs, mountPath: /ckpt}}
        - {{name: runs, mountPath: /lustre}}
        - {{name: runs, mountPath: /out}}
      volumes: [{{name: runs, persistentVolumeClaim: {{claimName: runs}}}}]
"""
BATCH = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:8
#SBATCH --no-requeue
torchrun --nproc-per-node=8 {options} {program}
"""
GPT = "pretrain_gpt.py, --tensor-model-parallel-size=2, --train-iters=150000, --save-interval=500"
TRAINER = "run_clm.py, --model_name_or_path=/m, --output_dir=/ckpt, --max_steps=9000, --per_device_train_batch_size=8"
CLIP = "-m, open_clip_train.main, --train-data=/data, --epochs=32"
OWN = "train.py, --save-dir=/ckpt, --save-steps=100, --max-steps=10000"
TOY = "train_mnist.py, --save-steps=100, --resume=false"
TITLE = "let it load the newest checkpoint at its start"
SCRIPT = """\
import torch
import torch.distributed as dist

def run(model, loader, optimizer):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()

dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
for epoch in range(30):
    run(model, [], torch.optim.Adam(model.parameters()))
    torch.save(model.state_dict(), "/out/weights.pt")
"""


def found(command: str, limit: int = 10) -> Finding | None:
    return finding("CKPT005", JOB.format(command=command, limit=limit))


def related(one: Finding) -> list[tuple[str, str]]:
    return [(place.note, place.origin.place.text) for place in one.related]


@pytest.mark.parametrize(
    ("command", "message", "place", "saved", "title", "added"),
    [
        (
            f"{GPT}, --save=/ckpt", "Megatron-LM saves, and is not told to resume", "torchrun, --nproc", "--save=/ckpt",
            f"{TITLE}: --load /ckpt", "--load=/ckpt",
        ),
        (
            f"{CLIP}, --logs=/lustre", "OpenCLIP saves, and is not told to resume", "torchrun, --nproc",
            "--logs=/lustre", f"{TITLE}: --resume latest", "--resume=latest",
        ),
        (
            "-m, training.main, --save-frequency=5, --amodel=HTSAT, --logs=/lustre",
            "CLAP saves, and is not told to resume", "torchrun, --nproc", "--logs=/lustre",
            f"{TITLE}: --resume with the path of that file", "",
        ),
        (
            f"{TRAINER}, --overwrite_output_dir", "Hugging Face Trainer is told not to resume",
            "--overwrite_output_dir", "--output_dir=/ckpt", TITLE, "",
        ),
        (
            f"{OWN}, --resume=false", "the program is told not to resume", "--resume=false", "--save-dir=/ckpt", TITLE,
            "",
        ),
    ],
)  # fmt: skip
def test_what_is_said(command: str, message: str, place: str, saved: str, title: str, added: str) -> None:
    one = found(command)
    assert one is not None
    assert (one.severity, one.message) == (Severity.WARNING, message)
    assert one.consequence == "a restart of 1 node with 8 GPUs begins at step 0 beside its own checkpoints"
    assert one.origin.place.text.startswith(place)
    assert related(one) == [("checkpoints are written here", saved), ("the job is started again", "10")]
    assert one.fix is not None
    assert one.fix.title == title
    assert [change.words for change in one.fix.changes if isinstance(change, AddOption)] == [(added,)] * bool(added)
    assert not one.fix.safe


FORK = """\
import argparse
import os
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--save-frequency", type=int, default=1)
parser.add_argument("--logs", type=str)
parser.add_argument("--resume", type=str, default=None, help="path to latest checkpoint")
args = parser.parse_args()
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters())
if args.resume %s:
    optimizer.load_state_dict(torch.load(args.resume))
for epoch in range(30):
    model(torch.ones(8)).sum().backward()
    optimizer.step()
    torch.save({"optimizer": optimizer.state_dict()}, os.path.join(args.logs, f"epoch_{epoch}.pt"))
"""


@pytest.mark.parametrize(
    ("test", "title"), [("is not None", TITLE), ("!= 'latest' or newest()", f"{TITLE}: --resume latest")]
)
def test_a_fork_that_shows_that_it_does_not_know_the_word(test: str, title: str, tmp_path: Path) -> None:
    job = BATCH.format(options="--max-restarts=3", program="main.py --save-frequency 1 --logs /lustre/clip")
    one = finding_in("CKPT005", tmp_path, run__sbatch=job, main__py=FORK % test)
    assert one is not None
    assert one.fix is not None
    assert one.fix.title == title


def test_a_folder_that_nobody_wrote_is_not_shown() -> None:
    one = found(CLIP)
    assert one is not None
    assert related(one) == [("the job is started again", "10")]


def test_where_the_folder_is_not_known_no_option_is_made() -> None:
    one = finding("CKPT005", BATCH.format(options="--max-restarts=3", program=f"{GPT} --save=$1".replace(",", "")))
    assert one is not None
    assert related(one) == [("torchrun starts all processes again", "--max-restarts=3")]
    assert one.fix is not None
    assert (one.fix.title, one.fix.changes) == (TITLE, ())


def test_a_script_that_reads_nothing_back(tmp_path: Path) -> None:
    script = BATCH.format(options="--max-restarts=3", program="train.py")
    one = finding_in("CKPT005", tmp_path, job__sbatch=script, train__py=SCRIPT)
    assert one is not None
    assert one.message == "the program saves, and nothing in its script reads a checkpoint"
    assert one.origin.place.text.startswith("torchrun")


@pytest.mark.parametrize(("options", "fires"), [("", False), ("--max-restarts=0", False), ("--max-restarts=1", True)])
def test_the_launcher_starts_all_processes_again(options: str, fires: bool) -> None:
    """Three restarts by an agent need nobody; none that somebody wrote are none."""
    one = finding("CKPT005", BATCH.format(options=options, program=f"{GPT} --save=/ckpt".replace(",", "")))
    assert (one is not None) is fires
    if one is not None:
        assert related(one)[-1] == ("torchrun starts all processes again", options)


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        (f"{GPT}, --save=/ckpt", 0),  # nothing starts it again
        (f"{GPT}, --save=/ckpt, --load=/ckpt", 10),
        (f"{CLIP}, --logs=/lustre, --resume=latest", 10),
        (OWN, 10),  # a program of one's own may look for its newest checkpoint
        (GPT.replace("150000", "200") + ", --save=/ckpt", 10),  # a smoke test
        (GPT.replace("pretrain_gpt", "tools/run_text_generation_server") + ", --save=/ckpt", 10),
    ],
)
def test_quiet(command: str, limit: int) -> None:
    assert found(command, limit) is None


@pytest.mark.parametrize(
    ("directive", "program", "note"),
    [
        ("--time=8:00:00", GPT, "Slurm starts the job again after a lost node, by default"),
        ("--time=7:59:00", GPT, ""),  # a lost node throws away little
        ("--job-name=long", GPT, "Slurm starts the job again after a lost node, by default"),
        ("--time=$LIMIT", GPT, ""),
        ("--time=8:00:00 --no-requeue", GPT, ""),
        ("--time=1:00:00 --requeue", GPT, "the job is started again"),
        ("--time=8:00:00", TOY.replace("mnist", "llm"), "Slurm starts the job again after a lost node, by default"),
        ("--time=8:00:00", TOY, ""),
    ],
)
def test_slurm_brings_a_long_job_back(directive: str, program: str, note: str) -> None:
    script = BATCH.replace("#SBATCH --no-requeue\n", "".join(f"#SBATCH {one}\n" for one in directive.split()))
    one = finding("CKPT005", script.format(options="", program=f"{program} --save=/ckpt".replace(",", "")))
    assert (one is not None) is bool(note)
    if one is not None:
        assert one.related[-1].note == note


PHASES = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--encoder_ckpt", default=None)
parser.add_argument("--decoder_ckpt", default=None)
args = parser.parse_args()
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters())
if args.encoder_ckpt:
    model.load_state_dict(torch.load(args.encoder_ckpt))
if args.decoder_ckpt:
    model.load_state_dict(torch.load(args.decoder_ckpt))
for epoch in range(30_000):
    model(torch.ones(8)).sum().backward()
    optimizer.step()
    torch.save({"optimizer": optimizer.state_dict()}, f"runs/{epoch}.pt")
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "the program saves, and it reads a checkpoint back only by decoder_ckpt or encoder_ckpt, none of which "
         "is given"),
        (" --encoder_ckpt runs/encoder.pt", ""),
    ],
)  # fmt: skip
def test_all_options_that_are_left_out_are_named(options: str, message: str, tmp_path: Path) -> None:
    job = BATCH.format(options="--max-restarts=3", program=f"train.py{options}")
    one = finding_in("CKPT005", tmp_path, run__sbatch=job, train__py=PHASES)
    assert ("" if one is None else one.message) == message


def test_a_flag_that_is_given_is_on(tmp_path: Path) -> None:
    program = PHASES.replace('"--decoder_ckpt", default=None', '"--go_on", action="store_true"')
    program = program.replace("if args.decoder_ckpt", "if args.go_on").replace("args.decoder_ckpt", '"runs/last.pt"')
    job = BATCH.format(options="--max-restarts=3", program="train.py{}")
    one = finding_in("CKPT005", tmp_path, run__sbatch=job.format(""), train__py=program)
    assert one is not None
    assert "encoder_ckpt or go_on, none" in one.message
    assert finding_in("CKPT005", tmp_path, run__sbatch=job.format(" --go_on"), train__py=program) is None
