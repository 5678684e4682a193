from __future__ import annotations

import pytest
from launch_words import command, environment, placed

from kube_gaplint.facts.frameworks import FRAMEWORKS, KNOWN_PACKAGES
from kube_gaplint.launch.amounts import quantity, seconds
from kube_gaplint.launch.config_files import read_config
from kube_gaplint.launch.frameworks import Understood, understand
from kube_gaplint.launch.launchers import peel
from kube_gaplint.launch.options import parse_options
from kube_gaplint.launch.python import read_python
from kube_gaplint.launch.script_facts import changed_environment, script_facts
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Release
from kube_gaplint.text.source import PlacedText


def value(setting: Setting[object] | None) -> object:
    if isinstance(setting, Set):
        return setting.value if isinstance(setting.value, bool | int | float) else str(setting.value)
    return "?" if isinstance(setting, Unknown) else None


def read(
    text: str,
    look_up: dict[str, str] | None = None,
    *,
    script: str = "",
    torch: Release = (),
    **variables: str,
) -> Understood:
    def files(path: str) -> PlacedText | None:
        return placed(look_up[path], path) if look_up and path in look_up else None

    peeled = peel(command(text, environment(**variables)), files=files)
    facts = None
    if script:
        options = parse_options(peeled.words, Origin(peeled.command.place))
        facts = script_facts(read_python(placed(script, "train.py"), options, peeled.environment))
    release: Setting[Release] | None = Set(torch, peeled.origin) if torch else None
    return understand(peeled, files=files, script=facts, torch=release)


def name(text: str, look_up: dict[str, str] | None = None, **variables: str) -> str | None:
    found = read(text, look_up, **variables).framework
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torchrun pretrain_gpt.py --save /x", "megatron"),
        ("torchrun pretrain_gpt.py --save /x --deepspeed --deepspeed_config d.json", "megatron-deepspeed"),
        ("deepspeed pretrain_gpt.py --train-iters 5 --num-layers 2 --hidden-size 8 --deepspeed", "megatron-deepspeed"),
        ("python /workspace/bionemo2/esm2/train_esm2.py --tensor-model-parallel-size 1 --micro-batch-size 2", "nemo2"),
        ("python /opt/Megatron-LM/pretrain_t5.py", "megatron"),
        ("python train.py --tensor-model-parallel-size 2 --train-iters 5", "megatron"),
        ("python train.py --train-samples 5 --global-batch-size 2 --save-interval 3", "megatron"),
        ("torchrun pretrain_lm.py --output_dir /x --max_steps 3 --save_steps 2", "hf-trainer"),
        ("torchrun run_clm.py --x 1", "hf-trainer"),
        ("torchrun sft.py --output_dir=/x --per_device_train_batch_size=1", "hf-trainer"),
        ("python -m trl.scripts.sft --x 1", "hf-trainer"),
        ("torchrun -m torchtitan.train --job.config_file=x.toml", "torchtitan"),
        ("torchrun run_train.py --checkpoint.enable --training.steps 5", "torchtitan"),
        ("tune run full_finetune_distributed --config c.yaml", "torchtune"),
        ("composer train.py c.yaml", "llm-foundry"),
        ("composer scripts/train/train.py c.yaml", "llm-foundry"),
        ("composer main.py", "composer"),
        ("axolotl train c.yml", "axolotl"),
        ("accelerate launch -m axolotl.cli.train c.yml", "axolotl"),
        ("llamafactory-cli train c.yaml", "llama-factory"),
        ("torchrun src/train.py --stage sft --do_train --output_dir /x", "llama-factory"),
        ("torchrun finetuning.py --enable_fsdp --dist_checkpoint_root_folder /x", "llama-cookbook"),
        ("python -m llama_recipes.finetuning --use_peft --output_dir /x", "llama-cookbook"),
        ("litgpt pretrain x", "litgpt"),
        ("python -m MaxText.train base.yml run_name=x", "maxtext"),
        ("python train.py base_output_directory=gs://b run_name=r", "maxtext"),
        ("python megatron_gpt_pretraining.py trainer.devices=8", "nemo"),
        ("python t.py exp_manager.resume_if_exists=True", "nemo"),
        ("nemo llm pretrain --factory llama3_8b", "nemo2"),
        ("torchrun /opt/NeMo/scripts/llm/pretraining.py --recipe llama3_8b", "nemo2"),
        ("torchrun -m open_clip_train.main --x 1", "open_clip"),
        ("srun python -u src/main.py --save-frequency 1 --resume latest", "open_clip"),
        ("srun python -m training.main --save-frequency 5 --amodel HTSAT-tiny --tmodel roberta", "clap"),
        ("fairseq-train data --arch x", "fairseq"),
        ("python train.py --save-interval-updates 500 --max-update 9", "fairseq"),
        ("metaseq-train --save-dir /x", "metaseq"),
        ("python3 -m verl.trainer.main_ppo trainer.save_freq=5", "verl"),
        ("deepspeed --module openrlhf.cli.train_sft --save_steps 5", "openrlhf"),
        ("accelerate launch train_text_to_image_lora.py --output_dir /o", "diffusers"),
        ("swift sft --model m", "ms-swift"),
        ("python ./deepy.py train.py c.yml", "gpt-neox"),
        ("python main.py fit --trainer.max_epochs 3", "lightning"),
        ("fabric run t.py", "lightning"),
        ("deepspeed t.py", "deepspeed"),
        ("mpirun -np 8 python t.py --deepspeed --deepspeed_config ds.json", "deepspeed"),
        ("horovodrun -np 2 python t.py", "horovod"),
        ("accelerate launch t.py", "accelerate"),
        ("accelerate launch run_clm.py", "hf-trainer"),
        ("torchrun train.py --lr 1", None),
        ("./train --lr 1", None),
    ],
)
def test_recognises(text: str, expected: str | None) -> None:
    assert name(text) == expected


