"""ft_launcher of NVIDIA's resiliency extension: torchrun's agent with heartbeats; its only rendezvous is c10d."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import read_agent
from kube_gaplint.launch.launchers.base import Call, Layer, default


def read(call: Call) -> Layer:
    layer = read_agent(call, backend="c10d", title="ft_launcher")
    launcher = layer.launcher
    if launcher is not None and launcher.options.has("rdzv-backend") is False:
        launcher.rendezvous_backend = default("c10d", call.home, "ft_launcher knows no other rendezvous")
    return layer
