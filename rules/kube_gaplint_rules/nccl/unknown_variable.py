from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.frameworks import PLAIN_TIMEOUT
from kube_gaplint.facts.variables import (
    Variable,
    edit_distance,
    exists,
    is_ours,
    is_private,
    nearest,
    reading,
    variable,
)
from kube_gaplint.findings import Change, Fix, Gap, Related, RemoveEntry, RenameKey, Severity
from kube_gaplint.model.budget import large
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Set
from kube_gaplint.model.variables import GivenVariable, given_variables, names_in_use
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

NEAR = 2
"""Typing errors up to which a name surely means the real one."""


@rule(
    code="NCCL007",
    name="unknown-variable",
    view=Workload,
    severity=Severity.WARNING,
    evidence_kind="facts",
    sources=("nccl-source", "nccl-env", "pytorch-process-group-nccl", "invented-timeout"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A variable that looks like NCCL's or torch's is read by no release: it is misspelt, or made up.

    ## What it flags
    A name that begins with `NCCL_`, `TORCH_NCCL_` or `TORCH_FR_` and is in no release of NCCL (2.3 to 2.30) or torch
    (1.7 to 2.14), and names with another beginning that are set in the same belief (`TORCH_DISTRIBUTED_TIMEOUT`,
    `TORCH_CUDA_ALLOC_CONF`). It looks wherever a variable is written: `env`, a ConfigMap behind `envFrom`, `export`,
    `mpirun -x`, `srun --export`. Names of plugins and images (`NCCL_FASTRAK_…`, `NCCL_VERSION`) are known, and a name
    that a visible script, program or `$(NAME)` uses is the user's own. Info outside of training on several GPUs (for
    programs that are not known to train, where several GPUs or pods are not sure), where the real name is set beside
    it, and for a name with a word that no real one has (`NCCL_CONTAINER`) or one that is near no real name, where a
    program is not visible: that is likely your own.

    ## Why it hurts
    NCCL and torch say nothing about a name that they do not know, so the setting is believed to be in force. The most
    frequent one in public manifests is `NCCL_TIMEOUT`, set to give a slow step more time: the collective still ends
    after 10 or 30 minutes. This follows from the source of both; no incident report names a misspelt variable as its
    cause, which is what one expects of a setting that fails in silence.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: refit}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:2.4.1-cuda12.4-cudnn9-runtime
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            env: [{name: NCCL_IB_RETRY_COUNT, value: "7"}]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: refit}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:2.4.1-cuda12.4-cudnn9-runtime
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            env: [{name: NCCL_IB_RETRY_CNT, value: "7"}]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When your own program reads the variable and is not in the given paths. A name without `NCCL_` would tell it apart.

    ## Fix safety
    Renaming is safe where one real name is at most two typing errors away, unsafe where the words were in another order
    or the name was made up. A name that wanted something no variable does gets advice and no edit.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    """
    used: frozenset[str] | None = None
    for given in given_variables(workload):
        if not is_ours(given.name) or exists(given.name):
            continue
        if used is None:
            used = names_in_use(workload)
        if given.name not in used:
            yield from _gap(workload, given)


def _gap(workload: Workload, given: GivenVariable) -> Iterator[Gap]:
    row, meant = variable(given.name), nearest(given.name)
    if meant is None and row is None and any(one.vendor == "amd" for one in given.container.accelerators):
        return  # RCCL reads names of its own that the table does not list
    message = f"no release of NCCL or torch reads {given.name}"
    if meant is not None and (row is None or not row.note):
        message += f"; the real name is {meant.name}"
    own = meant is None and row is None and is_private(given.name)
    doubled = meant is not None and _is_set(workload, meant)
    own = own or (meant is None and row is None and _hides_programs(workload))
    # Of what is not known to train, several GPUs must be seen: it may be a preparation of data.
    trains = workload.purpose == "training" or (workload.purpose == "unknown" and large(workload, 2))
    loud = trains and not workload.alone and not own and not doubled
    related, consequence = _what_holds(workload, given, row, meant)
    yield Gap(
        given.named_at,
        message,
        consequence,
        detail=given.name,
        severity=None if loud else Severity.INFO,
        related=related,
        fix=_fix(workload, given, row, meant),
        container=given.container.name,
    )


def _hides_programs(workload: Workload) -> bool:
    """A program is not visible, which may read a name of its own."""
    return not workload.processes or any(process.opaque_because for process in workload.processes)


def _is_set(workload: Workload, meant: Variable) -> bool:
    """The real name is set beside the invented one, so that nothing is lost but clarity."""
    return any(meant.name in process.environment for process in workload.processes)


def _what_holds(
    workload: Workload, given: GivenVariable, row: Variable | None, meant: Variable | None
) -> tuple[tuple[Related, ...], str]:
    """What is in force instead of the setting, and where that stands."""
    value = f"{given.value.value!r} " if isinstance(given.value, Set) and len(given.value.value) <= 40 else ""
    lead = f"its value {value}has no effect"
    if row is not None and row.wants_timeout:
        for process in workload.processes:
            timeout = process.settings.timeout
            if isinstance(timeout, Set) and timeout.value > 0:
                who = process.framework.title if process.framework is not None else process.program
                set_here = Related(timeout.origin, "the timeout in force")
                return (set_here,), f"{lead}: a collective of {who} times out after {duration(timeout.value)}"
    if row is not None and row.note:
        return (), f"{lead}: {row.note}"
    if meant is not None:
        if _is_set(workload, meant):
            return (), f"{lead}: {meant.name} is set as well, and that is what counts"
        default = f", {meant.default}" if meant.default.isdecimal() else ""
        return (), f"{lead}: {meant.name} keeps its default{default}"
    return (), lead


def _fix(workload: Workload, given: GivenVariable, row: Variable | None, meant: Variable | None) -> Fix:
    if row is not None and row.wants_timeout:
        frameworks = [process.framework for process in workload.processes if process.framework is not None]
        how = next((framework.timeout_option for framework in frameworks if framework.timeout_option), "")
        return Fix(f"set the process-group timeout by {how or PLAIN_TIMEOUT}, and remove {given.name}")
    if meant is None:
        return Fix(f"remove {given.name}, or give your own variable another beginning")
    if row is not None and row.note:
        return Fix(f"use {meant.name}: {row.note}")
    if _is_set(workload, meant):
        return Fix(
            f"remove {given.name}: {meant.name} is set as well",
            (RemoveEntry(given.origin),) if given.stands_alone else (),
        )
    changes: tuple[Change, ...] = (RenameKey(given.named_at, meant.name),) if given.stands_alone else ()
    safe = edit_distance(given.name, meant.name, NEAR) <= NEAR and _fits(given, meant)
    return Fix(f"rename it to {meant.name}", changes, safe=safe)


def _fits(given: GivenVariable, meant: Variable) -> bool:
    """Whether the value means something to the real variable."""
    value = given.value
    return isinstance(value, Set) and not reading(meant, value.value, nccl=given.nccl, torch=given.torch).trouble