def test_rows_are_whole() -> None:
    names = [row.name for row in FRAMEWORKS]
    assert len(set(names)) == len(names)
    assert all(row.source and row.title for row in FRAMEWORKS)


def test_a_framework_is_recognised_by_its_variable() -> None:
    assert name("mpirun -np 8 python t.py", DEEPSPEED_TIMEOUT="240") == "deepspeed"
    assert value(read("mpirun -np 8 python t.py", DEEPSPEED_TIMEOUT="240").settings.timeout) == 14400.0


def test_a_framework_is_recognised_by_the_keys_of_its_file() -> None:
    text = "torchrun run_train.py --config-file /c.yaml"
    config = "checkpoints:\n  checkpoint_interval: 10\n  checkpoints_path: /c\ntokens:\n  train_steps: 99\n"
    found = read(text, {"/c.yaml": config})
    assert found.framework is not None and found.framework.name == "nanotron"
    got = [value(getattr(found.settings, field)) for field in FIELDS]
    assert got == ["/c", "10 steps", True, "99 steps", None, False, None]


FIELDS = ("save_path", "save_interval", "saving", "total", "retention", "resume", "timeout")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Megatron saves with --save and --save-interval alone, and resumes with --load alone.
        (
            "pretrain_gpt.py --train-iters 9000 --save /c --save-interval 500 --load /c",
            ("/c", "500 steps", True, "9,000 steps", None, True, 600.0),
        ),
        (
            "pretrain_gpt.py --train-iters 9000 --save /c --save-interval 500",
            ("/c", "500 steps", True, "9,000 steps", None, False, 600.0),
        ),
        # Megatron-LM itself refuses a path without an interval: a fork may save on a schedule of its own.
        ("pretrain_gpt.py --train-iters 9000 --save /c", ("/c", None, "?", "9,000 steps", None, False, 600.0)),
        ("pretrain_gpt.py --train-iters 9000", (None, None, False, "9,000 steps", None, False, 600.0)),
        (
            "pretrain_gpt.py --train-samples 900 --save /c --save-interval 5 --load /b --distributed-timeout-minutes 9",
            ("/c", "5 steps", True, "900 samples", None, False, 540.0),
        ),
        ("pretrain_gpt.py --bf16 $ARGS", ("?", "?", "?", "?", "?", "?", "?")),
        (
            "pretrain_gpt.py --save /c/$RUN --load /c/$RUN --save-interval 10 --train-iters 50",
            ("?", "10 steps", True, "50 steps", None, True, 600.0),
        ),
        # HF
        ("run_clm.py --output_dir /o", ("/o", "500 steps", True, "3 epochs", None, True, 1800.0)),
        (
            "run_clm.py --output_dir=/o --save_steps 0.1 --max_steps=-1 --save_total_limit 3",
            ("/o", "0.1 fraction", True, "3 epochs", 3, True, 1800.0),
        ),
        ("run_clm.py --output_dir /o --save_strategy no", ("/o", None, False, "3 epochs", None, True, 1800.0)),
        (
            "run_clm.py --output_dir /o --save_strategy epoch --save_steps 5 --num_train_epochs 40",
            ("/o", "1 epoch", True, "40 epochs", None, True, 1800.0),
        ),
        ("run_clm.py --output_dir /o --save_strategy best", ("/o", "?", True, "3 epochs", None, True, 1800.0)),
        (
            "run_clm.py --output_dir /o --overwrite_output_dir --ddp_timeout 3600",
            ("/o", "500 steps", True, "3 epochs", None, False, 3600.0),
        ),
        (
            "run_clm.py --output_dir /o --overwrite_output_dir --resume_from_checkpoint true",
            ("/o", "500 steps", True, "3 epochs", None, True, 1800.0),
        ),
        (
            "sft.py --output_dir /o --per_device_train_batch_size 1",
            ("/o", "500 steps", True, "3 epochs", None, "?", 1800.0),
        ),
        # torchtitan
        (
            "-m torchtitan.train --checkpoint.enable --checkpoint.folder /c --training.steps 70",
            ("/c", "500 steps", True, "70 steps", 10, True, 100.0),
        ),
        ("-m torchtitan.train --training.steps 70", ("./outputs/checkpoint", None, False, "70 steps", 10, True, 100.0)),
        (
            "-m torchtitan.train --checkpoint.enable --job.dump_folder=/d --checkpoint.keep_latest_k 0",
            ("/d/checkpoint", "500 steps", True, "10,000 steps", None, True, 100.0),
        ),
        # MaxText
        (
            "-m MaxText.train base.yml base_output_directory=gs://b run_name=r steps=6000",
            ("gs://b/r", "10,000 steps", True, "6,000 steps", None, True, "?"),
        ),
        (
            "-m MaxText.train base.yml base_output_directory=gs://b enable_checkpointing=false",
            ("gs://b", None, False, "150,001 steps", None, True, "?"),
        ),
        ("-m MaxText.train mine.yml base_output_directory=gs://b", ("?", "?", "?", "?", "?", "?", "?")),
        # the recipe's own file is in the image
        (
            "megatron_gpt_pretraining.py exp_manager.resume_if_exists=False trainer.max_steps=10",
            ("?", "?", "?", "10 steps", "?", False, "?"),
        ),
        (
            "megatron_gpt_pretraining.py exp_manager.exp_dir=/e "
            "exp_manager.checkpoint_callback_params.every_n_train_steps=100",
            ("/e", "100 steps", "?", "?", "?", "?", "?"),
        ),
        # others
        (
            "-m open_clip_train.main --logs /l --name a --epochs 5",
            ("/l/a", "1 epoch", True, "5 epochs", None, False, None),
        ),
        (
            "-m open_clip_train.main --resume latest --save-frequency 2",
            ("./logs/", "2 epochs", True, "32 epochs", None, True, None),
        ),
        (
            "-m open_clip_train.main --save-frequency 0 --save-most-recent --zeroshot-frequency 2",
            ("./logs/", "1 epoch", True, "32 epochs", None, False, None),
        ),
        (
            "-m open_clip_train.main --save-frequency 5 --logs /l $MORE",
            ("?", "?", True, "?", "?", "?", "?"),
        ),
        (
            "fairseq_cli/train.py data --save-dir /s --save-interval-updates 500 --keep-interval-updates 4",
            ("/s", "500 steps", True, None, 4, True, None),
        ),
        (
            "-m verl.trainer.main_ppo trainer.save_freq=20 trainer.default_local_dir=/c trainer.total_epochs=3",
            ("/c", "20 steps", True, "3 epochs", None, True, 600.0),
        ),
        ("-m verl.trainer.main_ppo trainer.nnodes=2", ("checkpoints", None, False, "30 epochs", None, True, 600.0)),
        (
            "-m openrlhf.cli.train_sft --ckpt_path /c --save_steps 5 --load_checkpoint",
            ("/c", "5 steps", True, "1 epoch", 3, True, 3600.0),
        ),
        (
            "train_text_to_image.py --output_dir /o --max_train_steps 900 --resume_from_checkpoint latest",
            ("/o", "500 steps", True, "900 steps", None, True, 600.0),
        ),
        ("fairseq_cli/train.py data --no-save", ("checkpoints", None, False, None, None, True, None)),
    ],
)
def test_settings_from_options(text: str, expected: tuple[object, ...]) -> None:
    settings = read(f"python {text}").settings
    assert tuple(value(getattr(settings, field)) for field in FIELDS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "litgpt pretrain x --out_dir=/o --train.max_tokens=3000 --resume=auto",
            ("/o", "1,000 steps", True, "3,000 tokens", None, True, 1800.0),
        ),
        ("litgpt pretrain x --train.save_interval 5", ("out/pretrain", "5 steps", True, None, None, False, 1800.0)),
        (
            "composer train.py c.yaml save_folder=s3://b save_interval=1 max_duration=60ep autoresume=true",
            ("s3://b", "1 epoch", True, "60 epochs", "?", True, "?"),
        ),
        (
            "composer main.py --save_interval 500ba --max_duration 9000ba",
            ("?", "500 steps", True, "9,000 steps", "?", "?", "?"),
        ),
        (
            "llamafactory-cli train --stage sft --output_dir /o --ddp_timeout 180000000",
            ("/o", "500 steps", True, "3 epochs", None, True, 180000000.0),
        ),
    ],
)
def test_settings_of_programs_that_launch_themselves(text: str, expected: tuple[object, ...]) -> None:
    settings = read(text).settings
    got = tuple(value(getattr(settings, field)) for field in FIELDS)
    if text.startswith("composer main"):
        assert got[:2] == expected[:2] and got[3] == expected[3]
    else:
        assert got == expected


