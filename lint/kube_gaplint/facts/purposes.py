"""What workloads are for, by the programs that they run, their images and their names.

About half of what asks for a GPU in a batch object is not training: NCCL tests, smoke tests, `sleep infinity`,
serving. Rules for training speak of training alone, so each purpose is recognised by what it shows.

Programs are matched against the base names of a command's words and the modules of `python -m`; a row with a
`sub` needs that word right after it. Patterns are those of fnmatch, in lower case.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.lazy_re import globs

Meaning = Literal[
    "training", "benchmark", "smoke", "interactive", "inference", "evaluation", "simulation", "processing"
]
"""`processing`: what prepares, converts or looks at data and finished models."""


class Program(Struct, frozen=True):
    """A program name (with the sub-command that decides) and the purpose that it shows."""

    pattern: str
    meaning: Meaning
    sub: tuple[str, ...] = ()


PROGRAMS: tuple[Program, ...] = (
    # Communication, stress and storage benchmarks.
    Program("*_perf", "benchmark"),  # nccl-tests, rccl-tests: all_reduce_perf …
    Program("*_perf_mpi", "benchmark"),
    Program("nccl-tests*", "benchmark"),
    Program("nccl_tests*", "benchmark"),
    Program("run-nccl*", "benchmark"),
    Program("run_nccl*", "benchmark"),
    Program("nccl-test*", "benchmark"),
    Program("nccl_test*", "benchmark"),
    Program("nccom-test", "benchmark"),
    Program("osu_*", "benchmark"),
    Program("ib_*_bw", "benchmark"),
    Program("ib_*_lat", "benchmark"),
    Program("dcgmi", "benchmark"),
    Program("dcgmproftester*", "benchmark"),
    Program("gpu_burn", "benchmark"),
    Program("gpu-burn", "benchmark"),
    Program("gpu-fryer", "benchmark"),
    Program("cuda_memtest*", "benchmark"),
    Program("ucx_perftest*", "benchmark"),
    Program("rocm*bandwidth*test", "benchmark"),
    Program("transferbench", "benchmark"),
    Program("nixlbench", "benchmark"),
    Program("nvvs", "benchmark"),
    Program("nvbandwidth", "benchmark"),
    Program("bandwidthtest", "benchmark"),
    Program("p2pbandwidthlatencytest", "benchmark"),
    Program("nvloom*", "benchmark"),
    Program("xhpl*", "benchmark"),
    Program("hpl.sh", "benchmark"),
    Program("hpcg*", "benchmark"),
    Program("rvs", "benchmark"),
    Program("sb", "benchmark", ("run", "exec")),
    Program("hl_qual", "benchmark"),
    Program("fio", "benchmark"),
    Program("iperf*", "benchmark"),
    Program("mdtest", "benchmark"),
    Program("ior", "benchmark"),
    Program("tf_cnn_benchmarks*", "benchmark"),
    Program("*synthetic_benchmark*", "benchmark"),
    Program("dlio_benchmark", "benchmark"),
    Program("mlpstorage", "benchmark"),
    Program("vllm", "benchmark", ("bench",)),
    Program("genai-perf", "benchmark"),
    Program("perf_analyzer", "benchmark"),
    Program("aiperf", "benchmark"),
    Program("guidellm", "benchmark"),
    Program("inference-perf", "benchmark"),
    # Looking at the devices.
    Program("nvidia-smi", "smoke"),
    Program("rocm-smi", "smoke"),
    Program("amd-smi", "smoke"),
    Program("hl-smi", "smoke"),
    Program("npu-smi", "smoke"),
    Program("xpu-smi", "smoke"),
    Program("neuron-ls", "smoke"),
    Program("neuron-top", "smoke"),
    Program("tpu-info", "smoke"),
    Program("vectoradd", "smoke"),
    Program("devicequery", "smoke"),
    Program("nbody", "smoke"),
    Program("clinfo", "smoke"),
    # Somebody works in it.
    Program("jupyter*", "interactive"),
    Program("start-notebook*", "interactive"),
    Program("start-singleuser*", "interactive"),
    Program("code-server", "interactive"),
    Program("rstudio-server", "interactive"),
    Program("rserver", "interactive"),
    Program("ttyd", "interactive"),
    Program("tensorboard", "interactive"),
    # Serving.
    Program("vllm", "inference", ("serve",)),
    Program("vllm.entrypoints*", "inference"),
    Program("sglang.launch_server", "inference"),
    Program("sglang*", "inference"),
    Program("tritonserver", "inference"),
    Program("trtllm-serve", "inference"),
    Program("trtllm-llmapi-launch", "inference"),
    Program("text-generation-launcher", "inference"),
    Program("text-embeddings-router", "inference"),
    Program("lmdeploy", "inference", ("serve",)),
    Program("llama-server", "inference"),
    Program("ollama", "inference"),
    Program("torchserve", "inference"),
    Program("bentoml", "inference", ("serve",)),
    Program("mlserver", "inference"),
    Program("tensorflow_model_server", "inference"),
    Program("infinity_emb", "inference"),
    Program("fastchat.serve*", "inference"),
    Program("dynamo", "inference", ("serve", "run")),
    Program("dynamo.*", "inference"),
    Program("serve", "inference", ("run", "deploy")),
    Program("uvicorn", "inference"),
    Program("gunicorn", "inference"),
    Program("streamlit", "inference"),
    Program("gradio", "inference"),
    Program("run_fastsurfer*", "inference"),  # segments brain scans with finished networks (Deep-MI/FastSurfer)
    Program("brun_fastsurfer*", "inference"),
    # Evaluation.
    Program("lm_eval*", "evaluation"),
    Program("lm-eval*", "evaluation"),
    Program("lighteval*", "evaluation"),
    Program("opencompass*", "evaluation"),
    Program("evalplus*", "evaluation"),
    Program("bigcode_eval*", "evaluation"),
    Program("helm-run", "evaluation"),
    Program("inspect", "evaluation", ("eval",)),
    # Simulation: on GPUs and over MPI, with restart files of its own.
    Program("lmp", "simulation"),
    Program("lmp_*", "simulation"),
    Program("gmx", "simulation"),
    Program("gmx_mpi*", "simulation"),
    Program("mdrun*", "simulation"),
    Program("namd2", "simulation"),
    Program("namd3", "simulation"),
    Program("pmemd*", "simulation"),
    Program("vasp_*", "simulation"),
    Program("pw.x", "simulation"),
    Program("cp2k*", "simulation"),
    Program("nwchem", "simulation"),
    Program("qmcpack*", "simulation"),
    Program("relion_*", "simulation"),
    Program("wrf.exe", "simulation"),
    Program("*foam", "simulation"),
    # Training tools.
    Program("llamafactory-cli", "training", ("train",)),
    Program("llamafactory-cli", "inference", ("api", "chat", "webchat", "webui")),
    Program("axolotl", "training", ("train", "finetune", "preprocess")),
    Program("axolotl.cli.train", "training"),
    Program("swift", "training", ("sft", "pt", "rlhf")),
    Program("tune", "training", ("run",)),
    Program("litgpt", "training", ("pretrain", "finetune", "finetune_full", "finetune_lora")),
    Program("trl", "training", ("sft", "dpo", "grpo", "kto", "rloo", "reward")),
    Program("nemo", "training", ("llm",)),
    Program("maxtext.train", "training"),
    Program("verl.trainer*", "training"),
    Program("openrlhf.cli.train*", "training"),
    Program("fairseq-train", "training"),
    Program("fairseq-hydra-train", "training"),
    Program("metaseq*", "training"),
    Program("run_clm*.py", "training"),
    Program("run_mlm*.py", "training"),
    Program("run_plm*.py", "training"),
    Program("run_glue*.py", "training"),
    Program("run_qa*.py", "training"),
    Program("run_squad*.py", "training"),
    Program("run_translation*.py", "training"),
    Program("run_summarization*.py", "training"),
    Program("run_speech_recognition*.py", "training"),
    Program("pretrain_*.py", "training"),
    Program("tools.train*", "training"),
)

LAUNCHERS: tuple[Program, ...] = (
    Program("torchrun", "training"),
    Program("torchrun-*", "training"),
    Program("torch.distributed.run", "training"),
    Program("torch.distributed.launch", "training"),
    Program("torch.distributed.elastic*", "training"),
    Program("torchx*", "training"),
    Program("deepspeed", "training"),
    Program("accelerate", "training", ("launch",)),
    Program("accelerate.commands.launch", "training"),
    Program("horovodrun", "training"),
    Program("colossalai", "training", ("run",)),
    Program("composer", "training"),
    Program("ft_launcher", "training"),
    Program("hyperpodrun", "training"),
    Program("dlrover-run", "training"),
    Program("paddle.distributed.launch", "training"),
    Program("bagua.distributed.*", "training"),
    Program("oneflow.distributed.launch", "training"),
    Program("msrun", "training"),
    Program("fleetrun", "training"),
    Program("neuron_parallel_compile", "training"),
)
"""Launchers of distributed training: what they start is training, unless the program's own name says otherwise."""

