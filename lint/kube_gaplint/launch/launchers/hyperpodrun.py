"""hyperpodrun: torchrun's options; the HyperPod operator drives restarts and rendezvous from outside."""

from __future__ import annotations

from kube_gaplint.facts.launchers import ASYNC_ERROR_NAMES
from kube_gaplint.launch.launchers.agent import read_agent
from kube_gaplint.launch.launchers.base import Call, Layer
from kube_gaplint.model.setting import Absent, Setting, Unknown


def read(call: Call) -> Layer:
    layer = read_agent(call, backend="hyperpod", title="hyperpodrun", variables=False)
    launcher = layer.launcher
    assert launcher is not None
    # The agent's own source is not public: whether it sets the variable as torchrun's does is not known.
    unsure: dict[str, Setting[str]] = {
        name: Unknown("hyperpodrun may set it", call.origin)
        for name in ASYNC_ERROR_NAMES
        if isinstance(call.environment.get(name), Absent)
    }
    launcher.exports = {**{k: v for k, v in launcher.exports.items() if k not in ASYNC_ERROR_NAMES}, **unsure}
    for name, variable in (("nnodes", "NNODES"), ("nproc-per-node", "NPROC_PER_NODE")):
        if launcher.options.has(name) is False and variable in call.environment:
            unknown = Unknown(f"the operator's {variable}", call.origin)
            if name == "nnodes":
                launcher.nodes = unknown
            else:
                launcher.processes_per_node = unknown
    if launcher.options.has("max-restarts") is not True:
        launcher.max_restarts = Absent(call.home)
    return Layer(launcher, layer.rest, call.environment.over(launcher.exports), layer.form)
