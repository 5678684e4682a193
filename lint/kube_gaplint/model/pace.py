"""How amounts of training compare: steps, samples, epochs, time, and shares of the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.datasets import SHORT_BY_NAME, TOYS, most_samples, toy, toy_in
from kube_gaplint.facts.frameworks import CONVENTIONS
from kube_gaplint.facts.purposes import DEBUG_NAMES, SHORT_TRIAL_NAMES, words_of
from kube_gaplint.model.command import Word
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.program_length import default_steps, fixed_steps
from kube_gaplint.model.setting import Absent, Set, Setting, known
from kube_gaplint.model.training import Quantity, TrainingProcess
from kube_gaplint.model.workload import Workload

SMOKE_STEPS = 200
"""Runs of up to so many steps are smoke tests, not trainings."""
SMOKE_SAMPLES = 2_000
"""Runs over a training set that was cut down to so many samples are smoke tests too."""
TRIAL_SAMPLES = (100, 20_000)
"""Samples that a number behind `--subset` may stand for, of a job that is called a test: less may be a percentage."""
SHORT_TRIAL = 4 * 3600.0
"""Seconds of time limit up to which a run of one epoch in a job called a test is one."""


class Pace(Struct, frozen=True):
    """What is known of the speed and length of one run; None where it is not known."""

    total: Quantity | None
    samples_per_step: float | None
    step_seconds: float | None
    cut_to: float | None = None
    """Samples that the training set was cut down to."""
    epoch_steps: float | None = None
    """Steps after which an epoch is cut short."""
    usual: Quantity | None = None
    """The length that the script's defaults or the program's text give, unless who starts it says something else."""
    most_samples: float | None = None
    """Samples of the training set, by its name. What is filtered out or packed together makes steps fewer."""
    trial: bool = False
    """The names of its job, script or program say that it tries something out."""
    trial_on_part: bool = False
    """They say so, and it takes a small part of the training set."""

    @staticmethod
    def of(process: TrainingProcess, profile: Profile) -> Pace:
        """The pace of a process. The workload's own step time wins over the profile's."""
        return _pace_of(process, profile)

    def steps(self, quantity: Quantity) -> float | None:
        """A quantity in steps, for units that can be brought to steps."""
        if quantity.unit == "steps":
            return quantity.amount
        if quantity.unit == "samples" and self.samples_per_step:
            return quantity.amount / self.samples_per_step
        if quantity.unit == "fraction" and self.total is not None and self.total.unit != "fraction":
            total = self.steps(self.total)
            return None if total is None else quantity.amount * total
        return None

    @property
    def total_steps(self) -> float | None:
        if self.total is not None and self.total.unit == "epochs" and self.cut_to is not None and self.cut_to > 0:
            return self.steps(Quantity(self.total.amount * self.cut_to, "samples"))
        return None if self.total is None else self.steps(self.total)

    @property
    def most_steps(self) -> float | None:
        """Steps that the run has at most: those of its length, or of its epochs where those are cut short or go over a
        data set of known size."""
        steps = self.total_steps
        if steps is not None or self.total is None or self.total.unit != "epochs":
            return steps
        if self.epoch_steps:
            return self.total.amount * self.epoch_steps
        if self.most_samples is None:
            return None
        return self.steps(Quantity(self.total.amount * self.most_samples, "samples"))

    @property
    def smoke(self) -> bool:
        """The run is so short that it is a smoke test."""
        if self.cut_to is not None and 0 < self.cut_to <= SMOKE_SAMPLES:
            return True
        if self.trial_on_part:
            return True
        if self.trial and self.total is not None and self.total.unit == "epochs" and self.total.amount <= 1:
            return True
        steps = self.most_steps if self.usual is None else self.steps(self.usual)
        return steps is not None and steps <= SMOKE_STEPS

    @property
    def total_shown(self) -> str:
        """The length of the run for a message."""
        if self.total is None:
            return "unknown length"
        steps = self.total_steps
        if self.total.unit == "samples" and steps is not None:
            return f"{self.total} (about {steps:,.0f} steps)"
        return str(self.total)

    def seconds(self, quantity: Quantity) -> float | None:
        """A quantity in seconds: units of time as they are, steps by the step time."""
        if quantity.seconds is not None:
            return quantity.seconds
        steps = self.steps(quantity)
        return None if steps is None or self.step_seconds is None else steps * self.step_seconds

    def share_of_run(self, quantity: Quantity) -> float | None:
        """The share of the whole run, 1.0 for all of it; None where the two cannot be compared."""
        if quantity.unit == "fraction":
            return quantity.amount
        if self.total is None or self.total.amount <= 0:
            return None
        if quantity.unit == self.total.unit:
            return quantity.amount / self.total.amount
        if quantity.seconds is not None and self.total.seconds is not None:
            return quantity.seconds / self.total.seconds
        part, whole = self.steps(quantity), self.total_steps
        return part / whole if part is not None and whole else None


@lru_cache(maxsize=64)  # many rules ask for each process
def _pace_of(process: TrainingProcess, profile: Profile) -> Pace:
    step: Setting[float] = process.workload.step_seconds
    return Pace(
        total=known(process.settings.total),
        samples_per_step=known(process.settings.samples_per_step) or _by_device(process),
        step_seconds=step.value if isinstance(step, Set) else profile.step_seconds,
        cut_to=_number(process.settings.extra.get("training-samples")) or _cut_before(process),
        epoch_steps=_whole(process.settings.extra.get("steps-an-epoch")),
        usual=process.settings.usual_total or _by_its_text(process),
        most_samples=_most_samples(process),
        trial=_is_trial(process),
        trial_on_part=_takes_a_part(process) and not _TRIALS.isdisjoint(_words_of_names(process)),
    )


def is_smoke(workload: Workload, profile: Profile) -> bool:
    """Every training program of a workload is a smoke test."""
    return bool(workload.processes) and all(Pace.of(process, profile).smoke for process in workload.processes)


_GENERATES = lazy_re.compile(r"(?:\A|[^a-z])(?:ppo|grpo|gspo|dapo|rloo|reinforce|rlhf|rlvr|rollouts?)(?:\Z|[^a-z])")
"""Words of reinforcement learning in the names of programs and options (`main_ppo`, `actor_rollout_ref.actor.lr`)."""


def generates_samples(process: TrainingProcess) -> bool:
    """Each of its steps first has the model write samples (reinforcement learning): one takes up to minutes."""
    return any(_GENERATES.search(name.lower()) for name in (process.program, *process.options.names))


_SIMULATES = lazy_re.compile(
    r"(?:\A|[^a-z])(?:dagger|(?:num|n)[-_]envs?|num[-_]actors|env[-_]steps|steps[-_]per[-_]env|isaac\w*|mujoco|mjx"
    r"|gym|gymnasium|rsl[-_]rl|rl[-_]games|skrl|sb3)(?:\Z|[^a-z])"
)
"""Words of learning in simulated environments in the names of programs and options (`train.dagger`, `num_envs=64`)."""
_ENVIRONMENT = ("env.reset(", "envs.reset(", "gym.make(", "gymnasium.make(", "gym.vector.", "VecEnv(")
"""What stands in a script that steps through such environments itself."""


def simulates(process: TrainingProcess) -> bool:
    """Each of what it counts is a round of its own: the policy first plays in simulated environments, and then learns
    from that for many steps of its optimiser."""
    if any(_SIMULATES.search(name.lower()) for name in (process.program, *process.options.names)):
        return True
    script = next(process.text.texts, "")
    return any(part in script for part in _ENVIRONMENT)


def trains_on_a_toy(process: TrainingProcess) -> bool:
    """It trains for minutes, over a data set as small as MNIST: by the name of its program or of its configuration, by
    the data set that it is told, or by the only one that its visible text takes."""
    named = process.settings.extra.get("dataset")
    part = process.settings.extra.get("dataset-part")
    texts = (
        process.program.rpartition("/")[2],
        *_configurations(process),
        *(one.value for one in (named, part) if isinstance(one, Set)),
    )
    found = next((name for text in texts if (name := toy(text))), "")
    if not found and (named is None or isinstance(named, Absent)):
        found = toy_in(process.text.texts)
    if not found:
        return False
    total = known(process.settings.total)
    if total is None:
        return found in SHORT_BY_NAME
    return total.unit == "epochs" and total.amount <= TOYS[found]


def _configurations(process: TrainingProcess) -> Iterator[str]:
    """The names of its configuration files: `config/train_shakespeare_char.py`, `--config mnist.yaml`."""
    for name in CONVENTIONS.config:
        given = process.options.find(name)
        if given is not None and isinstance(given.value, Set):
            yield given.value.value.rpartition("/")[2]
    for word in process.options.positionals:
        if word.known is not None and word.known.endswith(_CONFIGURATIONS):
            yield word.known.rpartition("/")[2]


_CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml", ".py")


def _by_device(process: TrainingProcess) -> float | None:
    """The global batch from that of one process: times the passes in a step, times the processes."""
    batch = _number(process.settings.extra.get("device-batch"))
    passes = process.settings.extra.get("accumulation")
    launcher = process.launcher("torchrun", "torch.distributed.launch", "accelerate")
    if not batch or launcher is None:
        return None
    nodes, each = launcher.nodes, launcher.processes_per_node
    if not isinstance(nodes, Set) or not isinstance(each, Set):
        return None
    times = 1.0 if passes is None else _number(passes)
    return batch * times * nodes.value * each.value if times else None


_TRIALS = DEBUG_NAMES | SHORT_TRIAL_NAMES


def _words_of_names(process: TrainingProcess) -> set[str]:
    """The words of the names of its job, its file and its program."""
    workload = process.workload
    file = workload.origin.place.source.path.replace("\\", "/").rpartition("/")[2]
    names = (workload.subject.name, file, process.program.rpartition("/")[2])
    return {word for name in names for word in words_of(name)}


def _takes_a_part(process: TrainingProcess) -> bool:
    """It is told a small number of samples to train on."""
    extra = process.settings.extra
    given = (_whole(extra.get("subset")), _whole(extra.get("training-samples")))
    return any(number is not None and TRIAL_SAMPLES[0] <= number <= TRIAL_SAMPLES[1] for number in given)


def _is_trial(process: TrainingProcess) -> bool:
    """It tries something out by the names of its job, script or program, and by its time limit where those are vague
    (many a long run is called `test`)."""
    words = _words_of_names(process)
    if not DEBUG_NAMES.isdisjoint(words):
        return True
    limit = process.workload.deadline_seconds
    brief = isinstance(limit, Set) and limit.value <= SHORT_TRIAL
    return brief and not SHORT_TRIAL_NAMES.isdisjoint(words)


def _by_its_text(process: TrainingProcess) -> Quantity | None:
    """The length that the program's own text sets, where no option gives one. What it is handed may still change it."""
    if isinstance(process.settings.total, Set):
        return None
    text = next(process.text.texts, None)
    steps = None if text is None else fixed_steps(text)
    return None if steps is None else Quantity(steps, "steps")