# Words in a script's name, by what they show. The first row that shares a word with the name decides.
WORDS: tuple[tuple[Meaning, frozenset[str]], ...] = (
    ("benchmark", frozenset({"bench", "benchmark", "benchmarks", "benchmarking", "perf", "allreduce", "nccl", "burn"})),
    ("training", frozenset({"train", "trainer", "training", "pretrain", "pretraining", "finetune", "finetuning"})),
    (
        "evaluation",
        frozenset({"eval", "evals", "evaluate", "evaluation", "evaluator", "scoring", "valid"}),
    ),
    ("inference", frozenset({"serve", "server", "serving", "infer", "inference", "predict", "generate", "generation"})),
    (
        "training",
        frozenset({
            "tuning", "sft", "dpo", "grpo", "ppo", "rlhf", "kto", "lora", "qlora", "distill", "distillation", "learner",
            "fit", "dreambooth",
        }),
    ),
    (
        "training",
        frozenset({
            "mnist", "imagenet", "cifar", "cifar10", "resnet", "resnet50", "bert", "llama", "gpt", "gpt2", "gpt3",
            "fsdp", "ddp", "megatron", "maxtext", "diffusion", "unet", "nanogpt",
        }),
    ),
)  # fmt: skip

# Options that only training programs have, without dashes and with `-` for `_`.
TRAINING_OPTIONS = frozenset({
    "epochs", "num-epochs", "max-epochs", "num-train-epochs", "n-epochs", "train-iters", "train-samples", "max-steps",
    "max-train-steps", "num-train-steps", "total-steps", "learning-rate", "lr", "base-lr", "weight-decay",
    "warmup-steps", "warmup-ratio", "lr-warmup-iters", "lr-scheduler", "lr-scheduler-type", "lr-decay-style",
    "optimizer", "save-interval", "save-steps", "save-strategy", "save-total-limit", "checkpoint-interval",
    "gradient-accumulation-steps", "gradient-checkpointing", "global-batch-size", "train-batch-size",
    "per-device-train-batch-size", "micro-batch-size", "train-data", "training-steps", "grad-clip", "resume",
    "trainer.max-steps", "trainer.max-epochs", "trainer.devices", "trainer.num-nodes", "model.optim.lr",
    "exp-manager.checkpoint-callback-params.save-top-k", "data.train-batch-size", "training.steps",
})  # fmt: skip