FOUNDRY = (
    "max_duration: 40000ba\nsave_folder: /ck/${run_name}\nsave_interval: 1000ba\nrun_name: mpt\n"
    "save_num_checkpoints_to_keep: 1\nautoresume: true\n"
)
TITAN = '[job]\ndump_folder = "/d"\n[checkpoint]\nenable = true\ninterval = 250  # steps\n[training]\nsteps = 40_000\n'
AXOLOTL = "base_model: m\noutput_dir: /o\nsaves_per_epoch: 4\nnum_epochs: 2\nsave_total_limit: 2\nddp_timeout: null\n"
FACTORY = (
    "stage: sft\noutput_dir: /o\nsave_steps: 200\nmax_steps: 9000\nddp_timeout: 180000000\noverwrite_output_dir: true\n"
)
TUNE = (
    "output_dir: /o\ncheckpointer:\n  _component_: x\n  output_dir: /o/ck\nepochs: 3\nresume_from_checkpoint: False\n"
)


@pytest.mark.parametrize(
    ("text", "path", "config", "expected"),
    [
        (
            "composer train.py /c.yaml",
            "/c.yaml",
            FOUNDRY,
            ("/ck/mpt", "1,000 steps", True, "40,000 steps", 1, True, 600.0),
        ),
        (
            "composer train.py /c.yaml save_interval=5ba",
            "/c.yaml",
            FOUNDRY,
            ("/ck/mpt", "5 steps", True, "40,000 steps", 1, True, 600.0),
        ),
        (
            "torchrun -m torchtitan.train --job.config_file /c.toml",
            "/c.toml",
            TITAN,
            ("/d/checkpoint", "250 steps", True, "40,000 steps", 10, True, 100.0),
        ),
        (
            "torchrun -m torchtitan.train --job.config_file /c.toml --checkpoint.interval 9",
            "/c.toml",
            TITAN,
            ("/d/checkpoint", "9 steps", True, "40,000 steps", 10, True, 100.0),
        ),
        ("axolotl train /c.yml", "/c.yml", AXOLOTL, ("/o", "0.25 epochs", True, "2 epochs", 2, False, 1800.0)),
        (
            "llamafactory-cli train /c.yaml",
            "/c.yaml",
            FACTORY,
            ("/o", "200 steps", True, "9,000 steps", None, False, 180000000.0),
        ),
        ("tune run full --config /c.yaml", "/c.yaml", TUNE, ("/o/ck", "1 epoch", True, "3 epochs", None, False, None)),
        ("tune run full --config llama3/8B_full", "", "", ("?", "?", True, "?", "?", "?", "?")),
        (
            "torchrun run_clm.py /c.json",
            "/c.json",
            '{"output_dir": "/o", "save_steps": 50}',
            ("/o", "50 steps", True, "3 epochs", None, True, 1800.0),
        ),
        ("torchrun run_clm.py /c.json", "", "", ("?", "?", "?", "?", "?", "?", "?")),
        ("torchrun train.py --config /c.yaml", "", "", ("?", "?", "?", "?", "?", "?", "?")),
        (
            "torchrun train.py --config /c.yaml",
            "/c.yaml",
            "save_dir: /s\nsave_steps: 5\nmax_steps: 9\n",
            ("/s", "5 steps", True, "9 steps", "?", "?", "?"),
        ),
    ],
)
def test_settings_from_files(text: str, path: str, config: str, expected: tuple[object, ...]) -> None:
    settings = read(text, {path: config}).settings
    assert tuple(value(getattr(settings, field)) for field in FIELDS) == expected


