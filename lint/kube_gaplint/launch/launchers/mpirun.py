"""mpirun and mpiexec of Open MPI (`-x`), MPICH and Intel MPI (`-genv`)."""

from __future__ import annotations

from msgspec.structs import replace

from kube_gaplint.launch.launchers.base import Call, Layer, make_launcher, spec_of, whole_number
from kube_gaplint.launch.options import OptionSpec, parse_launcher
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options, OptionValue

_TWO_WORDS = ("mca", "gmca", "pmixmca", "gpmixmca", "prtemca", "genv", "env")
_COUNT = ("np", "n", "c")
_PER_NODE = ("npernode", "N", "ppn", "perhost")


def spec(call: Call) -> OptionSpec:
    base = spec_of(call.facts)
    return replace(base, valued={**base.valued, **dict.fromkeys(_TWO_WORDS, 2)})


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec(call))
    options = parsed.options
    exports = _exports(options, call)
    count = whole_number(options.get(*_COUNT))
    each = whole_number(options.get(*_PER_NODE))
    nodes = _hosts(options, call)
    if isinstance(each, Absent):
        each = _mapped_per_node(options.get("map-by"))
    if isinstance(nodes, Absent) and isinstance(count, Set) and isinstance(each, Set) and each.value > 0:
        nodes = Set(-(-count.value // each.value), Origin(count.origin.place, "derived", "processes by slots"))
    launcher = make_launcher(call, options, nodes=nodes, processes_per_node=each, exports=exports)
    return Layer(launcher, parsed.rest, call.environment.over(exports), "command")


def _exports(options: Options, call: Call) -> dict[str, Setting[str]]:
    out: dict[str, Setting[str]] = {}
    for occurrence in options.occurrences:
        name = options.normal(occurrence.name)
        if name == "x":
            _export_words(occurrence, call, out)
        elif name in {"genv", "env"} and isinstance(occurrence.value, Set):
            key, _, value = occurrence.value.value.partition(" ")
            out[key] = Set(value, Origin(occurrence.word.place, "written", f"mpiexec -{name}"))
        elif name in {"genvlist", "envlist"} and isinstance(occurrence.value, Set):
            for key in occurrence.value.value.split(","):
                out[key.strip()] = call.environment.get(key.strip())
    return out


def _export_words(occurrence: OptionValue, call: Call, out: dict[str, Setting[str]]) -> None:
    """`-x NAME`, `-x NAME=value`; several names may stand in one value, separated by commas."""
    value = occurrence.value
    if isinstance(value, Unknown):
        name, equals, _ = value.prefix.partition("=")
        if equals and name:
            out[name] = Unknown(value.reason, value.origin)
        return
    if not isinstance(value, Set):
        return
    name, equals, text = value.value.partition("=")
    if equals:
        out[name] = Set(text, Origin(value.origin.place, "written", "mpirun -x"))
        return
    for each in value.value.split(","):
        if each.strip():
            out[each.strip()] = call.environment.get(each.strip())


def _hosts(options: Options, call: Call) -> Setting[int]:
    listed = options.find("host", "hosts", "H")
    if listed is not None:
        if not isinstance(listed.value, Set):
            return Unknown("the list of hosts is not visible", Origin(listed.word.place))
        hosts = {entry.split(":")[0].strip() for entry in listed.value.value.split(",") if entry.strip()}
        return Set(len(hosts), listed.value.origin)
    file = options.find("hostfile", "machinefile", "default-hostfile", "f")
    if file is not None:
        text = call.files(file.value.value) if isinstance(file.value, Set) else None
        if text is None:
            return Unknown("the hostfile is not visible", Origin(file.word.place))
        return Set(len(host_lines(text.text)), file.value.origin if isinstance(file.value, Set) else call.origin)
    return Unknown(options.open_because, call.origin) if options.open_because else Absent(call.home)


def host_lines(text: str) -> list[str]:
    """The hosts that a hostfile names, comments and repetitions left out."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        entry = line.split("#", 1)[0].split()
        if entry:
            found[entry[0].split(":")[0]] = None
    return list(found)


def _mapped_per_node(setting: Setting[str]) -> Setting[int]:
    """`--map-by ppr:8:node`."""
    if isinstance(setting, Set):
        parts = setting.value.lower().split(":")
        if len(parts) >= 3 and parts[0] == "ppr" and parts[2].startswith("node"):
            return whole_number(Set(parts[1], setting.origin))
        return Absent(setting.origin)
    return setting
