"""Batch scripts of Slurm: files, and values of ConfigMaps.

The environment of a batch script is the submitter's (`--export=ALL` is sbatch's default). A variable that the script
reads without setting it is therefore unknown. One that it neither reads nor sets is taken as absent: nobody sets NCCL's
variables in a login shell and relies on it, and what a sourced file does opens the environment. Source rows: k8s.md B5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.bundle.bundle import Bundle, ScriptFile
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.bundle.recipes import Recipes
from kube_gaplint.bundle.submissions import Submission
from kube_gaplint.discover import FileId
from kube_gaplint.facts import sbatch
from kube_gaplint.facts.endless import ALWAYS_TRUE
from kube_gaplint.facts.launchers import shifter_image
from kube_gaplint.kinds import slurm_conf, steps, values
from kube_gaplint.kinds.allocation import allocation, array_length, node_count, slurm_variables
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.sbatch_header import Header, is_batch, read_header, read_options
from kube_gaplint.launch.launchers.srun import container_image
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.launch.shared import HOLE
from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.command import Command, Heredoc, Script
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown, mapped
from kube_gaplint.model.slurm import OF_PROCESSORS, Batch, Directive, SlurmConf, Step, is_of_processors
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.workload import (
    UNBOUNDED,
    Accelerators,
    Classified,
    Container,
    Pod,
    RestartLayer,
    Role,
    Workload,
)
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Files, Place, PlacedText, WholeText, no_files

FROM_SUBMITTER = "the submitting shell may set it"
_DAY = 86_400.0

_REFERENCE = lazy_re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)")
_DECLARED = lazy_re.compile(r"(?m)^[ \t]*#[ \t]*gaplint:[ \t]*((?:[\w-]+=[\d.]+[ \t]*)+)$")
_HYPERPOD = lazy_re.compile(r"(?i)auto[-_ ]?resume|hyperpod|sagemaker")
"""Speaks of the only clusters whose srun knows `--auto-resume`."""
_TEMPLATES = ("{{", "{%", "<%")
_UNRESOLVED_MERGE = lazy_re.needing(("<<<<<<<", ">>>>>>>"), r"(?m)^(?:<{7}|>{7}) \S[^\r\n]*")
"""What git leaves in a file that was never merged by hand; to bash a syntax error."""
_SIZE_VARIABLES = lazy_re.compile(r"SLURM_(NNODES|JOB_NUM_NODES|JOB_NODELIST|NODELIST|NTASKS|NPROCS)\b")


class BatchScript(Struct):
    """A batch script wherever it stands. `files` gives what it may read by path; `path` is its own, for nearness."""

    text: PlacedText
    name: str
    path: str
    namespace: str = ""
    files: Files = field(default=no_files)
    recipes: Recipes = field(default=lambda _image: None)
    chain: tuple[Link, ...] = ()
    requirements: Callable[[], Iterator[list[WholeText]]] = field(default=lambda: iter(()))
    """Files around it that by their names list what is to be installed, nearest folder first."""
    guides: Callable[[], Iterator[list[WholeText]]] = field(default=lambda: iter(()))
    """READMEs around it, and scripts that install."""
    site: Callable[[], SlurmConf | None] = field(default=lambda: None)
    """Looks for the site that the text beside the script names; its slurm.conf counts where no other is given."""
    given: tuple[Directive, ...] = ()
    """Options of the `sbatch` that submits it, where that is seen: they win over the script's own."""
    stands_alone: bool = False
    """It is a file as it stands: no text that another script, a chart or a template engine fills in."""
    submissions: tuple[Submission, ...] = ()
    """Commands in other files that submit it: what they add may hold, so it is unknown."""


def of_file(script: ScriptFile, bundle: Bundle) -> BatchScript:
    """A batch script that is a file."""
    path = script.source.path
    return BatchScript(
        script.text,
        path.replace("\\", "/").rpartition("/")[2],
        path,
        "",
        _files(script.file, bundle),
        bundle.recipes_near(script.file),
        requirements=lambda: bundle.requirements_near(script.file),
        guides=lambda: bundle.guides_near(script.file),
        site=lambda: slurm_conf.documented(script.file, bundle),
        stands_alone=not any(mark in script.text.text for mark in _TEMPLATES),
        submissions=tuple(bundle.submissions_of(script)),
    )


