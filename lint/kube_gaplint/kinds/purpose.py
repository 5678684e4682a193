"""What a workload is for: training must be recognised positively, everything else keeps rules for training away."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts import accelerators as devices
from kube_gaplint.facts import purposes
from kube_gaplint.facts.launchers import NOT_TRAINING, NOT_TRAINING_MODULES
from kube_gaplint.facts.purposes import Meaning
from kube_gaplint.launch.launchers.base import matches
from kube_gaplint.launch.processes import DISTRIBUTED
from kube_gaplint.lazy_re import globs
from kube_gaplint.model.command import Command
from kube_gaplint.model.cpu_use import told_cpu
from kube_gaplint.model.gpu_use import hides_all
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.model.training import OptionValue, TrainingProcess
from kube_gaplint.model.units import slept_seconds
from kube_gaplint.model.workload import Classified, Container, Role, Workload

_MOST_WORDS = 200
_MOST_TEXT = 20_000
_SEPARATORS = lazy_re.compile(r"[;&|()\"'`]+")
_SHELL_NOISE = frozenset({"echo", "printf", "export", "cd", "mkdir", "set", "ls", "cat", "source", ".", "test", "["})


class _Hint(Struct, frozen=True):
    """One sign of a purpose.

    `strength`: 4 what outdoes a program's name, 3 the program itself, 2 its launcher or framework, 1 an image, 0 a
    name.
    """

    meaning: Meaning
    reason: str
    strength: int


def classify(workload: Workload) -> Classified:
    """The purpose of a workload, with the reason for it."""
    group = workload.subject.api_version.rpartition("/")[0]
    kind = (group, workload.subject.kind)
    if kind in purposes.SERVING_KINDS:
        return Classified("inference", f"{workload.subject.kind} serves")
    if kind in purposes.INTERACTIVE_KINDS:
        return Classified("interactive", f"{workload.subject.kind} is for people")
    if workload.batch is not None and workload.batch.unresolved_merge is not None:
        return Classified("unknown", "a merge in its script was never resolved, and bash ends there")
    roles = _judged(workload)
    hints = [hint for role in roles for container in _main(role) for hint in _hints(container)]
    hints.extend(_of_processes(workload))
    best = _decide(hints)
    if best is not None and best.meaning == "smoke" and best.strength == 3 and _does_more(roles):
        best = None
    if best is not None and best.meaning == "processing" and best.strength < 4 and not _only_processes(roles):
        best = _decide([hint for hint in hints if hint.meaning != "processing"])
        best = None if best is not None and best.meaning == "training" else best  # nothing shows that it is the rest
    if workload.batch is not None and workload.batch.on_processors:
        return Classified("cpu", "it asks for no accelerators, or for nodes without any")
    accelerated = _accelerated(workload)
    if accelerated is False and not _on_gpu_anyway(roles):
        return Classified("cpu", "no accelerator is asked for")
    hidden = [hides_all(process.environment) for process in workload.processes]
    if accelerated is not True and hidden and all(hidden):
        return Classified("cpu", f"{hidden[0]} hides all accelerators")
    told = [told_cpu(process) for process in workload.processes]
    if accelerated is not True and told and all(told):
        return Classified("cpu", told[0])
    if best is not None and best.meaning != "training":
        return Classified(best.meaning, best.reason)
    *folders, file = workload.origin.place.source.path.replace("\\", "/").split("/")
    if workload.batch is not None and purposes.measures_scaling(file):
        return Classified("benchmark", f"its name {file}")
    trains = purposes.TRAINING_WORDS.intersection(purposes.words_of(file))
    known = purposes.TEST_FOLDERS if trains else purposes.TEST_FOLDERS | purposes.MACHINE_TESTS
    tests = next((folder for folder in folders if folder.lower() in known), "")
    if tests:
        return Classified("smoke", f"it lies in {tests}")
    name, shown = workload.subject.name, best is not None and best.strength >= 3
    if purposes.BENCHMARK_NAMES.intersection(purposes.words_of(name)) or (not shown and purposes.tries_machines(name)):
        return Classified("benchmark", f"its name {name}")
    kept = _sleeps_first(workload)
    if kept is not None:
        return kept
    if best is not None and best.strength > 1:
        return Classified("training", best.reason)
    idle = _holder(roles) or _check(roles) or _chores(workload, roles)
    if idle is not None:
        return idle
    if best is not None and best.strength > 0:
        return Classified("training", best.reason)
    if kind in purposes.TRAINING_KINDS:
        return Classified("training", f"{workload.subject.kind} with accelerators")
    named = _by_name(workload)
    if named is not None and workload.subject.kind not in purposes.SERVER_KINDS:
        return Classified(named.meaning, named.reason)
    if best is not None:
        return Classified("training", best.reason)
    scaled = _program_at_scale(workload, roles)
    if scaled is not None:
        return Classified("training", scaled)
    return Classified("unknown", "neither its programs nor its image tell what it is for")


def _judged(workload: Workload) -> list[Role]:
    """The roles whose programs decide: those that train; launchers too, for they name the program."""
    training = [role for role in workload.roles if role.trains]
    others = [role for role in workload.roles if not role.trains]
    return [*training, *others]


def _main(role: Role) -> list[Container]:
    """The containers with accelerators; all where none has any (a launcher)."""
    accelerated = [container for container in role.pod.containers if container.accelerators]
    return accelerated or list(role.pod.containers)


def _hints(container: Container) -> Iterator[_Hint]:
    for command in container.commands:
        yield from _of_command(command)
    if {"train", "trainer", "training"}.intersection(purposes.words_of(container.name)):
        yield _Hint("training", f"its container is called {container.name}", 0)
    if isinstance(container.image, Set):
        meaning = purposes.image(container.image.value)
        if meaning is not None:
            yield _Hint(meaning, f"image {container.image.value}", 1)


def _of_command(command: Command) -> Iterator[_Hint]:
    """What a command's words show. Options and their values are no programs, except the module of `-m`."""
    texts = _texts(command)
    if command.name in _SHELL_NOISE or _only_carries(command.name, texts):
        return
    if _sweeps_sizes(texts):
        yield _Hint("benchmark", "its options -b, -e and -f sweep over message sizes", 3)
    chore = _is_chore(texts)
    for index, text in enumerate(texts):
        if not text or len(text) > 200:
            continue
        option = text.lstrip("-+").partition("=")[0].replace("_", "-").lower()
        trains = option in purposes.TRAINING_OPTIONS and purposes.OPTIONS_OF_OTHERS.get(option) not in texts
        if (text.startswith("-") or "=" in text) and trains:
            yield _Hint("training", f"its option {text.partition('=')[0]}", 2)
        if text.startswith("-") and option in purposes.EVALUATION_OPTIONS:
            yield _Hint("evaluation", f"its option {text.partition('=')[0]}", 2)
        if text.startswith("-"):
            continue
        name = text.rsplit("/", 1)[-1]
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if name.endswith(".py") and following in purposes.SUBCOMMANDS and purposes.script(name) is None:
            yield _Hint(purposes.SUBCOMMANDS[following], f"it runs {name} {following}", 3)
            continue
        found = purposes.program(name, following)
        if found is not None:
            meaning, launcher = found
            if launcher and chore:
                continue
            yield _Hint(meaning, f"it runs {name}", 2 if launcher else 3)
            continue
        folders = text.rpartition("/")[0].split("/")
        if name.endswith(".py") and purposes.BENCHMARK_NAMES.intersection(folders):
            yield _Hint("benchmark", f"it runs {text}", 3)
        module = index > 0 and texts[index - 1] == "-m"
        if purposes.tries_out(name):
            yield _Hint("smoke", f"it runs {name}", 3)
        elif module or name.endswith((".py", ".sh")):
            meaning_of_name = purposes.script(name)
            if meaning_of_name is not None:
                yield _Hint(meaning_of_name, f"it runs {name}", 3)
            elif purposes.processes_data(name):
                yield _Hint("processing", f"it runs {name}", 3)


