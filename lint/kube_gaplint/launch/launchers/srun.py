"""srun: how many tasks on how many nodes, what it does when a task dies, and the container that it runs them in."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from kube_gaplint.facts import sbatch
from kube_gaplint.facts.images import is_image_file
from kube_gaplint.launch.launchers.base import Call, Layer, make_launcher, or_default, whole_number
from kube_gaplint.launch.options import OptionSpec, parse_launcher
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, first_set, mapped
from kube_gaplint.model.training import Options

DEFAULT_EXPORT = "ALL"


@cache
def spec() -> OptionSpec:
    """srun's options, plugins' included. It stops at the first word that is no option."""
    known = sbatch.options("srun")
    return OptionSpec(
        flags=frozenset(name for name, option in known.items() if option.takes == "no"),
        valued={name: 1 for name, option in known.items() if option.takes == "yes"},
        optional=frozenset(name for name, option in known.items() if option.takes == "optional"),
        short={letter: option.name for letter, option in sbatch.short_options("srun").items()},
        abbreviations=True,
        overrides=False,
        ends_at_positional=True,
    )


def _variables(name: str) -> tuple[str, ...]:
    """An option's environment forms, the strongest first."""
    option = sbatch.options("srun").get(name)
    return tuple(reversed(option.environment)) if option is not None else ()


class StepSettings(Struct, frozen=True):
    """Options of one step in force: flag, then environment. `Absent` leaves it to the allocation or slurm.conf."""

    nodes: Setting[int]
    tasks: Setting[int]
    tasks_per_node: Setting[int]
    kill_on_bad_exit: Setting[str]
    wait_seconds: Setting[float]
    no_kill: Setting[bool]
    image: Setting[str]


def step_settings(options: Options, environment: Environment) -> StepSettings:
    """What a step asks for, from srun's options and their environment forms."""

    def value(name: str) -> Setting[str]:
        return first_set(options.get(name), environment.get(*_variables(name)))

    return StepSettings(
        nodes=_first_number(value("nodes")),
        tasks=whole_number(value("ntasks")),
        tasks_per_node=_tasks_per_node(
            first_set(options.get("ntasks-per-node", "tasks-per-node"), value("ntasks-per-node"))
        ),
        kill_on_bad_exit=mapped(value("kill-on-bad-exit"), lambda text: text.strip() or "1"),
        wait_seconds=_seconds(value("wait")),
        no_kill=mapped(value("no-kill"), lambda text: text.strip().lower() != "off"),
        image=container_image(options.get("container-image")),
    )


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec())
    options = parsed.options
    settings = step_settings(options, call.environment)
    each = settings.tasks_per_node
    if options.find("ntasks") is not None and options.find("ntasks-per-node", "tasks-per-node") is None:
        each = Absent(call.origin)  # what the allocation says is then no more than a bound
    if isinstance(each, Absent) and isinstance(settings.tasks, Set) and isinstance(settings.nodes, Set):
        nodes = max(1, settings.nodes.value)
        if settings.tasks.value % nodes == 0:
            each = Set(settings.tasks.value // nodes, Origin(settings.tasks.origin.place, "derived", "tasks by nodes"))
    elif isinstance(each, Absent) and not isinstance(settings.tasks, Absent):
        each = Unknown("--ntasks over a number of nodes that is not visible", call.origin)
    exports, environment = _passed_on(call, options)
    launcher = make_launcher(call, options, nodes=settings.nodes, processes_per_node=each, exports=exports)
    image = None if isinstance(settings.image, Absent) else settings.image
    return Layer(launcher, parsed.rest, environment, "command", image)


def _passed_on(call: Call, options: Options) -> tuple[dict[str, Setting[str]], Environment]:
    """`--export`: ALL by default; NONE, or names without ALL, keep the rest of the script's variables back."""
    written = or_default(
        first_set(options.get("export"), call.environment.get(*_variables("export"))),
        DEFAULT_EXPORT,
        "srun's default for --export",
    )
    if isinstance(written, Unknown):
        return {}, call.environment if options.find("export") is None else call.environment.over({}, written.reason)
    assert isinstance(written, Set)
    exports: dict[str, Setting[str]] = {}
    everything = False
    for part in written.value.split(","):
        name, equals, value = part.strip().partition("=")
        if equals:
            exports[name] = Set(value, Origin(written.origin.place, "written", "srun --export"))
        elif name.upper() == "ALL":
            everything = True
        elif name.upper() not in {"NONE", "NIL", ""}:
            exports[name] = call.environment.get(name)
    if everything:
        return exports, call.environment.over(exports)
    reason = f"srun --export={written.value} keeps the script's variables back"
    kept: dict[str, Setting[str]] = {
        name: Unknown(reason, written.origin) for name in call.environment if not name.startswith("SLURM")
    }
    return exports, call.environment.over({**kept, **exports}, reason)


def _first_number(setting: Setting[str]) -> Setting[int]:
    """`-N 4` or `-N 4-8`: a range is not known before the job starts."""
    if isinstance(setting, Set) and "-" in setting.value:
        low, _, high = setting.value.partition("-")
        if low.strip() != high.strip():
            return Unknown(f"a range of {setting.value} nodes", setting.origin)
        return whole_number(Set(low, setting.origin))
    return whole_number(setting)


def _tasks_per_node(setting: Setting[str]) -> Setting[int]:
    """Slurm writes `8(x4)` into SLURM_NTASKS_PER_NODE's relatives."""
    return whole_number(mapped(setting, lambda text: text.split("(", 1)[0]))


def _seconds(setting: Setting[str]) -> Setting[float]:
    number = whole_number(setting)
    return mapped(number, float)


def container_image(setting: Setting[str]) -> Setting[str]:
    """An image as pyxis names it: `nvcr.io#nvidia/pytorch:24.05-py3` is `nvcr.io/nvidia/pytorch:24.05-py3`.

    A file is no reference: it is unknown, with its path as the prefix.
    """
    if not isinstance(setting, Set):
        return setting
    text = setting.value.strip().removeprefix("docker://").removeprefix("dockerd://")
    if not text:
        return Unknown("it is still to be filled in", setting.origin)
    if is_image_file(text):
        return Unknown(f"{text} is a local file", setting.origin, prefix=text)
    return Set(text.replace("#", "/", 1), setting.origin)
