"""What shows that a program trains on CPUs: its options and variables, its image, its text."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Set

if TYPE_CHECKING:
    from kube_gaplint.model.program_text import ProgramText
    from kube_gaplint.model.training import TrainingProcess

_FLAGS = ("no-cuda", "use-cpu", "cpu", "no-gpu", "cpu-only")
_OPTIONS = (
    "backend", "dist-backend", "distributed-backend", "ddp-backend", "device", "accelerator", "trainer.accelerator",
    "cuda", "device-type",
)  # fmt: skip
_VARIABLES = (
    "BACKEND", "DIST_BACKEND", "DISTRIBUTED_BACKEND", "TORCH_DISTRIBUTED_BACKEND", "DEVICE", "PL_ACCELERATOR",
    "ACCELERATOR", "DS_ACCELERATOR", "JAX_PLATFORMS", "JAX_PLATFORM_NAME",
)  # fmt: skip
_CHOICES = frozenset({"gloo", "cpu", "mpi", "ccl", "xccl", "false"})
"""Values of those options and variables that are not for NVIDIA's and AMD's GPUs."""
_SWITCHES = {"ACCELERATE_USE_CPU": frozenset({"1", "true", "yes"}), "USE_CUDA": frozenset({"0", "false", "no"})}

_GLOO = lazy_re.needing(("gloo", "GLOO"), r"""["']gloo["']|\bBackend\.GLOO\b""")
"""torch's process group for CPUs, by its name (`init_process_group("gloo")`) or constant."""
_FOR_CPU = lazy_re.needing(
    ("gloo", "GLOO", "mpi", "ccl", "cpu"),
    r"""["']gloo["']|\bBackend\.GLOO\b|(?:init_process_group\(|\bbackend\s{0,9}=)\s{0,9}["'](?:mpi|ccl)["']|"""
    r"""\bdevice\s{0,9}=\s{0,9}(?:torch\.device\(\s{0,9})?["']cpu["']""",
)
"""Groups and devices for CPUs: proof in a program that speaks of no GPU."""
_SAYS_CPU = lazy_re.needing(
    ("cpu", "no_cuda"),
    r"""\b(?:(?:use_cpu|no_cuda|cpu)\s{0,9}=\s{0,9}True|accelerator\s{0,9}=\s{0,9}["']cpu["'])(?!\w|\s{0,9}if\b)""",
)
"""Arguments by which a trainer is kept on CPUs: those of TrainingArguments, Accelerator and Lightning's Trainer."""
_NCCL = lazy_re.compile(r"nccl", re.IGNORECASE)
_LOOKS_FOR_GPUS = lazy_re.needing(("is_available", "device_count"), r"\b(?:is_available|device_count)\(")
_GPU = lazy_re.compile(r"nccl|cuda|\bgpus?\b", re.IGNORECASE)


@lru_cache(maxsize=32)  # several rules ask for each process
def trains_on_cpu(process: TrainingProcess) -> bool:
    """Something shows that the program runs on CPUs."""
    options = process.options
    if any(options.find(name) is not None for name in _FLAGS):
        return True
    given = [options.get(name) for name in _OPTIONS] + [process.environment.get(name) for name in _VARIABLES]
    if any(isinstance(value, Set) and value.value.strip().lower() in _CHOICES for value in given):
        return True
    for name, values in _SWITCHES.items():
        value = process.environment.get(name)
        if isinstance(value, Set) and value.value.strip().lower() in values:
            return True
    image = process.container.image
    if isinstance(image, Set) and "cpu" in image.value.replace("_", "-").replace(":", "-").replace("/", "-").split("-"):
        return True
    if any(launcher.options.find("cpu", "use-cpu") is not None for launcher in process.launchers):
        return True
    if any(lazy_re.found_in(text, _SAYS_CPU) for text in islice(process.text.texts, 1)):
        return True
    return _finds(process.text, _FOR_CPU) and not _finds(process.text, _GPU)


def told_cpu(process: TrainingProcess) -> str:
    """The option by which a program is told to run on CPUs; empty where none tells it so."""
    for name in ("device", "accelerator", "device-type", "backend", "trainer.accelerator", "trainer.device"):
        value = process.options.get(name)
        if isinstance(value, Set) and value.value.strip("\"' ").lower() == "cpu":
            return f"its option {name}={value.value.strip()}"
    given = next((name for name in _FLAGS if (one := process.options.find(name)) is not None and one.bare), "")
    return f"its option {given}" if given else ""


def falls_back_to_gloo(text: ProgramText) -> bool:
    """The program makes a process group for CPUs, be it only where it finds no GPU; not one beside that for GPUs."""
    return _finds(text, _GLOO) and (_finds(text, _LOOKS_FOR_GPUS) or not _finds(text, _NCCL))


def _finds(text: ProgramText, pattern: re.Pattern[str]) -> bool:
    return any(lazy_re.found_in(one, pattern) for one in text.texts)
