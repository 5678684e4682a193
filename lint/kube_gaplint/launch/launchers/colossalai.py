"""`colossalai run`: torchrun on each host, started over ssh."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import agent_exports, rank_exports
from kube_gaplint.launch.launchers.base import Call, Layer, form_of, make_launcher, spec_of, whole_number
from kube_gaplint.launch.launchers.mpirun import host_lines
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.setting import Set, Setting, Unknown


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options = parsed.options
    nodes: Setting[int] = whole_number(options.get("num-nodes"))
    hosts, file = options.get("host"), options.get("hostfile")
    if isinstance(hosts, Set):
        nodes = Set(len([host for host in hosts.value.split(",") if host.strip()]), hosts.origin)
    elif isinstance(file, Set):
        text = call.files(file.value)
        nodes = Unknown("the hostfile is not visible", file.origin)
        if text is not None:
            nodes = Set(len(host_lines(text.text)), file.origin)
    exports = rank_exports(call.origin, "colossalai run") | agent_exports(
        call.environment, call.torch, call.origin, "colossalai run"
    )
    launcher = make_launcher(
        call, options, nodes=nodes, processes_per_node=whole_number(options.get("nproc-per-node")), exports=exports
    )
    return Layer(launcher, parsed.rest, call.environment.over(exports), form_of(call.facts, options))
