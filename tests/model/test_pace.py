"""Amounts of training in one unit brought to another."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.facts.datasets import most_samples, toy_in
from kube_gaplint.model.pace import Pace, is_smoke, steps_by_default, trains_on_a_toy
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.training import Quantity, Unit


def test_samples_become_steps_by_the_batch_size() -> None:
    pace = Pace(total=Quantity(220_000_000, "samples"), samples_per_step=2048, step_seconds=105)
    assert pace.total_steps == pytest.approx(107_421.875)
    assert pace.share_of_run(Quantity(300, "steps")) == pytest.approx(300 / 107_421.875)
    assert pace.seconds(Quantity(100, "steps")) == 10_500


def test_a_fraction_is_a_share_and_steps_of_the_total() -> None:
    pace = Pace(total=Quantity(1000, "steps"), samples_per_step=None, step_seconds=None)
    assert pace.share_of_run(Quantity(0.2, "fraction")) == 0.2
    assert pace.steps(Quantity(0.2, "fraction")) == 200
    assert pace.seconds(Quantity(0.2, "fraction")) is None


def test_units_that_do_not_compare_give_nothing() -> None:
    pace = Pace(total=Quantity(3, "epochs"), samples_per_step=None, step_seconds=2.0)
    assert pace.share_of_run(Quantity(500, "steps")) is None
    assert pace.share_of_run(Quantity(1, "epochs")) == pytest.approx(1 / 3)
    assert pace.total_steps is None


def test_time_is_time() -> None:
    pace = Pace(total=None, samples_per_step=None, step_seconds=None)
    assert pace.seconds(Quantity(30, "minutes")) == 1800
    assert pace.share_of_run(Quantity(30, "minutes")) is None


def test_a_total_that_is_a_fraction_ends_nowhere() -> None:
    pace = Pace(total=Quantity(1, "fraction"), samples_per_step=None, step_seconds=None)
    assert pace.total_steps is None


@pytest.mark.parametrize(("samples", "smoke"), [(None, False), (0, False), (1000, True), (2000, True), (2001, False)])
def test_a_training_set_cut_down_to_little_is_a_smoke_test(samples: float | None, smoke: bool) -> None:
    pace = Pace(total=Quantity(3, "epochs"), samples_per_step=None, step_seconds=None, cut_to=samples)
    assert pace.smoke is smoke


@pytest.mark.parametrize(("steps", "smoke"), [(1, True), (200, True), (201, False)])
def test_a_few_steps_are_a_smoke_test(steps: float, smoke: bool) -> None:
    assert Pace(Quantity(steps, "steps"), None, None).smoke is smoke
    assert Pace(Quantity(steps, "steps"), None, None, cut_to=0).smoke is smoke


@pytest.mark.parametrize(
    ("name", "limit", "options", "smoke"),
    [
        ("debug-rolling", "1-00:00:00", "--num_epochs 1", True),
        ("debug-rolling", "1-00:00:00", "--num_epochs 2", False),
        ("debug-rolling", "1-00:00:00", "--max_steps 5000", False),
        ("debug-rolling", "1-00:00:00", "", False),
        ("rolling", "02:00:00", "--num_epochs 1", False),
        ("rolling_test", "02:00:00", "--num_epochs 1", True),
        ("rolling_test", "04:00:00", "--num_epochs 1", True),
        ("rolling_test", "04:00:01", "--num_epochs 1", False),
        ("test", "1-00:00:00", "--max_epochs 5 --subset 10000", True),
        ("test", "1-00:00:00", "--max_epochs 5 --max_train_samples 20000", True),
        ("test", "1-00:00:00", "--max_epochs 5 --subset 20001", False),
        ("test", "1-00:00:00", "--max_epochs 5 --subset 50", False),
        ("test", "1-00:00:00", "--max_epochs 5 --subset clean", False),
        ("rolling", "1-00:00:00", "--max_epochs 5 --subset 10000", False),
        ("rolling", "1-00:00:00", "--max_epochs 5 --max_train_samples 1000", True),
    ],
)
def test_one_epoch_or_a_part_in_a_job_that_is_called_a_trial_is_a_smoke_test(
    tmp_path: Path, name: str, limit: str, options: str, smoke: bool
) -> None:
    head = f"#!/bin/bash\n#SBATCH --job-name={name}\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"
    [found] = workloads(tmp_path, job_sbatch=f"{head}#SBATCH --time={limit}\nsrun python fit.py {options}\n")
    assert is_smoke(found, Profile()) is smoke


def test_one_sample_is_a_smoke_test() -> None:
    assert Pace(None, None, None, cut_to=1).smoke
    assert Pace(None, None, None, cut_to=0.5).smoke
    assert not Pace(None, None, None).smoke


def test_epochs_over_a_cut_training_set_are_steps() -> None:
    pace = Pace(Quantity(3, "epochs"), samples_per_step=8, step_seconds=None, cut_to=4_000)
    assert pace.total_steps == 1_500
    assert Pace(Quantity(3, "steps"), 8, None, cut_to=4_000).total_steps == 3
    assert Pace(Quantity(3, "epochs"), samples_per_step=1, step_seconds=None, cut_to=1).total_steps == 3


@pytest.mark.parametrize("cut_to", [0, -1])
def test_no_cut_is_no_number_of_samples(cut_to: float) -> None:
    assert Pace(Quantity(3, "epochs"), samples_per_step=8, step_seconds=None, cut_to=cut_to).total_steps is None


def test_the_size_of_the_set_bounds_the_steps_and_gives_none() -> None:
    pace = Pace(Quantity(10, "epochs"), samples_per_step=100, step_seconds=None, most_samples=2_000)
    assert (pace.most_steps, pace.total_steps, pace.smoke) == (200, None, True)
    assert not Pace(Quantity(11, "epochs"), 100, None, most_samples=2_000).smoke
    assert Pace(Quantity(2, "epochs"), None, None, epoch_steps=100).smoke
    assert not Pace(Quantity(3, "epochs"), None, None, epoch_steps=100).smoke
    assert Pace(Quantity(10, "epochs"), None, None, most_samples=2_000).most_steps is None
    assert Pace(Quantity(300, "steps"), 100, None, most_samples=2_000).most_steps == 300


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("/data/gsm8k/train.parquet", 7_473), ("gsm8k.parquet", 7_473), ("/data/gsm8k_multiturn/train.parquet", 7_473),
        ("openai/gsm8k:main", 7_473), ("/data/geo3k/train.parquet", 2_101), ("/data/gsm8k_aug/train.parquet", None),
        ("/data/gsm8k/all.parquet", None), ("/gsm8k/a/train.parquet", None), ("/gsm8k_geo3k/train.parquet", None),
        ("[/gsm8k/train.parquet, /math/train.parquet]", None), ("/train.parquet", None), ("", None),
    ],
)  # fmt: skip
def test_samples_of_known_sets(name: str, samples: int | None) -> None:
    assert most_samples(name) == samples


@pytest.mark.parametrize(
    ("files", "samples"),
    [
        ("/d/gsm8k/train.parquet", 7_473), ("$HOME/d/gsm8k/train.parquet", 7_473), ("/d/gsm8k/$FILE", None),
        ("/d/c4/train.parquet", None),
    ],
)  # fmt: skip
def test_the_set_is_known_by_the_end_of_its_path(files: str, samples: float | None, tmp_path: Path) -> None:
    script = f"python -m verl.trainer.main_ppo data.train_files={files} trainer.total_epochs=2"
    found = Pace.of(process(tmp_path, command=f"[bash, -c, '{script}']"), Profile())
    assert found.most_samples == samples


@pytest.mark.parametrize(
    ("total", "batch", "shown"),
    [
        (None, 8, "unknown length"),
        (Quantity(3, "epochs"), 8, "3 epochs"),
        (Quantity(1, "epochs"), 8, "1 epoch"),
        (Quantity(4_000, "samples"), 8, "4,000 samples (about 500 steps)"),
        (Quantity(4_000, "samples"), None, "4,000 samples"),
        (Quantity(4_000, "steps"), 8, "4,000 steps"),
    ],
)
def test_the_length_of_a_run_in_words(total: Quantity | None, batch: float | None, shown: str) -> None:
    assert Pace(total, batch, None).total_shown == shown


@pytest.mark.parametrize(
    ("total", "part", "share"),
    [
        (Quantity(10, "hours"), Quantity(30, "minutes"), 0.05),
        (Quantity(10, "hours"), Quantity(5, "steps"), None),
        (Quantity(10, "steps"), Quantity(5, "minutes"), None),
        (Quantity(0, "steps"), Quantity(5, "steps"), None),
        (Quantity(0.5, "epochs"), Quantity(0.25, "epochs"), 0.5),
        (Quantity(-1, "steps"), Quantity(5, "steps"), None),
        (Quantity(800, "samples"), Quantity(5, "steps"), 0.05),
        (Quantity(800, "tokens"), Quantity(5, "steps"), None),
    ],
)
def test_shares_of_a_run(total: Quantity, part: Quantity, share: float | None) -> None:
    assert Pace(total, 8, None).share_of_run(part) == share


@pytest.mark.parametrize("unit", ["seconds", "minutes", "hours"])
def test_a_time_needs_no_step_time(unit: Unit) -> None:
    factor = {"seconds": 1, "minutes": 60, "hours": 3_600}[unit]
    assert Pace(None, None, None).seconds(Quantity(2, unit)) == 2 * factor


@pytest.mark.parametrize(
    ("options", "toy"),
    [
        ("mnist.py", True), ("/src/mnist.py, --epochs, '10'", True), ("/src/mnist.py, --epochs, '1000'", False),
        ("/src/mnist.py, --max_steps, '10'", False), ("train.py, --dataset, mnist, --epochs, '3'", True),
        ("train.py, --dataset, c4, --epochs, '3'", False), ("train.py", False),
        ("run_clm.py, --dataset_name, wikitext, --dataset_config_name, wikitext-2-raw-v1", True),
        ("run_clm.py, --dataset_name, wikitext, --dataset_config_name, wikitext-103-raw-v1", False),
        ("train.py, --dataset_name, wikitext, --dataset_config, wikitext-2-v1, --epochs, '3'", True),
        ("train.py, --dataset_name, wikitext, --dataset_config, wikitext-2-v1, --epochs, '300'", False),
        ("train.py, config/train_shakespeare_char.py", True), ("train.py, --config, conf/mnist.yaml", True),
        ("train.py, --config, mnist/large.yaml", False), ("train.py, config/train_cifar10.py", False),
        ("train.py, config/train_shakespeare_char.py, --max_iters, '50000'", False),
    ],
)  # fmt: skip
def test_toys(options: str, toy: bool, tmp_path: Path) -> None:
    assert trains_on_a_toy(process(tmp_path, command=f"[torchrun, {options}]")) is toy


@pytest.mark.parametrize(
    ("options", "batch"),
    [
        ("--per_device_train_batch_size, '4'", 128),
        ("--per_device_train_batch_size, '4', --gradient_accumulation_steps, '2'", 256),
        ("--per_device_train_batch_size, '0'", None), ("--per_device_train_batch_size, x", None),
        ("--gradient_accumulation_steps, '2'", None),
        ("--per_device_train_batch_size, '4', --gradient_accumulation_steps, x", None),
    ],
)  # fmt: skip
def test_the_global_batch_of_all_processes(options: str, batch: float | None, tmp_path: Path) -> None:
    """Four nodes with eight processes each."""
    command = f"[torchrun, --nnodes=4, --nproc-per-node=8, train.py, --output_dir, out, {options}]"
    found = process(tmp_path, command=command)
    assert Pace.of(found, Profile()).samples_per_step == batch


@pytest.mark.parametrize("launch", ["--nproc-per-node=gpu", "--nproc-per-node=8, --nnodes=$N", "--nproc-per-node=$N"])
def test_no_global_batch_of_an_unknown_number_of_processes(launch: str, tmp_path: Path) -> None:
    options = "--output_dir, out, --per_device_train_batch_size, '4'"
    found = process(tmp_path, command=f"[torchrun, {launch}, train.py, {options}]")
    assert "device-batch" in found.settings.extra
    assert Pace.of(found, Profile()).samples_per_step is None


def test_the_step_time_of_the_profile() -> None:
    assert Pace(Quantity(10, "steps"), None, 2.0).seconds(Quantity(5, "steps")) == 10


@pytest.mark.parametrize(
    ("text", "toy"),
    [
        ("torchvision.datasets.FashionMNIST(root, train=True)", "mnist"), ("data = CIFAR10('/d')", "cifar"),
        ("(x, y), _ = keras.datasets.mnist.load_data()", "mnist"), ('load_dataset("ylecun/mnist")', "mnist"),
        ("load_dataset(path='uoft-cs/cifar10', split='train')", "cifar"), ("class MnistData(Dataset):", "mnist"),
        ("load_dataset('wikitext', 'wikitext-2-raw-v1', split='train')", "wikitext-2"),
        ("load_dataset('Salesforce/wikitext', name='wikitext-103-v1')", ""),
        ("ImageFolder('hymenoptera_data/train')", "hymenoptera"), ("ImageFolder('/data/train')", ""),
        ("MNIST(d) if small else ImageFolder(d)", ""), ("MNIST(d) if small else ImageNet(d)", ""),
        ("MNIST(d) if small else load_dataset(name)", ""), ("MNIST(d)\nCIFAR100(d)", ""),
        ("class Text(Dataset):\n  pass\nMNIST(d)", ""), ("", ""),
        ("from sklearn.datasets import fetch_california_housing\nclass Rows(Dataset):", "sklearn"),
        ("from sklearn.datasets import load_iris\nMNIST(d)", ""), ("import sklearn.datasets", ""), ("# as MNIST", ""),
    ],
)  # fmt: skip
def test_the_only_data_of_a_text(text: str, toy: str) -> None:
    """What it may take besides makes it unknown, in whichever of its modules that stands."""
    assert toy_in([text]) == toy
    assert toy_in(text.splitlines()) == toy


FIXED = """\
import torch
import ours