_LARGEST_MESSAGE = lazy_re.compile(r"\d+[KMGkmg]")


def _sweeps_sizes(texts: list[str]) -> bool:
    """Whether a program, whatever its name, is told a range of message sizes as those of nccl-tests are
    (`-b 8 -e 16G -f 2`)."""
    options = dict(pairwise(texts))
    return {"-b", "-f"} <= options.keys() and _LARGEST_MESSAGE.fullmatch(options.get("-e", "")) is not None


def _is_chore(texts: list[str]) -> bool:
    """Whether the first script of a command prepares or converts something, whatever starts it."""
    script = next((text for text in texts if text.endswith(".py") and not text.startswith("-")), "")
    return purposes.is_chore(script.rsplit("/", 1)[-1])


def _only_carries(name: str, texts: list[str]) -> bool:
    """Whether a command fetches or builds what its arguments name, and runs none of it."""
    name = _module(texts) or name
    return name in purposes.CARRIERS and not purposes.CARRIERS_THAT_RUN.intersection(texts[1:3])


def _texts(command: Command) -> list[str]:
    """The words of a command. The script of an inner `bash -c` (behind srun or mpirun) comes as its own words."""
    found: list[str] = []
    for word in command.words[:_MOST_WORDS]:
        text = word.known or word.prefix
        inner = found and found[-1] in ("-c", "-lc", "-ec") and " " in text
        if inner and not (_is_python(found[-2:-1]) and _trains_nothing(text)):
            found.extend(_SEPARATORS.sub(" ", text[:_MOST_TEXT]).split()[:_MOST_WORDS])
        else:
            found.append(text)
    return found


