from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, SetKey, Severity, rescaled
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.world import Mismatch, mismatches
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU003",
    name="process-count-mismatch",
    view=TrainingProcess,
    severity=Severity.ERROR,
    evidence=("nproc-mismatch", "msr-low-gpu-util"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """The number of processes, nodes or parallel groups does not fit the pods and GPUs that the object asks for.

    ## What it flags
    `--nproc_per_node` (or `--num_gpus`, `slotsPerWorker`) that differs from the accelerators of the container;
    `--nnodes` that is no number of pods which could form the group; `-np` that is not workers × slots; a `WORLD_SIZE`
    of a program without launcher that is neither the pods nor all accelerators; tensor × pipeline × context parallel
    sizes that do not divide the processes (with a data-parallel size: that do not make them up); torchrun that srun
    starts several times on a node, though it is told to be the node's only one; a program in a batch script that takes
    its rank and the number of ranks from `SLURM_PROCID` and `SLURM_NTASKS`, and that no srun starts. Elastic ranges,
    `auto` and everything that is not known are left alone, and so is a job whose roles differ where any sum of them
    fits. So is an object that is one of several of a group: its only pod is told its rank, or `MASTER_ADDR` names none
    of its pods. A `WORLD_SIZE` is left alone where the program, as it lies in the repository, gives its group a
    size of its own. Fewer processes than GPUs are left alone where the script takes some off (`$((GPUS - 1))`), and
    where the program's text shows what the others are for: a generator (vLLM), or a model that each process spreads
    over several.

    ## Why it hurts
    With a node too many the rendezvous waits and gives up after ten minutes, at every restart again. With one too
    few, or with fewer processes than GPUs, hardware idles that others wait for: after an update of the operator a
    job asked for 8 GPUs and trained on one (trainer, issue 1992). With more processes than GPUs the start ends in
    “invalid device ordinal”. Parallel groups that do not fit stop the program, or are cut down in silence (older
    releases of Megatron clamp the pipeline). The mistake comes with a change of size in one of two places. The
    reports are of small jobs.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      parallelism: 2
      completions: 2
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=3, --nproc-per-node=8, --rdzv-backend=c10d, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      parallelism: 3
      completions: 3
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=3, --nproc-per-node=8, --rdzv-backend=c10d, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When some GPUs of the container are meant for another program.

    ## Fix safety
    Unsafe: the number of processes or nodes becomes that of the devices or pods that are asked for, and which of the
    two is right is yours to say. Where an MPIJob starts a process for each GPU and has too few slots, slotsPerWorker
    becomes the GPUs of a worker. Sizes of parallel groups are left to you.

    ## References
    - https://docs.pytorch.org/docs/stable/elastic/run.html
    - https://www.microsoft.com/en-us/research/publication/an-empirical-study-on-low-gpu-utilization-of-deep-learning-jobs
    - https://github.com/kubeflow/trainer/issues/1992
    """
    if not process.workload.trains:
        return
    for found in mismatches(process):
        yield Gap(
            found.origin,
            found.message,
            found.consequence,
            detail=found.detail,
            related=(Related(found.other, found.other_says),),
            fix=_fix(process, found),
            container=process.container.name,
        )


def _fix(process: TrainingProcess, found: Mismatch) -> Fix:
    if found.slots:  # fewer processes would fit as well, and leave GPUs idle
        whole = process.workload.origin
        spec = Origin(whole.place, node=whole.node)
        written = found.other.written
        key = ("spec", "slotsPerWorker")
        change = ReplaceValue(found.other, str(found.slots)) if written else SetKey(spec, key, found.slots)
        return Fix(f"set slotsPerWorker: {found.slots}", (change,))
    if found.remedy:
        return Fix(found.remedy)
    title = "bring the two numbers together; where the launcher allows it, let it count by itself"
    numbers = ((found.origin, found.told, found.fits), *found.along) if found.fits else ()
    changes = [rescaled(*number) for number in numbers]
    return Fix(title, tuple(change for one in changes for change in one) if all(changes) else ())
