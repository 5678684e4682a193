"""The steps of a batch script: each `srun` or `mpirun` with the values that are in force for it.

Precedence (srun(1)): the option, then its environment form, then slurm.conf. Source rows: k8s.md B4, B5.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kube_gaplint import lazy_re
from kube_gaplint.facts import launchers, programs, purposes, sbatch
from kube_gaplint.kinds.allocation import Allocation, hosts, integer, node_count
from kube_gaplint.launch.launchers.srun import container_image
from kube_gaplint.launch.options import OptionSpec, parse_launcher
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import Command, Script, Word
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, mapped
from kube_gaplint.model.slurm import SlurmConf, Step
from kube_gaplint.model.training import Options, TrainingProcess
from kube_gaplint.text.source import Files

SRUN = "srun"
MPI = frozenset({"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "orterun", "prterun"})
_DEEPEST = 3


@cache
def srun_spec(tool: sbatch.Tool = "srun") -> OptionSpec:
    """How srun (or sbatch) reads its words."""
    options = sbatch.options(tool).values()
    return OptionSpec(
        flags=frozenset(option.name for option in options if option.takes == "no"),
        valued={option.name: 1 for option in options if option.takes == "yes"},
        optional=frozenset(option.name for option in options if option.takes == "optional"),
        short={letter: option.name for letter, option in sbatch.short_options(tool).items()},
        abbreviations=True,
        overrides=False,
        ends_at_positional=True,
    )


@cache
def mpi_spec() -> OptionSpec:
    """How mpirun reads its words, as far as the number of processes goes."""
    return OptionSpec(
        valued={"np": 1, "n": 1, "c": 1, "npernode": 1, "ppn": 1, "host": 1, "hostfile": 1, "machinefile": 1, "x": 1,
                "map-by": 1, "bind-to": 1, "mca": 2, "prefix": 1, "N": 1, "genv": 2, "env": 2},
        flags=frozenset({"allow-run-as-root", "oversubscribe", "tag-output", "report-bindings", "v"}),
        single_dash=True,
        overrides=False,
        ends_at_positional=True,
    )  # fmt: skip


def find_steps(
    commands: list[Command], found: Allocation, conf: SlurmConf | None, profile: Profile, files: Files
) -> list[Step]:
    """All steps, in the order in which they run."""
    steps = []
    for place, command in enumerate(commands):
        for word, launcher in _launchers(command):
            at = command.words.index(word)
            step = _step(command, at, launcher, found, conf, profile, files)
            step.log, step.log_grows = _log(step, commands[place + 1 : place + 1 + _PIPE])
            step.logs_apart = any(map(_may_differ, _outputs(step.inside)))
            steps.append(step)
            break
    return steps


def settle(steps: list[Step], processes: list[TrainingProcess]) -> None:
    """Where training programs were found in some of the steps, or scripts that are called so, the others are helpers
    that were not seen through. A step that starts one of these programs again, in another branch say, is none."""
    places = {
        (origin.place.source.path, origin.place.span.start)
        for process in processes
        if process.program or _is_called_a_training(process)
        for origin in (*process.launched, *(launcher.origin for launcher in process.launchers))
    }
    found = [step for step in steps if (step.origin.place.source.path, step.origin.place.span.start) in places]
    if found:
        for step in steps:
            step.trains = step.trains and step in found


def _is_called_a_training(process: TrainingProcess) -> bool:
    """Whether a script that is not seen says in its name that it trains (`srun ./launch_training.sh`)."""
    names = ((word.known or "").rpartition("/")[2] for word in process.command.words[:_MOST_WORDS])
    return any(purposes.script(name) == "training" for name in names if name.endswith(".sh"))


_MOST_WORDS = 24
"""Words of a command that are looked through for the script."""


def _log(step: Step, following: list[Command]) -> tuple[Setting[str] | None, bool]:
    """The file that a step's output goes to, and whether it grows over restarts. `following`: the next commands."""
    command = step.command
    given = step.options.find("output")
    if given is not None and step.launcher == SRUN:
        return given.value, False
    if command.writes is not None:
        return command.writes.setting, ">>" in command.place.text
    if command.pipeline.length > command.pipeline.index + 1:
        for follow in following:
            if follow.name == "tee" and follow.script is command.script:
                grows = any((word.known or "") in ("-a", "--append") for word in follow.words)
                files = [word for word in follow.words[1:] if not word.prefix.startswith("-")]
                return (files[0].setting, grows) if files else (None, False)
    return None, False


def _outputs(commands: tuple[Command, ...]) -> Iterator[Word]:
    """The files to which commands of a step send their output: `> file`, `| tee file`, `exec > file` before them."""
    scripts: dict[int, Script] = {}
    for command in commands:
        if command.writes is not None and command.name not in _PRINTING:
            yield command.writes
        if command.name == "tee" and command.pipeline.index:
            yield from (word for word in command.words[1:] if not word.prefix.startswith("-"))
        script = command.script
        while script is not None and id(script) not in scripts:
            scripts[id(script)] = script
            script = script.parent
    yield from (script.output for script in scripts.values() if script.output is not None)


