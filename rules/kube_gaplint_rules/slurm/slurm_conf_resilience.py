from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.slurm import SlurmConf
from kube_gaplint.rule import Context, rule

SLURMD_TIMEOUT = 300.0
"""Slurm's default in seconds: after it a silent node is DOWN."""
LATE = 900.0
"""Seconds of SlurmdTimeout from which on a dead node keeps its job for too long."""
STUCK = 1800.0
"""Seconds of UnkillableStepTimeout from which on a node with processes in D state is held back too long."""
MESSAGE_TIMEOUT = 10.0
OFF = frozenset({"0", "no", "false"})


@rule(
    code="SLURM005",
    name="slurm-conf-resilience",
    view=SlurmConf,
    severity=Severity.WARNING,
    evidence=("IL-0125", "IL-0025"),
    evidence_kind="facts",
    sources=("slurm-conf", "soperator", "sunk"),
)
def check(conf: SlurmConf, context: Context) -> Iterator[Gap]:
    """The cluster's slurm.conf keeps bad nodes in service, or leaves jobs hanging on them.

    ## What it flags
    In slurm.conf (a file, a ConfigMap, Slinky's `extraConf`, Soperator's `customSlurmConfig`, SUNK's `slurmConfig`):
    no `HealthCheckProgram`, or one without an interval; `KillOnBadExit` 0 or unset; `JobRequeue=0`;
    `ReturnToService=2` without a health check; `SlurmdTimeout` 0 or above 15 minutes; `UnkillableStepTimeout` below
    five times `MessageTimeout` or above half an hour. A fragment that is appended to a file not seen is judged by what
    it sets alone; what an operator writes itself counts as written. Info for clusters that surely have no GPUs.

    ## Why it hurts
    The rule follows from what these settings do; two incidents show the cost. BLOOM's job sat in limbo after a GPU had
    died, because nothing carried one rank's death to the rest. Imbue found that failures gather on few of 511 servers,
    and let nobody start on a node that had not passed its health checks.

    ## Bad
    ```yaml
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: slurm}
    data:
      slurm.conf: |
        ClusterName=train
        SlurmctldHost=ctl-0
        GresTypes=gpu
        HealthCheckProgram=/usr/sbin/nhc
        HealthCheckInterval=300
        KillOnBadExit=0
        NodeName=gpu-[00-15] Gres=gpu:8
    ```

    ## Good
    ```yaml
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: slurm}
    data:
      slurm.conf: |
        ClusterName=train
        SlurmctldHost=ctl-0
        GresTypes=gpu
        HealthCheckProgram=/usr/sbin/nhc
        HealthCheckInterval=300
        KillOnBadExit=1
        NodeName=gpu-[00-15] Gres=gpu:8
    ```

    ## When to keep it
    Node health is watched by something else: declare `node_health` in the profile.

    ## Fix safety
    Unsafe: the settings hold for every job of the cluster.

    ## References
    - https://slurm.schedmd.com/slurm.conf.html#OPT_KillOnBadExit
    - https://slurm.schedmd.com/slurm.conf.html#OPT_HealthCheckProgram
    - https://github.com/imbue-ai/cluster-health
    """
    for gap in (*_health(conf, context), *_jobs(conf, context), *_nodes(conf)):
        yield replace(gap, severity=Severity.INFO) if conf.without_gpus else gap


def _health(conf: SlurmConf, context: Context) -> Iterator[Gap]:
    program, interval = conf.get("healthcheckprogram"), conf.get("healthcheckinterval")
    if isinstance(program, Absent) and context.profile.node_health is not True:
        yield Gap(
            program.origin,
            "no HealthCheckProgram: nothing takes a node with a bad GPU or link out of service",
            "the next attempt lands on the node that broke the last one",
            detail="HealthCheckProgram",
            fix=Fix("set HealthCheckProgram and HealthCheckInterval"),
        )
    never = isinstance(interval, Absent) or (isinstance(interval, Set) and interval.value == "0")
    if isinstance(program, Set) and program.value and never:
        yield Gap(
            interval.origin if isinstance(interval, Set) else program.origin,
            "HealthCheckProgram without HealthCheckInterval runs once, when slurmd starts",
            "a GPU that fails later is not noticed",
            detail="HealthCheckInterval",
            fix=Fix("set HealthCheckInterval=300"),
        )


