"""Programs that a batch script starts beside training: what is a helper, and what surely trains.

A helper prepares, looks or cleans up: a step of nothing but helpers is not judged as training. What is in neither
table is taken as training, for a step on several nodes rarely does anything else.
"""

from __future__ import annotations

from kube_gaplint import lazy_re

HELPERS = frozenset(
    {
        # shell and coreutils
        "[", "awk", "cat", "cd", "chmod", "chown", "cp", "cut", "date", "dd", "df", "du", "echo", "env", "export",
        "false", "find", "free", "grep", "head", "hostname", "id", "install", "ip", "kill", "killall", "ln", "ls",
        "mkdir", "mktemp", "mount", "mv", "nproc", "pgrep", "ping", "pkill", "printenv", "printf", "ps", "pwd", "rm",
        "rmdir", "rsync", "sed", "sleep", "sort", "stat", "sync", "sysctl", "tail", "tar", "tee", "test", "touch",
        "true", "ulimit", "umount", "uname", "unzip", "uptime", "wait", "wc", "which", "whoami", "xargs", ":", "set",
        "source", ".", "module", "ml", "conda", "virtualenv", "pip", "pip3", "unset", "read", "local",
        "fuser", "lsof", "dmesg",
        # node checks and devices
        "nvidia-smi", "dcgmi", "nvidia-healthmon", "nvidia-cuda-mps-control", "rocm-smi", "amd-smi", "ibstat",
        "ibv_devinfo", "ibdev2netdev", "lspci", "lscpu", "numactl-show", "ethtool", "nhc", "gpu_burn", "dcgmproftester",
        "nsys-stop", "collect_env", "lstopo", "mlxconfig", "fi_info", "efa_test.sh",
        # containers and data
        "enroot", "docker", "podman", "singularity-pull", "sbcast", "sbatch", "scontrol", "squeue", "sacct", "sinfo",
        "scancel", "sstat", "aws", "gsutil", "gcloud", "az", "s5cmd", "rclone", "azcopy", "wget", "curl", "git",
        "git-lfs", "huggingface-cli", "hf", "dvc", "squashfuse", "fusermount", "lfs", "beegfs-ctl", "sudo",
    }
)  # fmt: skip

TRAINERS = frozenset(
    {
        "torchrun", "deepspeed", "accelerate", "composer", "ft_launcher", "hyperpodrun", "dlrover-run",
        "horovodrun", "tune", "litgpt", "axolotl",
        "llamafactory-cli", "mpirun", "mpiexec", "ray", "bagua.launch", "colossalai", "python", "python3",
    }
)  # fmt: skip

BENCHMARKS = lazy_re.compile(
    r"(.*_perf|all_reduce|alltoall|osu_\w+|ib_(write|read|send)_(bw|lat)|hpl|xhpl|hpcg|nccl[-_]tests?.*|gpu_burn)(_mpi)?"
)
"""Programs that measure: `all_reduce_perf`, `osu_bw`, `ib_write_bw`."""

CONTAINER_RUNNERS = {
    "singularity": ("exec", "run"),
    "apptainer": ("exec", "run"),
    "shifter": (),
    "podman-hpc": ("run",),
}
"""Programs that start another one inside an image, which is their first operand (an option of shifter's)."""