# Options that mean something else beside another one: GNU parallel's `--resume` goes on by its `--joblog`.
OPTIONS_OF_OTHERS = {"resume": "--joblog"}

# Options that only programs which measure a finished model have (EleutherAI's lm-evaluation-harness and its forks).
EVALUATION_OPTIONS = frozenset({"model-args", "num-fewshot", "bootstrap-iters", "fewshot-as-multiturn"})

# Options by which a training program measures itself: where the results go, and how long it does so.
BENCHMARK_OPTIONS = frozenset({
    "benchmark-dir", "benchmark-log-dir", "benchmark-only", "benchmark-steps", "benchmark-iters", "benchmark-runs",
    "benchmark-iterations", "benchmark-duration", "benchmark-epochs-num", "bench-steps", "benchmarking",
    "dummy",  # pytorch/examples imagenet/main.py: "use fake data to benchmark"
})  # fmt: skip

# The word behind a Python script that says which of its jobs it is to do.
SUBCOMMANDS: dict[str, Meaning] = {
    "train": "training", "fit": "training", "pretrain": "training", "finetune": "training",
    "test": "evaluation", "eval": "evaluation", "evaluate": "evaluation", "validate": "evaluation",
    "predict": "inference", "infer": "inference", "inference": "inference", "generate": "inference",
}  # fmt: skip

# Options that, when they are on, keep a training program from training (Megatron-LM and its forks).
EVALUATION_SWITCHES = frozenset({"eval-only", "do-eval-only", "skip-train", "evaluate-only"})

# Options of people's own programs that say what a start is for, and what they say where it trains nothing.
MODES = frozenset({"job-type", "mode", "phase", "run-mode", "run-type", "task"})
EVALUATION_MODES = frozenset({"eval", "evaluate", "evaluation", "infer", "inference", "predict", "test"})

# Words of a configuration's name by which a run with it is a trial (torchtitan's `debug_model`, `llama3_debugmodel`).
TRIAL_CONFIGURATIONS = frozenset({"debug", "debugmodel", "smoke", "dryrun"})

# Patterns of scripts that try something out and do not train, and folders that hold nothing else.
TRIAL_SCRIPTS = (
    "test_*.py",
    "*_test.py",
    "*-test.py",
    "gpu-test*",
    "gpu_test*",
    "test-gpu*",
    "bench_*.py",
    "*_bench.py",
    "bench.py",
)
TRIAL_SHELL_SCRIPTS = ("test-*.sh", "test_*.sh")
TRIAL_FOLDERS = frozenset(
    {"bench", "benches", "benchmark", "benchmarks", "micro-benchmark", "micro-benchmarks", "performance"}
)

# Folders whose scripts and manifests test the software itself; those with a dot are read by services that do so at
# every change (GitHub Actions, GitLab, Buildkite, CircleCI, Jenkins).
TEST_FOLDERS = frozenset({
    "functional_tests", "functional-tests", "integration_tests", "integration-tests",
    ".github", ".gitlab", ".buildkite", ".circleci", ".jenkins", ".ci",
})  # fmt: skip

