"""How training programs are told of their data: option names, ids on the Hugging Face Hub, programs that stage data."""

from __future__ import annotations

import re

from msgspec import Struct

from kube_gaplint import lazy_re

DATA_OPTIONS: tuple[str, ...] = (
    "data-path", "data-dir", "data-root", "data-folder", "data", "train-data", "train-data-path", "train-data-dir",
    "train-dir", "train-path", "train-files", "train-file", "train-root", "training-data", "training-dir", "dataset",
    "dataset-path", "dataset-dir", "dataset-root", "datasets-dir", "dataset-name", "data-prefix", "imagenet-dir",
    "model.data.data-prefix", "model.data.data-path", "data.path", "data.dir", "data.root", "data.train-path",
    "data.train-files", "dataset.path", "training.dataset-path", "train-loader.dataset.remote", "data-paths",
)  # fmt: skip
"""Options of training programs that name where the training data lies (Megatron-LM, NeMo, timm, torchvision, verl,
LLaMA-Factory, torchtitan, and what scripts of one's own are used to call it)."""

DATA_FOLDERS = frozenset({
    "data", "dataset", "datasets", "corpus", "training-data", "train-data", "traindata", "imagenet", "laion", "c4",
    "pile",
})  # fmt: skip
"""Last parts of mount paths that hold training data, where no option tells."""

STREAMING_WORDS = ("stream", "webdataset", "wds", "mosaicml")
"""Parts of options and values of loaders that read a stream of large files and keep their own cache."""

MODEL_OPTIONS: tuple[str, ...] = (
    "model-name-or-path", "model-name", "model-id", "model-path", "model", "base-model",
    "pretrained-model-name-or-path", "pretrained", "tokenizer-name", "tokenizer-name-or-path", "tokenizer",
    "tokenizer-model", "tokenizer-path", "teacher-model-name-or-path", "reward-model-path", "hf-model",
    "actor-rollout-ref.model.path", "model.path",
)  # fmt: skip
DATASET_OPTIONS: tuple[str, ...] = (
    "dataset-name",
    "dataset",
    "dataset-id",
    "dataset-repo",
    "hf-dataset",
    "dataset-path",
)

_HUB_ID = lazy_re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FOLDERS = frozenset({
    "data", "dataset", "datasets", "model", "models", "checkpoint", "checkpoints", "ckpt", "ckpts", "output", "outputs",
    "out", "run", "runs", "result", "results", "weights", "assets", "config", "configs", "conf", "example", "examples",
    "script", "scripts", "src", "tmp", "mnt", "home", "workspace", "cache", "pretrained", "tokenizer", "tokenizers",
    "experiments", "exp", "logs", "files", "resources", "tests", "test", "train", "raw", "processed", "opt", "app",
    "shared", "scratch", "nfs", "fsx", "efs", "s3", "gcs", "hf", "hub", "llm", "lib", "local", "storage", "volume",
})  # fmt: skip
"""First parts of relative paths that are no organisation on the Hub."""
_FILE = lazy_re.compile(
    r".*\.(py|ya?ml|jsonl?|parquet|arrow|tar|gz|zip|bin|pt|pth|model|idx|txt|csv|tsv|toml|safetensors|vocab)"
)


def is_hub_id(text: str) -> bool:
    """Whether a text is the id of a model or dataset on the Hub (`org/name`), and surely no path."""
    if _HUB_ID.fullmatch(text) is None or _FILE.fullmatch(text) is not None:
        return False
    return text.partition("/")[0].lower() not in _FOLDERS


HUB_CACHES: tuple[str, ...] = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "TRANSFORMERS_CACHE",
                               "HF_DATASETS_CACHE", "XDG_CACHE_HOME")  # fmt: skip
HUB_CACHE_OPTIONS: tuple[str, ...] = ("cache-dir", "model-cache-dir", "hf-cache-dir", "download-dir")
HUB_CACHE_FOLDER = ".cache"
"""Without a variable the cache lies in `~/.cache/huggingface`."""
HUB_OFFLINE: tuple[str, ...] = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
HUB_HOST = "huggingface.co"
PREFETCH_WORDS = frozenset({"initializer", "download", "downloader", "prefetch", "fetch", "preload", "cache", "stage"})
"""Words in the names of roles and init containers that bring models and data beforehand."""


class Stager(Struct, frozen=True):
    """A program that copies from a bucket or a server. `incremental`: what is there already is not copied again."""

    program: str
    words: tuple[str, ...]
    title: str
    incremental: bool


STAGERS: tuple[Stager, ...] = (
    Stager("aws", ("s3", "sync"), "aws s3 sync", True),
    Stager("aws", ("s3", "cp"), "aws s3 cp", False),
    Stager("gsutil", ("rsync",), "gsutil rsync", True),
    Stager("gsutil", ("cp",), "gsutil cp", False),
    Stager("gcloud", ("storage", "rsync"), "gcloud storage rsync", True),
    Stager("gcloud", ("storage", "cp"), "gcloud storage cp", False),
    Stager("s5cmd", ("sync",), "s5cmd sync", True),
    Stager("s5cmd", ("cp",), "s5cmd cp", False),
    Stager("rclone", ("sync",), "rclone sync", True),
    Stager("rclone", ("copy",), "rclone copy", True),
    Stager("azcopy", ("sync",), "azcopy sync", True),
    Stager("azcopy", ("copy",), "azcopy copy", False),
    Stager("azcopy", ("cp",), "azcopy copy", False),
    Stager("huggingface-cli", ("download",), "huggingface-cli download", True),
    Stager("hf", ("download",), "hf download", True),
    Stager("git", ("clone",), "git clone", False),
    Stager("git", ("lfs", "clone"), "git lfs clone", False),
    Stager("wget", (), "wget", False),
    Stager("curl", (), "curl", False),
)

DATA_TARGET_OPTIONS = frozenset({"--local-dir", "--destination", "-P", "--directory-prefix", "-O", "-o", "--output"})
STAGER_VALUED = DATA_TARGET_OPTIONS | {
    "--exclude", "--include", "--endpoint-url", "--region", "--profile", "--storage-class", "--repo-type", "--revision",
    "--token", "--numworkers", "--concurrency", "--transfers", "--max-workers", "--account-name", "--account-key",
    "--cache-dir", "--depth", "--branch", "-b", "-H", "--header", "--retry", "--tries", "--timeout",
    "--connect-timeout", "-u", "--user",
}  # fmt: skip
"""Options of these programs that take the next word."""
SMALL_FILES = lazy_re.compile(r".*\.(py|sh|ya?ml|json|txt|whl|ini|cfg|toml|conf|md|env|pem|crt|key|deb|patch)")
"""Files that are no data set."""
ARCHIVES = lazy_re.compile(r".*\.(tar(\.\w+)?|tgz|zip|zst|parquet|arrow|bin|idx|h5|hdf5|npz|tfrecord)", re.IGNORECASE)
DATA_REPOSITORY = lazy_re.compile(r".*(?:/datasets/.+|[/_-](?:data|dataset|datasets|corpus)(?:\.git)?/?)")
"""Repositories that hold data by their address."""