@pytest.mark.parametrize(
    ("path", "text", "key", "line"),
    [
        ("/c.yaml", "a: 1\nb:\n  c: 5 # why\n", "b.c", 3),
        ("/c.toml", "[x.y]\n# c = 1\nc = 5\n", "x.y.c", 3),
        ("/c.json", '{\n "b": {\n  "c": 5}}', "b.c", 3),
    ],
)
def test_values_keep_their_place(path: str, text: str, key: str, line: int) -> None:
    found = read_config(placed(text, path), path).get(key)
    assert isinstance(found, Set) and found.value == "5"
    assert found.origin.place.start.line == line
    assert "5" in found.origin.place.text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/c.yaml", "a: [1"),
        ("/c.toml", "a = "),
        ("/c.yaml", "defaults:\n- base\na: 1\n"),
        ("/c.yaml", "- 1\n"),
        ("/c.py", "a = 1"),
    ],
)
def test_a_file_that_is_not_read_whole_leaves_keys_unknown(path: str, text: str) -> None:
    assert value(read_config(placed(text, path), path).get("b")) == "?"


def test_templated_values_are_unknown() -> None:
    config = read_config(placed("a: ${oc.env:X}\nb: '{{ .Values.x }}'\nc: s3://{run_name}\nd: null\n"), "c.yaml")
    assert [value(config.get(key)) for key in "abcde"] == ["?", "?", "s3://{run_name}", None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "torchrun train.py --checkpoint_dir=./checkpoints --checkpoint_freq=500 --max_steps=60000",
            ("./checkpoints", "500 steps", True, "60,000 steps", "?", "?"),
        ),
        ("torchrun train.py --save_dir /c --save_every 1000", ("/c", "?", True, "?", "?", "?")),
        ("torchrun train.py --out /c --save-epochs 2 --epochs 90", ("/c", "2 epochs", True, "90 epochs", "?", "?")),
        ("torchrun train.py --ckpt s3://b/r --resume auto", ("s3://b/r", "?", True, "?", "?", True)),
        ("torchrun train.py --resume", ("?", "?", "?", "?", "?", True)),
        ("torchrun train.py --resume /o/checkpoint.pth", ("?", "?", "?", "?", "?", True)),
        ("torchrun train.py --resume /o/run_7", ("?", "?", "?", "?", "?", True)),
        ("torchrun train.py --resume /o/model_7_seed0.pt", ("?", "?", "?", "?", "?", "?")),
        ("torchrun train.py --resume /o/checkpoint-7000", ("?", "?", "?", "?", "?", "?")),
        ("torchrun train.py --load /c --save /c", ("/c", "?", True, "?", "?", True)),
        ("torchrun train.py", ("?", "?", "?", "?", "?", "?")),
        ("deepspeed train.py --output_dir /o --deepspeed ds.json", ("/o", "?", True, "?", "?", "?")),
    ],
)
def test_conventions_of_unknown_programs(text: str, expected: tuple[object, ...]) -> None:
    settings = read(text).settings
    got = (
        settings.save_path,
        settings.save_interval,
        settings.saving,
        settings.total,
        settings.retention,
        settings.resume,
    )
    assert tuple(value(each) for each in got) == expected


