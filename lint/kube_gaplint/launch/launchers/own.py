"""Command lines that are launcher and training program in one: litgpt, axolotl, llamafactory-cli, nemo."""

from __future__ import annotations

from kube_gaplint.launch.launchers.agent import agent_exports, rank_exports
from kube_gaplint.launch.launchers.base import (
    Call,
    Layer,
    default,
    make_launcher,
    or_default,
    spec_of,
    whole_number,
)
from kube_gaplint.launch.options import parse_options
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown, first_set


def litgpt(call: Call) -> Layer:
    """Lightning Fabric starts the processes: one a device on one node unless the command says more."""
    options = parse_options(call.arguments, call.home, spec_of(call.facts))
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(or_default(options.get("num-nodes"), "1", "litgpt's default for --num_nodes")),
        processes_per_node=_number_or_devices(options.get("devices"), call),
    )
    return Layer(launcher, call.arguments, call.environment, "command")


def axolotl(call: Call) -> Layer:
    """`axolotl train` goes through accelerate launch, or torchrun with `--launcher torchrun`."""
    options = parse_options(call.arguments, call.home, spec_of(call.facts))
    exports = rank_exports(call.origin, "axolotl") | agent_exports(
        call.environment, call.torch, call.origin, "axolotl train"
    )
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(first_set(options.get("num-machines", "nnodes"), options.get("num-machines"))),
        processes_per_node=whole_number(options.get("nproc-per-node")),
        max_restarts=whole_number(or_default(options.get("max-restarts"), "0", "accelerate launch's default")),
        rendezvous_backend=or_default(options.get("rdzv-backend"), "static", "accelerate launch's default"),
        exports=exports,
    )
    return Layer(launcher, call.arguments, call.environment.over(exports), "command")


def llamafactory(call: Call) -> Layer:
    """Several GPUs or FORCE_TORCHRUN start torchrun with its options out of the environment."""
    options = parse_options(call.arguments, call.home, spec_of(call.facts))
    environment = call.environment
    identity = environment.get("RDZV_ID")
    elastic: Setting[bool] = Set(True, identity.origin) if isinstance(identity, Set) else Absent(call.home)
    if isinstance(identity, Unknown):
        elastic = identity
    elif isinstance(identity, Absent):
        elastic = default(False, call.home, "LLaMA-Factory without RDZV_ID")
    backend: Setting[str] = (
        identity
        if isinstance(identity, Unknown)
        else default(
            "c10d" if isinstance(identity, Set) else "static", call.home, "LLaMA-Factory: c10d where RDZV_ID is set"
        )
    )
    note = "LLaMA-Factory's default for "
    exports = rank_exports(call.origin, "llamafactory-cli") | agent_exports(
        environment, call.torch, call.origin, "llamafactory-cli"
    )
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(or_default(environment.get("NNODES"), "1", note + "NNODES")),
        processes_per_node=_number_or_devices(environment.get("NPROC_PER_NODE"), call),
        max_restarts=whole_number(or_default(environment.get("MAX_RESTARTS"), "0", note + "MAX_RESTARTS")),
        rendezvous_backend=backend,
        rendezvous_id=identity,
        elastic=elastic,
        exports=exports,
    )
    return Layer(launcher, call.arguments, environment.over(exports), "command")


def swift(call: Call) -> Layer:
    """ms-swift starts torchrun where NPROC_PER_NODE or NNODES is set."""
    options = parse_options(call.arguments, call.home, spec_of(call.facts))
    environment = call.environment
    exports = rank_exports(call.origin, "swift") | agent_exports(environment, call.torch, call.origin, "swift")
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(or_default(environment.get("NNODES"), "1", "ms-swift's default for NNODES")),
        processes_per_node=whole_number(or_default(environment.get("NPROC_PER_NODE"), "1", "ms-swift's default")),
        max_restarts=default(0, call.home, "torchrun's default for --max-restarts"),
        rendezvous_backend=default("static", call.home, "torchrun's default for --rdzv-backend"),
        elastic=default(False, call.home, "ms-swift knows no range of nodes"),
        exports=exports,
    )
    return Layer(launcher, call.arguments, environment.over(exports), "command")


def nemo(call: Call) -> Layer:
    """`nemo llm pretrain --factory …`: the executor in the recipe decides how the processes start."""
    options = parse_options(call.arguments, call.home, spec_of(call.facts))
    unknown = Unknown("NeMo-Run's executor decides it", call.origin)
    launcher = make_launcher(
        call,
        options,
        nodes=whole_number(_or_unknown(options.get("trainer.num-nodes"), unknown)),
        processes_per_node=whole_number(_or_unknown(options.get("trainer.devices"), unknown)),
        max_restarts=unknown,
    )
    return Layer(launcher, call.arguments, call.environment, "command")


def _or_unknown(setting: Setting[str], unknown: Unknown) -> Setting[str]:
    return unknown if isinstance(setting, Absent) else setting


def _number_or_devices(setting: Setting[str], call: Call) -> Setting[int]:
    if isinstance(setting, Absent):
        return Unknown("one process for each GPU that is there", call.origin)
    return whole_number(setting)
