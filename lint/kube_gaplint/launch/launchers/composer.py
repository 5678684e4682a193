"""Composer's launcher: one process a GPU on this node; it ends all when one dies and restarts nothing."""

from __future__ import annotations

from kube_gaplint.facts.launchers import ASYNC_ERROR_NAMES
from kube_gaplint.launch.launchers.agent import rank_exports
from kube_gaplint.launch.launchers.base import Call, Layer, form_of, injected, make_launcher, spec_of, whole_number
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, first_set


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options, environment = parsed.options, call.environment
    each = whole_number(first_set(options.get("nproc"), environment.get("LOCAL_WORLD_SIZE")))
    world = whole_number(first_set(options.get("world-size"), environment.get("WORLD_SIZE")))
    nodes: Setting[int] = Absent(call.home)
    if isinstance(world, Set) and isinstance(each, Set) and each.value > 0:
        nodes = Set(-(-world.value // each.value), Origin(world.origin.place, "derived", "world size by processes"))
    elif not isinstance(world, Absent):
        nodes = Unknown("the world size or the processes a node are not known", call.origin)
    if isinstance(each, Absent):
        each = Unknown("one process for each GPU that is there", call.origin)
    exports = rank_exports(call.origin, "composer")
    # The launcher writes over what the container says: the old name in releases for torch < 2.2, the new one since.
    exports.update({name: injected("1", call.origin, "composer's launcher") for name in ASYNC_ERROR_NAMES})
    launcher = make_launcher(call, options, nodes=nodes, processes_per_node=each, exports=exports)
    return Layer(launcher, parsed.rest, environment.over(exports), form_of(call.facts, options))
