"""torchrun, and `python -m torch.distributed.run`."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import read_agent
from kube_gaplint.launch.launchers.base import Call, Layer


def read(call: Call) -> Layer:
    return read_agent(call)
