"""Launchers: what stands between a container's command and the training program.

`peel` takes the layers off from the outside in: `srun … bash -c "torchrun … train.py --lr 1"` gives srun, torchrun
and the program `train.py`. A shell inside goes through `launch.start` again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.facts.launchers import (
    CONTAINER_RUNNERS,
    IMAGE_BY_OPTION,
    ISOLATED_RUNNERS,
    LAUNCHERS,
    LauncherFacts,
    shifter_image,
)
from kube_gaplint.launch.launchers import python
from kube_gaplint.launch.launchers.base import Call, Form, Layer, matches
from kube_gaplint.launch.shared import Budget
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown, mapped
from kube_gaplint.model.training import Launcher, Release
from kube_gaplint.text.source import Files, no_files

MAX_LAYERS = 12
"""More layers than any real command has; beyond it the rest is taken as it stands."""

MAX_COMMANDS = 2000
"""Commands that one command of a container may lead to through shells inside it."""

TorchOf: TypeAlias = Callable[["Setting[str] | None"], "Setting[Release]"]
"""The torch release in a container image; None for the image of the container itself."""

_READERS = {
    "torchrun": ("torchrun", "read"),
    "torch.distributed.launch": ("torch_launch", "read"),
    "ft_launcher": ("ft_launcher", "read"),
    "hyperpodrun": ("hyperpodrun", "read"),
    "dlrover-run": ("dlrover", "read"),
    "deepspeed": ("deepspeed", "read"),
    "accelerate": ("accelerate", "read"),
    "mpirun": ("mpirun", "read"),
    "srun": ("srun", "read"),
    "ray": ("ray_job", "read"),
    "composer": ("composer", "read"),
    "horovodrun": ("horovodrun", "read"),
    "lightning": ("lightning", "read"),
    "torchtune": ("torchtune", "read"),
    "colossalai": ("colossalai", "read"),
    "litgpt": ("own", "litgpt"),
    "axolotl": ("own", "axolotl"),
    "llamafactory": ("own", "llamafactory"),
    "swift": ("own", "swift"),
    "nemo": ("own", "nemo"),
}


def _torch_unknown(image: Setting[str] | None) -> Setting[Release]:  # noqa: ARG001
    return Unknown("the image's torch release is not known")


class Peeled(Struct, frozen=True):
    """One program that a command leads to, with the layers above it.

    `program` is empty where it cannot be told what starts; `opaque_because` then says why.
    """

    command: Command
    """The innermost command: the one of a shell inside where there is one."""
    launchers: tuple[Launcher, ...]
    program: str
    form: Form
    words: tuple[Word, ...]
    """The program's arguments."""
    environment: Environment
    program_word: Word | None = None
    image: Setting[str] | None = None
    """The image that it runs in, where that is not the container's own."""
    opaque_because: str = ""
    interpreted: bool = False
    """Run by Python."""

    @property
    def name(self) -> str:
        """The program's base name."""
        return self.program.rsplit("/", 1)[-1] if self.form != "module" else self.program

    @property
    def whole(self) -> bool:
        """Whether the program's path is known to its beginning (`…/train.py` is not)."""
        return not self.program.startswith("…")

    @property
    def origin(self) -> Origin:
        return Origin(self.program_word.place if self.program_word is not None else self.command.place)


class _State(Struct):
    command: Command
    words: tuple[Word, ...]
    form: Form
    environment: Environment
    launchers: tuple[Launcher, ...]
    image: Setting[str] | None
    depth: int
    budget: Budget
    notes: list[str] = field(default_factory=list)


def peel_all(
    command: Command,
    *,
    files: Files = no_files,
    torch_of: TorchOf = _torch_unknown,
    budget: Budget | None = None,
) -> list[Peeled]:
    """All programs that a command leads to, in the order in which they run.

    More than one comes out only where a launcher starts a shell (`srun bash -c "setup; train"`). `budget` is what may
    still be read for the container; enough for one command by default.
    """
    waiting = [_State(command, command.words, "command", command.environment, (), None, 0, budget or Budget())]
    found: list[Peeled] = []
    steps = 0
    while waiting and steps < MAX_COMMANDS:
        steps += 1
        state = waiting.pop(0)
        following = _step(state, files, torch_of)
        if isinstance(following, Peeled):
            found.append(following)
        else:
            waiting[:0] = following
    return found


def peel(command: Command, *, files: Files = no_files, torch_of: TorchOf = _torch_unknown) -> Peeled:
    """The program that a command leads to: the last, where a shell inside runs several."""
    return peel_all(command, files=files, torch_of=torch_of)[-1]


