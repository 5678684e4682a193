"""Variables that are in a shell's environment although no manifest sets them, and commands with a known effect."""

from __future__ import annotations

from typing import Final

from kube_gaplint import lazy_re

GIVEN: Final = (
    (r"SLURM_\w+|SLURMD_\w+|SBATCH_\w+|SRUN_\w+", "Slurm sets it when the job runs"),
    (r"PMI_\w+|PMIX_\w+|OMPI_\w+|MV2_\w+|MPI_\w+|HYDRA_\w+", "the MPI launcher sets it"),
    (r"PBS_\w+|LSB_\w+|LSF_\w+|SGE_\w+|JOB_ID|COBALT_\w+|FLUX_\w+", "the batch system sets it"),
    (
        r"RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|GROUP_WORLD_SIZE|MASTER_ADDR|MASTER_PORT"
        r"|PET_\w+|TORCHELASTIC_\w+",
        "a launcher or operator may set it",
    ),
    (
        r"JOB_COMPLETION_INDEX|JOBSET_\w+|LWS_\w+|VC_\w+|VK_TASK_INDEX|RAY_\w+|MEGASCALE_\w+|TPU_\w+",
        "an operator may set it",
    ),
    (r"KUBERNETES_\w+|\w+_SERVICE_HOST|\w+_SERVICE_PORT(?:_\w+)?", "Kubernetes sets it for services"),
    (r"SM_\w+|AWS_\w+|ECS_\w+|AZ_\w+|AZUREML_\w+|CLOUD_ML_\w+|AIP_\w+|GOOGLE_\w+", "the cloud platform may set it"),
    (
        r"HOME|HOSTNAME|HOST|PATH|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|PWD|OLDPWD|SHLVL|MAIL|EDITOR|DISPLAY",
        "the system sets it",
    ),
    (
        r"RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|EPOCHREALTIME|UID|EUID|GROUPS|PPID|LINENO|BASH|BASH_\w+|BASHPID|FUNCNAME"
        r"|PIPESTATUS|OSTYPE|HOSTTYPE|MACHTYPE|IFS|OPTARG|OPTIND|REPLY|DIRSTACK|COLUMNS|LINES|PS[0-4]",
        "the shell sets it",
    ),
    (
        r"PYTHONPATH|LD_LIBRARY_PATH|LIBRARY_PATH|CPATH|CONDA_\w+|VIRTUAL_ENV|NVIDIA_\w+|CUDA_(?:HOME|PATH|VERSION|\w+_VERSION"
        r"|VISIBLE_DEVICES)|CUDNN_\w+|NCCL_VERSION|ROCM_\w+|HIP_VISIBLE_DEVICES|PYTORCH_(?:HOME|VERSION|BUILD_\w+)"
        r"|OPAL_PREFIX|UCX_\w+|HPCX_\w+",
        "the image may set it",
    ),
)
"""(pattern of names, why there may be a value)."""

_PATTERN: Final = lazy_re.compile("|".join(f"(?P<g{index}>{pattern})" for index, (pattern, _) in enumerate(GIVEN)))


def given_because(name: str) -> str:
    """Why a variable may have a value that no manifest shows; empty where nothing speaks for it."""
    found = _PATTERN.fullmatch(name)
    return GIVEN[int((found.lastgroup or "g0")[1:])][1] if found is not None else ""


CLOSED_SOURCES: Final = (
    (r"(?:.*/)?bin/activate(?:\.\w+)?", "Python's venv: sets VIRTUAL_ENV and PATH"),
    (r"(?:.*/)?etc/profile\.d/conda\.sh", "conda: defines functions"),
    (r"(?:.*/)?activate", "conda: puts an environment on PATH"),
    (
        r"(?:.*/)?(?:lmod|modules|module)(?:/.*)?/init/\w+|/etc/profile\.d/(?:lmod|modules|z00_lmod)\.sh",
        "modules: defines functions",
    ),
    (
        r"(?:.*/)?\.(?:bashrc|bash_profile|profile|zshrc)|/etc/(?:profile|bashrc|bash\.bashrc)",
        "login profiles: programs on PATH; what else they set is like an image's ENV, which nobody sees",
    ),
)
"""Files that are sourced everywhere and set no variable that gaplint speaks of: (pattern of the path, what it does)."""

_SOURCES: Final = lazy_re.compile("|".join(pattern for pattern, _ in CLOSED_SOURCES))


def sourced_harmless(path: str) -> bool:
    """Whether a sourced file is known to set nothing that matters, although its text is not visible."""
    return _SOURCES.fullmatch(path) is not None


CLOSED_EVALS: Final = lazy_re.compile(
    r"\$\(\s*(?:\S*/)?(?:conda|mamba|micromamba|ssh-agent|direnv|pyenv|modulecmd|starship|fnm|rbenv|uv)\b|\$\(\s*\"?\$\{?(?:CONDA|MAMBA)_EXE\b"
    r"|^\"?`\s*(?:\S*/)?(?:conda|ssh-agent)\b"
)
"""`eval "$(conda shell.bash hook)"` and the like: they define functions, no variable that gaplint speaks of."""


SUCCEED_ANYWAY: Final = frozenset({
    ":", "amd-smi", "crc-job-stats", "crc-job-stats.py", "date", "deactivate", "df", "du", "echo", "env", "export",
    "free", "hostname", "id", "jobstats", "kill", "killall", "logger", "lsblk", "lscpu", "mkdir", "ml", "module",
    "nvidia-smi", "pkill", "popd", "printenv", "printf", "ps", "pushd", "pwd", "reportseff", "rm", "rocm-smi",
    "sacct", "scancel", "scontrol", "seff", "set", "sinfo", "sleep", "sprio", "squeue", "sreport", "sstat", "sync",
    "tail", "tee", "times", "touch", "trap", "true", "umask", "uname", "unset", "uptime", "who", "whoami",
})  # fmt: skip
"""Commands that succeed whether the program before them failed or not: what they work on does not come from it. Sites
have tools of their own for the statistics of a job: `crc-job-stats.py` (Pittsburgh), `jobstats` (Princeton)."""

PARTS_THAT_SUCCEED: Final = {"conda": "deactivate", "ray": "stop"}
"""Programs of which one subcommand does: `ray stop` ends with 0 whether it finds processes of Ray or not
(python/ray/scripts/scripts.py)."""

COPIES_WHAT_THERE_IS: Final = {
    "rsync": lazy_re.compile(r"-[A-Za-z]*[ar][A-Za-z]*|--archive|--recursive"),
    "cp": lazy_re.compile(r"-[A-Za-z]*[arR][A-Za-z]*|--archive|--recursive"),
    "aws": lazy_re.compile(r"sync|--recursive"),
    "gsutil": lazy_re.compile(r"rsync|-[A-Za-z]*[rR]"),
    "gcloud": lazy_re.compile(r"rsync|--recursive|-[rR]"),
    "s5cmd": lazy_re.compile(r"sync"),
    "rclone": lazy_re.compile(r"sync|copy"),
    "azcopy": lazy_re.compile(r"sync|--recursive(?:=true)?"),
}
"""Commands that copy a folder, by the option that makes them do so: what a failed program has left in it is copied as
well, and the copy succeeds."""