def _of_processes(workload: Workload) -> Iterator[_Hint]:
    trials = [_trial(process) for process in workload.processes]
    if trials and all(trials):
        yield from (trial for trial in trials[:1] if trial is not None)
    for process in workload.processes:
        name = process.program.rsplit("/", 1)[-1]
        works = not purposes.processes_data(name) and not purposes.only_checks(name)
        if process.framework is not None and works:
            yield _Hint("training", f"{process.framework.title} runs in it", 2)
        meaning = purposes.script(name) if name else None
        if meaning is not None:
            yield _Hint(meaning, f"it runs {name}", 3)
        elif purposes.EVALUATION_FOLDERS.intersection(process.program.lower().split("/")[:-1]):
            yield _Hint("evaluation", f"it runs {process.program}", 3)
        chore = purposes.is_chore(name)
        for launcher in process.launchers:
            if launcher.kind in DISTRIBUTED and not chore:
                yield _Hint("training", f"it runs {launcher.kind}", 2)
        for occurrence in process.options.occurrences:
            if occurrence.name.lstrip("-+").replace("_", "-").lower() in purposes.TRAINING_OPTIONS:
                yield _Hint("training", f"its option {occurrence.name}", 2)


def _trial(process: TrainingProcess) -> _Hint | None:
    """What shows that a program looks like a training and is none: it only evaluates, or it tries something out."""
    for occurrence in process.options.occurrences:
        name = occurrence.name.lstrip("-+").replace("_", "-").lower()
        if name in purposes.EVALUATION_SWITCHES and _is_on(occurrence):
            return _Hint("evaluation", f"its option {occurrence.name}", 4)
        if name in purposes.BENCHMARK_OPTIONS and _is_on(occurrence):
            return _Hint("benchmark", f"its option {occurrence.name}", 4)
        if name in purposes.MODES and isinstance(occurrence.value, Set):
            mode = occurrence.value.value.strip("\"'").lower()
            words = purposes.words_of(mode)
            if purposes.EVALUATION_MODES.intersection(words) and purposes.TRAINING_WORDS.isdisjoint(words):
                return _Hint("evaluation", f"its option {occurrence.name}={mode}", 4)
        if "config" in name:
            value = occurrence.value
            chosen = value.value if isinstance(value, Set) else value.otherwise if isinstance(value, Unknown) else ""
            if purposes.TRIAL_CONFIGURATIONS.intersection(purposes.words_of(chosen.rpartition("/")[2])):
                return _Hint("smoke", f"its configuration {chosen}", 4)
    if _is_told_to_apply(process):
        return _Hint("evaluation", "it is told to evaluate or predict, and not to train", 4)
    profiler = next((name for name in process.command.wrappers if name in purposes.PROFILERS), "")
    if profiler:
        return _Hint("benchmark", f"it runs under {profiler}", 4)
    fault = _injects_faults(process)
    if fault:
        return _Hint("benchmark", f"{fault} makes it fail on purpose", 4)
    for label, on in purposes.PROFILER_LABELS.items():
        injected = process.role.pod.labels.get(label)
        if isinstance(injected, Set) and injected.value in on:
            return _Hint("benchmark", f"its label {label} puts a profiler in front", 4)
    *folders, name = process.program.split("/")
    trial_folder = purposes.TRIAL_FOLDERS.intersection(folder.lower() for folder in folders)
    if trial_folder and purposes.script(name) != "training":
        return _Hint("benchmark", f"it runs {process.program}", 4)
    if any(globs(name.lower(), pattern) for pattern in purposes.TRIAL_SCRIPTS):
        measures = purposes.script(name) == "benchmark"
        return _Hint("benchmark" if measures else "smoke", f"it runs {name}", 4)
    if _hands_its_work_to_jobs(process):
        return _Hint("processing", f"{name} submits jobs of its own, and has no accelerator", 4)
    seen = _visibly_no_training(process, name)
    if seen is None and _only_applies(process):
        return _Hint("inference", f"the text of {name} uses a model and trains nothing", 4)
    if seen is None and _predicts_by_its_trainer(process):
        return _Hint("inference", f"{name} makes a trainer and has it train nothing", 4)
    if seen is None and _trains_in_comments_alone(process):
        return _Hint("inference", f"the training in {name} is commented out, and it uses a model", 4)
    if seen is None and _makes_a_tokenizer(process, name):
        return _Hint("processing", f"{name} makes a tokenizer", 4)
    if seen is None and process.framework is None and _takes_nothing_that_trains(process):
        return _Hint("processing", f"the text of {name} takes no library that trains", 4)
    return seen


