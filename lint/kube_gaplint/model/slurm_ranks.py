"""Programs that take their rank and the number of ranks from Slurm: only what srun starts has more than the first."""

from __future__ import annotations

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.units import as_integer

_READ = r"os\.(?:environ(?:\.get)?\s*[\[(]|getenv\()\s*[\"']"
_TAKES_ITS_RANK = lazy_re.compile(rf"rank\w*\s*=\s*(?:int\(\s*)?{_READ}SLURM_PROCID[\"']")
_TAKES_THE_WORLD = lazy_re.compile(rf"(?i:world_?size)\w*\s*=\s*(?:int\(\s*)?{_READ}SLURM_N(?:TASKS|PROCS)[\"']")
_MAKES_THE_GROUP = "init_process_group("
_BY_OTHER_MEANS = lazy_re.compile(r"[\"'](?:RANK|LOCAL_RANK|WORLD_SIZE)[\"']|\bspawn\(|start_processes\(|submitit")
"""It reads what torchrun sets, or starts its processes itself."""
_OF_ONE_NODE = frozenset({"torchrun", "torch.distributed.launch", "python"})


def ranks_never_started(process: TrainingProcess) -> Set[int] | None:
    """The tasks of a batch job for whose ranks a program waits, though it is started in the batch shell, whose rank is
    the first. None where that is not sure."""
    if process.workload.batch is None or not _OF_ONE_NODE.issuperset(process.layers()):
        return None
    environment = process.container.environment
    tasks = as_integer(environment.get("SLURM_NTASKS"))
    own = (process.environment.get(name) for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_NPROCS"))
    if not isinstance(tasks, Set) or tasks.value < 2:
        return None
    if any(isinstance(value, Set) and value.origin.written for value in own):
        return None
    texts = list(process.text.texts)
    if any(map(_BY_OTHER_MEANS.search, texts)) or not any(_MAKES_THE_GROUP in text for text in texts):
        return None
    takes = any(_TAKES_ITS_RANK.search(text) and _TAKES_THE_WORLD.search(text) for text in texts)
    return tasks if takes else None
