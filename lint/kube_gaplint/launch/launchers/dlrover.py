"""dlrover-run: torchrun's agent with DLRover's job master as its rendezvous, whatever the command line says."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import is_on, read_agent
from kube_gaplint.launch.launchers.base import Call, Layer, default, option_or_variable
from kube_gaplint.model.setting import Set, Unknown


def read(call: Call) -> Layer:
    layer = read_agent(call, title="dlrover-run")
    launcher = layer.launcher
    assert launcher is not None
    launcher.rendezvous_backend = default("dlrover-master", call.home, "dlrover-run knows no other rendezvous")
    launcher.rendezvous_id = Unknown("DLRover's job master gives it", call.origin)
    options = launcher.options
    automatic = is_on(
        option_or_variable(options, call.environment, ("auto-config",), "PET_AUTO_CONFIG"), options, "auto-config"
    )
    if isinstance(automatic, Unknown) or (isinstance(automatic, Set) and automatic.value):
        unknown = Unknown("--auto-config takes it from the job", call.origin)
        launcher.nodes, launcher.processes_per_node = unknown, unknown
    return layer
