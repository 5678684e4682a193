from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import AddOption, Fix, Gap, ReplaceValue, Severity
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.slurm import Batch, Step, name_holds
from kube_gaplint.rule import Context, rule

DEFAULT = "slurm-%j.out"
"""sbatch's own file name."""
NODE_OR_RANK = "Nnt"
BY_RANK = ("log-dir", "log_dir", "tee", "t", "redirects", "r", "output-filename")
"""Options of launchers that keep the output of ranks apart."""


@rule(
    code="SLURM009",
    name="log-without-node-name",
    view=Batch,
    severity=Severity.INFO,
    evidence=("bigscience-13b-shm-bad-node",),
    tier="later",
)
def check(batch: Batch, _context: Context) -> Iterator[Gap]:
    """The log does not tell which host wrote a line, so a bad node cannot be found and excluded.

    ## What it flags
    A multi-node training whose output file has neither the host (`%N`), nor the node's number (`%n`), nor the task
    (`%t`) in its name, and whose steps neither write files of their own by host or rank (`--output`, options of
    launchers, redirections in the script that `srun` starts) nor label their lines (`srun --label`).

    ## Why it hurts
    BigScience's 13B model crashed with a bus error after ten hours. The log named no host, the same faulty node was
    handed out again weeks later, and the next job crashed at once. They put `%N` into `--output` and kept a list of
    nodes to exclude.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    #SBATCH --output=/logs/%x-%j.out
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    #SBATCH --output=/logs/%x-%j.out
    srun --kill-on-bad-exit=1 --wait=60 --output=/logs/%x-%j-%N.out python -u train.py
    ```

    ## When to keep it
    The program or a collector writes the host into each line.

    ## Fix safety
    Safe: the file of a step gets the host into its name. Where the step writes into the job's file or into a pipe, srun
    puts the number of the task before each line.

    ## References
    - https://slurm.schedmd.com/srun.html#SECTION_IO-Redirection
    """
    own = batch.get("output")
    if not batch.trains_on_several_nodes or isinstance(own, Unknown):
        return
    for step in batch.training_steps:
        name = step.log if isinstance(step.log, Set) else own
        told = _tells(name) or step.logs_apart or _labels(step) or _by_rank(batch)
        if not isinstance(step.log, Unknown) and not told:
            yield _gap(batch, step, name)
            return


def _tells(name: Setting[str]) -> bool:
    return isinstance(name, Set) and (name.value == "/dev/null" or name_holds(name.value, NODE_OR_RANK))


def _labels(step: Step) -> bool:
    """srun writes the task's number before each line."""
    return step.options.find("label") is not None or "SLURM_LABELIO" in step.command.environment


def _by_rank(batch: Batch) -> bool:
    """The launcher writes a file, or a prefix, for each rank."""
    processes = () if batch.workload is None else batch.workload.processes
    return any(launcher.options.find(*BY_RANK) for process in processes for launcher in process.launchers)


def _gap(batch: Batch, step: Step, name: Setting[str]) -> Gap:
    shown = name.value if isinstance(name, Set) else DEFAULT
    directive = batch.directive("output")
    origin = Origin(batch.header if directive is None else directive.place)
    if isinstance(name, Set) and name.value == shown:
        origin = name.origin
    assert batch.workload is not None
    return Gap(
        origin,
        f"{shown} tells neither host nor rank",
        f"when one of {size(batch.workload)} fails, nobody can tell which one to exclude",
        detail="output",
        fix=_fix(step, origin, shown),
    )


def _fix(step: Step, origin: Origin, name: str) -> Fix:
    """srun makes a file for each host of a name that holds one; all else takes what srun writes as it comes."""
    if step.options.find("output", "o") is not None:
        text = origin.place.text
        changes = (ReplaceValue(origin, text.removesuffix(name) + _with_host(name)),) if text.endswith(name) else ()
        return Fix("put the host into the file's name: %N", changes, safe=True)
    if step.launcher != "srun":
        return Fix("let each rank write a file of its own, or its number before each line")
    return Fix("let srun write the task's number before each line", (AddOption(step.origin, ("--label",)),), safe=True)


def _with_host(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-%N.{ending}" if dot and "/" not in ending and "%" not in ending else f"{name}-%N"