# Folders of what tries machines out before they are given to jobs, but for files whose names speak of training.
MACHINE_TESTS = frozenset({
    "preflight", "pre-flight", "burnin", "burn-in", "burn_in", "healthcheck", "healthchecks", "health-check",
    "health-checks", "health_check", "health_checks", "nccl-test", "nccl-tests", "nccl_tests", "rccl-tests", "gpu-burn",
    "stress-test", "stress-tests", "smoke-test", "smoke-tests", "smoke_test", "smoke_tests", "smoketest", "smoketests",
})  # fmt: skip

# Words of a folder's name by which it holds steps of end-to-end tests, and the tools whose steps are manifests.
END_TO_END = frozenset({"e2e", "kuttl", "chainsaw"})

# Programs in front of a training program that measure it: such a run is short, and somebody watches it.
PROFILERS = frozenset({
    "nsys", "ncu", "nv-nsight-cu-cli", "nvprof", "rocprof", "rocprofv2", "rocprofv3", "dlprof", "py-spy", "scalene",
})  # fmt: skip

# Labels of a pod by which an injector puts such a program in front: label, and values that switch it on.
PROFILER_LABELS = {"nvidia-devtools-sidecar-injector": frozenset({"enabled", "true"})}

# Variables and options that make a program fail on purpose: such a run is a test of what happens then.
FAULT_INJECTION = ("fault-inject", "inject-fault", "enable-fault", "chaos")

# Words of a program's name by which it tries values of settings out: each start begins another search.
SEARCHES = frozenset({"sweep", "sweeps", "hpo", "hyperopt", "gridsearch"})

# Words of a workload's name that make it a measurement, whatever program it runs.
BENCHMARK_NAMES = frozenset({
    "bench", "benchmark", "benchmarks", "benchmarking", "ubench", "nsight", "nsys", "burn", "burnin", "preflight",
    "healthcheck", "healthchecks", "stresstest", "gpuburn", "nccltest", "nccltests",
})  # fmt: skip

# Words that make it one only where they stand side by side: what is tried out, and the trial.
_TRIED_OUT = (
    "gpu", "gpus", "node", "nodes", "cluster", "nccl", "rccl", "network", "fabric", "rdma", "roce", "efa", "ib",
    "infiniband", "interconnect", "allreduce", "bandwidth", "hardware", "cuda", "rocm", "dcgm",
)  # fmt: skip
_TRIALS = (
    "test", "tests", "check", "checks", "validation", "validate", "validator", "verify", "verification", "diag",
    "diagnose", "diagnostic", "diagnostics", "stress", "sanity", "qualification", "acceptance", "probe",
)  # fmt: skip
_SHAPES = frozenset({"multi", "single", "two", "dual", "many"})
BENCHMARK_PAIRS = frozenset(
    {(what, trial) for what in _TRIED_OUT for trial in _TRIALS}
    | {(trial, what) for what in _TRIED_OUT for trial in _TRIALS}
    | {("pre", "flight"), ("health", "check"), ("health", "checks"), ("stress", "test"), ("burn", "in")}
)

# Folders whose programs evaluate, unless their own names say something else.
EVALUATION_FOLDERS = frozenset({"evaluation", "evaluations", "eval", "evals"})

# Words of a workload's name by which it is a trial of the manifest rather than a run.
TRIAL_NAMES = frozenset({"ci", "e2e", "smoke", "test", "tests", "presubmit", "postsubmit", "canary"})

# Words of the names of a job, its file or its program by which a run of one epoch is a trial; others do so where its
# time limit allows for little more.
DEBUG_NAMES = frozenset({"debug", "debugging", "smoke", "sanity", "dryrun", "mwe", "hang", "deadlock"})
SHORT_TRIAL_NAMES = frozenset({"test", "tests", "testing", "trial", "try", "quick", "tiny", "toy", "demo"})

# Words of scripts that prepare, convert or look at something: whatever else stands in the name, they do not train.
CHORES = frozenset({
    "convert", "converter", "conversion", "roundtrip", "merge", "consolidate", "consolidation", "export",
    "preprocess", "preprocessing",
    "preproc", "download", "downloader", "tokenize", "prepare", "build", "install", "setup", "list", "healthcheck",
    "upload", "sync", "quantize", "split", "shard", "profile", "pack", "analyze", "analysis", "plot",
    "visualize", "tokenization", "dedup", "deduplicate", "annotate", "prep", "preparation", "precompute", "pretokenize",
    "ingest", "etl",
})  # fmt: skip

# Words of a program's name by which it tries something out.
CHECKS = frozenset({"validate", "validator", "verify", "verifier", "check", "checker", "diagnose", "diagnostics"})

# Words that together say of a file that it tries out how far something scales.
SCALING = frozenset({"scaling", "scalability"})
STUDIES = frozenset({"test", "tests", "study", "bench", "benchmark", "benchmarks", "strong", "weak"})

# Those of them that may stand for a part of the data as well.
PARTS = frozenset({"split", "shard"})

