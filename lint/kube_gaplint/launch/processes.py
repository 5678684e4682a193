"""From the commands of a workload's containers to its training processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.facts import programs
from kube_gaplint.facts.base_systems import default_shell
from kube_gaplint.facts.images import contents, python_in
from kube_gaplint.facts.launchers import CONTAINER_RUNNERS, NOT_TRAINING, NOT_TRAINING_MODULES, TRAINING_SCRIPTS
from kube_gaplint.facts.torch import PYTHONS
from kube_gaplint.facts.variables import DECIDE_HOW_IT_FAILS
from kube_gaplint.launch.config_files import written_files
from kube_gaplint.launch.frameworks import Understood, is_framework_module, is_helper, opaque_settings, understand
from kube_gaplint.launch.launchers import Peeled, is_launcher, peel_all
from kube_gaplint.launch.launchers.base import matches
from kube_gaplint.launch.lookup import ScriptFacts
from kube_gaplint.launch.nccl_conf import with_conf_files
from kube_gaplint.launch.options import parse_options
from kube_gaplint.launch.shared import Budget, in_directory, module_files
from kube_gaplint.launch.versions import releases
from kube_gaplint.model.command import Command, EndStatus, LostStatus, ShellInFront
from kube_gaplint.model.environment import Environment, differing
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.program_text import ProgramText, TextSource
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options, Release, TrainingProcess
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.text.limits import PROGRAMS, reached
from kube_gaplint.text.source import Files, PlacedText, no_files

MAX_COMMANDS = PROGRAMS.most
"""Commands of one container that are looked at."""
MAX_PROCESSES = 16
"""Training commands of one container that become processes."""
MAX_WAYS = 4
"""Ways to start one program that are told apart."""

DISTRIBUTED = frozenset(
    {
        "torchrun", "torch.distributed.launch", "ft_launcher", "hyperpodrun", "dlrover-run", "deepspeed", "accelerate",
        "composer", "horovodrun", "lightning", "torchtune", "colossalai", "litgpt", "axolotl", "llamafactory", "swift",
        "nemo",
    }
)  # fmt: skip
"""Launchers that are used for nothing but training (or evaluation) on several devices."""

REMOTE = frozenset({"mpirun", "deepspeed", "horovodrun"})
"""Launchers that start their processes in other pods when they run in a pod of their own."""

_SURELY_OTHER = NOT_TRAINING - CONTAINER_RUNNERS.keys()
"""Commands that start no training, in whatever way they are called: a container's runner may (`singularity exec`)."""

# How sure it is that a program is the training one; only the best that a container has become processes.
_SURE, _LIKELY, _SCRIPT, _OPAQUE, _HELPER = 5, 4, 3, 2, 1


class _Candidate(Struct, frozen=True):
    peeled: Peeled
    rank: int
    script: ScriptFacts | None
    environment: Environment
    understood: Understood | None
    reads: frozenset[str] = frozenset()
    text: ProgramText = field(default_factory=ProgramText)


class _Shells(Struct, frozen=True):
    lost: LostStatus | None = None
    in_front: ShellInFront | None = None
    end: EndStatus | None = field(default_factory=EndStatus)


class _Choice:
    """The candidates of the best rank so far, those that start the same thing in the same way once; below likely ones,
    only the last.

    A script may run thousands of commands, and each candidate holds all that was understood of it.
    """

    def __init__(self) -> None:
        self.rank = 0
        self.opaque: _Candidate | None = None
        """The last one that hides what it starts."""
        self._chosen: dict[object, list[_Candidate]] = {}
        """By what they start, those that differ in how it is started."""
        self._launched: dict[str, list[Origin]] = {}
        """The launchers of all starts of a program, by its name."""

    @property
    def candidates(self) -> list[_Candidate]:
        """Each program first, then the other ways in which they are started."""
        firsts = [ways[0] for ways in self._chosen.values()]
        others = [way for ways in self._chosen.values() for way in ways[1:]]
        return [*firsts, *others][:MAX_PROCESSES]

    def launched(self, candidate: _Candidate) -> tuple[Origin, ...]:
        """The launchers of every start of a candidate's program, of those too that were not taken."""
        return tuple(self._launched.get(candidate.peeled.name, ()))

    def take(self, candidate: _Candidate) -> None:
        rank = candidate.rank
        if rank == _OPAQUE:
            self.opaque = candidate
        if rank >= _SCRIPT and candidate.peeled.program:
            launchers = self._launched.setdefault(candidate.peeled.name, [])
            launchers.extend(launcher.origin for launcher in candidate.peeled.launchers)
        if rank < self.rank:
            return
        if rank > self.rank or rank < _LIKELY:
            self._chosen.clear()
        self.rank = rank
        key = _what_starts(candidate.peeled)
        ways = self._chosen.get(key)
        if ways is None:
            if len(self._chosen) < MAX_PROCESSES:
                self._chosen[key] = [candidate]
        elif (
            len(ways) < MAX_WAYS
            and candidate.peeled.command.certainty != "repeated"
            and all(_starts_otherwise(way, candidate) for way in ways)
        ):
            ways.append(candidate)


