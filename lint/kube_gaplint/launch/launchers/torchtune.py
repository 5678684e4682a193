"""`tune run`: torchrun's options, then a recipe's name (not a file) and `--config`."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import read_agent
from kube_gaplint.launch.launchers.base import Call, Layer


def read(call: Call) -> Layer:
    layer = read_agent(call, title="tune run")
    return Layer(layer.launcher, layer.rest, layer.environment, "script")
