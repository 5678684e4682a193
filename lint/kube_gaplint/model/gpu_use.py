"""Whether programs run on GPUs that their pod did not ask for."""

from __future__ import annotations

from kube_gaplint.facts import accelerators as devices
from kube_gaplint.model.cpu_use import falls_back_to_gloo, trains_on_cpu
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import device_claims, open_parts
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Role

BOARD = 8
"""Processes on one node by which a launch for GPUs is told from one for CPUs."""
REMOTE = frozenset({"mpirun", "srun", "ray", "deepspeed", "horovodrun"})
"""Launchers that start processes in other pods than their own."""
HIDING = {"NVIDIA_VISIBLE_DEVICES": {"", "void", "none"}, "CUDA_VISIBLE_DEVICES": {"", "-1", "NoDevFiles"}}
"""Values with which NVIDIA's container runtime and CUDA show no device to a program."""
VISIBLE = tuple(HIDING)


def asks_for_none(role: Role) -> bool:
    """Surely no pod of the role asks for any accelerator, nor for a device that is not known."""
    pod = role.pod
    if pod.overrides_unknown or device_claims(pod) or "resourceClaims" in open_parts(pod):
        return False
    if not isinstance(pod.accelerator_count, Absent):
        return False
    return not any(
        "/" in name
        for container in (*pod.containers, *pod.init_containers)
        for name in (*container.requests, *container.limits)
    )


def gpu_sign(process: TrainingProcess) -> tuple[str, Origin] | None:
    """What shows that a program means to run on GPUs, in words and where; None where nothing does, or where something
    shows that it runs on CPUs."""
    if trains_on_cpu(process):
        return None
    started = _started(process)
    if started is not None:
        return started
    deepspeed = process.launcher("deepspeed")
    if deepspeed is not None:
        return "deepspeed starts one process a GPU", deepspeed.origin
    return _by_option(process) or _by_variable(process) or _by_pod(process.role)


def own_sign(process: TrainingProcess) -> tuple[str, Origin] | None:
    """As `gpu_sign`, of a role beside others that have the GPUs: only what shows that its own pods run on some. A
    launcher or coordinator may know of NCCL, and stand on a node with GPUs, without having any."""
    if trains_on_cpu(process) or not REMOTE.isdisjoint(process.layers()):
        return None
    return _started(process) or _by_option(process)


def _started(process: TrainingProcess) -> tuple[str, Origin] | None:
    """A launcher that starts one process a GPU, by their number on each node. A program that takes gloo where it finds
    no GPU may as well be started several times on CPUs."""
    launcher = process.launcher("torchrun", "torch.distributed.launch", "accelerate")
    asked = launcher.options.find("nproc-per-node", "num-processes") if launcher is not None else None
    if launcher is None or asked is None or not isinstance(asked.value, Set):
        return None
    text = asked.value.value.strip().lower()
    several = text.isdecimal() and len(text) < 9 and int(text) >= (2 if _gpu_image(process.container) else BOARD)
    if text in {"gpu", "cuda"} or (several and not falls_back_to_gloo(process.text)):
        return f"{launcher.kind} --{asked.name} {text}", asked.value.origin
    return None


def _by_option(process: TrainingProcess) -> tuple[str, Origin] | None:
    for name in ("backend", "dist-backend", "distributed-backend"):
        value = process.options.get(name)
        if isinstance(value, Set) and value.value.strip().lower() == "nccl":
            return f"--{name} nccl", value.origin
    return None


def _gpu_image(container: Container) -> bool:
    """The image's name tells that it is built for GPUs."""
    image = container.image
    return isinstance(image, Set) and any(part in image.value.lower() for part in ("cuda", "nvcr.io/nvidia/", "rocm"))


def _by_variable(process: TrainingProcess) -> tuple[str, Origin] | None:
    for name, value in process.environment.set_items():
        if name.startswith("NCCL_") and value.origin.written:
            return f"the variable {name}", value.origin
    return None


def _by_pod(role: Role) -> tuple[str, Origin] | None:
    runtime = role.pod.fields.get("runtimeClassName")
    if isinstance(runtime, Set) and "nvidia" in runtime.value:
        return f"runtimeClassName {runtime.value}", runtime.origin
    for label, value in role.pod.node_selector.items():
        if devices.selects(label) and isinstance(value, Set):
            return f"the node label {label}", value.origin
    return None


def hides_all(environment: Environment) -> str:
    """The setting that hides all devices from what starts with an environment; empty where none does."""
    for name, values in HIDING.items():
        value = environment.get(name)
        if isinstance(value, Set) and value.value.strip() in values:
            return f"{name}={value.value.strip()}"
    return ""


def takes_by_variable(container: Container) -> bool:
    """A variable makes devices visible past the scheduler, or hides them."""
    return any(name in container.environment for name in VISIBLE)
