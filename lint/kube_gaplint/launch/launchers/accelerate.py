"""accelerate launch: flags over a configuration file, and torchrun's agent below."""

from __future__ import annotations

from kube_gaplint.launch.config_files import Config, read_config
from kube_gaplint.launch.launchers.agent import agent_exports, rank_exports
from kube_gaplint.launch.launchers.base import (
    Call,
    Layer,
    default,
    form_of,
    make_launcher,
    or_default,
    spec_of,
    whole_number,
)
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, first_set
from kube_gaplint.model.training import Options

# The agent is not used for these kinds of `distributed_type`.
_NO_AGENT = frozenset({"NO", "TPU", "XLA", "MULTI_CPU", "SAGEMAKER"})


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    options = parsed.options
    config = _config(options, call)

    def value(name: str) -> Setting[str]:
        return first_set(options.get(name), config.get(name))

    note = "accelerate launch's default for --"
    nodes = whole_number(or_default(value("num-machines"), "1", note + "num_machines"))
    total = whole_number(value("num-processes"))
    each: Setting[int] = total if not isinstance(total, Absent) else Unknown("one process a device", call.origin)
    if isinstance(total, Set) and isinstance(nodes, Set) and nodes.value > 0:
        place = total.origin.place
        if total.value % nodes.value == 0:
            each = Set(total.value // nodes.value, Origin(place, "derived", "processes by machines"))
        else:
            each = Unknown("--num_processes is no multiple of --num_machines", total.origin)
    elif isinstance(total, Set):
        each = Unknown("the number of machines is not known", total.origin)
    exports = rank_exports(call.origin, "accelerate launch")
    if _uses_agent(config, total, nodes, options):
        exports.update(agent_exports(call.environment, call.torch, call.origin, "accelerate launch"))
    launcher = make_launcher(
        call,
        options,
        nodes=nodes,
        processes_per_node=each,
        max_restarts=whole_number(or_default(value("max-restarts"), "0", note + "max_restarts")),
        rendezvous_backend=or_default(value("rdzv-backend"), "static", note + "rdzv_backend"),
        rendezvous_id=default("none", call.home, "accelerate launch gives no id"),
        rendezvous_endpoint=value("main-process-ip"),
        rendezvous_conf=value("rdzv-conf"),
        elastic=default(False, call.home, "accelerate launch knows no range of machines"),
        exports=exports,
    )
    return Layer(launcher, parsed.rest, call.environment.over(exports), form_of(call.facts, options))


def _config(options: Options, call: Call) -> Config:
    """The file named by --config_file or ACCELERATE_CONFIG_FILE. The file in the image's cache folder counts as not
    there: a pod's home is fresh."""
    named = first_set(options.get("config-file"), call.environment.get("ACCELERATE_CONFIG_FILE"))
    if isinstance(named, Absent) or (options.find("config-file") is None and isinstance(named, Unknown)):
        return Config("", call.home, open_because=options.open_because)
    if isinstance(named, Set):
        text = call.files(named.value)
        if text is not None:
            return read_config(text, named.value)
    return Config("", call.home, open_because="accelerate's configuration file is not visible")


def _uses_agent(config: Config, total: Setting[int], nodes: Setting[int], options: Options) -> bool:
    """Single processes, CPUs and TPUs start without torchrun's agent."""
    kind = config.get("distributed-type")
    if isinstance(kind, Set) and kind.value.strip().upper() in _NO_AGENT:
        return False
    if options.has("cpu") or options.has("tpu"):
        return False
    alone = isinstance(total, Set) and total.value == 1 and isinstance(nodes, Set) and nodes.value == 1
    return not alone
