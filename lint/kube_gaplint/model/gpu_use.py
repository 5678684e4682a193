"""Whether programs run on GPUs that their pod did not ask for."""

from __future__ import annotations

from kube_gaplint.facts import accelerators as devices
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import device_claims, open_parts
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Role, Workload

BOARD = 8
"""Processes on one node by which a launch for GPUs is told from one for CPUs."""
CPU_OPTIONS = ("no-cuda", "use-cpu", "cpu", "no-gpu", "cpu-only")
ON_CPU = frozenset({"gloo", "cpu", "mpi", "ccl", "xccl", "false"})
HIDING = {"NVIDIA_VISIBLE_DEVICES": {"", "void", "none"}, "CUDA_VISIBLE_DEVICES": {"", "-1", "NoDevFiles"}}
"""Values with which NVIDIA's container runtime and CUDA show no device to a program."""
VISIBLE = tuple(HIDING)


def asks_for_none(workload: Workload) -> bool:
    """Surely no pod of the workload asks for any accelerator, nor for a device that is not known."""
    for role in workload.roles:
        pod = role.pod
        if pod.overrides_unknown or device_claims(pod) or "resourceClaims" in open_parts(pod):
            return False
        if not isinstance(pod.accelerator_count, Absent):
            return False
        for container in (*pod.containers, *pod.init_containers):
            if any("/" in name for name in (*container.requests, *container.limits)):
                return False
    return bool(workload.roles)


def gpu_sign(process: TrainingProcess) -> tuple[str, Origin] | None:
    """What shows that a program means to run on GPUs, in words and where; None where nothing does, or where something
    shows that it runs on CPUs."""
    if _on_cpu(process):
        return None
    launcher = process.launcher("torchrun", "torch.distributed.launch", "accelerate")
    if launcher is not None:
        asked = launcher.options.find("nproc-per-node", "num-processes")
        if asked is not None and isinstance(asked.value, Set):
            text = asked.value.value.strip().lower()
            several = (
                text.isdecimal() and len(text) < 9 and int(text) >= (2 if _gpu_image(process.container) else BOARD)
            )
            if text in {"gpu", "cuda"} or several:
                return f"{launcher.kind} --{asked.name} {text}", asked.value.origin
    deepspeed = process.launcher("deepspeed")
    if deepspeed is not None:
        return "deepspeed starts one process a GPU", deepspeed.origin
    for name in ("backend", "dist-backend", "distributed-backend"):
        value = process.options.get(name)
        if isinstance(value, Set) and value.value.strip().lower() == "nccl":
            return f"--{name} nccl", value.origin
    return _by_variable(process) or _by_pod(process.role)


def _gpu_image(container: Container) -> bool:
    """The image's name tells that it is built for GPUs."""
    image = container.image
    return isinstance(image, Set) and any(part in image.value.lower() for part in ("cuda", "nvcr.io/nvidia/", "rocm"))


def _on_cpu(process: TrainingProcess) -> bool:
    options = process.options
    if any(options.find(name) is not None for name in CPU_OPTIONS):
        return True
    for name in ("backend", "dist-backend", "distributed-backend", "device", "accelerator", "cuda", "device-type"):
        value = options.get(name)
        if isinstance(value, Set) and value.value.strip().lower() in ON_CPU:
            return True
    image = process.container.image
    if isinstance(image, Set) and "cpu" in image.value.replace("_", "-").replace(":", "-").replace("/", "-").split("-"):
        return True
    return any(launcher.options.find("cpu", "use-cpu") is not None for launcher in process.launchers)


def told_cpu(process: TrainingProcess) -> str:
    """The option by which a program is told to run on CPUs; empty where none tells it so."""
    for name in ("device", "accelerator", "device-type", "backend", "trainer.accelerator", "trainer.device"):
        value = process.options.get(name)
        if isinstance(value, Set) and value.value.strip("\"' ").lower() == "cpu":
            return f"its option {name}={value.value.strip()}"
    given = next((name for name in CPU_OPTIONS if (one := process.options.find(name)) is not None and one.bare), "")
    return f"its option {given}" if given else ""


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