_PRINTING = frozenset({"", "echo", "printf", "cat", "env", "hostname", "nvidia-smi", "scontrol", "date"})
"""Commands whose redirected output says nothing of where the training's goes."""


def _may_differ(file: Word) -> bool:
    """Whether a file's name is another one for other tasks or hosts of a job: by a command (`$(hostname)`) or by a
    variable that is not the job's own."""
    if not any(isinstance(piece, Unknown) for piece in file.pieces):
        return False
    text = file.place.text
    names = _VARIABLE.findall(text)
    return "$(" in text or "`" in text or not names or any(not _OF_THE_JOB.fullmatch(name) for name in names)


_VARIABLE = lazy_re.compile(r"\$\{?(\w+)")
_OF_THE_JOB = lazy_re.compile(
    r"(?:SLURM_|SBATCH_)(?:JOB\w*|ARRAY\w*|RESTART_COUNT|NNODES|NTASKS|CLUSTER_NAME|SUBMIT\w*)|USER|HOME|PWD|LOGNAME"
)

_PIPE = 8
"""How many commands further a pipe's `tee` is looked for: a step may hold commands of its own."""


def _launchers(command: Command) -> Iterator[tuple[Word, str]]:
    """The word of `srun` or `mpirun` in a command: the program, or what a wrapper before it starts."""
    for word in command.words[:12]:
        name = (word.known or "").rpartition("/")[2]
        if name == SRUN or name in MPI:
            yield word, name
        elif name in _PASSING or not name or name.startswith("-") or "=" in name or name[:1].isdigit():
            continue
        else:
            return


_PASSING = frozenset({"time", "exec", "nohup", "env", "timeout", "stdbuf", "unbuffer", "numactl", "nice", "command"})


def _step(
    command: Command,
    at: int,
    launcher: str,
    found: Allocation,
    conf: SlurmConf | None,
    profile: Profile,
    files: Files,
) -> Step:
    word = command.words[at]
    origin = Origin(word.place)
    spec = srun_spec() if launcher == SRUN else mpi_spec()
    parsed = parse_launcher(command.words[at + 1 :], origin, spec)
    options = parsed.options
    trains, image, inside = _program(parsed.rest, command, files)
    if launcher != SRUN:
        ends = Set("1", Origin(word.place, "injected", f"{launcher}, which ends all ranks when one dies"))
        return Step(
            command=command,
            options=options,
            origin=origin,
            nodes=found.nodes,
            tasks=integer(options.get("np", "n")),
            kill_on_bad_exit=ends,
            wait_seconds=Absent(origin),
            no_kill=Absent(origin),
            trains=trains,
            launcher=launcher,
            image=image,
            inside=inside,
        )
    nodes = _nodes(options, found)
    given = container_image(options.get("container-image"))
    return Step(
        command=command,
        options=options,
        origin=origin,
        nodes=nodes,
        tasks=_tasks(options, nodes, found),
        kill_on_bad_exit=_kill(options, command, conf, profile, origin),
        wait_seconds=_wait(options, command, conf, origin),
        no_kill=_no_kill(options, command, origin),
        trains=trains and not _one_helper_task(options, parsed.rest),
        launcher=launcher,
        image=image if isinstance(given, Absent) else given,
        inside=inside,
    )


def _nodes(options: Options, found: Allocation) -> Setting[int]:
    own = options.get("nodes")
    if isinstance(own, Set):
        return node_count(own)
    tasks = integer(options.get("ntasks"))
    if isinstance(tasks, Set) and tasks.value == 1:
        return Set(1, tasks.origin)
    listed = options.get("nodelist")
    if isinstance(own, Absent) and isinstance(listed, Set):
        named = hosts(listed.value)
        if named is not None and isinstance(found.nodes, Set) and named < found.nodes.value:
            return Set(named, listed.origin)
    if isinstance(own, Unknown):
        # `-N $SLURM_NNODES` is the allocation again; another variable is not known
        return found.nodes if "SLURM" in own.reason and isinstance(found.nodes, Set) else own
    return found.nodes


def _tasks(options: Options, nodes: Setting[int], found: Allocation) -> Setting[int]:
    own = integer(options.get("ntasks"))
    if not isinstance(own, Absent):
        return own
    each = integer(options.get("ntasks-per-node"))
    if isinstance(each, Absent):
        each = found.tasks_per_node
    if isinstance(each, Set) and isinstance(nodes, Set):
        return Set(each.value * nodes.value, each.origin)
    return found.tasks


def _environment(command: Command, tool_option: str) -> Setting[str]:
    """What a variable says in place of an option of srun. A file that is sourced and not seen does not count: like a
    login shell it prepares software and paths, and what it would say of srun holds for every job of its user."""
    names = sbatch.options("srun")[tool_option].environment
    given = (command.environment.variables.get(name) for name in reversed(names))
    return next((found for found in given if found is not None), Absent(command.environment.home))


def _conf(conf: SlurmConf | None, key: str) -> Setting[str] | None:
    return None if conf is None else conf.get(key)


