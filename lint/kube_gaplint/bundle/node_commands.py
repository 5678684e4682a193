"""How many GPUs a node has, by the commands beside a manifest that make the cluster's node pools: `gcloud container
node-pools create --accelerator type=nvidia-tesla-t4,count=1`, `eksctl create nodegroup --node-type p4d.24xlarge`, `az
aks nodepool add --node-vm-size …`.
"""

from __future__ import annotations

from itertools import islice

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.discover import FileId
from kube_gaplint.facts.instances import NONE, devices_of, machine
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.text.source import PlacedText

_MOST_COMMANDS = 100
_COMMAND = lazy_re.compile(
    r"(?<![\w./-])(?:gcloud[ \t]+(?:(?:alpha|beta)[ \t]+)?container[ \t]+node-pools[ \t]+create"
    r"|eksctl[ \t]+create[ \t]+nodegroup|az[ \t]+aks[ \t]+nodepool[ \t]+add)\b((?:[^\n\\]|\\(?:\r?\n|.))*)"
)
_COUNT = lazy_re.compile(r"--accelerator[= \t]+[\"']?[^\s\"']*?\bcount=(?P<count>[^\s,\"'\\]+)")
_MACHINE = lazy_re.compile(r"--(?:machine-type|node-type|instance-types|node-vm-size)[= \t]+[\"']?([^\s\"'\\]+)")


class NodeCommandBook(Struct):
    """Finds the commands around a manifest; those of each file are looked for once."""

    beside: BesideFiles
    _most: dict[int, Set[int] | Unknown | None] = field(default_factory=dict)

    def most_gpus(self, file: FileId) -> Set[int] | Unknown | None:
        """The most GPUs that a node of the pools has which are made; None where no command makes one with GPUs."""
        most: Set[int] | None = None
        for _, text in self.beside.around(file):
            if id(text) not in self._most:  # the book of files keeps them all
                self._most[id(text)] = _most_in(text)
            found = self._most[id(text)]
            if isinstance(found, Unknown):
                return found
            if found is not None and (most is None or found.value > most.value):
                most = found
        return most


def _most_in(text: PlacedText) -> Set[int] | Unknown | None:
    """`most_gpus` for the commands of one file."""
    most: Set[int] | None = None
    for command in islice(_COMMAND.finditer(text.text), _MOST_COMMANDS):
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