def _jobs(conf: SlurmConf, context: Context) -> Iterator[Gap]:
    kill, requeue = conf.get("killonbadexit"), conf.get("jobrequeue")
    unset = isinstance(kill, Absent)
    if (unset or _is_off(kill)) and context.profile.kill_on_bad_exit is not True:
        yield Gap(
            kill.origin or conf.origin,
            "KillOnBadExit is not set, and 0 by default" if unset else "KillOnBadExit=0",
            "srun leaves the other ranks running when one dies: the job holds its nodes and makes no progress",
            detail="KillOnBadExit",
            fix=_fix(kill, "KillOnBadExit=1"),
        )
    if isinstance(requeue, Set) and _is_off(requeue):
        yield Gap(
            requeue.origin,
            "JobRequeue=0: a job whose node is lost is not started again",
            "the run is dead until a person submits it again",
            detail="JobRequeue",
            fix=_fix(requeue, "JobRequeue=1"),
        )


def _nodes(conf: SlurmConf) -> Iterator[Gap]:
    back = conf.get("returntoservice")
    if isinstance(back, Set) and back.value == "2" and back.origin.via != "injected":
        checked = isinstance(conf.get("healthcheckprogram"), Set)
        yield Gap(
            back.origin,
            "ReturnToService=2: a node that went down for any reason comes back by itself",
            "a node that crashed and booted again gets the next job, with the fault still in it",
            detail="ReturnToService",
            severity=Severity.INFO if checked else Severity.WARNING,
            fix=_fix(back, "ReturnToService=1"),
        )
    silent = conf.get("slurmdtimeout")
    seconds = _number(silent)
    if isinstance(silent, Set) and seconds is not None and (seconds == 0 or seconds > LATE):
        after = "never" if seconds == 0 else f"only after {duration(seconds)}"
        yield Gap(
            silent.origin,
            f"SlurmdTimeout={silent.value}: a dead node is marked DOWN {after}",
            "its job keeps all its nodes until then, and is not requeued",
            detail="SlurmdTimeout",
            fix=_fix(silent, f"SlurmdTimeout={SLURMD_TIMEOUT:.0f}"),
        )
    yield from _unkillable(conf)


def _unkillable(conf: SlurmConf) -> Iterator[Gap]:
    stuck, message = conf.get("unkillablesteptimeout"), _number(conf.get("messagetimeout"))
    seconds = _number(stuck)
    if not isinstance(stuck, Set) or seconds is None or stuck.origin.via == "injected":
        return
    least = 5 * (MESSAGE_TIMEOUT if message is None else message)
    if seconds < least:
        yield Gap(
            stuck.origin,
            f"UnkillableStepTimeout={stuck.value} is less than five times MessageTimeout ({least:.0f} s)",
            "nodes whose processes end slowly, after a GPU or file system hang, are drained one after the other",
            detail="UnkillableStepTimeout",
            related=_second(conf.get("messagetimeout")),
            fix=_fix(stuck, "UnkillableStepTimeout=300"),
        )
    elif seconds > STUCK:
        yield Gap(
            stuck.origin,
            f"UnkillableStepTimeout={stuck.value}: a node with a process that cannot be killed is drained after "
            f"{duration(seconds)} only",
            "the job stays in COMPLETING until then, and its successor waits",
            detail="UnkillableStepTimeout",
            fix=_fix(stuck, "UnkillableStepTimeout=300"),
        )


def _second(setting: Setting[str]) -> tuple[Related, ...]:
    return (Related(setting.origin, "MessageTimeout"),) if isinstance(setting, Set) else ()


def _is_off(setting: Setting[str]) -> bool:
    return isinstance(setting, Set) and setting.value.strip().lower() in OFF


def _number(setting: Setting[str]) -> float | None:
    if not isinstance(setting, Set) or not setting.value.isascii() or not setting.value.isdigit():
        return None
    return float(setting.value[:12])


def _fix(setting: Setting[str], line: str) -> Fix:
    changes: tuple[Change, ...] = ()
    if isinstance(setting, Set) and "=" in setting.origin.place.text:
        changes = (ReplaceValue(_bare(setting.origin), line, raw=True),)
    return Fix(f"set {line}", changes)


def _bare(origin: Origin) -> Origin:
    """The place in the file alone: the text is a line of slurm.conf, not a YAML scalar."""
    return replace(origin, node=None)