def _what_starts(peeled: Peeled) -> tuple[object, ...]:
    """What a command starts, and on how many nodes and devices: equal for starts of one run."""
    return (
        tuple(
            (launcher.kind, _said(launcher.nodes), _said(launcher.processes_per_node)) for launcher in peeled.launchers
        ),
        peeled.program,
        tuple(word.shown for word in peeled.words),
    )


def _starts_otherwise(one: _Candidate, other: _Candidate) -> bool:
    """Whether two starts of the same program, in two branches say, differ in something that decides how it fails: the
    launchers' settings, variables, and what the shell does with its end. Ranks and ports are no difference."""
    if _way(one.peeled) != _way(other.peeled):
        return True
    ours, theirs = one.environment, other.environment
    if bool(ours.open_because) != bool(theirs.open_because):
        return True
    names = {*differing(ours.variables, theirs.variables), *differing(theirs.variables, ours.variables)}
    return any(
        _said(ours.get(name)) != _said(theirs.get(name)) for name in names if name.startswith(DECIDE_HOW_IT_FAILS)
    )


def _way(peeled: Peeled) -> object:
    command = peeled.command
    piped = command.pipeline.length > 1 and command.pipeline.pipefail
    return (
        [
            (_said(launcher.max_restarts), _said(launcher.rendezvous_backend), _said(launcher.elastic))
            for launcher in peeled.launchers
        ],
        _said(peeled.image) if peeled.image is not None else None,
        (command.background, command.waited, command.fallback, command.is_exec),
        _said(piped) if piped else None,
    )


def _said(setting: Setting[Any]) -> object:
    """A setting as it compares with another one, wherever they stand."""
    if isinstance(setting, Set):
        return str(setting.value)
    return isinstance(setting, Absent)


def training_processes(
    workload: Workload, profile: Profile, files_of: Callable[[Role, Container], Files]
) -> list[TrainingProcess]:
    """The training programs of a workload: one for each distinct training command of each container.

    Of a container's commands, those that surely train come out (a launcher, a framework); where there are none, the
    last Python script, or the wrapper that hides what runs. A process whose program cannot be seen has `program` ""
    and says why in `opaque_because`.
    """
    found: list[TrainingProcess] = []
    for role in workload.roles:
        for container in role.pod.containers:
            found.extend(_Reader(workload, role, container, profile, files_of(role, container)).read())
    visible = [process for process in found if process.program]
    return visible or found


