from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.storage import KEEPS, OWN_LOOP
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import SHORT_SECONDS
from kube_gaplint.model.pace import Pace, trains_on_a_toy
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.storage import durable_mounts, lasting
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="CKPT002",
    name="no-checkpoint",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("nothing-saved", "IL-0125", "glm-130b"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """The training saves nothing, so that every failure costs everything since the start.

    ## What it flags
    A framework, script or configuration that is visible and leaves saving off: Megatron-LM without `--save` and
    `--save-interval`, torchtitan without `checkpoint.enable`, `--save_strategy no`, Composer without `save_folder`. A
    framework that saves only its result, when it is done (OpenRLHF without save steps), counts as well, and so does a
    script of your own whose switch (`save_checkpoints`, as an option or in its Hydra configuration) is off, where its
    text saves in no loop without it, or one that a switch keeps from saving (`--disable_checkpoints`). Info where the
    program is not visible and no volume or bucket is either, where a script of your own saves only when its training is
    over, or nothing in what is seen of it (of several GPUs, warning where all of it is seen), and for replicas of
    torchft, which take their state from one another. Smoke tests of up to 200 steps are left alone, whether an option
    or the program's text says so, or epochs, batch size and a data set of known size (GSM8K); so are jobs that are
    ended after an hour at most and not started again, benchmarks, evaluation and inference.
    Megatron-LM refuses `--save` without `--save-interval`: a program that is started so is a fork with a schedule of
    its own, and left alone.

    ## Why it hurts
    BLOOM lost a GPU about once a week, GLM-130B ten nodes in its first weeks. Both went on because there was a
    checkpoint to go on from. Where nothing is saved, nothing is left: after 24 hours of training a process was
    killed, and there was no model (fast-bert, issue 203); elsewhere all of 101 finished epochs were gone with their
    server (CodefyUI, issue 203).

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=150000]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=150000, --save=s3://runs/gpt, --load=s3://runs/gpt, --save-interval=500]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Runs so short that starting again is cheaper than saving.

    ## Fix safety
    There is no automatic fix: path and interval are yours to say.

    ## References
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    - https://github.com/appvision-ai/fast-bert/issues/203
    """
    workload = process.workload
    if not workload.trains or workload.controller_saves or _within_an_hour(process):
        return
    if Pace.of(process, context.profile).smoke:
        return
    saving = process.settings.saving
    who = process.framework.title if process.framework is not None else "the program"
    cost = f"any failure of {size(process.workload)} starts the training from scratch"
    if process.heals_from_peers:
        cost = "a replica that fails takes its state from a live one; when the last one ends, all work is lost"
    told = isinstance(saving, Set) and saving.origin.via != "derived"
    if not told and _surely_keeps_nothing(process):
        yield Gap(
            process.origin,
            "nothing in the program saves its state",
            cost,
            detail="off",
            severity=Severity.INFO if process.heals_from_peers else None,
            fix=Fix(f"save the state of model, optimizer and data in its loop, on {lasting(process.workload)}"),
            container=process.container.name,
        )
    elif isinstance(saving, Set) and not saving.value:
        written = saving.origin.written
        message = f"{who} is told not to save" if written else f"by default {who} saves nothing"
        message += " while it trains"
        if process.framework is not None and process.framework.saves_at_end:
            message += ", only when it is done"
        if process.settings.saves_once:
            message = "the program saves once, when its training is over"
        switch = process.settings.switched_off
        if switch:
            message = f"the program does not save while it trains: {switch}"
        by_reading = saving.origin.via == "derived"  # a module that the script imports may still save
        yield Gap(
            saving.origin if written else process.origin,
            message,
            cost,
            detail="off",
            severity=Severity.INFO if by_reading or process.heals_from_peers else None,
            related=(Related(saving.origin, "the switch"),) if switch and not written else (),
            fix=Fix(
                f"switch it on, and save to {lasting(process.workload)}"
                if switch
                else f"set the framework's save path and interval, on {lasting(process.workload)}"
            ),
            container=process.container.name,
        )
    elif not isinstance(saving, Set) and not _durable_place(process) and not _told_where(process):
        yield Gap(
            process.origin,
            "no checkpoint is visible: no save option, no volume that outlives the pod, no bucket",
            detail="not-visible",
            severity=Severity.INFO,
            fix=Fix("mount a claim, or save to a bucket"),
            container=process.container.name,
        )


def _surely_keeps_nothing(process: TrainingProcess) -> bool:
    """Its whole text is seen, with the modules of its repository: a loop of its own on several GPUs, and nothing that
    has to do with saving. Over a toy data set there is nothing worth keeping."""
    text = process.text
    seen = text.mentions(*OWN_LOOP) is True and text.mentions(*KEEPS) is False
    return seen and process.collective and not trains_on_a_toy(process)


def _within_an_hour(process: TrainingProcess) -> bool:
    """The job is ended after an hour at most, and nothing starts it again: there is no more than that to lose."""
    deadline, batch = process.workload.deadline_seconds, process.workload.batch
    once = batch is None or isinstance(batch.continuation, Absent)
    return once and isinstance(deadline, Set) and deadline.value <= SHORT_SECONDS


def _told_where(process: TrainingProcess) -> bool:
    """Whether an option that is written names the place of its checkpoints."""
    path = process.settings.save_path
    return isinstance(path, Set) and path.origin.written


def _durable_place(process: TrainingProcess) -> bool:
    """Whether anything shows a place to save to: a volume, or an address in the arguments or the environment."""
    if process.workload.batch is not None or process.role.pod.overrides_unknown or process.environment.open_because:
        return True
    if any(durable_mounts(process.container, process.role.pod)):
        return True
    if any("://" in word.shown for word in process.command.words):
        return True
    return any("://" in value.value for _, value in process.environment.set_items())
