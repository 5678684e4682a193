"""`fabric run` and `lightning run model`: torchrun's agent with Lightning's names for nodes and devices."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import agent_exports, processes, rank_exports
from kube_gaplint.launch.launchers.base import (
    Call,
    Layer,
    default,
    form_of,
    make_launcher,
    or_default,
    spec_of,
    whole_number,
)
from kube_gaplint.launch.options import parse_launcher


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options = parsed.options
    note = "fabric run's default for --"
    exports = rank_exports(call.origin, "fabric run") | agent_exports(
        call.environment, call.torch, call.origin, "fabric run"
    )
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(or_default(options.get("num-nodes"), "1", note + "num-nodes")),
        processes_per_node=processes(or_default(options.get("devices"), "1", note + "devices")),
        max_restarts=default(0, call.home, "fabric run does not pass restarts on"),
        rendezvous_backend=default("static", call.home, "fabric run uses a static rendezvous"),
        elastic=default(False, call.home, "fabric run knows no range of nodes"),
        exports=exports,
    )
    return Layer(launcher, parsed.rest, call.environment.over(exports), form_of(call.facts, options))