_APPLIES = lazy_re.compile(r"\.(?:predict|evaluate)\(")
_CALLS_A_TRAINING = lazy_re.compile(r"(?i)(?:train(?!er\()|fit|learn|backward)\w{0,40}\(")
_NEVER_TRAINS_UNASKED = ("run_*.py",)
"""Hugging Face's example scripts, and those made after them, which train under `do_train` alone."""


def _is_told_to_apply(process: TrainingProcess) -> bool:
    """Whether it is told to evaluate or to predict (`do_eval`, `do_predict` of Hugging Face's TrainingArguments) and
    not to train: `do_train` is false, which is what it is where nobody sets it."""
    told = process.settings.extra
    if not any(_is_set(told.get(name)) for name in ("do-eval", "do-predict")):
        return False
    trains = told.get("do-train")
    if trains is not None:
        return isinstance(trains, Set) and not _is_set(trains)
    if process.framework is None or process.framework.name != "hf-trainer":
        return False
    if process.options.open_because or process.settings.unseen_config:
        return False
    script = next(process.text.texts, "")
    if _APPLIES.search(script) is not None and _CALLS_A_TRAINING.search(script) is None:
        return True
    name = process.program.rpartition("/")[2]
    asks = process.text.mentions(".do_train") is True or any(globs(name, one) for one in _NEVER_TRAINS_UNASKED)
    return asks and process.text.mentions("do_train=True", "do_train = True", "do_train: bool") is not True


def _is_set(told: Setting[str] | None) -> bool:
    """Whether a switch is on: a bare flag, or a value that says so."""
    return isinstance(told, Set) and told.value.strip().strip("\"'").lower() not in _OFF - {""}


def _makes_a_tokenizer(process: TrainingProcess, name: str) -> bool:
    """Whether a program by its name trains a tokenizer and its text takes no gradient: it counts pieces of words on
    CPUs. One of images is a network."""
    if "tokenizer" not in purposes.words_of(name):
        return False
    text = _own_text(process)
    return text is not None and not any(sign in text for sign in purposes.SIGNS_OF_GRADIENTS)


_SUBMITS = lazy_re.compile(r"\bsbatch[ \t]+(?:--?\w|\{)|\bsubmitit\.(?:Auto|Slurm)Executor\(")


def _hands_its_work_to_jobs(process: TrainingProcess) -> bool:
    """Whether a program without accelerators submits others to Slurm: what trains is them."""
    if process.workload.batch is None or not isinstance(process.role.pod.accelerator_count, Absent):
        return False
    return _SUBMITS.search(next(process.text.texts, "")) is not None


_COMMENT = lazy_re.compile(r"^[ \t]*#.*$", re.MULTILINE)


_PREDICTS = lazy_re.compile(r"\.(?:predict|generate|evaluate)\(")


def _predicts_by_its_trainer(process: TrainingProcess) -> bool:
    """Whether a program makes a trainer of Hugging Face's and has it predict or evaluate alone."""
    if process.framework is None or process.framework.name != "hf-trainer":
        return False
    text = _own_text(process)
    if text is None or "Trainer(" not in text or any(call in text for call in (".train(", *purposes.STEP_CALLS)):
        return False
    return _PREDICTS.search(text) is not None


_EPOCHS_IN_COMMENTS = lazy_re.compile(r"^[ \t]*#.*\bfor[ \t]+\w*epoch\w*[ \t]+in\b", re.MULTILINE)
_MAY_TRAIN = lazy_re.compile(
    r"\bfor[ \t(]+[^\n:]*(?:epoch|step|iter|batch|data)\w*[^\n:]*[ \t]in\b|\bwhile\b|[Tt]rain\w*\(|[\w.]+fit\w*\("
    r"|scheduler\.step\("
)
"""A loop or a call that may be a training. What steps an optimizer may be a library's, which is handed it: a plan for
its rate is followed all the same."""


def _trains_in_comments_alone(process: TrainingProcess) -> bool:
    """Whether the loop over epochs of a program and its steps stand in comments, and what is left takes a finished
    model."""
    text = _own_text(process)
    if text is None or not any(call in text for call in purposes.STEP_CALLS):
        return False
    if _EPOCHS_IN_COMMENTS.search(text) is None:
        return False
    code = _COMMENT.sub("", text)
    trains = any(call in code for call in purposes.TRAINING_CALLS) or _MAY_TRAIN.search(code) is not None
    return not trains and any(call in code for call in (*purposes.INFERENCE_CALLS, "load_state_dict("))


