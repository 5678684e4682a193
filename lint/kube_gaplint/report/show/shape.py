"""What `gaplint show` says, as plain values: the tree for people and the JSON are both made from it.

`gather` fills these classes from the model; nothing in them refers to nodes, sources or settings. In JSON every field
has its name in camel case, and `show.schema.json` describes the whole.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"


class Location(Struct, frozen=True):
    """A span of a file. Lines and columns count from 1; the end is the first column after the span."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Reference(Struct, frozen=True):
    """One step of the way to a value: what refers to it, and where that stands."""

    note: str
    location: Location


class Value(Struct, frozen=True):
    """One setting: set, surely absent, or unknown for a reason.

    `value` is there only where it is set and not `hidden` (it looks like a credential). `via` and `note` say who set
    it, where that is not the line itself; `through` is the way to it. For an absent value the location is where it
    would stand.
    """

    state: Literal["set", "absent", "unknown"]
    value: Plain = None
    hidden: bool = False
    via: Literal["written", "default", "injected", "derived", ""] = ""
    note: str = ""
    reason: str = ""
    prefix: str = ""
    """What is known of the beginning of an unknown text."""
    location: Location | None = None
    through: tuple[Reference, ...] = ()


class Named(Struct, frozen=True):
    """A value under a name: a variable, a label, an option."""

    name: str
    value: Value


class Object(Struct, frozen=True):
    """The object that something belongs to. `kind` is `sbatch` for a batch script."""

    kind: str
    api_version: str
    namespace: str
    name: str


class Noted(Struct, frozen=True):
    """Something said in words, with its place where it has one."""

    what: str
    location: Location | None = None


class Unresolved(Struct, frozen=True):
    """A reference that leads nowhere in the given paths."""

    what: str
    reason: str
    location: Location


# A workload


class RestartLayer(Struct, frozen=True):
    """One controller that starts something again. `budget` is a number, or "unbounded"."""

    owner: str
    scope: str
    on: list[str]
    budget: Value
    counted_above: bool
    note: str


class Volume(Struct, frozen=True):
    """A volume of a pod. `source` is the claim, path, ConfigMap … that it stands on."""

    name: str
    kind: str
    source: Value
    durable: Value
    shared: Value
    size_limit: Value
    access_modes: Value
    storage_class: Value
    capacity: Value
    per_pod: bool
    location: Location


class Mount(Struct, frozen=True):
    path: Value
    volume: str
    sub_path: str
    read_only: bool
    location: Location


class Accelerators(Struct, frozen=True):
    """Devices that a container asks for. `partial`: slices or shared devices."""

    resource: str
    count: Value
    vendor: str
    partial: bool


class Environment(Struct, frozen=True):
    """Variables. `open_because`: why there may be more of them, or empty."""

    open_because: str
    variables: list[Named]


class Launcher(Struct, frozen=True):
    """One layer between the container's command and the program, with the settings in force."""

    kind: str
    location: Location | None
    settings: list[Named]
    """nodes, processesPerNode, maxRestarts, rendezvousBackend, rendezvousId, rendezvousEndpoint, rendezvousConf,
    elastic: those that the launcher has."""
    exports: list[Named]
    """Variables that it gives to the processes."""


class Framework(Struct, frozen=True):
    name: str
    title: str
    evidence: str
    location: Location | None


class Storage(Struct, frozen=True):
    """What becomes of the save path when its pod is gone: `state` is kept, lost or unknown.

    `where` says on what it lies, in words; `mount` and `volume` are there for a path below a mount.
    """

    state: str
    where: str
    mount: Value | None
    volume: str


class Checkpoints(Struct, frozen=True):
    """When, where and how a program saves. Amounts are objects of `amount` and `unit`, times are seconds."""

    saving: Value
    interval: Value
    path: Value
    storage: Storage
    second_path: Value
    total: Value
    retention: Value
    resume: Value
    asynchronous: Value
    in_memory: Value
    best_only: Value
    signal_save: Value
    exit_after_seconds: Value
    samples_per_step: Value


class Process(Struct, frozen=True):
    """A training program as it starts in one container of one role."""

    role: str
    container: str
    program: str
    opaque_because: str
    location: Location | None
    certainty: str
    condition: str
    wrappers: list[str]
    launchers: list[Launcher]
    framework: Framework | None
    torch: Value
    torch_is_early: bool
    nccl: Value
    uses_torch: Value
    timeout_seconds: Value
    checkpoints: Checkpoints
    further: list[Named]
    """Other settings of the program that rules ask for, by their own names."""
    options: list[Named]
    """The program's arguments that have a name."""
    options_open_because: str
    environment: Environment
    """What differs from the container's environment."""


