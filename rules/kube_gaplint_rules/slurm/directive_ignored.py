from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kube_gaplint import lazy_re
from kube_gaplint.facts.sbatch import TAKES_NO_TEXT
from kube_gaplint.findings import AddLine, Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.slurm import Batch, Directive
from kube_gaplint.rule import Context, rule

HARMLESS = frozenset(
    {"requeue", "open-mode", "signal", "output", "error", "mail-type", "mail-user", "job-name", "comment"}
)
"""Options that ask for no other resources: what they bring into force adds resilience or names."""
WHERE = frozenset(
    {"account", "clusters", "constraint", "exclude", "nodelist", "partition", "prefer", "qos", "reservation"}
)
"""Options that choose where and at what price a job runs: people switch them on and off from run to run."""
NEEDED = frozenset(
    {"requeue", "open-mode", "signal", "time", "nodes", "ntasks", "ntasks-per-node", "gres", "gpus", "gpus-per-node",
     "gpus-per-task", "gpus-per-socket"}
)  # fmt: skip
"""Options that make a job what it is: how it ends and starts again, how large it is and how long it may run. Nobody
would rather run it without, as people do without `--mem`, `--exclusive` or mail."""

CHECKED_BY_SOME = frozenset({"account", "qos"})
"""Options whose names Slurm looks up where `AccountingStorageEnforce` says so."""
_ONLY_A_SHELL = lazy_re.compile(r"\$\{\w+:[-=?]")
"""A variable with what holds where it is not set: `envsubst` knows nothing of the kind."""


@rule(
    code="SLURM008",
    name="directive-ignored",
    view=Batch,
    severity=Severity.ERROR,
    evidence_kind="facts",
    sources=("slurm-sbatch", "slurm-srun"),
)
def check(batch: Batch, _context: Context) -> Iterator[Gap]:
    """An #SBATCH line has no effect, so the job runs without what it asks for.

    ## What it flags
    A line that sbatch does not read: behind the first command, with a blank between `#` and `SBATCH` in front of an
    option, indented, or with an option that only srun knows (sbatch then refuses the whole script). Some people switch
    lines off with a blank. So it is info, while other directives are in force, where the line, or one next to it that
    is written alike, chooses where the job runs (`--partition`, `--qos`): a preemptible queue goes with its
    `--requeue`. It is info for what a job runs without as well (`--mem`, `--exclusive`, mail); an error for what makes
    the job what it is: `--requeue`, `--signal`, `--open-mode`, `--time`, nodes, tasks, GPUs; and a warning for the
    first kind next to the second. Quiet for `##SBATCH`, for prose, for here-documents that hold another script, for a
    commented-out alternative of an option that is in force, and for placeholders (`<your options>`, `{{ options }}`,
    also on a line of their own: `{account_line}`), which somebody fills in. A shell variable where Slurm wants a number
    or a name (`--nodes=$NODES`) is flagged where a README or a script beside it gives this very file to sbatch and
    nothing there may fill it in first (`envsubst`, `sed`), and where only a shell could: `--account=${ACCOUNT:?}`. A
    script with the marks of a merge that was never resolved is told so, once: bash ends at the first of them.

    ## Why it hurts
    This rule follows from how sbatch reads a script: it stops at the first line that is neither blank nor a comment,
    and expands nothing. A `--requeue`, `--signal` or `--open-mode` below a `module load` looks right and does nothing;
    the run that was to start again after a crash does not. `#SBATCH --kill-on-bad-exit=1` does not exist: that is an
    option of srun.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    module load cuda
    #SBATCH --signal=USR1@600
    srun python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    #SBATCH --signal=USR1@600
    module load cuda
    srun python -u train.py
    ```

    ## When to keep it
    Never: comment such a line out with `##SBATCH`.

    ## Fix safety
    Safe for lines on requeueing, signals and logs; unsafe for others: a line that comes into force changes what the job
    asks for. An option of srun has to be moved by hand.

    ## References
    - https://slurm.schedmd.com/sbatch.html#SECTION_DESCRIPTION
    - https://slurm.schedmd.com/srun.html
    """
    if batch.unresolved_merge is not None:
        yield _unresolved(batch, batch.unresolved_merge)
        return
    ignored = [
        one for one in batch.directives if one.problem and not one.is_placeholder and not _switched_off(batch, one)
    ]
    late = [one for one in ignored if one.after_command]
    if late:
        yield _gap(batch, late)
    for one in ignored:
        if not one.after_command:
            yield _gap(batch, [one])
    literal = [one for one in batch.directives if _is_literal(batch, one)]
    if literal:
        yield _refused(batch, literal)


def _unresolved(batch: Batch, mark: Origin) -> Gap:
    workload = batch.workload
    devices = None if workload is None else workload.accelerators_per_node
    return Gap(
        mark,
        "a merge was never resolved: sbatch reads no directive behind this mark, and bash ends at it with a syntax "
        "error",
        "the job fails at this line",
        detail="merge",
        severity=Severity.ERROR if isinstance(devices, Set) and devices.value > 0 else Severity.WARNING,
        fix=Fix("keep one of the two sides, and take the marks out"),
    )