def _only_applies(process: TrainingProcess) -> bool:
    """Whether all of a program's text is seen, and what it does is not training."""
    if process.framework is not None or any(kind in DISTRIBUTED for kind in process.layers()):
        return False
    text = process.text
    return text.mentions(*purposes.SIGNS_OF_TRAINING) is False and text.mentions(*purposes.SIGNS_OF_USE) is True


def _is_on(option: OptionValue) -> bool:
    """Whether an option is given with no value, or with one that does not switch it off."""
    return option.bare or (isinstance(option.value, Set) and option.value.value.strip().lower() not in _OFF)


_OFF = frozenset({"", "0", "false", "no", "off", "none", "never"})


def _injects_faults(process: TrainingProcess) -> str:
    """The variable or option by which a run fails on purpose; empty where none does."""
    given = {occurrence.name: (occurrence.value, occurrence.bare) for occurrence in process.options.occurrences}
    given.update({name: (process.environment.get(name), False) for name in filter(_is_fault, process.environment)})
    for name, (value, bare) in given.items():
        off = isinstance(value, Set) and value.value.strip().lower() in _OFF and not bare
        if not off and _is_fault(name):
            return name  # on, or up to who submits it
    return ""


@lru_cache(maxsize=4096)
def _is_fault(name: str) -> bool:
    """Whether the name of a variable or option says that it makes something fail."""
    plain = name.lstrip("-").replace("_", "-").lower()
    return any(part in plain for part in purposes.FAULT_INJECTION)


_IMPORT = lazy_re.compile(r"^[ \t]*(?:import|from)[ \t]+(?P<names>[\w., \t]+)", re.MULTILINE)


def _takes_nothing_that_trains(process: TrainingProcess) -> bool:
    """Whether all of a program's text is seen, and all that it imports is its own, Python's, or known not to train."""
    if process.text.mentions(*purposes.STACKS) is not False:
        return False
    from kube_gaplint.facts.frameworks import KNOWN_PACKAGES

    return all(_imported(text) <= sys.stdlib_module_names | KNOWN_PACKAGES | {""} for text in process.text.texts)


def _imported(text: str) -> set[str]:
    """The names of the packages and modules that a program imports; empty ones for those that stand beside it."""
    return {
        name.split()[0].partition(".")[0]
        for found in _IMPORT.finditer(text)
        for name in found["names"].partition(" import ")[0].split(",")
        if name.strip()
    }


def _visibly_no_training(process: TrainingProcess, name: str) -> _Hint | None:
    """What a visible program is for that surely trains nothing: no call of it trains, and it imports nothing that may.

    It talks over the network, it uses a finished model, or it has others train.
    """
    text = _own_text(process)
    if text is not None and purposes.FLOW in text and any(mark in text for mark in purposes.REMOTE_STEPS):
        return _Hint("processing", f"the steps of the flow in {name} run in pods of their own", 4)
    if text is None or any(call in text for call in purposes.TRAINING_CALLS):
        return None
    own = _foreign(process, text)
    if own is None:
        return None
    if "torch" in own and own <= purposes.TRAINS_NOTHING and any(call in text for call in purposes.COLLECTIVES):
        return _Hint("benchmark", f"{name} takes no gradient and no step", 4)
    if "jax" in own and own <= purposes.JAX_ALONE and _computes_without_gradient(text):
        return _Hint("benchmark", f"{name} takes no gradient", 4)
    if own <= purposes.USES_A_MODEL and any(call in text for call in purposes.INFERENCE_CALLS):
        return _Hint("inference", f"{name} uses a model and takes no gradient", 4)
    return None  # an excerpt, perhaps


def _foreign(process: TrainingProcess, text: str) -> set[str] | None:
    """What a program imports of others, its own modules taken off; None where one of those trains, or is not seen."""
    names = _imported(text) - sys.stdlib_module_names
    strange = names - purposes.USES_A_MODEL - purposes.JAX_ALONE
    if not strange:
        return names
    if process.text.mentions(*purposes.TRAINING_CALLS) is not False:
        return None
    folder = posixpath.dirname(process.program)
    imported = {name for one in process.text.texts for name in _imported(one)} - {""} - sys.stdlib_module_names
    own = {
        name
        for name in imported
        if any(
            process.container.files(posixpath.join(folder, module)) is not None
            for module in (f"{name}.py", f"{name}/__init__.py")
        )
    }
    return imported - own


