"""Which intervals between saves CKPT003 finds too long, what it says one failure costs, and what it would change."""

from __future__ import annotations

import pytest
from judged import finding

from kube_gaplint.findings import Finding, ReplaceValue, Severity

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample, annotations: {{{declared}}}}}
spec:
  completions: {nodes}
  parallelism: {nodes}
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:24.05-py3
        command: [torchrun, --nnodes={nodes}, --nproc-per-node=8, {command}]
        {resources}
"""
GPT = "pretrain_gpt.py, --tensor-model-parallel-size=2, --save=/ckpt, --load=/ckpt"
TRAINER = "run_clm.py, --model_name_or_path=/m, --output_dir=/ckpt, --per_device_train_batch_size=8"
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def found(command: str, *, nodes: int = 4, gpus: int = 8, **declared: int) -> Finding | None:
    resources = f"resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}" if gpus else ""
    annotations = ", ".join(f'gaplint.dev/{name.replace("_", "-")}: "{value}"' for name, value in declared.items())
    return finding("CKPT003", JOB.format(nodes=nodes, command=command, resources=resources, declared=annotations))


def gpt(total: int, interval: int, options: str = "", *, gpus: int = 8, **declared: int) -> Finding | None:
    command = f"{GPT}, --train-iters={total}, --save-interval={interval}{options}"
    return found(command, gpus=gpus, **declared)


def changed(one: Finding) -> list[str]:
    assert one.fix is not None
    return [change.text for change in one.fix.changes if isinstance(change, ReplaceValue)]


@pytest.mark.parametrize(
    ("total", "interval", "severity", "message", "instead"),
    [
        (
            9_000, 9_000, ERROR,
            "9,000 steps between saves: the run ends after 9,000 steps, with the first save", "--save-interval=900",
        ),
        (
            9_000, 9_001, ERROR,
            "9,001 steps between saves: the run ends after 9,000 steps, before the first save", "--save-interval=900",
        ),
        (
            9_000, 8_999, WARNING,
            "8,999 steps between saves are 100% of the run of 9,000 steps", "--save-interval=900",
        ),
        (
            20_000, 2_500, WARNING,
            "2,500 steps between saves are 12% of the run of 20,000 steps", "--save-interval=2000",
        ),
        (5_001, 1_000, WARNING, "1,000 steps between saves are 20% of the run of 5,001 steps", "--save-interval=500"),
        (5_000, 1_000, INFO, "1,000 steps between saves are 20% of the run of 5,000 steps", "--save-interval=500"),
    ],
)  # fmt: skip
def test_a_share_of_the_run(total: int, interval: int, severity: Severity, message: str, instead: str) -> None:
    one = gpt(total, interval)
    assert one is not None
    assert (one.severity, one.message) == (severity, message)
    assert changed(one) == [instead]
    (related,) = one.related
    assert related.note == "the length of the run"
    assert related.origin.place.text == f"--train-iters={total}"
    if severity is ERROR:
        assert one.consequence == "any failure of 4 nodes with 32 GPUs starts the training from scratch"
    else:
        assert one.consequence == "one failure of 4 nodes with 32 GPUs throws away half an interval on average"


def test_a_tenth_of_the_run_is_often_enough() -> None:
    assert gpt(20_000, 2_000) is None
    assert gpt(20_000, 2_001) is not None


def test_a_default_is_called_one() -> None:
    one = found(f"{TRAINER}, --max_steps=900")
    assert one is not None
    assert one.message == "500 steps between saves (the default) are 56% of the run of 900 steps"
    assert changed(one) == []


@pytest.mark.parametrize(("nodes", "fires"), [(1, False), (2, True)])
def test_a_few_epochs_on_one_node_may_be_short(nodes: int, fires: bool) -> None:
    one = found(f"{TRAINER}, --num_train_epochs=3, --save_strategy=epoch", nodes=nodes)
    assert (one is not None) is fires


@pytest.mark.parametrize(
    ("interval", "declared", "message"),
    [
        (1_441, {"step_seconds": 10}, "1,441 steps between saves are 4 h"),
        # 32 GPUs on 4 nodes, and 60 s a save: √(2 × 60 s × 50 days)
        (
            9_200, {"step_seconds": 10, "save_seconds": 60},
            "9,200 steps between saves are 25.6 h; the optimum for 4 nodes is about 6.3 h",
        ),
        # The whole run lasts 20,000 s.
        (
            801, {"step_seconds": 10, "save_seconds": 60},
            "801 steps between saves are 2.2 h; a tenth of the 5.6 h that the job has is 33.3 min",
        ),
    ],
)  # fmt: skip
def test_where_the_time_of_a_step_is_known(interval: int, declared: dict[str, int], message: str) -> None:
    total = 2_000 if interval == 801 else 2_000_000
    one = gpt(total, interval, **declared)
    assert one is not None
    assert (one.severity, one.message) == (WARNING, message)
    lost = 32 * interval * 10 / 3600 / 2
    assert one.consequence == f"one failure throws away {lost:,.0f} GPU-hours on average"
    assert one.related == ()


def test_four_hours_and_four_times_the_optimum_are_still_good() -> None:
    assert gpt(2_000_000, 1_440, step_seconds=10) is None
    assert gpt(2_000, 800, step_seconds=10, save_seconds=60) is None


def test_the_time_decides_where_it_is_known_not_the_share() -> None:
    assert gpt(2_000, 500) is not None
    assert gpt(2_000, 500, step_seconds=10) is None


def test_the_interval_becomes_the_optimum() -> None:
    one = gpt(2_000, 1_000, step_seconds=10, save_seconds=60)
    assert one is not None
    assert changed(one) == ["--save-interval=200"]


def test_without_the_number_of_gpus_no_gpu_hours_are_told() -> None:
    one = gpt(2_000_000, 2_000, gpus=0, step_seconds=10)
    assert one is not None
    assert one.consequence == "one failure of 4 nodes throws away half an interval on average"


def test_saving_on_a_signal_alone() -> None:
    bridge = (
        "run_recipe.py, train.train_iters=90000, train.global_batch_size=512, checkpoint.save=/ckpt, "
        "checkpoint.save_interval=0"
    )
    assert found(bridge) is None
    one = found(f"{bridge}, train.exit_signal_handler=true")
    assert one is not None
    assert (one.severity, one.message) == (WARNING, "checkpoints are written on a signal alone")
    assert one.origin.place.text == "train.exit_signal_handler=true"
    assert one.related == ()


@pytest.mark.parametrize(
    "command",
    [
        f"{GPT}, --train-iters=9000, --save-interval=9000, --non-persistent-ckpt-type=local",
        f"{GPT}, --train-iters=200, --save-interval=200",  # a smoke test
        "tools/run_text_generation_server.py, --tensor-model-parallel-size=2, --load=/ckpt, --train-iters=9000, "
        "--save=/ckpt, --save-interval=9000",
        f"{TRAINER}, --max_steps=900, --save_strategy=no",  # CKPT002 speaks of it
    ],
)
def test_no_long_interval(command: str) -> None:
    assert found(command) is None