# Those of them that say in a script's name all that it does, unless the name speaks of training as well.
PROCESSING = CHORES - {"build", "install", "setup", "list", "healthcheck", "sync", "profile", "split", "shard"}
TRAINING_WORDS = frozenset({"train", "trainer", "training", "pretrain", "pretraining", "finetune", "finetuning"})
# Words that say so only where they stand together: `process_data.py`, `data_processing.py`.
PROCESS_OF_DATA = frozenset(
    {(act, data) for act in ("process", "processing") for data in ("data", "dataset", "datasets")}
    | {
        (data, act)
        for act in ("processing", "processor", "creation", "generation", "generator", "builder")
        for data in ("data", "dataset")
    }
)
# Words by which a pool says that its nodes serve models.
SERVING_WORDS = frozenset({"inference", "inferencing", "infer", "serving", "serve", "vllm", "sglang", "kserve"})

# Verbs that, as the first word of a program's name, say that the rest is what it makes: `precompute_train_class.py`,
# `make_training_set.py`.
ACTS = PROCESSING | frozenset({
    "encode", "process", "make", "create", "gen", "generate", "extract", "collect", "count",
    "filter", "clean", "crawl", "scrape", "fetch", "format", "parse", "sample", "subsample", "shuffle", "cache",
    "chunk", "combine", "concat", "aggregate", "resample", "resize", "rename", "pickle", "serialize", "augment",
    "write", "dump", "reconstruct", "render", "measure",
    "index", "split", "shard", "compile", "compute", "summarize", "inspect", "postprocess",
})  # fmt: skip
# Words by which such a name goes on to a second act, or says who starts it.
SECOND_ACTS = frozenset({"and", "then", "run", "launch", "start", "loop"})
# Words of what is trained on CPUs from counts of words and pieces of them.
COUNTED_MODELS = frozenset({"bpe", "spm", "sentencepiece", "wordpiece", "vocab", "vocabulary"})

# Calls that move data between ranks: a program that makes them and no other shows what it is for. One that wraps a
# model in DDP and does nothing with it is an excerpt, of which the rest trains.
COLLECTIVES = ("all_reduce(", "all_gather", "broadcast", "barrier(", "reduce_scatter", "all_to_all")
# Their like in JAX, and what every JAX program that trains holds: there are no other ways to a gradient.
JAX_COLLECTIVES = ("psum(", "pmean(", "all_gather(", "ppermute(", "pmap(", "block_until_ready(")
JAX_GRADIENTS = ("grad", "vjp", "jvp", "linearize")
JAX_ALONE = frozenset({"jax", "jaxlib", "numpy"})

# Modules that a program may import and train nothing: whatever else it imports may do so for it.
TRAINS_NOTHING = frozenset({"torch", "numpy", "mpi4py", "cuda", "pynvml"})

# Calls that use a finished model, and modules beside the above with which a program can do that and no more.
INFERENCE_CALLS = ("no_grad(", "inference_mode(", ".generate(", "pipeline(", ".encode(", "LLM(")
USES_A_MODEL = TRAINS_NOTHING | {
    "torchvision", "transformers", "datasets", "tokenizers", "safetensors", "huggingface_hub", "sentence_transformers",
    "vllm", "pandas", "polars", "pyarrow", "sklearn", "PIL", "cv2", "tqdm", "yaml", "requests", "einops", "accelerate",
    "scipy", "matplotlib", "fsspec", "s3fs", "boto3", "h5py", "zarr", "seaborn", "nibabel", "SimpleITK", "skimage",
    "joblib", "wandb", "tensorboard", "timm", "torchaudio",
}  # fmt: skip

# Calls in a visible program that train: gradients, optimiser steps, a trainer's fit.
STEP_CALLS = (".backward(", "optimizer.step(")
TRAINING_CALLS = (*STEP_CALLS, ".fit(", ".train(", "value_and_grad", "Trainer(", "train_step(")

# What stands in the text of a program that takes gradients by itself or by a trainer of networks.
SIGNS_OF_GRADIENTS = ("backward(", "optim", "Optim", "loss", "value_and_grad", "lightning", "TrainingArguments")

# What stands in the text of nearly every program that trains, and in no text of one that only applies a model. Packages
# that train by one call of their own are named too.
SIGNS_OF_TRAINING = (
    "backward", "optim", "loss", "train_step", "value_and_grad", "Trainer", ".fit(", ".train(", "learning_rate",
    "epoch", "finetune", "pretrain(", "lightning", "composer", "megatron", "verl", "openrlhf", "axolotl", "trl",
)  # fmt: skip

# What stands in the text of a program that applies a finished model, or works on data.
SIGNS_OF_USE = (
    "no_grad(", "inference_mode(", ".eval()", ".generate(", "from vllm", "import vllm", "distilabel", "pipeline(",
    "push_to_hub(", "save_to_disk(", "to_parquet(",
)  # fmt: skip