class _Reader:
    """Finds and reads the training programs of one container."""

    def __init__(self, workload: Workload, role: Role, container: Container, profile: Profile, files: Files) -> None:
        self.workload = workload
        self.role = role
        self.container = container
        self.profile = profile
        self.files = written_files(container.scripts, files)
        self.commands = container.commands
        self._budget = Budget()
        self._releases: dict[str, tuple[Setting[Release], Setting[Release], Setting[bool]]] = {}

    def read(self) -> list[TrainingProcess]:
        if not self._may_train():
            return []
        choice = _Choice()
        looked_at = 0
        for command in self.commands:
            if command.certainty in {"on-exit", "never-seen"} or command.name in _SURELY_OTHER:
                continue
            looked_at += 1
            if looked_at > MAX_COMMANDS:
                reached(PROGRAMS, command.place)
                break
            for candidate in self._candidates(command):
                choice.take(candidate)
        if self.container.entrypoint_unknown and choice.rank <= _OPAQUE:
            return [self._opaque(self.container.entrypoint_unknown, choice.opaque)] if self._counts() else []
        processes = [self._process(candidate, choice.launched(candidate)) for candidate in choice.candidates]
        return [process for process in processes if process.program or self._counts()]

    def _may_train(self) -> bool:
        """A helper container beside one with accelerators does not."""
        if self.container.init or self.container.sidecar:
            return False
        if self.container.accelerators:
            return True
        return not any(other.accelerators for other in self.role.pod.containers)

    def _counts(self) -> bool:
        """Whether a program that cannot be seen is worth speaking of here."""
        return self.role.trains

    # -- which program

    def _candidates(self, command: Command) -> list[_Candidate]:
        out = []
        for peeled in peel_all(command, files=self.files, torch_of=self._torch_of, budget=self._budget):
            if _is_no_training(peeled):
                continue
            text = self._whole_text(peeled)
            script, environment, reads = self._script(peeled, text)
            if peeled.form == "inline" and (script is None or not _trains(script)):
                continue
            understood = None
            if not peeled.opaque_because or peeled.words:
                image = peeled.image
                understood = understand(
                    replace(peeled, environment=environment),
                    files=self._relative(peeled.command),
                    script=script,
                    torch=self._torch_of(image),
                    text=text,
                )
            out.append(_Candidate(peeled, _rank(peeled, understood), script, environment, understood, reads, text))
        return out

    def _script(self, peeled: Peeled, whole: ProgramText) -> tuple[ScriptFacts | None, Environment, frozenset[str]]:
        """The program's own text, where it is visible; the environment after what it sets itself; what it reads."""
        text = self._text(peeled)
        if text is None or not peeled.interpreted:
            return None, peeled.environment, frozenset()
        from kube_gaplint.launch.python import read_python
        from kube_gaplint.launch.script_facts import changed_environment, script_facts

        options = parse_options(peeled.words, Origin(peeled.command.place))
        facts = read_python(text, options, peeled.environment, whole)
        return script_facts(facts), changed_environment(peeled.environment, facts), frozenset(facts.reads)

    def _text(self, peeled: Peeled) -> PlacedText | None:
        if peeled.form == "script":
            word = peeled.program_word
            path = word.located if word is not None and word.known is None else None
            found = self._relative(peeled.command)(peeled.program) if path is None else self.files(path)
            if found is not None or (path is not None and not path.startswith("/")):
                return found
            return self._by_its_end(peeled)
        if peeled.form == "module" and not is_framework_module(peeled.program):
            return _module_text(peeled.program, self._relative(peeled.command))
        if peeled.form == "inline" and peeled.command.stdin is not None:
            return peeled.command.stdin.text
        return None

    def _by_its_end(self, peeled: Peeled) -> PlacedText | None:
        """A script that a batch script names by its path on the cluster, of which the beginning may not be known: the
        file of the repository with the longest end of that path, a folder at least and its name."""
        if self.workload.batch is None or not peeled.program.startswith(("/", "…/")):
            return None
        from kube_gaplint.launch.own_modules import start_text

        path, found = start_text(peeled, self._relative(peeled.command))
        return found if "/" in path else None

    def _relative(self, command: Command) -> Files:
        """Files by paths that are relative to the command's working directory as well."""
        return lambda path: in_directory(self.files, path, command.directory)

    # -- its process

    def _process(self, candidate: _Candidate, launched: tuple[Origin, ...]) -> TrainingProcess:
        peeled, understood = candidate.peeled, candidate.understood
        if understood is None:
            return self._opaque(peeled.opaque_because, candidate)
        opaque = peeled.opaque_because
        if understood.framework is None and not peeled.interpreted and not opaque:
            opaque = f"what {peeled.name} does is not visible"
        torch, nccl, uses = self._releases_of(peeled.image)
        role, container, environment = self._where(candidate)
        environment = self._with_conf_files(peeled.command, container, environment)
        shells = self._shells(peeled.command)
        return TrainingProcess(
            workload=self.workload,
            role=role,
            container=container,
            command=peeled.command,
            launchers=peeled.launchers,
            program="" if opaque else peeled.program or "-",
            options=understood.options,
            environment=environment,
            framework=understood.framework,
            settings=understood.settings,
            torch=torch,
            nccl=nccl,
            uses_torch=_uses_torch(uses, candidate),
            opaque_because=opaque,
            torch_is_early=self._is_early(torch, peeled.image),
            torch_asked=self._asked(torch, peeled.image),
            reads=candidate.reads | self._shell_reads(),
            status_lost=shells.lost,
            shell_in_front=shells.in_front,
            end_status=shells.end,
            text=candidate.text,
            starts=_what_starts(peeled),
            launched=launched,
            origin=Origin(peeled.command.place),
        )

    def _with_conf_files(self, command: Command, container: Container, environment: Environment) -> Environment:
        """The environment with what NCCL's own files say, where the processes run."""
        own = container is self.container
        files = no_files if self.workload.batch is not None else self.files if own else container.files
        return with_conf_files(environment, container, command, container.scripts if own else (), files)

    def _whole_text(self, peeled: Peeled) -> ProgramText:
        def find() -> TextSource:
            from kube_gaplint.launch.own_modules import OwnModules

            return OwnModules(peeled, self._relative(peeled.command), beside_all=self.workload.batch is not None)

        return ProgramText(find)

    def _opaque(self, reason: str, candidate: _Candidate | None) -> TrainingProcess:
        """A process of which nothing is known but that it is there."""
        if candidate is not None:
            command, launchers = candidate.peeled.command, candidate.peeled.launchers
            environment, image = candidate.environment, candidate.peeled.image
        else:
            command = Command((), self.container.environment, self.container.origin.place)
            launchers, environment, image = (), self.container.environment, None
        origin = Origin(command.place)
        torch, nccl, uses = self._releases_of(image)
        shells = self._shells(command)
        return TrainingProcess(
            workload=self.workload,
            role=self.role,
            container=self.container,
            command=command,
            launchers=launchers,
            program="",
            options=Options((), (), origin, reason),
            environment=environment.over({}, reason),
            framework=None,
            settings=opaque_settings(reason, origin),
            torch=torch,
            nccl=nccl,
            uses_torch=uses,
            opaque_because=reason,
            torch_is_early=self._is_early(torch, image),
            reads=self._shell_reads(),
            status_lost=shells.lost,
            shell_in_front=shells.in_front,
            end_status=shells.end,
            origin=origin,
        )

    def _shells(self, command: Command) -> _Shells:
        """What the shells that started a command do with its end, and with signals."""
        if command.script is None:
            return _Shells()
        from kube_gaplint.launch.shell_pid1 import shell_in_front
        from kube_gaplint.launch.shell_status import end_status, lost_status

        image = self.container.image
        sh = default_shell(image.value) if isinstance(image, Set) else ""
        return _Shells(lost_status(command), shell_in_front(command, sh), end_status(command))

    def _shell_reads(self) -> frozenset[str]:
        return frozenset(name for script in self.container.scripts for name in script.reads)

    def _where(self, candidate: _Candidate) -> tuple[Role, Container, Environment]:
        """The role whose pods the processes run in. A launcher's pod starts them in the workers' pods: what is mounted
        there counts, and a variable that only the workers' containers give may or may not arrive."""
        environment = candidate.environment
        if self.role.name == "entrypoint" and self.workload.subject.api_version.startswith("ray.io/"):
            return self._in_ray_workers(environment)
        remote = [one for one in candidate.peeled.launchers if one.kind in REMOTE]
        workers = [role for role in self.workload.roles if role.trains and role is not self.role]
        if self.role.trains or not remote or len(workers) != 1:
            return self.role, self.container, environment
        worker = workers[0]
        container = next(
            (one for one in worker.pod.containers if one.accelerators), next(iter(worker.pod.containers), None)
        )
        if container is None:
            return self.role, self.container, environment
        doubtful: dict[str, Setting[str]] = {
            name: Unknown(f"it is set in {container.name}, and {remote[0].kind} may not pass it on", value.origin)
            for name, value in container.environment.variables.items()
            if not isinstance(value, Absent) and name not in environment
        }
        return worker, container, environment.over(doubtful, container.environment.open_because)

    def _in_ray_workers(self, environment: Environment) -> tuple[Role, Container, Environment]:
        """Ray's driver holds no rank: its workers have their own containers' variables and those of the runtime
        environment. What the driver sets for itself reaches them only where its code hands it on."""
        roles = self.workload.roles
        worker = next(
            (role for role in roles if role.trains and any(c.accelerators for c in role.pod.containers)), None
        )
        if worker is None:
            return self.role, self.container, environment
        container = next(one for one in worker.pod.containers if one.accelerators)
        head = next((role.pod.containers[0].environment.variables for role in roles if role.name == "head"), {})
        given = self.container.environment.variables
        runtime = {name: value for name, value in given.items() if head.get(name) is not value}
        doubtful: dict[str, Setting[str]] = {
            name: Unknown("the driver sets it, and its workers may not get it", value.origin)
            for name, value in environment.variables.items()
            if given.get(name) is not value and name not in container.environment and name not in runtime
        }
        own = self.container.environment.open_because
        return worker, container, container.environment.over({**doubtful, **runtime}, own)

    # -- releases

    def _asked(self, torch: Setting[Release], image: Setting[str] | None) -> Set[Release] | None:
        """What a batch script itself installs, or the requirements beside it ask for. What is in a container's image
        they do not tell: there the Python that its name spells may."""
        if not isinstance(torch, Unknown):
            return None
        chosen = self.container.image if image is None else image
        if isinstance(chosen, Set):
            return _goes_with_python(chosen)
        if self.workload.batch is None or image is not None:
            return None
        from kube_gaplint.launch.project import activated, asked_torch, indexed_torch

        own = indexed_torch(script.text for script in self.container.scripts)
        if own is not None:
            return own
        around, guides = (self.container.exposed.get(name) for name in ("requirements", "guides"))
        return asked_torch(
            self.files,
            around if callable(around) else lambda: (),
            guides if callable(guides) else lambda: (),
            activated(script.text.text for script in self.container.scripts),
        )

    def _is_early(self, torch: Setting[Release], image: Setting[str] | None) -> bool:
        """Whether the release is that of an image which holds a state of development before it."""
        chosen = self.container.image if image is None else image
        if not isinstance(torch, Set) or not isinstance(chosen, Set) or torch.origin.place != chosen.origin.place:
            return False
        return contents(chosen.value).pre_release

    def _torch_of(self, image: Setting[str] | None) -> Setting[Release]:
        return self._releases_of(image)[0]

    def _releases_of(self, image: Setting[str] | None) -> tuple[Setting[Release], Setting[Release], Setting[bool]]:
        chosen = self.container.image if image is None else image
        key = f"={chosen.value}" if isinstance(chosen, Set) else f"?{image is None}"
        found = self._releases.get(key)
        if found is None:
            recipes = self.container.exposed.get("recipes")
            found = releases(
                chosen,
                self.profile,
                self.commands,
                home=self.container.origin,
                files=self.files,
                recipes=recipes if callable(recipes) else None,
            )
            self._releases[key] = found
        return found


