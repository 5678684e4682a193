from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.facts.rendezvous import INSTEAD, OUTSIDE_STORES, ignored_keys, keys_of
from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.needs import has_agent
from kube_gaplint.model.rendezvous import agent_of, is_foreign, spans_nodes
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import Launcher, TrainingProcess
from kube_gaplint.rule import Context, rule

_CONF = lazy_re.compile(r"((?:--?[\w-]*conf=)?)(.*)", re.DOTALL)
_NO_ID = frozenset({"none", ""})


@rule(
    code="RETRY018",
    name="static-rendezvous-restart",
    view=TrainingProcess,
    needs=(has_agent,),
    severity=Severity.WARNING,
    sources=("pytorch-static-rendezvous", "pytorch-rendezvous", "pytorch-rdzv-conf"),
    evidence_kind="facts",
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """torchrun is to restart its workers, but the rendezvous does not let the other nodes take part.

    ## What it flags
    On several nodes: `--max-restarts` above 0 (or `PET_MAX_RESTARTS`, accelerate's `--max_restarts`) with the static
    rendezvous, which is the default without `--rdzv-backend`; keys of `--rdzv-conf` that the chosen backend does not
    read (`timeout` with c10d); and `--rdzv-id` left at `none` on a store that other jobs use as well. An elasticPolicy
    of a PyTorchJob chooses c10d by itself. A key that is there for other backends (`join_timeout=600,timeout=600`) is
    left alone: the backend reads the one that it knows.

    ## Why it hurts
    The static rendezvous fixes the world once and never reports waiting nodes. When node A's agent starts its workers
    again, node B's agent does not notice: B's ranks hang in their collective until it times out, and A's wait for them.
    Users report exactly that: one worker exits, the others keep running, nothing restarts (pytorch#146371). A job whose
    node was stopped died although `timeout=120` was configured, which c10d does not know (pytorch#182221). The rule
    stands on PyTorch's code; no report of a large run names this condition.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: gpt}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          subdomain: gpt
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [sh, -c, "exec torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$JOB_COMPLETION_INDEX
              --master-addr=gpt-0.gpt --max-restarts=5 train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: gpt}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          subdomain: gpt
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [sh, -c, "exec torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id=gpt
              --rdzv-endpoint=gpt-0.gpt:29500 --max-restarts=5 train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where each node trains by itself, so that nobody has to come back.

    ## Fix safety
    Unsafe: what `--rdzv-conf` says in vain is renamed, so that it comes into force, or taken out where nobody reads it.
    Another backend or id is left to you: c10d needs an endpoint that all nodes reach, and its store lives in the pod
    behind it.

    ## References
    - https://docs.pytorch.org/docs/stable/elastic/run.html
    - https://github.com/pytorch/pytorch/issues/146371
    - https://github.com/pytorch/pytorch/issues/182221
    """
    agent = agent_of(process)
    if agent is None or not process.workload.trains or not spans_nodes(process, agent):
        return
    backend = agent.rendezvous_backend
    if not isinstance(backend, Set):
        return
    if backend.value == "static":
        yield from _static(process, agent, backend)
    yield from _ignored(process, agent, backend)
    yield from _shared(process, agent, backend)


def _static(process: TrainingProcess, agent: Launcher, backend: Set[str]) -> Iterator[Gap]:
    restarts = agent.max_restarts
    if not isinstance(restarts, Set) or restarts.value <= 0:
        return
    default = "" if backend.origin.written else ", the default"
    yield Gap(
        restarts.origin,
        f"{agent.kind} may restart its workers {restarts.value} times, but the rendezvous is static{default}: the "
        "other nodes never join again",
        f"after one crash the rest of {size(process.workload)} hangs until its collective times out",
        detail="static",
        related=(Related(backend.origin if backend.origin.written else agent.origin, "the static rendezvous"),),
        fix=Fix("use --rdzv-backend=c10d with --rdzv-endpoint and --rdzv-id, or an elasticPolicy"),
        container=process.container.name,
    )


def _ignored(process: TrainingProcess, agent: Launcher, backend: Set[str]) -> Iterator[Gap]:
    conf = agent.rendezvous_conf
    if not isinstance(conf, Set):
        return
    for key in ignored_keys(backend.value, conf.value):
        instead = INSTEAD.get((backend.value, key), "")
        if instead in keys_of(conf.value):
            continue  # what is meant is said twice, for this backend and for others
        yield Gap(
            conf.origin,
            f"--rdzv-conf sets {key}, which the {backend.value} rendezvous does not read"
            + (f": {instead} is what it calls it" if instead else ""),
            "the default stays in force, and nothing says so",
            detail=f"conf {key}",
            fix=_fix(conf.origin, key, instead),
            container=process.container.name,
        )


def _fix(conf: Origin, key: str, instead: str) -> Fix:
    """What the backend calls it, or without it: then what is in force is what is written."""
    title = f"set {instead} instead" if instead else f"leave {key} out, or choose the backend that reads it"
    found = _CONF.fullmatch(conf.place.text.strip("\"'"))
    assert found is not None
    pairs = found[2].split(",")
    names = [pair.partition("=")[0].strip() for pair in pairs]
    if names.count(key) != 1 or instead in names or not all("=" in pair for pair in pairs):
        return Fix(title)
    at = names.index(key)
    kept = [f"{instead}={pairs[at].partition('=')[2]}"] if instead else []
    text = ",".join([*pairs[:at], *kept, *pairs[at + 1 :]])
    return Fix(title, (ReplaceValue(conf, found[1] + text),) if text else ())


def _shared(process: TrainingProcess, agent: Launcher, backend: Set[str]) -> Iterator[Gap]:
    identity, endpoint = agent.rendezvous_id, agent.rendezvous_endpoint
    if not isinstance(identity, Set) or identity.value not in _NO_ID or not isinstance(endpoint, Set):
        return
    if backend.value in OUTSIDE_STORES or (backend.value == "c10d" and is_foreign(process, endpoint.value)):
        yield Gap(
            identity.origin if identity.origin.written else endpoint.origin,
            f"--rdzv-id is {identity.value or 'empty'} on {endpoint.value}, a store that other jobs may use: jobs with "
            "the same id meet each other",
            "a job that starts meanwhile joins this one's rendezvous, or finds it closed by the last run",
            detail="id",
            fix=Fix("give each job a --rdzv-id of its own"),
            container=process.container.name,
        )
