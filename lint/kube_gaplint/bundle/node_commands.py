"""How many GPUs a node has, by the commands beside a manifest that make the cluster's node pools: `gcloud container
node-pools create --accelerator type=nvidia-tesla-t4,count=1`, `eksctl create nodegroup --node-type p4d.24xlarge`, `az
aks nodepool add --node-vm-size …`.
"""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.discover import FileId
from kube_gaplint.facts.instances import NONE, devices_of, machine
from kube_gaplint.model.setting import Origin, Set, Unknown

_MOST_COMMANDS = 100
_COMMAND = lazy_re.compile(
    r"(?<![\w./-])(?:gcloud[ \t]+(?:(?:alpha|beta)[ \t]+)?container[ \t]+node-pools[ \t]+create"
    r"|eksctl[ \t]+create[ \t]+nodegroup|az[ \t]+aks[ \t]+nodepool[ \t]+add)\b((?:[^\n\\]|\\(?:\r?\n|.))*)"
)
_COUNT = lazy_re.compile(r"--accelerator[= \t]+[\"']?[^\s\"']*?\bcount=(?P<count>[^\s,\"'\\]+)")
_MACHINE = lazy_re.compile(r"--(?:machine-type|node-type|instance-types|node-vm-size)[= \t]+[\"']?([^\s\"'\\]+)")


class NodeCommandBook(Struct):
    """Finds the commands around a manifest."""

    beside: BesideFiles

    def most_gpus(self, file: FileId) -> Set[int] | Unknown | None:
        """The most GPUs that a node of the pools has which are made; None where no command makes one with GPUs."""
        most: Set[int] | None = None
        for _, text in self.beside.around(file):
            for number, command in enumerate(_COMMAND.finditer(text.text)):
                if number >= _MOST_COMMANDS:
                    break
                origin = Origin(text.place(*command.span()))
                gpus = _gpus(command[1])
                if gpus is None:
                    return Unknown("the machine type of a node pool is not known", origin)
                if gpus > (0 if most is None else most.value):
                    most = Set(gpus, origin)
        return most


def _gpus(options: str) -> int | None:
    """GPUs of a node; 0 for a pool without, None where that is not known."""
    if "--accelerator" in options:
        count = _COUNT.search(options)
        if count is None:
            return 1  # gcloud's default
        return int(count["count"]) if count["count"].isdecimal() and len(count["count"]) < 3 else None
    found = _MACHINE.search(options)
    if found is None:
        return 0  # the cloud's default machine
    kind = machine(found[1])
    if kind is not None and kind.accelerator == NONE:
        return 0
    return devices_of(found[1])
