"""The options of sbatch and srun: names, whether they take a value, which of the two knows them, environment forms.

Source: SchedMD/slurm@284c3b95f (26.11-dev) `src/common/slurm_opt.c`, `src/sbatch/opt.c`, `src/srun/opt.c`. Options of
SPANK plugins (pyxis' `--container-image`, HyperPod's `--auto-resume`) come on top: a name that is in no row here may
belong to a plugin and is never taken for an error.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

Tool: TypeAlias = Literal["sbatch", "srun"]
Takes: TypeAlias = Literal["no", "yes", "optional"]


class Option(Struct, frozen=True):
    """One option as one tool knows it. `environment` lists its environment forms, the one that wins last."""

    name: str
    short: str
    takes: Takes
    environment: tuple[str, ...]


class _Row(Struct, frozen=True):
    name: str
    short: str
    takes: Takes
    tools: Literal["sbatch", "srun", "both"]
    sbatch_environment: str
    srun_environment: str


_ROWS: tuple[_Row, ...] = (
    _Row("accel-bind", "", "yes", "srun", "", ""),
    _Row("account", "A", "yes", "both", "SBATCH_ACCOUNT", "SLURM_ACCOUNT"),
    _Row("acctg-freq", "", "yes", "both", "SBATCH_ACCTG_FREQ", "SLURM_ACCTG_FREQ"),
    _Row("array", "a", "yes", "sbatch", "SBATCH_ARRAY_INX", ""),
    _Row("autocomplete", "", "yes", "both", "", ""),
    _Row("batch", "", "yes", "sbatch", "SBATCH_BATCH", ""),
    _Row("bb", "", "yes", "both", "SBATCH_BURST_BUFFER", "SLURM_BURST_BUFFER"),
    _Row("bbf", "", "yes", "both", "", ""),
    _Row("bcast", "", "optional", "srun", "", "SLURM_BCAST"),
    _Row("bcast-exclude", "", "yes", "srun", "", "SLURM_BCAST_EXCLUDE"),
    _Row("begin", "b", "yes", "both", "", ""),
    _Row("chdir", "D", "yes", "both", "", "SLURM_REMOTE_CWD SLURM_WORKING_DIR"),
    _Row("cluster", "", "yes", "both", "", ""),
    _Row("cluster-constraint", "", "yes", "both", "SBATCH_CLUSTER_CONSTRAINT", "SLURM_CLUSTER_CONSTRAINT"),
    _Row("clusters", "M", "yes", "both", "SBATCH_CLUSTERS SLURM_CLUSTERS", "SLURM_CLUSTERS"),
    _Row("comment", "", "yes", "both", "", ""),
    _Row("compress", "", "optional", "srun", "", "SLURM_COMPRESS"),
    _Row("consolidate-segments", "", "no", "both", "SBATCH_CONSOLIDATE_SEGMENTS", "SLURM_CONSOLIDATE_SEGMENTS"),
    _Row("constraint", "C", "yes", "both", "SBATCH_CONSTRAINT", "SLURM_CONSTRAINT"),
    _Row("container", "", "yes", "both", "SBATCH_CONTAINER", "SRUN_CONTAINER"),
    _Row("container-id", "", "yes", "both", "SBATCH_CONTAINER_ID", "SRUN_CONTAINER_ID"),
    _Row("context", "", "yes", "both", "", ""),
    _Row("contiguous", "", "no", "both", "", ""),
    _Row("core-spec", "S", "yes", "both", "SBATCH_CORE_SPEC", "SLURM_CORE_SPEC"),
    _Row("cores-per-socket", "", "yes", "both", "", "SLURM_NCORES_PER_SOCKET"),
    _Row("cpu-bind", "", "yes", "srun", "", "SLURM_CPU_BIND"),
    _Row("cpu-freq", "", "yes", "both", "SBATCH_CPU_FREQ_REQ", "SLURM_CPU_FREQ_REQ"),
    _Row("cpus-per-gpu", "", "yes", "both", "SBATCH_CPUS_PER_GPU", "SLURM_CPUS_PER_GPU"),
    _Row("cpus-per-task", "c", "yes", "both", "", "SLURM_CPUS_PER_TASK"),
    _Row("deadline", "", "yes", "both", "", ""),
    _Row("delay-boot", "", "yes", "both", "SBATCH_DELAY_BOOT", "SLURM_DELAY_BOOT"),
    _Row("dependency", "d", "yes", "both", "", "SLURM_DEPENDENCY"),
    _Row("disable-status", "X", "no", "srun", "", "SLURM_DISABLE_STATUS"),
    _Row("distribution", "m", "yes", "both", "SBATCH_DISTRIBUTION", "SLURM_DISTRIBUTION"),
    _Row("epilog", "", "yes", "srun", "", "SLURM_EPILOG"),
    _Row("error", "e", "yes", "both", "SBATCH_ERROR", "SLURM_STDERRMODE SRUN_ERROR"),
    _Row("exact", "", "no", "srun", "", "SLURM_EXACT"),
    _Row("exclude", "x", "yes", "both", "", ""),
    _Row("exclusive", "", "optional", "both", "SBATCH_EXCLUSIVE", "SLURM_EXCLUSIVE"),
    _Row("export", "", "yes", "both", "SBATCH_EXPORT", "SLURM_EXPORT_ENV SRUN_EXPORT_ENV"),
    _Row("export-file", "", "yes", "sbatch", "", ""),
    _Row("external", "", "no", "sbatch", "", ""),
    _Row("external-launcher", "", "optional", "srun", "", "SLURM_EXTERNAL_LAUNCHER"),
    _Row("extra", "", "yes", "both", "", ""),
    _Row("extra-node-info", "B", "yes", "both", "", ""),
    _Row("get-user-env", "", "no", "sbatch", "SBATCH_GET_USER_ENV", ""),
    _Row("gid", "", "yes", "sbatch", "", ""),
    _Row("gpu-bind", "", "yes", "both", "SBATCH_GPU_BIND", "SLURM_GPU_BIND"),
    _Row("gpu-freq", "", "yes", "both", "SBATCH_GPU_FREQ", "SLURM_GPU_FREQ"),
    _Row("gpus", "G", "yes", "both", "SBATCH_GPUS", "SLURM_GPUS"),
    _Row("gpus-per-node", "", "yes", "both", "SBATCH_GPUS_PER_NODE", "SLURM_GPUS_PER_NODE"),
    _Row("gpus-per-socket", "", "yes", "both", "SBATCH_GPUS_PER_SOCKET", "SLURM_GPUS_PER_SOCKET"),
    _Row("gpus-per-task", "", "yes", "both", "SBATCH_GPUS_PER_TASK", "SLURM_GPUS_PER_TASK"),
    _Row("gres", "", "yes", "both", "SBATCH_GRES", "SLURM_GRES"),
    _Row("gres-flags", "", "yes", "both", "SBATCH_GRES_FLAGS", "SLURM_GRES_FLAGS"),
    _Row("het-group", "", "yes", "srun", "", ""),
    _Row("hint", "", "yes", "both", "SLURM_HINT SBATCH_HINT", "SLURM_HINT"),
    _Row("hold", "H", "no", "both", "", ""),
    _Row("ignore-pbs", "", "no", "sbatch", "SBATCH_IGNORE_PBS", ""),
    _Row("ignore-signals", "", "yes", "srun", "", ""),
    _Row("immediate", "I", "optional", "srun", "", ""),
    _Row("input", "i", "yes", "both", "SBATCH_INPUT", "SLURM_STDINMODE SRUN_INPUT"),
    _Row("interactive", "", "no", "srun", "", ""),
    _Row("job-name", "J", "yes", "both", "SBATCH_JOB_NAME", "SLURM_JOB_NAME"),
    _Row("jobid", "", "yes", "both", "", "SLURM_JOB_ID"),  # sbatch took it in older releases
    _Row("kill-on-bad-exit", "K", "optional", "srun", "", "SLURM_KILL_BAD_EXIT"),
    _Row("kill-on-invalid-dep", "", "yes", "sbatch", "", ""),
    _Row("label", "l", "no", "srun", "", "SLURM_LABELIO"),
    _Row("licenses", "L", "yes", "both", "", ""),
    _Row("mail-type", "", "yes", "both", "", ""),
    _Row("mail-user", "", "yes", "both", "", ""),
    _Row("mcs-label", "", "yes", "both", "", ""),
    _Row("mem", "", "yes", "both", "SBATCH_MEM_PER_NODE", "SLURM_MEM_PER_NODE"),
    _Row("mem-bind", "", "yes", "both", "SBATCH_MEM_BIND", "SLURM_MEM_BIND"),
    _Row("mem-per-cpu", "", "yes", "both", "SBATCH_MEM_PER_CPU", "SLURM_MEM_PER_CPU"),
    _Row("mem-per-gpu", "", "yes", "both", "SBATCH_MEM_PER_GPU", "SLURM_MEM_PER_GPU"),
    _Row("mem-update", "", "yes", "both", "", ""),
    _Row("mincpus", "", "yes", "both", "", ""),
    _Row("mpi", "", "yes", "srun", "", "SLURM_MPI_TYPE"),
    _Row("msg-timeout", "", "yes", "srun", "", ""),
    _Row("multi-prog", "", "no", "srun", "", "SLURM_SRUN_MULTI"),
    _Row("network", "", "yes", "both", "SBATCH_NETWORK", "SLURM_NETWORK"),
    _Row("nice", "", "optional", "both", "", ""),
    _Row("no-allocate", "Z", "no", "srun", "", ""),
    _Row("no-kill", "k", "optional", "both", "SBATCH_NO_KILL", "SLURM_NO_KILL"),
    _Row("no-requeue", "", "no", "sbatch", "SBATCH_NO_REQUEUE", ""),
    _Row("nodefile", "F", "yes", "both", "", ""),
    _Row("nodelist", "w", "yes", "both", "", ""),
    _Row("nodes", "N", "yes", "both", "", "SLURM_JOB_NUM_NODES"),
    _Row("ntasks", "n", "yes", "both", "", "SLURM_NPROCS SLURM_NTASKS"),
    _Row("ntasks-per-core", "", "yes", "both", "", "SLURM_NTASKS_PER_CORE"),
    _Row("ntasks-per-gpu", "", "yes", "both", "", "SLURM_NTASKS_PER_GPU"),
    _Row("ntasks-per-node", "", "yes", "both", "", "SLURM_NTASKS_PER_NODE"),
    _Row("ntasks-per-socket", "", "yes", "both", "", ""),
    _Row("ntasks-per-tres", "", "yes", "both", "", "SLURM_NTASKS_PER_TRES"),
    _Row("oom-kill-step", "", "optional", "both", "", "SLURM_OOM_KILL_STEP"),
    _Row("open-mode", "", "yes", "both", "SBATCH_OPEN_MODE", "SLURM_OPEN_MODE"),
    _Row("output", "o", "yes", "both", "SBATCH_OUTPUT", "SLURM_STDOUTMODE SRUN_OUTPUT"),
    _Row("overcommit", "O", "no", "both", "SBATCH_OVERCOMMIT", "SLURM_OVERCOMMIT"),
    _Row("overlap", "", "optional", "srun", "", "SLURM_OVERLAP"),
    _Row("oversubscribe", "s", "no", "both", "", ""),
    _Row("pack-group", "", "yes", "srun", "", ""),
    _Row("parsable", "", "no", "both", "", ""),
    _Row("partition", "p", "yes", "both", "SBATCH_PARTITION", "SLURM_PARTITION"),
    _Row("prefer", "", "yes", "both", "", ""),
    _Row("preserve-env", "E", "no", "srun", "", ""),
    _Row("priority", "", "yes", "both", "", ""),
    _Row("profile", "", "yes", "both", "SBATCH_PROFILE", "SLURM_PROFILE"),
    _Row("prolog", "", "yes", "srun", "", "SLURM_PROLOG"),
    _Row("propagate", "", "optional", "both", "", ""),
    _Row("pty", "", "optional", "srun", "", ""),
    _Row("qos", "q", "yes", "both", "SBATCH_QOS", "SLURM_QOS"),
    _Row("quiet", "Q", "no", "both", "", ""),
    _Row("quit-on-interrupt", "", "no", "srun", "", ""),
    _Row("reboot", "", "no", "both", "", ""),
    _Row("relative", "r", "yes", "srun", "", ""),
    _Row("requeue", "", "optional", "sbatch", "SBATCH_REQUEUE", ""),
    _Row("reservation", "", "yes", "both", "SBATCH_RESERVATION", "SLURM_RESERVATION"),
    _Row("resources", "", "yes", "both", "", ""),
    _Row("resv-ports", "", "optional", "both", "", "SLURM_RESV_PORTS"),
    _Row("runtime", "", "yes", "both", "SBATCH_RUNTIME", "SRUN_RUNTIME"),
    _Row("segment", "", "yes", "both", "SBATCH_SEGMENT_SIZE", "SRUN_SEGMENT_SIZE"),
    _Row("send-libs", "", "optional", "srun", "", "SLURM_SEND_LIBS"),
    _Row("signal", "", "yes", "both", "SBATCH_SIGNAL", "SLURM_SIGNAL"),
    _Row("slurmd-debug", "", "yes", "srun", "", "SLURMD_DEBUG"),
    _Row("sockets-per-node", "", "yes", "both", "", "SLURM_NSOCKETS_PER_NODE"),
    _Row("spread-job", "", "no", "both", "SBATCH_SPREAD_JOB", "SLURM_SPREAD_JOB"),
    _Row("spread-segments", "", "no", "both", "SBATCH_SPREAD_SEGMENTS", "SLURM_SPREAD_SEGMENTS"),
    _Row("stepmgr", "", "no", "both", "", ""),
    _Row("switches", "", "yes", "both", "", ""),
    _Row("task-epilog", "", "yes", "srun", "", "SLURM_TASK_EPILOG"),
    _Row("task-prolog", "", "yes", "srun", "", "SLURM_TASK_PROLOG"),
    _Row("tasks-per-node", "", "yes", "both", "", "SLURM_NTASKS_PER_NODE"),
    _Row("test-only", "", "no", "both", "", ""),
    _Row("thread-spec", "", "yes", "both", "SBATCH_THREAD_SPEC", "SLURM_THREAD_SPEC"),
    _Row("threads", "T", "yes", "srun", "", "SLURM_THREADS"),
    _Row("threads-per-core", "", "yes", "both", "SBATCH_THREADS_PER_CORE", "SLURM_THREADS_PER_CORE"),
    _Row("time", "t", "yes", "both", "SBATCH_TIMELIMIT", "SLURM_TIMELIMIT"),
    _Row("time-min", "", "yes", "both", "", ""),
    _Row("tmp", "", "yes", "both", "", ""),
    _Row("treewidth", "", "yes", "srun", "", ""),
    _Row("tres-bind", "", "yes", "both", "SBATCH_TRES_BIND", "SLURM_TRES_BIND"),
    _Row("tres-per-task", "", "yes", "both", "SBATCH_TRES_PER_TASK", "SLURM_TRES_PER_TASK"),
    _Row("uid", "", "yes", "sbatch", "", ""),
    _Row("unbuffered", "u", "no", "srun", "", "SLURM_UNBUFFEREDIO"),
    _Row("usage", "", "no", "both", "", ""),
    _Row("use-min-nodes", "", "no", "both", "SBATCH_USE_MIN_NODES", "SLURM_USE_MIN_NODES"),
    _Row("verbose", "v", "no", "both", "SBATCH_DEBUG", "SLURM_DEBUG"),
    _Row("version", "V", "no", "both", "", ""),
    _Row("wait", "W", "no", "sbatch", "SBATCH_WAIT", ""),
    _Row("wait", "W", "yes", "srun", "", "SLURM_WAIT"),
    _Row("wait-all-nodes", "", "yes", "sbatch", "SBATCH_WAIT_ALL_NODES", ""),
    _Row("wait-for-children", "", "no", "srun", "", ""),
    _Row("wckey", "", "yes", "both", "SBATCH_WCKEY", "SLURM_WCKEY"),
    _Row("whole", "", "no", "srun", "", ""),
    _Row("wrap", "", "yes", "sbatch", "", ""),
)  # fmt: skip

_PLUGIN_ROWS: tuple[_Row, ...] = (
    # NVIDIA pyxis (README, "Usage"): registered for srun and sbatch
    _Row("container-image", "", "yes", "both", "", ""),
    _Row("container-mounts", "", "yes", "both", "", ""),
    _Row("container-workdir", "", "yes", "both", "", ""),
    _Row("container-name", "", "yes", "both", "", ""),
    _Row("container-save", "", "yes", "both", "", ""),
    _Row("container-env", "", "yes", "both", "", ""),
    _Row("container-mount-home", "", "no", "both", "", ""),
    _Row("no-container-mount-home", "", "no", "both", "", ""),
    _Row("container-remap-root", "", "no", "both", "", ""),
    _Row("no-container-remap-root", "", "no", "both", "", ""),
    _Row("container-entrypoint", "", "no", "both", "", ""),
    _Row("no-container-entrypoint", "", "no", "both", "", ""),
    _Row("container-entrypoint-log", "", "no", "both", "", ""),
    _Row("container-writable", "", "no", "both", "", ""),
    _Row("container-readonly", "", "no", "both", "", ""),
    # SageMaker HyperPod
    _Row("auto-resume", "", "yes", "both", "", ""),
    # names of older releases
    _Row("cpu_bind", "", "yes", "srun", "", "SLURM_CPU_BIND"),
    _Row("mem_bind", "", "yes", "both", "SBATCH_MEM_BIND", "SLURM_MEM_BIND"),
    _Row("share", "", "no", "both", "", ""),
    _Row("workdir", "", "yes", "both", "", ""),
    _Row("power", "", "yes", "both", "SBATCH_POWER", "SLURM_POWER"),
    _Row("tres-per-node", "", "yes", "both", "", ""),
)  # fmt: skip

ALIASES = {"tasks-per-node": "ntasks-per-node", "workdir": "chdir", "share": "oversubscribe", "cpu_bind": "cpu-bind"}
"""Options that are another one under a second name."""


TAKES_NO_TEXT = frozenset(
    {
        "account", "array", "begin", "clusters", "constraint", "cpus-per-gpu", "cpus-per-task", "deadline",
        "dependency", "exclude", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "licenses",
        "mem", "mem-per-cpu", "mem-per-gpu", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
        "ntasks-per-node", "ntasks-per-socket", "partition", "qos", "reservation", "signal", "time", "time-min",
    }
)  # fmt: skip
"""Options whose value is a number, a time or the name of something that the cluster has: sbatch or slurmctld refuses a
job with any other text there (`Invalid node count`, `Invalid time limit specification`, `Invalid partition name`)."""


@cache
def options(tool: Tool) -> dict[str, Option]:
    """The options that a tool knows, plugins' included, by long name."""
    found = {}
    for row in (*_ROWS, *_PLUGIN_ROWS):
        if row.tools in (tool, "both"):
            environment = row.sbatch_environment if tool == "sbatch" else row.srun_environment
            found[row.name] = Option(row.name, row.short, row.takes, tuple(environment.split()))
    return found


@cache
def short_options(tool: Tool) -> dict[str, Option]:
    """The same by their one letter."""
    return {option.short: option for option in options(tool).values() if option.short}


@lru_cache(maxsize=1024)
def resolve(tool: Tool, name: str) -> Option | None:
    """The option of a long name as getopt takes it: whole, or abbreviated as long as only one option fits."""
    known = options(tool)
    exact = known.get(name)
    if exact is not None:
        return exact
    near = [option for key, option in known.items() if key.startswith(name)] if len(name) > 1 else []
    return near[0] if len(near) == 1 else None


@lru_cache(maxsize=1024)
def belongs_elsewhere(tool: Tool, name: str, short: bool) -> Option | None:
    """The option of the *other* tool for a name that this tool does not know; None where neither or both know it."""
    other: Tool = "srun" if tool == "sbatch" else "sbatch"
    if short:
        return None if name in short_options(tool) else short_options(other).get(name)
    if name in options(tool) or resolve(tool, name) is not None:
        return None
    return options(other).get(name)


def canonical(name: str) -> str:
    """The name under which an option is kept."""
    return ALIASES.get(name, name)
