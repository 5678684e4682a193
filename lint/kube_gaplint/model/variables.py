"""The environment variables that a workload visibly gives to its programs, wherever they are written.

They stand in a container's `env`, in a ConfigMap that it takes them from, in an `export` or in front of a command, in
`mpirun -x` or `srun --export`, or in a program that sets them itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kube_gaplint.model.environment import Layered, differing
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.training import Release, TrainingProcess, known_release
from kube_gaplint.model.workload import Container, Workload
from kube_gaplint.text.source import Place


class GivenVariable(Struct, frozen=True):
    """One variable at one place. `value` is unknown where only the name is seen."""

    name: str
    value: Setting[str]
    origin: Origin
    """Where the value stands."""
    named_at: Origin
    """Where the name stands; the value's place where the two are not told apart."""
    container: Container
    torch: Release | None
    nccl: Release | None
    """The releases of the programs in the container, where they are known."""

    @property
    def stands_alone(self) -> bool:
        """Whether it can be edited at its place; see `stands_alone`."""
        return stands_alone(self.name, self.origin)


def stands_alone(name: str, origin: Origin) -> bool:
    """Whether a place holds this variable and nothing else: `srun --export=ALL,X=1` holds more."""
    return origin.node is not None or origin.place.text.startswith(f"{name}=")


def given_variables(workload: Workload) -> Iterator[GivenVariable]:
    """All variables that are written somewhere, each place once. What controllers and launchers add by themselves,
    and what a submitting shell may bring, is not among them."""
    seen: set[tuple[str, Place]] = set()
    for _, container in workload.containers():
        releases = _releases(workload, container)
        own = container.environment
        before: Mapping[str, Setting[str]] = {}
        for variables in container.environments():
            for name in differing(before, variables):
                origin = _written(variables[name])
                if origin is None or origin.place == own.home.place or (name, origin.place) in seen:
                    continue
                seen.add((name, origin.place))
                at = own.names.get(name, origin) if variables is own.variables else origin
                yield GivenVariable(name, variables[name], origin, at, container, *releases)
            if isinstance(variables, Layered):
                before = variables
    for process in workload.processes:
        for name, setting in process.environment.set_items():
            origin = _written(setting)
            if origin is None or (name, origin.place) in seen:
                continue
            seen.add((name, origin.place))
            releases = known_release(process.torch), known_release(process.nccl)
            yield GivenVariable(name, setting, origin, origin, process.container, *releases)


def in_force(workload: Workload) -> Iterator[GivenVariable]:
    """Variables with a known value that a program gets: not those that another assignment replaces before it starts,
    and of those on a launcher without ranks only the ones that a program is seen to get from it."""
    rankless = _without_ranks(workload)
    for given in given_variables(workload):
        if not isinstance(given.value, Set):
            continue
        stays = given.container in rankless
        places = [
            value.origin.place
            for process in workload.processes
            if (value := process.environment.variables.get(given.name)) is not None
            and value.origin is not None
            and not (stays and _keeps_back(process, given.name))
        ]
        if given.origin.place in places or not (places or stays):
            yield given


def _without_ranks(workload: Workload) -> list[Container]:
    """The containers of a launcher, which starts the ranks in other pods."""
    if not any(role.trains for role in workload.roles):
        return []
    return [container for role in workload.roles if not role.trains for container in role.pod.containers]


def _keeps_back(process: TrainingProcess, name: str) -> bool:
    """Its mpirun does not hand a variable on: that of Open MPI takes along what `-x` names and no more."""
    implementation = process.workload.fields.get("spec.mpiImplementation")
    if isinstance(implementation, Set) and implementation.value != "OpenMPI":
        return False
    launcher = process.launcher("mpirun")
    return launcher is not None and name not in launcher.exports


def names_in_use(workload: Workload) -> frozenset[str]:
    """Variables that visible scripts, programs and the manifest itself make use of: private names are among them."""
    found: set[str] = set()
    for process in workload.processes:
        found |= process.reads
    for _, container in workload.containers():
        found |= container.refers
        for script in container.scripts:
            found |= script.reads
    return frozenset(found)


def _written(value: Setting[str]) -> Origin | None:
    """Where a variable is written; None for one that is not."""
    if isinstance(value, Absent) or value.origin is None or not value.origin.written:
        return None
    return value.origin


def _releases(workload: Workload, container: Container) -> tuple[Release | None, Release | None]:
    """The torch and NCCL releases of the programs in a container; of the job's other programs where it has none."""
    processes = sorted(workload.processes, key=lambda process: process.container is not container)
    if not processes:
        return None, None
    return known_release(processes[0].torch), known_release(processes[0].nccl)
