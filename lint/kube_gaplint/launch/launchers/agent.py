"""torchrun's agent: what torchrun and the launchers built on it read and give to their processes."""

from __future__ import annotations

from kube_gaplint.facts.launchers import ASYNC_ERROR_NAMES, RANK_VARIABLES
from kube_gaplint.facts.torch import torchrun_async_variable, torchrun_overwrites_async
from kube_gaplint.launch.launchers.base import (
    Call,
    Layer,
    default,
    form_of,
    injected,
    make_launcher,
    option_or_variable,
    or_default,
    spec_of,
    whole_number,
)
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options, Release

ONE_A_DEVICE = ("auto", "gpu", "cuda", "xpu", "cpu", "npu", "hpu", "mps")


def read_agent(call: Call, *, backend: str = "static", title: str = "torchrun", variables: bool = True) -> Layer:
    """A launcher with torchrun's options: `backend` is its default rendezvous, `variables` whether it reads `PET_*`."""
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options, environment = parsed.options, call.environment

    def value(name: str) -> Setting[str]:
        names = (f"PET_{name.upper().replace('-', '_')}",) if variables else ()
        return option_or_variable(options, environment, (name,), *names)

    standalone = is_on(value("standalone"), options, "standalone")
    nodes, elastic = node_range(or_default(value("nnodes"), "1:1", f"{title}'s default for --nnodes"))
    rendezvous = or_default(value("rdzv-backend"), backend, f"{title}'s default for --rdzv-backend")
    identity = or_default(value("rdzv-id"), "none", f"{title}'s default for --rdzv-id")
    if isinstance(standalone, Set) and standalone.value:
        note = "--standalone: one node with a rendezvous of its own"
        nodes, elastic = default(1, standalone.origin, note), default(False, standalone.origin, note)
        rendezvous = default("c10d", standalone.origin, note)
        identity = Unknown("--standalone makes up an id of its own", standalone.origin)
    launcher = make_launcher(
        call,
        options,
        nodes=nodes,
        processes_per_node=processes(
            or_default(value("nproc-per-node"), "1", f"{title}'s default for --nproc-per-node")
        ),
        max_restarts=whole_number(or_default(value("max-restarts"), "0", f"{title}'s default for --max-restarts")),
        rendezvous_backend=rendezvous,
        rendezvous_id=identity,
        rendezvous_endpoint=value("rdzv-endpoint"),
        rendezvous_conf=value("rdzv-conf"),
        elastic=elastic,
        exports=agent_exports(environment, call.torch, call.origin, title) | rank_exports(call.origin, title),
    )
    return Layer(launcher, parsed.rest, environment.over(launcher.exports), form_of(call.facts, options))


def is_on(setting: Setting[str], options: Options, name: str) -> Setting[bool]:
    """A bare flag, or a variable that holds a truth value."""
    if not isinstance(setting, Set):
        return setting
    found = options.find(name)
    if found is not None and found.bare:
        return Set(True, setting.origin)
    return Set(setting.value.strip().lower() not in {"", "0", "false", "no", "off"}, setting.origin)


def node_range(setting: Setting[str]) -> tuple[Setting[int], Setting[bool]]:
    """`--nnodes`: the fixed number of nodes, and whether a range makes the job elastic."""
    if not isinstance(setting, Set):
        return setting, setting
    parts = [part.strip() for part in setting.value.split(":")]
    if len(parts) > 2 or not all(part.isdecimal() and len(part) < 10 for part in parts):
        unread = Unknown(f"{setting.value!r} is no number of nodes", setting.origin)
        return unread, unread
    low, high = int(parts[0]), int(parts[-1])
    if low != high:
        return Unknown(f"an elastic range of {low} to {high} nodes", setting.origin), Set(True, setting.origin)
    return Set(low, setting.origin), Set(False, setting.origin)


def processes(setting: Setting[str]) -> Setting[int]:
    """`--nproc-per-node`: unknown where it follows the devices that are there."""
    if isinstance(setting, Set) and setting.value.strip().lower() in ONE_A_DEVICE:
        return Unknown("one process for each device that is there", setting.origin)
    return whole_number(setting)


def agent_exports(
    environment: Environment, torch: Setting[Release], origin: Origin, title: str = "torchrun"
) -> dict[str, Setting[str]]:
    """The async-error variable as torchrun's agent exports it: by release, honouring or overwriting the user's value.

    Of an unknown release, both names count as given where the user sets neither; where the user sets only the old
    one, whether the agent's new name hides it depends on the release.
    """
    new, old = ASYNC_ERROR_NAMES
    note = f"{title}'s agent"
    if isinstance(torch, Set):
        variable = torchrun_async_variable(torch.value)
        if not variable:
            return {}
        if not torchrun_overwrites_async(torch.value) and not isinstance(environment.get(variable), Absent):
            return {}
        return {variable: injected("1", origin, note)}
    values = {name: environment.get(name) for name in ASYNC_ERROR_NAMES}
    out: dict[str, Setting[str]] = {}
    if isinstance(values[new], Absent):
        given = old in environment
        out[new] = Unknown("torchrun 2.2 and later set it to 1", origin) if given else injected("1", origin, note)
    if isinstance(values[old], Absent):
        out[old] = injected("1", origin, note)
    return out


def rank_exports(origin: Origin, title: str) -> dict[str, Setting[str]]:
    """Rank, world size and master address: the launcher sets them for each process, whatever was there before."""
    return {name: Unknown(f"{title} sets it for each process", origin) for name in RANK_VARIABLES}
