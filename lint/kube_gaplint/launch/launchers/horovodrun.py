"""horovodrun: elastic with a host-discovery script, fixed without."""

from __future__ import annotations

from kube_gaplint.facts.launchers import HOROVOD_VARIABLES
from kube_gaplint.launch.launchers.base import Call, Layer, default, injected, make_launcher, spec_of, whole_number
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.setting import Set, Setting, Unknown


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options = parsed.options
    hosts = options.get("H", "hosts")
    nodes: Setting[int] = Unknown("the hosts are not visible", call.origin)
    if isinstance(hosts, Set):
        nodes = Set(
            len({entry.split(":")[0].strip() for entry in hosts.value.split(",") if entry.strip()}), hosts.origin
        )
    found = options.has("host-discovery-script")
    elastic: Setting[bool] = default(False, call.home, "horovodrun without --host-discovery-script")
    if found:
        elastic = Set(True, call.origin)
        nodes = Unknown("elastic: the hosts come from a script", call.origin)
    elif found is None:
        elastic = Unknown(options.open_because, call.origin)
    exports: dict[str, Setting[str]] = {}
    for option, variable in HOROVOD_VARIABLES.items():
        given = options.find(option)
        if given is not None:
            exports[variable] = given.value
    if options.has("no-stall-check"):
        exports["HOROVOD_STALL_CHECK_DISABLE"] = injected("1", call.origin, "--no-stall-check")
    launcher = make_launcher(
        call,
        options,
        nodes=nodes,
        max_restarts=whole_number(options.get("reset-limit")),
        elastic=elastic,
        exports=exports,
    )
    return Layer(launcher, parsed.rest, call.environment.over(exports), "command")