def _own_text(process: TrainingProcess) -> str | None:
    """The text of a Python program: a file that is visible to its container, or that its script writes. Of a path on a
    cluster that is not in the paths, the file of that name beside the batch script."""
    if not process.program.endswith(".py"):
        return None
    file = process.container.files(process.program)
    text = file.text if file is not None else next(process.text.texts, None)
    if text is None and process.workload.batch is not None:
        file = process.container.files(posixpath.basename(process.program))
        text = None if file is None else file.text
    return text


def _computes_without_gradient(text: str) -> bool:
    """Whether a JAX program runs something on its devices, and takes no gradient."""
    computes = any(call in text for call in purposes.JAX_COLLECTIVES)
    return computes and not any(sign in text for sign in purposes.JAX_GRADIENTS)


_ENDING_KINDS = frozenset({"Job", "CronJob", "JobSet", "RayJob", "Pod", "Workflow", "CronWorkflow", "sbatch"})


def _program_at_scale(workload: Workload, roles: list[Role]) -> str | None:
    """A Python program on several accelerators at once in an object that runs to its end: nothing else looks so."""
    total = workload.accelerators
    if workload.subject.kind not in _ENDING_KINDS or not isinstance(total, Set) or total.value < 2:
        return None
    for role in roles:
        for container in _main(role):
            for command in container.commands:
                texts = [word.known or "" for word in command.words[:_MOST_WORDS]]
                program = _python_program(texts)
                if program and not _is_chore(texts) and _may_train(program, container):
                    return f"it runs {program} on {total.value} accelerators to its end"
    return None


def _may_train(program: str, container: Container) -> bool:
    """Whether nothing speaks against a program: its name, or its text where that is visible."""
    name = program.rsplit("/", 1)[-1]
    if purposes.is_chore(name) or purposes.CHECKS.intersection(purposes.words_of(name)):
        return False
    text = container.files(program)
    return text is None or any(call in text.text for call in purposes.TRAINING_CALLS)


def _python_program(texts: list[str]) -> str:
    """The script or module that a command hands to Python, launchers in front of it included; else empty."""
    for index, text in enumerate(texts[:-1]):
        if text.rsplit("/", 1)[-1].startswith("python"):
            for following, after in zip(texts[index + 1 :], [*texts[index + 2 :], ""], strict=True):
                if following == "-m":
                    return "" if after.split(".")[0] in purposes.TOOL_MODULES else after
                if not following.startswith("-"):
                    return following if following.endswith(".py") else ""
                if following == "-c":
                    return ""
    return ""


def _decide(hints: list[_Hint]) -> _Hint | None:
    """The strongest hint. A training program beats what runs beside it (a preflight NCCL test, `nvidia-smi`)."""
    order: tuple[Meaning, ...] = (
        "training", "simulation", "benchmark", "inference", "evaluation", "interactive", "processing", "smoke",
    )  # fmt: skip
    for strength in (4, 3, 2, 1, 0):
        found = [hint for hint in hints if hint.strength == strength]
        strong = [hint for hint in found if hint.meaning != "smoke"]
        for meaning in order:
            hint = next((hint for hint in (strong or found) if hint.meaning == meaning), None)
            if hint is not None:
                if meaning == "smoke" and strength < 4 and any(other.strength == 2 for other in hints):
                    break
                return hint
    return None


def _does_more(roles: list[Role]) -> bool:
    """Whether anything runs besides a look at the devices, so that this look says nothing of the whole."""
    for role in roles:
        for container in _main(role):
            for command in container.commands:
                if command.name in _SHELL_NOISE or command.name in _WAITERS or command.name in ("sleep", "exit", "if"):
                    continue
                if all(hint.meaning == "smoke" for hint in _of_command(command)) and any(_of_command(command)):
                    continue
                if command.name not in purposes.CARRIERS:
                    return True
    return False


def _only_processes(roles: list[Role]) -> bool:
    """Whether every program that is seen prepares, converts or looks at something: what else runs may train."""
    for role in roles:
        for container in _main(role):
            if container.entrypoint_unknown:
                return False
            for command in container.commands:
                texts = _texts(command)
                if command.name in _SHELL_NOISE or _only_carries(command.name, texts):
                    continue
                programs = [text for text in texts if text.endswith((".py", ".sh")) and not text.startswith("-")]
                if not all(purposes.processes_data(program.rsplit("/", 1)[-1]) for program in programs):
                    return False
                if not programs and any(hint.meaning == "training" for hint in _of_command(command)):
                    return False
    return True