def steps_by_default(process: TrainingProcess, profile: Profile) -> float | None:
    """The steps of a run whose length nothing fixes, unless who starts it says something else: by the configuration
    that its script names by default, or by the default up to which its own loop or trainer counts."""
    usual = process.settings.usual_total
    if usual is not None:
        return Pace.of(process, profile).steps(usual)
    if isinstance(process.settings.total, Set) or process.options.open_because:
        return None
    found = default_steps(process.text.texts)
    return None if found is None or process.options.has(found[0]) is not False else float(found[1])


def _most_samples(process: TrainingProcess) -> float | None:
    """Samples of the training set that the program is told by its path, of which only the beginning may be unknown."""
    for name in process.framework.data_options if process.framework is not None else ():
        given = process.options.find(name)
        if given is not None:
            return most_samples(given.value.value if isinstance(given.value, Set) else given.word.known_end)
    return None


_DATA = lazy_re.compile(r"(?:train|dataset|data)[-_]?(?:name|path|dir|file|root|set)?")
_OUTPUT = lazy_re.compile(r"-{1,2}(?:o|out|output)(?:[-_](?:dir|path|file|folder))?")
_FEWER = lazy_re.compile(r"--(?:max|num|n|limit)[-_](?:train[-_])?(?:samples|examples|rows)")


