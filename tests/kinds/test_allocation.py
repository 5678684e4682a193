"""What a batch script asks Slurm for (sbatch(1))."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_samples import value, workload

from kube_gaplint.kinds import allocation
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.text.source import Source, WholeText

HERE = Origin(WholeText(Source("x", "x")).place(0, 1))


def job(*lines: str, body: str = "srun python train.py") -> tuple[int | str, int | str]:
    found = workload("\n".join(("#!/bin/bash", *(f"#SBATCH {line}" for line in lines), body, "")))
    return value(found.nodes), value(found.accelerators_per_node)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["-N 4", "--gres=gpu:8"], (4, 8)),
        (["-N 4", "--gres=gpu"], (4, 1)),
        (["-N 4", "--gres=gpu:a100:4,nvme:1"], (4, 4)),
        (["-N 4", "--gres=gpu:a100:4(S:0-1)"], (4, 4)),
        (["-N 4", "--gpus-per-node=h100:8"], (4, 8)),
        (["-N 4", "-G 32"], (4, 8)),
        (["--gpus=32", "--gpus-per-node=8"], (4, 8)),
        (["-N 4", "--ntasks-per-node=8", "--gpus-per-task=1"], (4, 8)),
        (["-n 32", "--ntasks-per-node=8", "--gpus-per-task=1"], (4, 8)),
        (["-N 4", "-n 32", "--gpus-per-task=1"], (4, 8)),
        (["-N 4", "--ntasks-per-node=8", "--tres-per-task=gres/gpu:1"], (4, 8)),
        (["--nodes=2-8", "--gres=gpu:8"], (2, 8)),
        (["--nodes=1-8", "--gres=gpu:8"], ("unknown", 8)),
        (["-w node[01-04,7]", "--gres=gpu:8"], (5, 8)),
        (["-n 32", "--gres=gpu:8"], ("unknown", 8)),
        (["--gres=gpu:8"], (1, 8)),
        (["-N 4"], (4, "absent")),
        (["-N 4", "-p gpu"], (4, "unknown")),
        (["-N 4", "--exclusive"], (4, "unknown")),
        (["-N ${NODES}", "--gres=gpu:8"], ("unknown", 8)),
    ],
)
def test_size(lines: list[str], expected: tuple[int | str, int | str]) -> None:
    assert job(*lines) == expected


def test_a_script_that_reads_its_size_from_slurm_gets_it_from_the_command_line() -> None:
    assert job("--gres=gpu:8", body="srun torchrun --nnodes=$SLURM_NNODES train.py") == ("unknown", 8)


def test_a_step_may_ask_for_the_accelerators() -> None:
    assert job("-N 2", body="srun --gres=gpu:4 python train.py") == (2, 4)


def test_heterogeneous_components_add_up() -> None:
    found = workload("#!/bin/bash\n#SBATCH -N1 --gres=gpu:8\n#SBATCH hetjob\n#SBATCH -N4\nsrun python train.py\n")
    assert value(found.nodes) == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 5400.0),
        ("30:15", 1815.0),
        ("20:00:00", 72000.0),
        ("2-0", 172800.0),
        ("2-12:30:00", 217800.0),
        ("0", "absent"),
        ("UNLIMITED", "absent"),
        ("soon", "unknown"),
    ],
)
def test_time(text: str, expected: float | str) -> None:
    assert value(allocation.seconds(Set(text, HERE))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1-20%1", (20, 1)), ("0-9:2", (5, None)), ("1,3,7%2", (3, 2)), ("a", None), ("1-5%x", (5, None))],
)
def test_array_length(text: str, expected: tuple[int, int | None] | None) -> None:
    assert allocation.array_length(text) == expected


@given(st.text(max_size=30))
def test_any_value_is_read(text: str) -> None:
    setting = Set(text, HERE)
    allocation.node_count(setting)
    allocation.gres(setting)
    allocation.typed(setting)
    allocation.seconds(setting)
    allocation.hosts(text)
    allocation.array_length(text)