def test_a_variable_names_the_path_of_an_unseen_script() -> None:
    assert value(read("torchrun train.py", CHECKPOINT_DIR="/tmp/ck").settings.save_path) == "/tmp/ck"
    assert value(read("torchrun train.py --save_dir /c", CHECKPOINT_DIR="/tmp/ck").settings.save_path) == "/c"


def test_other_megatron_settings() -> None:
    found = read(
        "python pretrain_gpt.py --async-save --exit-signal-handler --exit-duration-in-mins 1190 --global-batch-size 512"
        " --non-persistent-ckpt-type local --tensor-model-parallel-size 4 --num-workers 8 --inprocess-restart"
    ).settings
    assert value(found.asynchronous) is True
    assert value(found.signal_save) is True
    assert value(found.exit_after) == 71400.0
    assert value(found.samples_per_step) == 512
    assert value(found.in_memory) is True
    extra = {key: value(setting) for key, setting in found.extra.items()}
    assert extra == {"tensor-parallel": "4", "data-workers": "8", "in-process-recovery": ""}
    bare = read("python pretrain_gpt.py --train-iters 5 --lr 1").settings
    assert [value(x) for x in (bare.asynchronous, bare.signal_save, bare.exit_after, bare.in_memory)] == [
        False,
        False,
        None,
        False,
    ]


