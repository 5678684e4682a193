"""deepspeed: hosts from a hostfile, one process a GPU; it restarts nothing by itself."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import rank_exports
from kube_gaplint.launch.launchers.base import Call, Layer, default, form_of, make_launcher, spec_of, whole_number
from kube_gaplint.launch.launchers.mpirun import host_lines
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options

DEFAULT_HOSTFILE = "/job/hostfile"


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options = parsed.options
    each = whole_number(options.get("num-gpus"))
    if isinstance(each, Absent):
        each = Unknown("one process for each GPU that is there", call.origin)
    elastic: Setting[bool] = default(False, call.home, "deepspeed without --elastic_training")
    if options.has("elastic-training"):
        elastic = Set(True, call.origin)
    elif options.open_because:
        elastic = Unknown(options.open_because, call.origin)
    launcher = make_launcher(
        call,
        options,
        nodes=_nodes(options, call),
        processes_per_node=each,
        elastic=elastic,
        exports=rank_exports(call.origin, "deepspeed"),
    )
    return Layer(launcher, parsed.rest, call.environment.over(launcher.exports), form_of(call.facts, options))


def _nodes(options: Options, call: Call) -> Setting[int]:
    count = whole_number(options.get("num-nodes"))
    if not isinstance(count, Absent):
        return count
    file = options.find("hostfile")
    if file is not None and not isinstance(file.value, Set):
        return Unknown("the hostfile's name is not known", Origin(file.word.place))
    named = file.value if file is not None and isinstance(file.value, Set) else None
    text = call.files(named.value if named is not None else DEFAULT_HOSTFILE)
    if text is not None:
        return Set(len(host_lines(text.text)), named.origin if named is not None else call.origin)
    if named is not None or options.has("include", "exclude"):
        return Unknown("the hostfile is not visible", named.origin if named is not None else call.origin)
    return default(1, call.home, "deepspeed without a hostfile runs on one node")