# What stands in the text of a flow whose steps run in pods or instances of their own: who starts it only submits them.
# Metaflow, https://docs.metaflow.org/scaling/remote-tasks/requesting-resources
FLOW = "FlowSpec"
REMOTE_STEPS = ("@kubernetes", "@batch")

# Parts of a program's text without one of which nothing is trained on an accelerator: the stacks, what is built on
# them, and what starts them elsewhere.
STACKS = (
    "torch", "tensorflow", "jax", "flax", "keras", "lightning", "transformers", "accelerate", "diffusers", "deepspeed",
    "composer", "horovod", "sklearn", "megatron", "nemo", "llmfoundry", "nanotron", "open_clip", "fairseq", "metaseq",
    "fairscale", "bagua", "optax", "orbax", "timm", "peft", "trl", "habana", "sagemaker", "kubeflow", "kubernetes",
    "cuda", "import ray", "from ray", "dgl", "lm_eval", "hydra",
)  # fmt: skip

# Commands that fetch, build or manage: names of programs in their arguments are not run. Some run one by a sub-command.
CARRIERS = frozenset({
    "docker", "podman", "enroot", "apptainer", "singularity", "nerdctl", "buildah", "git", "pip", "pip3", "conda",
    "uv", "wget", "curl", "kubectl", "helm", "aws", "gsutil", "gcloud", "az", "apt", "apt-get", "yum", "dnf", "apk",
    "cp", "mv", "rm", "ln", "tar", "unzip", "chmod", "grep", "sed", "which", "make", "cmake", "huggingface-cli",
    "hf", "rsync",
})  # fmt: skip
CARRIERS_THAT_RUN = frozenset({"run", "exec", "start", "shell"})

# Programs that never train by themselves, and start others all the same.
STARTERS = frozenset({"ssh", "make", "ninja", "npm", "sudo", "service", "systemctl", "supervisord", "watch", "time",
                      "salloc", "scrontab", "mlflow", "complete"})  # fmt: skip

# Both words together: fine-tune, pre-train.
_PAIRS = {("fine", "tune"): "finetune", ("fine", "tuning"): "finetuning", ("pre", "train"): "pretrain",
          ("pre", "training"): "pretraining"}  # fmt: skip


class Image(Struct, frozen=True):
    """An image repository (pattern over the name without registry digest and tag) and the purpose that it shows."""

    pattern: str
    meaning: Meaning


IMAGES: tuple[Image, ...] = (
    Image("*vllm-openai*", "inference"),
    Image("*vllm/vllm*", "inference"),
    Image("*/jetstream-*", "inference"),
    Image("*llm-d*", "inference"),
    Image("*text-generation-inference*", "inference"),
    Image("*text-embeddings-inference*", "inference"),
    Image("*tritonserver*", "inference"),
    Image("*sglang*", "inference"),
    Image("*ollama/ollama*", "inference"),
    Image("*torchserve*", "inference"),
    Image("*nvcr.io/nim/*", "inference"),
    Image("*openvino/model_server*", "inference"),
    Image("*tensorflow/serving*", "inference"),
    Image("*llama.cpp*", "inference"),
    Image("*lmdeploy*", "inference"),
    Image("*kserve/*server*", "inference"),
    Image("*djl-serving*", "inference"),
    Image("*djl-inference*", "inference"),
    Image("*-inference", "inference"),
    Image("*fastsurfer*", "inference"),
    Image("*nccl-test*", "benchmark"),
    Image("*rccl-test*", "benchmark"),
    Image("*nccl-plugin*-test*", "benchmark"),
    Image("*gpu-burn*", "benchmark"),
    Image("*gpu_burn*", "benchmark"),
    Image("*superbench*", "benchmark"),
    Image("*gpu-fryer*", "benchmark"),
    Image("*gpu-health*", "benchmark"),
    Image("*hpc-benchmarks*", "benchmark"),
    Image("*osu-benchmark*", "benchmark"),
    Image("*osu-micro-benchmark*", "benchmark"),
    Image("*tensorflow-benchmarks*", "benchmark"),
    Image("*tf-benchmark*", "benchmark"),
    Image("*mpioperator/mpi-pi*", "benchmark"),
    Image("*cloud-native/dcgm*", "benchmark"),
    Image("*cuda-sample*", "smoke"),
    Image("*cuda-vector-add*", "smoke"),
    Image("*vectoradd*", "smoke"),
    Image("*k8s/samples*", "smoke"),
    Image("*gpu-operator-validator*", "smoke"),
    Image("*jupyter*", "interactive"),
    Image("*notebook*", "interactive"),
    Image("*code-server*", "interactive"),
    Image("*-train", "training"),
    Image("*-training", "training"),
    Image("*/train", "training"),
    Image("*/training", "training"),
    Image("*-trainer", "training"),
    Image("*/trainer", "training"),
    Image("*finetun*", "training"),
    Image("*fine-tun*", "training"),
    Image("*pytorch-mnist*", "training"),
    Image("*pytorch-dist-mnist*", "training"),
    Image("*axolotl*", "training"),
    Image("*llamafactory*", "training"),
    Image("*maxtext*", "training"),
)

