"""`python -m torch.distributed.launch`: torchrun's options, and since release 1.9 its agent."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import read_agent
from kube_gaplint.launch.launchers.base import Call, Layer


def read(call: Call) -> Layer:
    return read_agent(call, title="torch.distributed.launch")
