"""What a batch script asks Slurm for: nodes, tasks, accelerators, time; and the variables that Slurm then sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.slurm import Directive
from kube_gaplint.model.workload import Accelerators

_Get: TypeAlias = Callable[..., Setting[str]]

ON_COMMAND_LINE = "sbatch's command line or the partition may give it"

_COUNT = lazy_re.compile(r"(\d{1,7})([kKmM]?)")
_GRES = lazy_re.compile(r"(?:gres[/:])?gpu(?::([A-Za-z][\w.-]*))?(?:[:=](\d{1,9}))?(?:\([^)]*\))?", re.IGNORECASE)
_SLICES = lazy_re.compile(r"(?:gres[/:])?(mps|shard|gpu:\d+g\.\d+gb)\b", re.IGNORECASE)
_TYPED = lazy_re.compile(r"(?:([A-Za-z][\w.-]*)[:=])?(\d{1,9})")
_AMD = lazy_re.compile(r"mi\d|radeon|gfx", re.IGNORECASE)
_ARRAY = lazy_re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


class Allocation(Struct, frozen=True):
    """Nodes, tasks and accelerators of the job. `hidden`: the script reads its size from Slurm's variables."""

    nodes: Setting[int]
    tasks: Setting[int]
    tasks_per_node: Setting[int]
    accelerators: Accelerators | None
    seconds: Setting[float]

    @property
    def accelerators_per_node(self) -> Setting[int]:
        if self.accelerators is None:
            return Absent(self.nodes.origin) if self.nodes.origin is not None else Unknown("nothing asks for them")
        return self.accelerators.count


def _is_number(text: str) -> bool:
    """Whether a text is a whole number of at most eight digits; Slurm knows no greater ones."""
    return text.isdecimal() and len(text) < 9


def count(text: str) -> int | None:
    """A number as Slurm reads it (`4`, `2k`); None for anything else."""
    found = _COUNT.fullmatch(text.strip())
    if found is None:
        return None
    return int(found.group(1)) * {"": 1, "k": 1024, "m": 1024 * 1024}[found.group(2).lower()]


def node_count(value: Setting[str]) -> Setting[int]:
    """`--nodes`: `4`, `2-4` (at least two), `1,3-5` (one of these). A range from one on is unknown."""
    if not isinstance(value, Set):
        return value
    lows = []
    for part in value.value.split(","):
        low, _, high = part.partition("-")
        first, last = count(low), count(high.partition(":")[0] or low)
        if first is None or last is None:
            return Unknown(f"{value.value!r} is no number of nodes", value.origin)
        lows.append((first, last))
    least, most = min(low for low, _ in lows), max(high for _, high in lows)
    if least == most or least > 1:
        return Set(least, value.origin)
    return Unknown(f"between {least} and {most} nodes", value.origin)


def hosts(value: str) -> int | None:
    """How many hosts a node list names (`a[01-04,7],b`); None where it cannot be told."""
    total, depth, start = 0, 0, 0
    parts = []
    for at, char in enumerate(value):
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            parts.append(value[start:at])
            start = at + 1
    parts.append(value[start:])
    for part in parts:
        found = re.fullmatch(r"[\w.-]*\[([\d,-]+)\][\w.-]*", part)
        if found is None:
            if not re.fullmatch(r"[\w.-]+", part):
                return None
            total += 1
            continue
        for piece in found.group(1).split(","):
            low, _, high = piece.partition("-")
            if not _is_number(low) or (high and not _is_number(high)):
                return None
            total += int(high or low) - int(low) + 1
    return total or None


def integer(value: Setting[str]) -> Setting[int]:
    if not isinstance(value, Set):
        return value
    number = count(value.value)
    return Unknown(f"{value.value!r} is no number", value.origin) if number is None else Set(number, value.origin)


def typed(value: Setting[str]) -> Setting[tuple[str, int]]:
    """`--gpus-per-node`: `8`, `a100:8`, `a100:4,v100:2` (their sum)."""
    if not isinstance(value, Set):
        return value
    kind, total = "", 0
    for part in value.value.split(","):
        found = _TYPED.fullmatch(part.strip())
        if found is None:
            return Unknown(f"{value.value!r} is no number of GPUs", value.origin)
        kind = kind or (found.group(1) or "")
        total += int(found.group(2))
    return Set((kind, total), value.origin)


def gres(value: Setting[str]) -> Setting[tuple[str, int]]:
    """The GPUs of `--gres`: `gpu:8`, `gpu:a100:4(S:0-1)`, `gpu,nvme:1`; absent where it names none."""
    if not isinstance(value, Set):
        return value
    kind, total = "", 0
    for part in re.split(r",(?![^(]*\))", value.value):
        found = _GRES.fullmatch(part.strip())
        if found:
            kind = kind or (found.group(1) or "")
            total += int(found.group(2) or 1)
    return Set((kind, total), value.origin) if total else Absent(value.origin)