def test_in_process_recovery() -> None:
    assert "in-process-recovery" in read("torchrun t.py", TORCHFT_LIGHTHOUSE="http://x").settings.extra
    assert "in-process-recovery" in read("hyperpodrun --inprocess-restart t.py").settings.extra
    assert "in-process-recovery" not in read("torchrun pretrain_gpt.py").settings.extra
    titan = read("torchrun -m torchtitan.train --fault_tolerance.enable=false").settings
    assert "in-process-recovery" not in titan.extra


PLAIN = """
import os, torch
import torch.distributed as dist
from datetime import timedelta
dist.init_process_group("nccl"{timeout})
for step in range(10):
    {save}
"""


@pytest.mark.parametrize(
    ("timeout", "torch", "expected"),
    [
        ("", (2, 4), 600.0),
        ("", (2, 1), 1800.0),
        ("", (), None),
        (", timeout=timedelta(minutes=45)", (2, 4), 2700.0),
        (", timeout=find()", (2, 4), "?"),
    ],
)
def test_timeout_of_a_visible_script(timeout: str, torch: Release, expected: object) -> None:
    found = read("torchrun train.py", script=PLAIN.format(timeout=timeout, save="pass"), torch=torch)
    assert found.framework is not None and found.framework.name == "torch"
    assert value(found.settings.timeout) == expected


def test_saves_of_a_visible_script() -> None:
    saved = read("torchrun train.py", script=PLAIN.format(timeout="", save="torch.save(m, '/tmp/m.pt')")).settings
    assert value(saved.saving) is True
    assert str(value(saved.save_path)).startswith("/tmp")
    never = read("torchrun train.py", script=PLAIN.format(timeout="", save="pass")).settings
    assert value(never.saving) is False
    assert value(never.resume) is False
    for loads, resumes in {
        "torch.load('/pretrained.pt')": "?",  # it may be another model's
        "trainer.train(resume_from_checkpoint=True)": True,
        "trainer.train(resume_from_checkpoint=False)": False,
        "trainer.train(resume_from_checkpoint=find())": "?",
    }.items():
        found = read("torchrun train.py", script=PLAIN.format(timeout="", save=loads)).settings
        assert value(found.resume) == resumes, loads
    hidden = read("torchrun train.py", script="import mycode\n" + PLAIN.format(timeout="", save="pass")).settings
    assert value(hidden.saving) == "?"


@pytest.mark.parametrize(
    ("fit", "resumes"),
    [
        ("trainer.fit(model)", False),
        ("trainer.fit(model, ckpt_path='last')", True),
        ("trainer.fit(model, ckpt_path=None)", False),
        ("trainer.fit(model, ckpt_path=find())", "?"),
        ("trainer.fit(model, **more)", "?"),
        ("run(trainer)", "?"),
    ],
)
def test_a_fit_without_a_checkpoint_begins_anew(fit: str, resumes: object) -> None:
    script = f"import lightning\nimport mycode\ntrainer = lightning.Trainer(max_epochs=5)\n{fit}\n"
    assert value(read("python train.py", script=script).settings.resume) == resumes


HF = """
from transformers import Trainer, TrainingArguments
args = TrainingArguments("/o", save_steps=50, max_steps=900, ddp_timeout=7200{more})
Trainer(model, args).train()
"""