def _accelerated(workload: Workload) -> bool | None:
    """Whether any pod has accelerators; None where that cannot be seen."""
    seen_all = bool(workload.roles)
    for role in workload.roles:
        for container in (*role.pod.containers, *role.pod.init_containers):
            count = container.accelerator_count
            if isinstance(count, Set):
                return True
            if isinstance(count, Unknown):
                seen_all = False
        if role.pod.overrides_unknown:
            seen_all = False
    if isinstance(workload.accelerators_per_node, Set) and workload.accelerators_per_node.value:
        return True
    return False if seen_all else None


_GPU_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "NCCL_")


def _on_gpu_anyway(roles: list[Role]) -> bool:
    """Whether a pod without an accelerator in its resources runs on some all the same."""
    for role in roles:
        runtime = role.pod.fields.get("runtimeClassName")
        if isinstance(runtime, Set) and "nvidia" in runtime.value:
            return True
        if any(devices.selects(label) for label in role.pod.node_selector):
            return True
        for container in role.pod.containers:
            for name in container.environment:
                value = container.environment.get(name)
                if name.startswith(_GPU_VARIABLES) and not (
                    isinstance(value, Set) and value.value in ("", "none", "void", "-1")
                ):
                    return True
            if any(_wants_gpus(command) for command in container.commands):
                return True
    return False


def _wants_gpus(command: Command) -> bool:
    """Whether a launcher's own arguments start processes on GPUs: several a node, or NCCL by name."""
    texts = [word.known or "" for word in command.words[:_MOST_WORDS]]
    names = {text.rsplit("/", 1)[-1] for text in texts}
    if "deepspeed" in names:
        return True
    flat = " ".join(texts).replace("=", " ").replace("_", "-").lower().split(" ")
    for name, value in pairwise(flat):
        if name == "--nproc-per-node" and value in ("gpu", "auto", "4", "8", "16"):
            return True
        if "backend" in name and value == "nccl":
            return True
    return False


def _holder(roles: list[Role]) -> Classified | None:
    """A workload that only holds its devices: every container with accelerators sleeps or waits, and no launcher
    starts anything in it. A nap of up to an hour is a smoke test, the rest waits for somebody to log in."""
    found: Classified | None = None
    for role in roles:
        accelerated = any(container.accelerators for container in role.pod.containers)
        for container in _main(role):
            waits = _waits(container)
            if waits is None:
                return None
            if accelerated:
                short = waits.removeprefix("sleep ").rstrip("s")
                nap = waits.startswith("sleep ") and short.isdecimal() and len(short) < 5 and int(short) <= 3600
                reason = f"container {container.name} only runs {waits}"
                found = Classified("smoke" if nap else "interactive", reason)
    return found


_LONG_SLEEP = 4 * 3600
"""Seconds of sleep that nobody puts in front of a training: somebody logs in and works there meanwhile."""


def _sleeps_first(workload: Workload) -> Classified | None:
    """A workload all of whose training programs come after hours of sleep in their container (`sleep 7d && …`)."""
    found: Classified | None = None
    for process in workload.processes:
        commands = [command for command in process.container.commands if command.name not in _SHELL_NOISE]
        if len(commands) < 2 or commands[0].background or commands[0].certainty != "always":
            return None
        if not _is_long_sleep(commands[0]):
            return None
        found = Classified("interactive", f"container {process.container.name} first runs {_shown(commands[0])}")
    return found


def _is_long_sleep(command: Command) -> bool:
    if command.name != "sleep" or len(command.words) != 2:
        return False
    given = command.words[1].known or ""
    return given == "infinity" or (slept_seconds(given, 11) or 0.0) >= _LONG_SLEEP


def _shown(command: Command) -> str:
    return " ".join(word.shown for word in command.words)[:60]


def _chores(workload: Workload, roles: list[Role]) -> Classified | None:
    """A workload of which all that runs is seen, and none of it may train: it prints, copies, installs."""
    steps = [] if workload.batch is None else workload.batch.steps
    idle = {id(step.command) for step in steps if not step.trains}
    done: list[str] = []
    for role in roles:
        for container in _main(role):
            if container.entrypoint_unknown or not container.commands:
                return None
            if any(script.unseen or script.sources for script in container.scripts):
                return None
            for command in container.commands:
                if not (_is_no_program(command) or id(command) in idle):
                    return None
                if command.name not in _SHELL_NOISE or command.name == "echo":
                    done.append(_module(_texts(command)) or command.name)
    if not done:
        return None
    shown = ", ".join(list(dict.fromkeys(done))[:_SHOWN])
    return Classified("smoke" if set(done) <= _SHOWS | {"echo"} else "processing", f"all that it runs is {shown}")