def seconds(value: Setting[str]) -> Setting[float]:
    """`--time`: `90` (minutes), `30:00`, `20:00:00`, `2-0`, `2-12:00:00`; absent for no limit."""
    if not isinstance(value, Set):
        return value
    text = value.value.strip()
    if text.lower() in ("0", "infinite", "unlimited", "-1"):
        return Absent(value.origin)
    days, dash, rest = text.partition("-")
    parts = (rest if dash else text).split(":")
    if not all(_is_number(part) for part in parts) or len(parts) > 3 or (dash and not _is_number(days)):
        return Unknown(f"{text!r} is no time", value.origin)
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, secs, *_ = [*numbers, 0, 0, 0]
        return Set(((int(days) * 24 + hours) * 60 + minutes) * 60.0 + secs, value.origin)
    if len(numbers) == 3:
        return Set(numbers[0] * 3600.0 + numbers[1] * 60 + numbers[2], value.origin)
    return Set(numbers[0] * 60.0 + (numbers[1] if len(numbers) == 2 else 0), value.origin)


def array_length(value: str) -> tuple[int, int | None] | None:
    """Elements of `--array` and how many may run at once (`1-20%1` gives 20 and 1); None where it is no array."""
    body, _, limit = value.partition("%")
    total = 0
    for part in body.split(","):
        found = _ARRAY.fullmatch(part.strip())
        if found is None:
            return None
        low, high, step = int(found.group(1)), int(found.group(2) or found.group(1)), int(found.group(3) or 1)
        total += max(0, (high - low) // max(step, 1) + 1)
    return total, int(limit) if _is_number(limit) else None


def allocation(directives: list[Directive], home: Origin, *, reads_size: bool, open_because: str = "") -> Allocation:
    """What the directives of one component ask for. `reads_size`: the script takes its size from Slurm's variables,
    so that a size which is not written comes from the command line. `open_because`: why options that are not written
    may be given all the same."""
    unwritten: Setting[str] = Unknown(open_because, home) if open_because else Absent(home)

    def get(*names: str) -> Setting[str]:
        for directive in reversed(directives):
            if directive.in_force and directive.name in names:
                return directive.value
        return unwritten

    tasks, per_node = integer(get("ntasks")), integer(get("ntasks-per-node"))
    nodes = node_count(get("nodes"))
    per_job = typed(get("gpus"))
    each = _per_node(get)
    if isinstance(nodes, Absent):
        nodes = _derived_nodes(tasks, per_node, per_job, each, get("nodelist"), home, reads_size=reads_size)
    if isinstance(per_node, Absent) and isinstance(tasks, Set) and isinstance(nodes, Set) and nodes.value:
        per_node = Set(-(-tasks.value // nodes.value), tasks.origin)
    if isinstance(tasks, Absent):
        factor: Setting[int] = Set(1, home) if isinstance(per_node, Absent) else per_node
        tasks = _times(nodes, factor)
    accelerators = _accelerators(get, nodes, tasks, per_node, per_job, each)
    return Allocation(nodes, tasks, per_node, accelerators, seconds(get("time")))


def _derived_nodes(
    tasks: Setting[int],
    per_node: Setting[int],
    per_job: Setting[tuple[str, int]],
    each: Setting[tuple[str, int]],
    nodelist: Setting[str],
    home: Origin,
    *,
    reads_size: bool,
) -> Setting[int]:
    """Nodes where `--nodes` is not given."""
    if isinstance(tasks, Set) and isinstance(per_node, Set) and per_node.value:
        return Set(-(-tasks.value // per_node.value), tasks.origin)
    if isinstance(tasks, Set) and tasks.value == 1:
        return Set(1, tasks.origin)  # Slurm gives no job more nodes than tasks, whatever --nodes says
    if isinstance(per_job, Set) and isinstance(each, Set) and each.value[1]:
        return Set(-(-per_job.value[1] // each.value[1]), per_job.origin)
    if isinstance(nodelist, Set):
        named = hosts(nodelist.value)
        if named is not None:
            return Set(named, nodelist.origin)
    for setting in (tasks, per_job, nodelist):
        if isinstance(setting, Unknown):
            return setting
    if isinstance(tasks, Set) and tasks.value > 1:
        return Unknown("the tasks may be spread over several nodes", tasks.origin)
    if reads_size:
        return Unknown(ON_COMMAND_LINE, home)
    return Set(1, Origin(home.place, "default", "Slurm's default", node=home.node))


def _times(first: Setting[int], second: Setting[int]) -> Setting[int]:
    if isinstance(first, Set) and isinstance(second, Set):
        return Set(first.value * second.value, first.origin)
    return second if isinstance(first, Set) else first


def _per_node(get: _Get) -> Setting[tuple[str, int]]:
    found = typed(get("gpus-per-node"))
    if not isinstance(found, Absent):
        return found
    return gres(get("gres", "tres-per-node"))


def _accelerators(
    get: _Get,
    nodes: Setting[int],
    tasks: Setting[int],
    per_node: Setting[int],
    per_job: Setting[tuple[str, int]],
    each: Setting[tuple[str, int]],
) -> Accelerators | None:
    if not isinstance(each, Absent):
        return _made(each, _SLICES.search(_text(get("gres"))) is not None)
    if not isinstance(per_job, Absent):
        return _made(_share(per_job, nodes))
    task = typed(get("gpus-per-task"))
    if isinstance(task, Absent):
        tres = get("tres-per-task")
        task = gres(tres) if not isinstance(tres, Absent) else task
    if not isinstance(task, Absent):
        on_node = per_node
        if isinstance(on_node, Absent) and isinstance(tasks, Set) and isinstance(nodes, Set) and nodes.value:
            on_node = Set(-(-tasks.value // nodes.value), tasks.origin)
        if isinstance(task, Set) and isinstance(on_node, Set):
            return _made(Set((task.value[0], task.value[1] * on_node.value), task.origin))
        return _made(Unknown("the tasks on a node are not known", task.origin))
    socket = get("gpus-per-socket")
    if not isinstance(socket, Absent):
        return _made(Unknown("the sockets of a node are not known", socket.origin))
    return None


def _share(total: Setting[tuple[str, int]], nodes: Setting[int]) -> Setting[tuple[str, int]]:
    if isinstance(total, Set) and isinstance(nodes, Set) and nodes.value:
        kind, number = total.value
        return Set((kind, -(-number // nodes.value)), total.origin)
    return total if isinstance(total, Unknown) else Unknown("the number of nodes is not known", total.origin)


def _text(value: Setting[str]) -> str:
    return value.value if isinstance(value, Set) else ""


def _made(found: Setting[tuple[str, int]], partial: bool = False) -> Accelerators | None:
    origin = found.origin
    if origin is None or isinstance(found, Absent):
        return None
    if isinstance(found, Unknown):
        return Accelerators("gres/gpu", Unknown(found.reason, origin), "", origin, partial)
    kind, number = found.value
    vendor = "" if not kind else "amd" if _AMD.match(kind) else "nvidia"
    return Accelerators("gres/gpu", Set(number, origin), vendor, origin, partial)


def slurm_variables(found: Allocation, get: Mapping[str, Setting[str]], home: Origin) -> dict[str, Setting[str]]:
    """The variables that Slurm sets in the batch script (sbatch(1), OUTPUT ENVIRONMENT VARIABLES)."""

    def text(value: Setting[int]) -> Setting[str]:
        if isinstance(value, Set):
            return Set(str(value.value), Origin(value.origin.place, "derived", "Slurm sets it"))
        return Unknown("Slurm sets it", home)

    variables: dict[str, Setting[str]] = dict.fromkeys(_SET_BY_SLURM, Unknown("Slurm sets it", home))
    variables["SLURM_SUBMIT_DIR"] = Unknown("Slurm sets it", home, path="")
    variables.update(dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), text(found.nodes)))
    variables.update(dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), text(found.tasks)))
    if not isinstance(found.tasks_per_node, Absent):
        variables["SLURM_NTASKS_PER_NODE"] = text(found.tasks_per_node)
    if found.accelerators is not None:
        variables["SLURM_GPUS_ON_NODE"] = text(found.accelerators.count)
    for name, option in _FROM_OPTIONS.items():
        value = get.get(option)
        if value is not None:
            variables[name] = value
    return variables


_SET_BY_SLURM = (
    "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST",
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID", "SLURM_STEP_ID",
    "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_MIN", "SLURM_RESTART_COUNT", "SLURM_TMPDIR",
    "SLURM_TASKS_PER_NODE", "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_PARTITION", "SLURM_JOB_USER",
    "SLURM_CLUSTER_NAME", "SLURMD_NODENAME", "SLURM_JOB_NAME", "SLURM_JOB_QOS", "SLURM_JOB_ACCOUNT", "SLURM_CONF",
    "SLURM_JOB_GPUS", "SLURM_MEM_PER_NODE", "SLURM_JOB_END_TIME", "SLURM_JOB_START_TIME", "CUDA_VISIBLE_DEVICES",
    "SLURM_LAUNCH_NODE_IPADDR", "SLURM_GPUS_ON_NODE",
)  # fmt: skip

_FROM_OPTIONS = {
    "SLURM_JOB_NAME": "job-name",
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_JOB_PARTITION": "partition",
}
