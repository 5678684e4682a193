"""Calls in training programs whose arguments decide a run's fate: names, modules, and the order of parameters.

A row matches a call by its last name and, where the program tells where the name comes from, by the module. A row
without modules is a method, recognised by its name alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

TimeUnit: TypeAlias = Literal["timedelta", "seconds", "minutes"]


class CallRow(Struct, frozen=True):
    """`parameters` names positional arguments in order. `certain`: the name alone is enough where no import is seen."""

    key: str
    names: frozenset[str]
    modules: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    certain: bool = True
    timeout: tuple[str, TimeUnit] | None = None
    """The parameter that sets a process group's timeout, and what it takes."""
    path: str = ""
    """The parameter that says where something is saved or loaded."""


def _row(
    key: str,
    names: str,
    modules: str,
    parameters: str = "",
    *,
    certain: bool = True,
    timeout: tuple[str, TimeUnit] | None = None,
    path: str = "",
) -> CallRow:
    return CallRow(
        key, frozenset(names.split()), tuple(modules.split()), tuple(parameters.split()), certain, timeout, path
    )


_TRANSFORMERS = "transformers trl"
_LIGHTNING = "lightning pytorch_lightning lightning_fabric nemo.lightning nemo"
_RAY = "ray.train ray.air ray.tune ray"

CALLS: tuple[CallRow, ...] = (
    _row(
        "process-group", "init_process_group", "torch.distributed",
        "backend init_method timeout world_size rank store group_name", timeout=("timeout", "timedelta"),
    ),
    _row("new-group", "new_group", "torch.distributed", "ranks timeout backend", timeout=("timeout", "timedelta")),
    _row(
        "deepspeed-init", "init_distributed", "deepspeed",
        "dist_backend auto_mpi_discovery distributed_port verbose timeout init_method",
        timeout=("timeout", "timedelta"), certain=False,
    ),
    _row(
        "accelerate-process-group", "InitProcessGroupKwargs", "accelerate", "backend init_method timeout",
        timeout=("timeout", "timedelta"),
    ),
    _row("accelerator", "Accelerator", "accelerate"),
    _row(
        "accelerate-project", "ProjectConfiguration", "accelerate",
        "project_dir logging_dir automatic_checkpoint_naming total_limit iteration save_on_each_node",
    ),
    _row("accelerate-state", "PartialState AcceleratorState", "accelerate"),
    # src/accelerate/utils/operations.py: each begins with PartialState()
    _row("accelerate-operation", "broadcast_object_list gather_object", "accelerate", certain=False),
    _row(
        "hf-arguments",
        "TrainingArguments Seq2SeqTrainingArguments SFTConfig DPOConfig GRPOConfig PPOConfig RewardConfig KTOConfig "
        "ORPOConfig CPOConfig RLOOConfig OnlineDPOConfig",
        _TRANSFORMERS, "output_dir", timeout=("ddp_timeout", "seconds"),
    ),
    _row(
        "hf-trainer",
        "Trainer Seq2SeqTrainer SFTTrainer DPOTrainer GRPOTrainer RewardTrainer KTOTrainer ORPOTrainer",
        _TRANSFORMERS, "model args", certain=False,
    ),
    _row("lightning-trainer", "Trainer", _LIGHTNING, certain=False),
    _row("fabric", "Fabric", _LIGHTNING, certain=False),
    _row(
        "lightning-checkpoint", "ModelCheckpoint", _LIGHTNING,
        "dirpath filename monitor verbose save_last save_top_k",
    ),
    _row("nemo-resume", "AutoResume", "nemo", ""),
    _row(
        "lightning-strategy",
        "DDPStrategy FSDPStrategy DeepSpeedStrategy ModelParallelStrategy MegatronStrategy FSDP2Strategy",
        _LIGHTNING, timeout=("timeout", "timedelta"),
    ),
    _row("composer-trainer", "Trainer", "composer", timeout=("dist_timeout", "seconds"), certain=False),
    _row("ray-failure", "FailureConfig", _RAY, "max_failures"),
    _row("ray-report", "RayTrainReportCallback", _RAY),
    _row("ray-checkpoint", "CheckpointConfig", _RAY, "num_to_keep", certain=False),
    _row("ray-run", "RunConfig", _RAY, "name storage_path", certain=False),
    _row("ray-torch", "TorchConfig", _RAY, "backend init_method timeout_s", timeout=("timeout_s", "seconds")),
    _row("ray-scaling", "ScalingConfig", _RAY, "trainer_resources num_workers use_gpu"),
    _row("ray-trainer", "TorchTrainer TransformersTrainer LightningTrainer AccelerateTrainer", _RAY),
    _row("save", "save", "torch", "obj f", path="f", certain=False),
    _row(
        "save", "save async_save save_state_dict async_save_state_dict", "torch.distributed.checkpoint",
        "state_dict", path="checkpoint_id", certain=False,
    ),
    _row("save", "FileSystemWriter", "torch.distributed.checkpoint", "path", path="path"),
    _row("save", "save_state", "", "output_dir", path="output_dir"),
    _row("save", "save_pretrained", "", "save_directory", path="save_directory"),
    _row("save", "save_checkpoint", "", "save_dir tag", path="save_dir"),
    _row("save", "save_model", "", "output_dir", path="output_dir"),
    _row("load", "load", "torch", "f", path="f", certain=False),
    _row(
        "load", "load load_state_dict", "torch.distributed.checkpoint", "state_dict", path="checkpoint_id",
        certain=False,
    ),
    _row("load", "load_state", "", "input_dir", path="input_dir"),
    _row("load", "load_checkpoint", "", "load_dir tag", path="load_dir"),
    _row("hub", "from_pretrained", "transformers diffusers trl", "pretrained_model_name_or_path", certain=False),
    _row("hub", "load_dataset", "datasets", "path name", certain=False),
    _row("hub", "snapshot_download", "huggingface_hub", "repo_id", certain=False),
    _row("fit", "fit", "", "model train_dataloaders val_dataloaders datamodule ckpt_path", path="ckpt_path"),
    _row("train", "train", "", "resume_from_checkpoint", path="resume_from_checkpoint"),
)  # fmt: skip

CALL_NAMES: frozenset[str] = frozenset(name for row in CALLS for name in row.names)

FIT_AT_ONCE = frozenset({"xgboost", "lightgbm", "catboost", "cuml", "sklearn"})
"""Libraries whose `fit` or `train` is the whole training, and writes nothing unless a callback does."""
OF_NETWORKS = frozenset({
    "torch", "tensorflow", "keras", "jax", "flax", "lightning", "pytorch_lightning", "fastai", "transformers", "paddle",
})  # fmt: skip
"""Libraries beside which `fit` may as well be that of a network."""

LOADING_CALLS = frozenset({
    "import_module", "__import__", "run_path", "run_module", "exec", "get_class",
    "instantiate", "locate", "get_obj_from_str", "instantiate_from_config", "build_from_cfg",
})  # fmt: skip
"""Calls that load code by a name which only the run tells: importlib, runpy, Hydra and its like."""