def test_hf_arguments_in_a_visible_script() -> None:
    found = read("torchrun go.py", script=HF.format(more="")).settings
    got = [value(getattr(found, field)) for field in FIELDS[:5]]
    assert got == ["/o", "50 steps", True, "900 steps", None]
    assert value(found.timeout) == 7200.0
    assert value(read("torchrun go.py", script=HF.format(more=", save_strategy='no'")).settings.saving) is False


LIGHTNING = """
import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import DDPStrategy
from datetime import timedelta
pl.Trainer(max_steps=5000, callbacks=[ModelCheckpoint(dirpath="/c", every_n_train_steps=100, save_top_k=-1)]{more})
"""


def test_lightning_in_a_visible_script() -> None:
    found = read("srun python go.py", script=LIGHTNING.format(more="")).settings
    assert [value(getattr(found, field)) for field in FIELDS] == [
        "/c",
        "100 steps",
        True,
        "5,000 steps",
        None,
        False,
        1800.0,
    ]
    more = ", strategy=DDPStrategy(timeout=timedelta(hours=3))"
    assert value(read("python go.py", script=LIGHTNING.format(more=more)).settings.timeout) == 10800.0
    off = read("python go.py", script=LIGHTNING.format(more=", enable_checkpointing=False")).settings
    assert value(off.saving) is False


RAY = """
from ray.train import RunConfig, FailureConfig, CheckpointConfig, ScalingConfig
from ray.train.torch import TorchTrainer
TorchTrainer(fn, scaling_config=ScalingConfig(num_workers=4),
             run_config=RunConfig(failure_config=FailureConfig({failures}),
                                  checkpoint_config=CheckpointConfig(num_to_keep=2)))
"""


@pytest.mark.parametrize(("failures", "expected"), [("max_failures=3", "3"), ("3", "3"), ("", "0")])
def test_ray_train(failures: str, expected: str) -> None:
    found = read("python go.py", script=RAY.format(failures=failures)).settings
    assert value(found.extra["max-failures"]) == expected
    assert value(found.retention) == 2
    assert value(found.save_path) == "~/ray_results"
    assert value(found.timeout) == 1800.0


def test_signal_handlers_save() -> None:
    script = "import signal, torch\nimport torch.distributed\nsignal.signal(signal.SIGTERM, save_and_leave)\n"
    assert value(read("torchrun go.py", script=script).settings.signal_save) is True


def test_a_script_changes_its_environment() -> None:
    text = "import os\nos.environ['A'] = '1'\nos.environ.setdefault('B', '2')\nif x:\n    os.environ['C'] = '3'\n"
    facts = read_python(placed(text))
    changed = changed_environment(environment(B="9"), facts)
    assert [value(changed.get(key)) for key in "ABC"] == ["1", "9", "?"]


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("500ba", "time-string", "500 steps"),
        ("2ep", "time-string", "2 epochs"),
        ("1e9tok", "time-string", "1,000,000,000 tokens"),
        ("0.1dur", "time-string", "0.1 fraction"),
        ("3", "epochs-or-time-string", "3 epochs"),
        ("10_000", "steps", "10,000 steps"),
        ("0.2", "steps-or-fraction", "0.2 fraction"),
        ("2", "steps-or-fraction", "2 steps"),
        ("1.0", "steps-or-epochs", "1 epoch"),
        ("0.25", "steps-or-epochs", "0.25 epochs"),
        ("1", "steps-or-epochs", "1 step"),
        ("2000.0", "steps-or-epochs", "2,000 steps"),
        ("5e2", "steps", "500 steps"),
        ("often", "steps", None),
        ("nan", "steps", None),
        ("inf", "steps", None),
    ],
)
def test_amounts(text: str, unit: str, expected: str | None) -> None:
    found = quantity(text, unit)  # type: ignore[arg-type]
    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timedelta(hours=1, minutes=2*3)", 3960.0),
        ("00:03:55:00", 14100.0),
        ("01:00:00", 3600.0),
        ("90", 90.0),
        ("soon", None),
    ],
)
def test_durations(text: str, expected: float | None) -> None:
    assert seconds(text) == expected


def test_every_import_that_a_row_knows_is_a_known_package() -> None:
    tops = {name.split(".", 1)[0] for row in FRAMEWORKS for name in row.recognition.imports}
    assert tops <= KNOWN_PACKAGES


def test_retention_by_another_rule_than_a_count() -> None:
    assert (
        value(read("python pretrain_gpt.py --save /c --save-interval 5 --save-retain-interval 100").settings.retention)
        == "?"
    )