_MOST_COMMANDS = 100
"""Commands of a script that are looked through for one that prepares the data."""


def _cut_before(process: TrainingProcess) -> float | None:
    """The samples that a command before it wrote for it: `prepare.py --max_samples 100 --output_dir d`, and then
    `train.py --dataset_name d`."""
    told = {
        word.shown
        for one in process.options.occurrences
        if _DATA.fullmatch(one.name) and (word := _value_word(process, one.word)) is not None
    }
    if not told:
        return None
    for command in islice(process.container.commands, _MOST_COMMANDS):
        if command.place == process.command.place:
            break
        samples, writes = None, False
        for option, value in pairwise(command.words):
            if _FEWER.fullmatch(option.shown):
                samples = _number(value.setting)
            writes = writes or (_OUTPUT.fullmatch(option.shown) is not None and value.shown in told)
        if writes and samples is not None:
            return samples
    return None


def _value_word(process: TrainingProcess, option: Word) -> Word | None:
    """The word behind an option."""
    words = process.command.words
    return next((after for word, after in pairwise(words) if word is option), None)


def _whole(setting: Setting[str] | None) -> float | None:
    """A whole number; None for one with a point, which is a share of something."""
    whole = isinstance(setting, Set) and setting.value.isascii() and setting.value.isdigit()
    return _number(setting) if whole else None


def _number(setting: Setting[str] | None) -> float | None:
    try:
        return float(setting.value) if isinstance(setting, Set) else None
    except ValueError:
        return None