_SHOWN = 4
"""Programs that are named."""


def _module(texts: list[str]) -> str:
    """The module that a command has Python run; empty where it has none."""
    return texts[texts.index("-m") + 1] if _is_python(texts[:1]) and "-m" in texts[:-1] else ""


def _is_python(words: list[str]) -> bool:
    return "".join(words).rsplit("/", 1)[-1].startswith("python")


def _is_no_program(command: Command) -> bool:
    """Whether a command surely starts nothing that trains."""
    if command.name in purposes.STARTERS:
        return False
    texts = _texts(command)
    if command.name in purposes.CARRIERS or command.name.startswith("python"):
        module = matches(_module(texts), NOT_TRAINING_MODULES)
        return module or _only_carries(command.name, texts) or _is_harmless_code(command)
    return command.name in NOT_TRAINING


_SHOWS = frozenset({"nvidia-smi", "date", "hostname", "sleep", "exit", "pwd", "env", "free", "df", "uname", "id"})
_STARTS_RANKS = frozenset({"mpirun", "mpiexec", "srun"})
_STARTS_MORE = ("subprocess", "os.system", "os.exec", "runpy", "import_module")


def _check(roles: list[Role]) -> Classified | None:
    """A workload that only tries its devices out: all that it runs is shown, and that is Python code which takes no
    gradient, beside commands that show something."""
    found = False
    for role in roles:
        for container in _main(role):
            if container.entrypoint_unknown or not container.commands:
                return None
            for command in container.commands:
                if command.name in _SHELL_NOISE | _WAITERS | _SHOWS:
                    continue
                if not _is_harmless_code(command):
                    return None
                found = True
    return Classified("smoke", "its Python code takes no gradient and no step") if found else None


def _is_harmless_code(command: Command) -> bool:
    """Whether a command is Python code that takes no gradient and starts nothing else."""
    code = _inline_python(command)
    return code is not None and _trains_nothing(code)


def _trains_nothing(code: str) -> bool:
    return not any(call in code for call in (*purposes.TRAINING_CALLS, *_STARTS_MORE))


def _inline_python(command: Command) -> str | None:
    """The code that a command gives to Python as an argument or on its standard input, behind mpirun as well; None for
    anything else."""
    words = list(command.words)
    if command.name in _STARTS_RANKS:
        names = ((word.known or "").rpartition("/")[2] for word in words)
        words = words[next((at for at, name in enumerate(names) if name.startswith("python")), len(words)) :]
    elif not command.name.startswith("python"):
        return None
    given = [word.known for word in words[1:] if word.known not in ("-u", "-")]
    if not given:
        return None if command.stdin is None else command.stdin.text.text
    return given[1] if given[0] == "-c" and len(given) == 2 else None


_WAITERS = frozenset({"sshd", "service", "true", ":", "pause", "wait", "trap", "exec"})


def _waits(container: Container) -> str | None:
    """What a container does where it only waits: the last of its commands; None where it does anything else."""
    commands = [command for command in container.commands if command.name not in _SHELL_NOISE]
    if not commands:
        return None
    for command in commands:
        texts = [word.known or "" for word in command.words]
        name = command.name
        waits = (
            (name == "sleep" and len(texts) > 1)
            or (name == "tail" and "/dev/null" in texts)
            or name in _WAITERS
            or (name in ("bash", "sh") and len(texts) == 1)
        )
        if not waits:
            return None
    return _shown(commands[-1])


_NAME_WORDS: tuple[tuple[Meaning, frozenset[str]], ...] = (
    ("benchmark", frozenset({"bench", "benchmark", "benchmarks", "perf", "nccl", "rccl", "burn", "osu", "dcgm"})),
    ("smoke", frozenset({"smoke", "vectoradd", "smi"})),
    ("interactive", frozenset({"notebook", "jupyter", "dev", "devbox", "workspace", "debug", "interactive", "shell"})),
    ("evaluation", frozenset({"eval", "evaluate", "evaluation"})),
    ("inference", frozenset({"inference", "infer", "serve", "serving", "server", "vllm", "triton"})),
    (
        "training",
        frozenset({"train", "trainer", "training", "pretrain", "pretraining", "finetune", "finetuning", "sft"}),
    ),
)


def _by_name(workload: Workload) -> _Hint | None:
    words = purposes.words_of(workload.subject.name)
    if purposes.CHORES.intersection(words) and not {"train", "training"}.intersection(words):
        return None
    for meaning, marks in _NAME_WORDS:
        if marks.intersection(words):
            return _Hint(meaning, f"its name {workload.subject.name}", 0)
    return None