def _is_literal(batch: Batch, directive: Directive) -> bool:
    """It holds a shell variable where Slurm takes no text, and nothing fills it in: the file is submitted as it stands,
    or only a shell would know what to do with it."""
    if not directive.variable or not directive.in_force or directive.name not in TAKES_NO_TEXT:
        return False
    if directive.name in batch.submitted_with:
        return False
    return batch.submitted_as_is is not None or (
        batch.stands_alone and _ONLY_A_SHELL.match(directive.variable) is not None
    )


def _refused(batch: Batch, literal: list[Directive]) -> Gap:
    first, submitted = literal[0], batch.submitted_as_is
    shown = " and ".join(f"--{one.name} is {one.variable}" for one in literal)
    as_it_stands = ", and this file is given to it as it stands" if submitted is not None else ""
    return Gap(
        Origin(first.place),
        f"{shown}: sbatch expands no shell variables{as_it_stands}",
        "a cluster that checks accounts does not accept the job"
        if all(one.name in CHECKED_BY_SOME for one in literal)
        else "the job is not accepted at all",
        detail="variable+" + "+".join(sorted({one.name for one in literal})),
        severity=Severity.ERROR if batch.trains else Severity.WARNING,
        related=() if submitted is None else (Related(submitted, "submitted here"),),
        fix=Fix(f"take the line out and give --{first.name} to sbatch on the command line, or write the value"),
    )


def _severity(batch: Batch, first: Directive) -> Severity:
    loud = Severity.ERROR if batch.trains else Severity.WARNING
    if not first.is_comment or not first.line.text.startswith("#"):  # nobody switches a line off by indenting it
        return loud
    if first.after_command:
        return Severity.WARNING
    block = _blocks(batch)[first.line.start.line]
    chooses = not WHERE.isdisjoint(block)
    if not _some_in_force(batch):  # its author takes them for directives, or runs the script without Slurm
        return Severity.WARNING if chooses else loud
    if chooses or NEEDED.isdisjoint(block):
        return Severity.INFO
    return loud if first.name in NEEDED else Severity.WARNING


@lru_cache(maxsize=4)
def _some_in_force(batch: Batch) -> bool:
    """Whether its author knows how a directive is written."""
    return any(one.in_force for one in batch.directives)


@lru_cache(maxsize=4)
def _blocks(batch: Batch) -> dict[int, set[str]]:
    """By line, the options of the commented lines, one below the other, that a commented line is one of."""
    names: dict[int, set[str]] = {}
    for one in batch.directives:
        if one.is_comment:
            names.setdefault(one.line.start.line, set()).add(one.name)
    blocks: dict[int, set[str]] = {}
    for line in sorted(names):
        blocks[line] = blocks.get(line - 1, set())
        blocks[line] |= names[line]
    return blocks


def _switched_off(batch: Batch, directive: Directive) -> bool:
    """A comment that is the alternative of an option in force, or a line that says the same once more."""
    inside = batch.directive(directive.name)
    if inside is None:
        return False
    return directive.is_comment or inside.value == directive.value or _text(inside) == _text(directive)


def _text(directive: Directive) -> str | None:
    return directive.value.value if isinstance(directive.value, Set) else None


def _gap(batch: Batch, ignored: list[Directive]) -> Gap:
    """One finding for lines with one cause: everything behind the first command."""
    first = ignored[0]
    names = [f"--{one.name}" if _is_option(one) else one.name for one in ignored]
    shown = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "is" if len(names) == 1 else "are"
    refused = "sbatch refuses" in first.problem
    problem = first.problem if len(ignored) == 1 else first.problem.replace("it stands", "they stand", 1)
    return Gap(
        Origin(first.line if refused else first.place),
        f"{shown} {verb} not in force: {problem}",
        "the job is not accepted at all" if refused else "the job runs without what these lines ask for",
        detail="+".join(sorted({one.name for one in ignored})),
        severity=_severity(batch, first),
        related=tuple(Related(Origin(one.place), "not in force either") for one in ignored[1:]),
        fix=_fix(batch, ignored),
    )


def _is_option(directive: Directive) -> bool:
    return directive.place.text.startswith("-")


def _fix(batch: Batch, ignored: list[Directive]) -> Fix:
    first = ignored[0]
    if not _is_option(first):
        return Fix(f"take {first.name} out of the line, or write the option that it belongs to")
    if first.after_command:
        title = "move the line up, above the first command"
        if any(isinstance(one.value, Unknown) for one in ignored):
            return Fix(title)  # a template's line may stand where it does for a reason
        return Fix(title, tuple(_moved(batch, ignored)), safe={one.name for one in ignored} <= HARMLESS)
    if first.is_comment:
        options = first.line.text.partition("SBATCH")[2]
        change = ReplaceValue(Origin(first.line), f"#SBATCH{options}", raw=True)
        return Fix("write #SBATCH without a blank, in the first column", (change,), safe=first.name in HARMLESS)
    return Fix(f"give --{first.name} to srun, and take the line out")


def _moved(batch: Batch, ignored: list[Directive]) -> Iterator[Change]:
    seen: set[int] = set()
    for one in ignored:
        if one.line.span.start not in seen:
            seen.add(one.line.span.start)
            yield AddLine(Origin(batch.header), one.line.text.rstrip(), "header")
            yield ReplaceValue(Origin(one.line), f"#{one.line.text}", raw=True)