class Script(Struct, frozen=True):
    """A shell script that was read. `form`: how the shell got it."""

    shell: str
    form: str
    location: Location | None
    commands: int
    unread: list[Noted]
    """Files that it sources or starts and that are not visible."""
    not_understood: list[Location]


class Watch(Struct, frozen=True):
    """A probe or a lifecycle hook, in words. Times are seconds."""

    kind: str
    action: str
    command: Value | None
    settings: list[Named]
    location: Location | None


class Container(Struct, frozen=True):
    name: str
    kind: Literal["main", "init", "sidecar"]
    location: Location | None
    image: Value
    command: Value
    args: Value
    entrypoint_unknown: str
    accelerators: list[Accelerators]
    requests: list[Named]
    limits: list[Named]
    environment: Environment
    mounts: list[Mount]
    watches: list[Watch]
    scripts: list[Script]
    processes: list[Process]


class Role(Struct, frozen=True):
    """A group of like pods. `trains`: they hold ranks of the collective."""

    name: str
    location: Location | None
    replicas: Value
    trains: bool
    restart_policy: Value
    grace_seconds: Value
    unseen: str
    """What may change the pods and is not seen, or empty."""
    pod: list[Named]
    """Further fields of the pod and of what makes it, by path."""
    node_selector: list[Named]
    annotations: list[Named]
    tolerations: list[Noted]
    volumes: list[Volume]
    containers: list[Container]


class DisruptionBudget(Struct, frozen=True):
    name: str
    roles: list[str]
    min_available: Value
    max_unavailable: Value
    location: Location | None


class Priority(Struct, frozen=True):
    role: str
    name: Value
    value: Value
    preemption_policy: Value


class Service(Struct, frozen=True):
    name: str
    roles: list[str]
    headless: Value
    publishes_unready: Value
    ports: list[int]
    location: Location | None


class Surroundings(Struct, frozen=True):
    """What the given paths say about the cluster around a workload."""

    autoscalers: list[Noted]
    mesh: Noted | None
    node_health: Noted | None
    disruption_budgets: list[DisruptionBudget]
    priorities: list[Priority]
    services: list[Service]
    limit_defaults: list[Named]
    namespace_labels: list[Named]
    reclaim_policies: list[Named]


class Directive(Struct, frozen=True):
    """An option of an `#SBATCH` line. `problem`: why it is not in force."""

    name: str
    value: Value
    in_force: bool
    problem: str


class Step(Struct, frozen=True):
    launcher: str
    command: str
    trains: bool
    location: Location | None
    nodes: Value
    tasks: Value
    kill_on_bad_exit: Value
    wait_seconds: Value
    no_kill: Value
    image: Value | None


class Batch(Struct, frozen=True):
    """A batch script's header and steps. `slurm_conf`: where the slurm.conf stands that holds for it."""

    directives: list[Directive]
    requeue: Value
    continuation: Value
    open_mode: Value
    slurm_conf: Location | None
    steps: list[Step]


class Workload(Struct, frozen=True):
    object: Object
    location: Location
    through: list[Reference]
    purpose: str
    purpose_reason: str
    nodes: Value
    accelerators_per_node: Value
    world_size: Value
    """All accelerators of the collective: the world size of one process a device."""
    restart_budget: Value
    """How many failures of a member the whole survives: a number, or "unbounded"."""
    restarts: list[RestartLayer]
    """Outermost first."""
    deadline_seconds: Value
    gang_scheduled: Value
    elastic: Value
    run_days: Value
    step_seconds: Value
    save_seconds: Value
    fields: list[Named]
    """Further fields of the object itself, by path."""
    roles: list[Role]
    batch: Batch | None
    surroundings: Surroundings
    notes: list[str]
    """What could not be seen."""
    unresolved: list[Unresolved]


# Everything else


class View(Struct, frozen=True):
    """What gaplint made of an object that is no workload: `type` names the view that rules speak of."""

    type: str
    object: Object
    part: str
    """The part of the object that it is about, or empty."""
    location: Location
    facts: list[Named] = field(default_factory=list)
    items: list[Noted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be seen."""
    unresolved: list[Unresolved] = field(default_factory=list)


class Problem(Struct, frozen=True):
    """A document, or a part of one, that could not be used."""

    kind: str
    message: str
    location: Location


class FileError(Struct, frozen=True):
    file: str
    reason: str


class Counts(Struct):
    """`matched` counts what the filters left."""

    files: int
    documents: int
    workloads: int
    views: int
    matched: int
    by_kind: dict[str, int]
    by_purpose: dict[str, int]
    skipped: dict[str, int]
    hints: list[str]


class Shown(Struct, frozen=True):
    """The whole answer. `unresolved` and `problems` are those that belong to nothing listed."""

    workloads: list[Workload]
    views: list[View]
    unresolved: list[Unresolved]
    problems: list[Problem]
    errors: list[FileError]
    summary: Counts