# Kinds that exist to train. With accelerators, or where those cannot be seen, their objects are training.
TRAINING_KINDS = frozenset({
    ("kubeflow.org", "PyTorchJob"), ("kubeflow.org", "TFJob"), ("kubeflow.org", "XGBoostJob"),
    ("kubeflow.org", "PaddleJob"), ("kubeflow.org", "JAXJob"), ("kubeflow.org", "MXJob"), ("kubeflow.org", "MPIJob"),
    ("trainer.kubeflow.org", "TrainJob"), ("sagemaker.amazonaws.com", "HyperPodPyTorchJob"),
    ("elastic.iml.github.io", "ElasticJob"), ("elastic.pytorch.org", "ElasticJob"), ("run.ai", "TrainingWorkload"),
    ("run.ai", "DistributedWorkload"), ("training.kubedl.io", "PyTorchJob"), ("training.kubedl.io", "TFJob"),
    ("training.kubedl.io", "XGBoostJob"), ("training.kubedl.io", "XDLJob"), ("training.kubedl.io", "MPIJob"),
    ("training.kubedl.io", "ElasticDLJob"), ("batch.paddlepaddle.org", "PaddleJob"),
})  # fmt: skip

SERVING_KINDS = frozenset({
    ("ray.io", "RayService"), ("serving.kserve.io", "InferenceService"), ("serving.kserve.io", "LLMInferenceService"),
    ("run.ai", "InferenceWorkload"), ("serving.knative.dev", "Service"), ("apps.nvidia.com", "NIMService"),
    ("machinelearning.seldon.io", "SeldonDeployment"), ("nvidia.com", "DynamoGraphDeployment"),
})  # fmt: skip

SERVER_KINDS = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})
"""Kinds whose pods are mostly servers of their own, each of use without the others."""
INTERACTIVE_KINDS = frozenset({("run.ai", "InteractiveWorkload"), ("kubeflow.org", "Notebook")})

# Modules of `python -m` that are tools, whatever runs them.
TOOL_MODULES = frozenset({
    "venv", "pip", "virtualenv", "ensurepip", "http", "json", "pytest", "unittest", "compileall", "zipfile", "tarfile",
    "site", "sysconfig", "timeit", "cProfile", "pdb", "build", "twine", "uv", "poetry", "ipykernel", "notebook",
    "jupyter", "jupyterlab", "huggingface_hub", "awscli", "gsutil", "this", "platform",
})  # fmt: skip

# Programs with which an image's arguments begin when they are a whole command.
PROGRAMS_AS_ARGUMENTS = frozenset({
    "bash", "sh", "dash", "zsh", "ash", "env", "exec", "tini", "dumb-init", "torchrun", "deepspeed", "accelerate",
    "mpirun", "mpiexec", "horovodrun", "composer", "srun", "ray", "vllm", "sleep", "tail", "nvidia-smi", "jupyter",
    "cp", "hyperpodrun", "ft_launcher", "dlrover-run", "colossalai", "llamafactory-cli", "axolotl", "tune",
    "litgpt", "swift", "trl", "all_reduce_perf",
    "uv", "poetry", "conda", "pip", "git", "curl", "wget", "cat", "echo", "ls", "make", "node",
})  # fmt: skip


@lru_cache(maxsize=4096)
def program(name: str, following: str = "") -> tuple[Meaning, bool] | None:
    """What a program shows, and whether it is a mere launcher; None where its name tells nothing."""
    name = name.lower()
    for row in PROGRAMS:
        if globs(name, row.pattern) and (not row.sub or following.lower() in row.sub):
            return row.meaning, False
    for row in LAUNCHERS:
        if globs(name, row.pattern) and (not row.sub or following.lower() in row.sub):
            return row.meaning, True
    return None


# Names of modules that tell nothing: the package in front of them does.
_PLAIN_MODULES = frozenset({"main", "__main__", "cli", "run", "app", "launch", "start", "entry", "entrypoint", "core"})


def _plain(name: str) -> str:
    """A script's name, or the part of a module's that says what it does."""
    if name.endswith((".py", ".sh")):
        return name
    module = name.rpartition(".")[2]
    return name if module in _PLAIN_MODULES else module


_OTHER_PARTS = frozenset({"test", "val", "valid", "validation", "dev"})
_NUMBER = lazy_re.compile(r"(?:step|stage|part)?\d+|step|stage|part")


