from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.purposes import END_TO_END, ON_PURPOSE, PEOPLE_LOG_IN, TRIAL_NAMES, words_of
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.endless import only_waits
from kube_gaplint.model.needs import runs_other_commands
from kube_gaplint.model.scale import noun
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule

_STARTED_FROM_OUTSIDE = frozenset({"MPIJob", "RayCluster", "RayJob", "RayService"})
"""Kinds whose controller or launcher starts the work in pods that wait."""
_SHARED = "nvidia.com/gpu"
"""The resource of which one is a share of a card where the device plugin is told so."""
_OTHERS = frozenset({"cpu", "benchmark", "inference"})


@rule(
    code="SCHED004",
    name="idle-gpu-holder",
    view=Workload,
    needs=(runs_other_commands,),
    severity=Severity.WARNING,
    evidence=("msr-low-gpu-util",),
    evidence_kind="derived",
    tier="later",
    sources=("pai-idle-jobs", "gpu-pruner"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A container holds GPUs and only sleeps.

    ## What it flags
    A container with GPUs that runs nothing but `sleep infinity`, `tail -f /dev/null` or a loop of naps. Workers of an
    MPIJob and whatever runs an ssh server wait for their launcher; a terminal (`tty`), and names, images, labels and
    names of files (`shell.yaml`) that speak of notebooks, development, debugging, tests, autoscaling or inference, and
    names that speak of a login, say that somebody needs it. So do a namespace for tests, and a folder of end-to-end
    tests (`e2e`, `kuttl`, `chainsaw`). All these are left alone, as are allocations that a batch script holds and loops
    that also run a check (`nvidia-smi`). Where the given paths tell NVIDIA's device plugin to time-slice cards, what is
    held counts as shares of them.

    ## Why it hurts
    The GPUs count as used, so that other jobs queue and autoscalers keep the nodes. OpenPAI's users asked for a
    service that ends jobs below 20 % use because they block others, and Red Hat's users wrote one that scales such
    pods down. A study at Microsoft of 400 jobs that used half of their GPUs or less found most of the causes to be
    slips of a few lines. None of them names this very command: the rule is derived from what it does.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: hold-h100}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: ghcr.io/acme/train:1.4
            command: [sleep, infinity]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: finetune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    While somebody works in the container; say so in its name, a label or the file's name (dev, debug, notebook).

    ## Fix safety
    There is no automatic fix.

    ## References
    - https://www.microsoft.com/en-us/research/publication/an-empirical-study-on-low-gpu-utilization-of-deep-learning-jobs
    - https://github.com/microsoft/pai/issues/4266
    - https://github.com/wseaton/gpu-pruner
    """
    if workload.batch is not None or workload.subject.kind in _STARTED_FROM_OUTSIDE or workload.purpose in _OTHERS:
        return
    for role, container in workload.containers():
        count = container.accelerator_count
        waits = only_waits(container)
        if waits is None or not isinstance(count, Set) or _on_purpose(workload, role, container):
            continue
        gpus = "1 accelerator" if count.value == 1 else f"{count.value} accelerators"
        pods = role.replicas.value if isinstance(role.replicas, Set) else 1
        cost = f"{count.value * max(pods, 1) * 24:,} {noun(workload)}-hours a day are kept from other jobs"
        if any(device.partial for device in container.accelerators):
            gpus, cost = f"a share of {gpus}", "what it holds is kept from other jobs all day"
        shared = workload.surroundings.shared_devices
        if shared is not None and any(device.resource == _SHARED for device in container.accelerators):
            cost = "its shares of cards are kept from other jobs all day"
        else:
            shared = None
        each = "" if pods < 2 else f" in each of {pods} pods"
        yield Gap(
            waits.origin,
            f"container {container.name} holds {gpus}{each} and only runs {waits.what}",
            cost,
            detail="waits",
            related=()
            if shared is None or shared.origin is None
            else (Related(shared.origin, "this lets several pods share a card"),),
            fix=Fix("start the work from the manifest, or give the devices back when nobody uses them"),
            container=container.name,
        )


def _on_purpose(workload: Workload, role: Role, container: Container) -> bool:
    """A terminal, its names, its image, its labels or its file's name say that somebody is to work in it; or its
    namespace or folder, that it waits for a test."""
    tty = container.fields.get("tty")
    if isinstance(tty, Set) and tty.value == "true":
        return True
    folders, _, file = workload.origin.place.source.path.rpartition("/")
    if TRIAL_NAMES.intersection(words_of(workload.subject.namespace)) or END_TO_END.intersection(words_of(folders)):
        return True
    texts = [workload.subject.name, role.name, container.name, file]
    if any(not PEOPLE_LOG_IN.isdisjoint(words_of(text)) for text in texts):
        return True
    if isinstance(container.image, Set):
        texts.append(container.image.value)
    for table in (workload.labels, role.pod.labels):
        for key, value in table.items():
            texts.append(key)
            texts.append(value.value if isinstance(value, Set) else "")
    return any(not ON_PURPOSE.isdisjoint(words_of(text)) for text in texts)
