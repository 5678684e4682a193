"""Training frameworks: how each is recognised, and which of its options decide a run's fate.

One row a framework. A key stands for a flag (`--save-interval`), an override (`trainer.max_steps=10`) and the dotted
path in a configuration file alike; `-` and `_` count as the same. A key that starts with `$` is an environment
variable, one with parentheses a keyword of a Python call (`ModelCheckpoint(every_n_epochs)`).

Where several keys are listed, the first that is set wins. A default applies where the framework is recognised and
everything that could set the key was seen.

`extra` names further options that rules ask for:

| key | meaning |
|---|---|
| tensor-parallel, pipeline-parallel, context-parallel, expert-parallel, data-parallel | sizes of the parallel groups |
| nodes, devices | nodes of the run and devices a node, as the framework itself is told |
| data-workers | data-loader processes for each training process |
| model, dataset | what is fetched by name at the start |
| first-leg | options of a first launch from another run's weights: with them every start begins anew |
| device-batch, accumulation | samples of one process in a pass, and passes in a step |
| training-samples | the training set is cut down to so many samples, for a trial |
| steps-an-epoch | an epoch is cut short after so many batches; a number with a point is a share of it |
| in-process-recovery | torchft, NVRx in-process restart: communicators are rebuilt inside the process |
| do-train, do-eval, do-predict | what the start is for (Hugging Face's TrainingArguments) |
| overwrite-output | the output folder is emptied or ignored at the start |
| weights-only | checkpoints hold no optimizer state: they cannot be resumed |
| max-failures | worker failures that the framework itself survives (Ray Train) |
| flight-recorder-buffer, flight-recorder-path | what the framework sets of torch's flight recorder by itself |
| heartbeats | the program reports its progress to a launcher that watches it (NVRx) |
| init-timeout | the process group's timeout until the first step is done, in seconds |
| stall-shutdown | seconds after which Horovod ends a stalled run; 0 never |
| save-on-each-node | every node writes the whole output by itself |
| keeps-best | the best checkpoint is kept beside the newest ones |
| replaces-when-written | an old checkpoint goes when the new one is written: a failure in between leaves the old one |
| also-ends | a second limit of the run, which may end it before its steps are done |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

Unit: TypeAlias = Literal[
    "steps", "epochs", "fraction", "samples", "tokens", "seconds", "minutes", "hours", "steps-or-fraction",
    "steps-or-epochs", "time-string", "epochs-or-time-string", "days-clock", "timedelta", "named", "per-epoch",
]  # fmt: skip
"""The unit of a number, or how its text is read: `steps-or-fraction` (below 1 a fraction of the run), `steps-or-epochs`
(Lightning's: a whole number is steps, `0.5` or `1.0` a share of an epoch), `time-string` (Composer's `500ba`, `2ep`),
`epochs-or-time-string` (a bare number is epochs), `days-clock` (`00:03:50:00`), `timedelta` (Python),
`per-epoch` (so many in one epoch), `named` (the option's own name tells it)."""

NONE = ("", "none", "null", "~")
OFF = ("", "none", "null", "~", "0", "-1", "false", "no", "off", "never", "disabled")


class Amount(Struct, frozen=True):
    """An option that holds an amount. Values in `off` count as if it were not given.

    Options in `times` multiply it; each is 1 where it is not given.
    """

    keys: tuple[str, ...]
    unit: Unit
    off: tuple[str, ...] = OFF
    times: tuple[str, ...] = ()


class Default(Struct, frozen=True):
    """What holds where no option is given. `unit` is for amounts."""

    value: float
    unit: Unit = "steps"
    note: str = ""


class Switch(Struct, frozen=True):
    """Something that is on or off. `on` and `off` list values of the option; a bare flag is on.

    `inverted`: the option switches it off (`--no-save`). `default` None: not known.
    """

    keys: tuple[str, ...]
    off: tuple[str, ...] = ("none", "null", "~", "0", "-1", "false", "no", "off", "never", "disabled", "n", "f")
    inverted: bool = False
    default: bool | None = False
    note: str = ""


class PathOf(Struct, frozen=True):
    """A path made of the values of keys, joined: an absolute one stands for itself. Each key has a default for where
    it is not given; None: without it there is no path."""

    parts: tuple[tuple[str, str | None], ...]


def _path(key: str) -> PathOf:
    """A path that one key gives."""
    return PathOf(((key, None),))


Effect: TypeAlias = Literal["off", "epochs", "steps", "best"]


class Strategy(Struct, frozen=True):
    """An option that chooses what triggers a save (HF's save_strategy)."""

    keys: tuple[str, ...]
    effects: Mapping[str, Effect]
    default: Effect | None
    """None: it follows from the other options."""


ResumeKind: TypeAlias = Literal["switch", "same-path", "always"]


class Resume(Struct, frozen=True):
    """Whether a restart goes on from the last checkpoint.

    "switch": an option asks for it. "same-path": it does where the load path is the save path (Megatron). "always":
    the program looks for its own last checkpoint. `unless` lists options that put an end to it. `default` is for
    "switch" without the option; None: not known. `by_itself` are patterns of scripts that look for it themselves,
    `finds` words by which a program of one's own does.
    """

    kind: ResumeKind
    keys: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    by_itself: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()
    default: bool | None = False
    note: str = ""


PLAIN_TIMEOUT = "init_process_group(timeout=timedelta(…))"
"""How plain torch is told."""


class Timeout(Struct, frozen=True):
    """The process-group timeout. `seconds` is the default; None follows torch's own default."""

    amounts: tuple[Amount, ...] = ()
    seconds: float | None = None
    note: str = ""
    how: str = ""
    """How a user sets it, as written on the command line, in the configuration or in Python."""
    forks: tuple[TimeoutFork, ...] = ()
    """Forks that set it by another option."""
    calls: tuple[Amount, ...] = ()
    """Keywords of calls that a program may make, before all else. Where it is not seen, it is taken to make none."""
    made_by: tuple[str, ...] = ()
    """Calls of a visible script that make the process group before the framework would, with a timeout of their own."""


class TimeoutFork(Struct, frozen=True):
    """A fork that hands another option to the process group, told by its text: it reads `reads` and never `instead_of`.
    Where that is not seen, `scripts` tell it, which no other fork has.

    It may go on declaring the option of the original, which then does nothing.
    """

    reads: str
    instead_of: str
    amounts: tuple[Amount, ...]
    seconds: float
    note: str
    how: str
    scripts: tuple[str, ...] = ()


class ConfigSource(Struct, frozen=True):
    """Where a configuration file is named: by options, or by the first positional with one of these endings.

    `name_option` is Hydra's `--config-name`, a name within the folder that the option gives.
    """

    options: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    name_option: str = ""
    standard: tuple[str, ...] = ()
    """Base names of files, and names of Hydra's configurations, that the release ships: what they hold are the
    defaults of the row."""
    folder: str = ""
    """Where the release keeps the files that are named without an ending, in a checkout of it."""
    default_elsewhere: str = ""
    """Why missing keys are unknown even where no file is named: the recipe holds them in the image."""


class Recognition(Struct, frozen=True):
    """What shows that a program is of this framework; each tuple is one sufficient sign.

    `options` are sets of options of which all must be given. `scripts` are patterns of base names, `modules` of dotted
    names.
    """

    scripts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Patterns of the whole path, for scripts with common names."""
    modules: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    options: tuple[tuple[str, ...], ...] = ()
    weak_launchers: tuple[str, ...] = ()
    """Launchers that show it where nothing stronger shows another."""
    with_config: tuple[str, ...] = ()
    """Scripts that show it under a weak launcher and with a configuration file beside them."""
    config_keys: tuple[tuple[str, ...], ...] = ()
    """Sets of keys of a visible configuration file."""
    imports: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Names of Python calls in a visible script."""
    variables: tuple[str, ...] = ()
    """Environment variables, `*` for any text."""
    only_with: tuple[str, ...] = ()
    """Options of which one must be given beside the sign."""


class FrameworkFacts(Struct, frozen=True, eq=False):
    """One framework. `visible` tells whether its own options are all there is (argparse), so that defaults apply; where
    a script of the user's decides (Lightning, plain torch), they apply only to a visible script."""

    name: str
    title: str
    source: str
    recognition: Recognition
    runtime: Literal["torch", "jax", "horovod"] = "torch"
    """What does the collectives. Horovod has a transport of its own over NCCL, whatever it trains with."""
    visible: bool = True
    config: ConfigSource = field(default_factory=ConfigSource)
    flags: str = ""
    """Options without a value."""
    save_path: tuple[PathOf, ...] = ()
    second_path: tuple[PathOf, ...] = ()
    interval: tuple[Amount, ...] = ()
    interval_default: Default | None = None
    interval_shifts: Mapping[str, str] = field(default_factory=dict)
    """Keywords that make that default another one, by the value with which they do not."""
    interval_settled: str = ""
    """A keyword that makes it hold whatever shifts it, but for those that are never without effect."""
    every_epoch: Switch | None = None
    """Whether it saves all that a restart needs after every epoch besides, over the save before."""
    strategy: Strategy | None = None
    saving: Switch | None = None
    saves_by: tuple[str, ...] = ()
    """Calls of a visible script each of which shows that it saves."""
    saves_with: tuple[str, ...] = ()
    """Words in the text of a program of one's own, or in its configuration, of what saves where nothing in `saves_not`
    stands in them."""
    saves_not: tuple[str, ...] = ()
    """Words by which saving may be switched off."""
    saves_unless: Mapping[str, str] = field(default_factory=dict)
    """The values with which keywords among these leave it on."""
    needs: tuple[Literal["path", "interval"], ...] = ()
    """What must be given for anything to be saved."""
    refuses_path_alone: bool = False
    """It does not start with a save path and no interval: a program that is started so is a fork with a schedule of its
    own."""
    saves_at_end: bool = False
    """It saves what it trained when it is done, whatever those say."""
    total: tuple[Amount, ...] = ()
    total_default: Default | None = None
    retention: tuple[Amount, ...] = ()
    retention_default: int | None = None
    """None: all checkpoints are kept."""
    retention_other: tuple[str, ...] = ()
    """Options that thin checkpoints out by another rule than a count."""
    keep: str = ""
    """The option of the command line that bounds how many are kept, as all releases take it."""
    resume: Resume | None = None
    resume_by: tuple[str, str] = ("", "")
    """The option and value of the command line that make a restart go on from the newest checkpoint, and change nothing
    at the first start; an empty value is the save path."""
    resumes_by_file: bool = False
    """The option takes the path of one file alone, so that whoever starts the run has to find the newest."""
    timeout: Timeout = field(default_factory=Timeout)
    asynchronous: Switch | None = None
    in_memory: tuple[Switch, ...] = ()
    signal_save: Switch | None = None
    exit_after: tuple[Amount, ...] = ()
    exit_by: str = ""
    """The option of the command line that makes it save and end itself after a number of `{minutes}`."""
    samples_per_step: tuple[str, ...] = ()
    training_data: tuple[str, ...] = ()
    """Options that name the file of training data, of which a step takes `samples_per_step` samples."""
    samples_vary: tuple[str, ...] = ()
    """Options that change the batch size during the run: samples and steps then do not compare."""
    old_releases: tuple[str, ...] = ()
    """Options that only releases before the row's defaults have: with one of them, defaults are not known."""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra_defaults: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    """Python calls whose keywords are the framework's options under their plain names."""
    least_torch: tuple[int, ...] = ()
    """The oldest torch that any release of it runs with; empty where that was not looked up."""
    guards: bool = False
    """It switches NCCL's asynchronous error handling on by itself."""


_HF_TIMEOUT = Timeout(
    (Amount(("ddp-timeout",), "seconds"),), 1800.0, "ddp_timeout 1800", "ddp_timeout, in seconds",
    made_by=(
        "PartialState", "AcceleratorState", "Accelerator", "init_process_group", "init_distributed",
        "broadcast_object_list", "gather_object",
    ),
)  # fmt: skip
_DOES: Mapping[str, tuple[str, ...]] = {name: (name,) for name in ("do-train", "do-eval", "do-predict")}
_HF_EXTRA: Mapping[str, tuple[str, ...]] = {
    "data-workers": ("dataloader-num-workers",),
    "model": ("model-name-or-path", "model-name"),
    "dataset": ("dataset-name",),
    "dataset-part": ("dataset-config-name", "dataset-config"),
    "training-samples": ("max-train-samples", "max-samples"),
    "device-batch": ("per-device-train-batch-size",),
    "accumulation": ("gradient-accumulation-steps",),
    "overwrite-output": ("overwrite-output-dir",),
    **_DOES,
    "weights-only": ("save-only-model",),
    "save-on-each-node": ("save-on-each-node",),
    "keeps-best": ("load-best-model-at-end",),
    "tensor-parallel": ("tp-size", "tensor-parallel-size"),
}

_HF_SAVE: Mapping[str, Effect] = {
    "no": "off", "false": "off", "none": "off", "steps": "steps", "epoch": "epochs", "epochs": "epochs", "best": "best",
}  # fmt: skip

_SAVE_TOP_K = (
    "save-top-k", "ModelCheckpoint(save_top_k)", "log.ckpt.save-top-k",
    "exp-manager.checkpoint-callback-params.save-top-k",
)  # fmt: skip
"""Lightning's own name and NeMo's. ModelCheckpoint removes an old file after the new one is saved, with a monitor and
without (`_update_best_and_save` and `_save_none_monitor_checkpoint` in Lightning-AI/pytorch-lightning
callbacks/model_checkpoint.py @003fe240), and NeMo's subclass when an asynchronous save is finished
(`deferred_ckpts_to_remove` in NVIDIA/NeMo nemo/utils/callbacks/nemo_model_checkpoint.py @01d03c17)."""

_MEGATRON_EXTRA: Mapping[str, tuple[str, ...]] = {
    "tensor-parallel": ("tensor-model-parallel-size",),
    "pipeline-parallel": ("pipeline-model-parallel-size",),
    "context-parallel": ("context-parallel-size",),
    "expert-parallel": ("expert-model-parallel-size",),
    "data-workers": ("num-workers",),
    "in-process-recovery": ("inprocess-restart",),
    "first-leg": ("reset-progress", "no-load-optim"),
    "flight-recorder-path": ("flight-recorder-dump-path",),
    "flight-recorder-buffer": ("flight-recorder-trace-buffer-size",),
    "heartbeats": ("enable-ft-package",),
    "micro-batch": ("micro-batch-size",),
    "rerun-mode": ("rerun-mode",),
    "exit-on-missing-checkpoint": ("exit-on-missing-checkpoint",),
}

_MEGATRON = FrameworkFacts(
    name="megatron",
    title="Megatron-LM",
    source="NVIDIA/Megatron-LM megatron/training/arguments.py core_v0.8.0 to v0.15.0, config/*.py @d98e8a64; "
    "Megatron-DeepSpeed's fork keeps these names",
    recognition=Recognition(
        scripts=(
            "pretrain_gpt.py", "pretrain_bert.py", "pretrain_t5.py", "pretrain_ict.py", "pretrain_mamba.py",
            "pretrain_vlm.py", "pretrain_retro.py", "pretrain_vision_*.py", "pretrain_gpt_single_node.py",
            "pretrain_gpt_core.py", "pretrain_hybrid.py",
        ),
        modules=("pretrain_gpt", "pretrain_bert", "pretrain_t5"),
        options=(
            ("tensor-model-parallel-size", "train-iters"),
            ("tensor-model-parallel-size", "train-samples"),
            ("tensor-model-parallel-size", "micro-batch-size"),
            ("train-iters", "num-layers", "hidden-size"),
            ("train-samples", "num-layers", "hidden-size"),
            ("train-iters", "global-batch-size", "save-interval"),
            ("train-samples", "global-batch-size", "save-interval"),
        ),
        imports=("megatron",),
    ),
    config=ConfigSource(options=("yaml-cfg",)),
    flags="bf16 fp16 async-save use-distributed-optimizer overlap-grad-reduce overlap-param-gather "
    "exit-signal-handler exit-on-missing-checkpoint no-load-optim no-load-rng no-save-optim no-save-rng finetune "
    "sequence-parallel swiglu disable-bias-linear use-flash-attn recompute-activations checkpoint-activations "
    "use-mcore-models use-dist-ckpt ckpt-fully-parallel-save ckpt-fully-parallel-load replication "
    "inprocess-restart enable-ft-package calc-ft-timeouts untie-embeddings-and-output-weights "
    "use-rotary-position-embeddings group-query-attention no-masked-softmax-fusion no-bias-gelu-fusion "
    "no-bias-dropout-fusion no-gradient-accumulation-fusion no-position-embedding log-throughput log-params-norm "
    "log-num-zeros-in-grad log-timers-to-tensorboard log-validation-ppl-to-tensorboard "
    "log-batch-size-to-tensorboard log-memory-to-tensorboard "
    "use-checkpoint-args no-initialization override-opt_param-scheduler use-checkpoint-opt_param-scheduler "
    "deepspeed deepspeed-activation-checkpointing no-pipeline-parallel cpu-optimizer mock-data manual-gc "
    "distribute-saved-activations moe-grouped-gemm moe-permute-fusion overlap-p2p-communication "
    "apply-layernorm-1p no-create-attention-mask-in-dataloader attention-softmax-in-fp32 tp-comm-overlap "
    "use-torch-fsdp2 no-async-tensor-model-parallel-allreduce no-rope-fusion accumulate-allreduce-grads-in-fp32 "
    "auto-detect-ckpt-format use-precision-aware-optimizer skip-train eod-mask-loss reset-position-ids "
    "reset-attention-mask test-mode use-cpu-initialization embed-layernorm sync-tp-duplicated-parameters",
    save_path=(_path("save"),),
    interval=(Amount(("save-interval", "persistent-save-interval"), "steps"),),
    needs=("path", "interval"),
    refuses_path_alone=True,  # `validate_args` asserts an interval beside args.save, in all releases
    total=(
        Amount(("train-iters",), "steps"),
        Amount(("train-samples",), "samples"),
        Amount(("train-tokens",), "tokens"),
    ),
    retention=(Amount(("most-recent-k",), "steps"),),
    retention_other=("save-retain-interval",),
    resume=Resume("same-path", ("load",), note="Megatron loads only what --load names"),
    resume_by=("--load", ""),
    timeout=Timeout(
        (
            Amount(("distributed-timeout-seconds-after-init",), "seconds"),
            Amount(("distributed-timeout-minutes",), "minutes"),
        ),
        600.0,
        "--distributed-timeout-minutes 10",
        "--distributed-timeout-minutes",
        forks=(
            TimeoutFork(
                "args.distributed_timeout)",
                "args.distributed_timeout_minutes",
                (Amount(("distributed-timeout",), "seconds"),),
                600.0,
                "--distributed-timeout 600",
                "--distributed-timeout, in seconds",
                ("finetune_mtf.py",),  # bigcode-project/Megatron-LM, branch mtf
            ),
        ),
    ),
    asynchronous=Switch(("async-save",)),
    in_memory=(
        Switch(("non-persistent-ckpt-type",), off=("global", "none", "null", "")),
        Switch(("replication",)),
    ),
    signal_save=Switch(("exit-signal-handler",), note="SIGTERM ends the run without a checkpoint"),
    exit_after=(Amount(("exit-duration-in-mins",), "minutes"),),
    exit_by="--exit-duration-in-mins {minutes}",
    samples_per_step=("global-batch-size",),
    samples_vary=("rampup-batch-size",),
    old_releases=("checkpoint-activations", "checkpoint-num-layers"),
    extra=_MEGATRON_EXTRA,
)  # fmt: skip

_MEGATRON_DEEPSPEED = replace(
    _MEGATRON,
    name="megatron-deepspeed",
    title="Megatron-DeepSpeed",
    source="microsoft/Megatron-DeepSpeed megatron/initialize.py (deepspeed.init_distributed), otherwise as Megatron-LM",
    recognition=replace(_MEGATRON.recognition, only_with=("deepspeed", "deepspeed-config", "deepspeed_config")),
    timeout=Timeout(
        (Amount(("$DEEPSPEED_TIMEOUT",), "minutes"),),
        1800.0,
        "DeepSpeed's 30 minutes",
        "DEEPSPEED_TIMEOUT, in minutes, in the environment of each rank (in .deepspeed_env where pdsh starts them)",
    ),
)
"""With DeepSpeed it is DeepSpeed that makes the process group."""

_OPEN_CLIP = FrameworkFacts(
    name="open_clip",
    title="OpenCLIP",
    source="mlfoundations/open_clip src/open_clip_train/params.py",
    recognition=Recognition(
        modules=("open_clip_train*", "training.main"),
        paths=("*open_clip*/main.py",),
        options=(("save-frequency", "train-data"), ("save-frequency", "resume"), ("save-frequency", "logs")),
        imports=("open_clip_train",),
    ),
    flags="save-most-recent delete-previous-checkpoint copy-codebase local-loss gather-with-grad "
    "grad-checkpointing use-bn-sync force-quick-gelu dataset-resampled horovod report-to-wandb torchcompile",
    save_path=(PathOf((("logs", "./logs/"), ("name", ""))),),
    second_path=(_path("remote-sync"),),
    interval=(Amount(("save-frequency",), "epochs"),),
    interval_default=Default(1, "epochs", "--save-frequency 1"),
    # src/open_clip_train/main.py: epoch_latest.pt, with the optimizer, after each epoch; CLAP's main.py has it, too
    every_epoch=Switch(("save-most-recent",)),
    total=(Amount(("epochs",), "epochs"),),
    total_default=Default(32, "epochs", "--epochs 32"),
    resume=Resume("switch", ("resume",), note="--resume is not given"),
    resume_by=("--resume", "latest"),
    extra={"data-workers": ("workers",), "model": ("pretrained",)},
    extra_defaults={"data-workers": "4"},
)
_CLAP = replace(
    _OPEN_CLIP,
    name="clap",
    title="CLAP",
    source="LAION-AI/CLAP src/laion_clap/training/main.py, a fork of OpenCLIP",
    recognition=replace(_OPEN_CLIP.recognition, only_with=("amodel", "tmodel"), imports=()),
    resume_by=("--resume", ""),
    resumes_by_file=True,
)
"""Its --resume knows no `latest`."""

_NEMO_RL = ("grpo", "sft", "dpo", "rm", "ppo", "distillation")
"""The parts of NeMo RL's configuration of which each algorithm has one."""

FRAMEWORKS: tuple[FrameworkFacts, ...] = (
    _MEGATRON_DEEPSPEED,
    _MEGATRON,
    FrameworkFacts(
        name="llama-factory",
        title="LLaMA-Factory",
        source="hiyouga/LLaMA-Factory src/llamafactory/launcher.py:58-89, hparams/parser.py @ff6d4d12",
        recognition=Recognition(
            launchers=("llamafactory",),
            modules=("llamafactory*",),
            options=(("stage", "finetuning-type"), ("stage", "do-train", "output-dir")),
            paths=("*llamafactory/launcher.py", "*LLaMA-Factory/src/train*.py"),
        ),
        config=ConfigSource(positional=(".yaml", ".yml", ".json")),
        save_path=(_path("output-dir"),),
        interval=(Amount(("save-steps",), "steps-or-fraction"),),
        interval_default=Default(500, "steps", "save_steps 500"),
        strategy=Strategy(("save-strategy",), _HF_SAVE, "steps"),
        total=(Amount(("max-steps",), "steps"), Amount(("num-train-epochs",), "epochs")),
        total_default=Default(3, "epochs", "num_train_epochs 3"),
        retention=(Amount(("save-total-limit",), "steps"),),
        keep="--save_total_limit",
        resume=Resume(
            "always",
            unless=("overwrite-output-dir",),
            note="a checkpoint in output_dir is found unless overwrite_output_dir is set",
        ),
        timeout=_HF_TIMEOUT,
        extra=_HF_EXTRA,
    ),
    FrameworkFacts(
        name="axolotl",
        title="Axolotl",
        source="axolotl-ai-cloud/axolotl src/axolotl/utils/schemas/config.py @067b021c",
        recognition=Recognition(launchers=("axolotl",), modules=("axolotl*",), scripts=("axolotl",)),
        config=ConfigSource(positional=(".yaml", ".yml")),
        save_path=(PathOf((("output-dir", "./model-out"),)),),
        interval=(Amount(("save-steps",), "steps-or-fraction"), Amount(("saves-per-epoch",), "per-epoch")),
        interval_default=Default(1, "epochs", "without save_steps, saves_per_epoch and save_strategy: once an epoch"),
        strategy=Strategy(("save-strategy",), _HF_SAVE, None),
        total=(Amount(("max-steps",), "steps"), Amount(("num-epochs",), "epochs")),
        total_default=Default(1, "epochs", "num_epochs 1"),
        retention=(Amount(("save-total-limit",), "steps"),),
        resume=Resume("switch", ("auto-resume-from-checkpoints", "resume-from-checkpoint")),
        timeout=Timeout(
            (Amount(("ddp-timeout",), "seconds"),),
            1800.0,
            "HF's ddp_timeout 1800",
            "ddp_timeout, in seconds",
        ),
        extra={**_HF_EXTRA, "model": ("base-model",)},
    ),
    FrameworkFacts(
        name="llama-cookbook",
        title="Llama Cookbook",
        source="meta-llama/llama-cookbook src/llama_cookbook/configs/training.py @1a97f6fd",
        recognition=Recognition(
            modules=("llama_recipes*", "llama_cookbook*"),
            options=(
                ("enable-fsdp", "dist-checkpoint-root-folder"),
                ("enable-fsdp", "batch-size-training"),
                ("use-peft", "batch-size-training"),
            ),
        ),
        flags="enable-fsdp low-cpu-fsdp use-peft use-fast-kernels use-wandb use-fp16 quantization one-gpu save-metrics "
        "save-optimizer freeze-layers flop-counter use-profiler gradient-clipping fsdp-config.pure-bf16",
        save_path=(
            PathOf((("dist-checkpoint-root-folder", None), ("dist-checkpoint-folder", "fine-tuned"))),
            _path("output-dir"),
        ),
        saving=Switch(("save-model",), default=True),
        total=(Amount(("max-train-step",), "steps"), Amount(("num-epochs",), "epochs")),
        retention_default=1,
        extra={
            "data-workers": ("num-workers-dataloader",),
            "model": ("model-name",),
            "dataset": ("dataset",),
        },
    ),
    FrameworkFacts(
        name="llm-foundry",
        title="LLM Foundry",
        source="mosaicml/llm-foundry llmfoundry/utils/config_utils.py:128-190, command_utils/train.py @8c8dd48f",
        recognition=Recognition(
            modules=("llmfoundry*",),
            paths=("*llm-foundry/scripts/train/train.py",),
            weak_launchers=("composer",),
            with_config=("train.py",),
            imports=("llmfoundry",),
        ),
        config=ConfigSource(positional=(".yaml", ".yml")),
        save_path=(_path("save-folder"),),
        interval=(Amount(("save-interval",), "epochs-or-time-string"),),
        interval_default=Default(1000, "steps", "save_interval 1000ba"),
        needs=("path",),
        total=(Amount(("max-duration",), "epochs-or-time-string"),),
        retention=(Amount(("save-num-checkpoints-to-keep",), "steps"),),
        resume=Resume("switch", ("autoresume",), note="autoresume false"),
        timeout=Timeout((Amount(("dist-timeout",), "seconds"),), 600.0, "dist_timeout 600", "dist_timeout, in seconds"),
        samples_per_step=("global-train-batch-size",),
        extra={"overwrite-output": ("save-overwrite",), "data-workers": ("train-loader.num-workers",)},
    ),
    FrameworkFacts(
        name="composer",
        title="Composer",
        source="mosaicml/composer composer/trainer/trainer.py:1058-1095 @64051888",
        recognition=Recognition(weak_launchers=("composer",), imports=("composer",), calls=("Trainer(save_folder)",)),
        visible=False,
        config=ConfigSource(positional=(".yaml", ".yml")),
        save_path=(_path("save-folder"),),
        interval=(Amount(("save-interval",), "epochs-or-time-string"),),
        interval_default=Default(1, "epochs", "save_interval 1ep"),
        needs=("path",),
        total=(Amount(("max-duration",), "epochs-or-time-string"),),
        retention=(Amount(("save-num-checkpoints-to-keep",), "steps"),),
        resume=Resume("switch", ("autoresume",), note="autoresume false"),
        timeout=Timeout((Amount(("dist-timeout",), "seconds"),), 300.0, "dist_timeout 300", "dist_timeout, in seconds"),
        samples_per_step=("global-train-batch-size",),
        extra={"overwrite-output": ("save-overwrite",)},
        calls=("Trainer",),
    ),
    FrameworkFacts(
        name="torchtitan",
        title="torchtitan",
        source="pytorch/torchtitan job_config.py v0.1.0 to v0.2.2, config/configs.py and "
        "components/checkpointer/base.py @b5bcd76c",
        least_torch=(2, 3),
        recognition=Recognition(
            modules=("torchtitan*",),
            paths=("*torchtitan/train.py", "*torchtitan/*/train.py"),
            options=(("job.config-file",), ("checkpoint.enable", "training.steps"), ("job.dump-folder",)),
            imports=("torchtitan",),
        ),
        config=ConfigSource(options=("job.config-file", "job.config_file")),
        flags="checkpoint.enable checkpoint.enable-checkpoint checkpoint.last-save-model-only fault-tolerance.enable "
        "training.compile metrics.enable-tensorboard metrics.enable-wandb profiling.enable-profiling",
        save_path=(PathOf((("job.dump-folder", "./outputs"), ("checkpoint.folder", "checkpoint"))),),
        interval=(Amount(("checkpoint.interval",), "steps"),),
        interval_default=Default(500, "steps", "checkpoint.interval 500"),
        saving=Switch(
            ("checkpoint.enable", "checkpoint.enable-checkpoint"), note="checkpoint.enable false: nothing is saved"
        ),
        total=(Amount(("training.steps",), "steps"),),
        total_default=Default(10_000, "steps", "training.steps 10000"),
        retention=(Amount(("checkpoint.keep-latest-k",), "steps"),),
        retention_default=10,
        resume=Resume("always", note="checkpoint.load_step -1: the newest step in the folder"),
        timeout=Timeout(
            (Amount(("comm.train-timeout-seconds",), "seconds"),),
            100.0,
            "comm.train_timeout_seconds 100",
            "comm.train_timeout_seconds",
        ),
        asynchronous=Switch(("checkpoint.async-mode",), off=("disabled", "none", "")),
        samples_per_step=("training.global-batch-size",),
        extra={
            "tensor-parallel": ("parallelism.tensor-parallel-degree", "training.tensor-parallel-degree"),
            "pipeline-parallel": ("parallelism.pipeline-parallel-degree",),
            "context-parallel": ("parallelism.context-parallel-degree",),
            "flight-recorder-buffer": ("comm.trace-buf-size",),
            "init-timeout": ("comm.init-timeout-seconds",),
            "in-process-recovery": ("fault-tolerance.enable",),
            "dataset": ("training.dataset",),
        },
        extra_defaults={"flight-recorder-buffer": "20000", "init-timeout": "300"},
    ),
    FrameworkFacts(
        name="torchtune",
        title="torchtune",
        source="meta-pytorch/torchtune recipes/full_finetune_distributed.py @bd2a0fc7",
        least_torch=(2, 2),
        recognition=Recognition(
            launchers=("torchtune",),
            modules=("torchtune*", "recipes.*"),
            paths=("*recipes/full_finetune_*.py", "*recipes/lora_*.py"),
            imports=("torchtune",),
        ),
        config=ConfigSource(options=("config",), folder="recipes/configs"),  # torchtune/_recipe_registry.py
        save_path=(_path("checkpointer.output-dir"), _path("output-dir")),
        interval=(Amount(("save-every-n-steps",), "steps"),),
        interval_default=Default(1, "epochs", "one checkpoint an epoch"),
        total=(
            Amount(("max-steps",), "steps"),
            Amount(("num-steps",), "steps"),  # recipes/dev/grpo_full_finetune_distributed.py
            Amount(("epochs",), "epochs"),
        ),
        resume=Resume("switch", ("resume-from-checkpoint",), note="resume_from_checkpoint false"),
        asynchronous=Switch(("enable-async-checkpointing",)),
        extra={"tensor-parallel": ("tensor-parallel-dim",), "steps-an-epoch": ("max-steps-per-epoch",)},
    ),
    FrameworkFacts(
        name="litgpt",
        title="LitGPT",
        source="Lightning-AI/litgpt litgpt/args.py:11, litgpt/pretrain.py:54 @26857050",
        least_torch=(2, 1),
        recognition=Recognition(
            launchers=("litgpt",), modules=("litgpt*",), paths=("*litgpt/pretrain.py", "*litgpt/finetune/*.py")
        ),
        config=ConfigSource(options=("config",)),
        save_path=(PathOf((("out-dir", "out/pretrain"),)),),
        interval=(Amount(("train.save-interval",), "steps"),),
        interval_default=Default(1000, "steps", "train.save_interval 1000"),
        total=(
            Amount(("train.max-steps",), "steps"),
            Amount(("train.max-tokens",), "tokens"),
            Amount(("train.epochs",), "epochs"),
        ),
        resume=Resume("switch", ("resume",), note="resume false"),
        timeout=Timeout((), 1800.0, "Lightning's default_pg_timeout of 30 minutes"),
        samples_per_step=("train.global-batch-size",),
    ),
    FrameworkFacts(
        name="maxtext",
        title="MaxText",
        source="AI-Hypercomputer/maxtext src/maxtext/configs/base.yml @e591f30c",
        recognition=Recognition(
            modules=("MaxText.*", "maxtext.*", "MaxText"),
            paths=("*MaxText/train.py", "*maxtext/train.py", "*MaxText/*/train*.py", "*maxtext/*/train*.py"),
            options=(("base-output-directory", "run-name"), ("per-device-batch-size", "base-output-directory")),
        ),
        runtime="jax",
        config=ConfigSource(positional=(".yml", ".yaml"), standard=("base.yml",)),
        save_path=(PathOf((("base-output-directory", None), ("run-name", ""))),),
        second_path=(_path("local-checkpoint-directory"),),
        interval=(Amount(("checkpoint-period",), "steps"),),
        interval_default=Default(10_000, "steps", "checkpoint_period 10000"),
        saving=Switch(("enable-checkpointing",), default=True, note="enable_checkpointing true"),
        total=(
            Amount(("steps",), "steps"),
            Amount(("max-train-steps",), "steps"),  # MaxDiffusion
            # trainers/post_train/rl/train_rl.py, get_max_train_steps
            Amount(("num-batches",), "steps", times=("rl.num-iterations", "num-epoch")),
        ),
        total_default=Default(150_001, "steps", "steps 150001"),
        retention=(Amount(("max-num-checkpoints-to-keep",), "steps"),),
        resume=Resume("always", note="the same run_name goes on from its last checkpoint"),
        asynchronous=Switch(("async-checkpointing",), default=True, note="async_checkpointing true"),
        in_memory=(
            Switch(("enable-emergency-checkpoint",)),
            Switch(("enable-multi-tier-checkpointing",)),
            Switch(("enable-continuous-checkpointing",)),
        ),
        signal_save=Switch(("enable-autocheckpoint",), note="enable_autocheckpoint false"),
        extra={
            "in-process-recovery": ("elastic-enabled",),
            "init-timeout": ("jax-distributed-initialization-timeout",),
        },
    ),
    FrameworkFacts(
        name="nemo",
        title="NeMo",
        source="NVIDIA-NeMo/NeMo exp_manager.py, examples/nlp/language_modeling/conf @8cfedd72",
        recognition=Recognition(
            scripts=(
                "megatron_*_pretraining.py", "megatron_*_finetuning.py", "megatron_*_continue_training.py",
                "speech_to_text_*.py", "train_gpt_sft.py", "train_gpt_dpo.py", "train_reward_model.py",
            ),
            options=(
                ("exp-manager.explicit-log-dir",), ("exp-manager.resume-if-exists",), ("exp-manager.exp-dir",),
                ("exp-manager.create-checkpoint-callback",),
            ),
            imports=("nemo.utils.exp_manager",),
        ),
        config=ConfigSource(
            options=("config-path",),
            name_option="config-name",
            default_elsewhere="the recipe's own configuration in the image holds it",
        ),
        save_path=(
            _path("exp-manager.explicit-log-dir"),
            _path("exp-manager.exp-dir"),
            _path("exp-manager.checkpoint-callback-params.dirpath"),
        ),
        interval=(
            Amount(("exp-manager.checkpoint-callback-params.every-n-train-steps",), "steps"),
            Amount(("exp-manager.checkpoint-callback-params.train-time-interval",), "timedelta"),
            Amount(("exp-manager.checkpoint-callback-params.every-n-epochs",), "epochs"),
            Amount(("trainer.val-check-interval",), "steps-or-epochs"),
        ),
        saving=Switch(("exp-manager.create-checkpoint-callback",), default=None),
        total=(Amount(("trainer.max-steps",), "steps"), Amount(("trainer.max-epochs",), "epochs")),
        retention=(Amount(("exp-manager.checkpoint-callback-params.save-top-k",), "steps"),),
        resume=Resume("switch", ("exp-manager.resume-if-exists",), default=None, note="resume_if_exists"),
        timeout=Timeout((), 1800.0, "Lightning's default_pg_timeout of 30 minutes"),
        asynchronous=Switch(("exp-manager.checkpoint-callback-params.async-save",), default=None),
        signal_save=Switch(("exp-manager.create-preemption-callback",), default=None),
        exit_after=(
            Amount(("exp-manager.max-time-per-run",), "days-clock"),
            Amount(("trainer.max-time",), "days-clock"),
        ),
        samples_per_step=("model.global-batch-size",),
        extra={
            "tensor-parallel": ("model.tensor-model-parallel-size",),
            "pipeline-parallel": ("model.pipeline-model-parallel-size",),
            "context-parallel": ("model.context-parallel-size",),
            "nodes": ("trainer.num-nodes",),
            "devices": ("trainer.devices",),
            "data-workers": ("model.data.num-workers",),
            "steps-an-epoch": ("trainer.limit-train-batches", "trainer.overfit-batches"),
            "replaces-when-written": _SAVE_TOP_K,
        },
    ),
    FrameworkFacts(
        name="megatron-bridge",
        title="Megatron Bridge",
        source="NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py, initialize.py v0.1.0 and later; "
        "the recipe decides what is not given",
        least_torch=(2, 6),
        recognition=Recognition(
            scripts=("run_recipe.py",),
            options=(("train.train-iters", "train.global-batch-size"), ("recipe", "train.train-iters")),
            imports=("megatron.bridge",),
        ),
        visible=False,
        config=ConfigSource(default_elsewhere="the recipe decides it"),
        save_path=(_path("checkpoint.save"),),
        interval=(Amount(("checkpoint.save-interval",), "steps"),),
        total=(Amount(("train.train-iters",), "steps"), Amount(("train.train-samples",), "samples")),
        timeout=Timeout(
            (Amount(("dist.distributed-timeout-minutes",), "minutes"),),
            600.0,
            "dist.distributed_timeout_minutes 10",
            "dist.distributed_timeout_minutes",
        ),
        signal_save=Switch(("train.exit-signal-handler",), default=None),
        exit_after=(Amount(("train.exit-duration-in-mins",), "minutes"),),
        exit_by="train.exit_duration_in_mins={minutes}",
        samples_per_step=("train.global-batch-size",),
        extra={
            "tensor-parallel": ("model.tensor-model-parallel-size",),
            "pipeline-parallel": ("model.pipeline-model-parallel-size",),
            "context-parallel": ("model.context-parallel-size",),
            "expert-parallel": ("model.expert-model-parallel-size",),
        },
    ),
    FrameworkFacts(
        name="nemo2",
        title="NeMo 2",
        source="NVIDIA-NeMo/NeMo nemo/lightning/run/plugins.py:107-110, pytorch/callbacks/model_checkpoint.py:79-89, "
        "resume.py:92-94, strategies/megatron_strategy.py:605 @8cfedd72",
        least_torch=(2, 2),
        recognition=Recognition(
            launchers=("nemo",),
            paths=("*NeMo/scripts/llm/*.py", "*nemo/collections/llm/*", "*/bionemo2/*", "*/bionemo-*/*"),
            modules=("nemo.collections.llm*", "nemo_run*"),
            options=(("recipe",), ("factory",)),
            imports=("nemo.lightning", "nemo.collections.llm", "nemo_run"),
        ),
        visible=False,
        config=ConfigSource(default_elsewhere="the recipe decides it"),
        save_path=(_path("log.log-dir"), _path("log.ckpt.dirpath"), _path("log-dir")),
        interval=(
            Amount(("log.ckpt.every-n-train-steps", "ModelCheckpoint(every_n_train_steps)"), "steps"),
            Amount(("log.ckpt.train-time-interval", "ModelCheckpoint(train_time_interval)"), "timedelta"),
            Amount(("log.ckpt.every-n-epochs", "ModelCheckpoint(every_n_epochs)"), "epochs"),
        ),
        total=(Amount(("trainer.max-steps", "max-steps", "Trainer(max_steps)"), "steps"),),
        retention=(Amount(("log.ckpt.save-top-k", "ModelCheckpoint(save_top_k)"), "steps"),),
        resume=Resume("switch", ("resume.resume-if-exists", "AutoResume(resume_if_exists)"), default=None),
        timeout=Timeout(
            (Amount(("$TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",), "seconds"),),
            1800.0,
            "Lightning's 30 minutes",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, which NeMo 2 takes for it",
        ),
        asynchronous=Switch(("trainer.strategy.ckpt-async-save", "MegatronStrategy(ckpt_async_save)"), default=None),
        signal_save=Switch(("PreemptionPlugin(preempt_time)",), default=None),
        extra={
            "tensor-parallel": (
                "trainer.strategy.tensor-model-parallel-size",
                "MegatronStrategy(tensor_model_parallel_size)",
            ),
            "pipeline-parallel": (
                "trainer.strategy.pipeline-model-parallel-size",
                "MegatronStrategy(pipeline_model_parallel_size)",
            ),
            "nodes": ("trainer.num-nodes", "Trainer(num_nodes)"),
            "devices": ("trainer.devices", "Trainer(devices)"),
        },
    ),
    FrameworkFacts(
        name="hf-trainer",
        title="Hugging Face Trainer",
        source="huggingface/transformers src/transformers/training_args.py 4.30.2, 4.57.1, 5.24.0; "
        "examples/pytorch/*/run_*.py",
        recognition=Recognition(
            scripts=(
                "run_clm.py", "run_mlm.py", "run_plm.py", "run_fim.py", "run_glue.py", "run_xnli.py", "run_ner.py",
                "run_qa.py", "run_seq2seq_qa.py", "run_qa_beam_search.py", "run_summarization.py", "run_translation.py",
                "run_swag.py", "run_image_classification.py", "run_mae.py", "run_mim.py", "run_clip.py",
                "run_audio_classification.py", "run_speech_recognition_ctc.py", "run_speech_recognition_seq2seq.py",
                "run_classification.py", "run_object_detection.py", "run_semantic_segmentation.py",
                "run_instance_segmentation.py", "run_generation.py",
            ),
            modules=("trl.scripts.*",),
            options=(
                ("output-dir", "per-device-train-batch-size"),
                ("output-dir", "save-steps", "max-steps"),
                ("output-dir", "save-steps", "save-total-limit"),
                ("output-dir", "save-strategy"),
                ("output-dir", "num-train-epochs"),
                ("output-dir", "gradient-accumulation-steps", "learning-rate", "lr-scheduler-type"),
                ("output-dir", "ddp-timeout"),
            ),
            calls=(
                "TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "SFTTrainer",
                "Seq2SeqTrainer", "ORPOConfig", "KTOConfig", "RewardConfig",
            ),
        ),
        config=ConfigSource(options=("config",), positional=(".json", ".yaml", ".yml")),
        flags="do-train do-eval do-predict bf16 fp16 tf32 overwrite-output-dir gradient-checkpointing group-by-length "
        "load-best-model-at-end save-only-model save-on-each-node ignore-data-skip push-to-hub streaming "
        "trust-remote-code use-peft packing use-liger-kernel enable-jit-checkpoint "
        "low-cpu-mem-usage torch-compile fp16-full-eval bf16-full-eval",
        save_path=(_path("output-dir"),),
        interval=(Amount(("save-steps",), "steps-or-fraction"),),
        interval_default=Default(500, "steps", "save_steps 500"),
        strategy=Strategy(("save-strategy",), _HF_SAVE, "steps"),
        total=(Amount(("max-steps",), "steps"), Amount(("num-train-epochs",), "epochs")),
        total_default=Default(3, "epochs", "num_train_epochs 3"),
        retention=(Amount(("save-total-limit",), "steps"),),
        keep="--save_total_limit",
        resume=Resume(
            "switch",
            ("resume-from-checkpoint",),
            unless=("overwrite-output-dir",),
            by_itself=("run_*.py",),
            finds=(
                "last_checkpoint", "latest_checkpoint", "checkpoint-", "resume_from_checkpoint=True",
                "resume_from_checkpoint = True", "resume_from_checkpoint: bool", "resume_from_checkpoint=bool",
            ),
            default=None,
            note="the example scripts look for the last checkpoint in output_dir",
        ),
        timeout=_HF_TIMEOUT,
        asynchronous=Switch((), default=False, note="the Trainer saves while training waits"),
        signal_save=Switch(("enable-jit-checkpoint",), note="enable_jit_checkpoint false"),
        extra=_HF_EXTRA,
        calls=(
            "TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "ORPOConfig",
            "KTOConfig", "RewardConfig",
        ),
    ),
    FrameworkFacts(
        name="verl-sft",
        title="verl's supervised trainer",
        source="volcengine/verl verl/trainer/config/sft_trainer.yaml, verl/utils/distributed.py",
        least_torch=(2, 3),
        recognition=Recognition(
            modules=("verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer*"),
            paths=("*verl/trainer/fsdp_sft_trainer.py", "*verl/trainer/sft_trainer*.py"),
        ),
        config=ConfigSource(
            options=("config-path", "config-name"), name_option="config-name", standard=("sft_trainer",)
        ),
        save_path=(PathOf((("trainer.default-local-dir", "checkpoints"),)),),
        second_path=(_path("trainer.default-hdfs-dir"),),
        interval=(Amount(("trainer.save-freq",), "steps"),),
        needs=("interval",),
        total=(Amount(("trainer.total-training-steps",), "steps"), Amount(("trainer.total-epochs",), "epochs")),
        total_default=Default(4, "epochs", "trainer.total_epochs 4"),
        retention=(Amount(("trainer.max-ckpt-to-keep",), "steps"),),
        keep="trainer.max_ckpt_to_keep",
        resume=Resume("switch", ("trainer.resume-mode", "trainer.resume-path"), default=None),
        timeout=Timeout((), 36_000.0, "verl's initialize_global_process_group passes 10 hours"),
        samples_per_step=("data.train-batch-size",),
        training_data=("data.train-files",),
        extra={
            "training-samples": ("data.train-max-samples",),
            "also-ends": ("trainer.total-epochs",),
        },
    ),
    FrameworkFacts(
        name="verl",
        title="verl",
        source="volcengine/verl verl/trainer/config/ppo_trainer.yaml, sft_trainer.yaml",
        least_torch=(2, 3),
        recognition=Recognition(modules=("verl.trainer.*",), paths=("*verl/trainer/*.py",)),
        config=ConfigSource(
            options=("config-path", "config-name"),
            name_option="config-name",
            standard=("ppo_trainer", "ppo_megatron_trainer"),
        ),
        save_path=(PathOf((("trainer.default-local-dir", "checkpoints"),)),),
        second_path=(_path("trainer.default-hdfs-dir"),),
        interval=(Amount(("trainer.save-freq",), "steps"),),
        needs=("interval",),
        total=(Amount(("trainer.total-training-steps",), "steps"), Amount(("trainer.total-epochs",), "epochs")),
        total_default=Default(30, "epochs", "trainer.total_epochs 30"),
        retention=(Amount(("trainer.max-actor-ckpt-to-keep",), "steps"),),
        keep="trainer.max_actor_ckpt_to_keep",
        resume=Resume(
            "switch",
            ("trainer.resume-mode",),
            default=True,
            note="trainer.resume_mode auto: the newest checkpoint in the folder",
        ),
        timeout=Timeout(
            (Amount(("actor-rollout-ref.nccl-timeout",), "seconds"),),
            600.0,
            "nccl_timeout 600",
            "actor_rollout_ref.nccl_timeout, in seconds",
        ),
        samples_per_step=("data.train-batch-size",),
        training_data=("data.train-files",),
        extra={
            "training-samples": ("data.train-max-samples",),
            "tensor-parallel": ("actor-rollout-ref.rollout.tensor-model-parallel-size",),
            "also-ends": ("trainer.total-epochs",),
        },
    ),
    FrameworkFacts(
        name="nemo-rl",
        title="NeMo RL",
        source="NVIDIA-NeMo/RL examples/configs/sft.yaml, nemo_rl/algorithms/*.py, nemo_rl/utils/checkpoint.py",
        least_torch=(2, 2),  # pyproject.toml asks for Python 3.12, for which there is no older one
        recognition=Recognition(
            options=(
                ("policy.train-global-batch-size",),
                ("policy.model-name", "cluster.num-nodes"),
                ("policy.model-name", "cluster.gpus-per-node"),
                ("checkpointing.checkpoint-dir", "cluster.num-nodes"),
                ("grpo.max-num-steps",),
                ("sft.max-num-steps",),
                ("dpo.max-num-steps",),
            ),
            config_keys=(("policy.train-global-batch-size", "checkpointing.checkpoint-dir"),),
            imports=("nemo_rl",),
        ),
        config=ConfigSource(
            options=("config",), default_elsewhere="the recipe's own configuration in the image holds it"
        ),
        save_path=(_path("checkpointing.checkpoint-dir"),),
        interval=(Amount(("checkpointing.save-period",), "steps"),),
        saving=Switch(("checkpointing.enabled",), default=None),
        total=(
            Amount(tuple(f"{one}.max-num-steps" for one in _NEMO_RL), "steps"),
            Amount(tuple(f"{one}.max-num-epochs" for one in _NEMO_RL), "epochs"),
        ),
        retention=(Amount(("checkpointing.keep-top-k",), "steps"),),
        resume=Resume("always", note="the newest checkpoint in checkpointing.checkpoint_dir"),
        samples_per_step=("policy.train-global-batch-size",),
        extra={
            "tensor-parallel": ("policy.dtensor-cfg.tensor-parallel-size",),
            "nodes": ("cluster.num-nodes",),
            "devices": ("cluster.gpus-per-node",),
            "model": ("policy.model-name",),
        },
    ),
    FrameworkFacts(
        name="openrlhf",
        title="OpenRLHF",
        source="OpenRLHF/OpenRLHF openrlhf/cli/train_sft.py, train_rm.py, train_ppo_ray.py; dotted names as @3c3be623",
        recognition=Recognition(
            modules=("openrlhf.*",), paths=("*openrlhf/cli/train_*.py",), options=(("max-ckpt-num", "ckpt-path"),)
        ),
        flags="load-checkpoint disable-ds-ckpt save-hf-ckpt gradient-checkpointing bf16 packing-samples adam-offload "
        "colocate-all-models use-ds-universal-ckpt apply-chat-template flash-attn ckpt.load-enable ckpt.save-hf "
        "ckpt.disable-ds",
        save_path=(PathOf((("ckpt-path", "./ckpt"),)), _path("ckpt.path")),
        second_path=(_path("save-path"), _path("ckpt.output-dir")),
        interval=(Amount(("save-steps", "ckpt.save-steps"), "steps"),),
        needs=("interval",),
        saves_at_end=True,
        total=(Amount(("max-epochs", "train.max-epochs"), "epochs"),),
        total_default=Default(1, "epochs", "--max_epochs 1"),
        retention=(Amount(("max-ckpt-num", "ckpt.max-num"), "steps"),),
        retention_default=3,
        resume=Resume("switch", ("load-checkpoint", "ckpt.load-enable"), note="--load_checkpoint is not given"),
        timeout=Timeout((), 3600.0, "the strategy's setup_distributed passes 60 minutes"),
        samples_per_step=("train-batch-size", "train.batch-size"),
        extra={"model": ("pretrain",), "dataset": ("dataset",)},
    ),
    FrameworkFacts(
        name="diffusers",
        title="Diffusers' example scripts",
        source="huggingface/diffusers examples/*/train_*.py: checkpointing_steps 500, checkpoints_total_limit None",
        recognition=Recognition(
            scripts=(
                "train_text_to_image*.py", "train_dreambooth*.py", "train_controlnet*.py", "textual_inversion*.py",
                "train_instruct_pix2pix*.py", "train_unconditional.py",
            ),
            options=(("checkpointing-steps", "checkpoints-total-limit"), ("checkpointing-steps", "max-train-steps")),
        ),
        flags="use-ema enable-xformers-memory-efficient-attention gradient-checkpointing allow-tf32 random-flip "
        "center-crop push-to-hub with-prior-preservation train-text-encoder use-8bit-adam",
        save_path=(_path("output-dir"),),
        interval=(Amount(("checkpointing-steps",), "steps"),),
        interval_default=Default(500, "steps", "--checkpointing_steps 500"),
        total=(Amount(("max-train-steps",), "steps"), Amount(("num-train-epochs",), "epochs")),
        retention=(Amount(("checkpoints-total-limit",), "steps"),),
        keep="--checkpoints_total_limit",
        resume=Resume("switch", ("resume-from-checkpoint",), note="--resume_from_checkpoint is not given"),
        resume_by=("--resume_from_checkpoint", "latest"),
        timeout=Timeout((), 600.0, "Accelerate's 10 minutes for NCCL"),
        extra={
            "model": ("pretrained-model-name-or-path",),
            "dataset": ("dataset-name",),
            "data-workers": ("dataloader-num-workers",),
        },
    ),
    FrameworkFacts(
        name="ms-swift",
        title="ms-swift",
        source="modelscope/ms-swift: HF's TrainingArguments with its own defaults",
        recognition=Recognition(launchers=("swift",), modules=("swift.cli.*",), paths=("*swift/cli/*.py",)),
        visible=False,
        config=ConfigSource(options=("config",)),
        save_path=(_path("output-dir"),),
        interval=(Amount(("save-steps",), "steps-or-fraction"),),
        strategy=Strategy(("save-strategy",), _HF_SAVE, None),
        total=(Amount(("max-steps",), "steps"), Amount(("num-train-epochs",), "epochs")),
        retention=(Amount(("save-total-limit",), "steps"),),
        keep="--save_total_limit",
        resume=Resume("switch", ("resume-from-checkpoint",), default=None),
        timeout=Timeout((Amount(("ddp-timeout",), "seconds"),), None, "", "ddp_timeout, in seconds"),
        extra={**_HF_EXTRA, "model": ("model",), "dataset": ("dataset",)},
    ),
    FrameworkFacts(
        name="gpt-neox",
        title="GPT-NeoX",
        source="EleutherAI/gpt-neox deepy.py, megatron/neox_arguments/neox_args.py",
        recognition=Recognition(scripts=("deepy.py",)),
        config=ConfigSource(positional=(".yml", ".yaml", ".json")),
        save_path=(_path("save"),),
        second_path=(_path("s3-path"),),
        interval=(Amount(("checkpoint-factor", "save-interval"), "steps"),),
        needs=("path", "interval"),
        total=(Amount(("train-iters",), "steps"),),
        retention=(Amount(("keep-last-n-checkpoints",), "steps"),),
        resume=Resume("same-path", ("load",), note="GPT-NeoX loads only what load names"),
        timeout=Timeout((), 1800.0, "DeepSpeed's 30 minutes"),
        samples_per_step=("train-batch-size",),
        extra={"tensor-parallel": ("model-parallel-size",), "pipeline-parallel": ("pipe-parallel-size",)},
    ),
    FrameworkFacts(
        name="nanotron",
        title="nanotron",
        source="huggingface/nanotron src/nanotron/config/config.py CheckpointsArgs",
        recognition=Recognition(
            paths=("*nanotron/run_train.py",),
            config_keys=(("checkpoints.checkpoint-interval",), ("checkpoints.checkpoints-path",)),
            imports=("nanotron",),
        ),
        config=ConfigSource(options=("config-file",)),
        save_path=(_path("checkpoints.checkpoints-path"),),
        interval=(Amount(("checkpoints.checkpoint-interval",), "steps"),),
        needs=("path", "interval"),
        total=(Amount(("tokens.train-steps",), "steps"),),
        resume=Resume("switch", ("checkpoints.resume-checkpoint-path",), note="checkpoints.resume_checkpoint_path"),
        timeout=Timeout((), None, "torch's default"),
        extra={
            "tensor-parallel": ("parallelism.tp",),
            "pipeline-parallel": ("parallelism.pp",),
            "data-parallel": ("parallelism.dp",),
        },
    ),
    _CLAP,
    _OPEN_CLIP,
    FrameworkFacts(
        name="fairseq",
        title="fairseq",
        source="facebookresearch/fairseq fairseq/dataclass/configs.py CheckpointConfig",
        recognition=Recognition(
            scripts=("fairseq-train", "fairseq-hydra-train", "fairseq_cli*"),
            modules=("fairseq_cli.*", "fairseq.*"),
            paths=("*fairseq/train.py", "*fairseq_cli/train.py"),
            options=(
                ("save-interval-updates", "max-update"), ("save-interval-updates", "arch"),
                ("arch", "max-tokens", "criterion"),
            ),
            imports=("fairseq",),
        ),
        flags="no-save no-epoch-checkpoints no-last-checkpoints fp16 bf16 memory-efficient-fp16",
        save_path=(_path("save-dir"), PathOf((("checkpoint.save-dir", "checkpoints"),))),
        interval=(
            Amount(("save-interval-updates", "checkpoint.save-interval-updates"), "steps"),
            Amount(("save-interval", "checkpoint.save-interval"), "epochs"),
        ),
        interval_default=Default(1, "epochs", "--save-interval 1"),
        saving=Switch(("no-save", "checkpoint.no-save"), inverted=True, default=True),
        total=(
            Amount(("max-update", "optimization.max-update"), "steps"),
            Amount(("max-epoch", "optimization.max-epoch"), "epochs"),
        ),
        retention=(
            Amount(("keep-interval-updates", "checkpoint.keep-interval-updates"), "steps"),
            Amount(("keep-last-epochs", "checkpoint.keep-last-epochs"), "steps"),
        ),
        resume=Resume(
            "always",
            unless=("reset-optimizer", "checkpoint.reset-optimizer"),
            note="checkpoint_last.pt in the save folder is restored",
        ),
        extra={"data-workers": ("num-workers",)},
    ),
    FrameworkFacts(
        name="metaseq",
        title="metaseq",
        source="facebookresearch/metaseq metaseq/dataclass/configs.py CheckpointConfig",
        recognition=Recognition(
            scripts=("metaseq-train",), modules=("metaseq.*",), paths=("*metaseq/cli/train.py",), imports=("metaseq",)
        ),
        save_path=(PathOf((("save-dir", "checkpoints"),)),),
        second_path=(_path("cloud-upload-path"), _path("checkpoint-path")),
        interval=(
            Amount(("save-interval-updates",), "steps"),
            Amount(("save-interval-epochs", "save-interval"), "epochs"),
        ),
        interval_default=Default(1, "epochs", "once an epoch"),
        saving=Switch(("no-save",), inverted=True, default=True),
        total=(Amount(("max-update",), "steps"), Amount(("max-epoch",), "epochs")),
        retention=(Amount(("keep-last-updates", "keep-last-epochs"), "steps"),),
        resume=Resume("always", note="checkpoint_last.pt in the save folder is restored"),
        asynchronous=Switch(("save-async",)),
    ),
    FrameworkFacts(
        name="ray-train",
        guards=True,
        title="Ray Train",
        source="ray 2.60.0 air/config.py:354-455, train/v2/api/config.py:360-402, train/torch/config.py:66-143",
        recognition=Recognition(
            imports=("ray.train",),
            calls=("TorchTrainer", "ScalingConfig", "FailureConfig"),
        ),
        visible=False,
        save_path=(PathOf((("RunConfig(storage_path)", "~/ray_results"),)),),
        interval=(Amount(("CheckpointConfig(checkpoint_frequency)",), "steps"),),
        saving=Switch((), default=None),
        saves_by=("RayTrainReportCallback", "CheckpointConfig"),
        retention=(Amount(("CheckpointConfig(num_to_keep)",), "steps"),),
        resume=Resume("switch", ("TorchTrainer(resume_from_checkpoint)",), default=None),
        timeout=Timeout(
            (Amount(("TorchConfig(timeout_s)",), "seconds"),),
            1800.0,
            "TorchConfig timeout_s 1800",
            "TorchConfig(timeout_s=…)",
        ),
        extra={"max-failures": ("FailureConfig(max_failures)",)},
        extra_defaults={"max-failures": "0"},
    ),
    FrameworkFacts(
        name="lightning",
        title="PyTorch Lightning",
        source="Lightning-AI/pytorch-lightning strategies/*.py, callbacks/model_checkpoint.py, "
        "signal_connector.py @7f0c3436",
        recognition=Recognition(
            weak_launchers=("lightning",),
            options=(
                ("trainer.max-epochs",), ("trainer.max-steps", "trainer.devices"), ("trainer.num-nodes",),
                ("trainer.strategy",), ("trainer.devices",),
            ),
            imports=("pytorch_lightning", "lightning", "lightning.pytorch", "lightning_fabric", "lightning.fabric"),
        ),
        visible=False,
        config=ConfigSource(options=("config", "config-path"), name_option="config-name"),
        save_path=(
            _path("ModelCheckpoint(dirpath)"),
            _path("trainer.default-root-dir"),
            _path("Trainer(default_root_dir)"),
        ),
        interval=(
            Amount(("ModelCheckpoint(every_n_train_steps)",), "steps"),
            Amount(("ModelCheckpoint(train_time_interval)",), "timedelta"),
            Amount(("ModelCheckpoint(every_n_epochs)",), "epochs"),
        ),
        interval_default=Default(1, "epochs", "ModelCheckpoint saves once an epoch"),
        interval_shifts={
            "val_check_interval": "1.0", "check_val_every_n_epoch": "1", "save_on_train_epoch_end": "false",
            "max_time": "",
        },
        interval_settled="ModelCheckpoint(save_on_train_epoch_end)",
        saving=Switch(("trainer.enable-checkpointing", "Trainer(enable_checkpointing)"), default=True),
        saves_with=("ModelCheckpoint",),
        saves_not=(
            "enable_checkpointing", "checkpoint_callback=False", "fast_dev_run", "barebones", "save_top_k=0",
            "LightningCLI",
        ),
        saves_unless={"enable_checkpointing": "True", "fast_dev_run": "False", "barebones": "False"},
        total=(
            Amount(("trainer.max-steps", "Trainer(max_steps)"), "steps"),
            Amount(("trainer.max-epochs", "Trainer(max_epochs)"), "epochs"),
        ),
        retention=(Amount(("ModelCheckpoint(save_top_k)",), "steps"),),
        retention_default=1,
        resume=Resume(
            "switch",
            ("ckpt-path", "fit(ckpt_path)"),
            finds=("resume_from_checkpoint", "LightningCLI"),
            note="Trainer.fit without ckpt_path starts anew",
        ),
        timeout=Timeout(
            (Amount(("DDPStrategy(timeout)", "FSDPStrategy(timeout)", "DeepSpeedStrategy(timeout)"), "timedelta"),),
            1800.0,
            "default_pg_timeout of 30 minutes",
            "DDPStrategy(timeout=timedelta(…)), likewise FSDPStrategy and DeepSpeedStrategy",
        ),
        signal_save=Switch((), default=None, note="on Slurm, Lightning saves and requeues on SIGUSR1"),
        extra={
            "weights-only": ("ModelCheckpoint(save_weights_only)",),
            "best-by": ("ModelCheckpoint(monitor)",),
            "steps-an-epoch": (
                "trainer.limit-train-batches", "Trainer(limit_train_batches)",
                "trainer.overfit-batches", "Trainer(overfit_batches)",
            ),
        },
    ),
    FrameworkFacts(
        name="deepspeed",
        title="DeepSpeed",
        source="deepspeed/constants.py, comm/comm.py v0.14.0 to v0.18.9; 30 minutes through v0.19.5, 10 on master from "
        "2026-08-17 (pull request 8253)",
        recognition=Recognition(
            weak_launchers=("deepspeed",),
            options=(("deepspeed-config",), ("deepspeed", "deepspeed-config")),
            imports=("deepspeed",),
            variables=("DEEPSPEED_TIMEOUT",),
        ),
        visible=False,
        timeout=Timeout(
            (Amount(("$DEEPSPEED_TIMEOUT",), "minutes"),),
            1800.0,
            "DeepSpeed's 30 minutes",
            "DEEPSPEED_TIMEOUT, in minutes, in the environment of each rank (in .deepspeed_env where pdsh starts them)",
            calls=(Amount(("init_distributed(timeout)", "init_process_group(timeout)"), "timedelta"),),
        ),
        flags="deepspeed",
    ),
    FrameworkFacts(
        name="horovod",
        title="Horovod",
        source="horovod/horovod runner/launch.py, common/common.h @2626dc87",
        recognition=Recognition(weak_launchers=("horovodrun",), imports=("horovod",), variables=("HOROVOD_*",)),
        runtime="horovod",
        visible=False,
        timeout=Timeout((), None, "Horovod has no collective timeout"),
        extra={"stall-shutdown": ("$HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",)},
        extra_defaults={"stall-shutdown": "0"},
    ),
    FrameworkFacts(
        name="accelerate",
        title="Accelerate",
        source="huggingface/accelerate src/accelerate/utils/dataclasses.py:296-301 @16cb6eb8",
        recognition=Recognition(weak_launchers=("accelerate",), imports=("accelerate",), calls=("Accelerator",)),
        visible=False,
        retention=(Amount(("ProjectConfiguration(total_limit)",), "steps"),),
        timeout=Timeout(
            (Amount(("InitProcessGroupKwargs(timeout)",), "timedelta"),),
            600.0,
            "10 minutes for NCCL",
            "InitProcessGroupKwargs(timeout=timedelta(…))",
        ),
    ),
    FrameworkFacts(
        name="torch",
        title="PyTorch",
        source="torch/distributed/constants.py 1.7.1 to 2.14.1",
        recognition=Recognition(
            imports=("torch.distributed", "torch.nn.parallel"),
            calls=("init_process_group", "DistributedDataParallel", "FSDP", "fully_shard"),
        ),
        visible=False,
        timeout=Timeout(
            (Amount(("init_process_group(timeout)",), "timedelta"),),
            None,
            "torch's default",
            PLAIN_TIMEOUT,
        ),
    ),
)  # fmt: skip


class Conventions(Struct, frozen=True):
    """Option names that mean the same in most hand-written training scripts. They are believed where they are given;
    where they are not, nothing is known."""

    save_path: tuple[str, ...]
    load_path: tuple[str, ...]
    interval: tuple[str, ...]
    total: tuple[str, ...]
    retention: tuple[str, ...]
    resume: tuple[str, ...]
    saving: tuple[str, ...]
    """Switches on which a program may save while it trains: what its text makes of them counts."""
    not_saving: tuple[str, ...]
    """Switches that keep a program from saving, whatever else it is told."""
    in_memory: tuple[str, ...]
    """Options that ask for frequent copies in memory or on local disks."""
    usual_total: tuple[str, ...]
    """Keys of the configuration that a script names by default, for the length of the run, and for its saves."""
    usual_interval: tuple[str, ...]
    samples_per_step: tuple[str, ...]
    variables: tuple[str, ...]
    """Environment variables that hold the save path of a script whose text is not seen."""
    timeout: tuple[Amount, ...]
    """The process group's timeout, where the name leaves no doubt about the unit."""
    extra: Mapping[str, tuple[str, ...]]
    config: tuple[str, ...]
    """Options that name a configuration file, which may hold every other one."""
    simulations: tuple[str, ...]
    """Options that say how many simulations run side by side (reinforcement learning): a program with one of them
    counts steps of the environment, of which one step of training takes thousands."""


DATA_FILES = (
    ".json", ".jsonl", ".csv", ".tsv", ".txt", ".log", ".parquet", ".arrow", ".html", ".md", ".png", ".jpg", ".pdf",
    ".yaml", ".yml", ".xml", ".wav", ".mp4", ".nsys-rep",
)  # fmt: skip
"""Ends of names of files that hold no checkpoint."""

_PARTS = ("training", "train", "trainer")
"""The parts of a configuration that hold what the loop needs."""
_LENGTHS = (
    "max-steps", "total-steps", "num-steps", "train-steps", "max-train-steps", "max-iters", "total-iters",
    "num-iterations", "train-iters", "max-iterations", "max-updates", "max-update", "num-train-steps", "training-steps",
    "total-training-steps", "epochs", "num-epochs", "max-epochs", "num-train-epochs", "total-epochs", "train-samples",
    "max-tokens", "number-of-epochs", "optimizer-step-limit",
)  # fmt: skip
_EPOCH_LENGTHS = ("steps-per-epoch", "max-steps-per-epoch", "iters-per-epoch", "batches-per-epoch")

_INTERVALS = (
    "save-steps", "save-every-n-steps", "checkpointing-steps", "checkpoint-steps", "save-interval-steps",
    "save-every-steps", "checkpoint-interval-steps", "save-interval-iters", "save-iters", "save-interval-updates",
    "save-epochs", "save-every-n-epochs", "save-every-epochs", "checkpoint-every-n-steps",
    "checkpoint-every-n-epochs", "save-interval", "save-every", "save-freq", "save-frequency", "save-period",
    "checkpoint-interval", "checkpoint-freq", "checkpoint-frequency", "checkpoint-every", "checkpoint-period",
    "ckpt-interval", "ckpt-freq", "ckpt-every", "trainer.save-freq", "checkpoint.interval", "s3-checkpointing-freq",
    *(
        f"{what}-{when}-{unit}"
        for what in ("save", "checkpoint", "ckpt")
        for when in ("every", "interval")
        for unit in ("seconds", "secs", "minutes", "mins", "hours")
    ),
)  # fmt: skip


def _anywhere(names: tuple[str, ...]) -> tuple[str, ...]:
    """Keys by themselves, and in the parts of a configuration that hold what the loop needs."""
    return (*names, *(f"{part}.{name}" for part in _PARTS for name in names))


CONVENTIONS = Conventions(
    save_path=(
        "save-dir", "save-path", "save-folder", "save-directory", "checkpoint-dir", "checkpoints-dir",
        "checkpoint-path", "checkpoint-folder", "checkpoint-directory", "checkpoint-file", "ckpt-dir",
        "ckpt-path-save", "ckpt-folder",
        "ckpt-save-dir",
        "ckpt-save-path", "save-checkpoint-path", "save-checkpoint-dir", "checkpoint-save-path", "checkpoint-save-dir",
        "output-dir", "output-directory", "output-path", "output-folder", "out-dir", "outdir", "output", "out", "save",
        "work-dir", "model-dir", "default-root-dir", "checkpoint.dir", "checkpoint.path", "checkpoint.save-dir",
        "trainer.default-local-dir", "ckpt", "project", "storage", "s3-tier-base-path",
    ),
    load_path=("load", "resume-from", "load-dir", "load-path", "load-checkpoint"),
    interval=_INTERVALS,
    total=_anywhere(_LENGTHS),
    retention=(
        "save-total-limit", "keep-last", "keep-last-n", "keep-last-k", "max-checkpoints", "checkpoints-total-limit",
        "num-checkpoints-to-keep", "checkpoint-hist", "max-to-keep", "keep-checkpoints", "max-ckpt-to-keep",
        "trainer.max-actor-ckpt-to-keep", "save-top-k",
    ),
    resume=("resume", "auto-resume", "autoresume", "resume-from-checkpoint", "resume-training", "resume-mode",
            "trainer.resume-mode", "resume-if-exists", "continue-training", "resume-checkpoint",
            "resume-checkpoint-path", "resume-path", "resume-ckpt", "resume-ckpt-path"),
    saving=(
        "intermediate-checkpoints", "save-intermediate-checkpoints", "save-intermediate", "save-checkpoints",
        "save-checkpoint", "save-ckpt", "save-ckpts", "save-model", "save-models", "do-save", "do-checkpoint",
        "enable-checkpointing", "enable-checkpoints", "enable-checkpoint", "checkpointing-enabled",
    ),
    not_saving=(
        "disable-checkpoint", "disable-checkpoints", "disable-checkpoint-saving", "disable-ckpt", "disable-saving",
        "disable-save", "no-checkpoint", "no-checkpoints", "no-ckpt", "no-save-checkpoint", "no-save-checkpoints",
        "no-save-ckpt", "skip-checkpoint", "skip-checkpoints",
    ),
    in_memory=("in-memory-checkpointing-freq", "non-persistent-save-interval", "local-checkpoint-interval"),
    usual_total=_anywhere((*_LENGTHS, "estimated-steps")),
    usual_interval=_anywhere(_INTERVALS),
    samples_per_step=("global-batch-size", "global-train-batch-size"),
    variables=("CHECKPOINT_DIR", "CHECKPOINT_PATH", "CKPT_DIR", "CKPT_PATH", "SAVE_DIR", "SAVE_PATH"),
    timeout=(
        Amount(("ddp-timeout",), "seconds"),
        Amount(
            tuple(
                f"{group}timeout-{unit}"
                for group in ("ddp-", "dist-", "distributed-", "nccl-", "process-group-", "pg-", "collective-")
                for unit in ("minutes", "mins", "seconds", "sec", "secs", "hours")
            ),
            "named",
        ),
    ),
    extra={
        "tensor-parallel": ("tensor-model-parallel-size", "tensor-parallel-size", "tp-size", "tp-degree", "tp"),
        "pipeline-parallel": ("pipeline-model-parallel-size", "pipeline-parallel-size", "pp-size", "pp-degree", "pp"),
        "context-parallel": ("context-parallel-size", "cp-size"),
        "data-workers": ("workers", "num-workers", "dataloader-num-workers", "data-workers", "n-workers"),
        "model": ("model-name-or-path", "model-name", "pretrained-model-name-or-path", "base-model", "model-id"),
        "dataset": ("dataset-name", "dataset"),
        "dataset-part": ("dataset-config-name", "dataset-config"),
        "training-samples": (
            "max-train-samples", "max-samples", "num-train-samples", "n-train-samples", "max-train-examples",
            "max-examples", "subset-size", "train-subset-size", "limit-train-samples", "debug-samples",
        ),
        "subset": ("subset", "train-subset"),
        "overwrite-output": ("overwrite-output-dir",),
        **_DOES,
        "replaces-when-written": _SAVE_TOP_K,
        "steps-an-epoch": (*_EPOCH_LENGTHS, *(f"{part}.{name}" for part in _PARTS for name in _EPOCH_LENGTHS)),
    },
    config=("config", "config-file", "cfg", "conf", "config-path", "yaml", "recipe", "hparams", "cfg-path", "params"),
    simulations=(
        "num-envs", "n-envs", "num-environments", "n-environments", "num-parallel-envs", "env.num-envs",
        "task.env.num-envs", "num-envs-per-gpu", "envs-per-gpu",
    ),
)  # fmt: skip

IN_PROCESS_VARIABLES: Mapping[str, str] = {
    "TORCHFT_LIGHTHOUSE": "torchft, meta-pytorch/torchft torchft/manager.py:75-184 @7eb7087",
    "TORCHFT_MANAGER_PORT": "torchft, meta-pytorch/torchft torchft/manager.py:75-184 @7eb7087",
    "TORCHFT_TIMEOUT_SEC": "torchft, meta-pytorch/torchft torchft/manager.py:75-184 @7eb7087",
    "TORCHFT_QUORUM_TIMEOUT_SEC": "torchft, meta-pytorch/torchft torchft/manager.py:75-184 @7eb7087",
    "HPCALL_PROC": "HyperPod checkpointless training",
}
"""Environment variables that show that communicators are rebuilt inside the process."""

IN_PROCESS_IMPORTS = ("torchft", "nvidia_resiliency_ext.inprocess", "hyperpod_checkpointless_training")
IN_PROCESS_OPTIONS = ("inprocess-restart",)


KNOWN_PACKAGES = frozenset(
    """
    torch torchvision torchaudio torchdata torchmetrics torchtext functorch numpy scipy pandas pyarrow sklearn PIL cv2
    matplotlib seaborn tqdm rich click yaml omegaconf hydra fire tyro absl einops timm transformers tokenizers
    datasets evaluate accelerate peft trl bitsandbytes safetensors sentencepiece huggingface_hub diffusers deepspeed
    apex flash_attn triton lightning pytorch_lightning lightning_fabric lightning_utilities composer streaming ray
    wandb mlflow tensorboard tensorboardX comet_ml neptune clearml horovod jax jaxlib flax optax orbax tensorflow
    keras tensorflow_datasets webdataset fsspec s3fs gcsfs boto3 botocore smart_open requests psutil pynvml
    setproctitle dotenv packaging filelock regex nltk torchft torch_xla torch_npu habana_frameworks
    intel_extension_for_pytorch nvidia_resiliency_ext kubernetes kubeflow sagemaker smdistributed msgpack zstandard
    h5py zarr librosa soundfile albumentations xformers megatron nemo llmfoundry torchtitan torchtune nemo_rl nanotron
    open_clip_train fairseq metaseq bagua fairscale torch_geometric dgl lm_eval nemo_run pkg_resources setuptools
    tiktoken pretty_errors termcolor colorama gymnasium gym jsonlines orjson ujson pydantic jinja2 tabulate loguru
    rouge_score sacrebleu bert_score imageio decord av nibabel SimpleITK joblib networkx rdkit Bio typing_extensions
    optuna mpi4py
    """.split()  # noqa: SIM905 (a list of words reads better)
)
"""Packages whose import does not hide a training loop of the user's own: what they do is known to the rows above, or
is no matter for checkpoints and process groups."""


def framework(name: str) -> FrameworkFacts | None:
    """The row of a framework by its name."""
    return next((row for row in FRAMEWORKS if row.name == name), None)