def _step(state: _State, files: Files, torch_of: TorchOf) -> Peeled | list[_State]:
    """Take one layer off: the program when there is none left, else what comes next."""
    words = state.words
    if not words:
        return _opaque(state, "nothing is given to start")
    if state.depth > MAX_LAYERS:
        return _opaque(state, "it is nested too deeply")
    if state.form == "inline":
        return _program(state)
    if state.form == "script":
        # torchrun takes the word after its options for a script, but people write `torchrun python train.py`.
        if python.is_python(last_name(words[0])) and len(words) > 1:
            return [replace(state, form="command", depth=state.depth + 1)]
        facts, taken = launcher_named(words)
        if facts is not None and not last_name(words[0]).endswith(".py"):  # `python $(which torchrun) train.py`
            return _layer(state, facts, words[1:] if facts.starts == "self" else words[taken:], files, torch_of)
        return _program(state, interpreted=True)
    if state.form == "module":
        facts = _launcher_module(words[0].known or "")
        return _program(state, interpreted=True) if facts is None else _layer(state, facts, words[1:], files, torch_of)
    return _command(state, files, torch_of)


def _command(state: _State, files: Files, torch_of: TorchOf) -> Peeled | list[_State]:
    words = state.words
    name = last_name(words[0])
    if not name:
        return _opaque(state, "the program's name is not known")
    if python.is_python(name):
        read = python.read(words[1:])
        if read.target is None:
            return replace(_program(state), form="inline", interpreted=True)
        return [
            replace(state, words=(read.target, *read.arguments), form=read.form, depth=state.depth + 1),
        ]
    facts, taken = launcher_named(words)
    if facts is not None:
        return _layer(state, facts, words[1:] if facts.starts == "self" else words[taken:], files, torch_of)
    if name in CONTAINER_RUNNERS:
        inner = _inside_container(words, name, state.environment)
        if inner is not None:
            depth = state.depth + 1
            image = state.image if inner.image is None else inner.image
            return [replace(state, words=inner.words, image=image, environment=inner.environment, depth=depth)]
    if name.endswith(".py"):
        return _program(state, interpreted=True)
    nested = _nested(state, files)
    return nested if nested is not None else _program(state)


def _layer(
    state: _State, facts: LauncherFacts, arguments: tuple[Word, ...], files: Files, torch_of: TorchOf
) -> Peeled | list[_State]:
    call = Call(
        facts=facts,
        command=state.command,
        arguments=arguments,
        environment=state.environment,
        origin=Origin(state.words[0].place),
        torch=torch_of(state.image),
        files=files,
    )
    module, function = _READERS[facts.kind]
    layer: Layer = getattr(import_module(f"{__name__}.{module}"), function)(call)
    launchers = state.launchers if layer.launcher is None else (*state.launchers, layer.launcher)
    following = replace(
        state,
        words=layer.rest,
        form=layer.form,
        environment=layer.environment,
        launchers=launchers,
        image=layer.image if layer.image is not None else state.image,
        depth=state.depth + 1,
    )
    if facts.starts == "self":
        return Peeled(
            command=state.command,
            launchers=launchers,
            program=facts.programs[0],
            form="command",
            words=layer.rest,
            environment=layer.environment,
            program_word=state.words[0],
            image=following.image,
            interpreted=True,
        )
    return [following]


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh", "rbash", "busybox"})


def _nested(state: _State, files: Files) -> Peeled | list[_State] | None:
    """What a wrapper, a shell or a script by its name runs; None where the words are a program of their own.

    The commands of a container are free of wrappers already; those behind a launcher are not.
    """
    from kube_gaplint.launch.start import nested, peel_wrappers, start

    name = last_name(state.words[0])
    command = replace(state.command, words=state.words, environment=state.environment)
    if state.depth:
        bare = peel_wrappers(command)
        if bare.words != state.words and bare.words:
            return [replace(state, command=bare, words=bare.words, environment=bare.environment, depth=state.depth + 1)]
    is_script = name.endswith(".sh") or "entrypoint" in name
    if not (state.depth or is_script or name in _SHELLS):
        return None
    here = bool(state.launchers) and state.launchers[-1].kind == "srun"
    inside = nested(command, state.words, files, state.budget, here=here)
    if inside is not None and inside.commands:
        return [
            replace(state, command=each, words=each.words, environment=each.environment, depth=state.depth + 1)
            for each in inside.commands
            if each.certainty not in {"on-exit", "never-seen"} or state.command.certainty == each.certainty
        ] or None
    if not (is_script or name in _SHELLS):
        return None
    reason = start(state.words, state.environment, files, budget=state.budget).unknown
    return _opaque(state, reason) if reason else None


def _program(state: _State, *, interpreted: bool = False) -> Peeled:
    first = state.words[0]
    text = first.known
    if text is None and state.form == "inline":
        text = ""
    elif text is None:
        if not last_name(first):
            return _opaque(state, "the program's name is not known", keep_words=True)
        text = "…/" + known_end(first)
    return Peeled(
        command=state.command,
        launchers=state.launchers,
        program=text if state.form != "inline" else "",
        form=state.form if not (state.form == "command" and interpreted) else "script",
        words=state.words[1:],
        environment=state.environment,
        program_word=first,
        image=state.image,
        interpreted=interpreted or state.form in {"inline", "module"},
    )


