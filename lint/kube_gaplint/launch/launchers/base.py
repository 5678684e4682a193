"""What all launchers share: the call to read, the layer that comes out, and readings of option values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal, TypeVar

from msgspec import Struct, field

from kube_gaplint.facts.launchers import LauncherFacts
from kube_gaplint.launch.options import OptionSpec, make_spec
from kube_gaplint.lazy_re import globs
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, first_set
from kube_gaplint.model.training import Launcher, Options, Release
from kube_gaplint.text.source import Files, no_files

T = TypeVar("T")

Form = Literal["script", "module", "inline", "command"]
"""What the first of a layer's words is: a Python file, a module's name, `-c` text, or a program with arguments."""


@lru_cache(maxsize=8192)  # the same few names are held against the same tables in every file
def matches(text: str, patterns: tuple[str, ...]) -> bool:
    """Whether a text fits one of the file-name patterns of a table (`*` and `?`)."""
    return any(globs(text, pattern) for pattern in patterns)


class Call(Struct, frozen=True):
    """A launcher's command line: what a module in this package reads."""

    facts: LauncherFacts
    command: Command
    arguments: tuple[Word, ...]
    """The words after the launcher's name and subcommand."""
    environment: Environment
    origin: Origin
    """The launcher's name: where a finding about a missing option points."""
    torch: Setting[Release]
    files: Files = no_files

    @property
    def home(self) -> Origin:
        return Origin(self.command.place)


class Layer(Struct, frozen=True):
    """One launcher taken off: what it is, and what it starts in which environment."""

    launcher: Launcher | None
    rest: tuple[Word, ...]
    environment: Environment
    form: Form = "command"
    image: Setting[str] | None = None
    """The container image that the rest runs in, where the launcher changes it (`srun --container-image`)."""
    notes: tuple[str, ...] = field(default_factory=tuple)


@cache
def spec_of(facts: LauncherFacts) -> OptionSpec:
    return make_spec(
        facts.flags,
        facts.valued,
        many=facts.many,
        optional=facts.optional,
        short=facts.short,
        single_dash=facts.single_dash,
        abbreviations=facts.abbreviations,
        ends_at_positional=facts.starts != "self",
        overrides=facts.starts == "self",
    )


def form_of(facts: LauncherFacts, options: Options) -> Form:
    """What a launcher takes its first positional for."""
    if facts.module_option and options.has(facts.module_option):
        return "module"
    if facts.starts == "command" or (facts.command_option and options.has(facts.command_option)):
        return "command"
    return "script"


def default(value: T, origin: Origin, note: str) -> Set[T]:
    """A default that surely applies."""
    return Set(value, Origin(origin.place, "default", note))


def injected(value: T, origin: Origin, note: str) -> Set[T]:
    """What a launcher adds by itself."""
    return Set(value, Origin(origin.place, "injected", note))


def or_default(setting: Setting[T], value: T, note: str) -> Setting[T]:
    """The setting, or the default where it is surely absent."""
    return default(value, setting.origin, note) if isinstance(setting, Absent) else setting


def whole_number(setting: Setting[str]) -> Setting[int]:
    """A count; text that is no whole number (`auto`, `gpu`, an expression) leaves it unknown."""
    if not isinstance(setting, Set):
        return setting
    text = setting.value.strip()
    if text.isascii() and text[text[:1] in ("+", "-") :].isdigit() and len(text) < 12:
        return Set(int(text), setting.origin)
    return Unknown(f"{text!r} is no number", setting.origin)


def option_or_variable(
    options: Options, environment: Environment, names: tuple[str, ...], *variables: str
) -> Setting[str]:
    """An option's value; where it is not given, that of an environment variable."""
    return first_set(options.get(*names), environment.get(*variables)) if variables else options.get(*names)


def absent(origin: Origin) -> Absent:
    return Absent(origin)


def make_launcher(
    call: Call,
    options: Options,
    *,
    nodes: Setting[int] | None = None,
    processes_per_node: Setting[int] | None = None,
    max_restarts: Setting[int] | None = None,
    rendezvous_backend: Setting[str] | None = None,
    rendezvous_id: Setting[str] | None = None,
    rendezvous_endpoint: Setting[str] | None = None,
    rendezvous_conf: Setting[str] | None = None,
    elastic: Setting[bool] | None = None,
    exports: Mapping[str, Setting[str]] | None = None,
) -> Launcher:
    """A launcher whose settings are absent except where given."""
    nothing = Absent(call.home)
    return Launcher(
        kind=call.facts.kind,
        options=options,
        command=call.command,
        origin=call.origin,
        nodes=nodes or nothing,
        processes_per_node=processes_per_node or nothing,
        max_restarts=max_restarts or nothing,
        rendezvous_backend=rendezvous_backend or nothing,
        rendezvous_id=rendezvous_id or nothing,
        rendezvous_endpoint=rendezvous_endpoint or nothing,
        rendezvous_conf=rendezvous_conf or nothing,
        elastic=elastic or nothing,
        exports=exports or {},
    )
