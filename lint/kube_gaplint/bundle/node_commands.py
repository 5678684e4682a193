"""How many GPUs a node has, by what stands beside a manifest and makes the cluster's node pools: commands (`gcloud
container node-pools create --accelerator type=nvidia-tesla-t4,count=1`, `eksctl create nodegroup --node-type
p4d.24xlarge`, `az aks nodepool add --node-vm-size …`) and Terraform (`machine_type = "a2-highgpu-1g"`); else by the
machines with GPUs that the texts nearest to it speak of (`export INSTANCE_TYPE=ml.g5.8xlarge`, `nodes with 4 GPUs`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, islice
from operator import itemgetter

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.discover import FileId
from kube_gaplint.facts.instances import GPUS_OF_A_BOARD, NAMED_WITH_GPUS, NONE, devices_of, machine
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.text.source import PlacedText

_MOST_COMMANDS = 100
_COMMAND = lazy_re.compile(
    r"(?<![\w./-])(?:gcloud[ \t]+(?:(?:alpha|beta)[ \t]+)?container[ \t]+node-pools[ \t]+create"
    r"|eksctl[ \t]+create[ \t]+nodegroup|az[ \t]+aks[ \t]+nodepool[ \t]+add)\b"
    r"((?:(?:\^|(?<=[ \t])`)\r?\n|[^\n\\]|\\(?:\r?\n|.))*)"
)
"""Such a command, with the lines on which it goes on: behind a backslash, in batch files of Windows behind a caret, in
PowerShell behind a backtick."""
_COUNT = lazy_re.compile(r"--accelerator[= \t]+[\"']?[^\s\"']*?\bcount=(?P<count>[^\s,\"'\\]+)")
_MACHINE = lazy_re.compile(r"--(?:machine-type|node-type|instance-types|node-vm-size)[= \t]+[\"']?([^\s\"'\\]+)")
_TERRAFORM = lazy_re.compile(
    r"^[ \t]*(?:(?:machine_type|instance_types?|vm_size)[ \t]*=[ \t]*\[?[ \t]*\"(?P<machine>[\w.-]{1,80})\""
    r"|accelerator_count[ \t]*=[ \t]*\"?(?P<count>\d{1,2})\b)",
    re.MULTILINE,
)
"""A machine type, or a number of accelerators beside one, that is written out."""


_IN_WORDS = lazy_re.compile(
    r"(?i)\b(?:node|machine|server|host)s?[ \t]+(?:each[ \t]+)?(?:with|having|has|have|of|contains?|containing)[ \t]+"
    r"(?:exactly[ \t]+)?(?P<count>\d{1,2})(?:[ \t]*[x\u00d7])?[ \t]*"
    r"(?:(?!and\b|v?CPU|core)[a-z][\w/-]*[ \t]+){0,3}GPUs?\b"
)
"""How many GPUs nodes have, in prose: `4 nodes with 8 H100 GPUs each`."""


class NodeCommandBook(Struct):
    """Finds the commands around a manifest; those of each file are looked for once."""

    beside: BesideFiles
    _most: dict[int, Set[int] | Unknown | None] = field(default_factory=dict)
    _named: dict[int, Set[int] | None] = field(default_factory=dict)

    def most_gpus(self, file: FileId) -> Set[int] | Unknown | None:
        """The most GPUs that a node of the pools has which are made, or a machine that is spoken of; None where no
        command makes one with GPUs, and no text names one."""
        most: Set[int] | None = None
        around = list(self.beside.around(file))
        texts = [text for _, text in around]
        given = {_folder(text) for text in texts if _path(text).endswith(".tfvars") and _most_in(text) is not None}
        for text in texts:
            if _path(text).endswith(".tf") and _folder(text) in given:
                continue  # defaults of variables that have values
            if id(text) not in self._most:  # the book of files keeps them all
                self._most[id(text)] = _most_in(text)
            found = self._most[id(text)]
            if isinstance(found, Unknown):
                return found
            most = _larger(most, found)
        return most or self._spoken_of(around)

    def _spoken_of(self, around: Sequence[tuple[int, PlacedText]]) -> Set[int] | None:
        """The most GPUs of the machines that are named in the nearest folder where any is."""
        for _, texts in groupby(around, key=itemgetter(0)):
            most: Set[int] | None = None
            for _, text in texts:
                if id(text) not in self._named:
                    self._named[id(text)] = _named_in(text)
                most = _larger(most, self._named[id(text)])
            if most is not None:
                return most
        return None


def _named_in(text: PlacedText) -> Set[int] | None:
    """The most GPUs of the machines that a text names. One of which that is not known counts as a whole board."""
    most: Set[int] | None = None
    for named in islice(NAMED_WITH_GPUS.finditer(text.text), _MOST_COMMANDS):
        each = devices_of(named[0]) or GPUS_OF_A_BOARD
        most = _larger(most, Set(each, Origin(text.place(*named.span()))))
    for told in islice(_IN_WORDS.finditer(text.text), _MOST_COMMANDS):
        each = int(told["count"])
        most = _larger(most, Set(each, Origin(text.place(*told.span())))) if each else most
    return most


def _larger(one: Set[int] | None, other: Set[int] | None) -> Set[int] | None:
    """The larger of two numbers; the first of equal ones."""
    return other if one is None or (other is not None and other.value > one.value) else one


def _path(text: PlacedText) -> str:
    return text.place(0, 0).source.path


def _folder(text: PlacedText) -> str:
    return _path(text).rpartition("/")[0]


def _most_in(text: PlacedText) -> Set[int] | Unknown | None:
    """`most_gpus` for the commands of one file, or for its Terraform. Values that Terraform takes from variables do not
    count: a `.tfvars` beside it may give them."""
    most: Set[int] | None = None
    if _path(text).endswith((".tf", ".tfvars")):
        for found in islice(_TERRAFORM.finditer(text.text), _MOST_COMMANDS):
            each = int(found["count"]) if found["count"] else devices_of(found["machine"]) or 0
            if each > (0 if most is None else most.value):
                most = Set(each, Origin(text.place(*found.span())))
        return most
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