def test_horovod_stalls() -> None:
    found = read("horovodrun -np 2 --stall-check-shutdown-time-seconds 600 python t.py").settings
    assert value(found.extra["stall-shutdown"]) == "600"
    assert value(read("horovodrun -np 2 python t.py").settings.extra["stall-shutdown"]) == "0"
    assert value(found.timeout) == "?"


def test_copies_in_memory_by_convention() -> None:
    assert value(read("hyperpodrun t.py --in_memory_checkpointing_freq=10").settings.in_memory) is True
    assert value(read("hyperpodrun t.py").settings.in_memory) == "?"


@pytest.mark.parametrize(
    ("option", "seconds"),
    [
        ("--ddp_timeout 18000", 18000.0),
        ("--nccl-timeout-minutes=240", 14400.0),
        ("--dist_timeout_seconds 30", 30.0),
        ("--pg-timeout-hours 3", 10800.0),
        ("--timeout 99", "?"),
        ("--nccl-timeout 99", "?"),
    ],
)
def test_timeout_by_convention(option: str, seconds: object) -> None:
    """A program that nothing is known of: the option's name must tell the unit."""
    found = read(f"torchrun own.py {option}")
    assert found.framework is None or found.framework.name != "megatron"
    assert value(found.settings.timeout) == seconds


def test_every_timeout_option_says_how_it_is_set() -> None:
    for row in FRAMEWORKS:
        assert bool(row.timeout.amounts) == bool(row.timeout.how), row.name


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("torchrun pretrain_gpt.py --train-iters 5 --num-layers 2", 600.0),
        ("torchrun pretrain_gpt.py --train-iters 5 --num-layers 2 --deepspeed", 1800.0),
    ],
)
def test_timeout_of_megatron_with_and_without_deepspeed(text: str, seconds: float) -> None:
    assert value(read(text).settings.timeout) == seconds


def test_an_interval_that_switches_saving_off_is_no_sign_of_saving() -> None:
    settings = read("python -m verl.trainer.main_ppo trainer.save_freq=-1 $MORE").settings
    assert value(settings.saving) == "?", "$MORE may switch it on again"
    assert value(settings.save_interval) == "?"
    assert value(read("python -m verl.trainer.main_ppo trainer.save_freq=5 $MORE").settings.saving) is True


def test_saving_to_a_folder_of_unknown_name_is_no_default() -> None:
    saving = read("torchrun pretrain_gpt.py --save $SOMEWHERE --save-interval 5").settings.saving
    assert value(saving) is True
    assert isinstance(saving, Set)
    assert saving.origin.via == "derived"


@pytest.mark.parametrize(
    ("text", "path", "interval", "saving"),
    [
        ("train.py --output results.json", "?", "?", "?"),
        ("train.py --output results.json --save-interval-minutes 20", "?", "20 minutes", True),
        ("train.py --output metrics.csv --out /ckpt", "/ckpt", "?", True),
        ("train.py --output /ckpt --save-every-seconds 120 $MORE", "/ckpt", "120 seconds", True),
        ("train.py --output none", "?", "?", "?"),
    ],
)
def test_names_of_options_of_unknown_programs(text: str, path: object, interval: object, saving: object) -> None:
    settings = read(f"python {text}").settings
    assert (value(settings.save_path), value(settings.save_interval), value(settings.saving)) == (
        path,
        interval,
        saving,
    )


def test_llama_cookbook_saves_into_one_folder() -> None:
    found = read(
        "torchrun finetuning.py --enable_fsdp --dist_checkpoint_root_folder=/runs/ --model_name=llama"
    ).settings
    assert value(found.save_path) == "/runs/fine-tuned"
    assert value(found.retention) == 1
    assert value(read("torchrun finetuning.py --enable_fsdp --use_peft --output_dir=/o").settings.save_path) == "/o"


@pytest.mark.parametrize(
    ("options", "total"),
    [
        ("--total-steps 1e8", "100,000,000 steps"), ("--num_envs 4096 --total_steps 1e8", "100,000,000 samples"),
        ("--num_envs 4096 --max_iterations 1500", "1,500 steps"),
    ],
)  # fmt: skip
def test_steps_of_simulations_are_samples(options: str, total: str) -> None:
    assert value(read(f"python walk.py {options}").settings.total) == total