def _makes_what_follows(name: str) -> bool:
    """Whether a program's name begins with what it does to the rest: `precompute_train_class.py`; or says that
    it counts words: `train_bpe.py`."""
    words = [word for word in words_of(_plain(name)) if not _NUMBER.fullmatch(word)]
    if not words or not SECOND_ACTS.isdisjoint(words):
        return False
    if name.endswith(".sh") and not TRAINING_WORDS.isdisjoint(words):
        return False  # make_train.sh may start it
    if words[-2:] == ["split", "py"] and not _OTHER_PARTS.isdisjoint(words):
        return True  # train_test_split.py
    return words[0] in ACTS or (not TRAINING_WORDS.isdisjoint(words) and not COUNTED_MODELS.isdisjoint(words))


@lru_cache(maxsize=4096)
def is_chore(name: str) -> bool:
    """Whether a script's name says that it prepares, converts or looks at something. What trains in front of a split
    trains on a part: `finetune_temporal_split.py`."""
    words = words_of(_plain(name))
    chores = CHORES.intersection(words)
    on_a_part = words[:1] and words[0] in TRAINING_WORDS and chores <= PARTS and not _makes_what_follows(name)
    return bool(chores) and not on_a_part


@lru_cache(maxsize=4096)
def processes_data(name: str) -> bool:
    """Whether a script's name says that it prepares, converts or looks at something, and nothing of training."""
    if _makes_what_follows(name):
        return True
    words = words_of(name)
    chore = bool(PROCESSING.intersection(words)) or PROCESS_OF_DATA.intersection(pairwise(words))
    return bool(chore) and not TRAINING_WORDS.intersection(words)


@lru_cache(maxsize=4096)
def script(name: str) -> Meaning | None:
    """What the words in a script's or module's name show: `pretrain_gpt.py`, `pkg.train`, `run-eval.sh`."""
    words = words_of(_plain(name))
    if is_chore(name):
        return None
    meaning = next((meaning for meaning, marks in WORDS if marks.intersection(words)), None)
    return None if meaning == "training" and _makes_what_follows(name) else meaning


ON_PURPOSE = frozenset(
    {
        "notebook", "jupyter", "interactive", "dev", "develop", "development", "devbox", "devel", "debug", "debugging",
        "debugger", "diag", "diagnose", "diagnostic", "diagnostics", "troubleshoot", "troubleshooting",
        "workspace", "shell", "sandbox", "playground", "test", "tests", "testing", "tester", "ssh", "sshd",
        "bastion", "toolbox", "nccl", "rccl", "benchmark", "inference", "infer", "serving", "eval", "evaluation",
        "e2e", "conformance", "fixture", "autoscaling", "autoscaler", "overprovisioning",
    }
)  # fmt: skip
"""Words of names, images and labels by which somebody says what a container that only waits is there for."""
PEOPLE_LOG_IN = frozenset(
    {"login", "interact", "interactively", "terminal", "console", "bash", "tmux", "vscode", "desktop", "session",
     "attach", "jump", "jumpbox", "jumphost"}
)  # fmt: skip
"""Words of names and files that say so; an image made for it (`research-login`) is used for jobs as well."""


def words_of(name: str) -> tuple[str, ...]:
    """The lower-case words of a name, split at everything that is neither a letter nor a digit."""
    plain = "".join(character if character.isalnum() else " " for character in name.lower()).split()
    pairs = [_PAIRS[pair] for pair in pairwise(plain) if pair in _PAIRS]
    return (*plain, *pairs)


def tries_machines(name: str) -> bool:
    """Whether a workload by its name tries out machines, and speaks of no training: `node-health-check`. Behind
    `multi` or `single` stands only on how much something runs: `multi-gpu-test`."""
    words = words_of(name)
    shapes = {
        (what, trial) for before, what, trial in zip(words, words[1:], words[2:], strict=False) if before in _SHAPES
    }
    return not TRAINING_WORDS.intersection(words) and bool(BENCHMARK_PAIRS.intersection(pairwise(words)) - shapes)


def only_checks(name: str) -> bool:
    """Whether a program by its name tries something out, and speaks of no training: `validate_environment.py`."""
    words = words_of(name)
    return bool(CHECKS.intersection(words)) and not TRAINING_WORDS.intersection(words)


def tries_out(name: str) -> bool:
    """Whether a shell script by its name is a test, and speaks of no training: `test-maxtext.sh`."""
    shell = any(globs(name.lower(), pattern) for pattern in TRIAL_SHELL_SCRIPTS)
    return shell and not TRAINING_WORDS.intersection(words_of(name))


def measures_scaling(name: str) -> bool:
    """Whether a file by its name is a scaling study: `model-scaling-test.sh`."""
    words = words_of(name)
    return bool(SCALING.intersection(words)) and bool(STUDIES.intersection(words))


@lru_cache(maxsize=1024)
def image(name: str) -> Meaning | None:
    """What an image shows by its repository."""
    repository = name.split("@", 1)[0].lower()
    last = repository.rsplit("/", 1)[-1]
    if ":" in last:
        repository = repository[: repository.rindex(":")]
    return next((row.meaning for row in IMAGES if globs(repository, row.pattern)), None)