torch.distributed.init_process_group("nccl")
args = ours.arguments()
args.max_steps = 100
ours.train(args)
"""


@pytest.mark.parametrize(("options", "usual"), [("", 100), (" --max-steps 5000", None)])
def test_the_length_in_a_programs_own_text(options: str, usual: int | None, tmp_path: Path) -> None:
    """An option that gives another length wins."""
    script = f"#!/bin/bash\n#SBATCH --gres=gpu:8\ntorchrun --nproc-per-node=8 train.py{options}\n"
    (workload,) = workloads(tmp_path, train_sbatch=script, train_py=FIXED)
    (found,) = workload.processes
    pace = Pace.of(found, Profile())
    assert pace.usual == (None if usual is None else Quantity(usual, "steps"))
    assert pace.smoke is (usual is not None)


@pytest.mark.parametrize(("batches", "steps"), [("100", 100), ("0.1", None), ("1.0", None)])
def test_batches_that_cut_an_epoch_short(batches: str, steps: int | None, tmp_path: Path) -> None:
    """Lightning takes a whole number for batches, and one with a point for a share of the epoch."""
    command = (
        f"[python, train.py, --trainer.max_epochs=1, --trainer.devices=8, --trainer.limit_train_batches={batches}]"
    )
    assert Pace.of(process(tmp_path, command=command), Profile()).epoch_steps == steps


@pytest.mark.parametrize(
    ("prepare", "train", "samples"),
    [
        ("prepare.py --max_samples 120 --output_dir /data/cut", "--dataset_name /data/cut", 120),
        ("prepare.py --num-examples 120 -o /data/cut", "--data-dir /data/cut", 120),
        ("prepare.py --output_dir /data/cut --limit-rows 120", "--data_path /data/cut", 120),
        ("prepare.py --max_samples 120 --output_dir /data/other", "--dataset_name /data/cut", None),
        ("prepare.py --output_dir /data/cut", "--dataset_name /data/cut", None),
        ("prepare.py --max_samples all --output_dir /data/cut", "--dataset_name /data/cut", None),
        ("prepare.py --max_samples 120 --cache /data/cut", "--dataset_name /data/cut", None),
        ("prepare.py --max_samples 120 --output_dir /data/cut", "--name /data/cut", None),
        ("prepare.py --max_samples 120 --output_dir /data/cut", "", None),
        # What the training itself is told last counts for it.
        ("prepare.py --max_samples 120 --output_dir /data/cut", "--dataset_name /data/cut --max_train_samples 9", 9),
    ],
)
def test_data_that_the_command_before_cut_down(prepare: str, train: str, samples: int | None, tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH --gres=gpu:8\n{}\n{}\n"
    trains = f"python train.py --output_dir /out --per_device_train_batch_size 8 {train}"
    for number, (script, expected) in enumerate(
        (
            (text.format(f"python {prepare}", trains), samples),
            (text.format(trains, f"python {prepare}"), 9 if samples == 9 else None),  # afterwards is too late
        )
    ):
        (folder := tmp_path / str(number)).mkdir()
        (workload,) = workloads(folder, train_sbatch=script)
        (found,) = [one for one in workload.processes if one.program == "train.py"]
        assert Pace.of(found, Profile()).cut_to == expected


COUNTED = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--max_steps", type=int, default=30_000)
args = parser.parse_args()
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.AdamW(model.parameters())
step = 0
while step < args.max_steps:
    model(torch.randn(8)).mean().backward()
    optimizer.step()
    step += 1
"""


@pytest.mark.parametrize(("options", "steps"), [("", 30_000), (" --max_steps 500", None), (" $MORE", None)])
def test_steps_up_to_which_a_loop_counts_by_default(options: str, steps: int | None, tmp_path: Path) -> None:
    """Unless an option says another number, or may say one."""
    script = f"#!/bin/bash\n#SBATCH --gres=gpu:8\npython train.py{options}\n"
    (workload,) = workloads(tmp_path, train_sbatch=script, train_py=COUNTED)
    (found,) = workload.processes
    assert steps_by_default(found, Profile()) == steps