def _goes_with_python(image: Set[str]) -> Set[Release] | None:
    """The oldest torch that runs in the Python of an image, where its name spells one that older releases lack."""
    python = python_in(image.value)
    oldest = None if python is None else PYTHONS.get(python)
    if python is None or oldest is None:
        return None
    shown = ".".join(map(str, oldest))
    note = f"the image's name gives Python {'.'.join(map(str, python))}, for which torch begins with {shown}"
    return Set(oldest, Origin(image.origin.place, "derived", note))


def _module_text(name: str, files: Files) -> PlacedText | None:
    """The text of a module by its dotted name, in the working directory or in a `src` folder there."""
    return next((found for path in module_files(name) if (found := files(path)) is not None), None)


def _is_no_training(peeled: Peeled) -> bool:
    if peeled.opaque_because:
        return False
    if peeled.form == "module":
        return matches(peeled.program, NOT_TRAINING_MODULES)
    if peeled.form == "inline":
        return peeled.command.stdin is None
    name = peeled.name
    if peeled.interpreted:
        return False
    if is_launcher(name) and not any(one.command is peeled.command for one in peeled.launchers):
        return True  # `ray start`, `accelerate env`: it launches nothing here
    return name in NOT_TRAINING or name in programs.HELPERS or programs.BENCHMARKS.fullmatch(name) is not None