def _kill(options: Options, command: Command, conf: SlurmConf | None, profile: Profile, origin: Origin) -> Setting[str]:
    found = options.find("kill-on-bad-exit")
    if found is not None:
        return Set("1", Origin(found.word.place)) if found.bare else found.value
    if options.open_because:
        return Unknown(options.open_because, origin)
    own = _environment(command, "kill-on-bad-exit")
    if not isinstance(own, Absent):
        return own
    site = _conf(conf, "killonbadexit")
    if isinstance(site, Unknown) or (isinstance(site, Set) and site.value not in ("0", "no", "NO")):
        return site
    if profile.kill_on_bad_exit:
        return Set("1", Origin(origin.place, "default", "the profile's kill_on_bad_exit"))
    return Absent(origin)


def _wait(options: Options, command: Command, conf: SlurmConf | None, origin: Origin) -> Setting[float]:
    found = options.find("wait")
    value: Setting[str] = Absent(origin)
    if found is not None:
        value = found.value
    elif options.open_because:
        value = Unknown(options.open_because, origin)
    else:
        value = _environment(command, "wait")
        site = _conf(conf, "waittime")
        if isinstance(value, Absent) and site is not None and not (isinstance(site, Set) and site.value == "0"):
            value = site if not isinstance(site, Absent) else value
    if not isinstance(value, Set):
        return value
    number = integer(value)
    return Set(float(number.value), number.origin) if isinstance(number, Set) else Unknown("no number", value.origin)


def _no_kill(options: Options, command: Command, origin: Origin) -> Setting[bool]:
    found = options.find("no-kill")
    if found is not None:
        if found.bare:
            return Set(True, Origin(found.word.place))
        return Set(found.value.value != "off", found.value.origin) if isinstance(found.value, Set) else Unknown("")
    if options.open_because:
        return Unknown(options.open_because, origin)
    own = _environment(command, "no-kill")
    if isinstance(own, Set):
        return Set(own.value != "off", own.origin)
    return own


def _one_helper_task(options: Options, rest: tuple[Word, ...]) -> bool:
    """One task that runs nothing which trains by its name: a preparation on the first node."""
    tasks = integer(options.get("ntasks"))
    name = (rest[0].known or "").rpartition("/")[2] if rest else ""
    return isinstance(tasks, Set) and tasks.value == 1 and name not in programs.TRAINERS and name not in _SHELLS


_SHELLS = frozenset({"bash", "sh", "dash", "zsh"})


def _program(
    rest: tuple[Word, ...], command: Command, files: Files
) -> tuple[bool, Setting[str] | None, tuple[Command, ...]]:
    """Whether what a step starts may train, the image that a container runner names, and the commands of a script."""
    image: Setting[str] | None = None
    for _ in range(_DEEPEST):
        runner = (rest[0].known or "").rpartition("/")[2] if rest else ""
        if runner not in programs.CONTAINER_RUNNERS:
            break
        inner, image = _in_container(rest)
        if not inner:
            return True, image, ()
        rest = inner
    if not rest:
        return False, image, ()
    started = start(rest, command.environment, files)
    names = [one.name for one in started.commands]
    if not names:
        name = (rest[0].known or "").rpartition("/")[2]
        return name not in programs.HELPERS and not programs.BENCHMARKS.fullmatch(name), image, ()
    inside = tuple(started.commands) if started.scripts else ()
    return any(_may_train(name) for name in names), image, inside


def _may_train(name: str) -> bool:
    return name not in programs.HELPERS and not programs.BENCHMARKS.fullmatch(name)


_APPTAINER = OptionSpec(
    flags=frozenset({"nv", "rocm", "containall", "cleanenv", "writable-tmpfs", "no-home", "contain", "e", "rm"}),
    valued=dict.fromkeys(("bind", "b", "B", "env", "pwd", "workdir", "home", "overlay", "H", "W", "v"), 1),
    single_dash=True,
    overrides=False,
    ends_at_positional=True,
)
_SHIFTER = OptionSpec(
    flags=frozenset({"entrypoint", "clearenv", "E", "v"}),
    valued=dict.fromkeys((option.lstrip("-") for option in launchers.CONTAINER_RUNNERS["shifter"][1].split()), 1),
    single_dash=True,
    overrides=False,
    ends_at_positional=True,
)
"""shifter takes its image from an option, or from the batch job."""


def _in_container(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], Setting[str] | None]:
    """`apptainer exec --nv --bind a:b IMAGE program …`, `shifter --image=IMAGE program …`: the program, the image."""
    home = Origin(words[0].place)
    if (words[0].known or "").endswith("shifter"):
        parsed = parse_launcher(words[1:], home, _SHIFTER)
        named = parsed.options.find("image", "i")
        image = Absent(home) if named is None else mapped(named.value, launchers.shifter_image)
        return parsed.rest, container_image(image)
    rest = parse_launcher(words[1:], home, _APPTAINER).rest
    if rest and (rest[0].known or "") in ("exec", "run", "shell"):
        rest = parse_launcher(rest[1:], home, _APPTAINER).rest
    if not rest:
        return (), None
    return rest[1:], container_image(rest[0].setting)