def _opaque(state: _State, reason: str, *, keep_words: bool = False) -> Peeled:
    return Peeled(
        command=state.command,
        launchers=state.launchers,
        program="",
        form=state.form,
        words=state.words[1:] if keep_words else (),
        environment=state.environment,
        program_word=state.words[0] if state.words else None,
        image=state.image,
        opaque_because=reason,
        interpreted=state.form in {"script", "module"},
    )


def known_end(word: Word) -> str:
    """The folders and the name that are known at the end of a path: `scripts/train.py` of `$REPO/scripts/train.py`."""
    last = word.pieces[-1]
    return last.partition("/")[2] if isinstance(last, str) and len(word.pieces) > 1 else last_name(word)


def last_name(word: Word) -> str:
    """A program's base name, also where only the folders before it are unknown (`$REPO/train.py`); else empty."""
    last = word.pieces[-1]
    if not isinstance(last, str):
        return ""
    _, slash, name = last.rpartition("/")
    return name if slash or len(word.pieces) == 1 else ""


# -- recognition -----------------------------------------------------------------------------------------------------


@cache
def _launcher_module(name: str) -> LauncherFacts | None:
    return next((facts for facts in LAUNCHERS if name in facts.modules), None)


@cache
def _launchers_of(name: str) -> tuple[LauncherFacts, ...]:
    return tuple(facts for facts in LAUNCHERS if matches(name, facts.programs))


def launcher_named(words: tuple[Word, ...]) -> tuple[LauncherFacts | None, int]:
    """The launcher that a command line starts, and how many words name it."""
    name = last_name(words[0])
    for facts in _launchers_of(name):
        for subcommand in facts.subcommands:
            given = tuple(word.known for word in words[1 : 1 + len(subcommand)])
            if given == subcommand:
                return facts, 1 + len(subcommand)
    return None, 0


def is_launcher(name: str) -> bool:
    """Whether a program is a launcher by its name, be it called to launch (`ray job submit`) or not (`ray start`)."""
    return bool(_launchers_of(name))


class _Inside(Struct, frozen=True):
    """What `apptainer exec … image command` runs, and in what."""

    image: Setting[str] | None
    """None: that of the job."""
    words: tuple[Word, ...]
    environment: Environment


def _inside_container(words: tuple[Word, ...], runner: str, environment: Environment) -> _Inside | None:
    """The image and the command of a container that is started; None where they cannot be told apart."""
    at = 1
    subcommands, options = CONTAINER_RUNNERS[runner]
    if subcommands:
        if at >= len(words) or words[at].known not in subcommands:
            return None
        at += 1
    valued = options.split()
    given: list[Word] = []
    open_because = ""
    names_image = IMAGE_BY_OPTION.get(runner)
    image: Setting[str] | None = None
    while at < len(words):
        word = words[at]
        text = word.prefix
        if not text.startswith("-"):
            break
        at += 1
        option, equals, _ = text.partition("=")
        takes_next = not equals and text in valued
        if option in {"-e", "--env"}:
            if equals:
                given.append(word.from_offset(len(option) + 1))
            elif at < len(words):
                given.append(words[at])
        elif option in {"--env-file", "--envs-from"}:
            open_because = f"{runner} takes variables from a file"
        elif names_image is not None and option in names_image and (equals or at < len(words)):
            named = (word.from_offset(len(option) + 1) if equals else words[at]).setting
            image = mapped(named, shifter_image)
        if takes_next:
            at += 1
    if names_image is None and at < len(words):
        image = words[at].setting
        at += 1
    if at >= len(words):
        return None
    isolated = runner in ISOLATED_RUNNERS
    changes = _given_variables(given, environment, many=not isolated)
    base = replace(environment, variables={}, sealed_by=runner) if isolated else environment
    return _Inside(image, tuple(words[at:]), base.over(changes, open_because))


def _given_variables(words: list[Word], environment: Environment, *, many: bool) -> dict[str, Setting[str]]:
    """`-e NAME=value`, `-e NAME` (handed on); several in one word, by commas, where `many`."""
    out: dict[str, Setting[str]] = {}
    for word in words:
        text = word.known
        if text is None:
            name, equals, _ = word.prefix.partition("=")
            if equals and name:
                value = word.setting
                out[name] = Unknown(value.reason if isinstance(value, Unknown) else "", Origin(word.place))
            continue
        for pair in text.split(",") if many else (text,):
            name, equals, value_text = pair.partition("=")
            if name:
                out[name] = Set(value_text, Origin(word.place)) if equals else environment.get(name)
    return out
