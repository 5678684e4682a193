from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.nccl import STRICT_ALGORITHMS_SINCE, TOKENS
from kube_gaplint.facts.variables import Reading, Variable, reading, variable
from kube_gaplint.findings import Fix, Gap, SetVariable, Severity
from kube_gaplint.model.setting import Set
from kube_gaplint.model.variables import GivenVariable, in_force
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

LONG_TIMEOUT = "22"
"""Of NCCL_IB_TIMEOUT: two minutes with seven tries."""


@rule(
    code="NCCL008",
    name="ineffective-value",
    view=Workload,
    severity=Severity.WARNING,
    evidence_kind="facts",
    sources=("nccl-param", "nccl-source", "pytorch-cvar"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A variable has a value that its reader takes for something else, up to the opposite of what is written.

    ## What it flags
    NCCL reads numbers with `strtoll`: `true`, `yes` and `on` become 0, so `NCCL_IB_DISABLE=true` leaves InfiniBand on;
    `010` is 8; text after a number is dropped. `NCCL_P2P_DISABLE` acts for exactly 1. `NCCL_IB_TIMEOUT` 0 or from 32 on
    waits for ever. `NCCL_DEBUG=ERROR` means nothing. `NCCL_DEBUG_SUBSYS=WARN` names no subsystem: up to NCCL 2.30.4
    nothing is printed then, warnings neither. A word in `NCCL_ALGO` or `NCCL_PROTO` that the release does not
    know fails at the start since NCCL 2.24. torch ends the process at the start over text in a number, or over anything
    but 1/t/true/y/yes and 0/f/false/n/no in a switch. Error where the setting ends up the opposite of what is written
    or the process cannot start; info outside of training on several GPUs.

    ## Why it hurts
    The value looks right to everybody who reads the manifest. A team had `NCCL_IB_TIMEOUT=60` in its scripts: the field
    has 5 bits, 60 means no limit, and hung transfers never ended until 23 took its place (OpenThoughts-Agent, pull
    request 77). The rest follows from the source: no report tells how many runs went over the wrong transport
    unnoticed.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ethernet}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_DISABLE, value: "true"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ethernet}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_DISABLE, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never: write the value that is meant. A value that another tool reads first belongs into a name of that tool.

    ## Fix safety
    Safe where the meaning is plain: `true` becomes 1, `NCCL_DEBUG=ERROR` becomes WARN, `60` seconds of InfiniBand
    timeout become 22. Other values need a person.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    - https://github.com/NVIDIA/nccl/blob/master/src/misc/param.cc
    - https://github.com/open-thoughts/OpenThoughts-Agent/pull/77
    """
    for given in in_force(workload):
        row = variable(given.name)
        if row is None or row.owner not in {"nccl", "torch"} or not isinstance(given.value, Set):
            continue
        text = given.value.value
        read = reading(row, text, nccl=given.nccl, torch=given.torch)
        if read.trouble:
            yield _gap(workload, given, row, text, read)


def _gap(workload: Workload, given: GivenVariable, row: Variable, text: str, read: Reading) -> Gap:
    shown = f"{given.name}={text if len(text) <= 60 else text[:59] + '…'}"
    loud = workload.purpose in {"training", "unknown"} and not workload.alone
    bad = read.opposite or read.trouble == "ends-the-process"
    message, consequence = _words(row, read)
    value = _meant(row, text, read)
    fix = None
    if value is not None and given.stands_alone:
        changes = (SetVariable(given.container.environment.home, given.name, value),)
        fix = Fix(f"write {given.name}={value}", changes, safe=True)
    elif value is not None:
        fix = Fix(f"write {given.name}={value}")
    elif read.trouble == "filters-all":
        fix = Fix(f"remove {given.name}: NCCL_DEBUG alone sets the level")
    return Gap(
        given.origin,
        f"{shown} {message}",
        consequence,
        detail=f"{given.name}: {read.trouble}",
        severity=Severity.INFO if not loud else Severity.ERROR if bad else Severity.WARNING,
        fix=fix,
        container=given.container.name,
    )


def _words(row: Variable, read: Reading) -> tuple[str, str]:
    """The message after the value, and what it leads to."""
    words = ", ".join(read.words)
    if read.trouble == "becomes-zero":
        meaning = "the opposite of what is written" if read.opposite else "whatever is written"
        return "is no number: NCCL reads 0", f"the setting ends up as 0, {meaning}"
    if read.trouble == "no-effect":
        return "has no effect: only 1 switches P2P off", "P2P between GPUs stays on"
    if read.trouble == "for-ever":
        return "is no valid timeout: it means no limit", "a transfer over a dead link is never given up, the job hangs"
    if read.trouble == "octal":
        return f"is octal and becomes {read.effective}", f"{read.effective} is in force"
    if read.trouble == "cut":
        return f"is read as {read.effective}: the text after the number is dropped", f"{read.effective} is in force"
    if read.trouble == "too-large":
        return "is beyond 64 bits and passed over", "the default is in force"
    if read.trouble == "out-of-range":
        low, high = row.range or (0, 0)
        return f"is out of range: {low} to {high} are valid", "what happens then is not defined"
    if read.trouble == "filters-all":
        return "names no subsystem: NCCL prints nothing at all then, warnings neither", (
            "what NCCL has to say about the failure of a rank is not in the log"
        )
    if read.trouble == "unknown-word":
        return f"is not understood: {words} is no {_kind(row)}", _passed_over(row)
    if row.name in {"NCCL_ALGO", "NCCL_PROTO"}:
        return f"fails at the start: NCCL does not know {words}", "no rank gets past its first communicator"
    return f"ends every process at the start: torch takes {_accepted(row)}", "no rank gets past init_process_group"


def _kind(row: Variable) -> str:
    if row.name == "NCCL_ALGO":
        return "algorithm"
    return "protocol" if row.name == "NCCL_PROTO" else f"{'level' if row.reader == 'level' else 'value'} of {row.name}"


def _passed_over(row: Variable) -> str:
    strict = ".".join(map(str, STRICT_ALGORITHMS_SINCE))
    if row.name in {token.variable for token in TOKENS}:
        return f"NCCL chooses without it; from NCCL {strict} on every process fails at the start"
    return f"{row.name} keeps its default; it takes {', '.join(row.words)}"


def _accepted(row: Variable) -> str:
    if row.words:
        return ", ".join(row.words)
    return "a whole number" if row.reader == "stoi" else "1, t, true, y, yes or 0, f, false, n, no"


_ON, _OFF = frozenset({"on", "enable", "enabled"}), frozenset({"off", "disable", "disabled"})
_TRUE, _FALSE = _ON | {"true", "t", "yes", "y"}, _OFF | {"false", "f", "no", "n"}


def _meant(row: Variable, text: str, read: Reading) -> str | None:
    """The value that was plainly meant; None where it is not plain."""
    word = text.strip().lower()
    if read.trouble == "for-ever":
        return LONG_TIMEOUT if text.strip().isdecimal() and text.strip("0 ") else None
    if read.opposite:
        return "1"
    if row.name == "NCCL_DEBUG":
        return {"ERROR": "WARN", "WARNING": "WARN", "DEBUG": "INFO"}.get(word.upper())
    if row.reader == "level" and word.upper() in row.words:
        return word.upper()
    if read.trouble == "ends-the-process" and row.reader in {"stoi", "torch-flag"}:
        if word in _TRUE or text.strip() == "1":
            return "1"
        return "0" if word in _FALSE else None
    return None
