"""Memory, CPU and disk of training containers: what they need at least, and what shows that they write to a disk."""

from __future__ import annotations

CPUS_OF_A_GPU = 4
"""Cores that one GPU's process keeps busy: the training loop, NCCL's proxy thread and a few data workers. The usual
machines have 12 to 24 a GPU (p4d 12, p5 24, a3-highgpu 26)."""

PROCESS_BYTES = 2 * 2**30
"""Host memory of a training process before it holds any data: Python, torch and a CUDA context take 2 to 3 GiB."""

WORKER_BYTES = 2**29
"""Host memory of a data-loader worker: a copy of the process, of which it changes some hundred MiB."""

SHARED_MEMORY_PER_GPU = 8
"""GiB at /dev/shm that are ample for one GPU: NCCL's buffers between the GPUs of a node take tens of MiB, and data
loaders keep whole batches there."""

COMPUTE_CLASS = "cloud.google.com/compute-class"
AUTOPILOT_CLASSES = frozenset({"accelerator", "performance", "balanced", "scale-out", "general-purpose", "autopilot",
                               "autopilot-spot"})  # fmt: skip
"""Compute classes of GKE Autopilot, which sets requests where a pod has none (GKE, Compute classes in Autopilot)."""

WRITTEN_BY_VARIABLE: dict[str, str] = {
    "HF_HOME": "the Hugging Face cache",
    "HF_HUB_CACHE": "the Hugging Face cache",
    "HUGGINGFACE_HUB_CACHE": "the Hugging Face cache",
    "HF_DATASETS_CACHE": "the datasets cache",
    "TRANSFORMERS_CACHE": "the Hugging Face cache",
    "TORCH_HOME": "torch's model cache",
    "XDG_CACHE_HOME": "caches",
    "WANDB_DIR": "wandb's files",
    "WANDB_CACHE_DIR": "wandb's files",
    "MLFLOW_TRACKING_DIR": "MLflow's files",
    "TRITON_CACHE_DIR": "compiled kernels",
    "TORCHINDUCTOR_CACHE_DIR": "compiled kernels",
    "NEURON_COMPILE_CACHE_URL": "compiled kernels",
    "JAX_COMPILATION_CACHE_DIR": "compiled kernels",
    "TMPDIR": "temporary files",
    "RAY_TMPDIR": "Ray's session files",
    "MODELSCOPE_CACHE": "the ModelScope cache",
}
"""Variables that name a folder which libraries fill (documentation of each library)."""

TRACKERS: dict[str, str] = {"WANDB_DIR": "wandb", "WANDB_CACHE_DIR": "wandb", "MLFLOW_TRACKING_DIR": "mlflow"}
"""Folders of trackers, by the word with which a program's options turn one on. A logger that a framework configures
(Lightning's save_dir) writes to a folder of its own instead, so that the variable alone shows no writer."""

WRITTEN_BY_OPTION: tuple[str, ...] = (
    "cache-dir", "data-cache-path", "dataset-cache-dir", "tokenizer-cache-dir", "scratch-dir", "local-cache",
    "download-dir", "download-path",
)  # fmt: skip
"""Options of training programs that name a folder which they fill."""

SCRATCH_FOLDERS = frozenset({
    "scratch", "cache", ".cache", "data", "dataset", "datasets", "checkpoint", "checkpoints", "ckpt", "ckpts", "output",
    "outputs", "wandb", "models", "model",
})  # fmt: skip
"""Last parts of paths at which an emptyDir is mounted to be filled, and names of such volumes."""

DATA_WORKERS_BY_NAME = ("dataloader-num-workers", "data-workers")
"""Options that speak of the data loader by their names. In a program of Ray's the others may count its ranks: there
`--num-workers` "sets number of workers for training" (python/ray/train/examples/pytorch/torch_linear_example.py)."""
