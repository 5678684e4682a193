from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity, beside
from kube_gaplint.model.budget import LONG
from kube_gaplint.model.pace import Pace, trains_on_a_toy
from kube_gaplint.model.program_lines import READS_BACK, saves_in_a_loop
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.storage import copied_by_others, kept, kept_besides
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_OWN_LOOP = frozenset({"torch", "accelerate", "deepspeed", "horovod"})
"""Frameworks whose users write the loop, and with it saves and resumes, themselves."""
_TITLE = "let it load the newest checkpoint at its start"


@rule(
    code="CKPT005",
    name="no-resume",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("everyvoice-183", "neuronx-29", "mpt-7b"),
    sources=("ray-restart",),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Checkpoints are written, and a restart does not read them.

    ## What it flags
    Saving is on, something restarts the job (an elastic one also whenever its size changes) or its processes
    (torchrun's `--max-restarts`), and the framework neither resumes by itself nor is told to: Megatron-LM with `--save`
    and no `--load`, NeMo with `resume_if_exists` false, Composer without `autoresume`, a Hugging Face example that
    overwrites its output folder, a visible program that saves while it trains, be it by Keras's ModelCheckpoint, and
    reads nothing back before it does, in its script and in the modules of its repository, or that reads it back only by
    an option that is left out, also in its Hydra configuration, or only from a run folder of Hydra that bears the time
    of the start, or that reads nothing but the pre-trained weights that it starts from. Scripts that write their
    weights once, after the training, have nothing to resume from. Frameworks that resume by themselves (torchtitan,
    SpeechBrain's `Brain`, and Lightning in a job with `--signal`) are left alone, and so are programs whose checkpoints
    vanish with their container or pod (CKPT001). Of a batch script an array, a chain, a new submission or `--requeue`
    is a restart; the requeueing after a lost node, on by default in Slurm, is one for jobs of eight hours or more and
    for those that name no time limit, unless they train on a toy data set. A program of your own is spoken of where all
    that decides is seen: not where arguments of whoever submits it, a configuration that it opens by itself, or one of
    more than 200 modules may tell it to go on. Smoke tests of up to 200 steps are left alone.

    ## Why it hurts
    The job comes back, looks healthy, and trains from step 0, often writing over what it had: a preempted job of
    EveryVoice restarted by itself and went from epoch 5,460 back to the first. MPT-7B went through four hardware
    failures in 9.5 days without a person because restart and resume were both automatic.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      backoffLimit: 10
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=150000, --save=s3://runs/gpt, --save-interval=500]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      backoffLimit: 10
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
    When the program looks for its last checkpoint in a way that no option shows.

    ## Fix safety
    Unsafe: a resume from the wrong folder is worse than none. It is made where one option of the framework names the
    folder that the run saves to, or asks for the newest checkpoint in it (Megatron's `--load`); else it is left to you.

    ## References
    - https://www.databricks.com/blog/mpt-7b
    - https://github.com/EveryVoiceTTS/EveryVoice/issues/183
    """
    settings = process.settings
    if not process.workload.trains or Pace.of(process, context.profile).smoke:
        return
    if isinstance(settings.saving, Set) and not settings.saving.value:
        return
    start = _start(process)
    if start is None:
        return
    resume = _resume(process)
    if not isinstance(resume, Absent | Set):
        return
    if isinstance(settings.saving, Unknown) and not saves_in_a_loop(process.text.texts):
        return
    if isinstance(resume, Set) and resume.value:
        return
    if _gone_with_its_pod(process) or _saves_at_the_signal(process):
        return
    written = isinstance(resume, Set) and resume.origin.written
    who = process.framework.title if process.framework is not None else "the program"
    path = settings.save_path
    related = [start]
    if isinstance(path, Set) and path.origin.place != resume.origin.place:
        related.insert(0, Related(path.origin, "checkpoints are written here"))
    message = f"{who} is told not to resume" if written else f"{who} saves, and is not told to resume"
    if isinstance(resume, Set) and resume.origin.via == "derived":
        message = f"the program saves, and {resume.origin.note}"
    yield Gap(
        resume.origin if written else process.origin,
        message,
        f"a restart of {size(process.workload)} begins at step 0 beside its own checkpoints",
        detail="resume",
        related=tuple(related),
        fix=Fix(_TITLE) if written else _fix(process),
        container=process.container.name,
    )


def _resume(process: TrainingProcess) -> Setting[bool]:
    """Whether a restart goes on; of a program whose options do not tell it, by all of its text."""
    resume, framework = process.settings.resume, process.framework
    own = framework is None or framework.name in _OWN_LOOP
    if isinstance(resume, Unknown) and own and process.text.mentions(*READS_BACK) is False:
        return Set(False, Origin(process.origin.place, "derived", "nothing in it reads a checkpoint"))
    return resume


def _gone_with_its_pod(process: TrainingProcess) -> bool:
    """A restart finds nothing to resume from: the path lies on the container's own disk, or on a volume that is the
    pod's own, which CKPT001 reports, and only a new container, or pod, is ever started."""
    path = process.settings.save_path
    if not isinstance(path, Set) or not path.origin.written or kept_besides(process):
        return False
    if _of_a_launcher(process) is not None or _rescaled(process.workload) is not None:
        return False
    place = kept(process, path)
    if place.state != "lost" or copied_by_others(process, path.value, place.volume):
        return False
    return isinstance(place.mount, Absent) or _never_restarted_in_place(process)


def _never_restarted_in_place(process: TrainingProcess) -> bool:
    """Each start is a new pod, with new volumes of its own."""
    policy = process.role.pod.restart_policy
    return isinstance(policy, Set) and policy.value == "Never"


def _saves_at_the_signal(process: TrainingProcess) -> bool:
    """Lightning saves at the signal that the job asks for, and its next start reads that by itself (`hpc_ckpt` in
    Lightning-AI/pytorch-lightning trainer/connectors/checkpoint_connector.py and signal_connector.py)."""
    batch, framework = process.workload.batch, process.framework
    if batch is None or framework is None or framework.name != "lightning":
        return False
    return not isinstance(batch.get("signal"), Absent)


def _start(process: TrainingProcess) -> Related | None:
    """What surely starts the program again, as somebody wrote it."""
    again, rescaled = process.workload.starts_again, _rescaled(process.workload)
    if again is not None:
        return Related(again, "the job is started again")
    if rescaled is not None:
        return Related(rescaled, "all processes start again when the number of pods changes")
    return _of_a_launcher(process) or _requeued(process)


def _of_a_launcher(process: TrainingProcess) -> Related | None:
    """A launcher that starts its processes again, in the same container."""
    for launcher in process.launchers:
        restarts = launcher.max_restarts
        if isinstance(restarts, Set) and restarts.value > 0 and restarts.origin.written:
            return Related(restarts.origin, f"{launcher.kind} starts all processes again")
    return None


def _requeued(process: TrainingProcess) -> Related | None:
    """Slurm's own requeueing of a long job: a node that is lost throws away hours, and brings the job back."""
    batch, limit = process.workload.batch, process.workload.deadline_seconds
    if batch is None or not (isinstance(batch.requeue, Set) and batch.requeue.value):
        return None
    long = isinstance(limit, Absent) or (isinstance(limit, Set) and limit.value >= LONG)
    if not long or trains_on_a_toy(process):
        return None
    default = ", by default" if batch.requeue.origin.via == "default" else ""
    return Related(batch.requeue.origin, f"Slurm starts the job again after a lost node{default}")


def _rescaled(workload: Workload) -> Origin | None:
    """A range of pods that somebody wrote: all processes start again whenever their number changes."""
    elastic = workload.elastic
    return elastic.origin if isinstance(elastic, Set) and elastic.value and elastic.origin.written else None


def _fix(process: TrainingProcess) -> Fix:
    path = process.settings.save_path
    option, value = ("", "") if process.framework is None else process.framework.resume_option
    if not option or not isinstance(path, Set) or not _knows(process, value):
        return Fix(_TITLE)
    if process.framework is not None and process.framework.resumes_by_file:
        return Fix(f"{_TITLE}: {option} with the path of that file")
    return Fix(f"{_TITLE}: {option} {value or path.value}", beside(process, path.origin, option, value or path.value))


def _knows(process: TrainingProcess, value: str) -> bool:
    """Whether a program may know a word for the newest checkpoint; of a fork, its text may show that it does not."""
    return not value or process.text.mentions(f'"{value}"', f"'{value}'") is not False