def _files(file: FileId, bundle: Bundle) -> Files:
    """What a batch script reads: beside it, by the path of a checkout of its repository on the cluster, or by that of a
    copy of what lies here."""

    def find(path: str) -> PlacedText | None:
        found = None if path.startswith(HOLE) else bundle.text_near(path, file)
        if found is None:
            found = bundle.text_in_checkout(path, file)
        if found is None and path.startswith(("/", "~/", HOLE)):
            found = bundle.text_of_copy(path, file)
        return found

    return find


def in_config_map(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[BatchScript]:
    """The batch scripts among the values of a ConfigMap: a `#!` line and `#SBATCH` lines, or the name of one."""
    data = Context(bundle, item, profile).root.at("data")
    texts = {name: scalar_text(part.node) for name, part in data.entries() if isinstance(part.node, Scalar)}
    for name, part in data.entries():
        if not isinstance(part.node, Scalar) or not is_batch(part.node.text):
            continue
        if part.node.text.startswith("#!") or name.endswith((".sbatch", ".slurm", ".sh")):
            yield BatchScript(
                texts[name],
                name,
                item.source.path,
                item.namespace,
                lambda path: texts.get(path.rpartition("/")[2]),
                bundle.recipes_near(item.file),
                part.chain,
            )


_READS_NOTHING = frozenset({":", "true"})
"""What makes a here-document a comment: `: <<'END'`."""


def inside(
    scripts: Iterable[Script], commands: Iterable[Command], outer: Subject, files: Files
) -> Iterator[BatchScript]:
    """The batch scripts that scripts hold as here-documents: `sbatch <<EOF`, `cat > job.sbatch <<EOF`."""
    found = [
        heredoc
        for script in scripts
        for heredoc in script.heredocs
        if heredoc.command not in _READS_NOTHING and is_batch(heredoc.text.text)
    ]
    if not found:
        return
    submitting = [command for command in commands if command.name == "sbatch"]
    for heredoc in {heredoc.text.place(0, 0): heredoc for heredoc in reversed(found)}.values():  # a loop: once
        given = [_given(command) for command in submitting if _submits(command, heredoc)]
        if any(options is None for options in given):
            continue
        name = heredoc.target.rpartition("/")[2] or outer.name
        path = heredoc.text.place(0, 0).source.path
        first = next((options for options in given if options), ())
        yield BatchScript(heredoc.text, name, path, outer.namespace, files, given=first)


def _submits(command: Command, heredoc: Heredoc) -> bool:
    if command.stdin is heredoc:
        return True
    target = heredoc.target_word
    return target is not None and any(word.pieces == target.pieces for word in command.words[1:])


def _given(command: Command) -> tuple[Directive, ...] | None:
    """The options of an `sbatch` as directives; None where some are not seen."""
    options = parse_launcher(command.words[1:], Origin(command.place), steps.srun_spec("sbatch")).options
    if options.open_because:
        return None
    by_variable = (
        Directive(option, value, value.origin.place, command.place)
        for name, option in _by_variable().items()
        if (value := command.environment.variables.get(name)) is not None
        and not isinstance(value, Absent)
        and value.origin is not None
    )
    return (
        *by_variable,
        *(
            Directive(sbatch.canonical(one.name), one.value, one.word.place, command.place)
            for one in options.occurrences
        ),
    )


def _asked(submission: Submission) -> list[Directive]:
    """The options that a submission asks for: those on the command, and those of its shell's variables."""
    found = read_options(submission.text, submission.start, submission.end)
    given = {option.name for option in found}
    for one in submission.exported:
        option = _by_variable().get(one.name)
        if option is not None and option not in given:
            place = one.text.place(one.start, one.end)
            origin = Origin(place)
            value = Unknown("a variable", origin) if "$" in one.value else Set(one.value, origin)
            found.append(Directive(option, value, place, place))
    return found


@cache
def _by_variable() -> dict[str, str]:
    """The options of sbatch by the variables that stand for them."""
    return {name: option.name for option in sbatch.options("sbatch").values() for name in option.environment}


def _added(submissions: Iterable[Submission], own: list[Directive]) -> list[Directive]:
    """What submissions ask for besides the script's own directives. It is unknown: the next one may go without."""
    known = {directive.name for directive in own if directive.in_force}
    added: dict[str, Directive] = {}
    for submission in submissions:
        for option in _asked(submission):
            place = option.place
            if option.name in known or (option.name == "dependency" and "afterok" in place.text):
                continue  # `afterok` waits for another job once, and starts nothing again
            why = Unknown(f"{place.source.path} submits the script with {place.text}", Origin(place))
            added.setdefault(option.name, replace(option, value=why))
    return list(added.values())


def _exported(submissions: Iterable[Submission]) -> list[str] | None:
    """The variables that submissions name in `--export`; None where a list is not known. What a submission does not
    name comes from a login shell or not at all."""
    names: list[str] = []
    for submission in submissions:
        for option in _asked(submission):
            if option.name != "export":
                continue
            if not isinstance(option.value, Set):
                return None
            names.extend(pair.partition("=")[0].strip() for pair in option.value.value.split(","))
    return [name for name in names if name and name.upper() not in {"ALL", "NONE", "NIL"}] if names else None


def _fewest_nodes(submissions: Iterable[Submission]) -> Setting[int] | None:
    """The fewest nodes that submissions ask for in numbers; None where one of them asks for none at all."""
    fewest: Set[int] | None = None
    for submission in submissions:
        options = _asked(submission)
        asked = next((node_count(one.value) for one in options if one.name == "nodes"), None)
        if asked is None:
            return None
        if isinstance(asked, Set) and (fewest is None or asked.value < fewest.value):
            fewest = Set(asked.value, asked.origin)
    return fewest


def _as_is(submissions: Iterable[Submission]) -> Origin | None:
    """The nearest command that submits the file itself, where no other may submit a copy that is filled in."""
    found = tuple(submissions)
    if not found or any(one.filled_in for one in found):
        return None
    return Origin(found[0].text.place(found[0].start, found[0].end))


def _options_of(submissions: Iterable[Submission]) -> frozenset[str]:
    """The names of the options that submissions give."""
    return frozenset(option.name for one in submissions for option in _asked(one))


def adapt_script(
    script: ScriptFile | BatchScript, bundle: Bundle, profile: Profile, confs: list[SlurmConf] | None = None
) -> Workload:
    """The workload that a batch script is; its `batch` holds directives and steps.

    `confs` are all slurm.conf of the given paths; without them they are looked for.
    """
    if isinstance(script, ScriptFile):
        script = of_file(script, bundle)
    found = all_confs(bundle, profile) if confs is None else confs
    return _Reading(script, profile, slurm_conf.choose(found, script.path) or script.site()).workload()


def all_confs(bundle: Bundle, profile: Profile) -> list[SlurmConf]:
    """Every slurm.conf of the given paths that a batch script may run under."""
    found = [conf for script in bundle.slurm_confs if (conf := slurm_conf.of_file(script)) is not None]
    for item in bundle.by_kind("", "ConfigMap"):
        found.extend(slurm_conf.in_config_map(item, bundle, profile))
    for group, kind in CLUSTERS:
        for item in bundle.by_kind(group, kind):
            found.extend(slurm_conf.adapt(item, bundle, profile))
    for document in bundle.others:
        found.extend(view for view in values.adapt_document(document, bundle, profile) if isinstance(view, SlurmConf))
    return found


CLUSTERS = (
    ("slinky.slurm.net", "Controller"),
    ("slurm.nebius.ai", "SlurmCluster"),
    ("sunk.coreweave.com", "SunkCluster"),
)


class _Reading:
    """One script on its way to a workload."""

    def __init__(self, script: BatchScript, profile: Profile, conf: SlurmConf | None) -> None:
        self.source = script
        self.profile = profile
        self.conf = conf
        self.header: Header = read_header(script.text)
        assert self.header.place is not None
        self.home = Origin(self.header.place, chain=script.chain)
        self.header.components[0].extend(script.given)
        self.header.directives.extend(script.given)
        self.header.components[0].extend(_added(script.submissions, self.header.components[0]))
        self.directives = [directive for directive in self.header.components[0] if directive.in_force]
        self.options: dict[str, Setting[str]] = {directive.name: directive.value for directive in self.directives}
        known = {name: value for name, value in self.options.items() if isinstance(value, Set)}
        self.conf = conf = conf or slurm_conf.known_site(known)
        text = script.text.text
        self.size = allocation(
            self.header.components[0],
            self.home,
            reads_size=_SIZE_VARIABLES.search(text) is not None,
            open_because=self.header.open_because,
        )
        self.script = self._read()
        self.commands: list[Command] = self.script.commands
        self.steps = steps.find_steps(self.commands, self.size, conf, profile, script.files)

    def get(self, name: str) -> Setting[str]:
        found = self.options.get(name)
        return self._unwritten if found is None else found

    @property
    def _unwritten(self) -> Setting[str]:
        """An option that no directive names."""
        why = self.header.open_because
        return Unknown(why, self.home) if why else Absent(self.home)

    def _unresolved_merge(self) -> Origin | None:
        mark = _UNRESOLVED_MERGE.search(self.source.text.text)
        return None if mark is None else Origin(self.source.text.place(mark.start(), mark.end()))

    def _handed(self, name: str) -> Setting[str]:
        """An option that hands variables on. Of a placeholder that a person fills in (`<your options>`) nothing is
        thought here: whoever does that can as well give `--export` to sbatch, which no script shows."""
        if name not in self.options and self.header.filled_by_hand:
            return Absent(self.home)
        return self.get(name)

    # The script

    def _read(self) -> Script:
        return read_script(self.source.text, self._environment(), arguments=None, files=self.source.files)

    def _environment(self) -> Environment:
        variables = slurm_variables(self.size, self.options, self.home)
        open_because = ""
        export = self._handed("export")
        if isinstance(export, Unknown):
            named = _exported(self.source.submissions)
            if named is None or self.header.open_because:
                open_because = "--export is not known"
            else:
                variables.update(dict.fromkeys(named, Unknown("the command that submits it gives it", export.origin)))
        elif isinstance(export, Set):
            for pair in export.value.split(","):
                name, equals, value = pair.partition("=")
                if equals:
                    variables[name] = Set(value, export.origin)
        if not isinstance(self._handed("export-file"), Absent):
            open_because = "--export-file is not seen"
        for found in _REFERENCE.finditer(self.source.text.text):
            variables.setdefault(found.group(1), Unknown(FROM_SUBMITTER, self.home))
        return Environment(self.home, variables, open_because)

    # The workload

    def workload(self) -> Workload:
        name = self._name()
        subject = Subject("sbatch", "", self.source.namespace, name)
        nodes = self._nodes()
        accelerators = self._accelerators()
        requeue = self._requeue()
        continuation = self._continuation(requeue)
        batch = Batch(
            subject=subject,
            origin=self.home,
            script=self.script,
            directives=tuple(self.header.directives),
            header=self.home.place,
            steps=self.steps,
            conf=self.conf,
            requeue=requeue,
            continuation=continuation,
            open_mode=self._open_mode(),
            requeues_itself=self._requeues_itself(),
            looped=tuple(self._looped()),
            open_because=self.header.open_because,
            submitted_nodes=_fewest_nodes(self.source.submissions),
            submitted_as_is=_as_is(self.source.submissions),
            stands_alone=self.source.stands_alone,
            unresolved_merge=self._unresolved_merge(),
            submitted_with=_options_of(self.source.submissions),
        )
        role = self._role(subject, nodes, accelerators)
        workload = Workload(
            subject=subject,
            origin=self.home,
            roles=(role,),
            classified=Classified("unknown", "not judged yet"),
            restarts=self._restarts(requeue, continuation),
            nodes=nodes,
            accelerators_per_node=self._per_node(accelerators),
            restart_budget=self._budget(continuation),
            gang_scheduled=Set(True, Origin(self.home.place, "injected", "Slurm, which gives all nodes at once")),
            elastic=Set(False, Origin(self.home.place, "derived")),
            deadline_seconds=self.size.seconds,
            run_days=self._run_days(),
            step_seconds=self._declared("step-seconds", self.profile.step_seconds),
            save_seconds=self._declared("save-seconds", self.profile.save_seconds),
            batch=batch,
            fields=self.options,
        )
        batch.workload = workload
        return workload

    def _name(self) -> str:
        given = self.get("job-name")
        return given.value if isinstance(given, Set) and given.value else self.source.name

    def _nodes(self) -> Setting[int]:
        """Nodes of all components of a heterogeneous job."""
        total = self.size.nodes
        for component in self.header.components[1:]:
            opened = [_opened(directive) for directive in component]
            more = allocation(opened, self.home, reads_size=False).nodes
            if not (isinstance(total, Set) and isinstance(more, Set)):
                return total if isinstance(total, Unknown) else more
            total = Set(total.value + more.value, total.origin)
        return total

    def _accelerators(self) -> Accelerators | None:
        if self.size.accelerators is not None:
            return self.size.accelerators
        for step in self.steps:
            found = _of_step(step, self.home)
            if found is not None and step.trains:
                return found
        return None

    def _per_node(self, accelerators: Accelerators | None) -> Setting[int]:
        if accelerators is not None and isinstance(accelerators.count, Set):
            return accelerators.count
        if self.profile.gpus_per_node is not None:
            return Set(self.profile.gpus_per_node, Origin(self.home.place, "default", "the profile's gpus_per_node"))
        if accelerators is not None:
            return accelerators.count
        if self._may_bring_gpus():
            return Unknown("the partition may bring accelerators", self.home)
        return Absent(self.home)

    def _may_bring_gpus(self) -> bool:
        """Whole nodes, partitions and constraints bring GPUs that no option names. A script without a directive in
        force gets all that it has from sbatch's command line."""
        if any(is_of_processors(self.get(name)) for name in OF_PROCESSORS):
            return False
        return (
            not self.options
            or self.header.open_because != ""
            or any(name in self.options for name in ("partition", "constraint", "exclusive", "nodelist", "qos"))
        )

    def _role(self, subject: Subject, nodes: Setting[int], accelerators: Accelerators | None) -> Role:
        nothing = Absent(self.home)
        held = () if accelerators is None else (accelerators,)
        if accelerators is None and self._may_bring_gpus():
            unknown = Unknown("the partition may bring accelerators", self.home)
            held = (Accelerators("gres/gpu", unknown, "", self.home),)
        container = Container(
            name="",
            origin=self.home,
            subject=subject,
            image=self._image(),
            environment=self._environment(),
            command=nothing,
            args=nothing,
            accelerators=held,
            requests={},
            limits={},
            mounts=(),
            commands=self.commands,
            scripts=[self.script],
            exposed={
                "files": self.source.files,
                "recipes": self.source.recipes,
                "requirements": self.source.requirements,
                "guides": self.source.guides,
            },
        )
        pod = Pod(
            origin=self.home,
            containers=(container,),
            init_containers=(),
            volumes=(),
            annotations={},
            labels={},
            restart_policy=nothing,
            grace_seconds=Unknown("Slurm's KillWait decides", self.home),
            node_selector={},
            overrides_unknown="the file systems of Slurm's nodes are not in the script",
        )
        return Role("nodes", self.home, pod, nodes)

    def _image(self) -> Setting[str]:
        """The image that training steps run in; unknown where they differ or none is named."""
        found: list[Setting[str]] = []
        for step in self.steps:
            if step.trains and step.image is not None and not isinstance(step.image, Absent):
                found.append(step.image)
        given = container_image(self.get("container-image"))
        if isinstance(given, Absent) and any(isinstance(step.image, Absent) for step in self.steps):
            given = container_image(mapped(self.get("image"), shifter_image))
        if not found and not isinstance(given, Absent):
            return given
        if not found:
            return Unknown("the software of Slurm's nodes is not in the script", self.home)
        first = found[0]
        if isinstance(first, Set) and all(isinstance(one, Set) and one.value == first.value for one in found):
            return first
        return first if isinstance(first, Unknown) else Unknown("steps run in different images", first.origin)

    # After a failure

    def _requeue(self) -> Setting[bool]:
        for directive in reversed(self.directives):
            if directive.name in ("requeue", "no-requeue"):
                if isinstance(directive.value, Unknown):
                    return directive.value
                return Set(directive.name == "requeue", Origin(directive.place, chain=self.home.chain))
        if isinstance(self._unwritten, Unknown):
            return self._unwritten
        site = Absent(self.home) if self.conf is None else self.conf.get("jobrequeue")
        if isinstance(site, Set):
            return Set(site.value != "0", site.origin)
        if isinstance(site, Unknown):
            return site
        if self.profile.slurm_requeue is not None:
            declared = Origin(self.home.place, "default", "the profile's slurm_requeue")
            return Set(self.profile.slurm_requeue, declared)
        return Set(True, Origin(self.home.place, "default", "Slurm's default, JobRequeue=1"))

    def _open_mode(self) -> Setting[str]:
        own = self.get("open-mode")
        if not isinstance(own, Absent):
            return own
        site = Absent(self.home) if self.conf is None else self.conf.get("jobfileappend")
        if isinstance(site, Set):
            return Set("truncate" if site.value == "0" else "append", site.origin)
        if isinstance(site, Unknown):
            return site
        return Set("truncate", Origin(self.home.place, "default", "Slurm's default, JobFileAppend=0"))

    def _continuation(self, requeue: Setting[bool]) -> Setting[str]:
        """What starts the job again after its program has crashed."""
        array = self.get("array")
        if isinstance(array, Set):
            length = array_length(array.value)
            if length is not None and length[1] == 1 and length[0] > 1:
                return Set("a job array that runs one element after the other", array.origin)
            if length is not None and length[0] > 1:
                return Unknown("the elements of a job array may follow one another", array.origin)
        elif isinstance(array, Unknown):
            return array
        dependency = self.get("dependency")
        if not isinstance(dependency, Absent):
            if isinstance(dependency, Unknown):
                return dependency
            if not dependency.value.startswith("afterok"):
                return Set(f"a chain of jobs (--dependency={dependency.value})", dependency.origin)
        again = self._submits_again()
        if again is not None:
            return again
        for step in self.steps:
            resume = step.options.find("auto-resume")
            if resume is not None and not resume.bare and isinstance(resume.value, Unknown):
                return resume.value
            if resume is not None:
                return Set("HyperPod's auto-resume", Origin(resume.word.place))
            if step.trains and step.options.open_because and _HYPERPOD.search(self.source.text.text):
                return Unknown("--auto-resume may be among srun's options", step.origin)
            loop = _repeated(step) if step.trains else Absent(step.origin)
            if not isinstance(loop, Absent):
                return loop
        if self.profile.supervisor:
            return Set("the profile's supervisor", Origin(self.home.place, "default", "the profile's supervisor"))
        return self._requeue_exit(requeue)

    def _submits_again(self) -> Setting[str] | None:
        for command in (*self.commands, *self.script.handlers):
            if _requeues(command):
                return Set("scontrol requeue in the script", Origin(command.place))
            if command.name == "sbatch":
                return Set("the script submits a job again", Origin(command.place))
        return None

    def _requeues_itself(self) -> Origin | None:
        again = (one for one in (*self.commands, *self.script.handlers) if _requeues(one))
        return next((Origin(command.place) for command in again), None)

    def _looped(self) -> Iterator[Place]:
        for command in self.commands:
            stops = isinstance(command.errexit, Set) and command.errexit.value and not command.fallback
            if command.condition.strip() in ALWAYS_TRUE and not stops:
                yield command.place

    def _requeue_exit(self, requeue: Setting[bool]) -> Setting[str]:
        if self.conf is None:
            return Absent(self.home)
        codes = self.conf.get("requeueexit")
        if isinstance(codes, Unknown):
            return Absent(self.home)
        if isinstance(codes, Set) and isinstance(requeue, Set) and requeue.value:
            return Set(f"RequeueExit={codes.value} in slurm.conf", codes.origin)
        return Absent(self.home)

    def _restarts(self, requeue: Setting[bool], continuation: Setting[str]) -> tuple[RestartLayer, ...]:
        layers = []
        if not isinstance(continuation, Absent):
            origin = continuation.origin or self.home
            note = continuation.value if isinstance(continuation, Set) else continuation.reason
            layers.append(RestartLayer("Slurm", "workload", self._budget(continuation), origin, note=note))
        again: Setting[int] = Unknown("it is not known whether Slurm requeues", self.home)
        if isinstance(requeue, Set):
            again = Set(UNBOUNDED if requeue.value else 0, requeue.origin)
        on = frozenset({"eviction", "node-loss"})
        layers.append(RestartLayer("Slurm", "workload", again, again.origin or self.home, on, "JobRequeue"))
        return tuple(layers)

    def _budget(self, continuation: Setting[str]) -> Setting[int]:
        if isinstance(continuation, Absent):
            return Set(0, Origin(self.home.place, "derived"))
        if isinstance(continuation, Unknown):
            return Unknown(continuation.reason, continuation.origin)
        array = self.get("array")
        if isinstance(array, Set):
            length = array_length(array.value)
            if length is not None:
                return Set(max(0, length[0] - 1), array.origin)
        return Set(UNBOUNDED, continuation.origin)

    # Declared numbers

    def _declared(self, name: str, profile: float | None) -> Setting[float]:
        for found in _DECLARED.finditer(self.source.text.text):
            pairs = dict(pair.split("=", 1) for pair in found.group(1).split())
            try:
                number = float(pairs.get(name, ""))
            except ValueError:
                continue
            return Set(number, Origin(self.source.text.place(found.start(1), found.end(1))))
        if profile is None:
            return Absent(self.home)
        return Set(profile, Origin(self.home.place, "default", f"the profile's {name.replace('-', '_')}"))

    def _run_days(self) -> Setting[float]:
        declared = self._declared("run-days", self.profile.run_days)
        limit = self.size.seconds
        if isinstance(declared, Absent) and isinstance(limit, Set) and limit.value >= _DAY:
            return Set(limit.value / _DAY, Origin(limit.origin.place, "derived", "the time limit"))
        return declared


def _opened(directive: Directive) -> Directive:
    """A directive of a later component, which is in force there."""
    return Directive(directive.name, directive.value, directive.place, directive.line)


def _requeues(command: Command) -> bool:
    return command.name == "scontrol" and any(word.startswith("requeue") for word in map(str, command.argv[1:4]))


_OVER = lazy_re.compile(r"for\s+(\w+)\b")


def _repeated(step: Step) -> Setting[str]:
    """Whether a loop starts the same step again and again, rather than one for each host or parameter, or the next
    one only where this one went well."""
    command = step.command
    if command.certainty != "repeated":
        return Absent(step.origin)
    from kube_gaplint.launch.shell_status import ends_the_script

    if ends_the_script(command):
        return Absent(step.origin)
    found = Set("a loop in the script", step.origin)
    if command.fallback or command.condition in ALWAYS_TRUE:
        return found
    over = _OVER.match(command.condition)
    if over is None:
        return Unknown("a loop in the script may start it again", step.origin)
    uses = re.search(rf"\$\{{?{over.group(1)}\b", command.place.text)
    return found if uses is None else Absent(step.origin)


def _of_step(step: Step, home: Origin) -> Accelerators | None:
    """The accelerators that a step asks for with options of its own."""
    directives = [
        Directive(name, value.value, value.word.place, value.word.place)
        for name in ("gres", "gpus-per-node", "gpus", "gpus-per-task", "tres-per-task")
        if (value := step.options.find(name)) is not None
    ]
    if not directives:
        return None
    for name, number in (("nodes", step.nodes), ("ntasks", step.tasks)):
        if not isinstance(number, Absent):
            text = mapped(number, str)
            directives.append(Directive(name, text, home.place, home.place))
    return allocation(directives, home, reads_size=True).accelerators