def _trains(script: ScriptFacts) -> bool:
    """Whether a text on standard input trains: a check that prints the release of torch does not."""
    return bool(
        {"init_process_group", "TrainingArguments", "Trainer", "TorchTrainer", "Fabric", "Accelerator"}
        & set(script.calls)
    )


def _rank(peeled: Peeled, understood: Understood | None) -> int:
    if peeled.opaque_because or understood is None:
        started = any(launcher.kind in DISTRIBUTED for launcher in peeled.launchers)
        return _LIKELY if started and understood is not None else _OPAQUE
    name = peeled.name.lower()
    speaks = matches(name, TRAINING_SCRIPTS)
    helps = is_helper(name)
    if any(launcher.kind in DISTRIBUTED for launcher in peeled.launchers):
        return _SCRIPT if helps else _SURE
    if not peeled.interpreted:
        return _OPAQUE if understood.framework is None else _LIKELY
    if helps:
        return _HELPER
    if understood.framework is not None:
        return _SURE
    return _LIKELY if speaks or peeled.launchers else _SCRIPT


def _uses_torch(uses: Setting[bool], candidate: _Candidate) -> Setting[bool]:
    """Whether the program uses torch: by its framework and launchers first, then by the image."""
    understood, peeled = candidate.understood, candidate.peeled
    framework = understood.framework if understood is not None else None
    if understood is not None and understood.facts is not None and framework is not None:
        if understood.facts.runtime != "torch":
            return Set(False, framework.evidence)
        return Set(True, framework.evidence)
    for launcher in peeled.launchers:
        if launcher.kind in DISTRIBUTED - {"horovodrun"}:
            return Set(True, launcher.origin)
    if candidate.script is not None:
        for name, origin in candidate.script.imports.items():
            if name.split(".", 1)[0] == "torch":
                return Set(True, origin)
    return uses
