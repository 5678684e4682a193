"""What torch.distributed does by itself, release by release.

Read from the headers and Python files of the releases' own wheels (1.7.1 to 2.14.1, one patch release a minor) and
from the constructor of `ProcessGroupNCCL` in the shipped library. A release between two that were read with the same
value is taken as equal, and a release after the last one that was read as like it.

A release is a tuple of numbers, compared with shorter tuples: `release < (2, 2)`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Release: TypeAlias = tuple[int, ...]

FIRST_READ: Release = (1, 7)
LAST_READ: Release = (2, 14)

PROCESS_GROUP_SOURCE = "torch/include/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp and its constructor"
CONSTANTS_SOURCE = "torch/distributed/constants.py (default_pg_timeout, default_pg_nccl_timeout)"


class TorchDefaults(Struct, frozen=True):
    """Defaults of a bare process (no launcher) from `since` on. None: the release does not have the setting."""

    since: Release
    async_error_handling: int
    """0 none, 1 abort and end the process, 2 abort only, 3 end the process."""
    timeout_nccl: float
    """Seconds until a collective of the NCCL backend times out."""
    timeout_other: float
    monitoring: bool | None
    """Whether a monitor thread watches the watchdog thread."""
    heartbeat: float | None
    """Seconds for which the watchdog thread may be silent; not the timeout of a collective."""
    recorder_buffer: int | None
    """Events that the flight recorder keeps; 0 is off."""
    dump_on_timeout: bool | None
    wait_dump_milliseconds: int | None
    dump_prefix: str | None
    """Where the flight recorder writes, the rank appended."""
    source: str


_MINUTE = 60.0
_TMP = "/tmp/nccl_trace_rank_"
_NCCL_CACHE = "~/.cache/torch/nccl_trace_rank_"
_COMM_CACHE = "~/.cache/torch/comm_lib_trace_rank_"
_XDG_CACHE = "${XDG_CACHE_HOME:-~/.cache}/torch/comm_lib_trace_rank_"

# fmt: off
DEFAULTS: tuple[TorchDefaults, ...] = (
    TorchDefaults((1, 7), 0, 30 * _MINUTE, 30 * _MINUTE, None, None, None, None, None, None,
                  "asyncErrorHandling_ = false in 1.10 to 1.12, NoHandling in 1.13 and 2.0"),
    TorchDefaults((2, 1), 1, 30 * _MINUTE, 30 * _MINUTE, None, None, None, None, None, None,
                  "constructor in libtorch_cuda.so 2.1.2"),
    TorchDefaults((2, 2), 3, 10 * _MINUTE, 30 * _MINUTE, False, 120, 0, False, None, _TMP,
                  "libtorch_cuda.so 2.2.2; pull requests 110723, 110947, 113094"),
    TorchDefaults((2, 3), 3, 10 * _MINUTE, 30 * _MINUTE, True, 600, 0, False, 2_000, _TMP,
                  "pull requests 115577, 116267"),
    TorchDefaults((2, 4), 3, 10 * _MINUTE, 30 * _MINUTE, True, 600, 0, False, 60_000, _TMP,
                  "ProcessGroupNCCL.cpp of a 2.4 fork"),
    TorchDefaults((2, 5), 3, 10 * _MINUTE, 30 * _MINUTE, True, 480, 0, False, 60_000, _TMP,
                  "pull request 133028"),
    TorchDefaults((2, 7), 3, 10 * _MINUTE, 30 * _MINUTE, True, 480, 0, True, 60_000, _NCCL_CACHE,
                  "libtorch_cuda.so 2.7.1; pull request 143446"),
    TorchDefaults((2, 8), 3, 10 * _MINUTE, 30 * _MINUTE, True, 480, 0, True, 15_000, _NCCL_CACHE,
                  "FlightRecorder.hpp:100 (2.8.0)"),
    TorchDefaults((2, 9), 3, 10 * _MINUTE, 30 * _MINUTE, True, 480, 0, True, 15_000, _COMM_CACHE,
                  "libtorch_cuda.so 2.9.1; FlightRecorder.hpp:108 (2.10.0)"),
    TorchDefaults((2, 11), 3, 10 * _MINUTE, 30 * _MINUTE, True, 480, 2_000, True, 15_000, _XDG_CACHE,
                  "FlightRecorder.hpp:111 (2.11.0)"),
)
# fmt: on
"""In 2.6 to 2.10 logs print a trace buffer of 2000, but the recorder reads its own default of 0: it is off."""


def defaults(release: Release) -> TorchDefaults | None:
    """The defaults of a release; None for one before the first that was read."""
    found = None
    for row in DEFAULTS:
        if release >= row.since:
            found = row
    return found


ASYNC_ERROR_HANDLING: dict[int, str] = {
    0: "no handling: a collective that lost a rank waits for ever",
    1: "aborts the communicators and ends the process",
    2: "aborts the communicators and leaves the process alive, for a program that handles it",
    3: "ends the process without aborting the communicators",
}
"""Values of (TORCH_)NCCL_ASYNC_ERROR_HANDLING: 2 since 1.13, 3 since 2.1."""


class SetsAsync(Struct, frozen=True):
    """A library's call that sets asynchronous error handling itself before it makes the process group: what the job
    sets is overwritten."""

    library: str
    packages: tuple[str, ...]
    call: str
    """As programs write it, without its arguments."""
    source: str


SETS_ASYNC: tuple[SetsAsync, ...] = (
    SetsAsync(
        "NVIDIA PhysicsNeMo (Modulus)", ("modulus", "physicsnemo"), "DistributedManager.initialize",
        "physicsnemo/distributed/manager.py @6c53a4c, modulus/distributed/manager.py @057d182: to 0, the old name in "
        "every release up to torch 2.1 and in early ones of the library, the new name in later ones",
    ),
)  # fmt: skip
"""Composer's launcher and Ray Train set it as well: they stand among the launchers and the frameworks."""


class Names(Struct, frozen=True):
    """One setting of ProcessGroupNCCL and every variable that sets it, strongest first: (name, first, last release).

    `last` is the first release that no longer reads the name, or None.
    """

    names: tuple[tuple[str, Release, Release | None], ...]
    source: str


ALIASES: tuple[Names, ...] = tuple(
    Names(names, source)
    for names, source in (
        (
            (("TORCH_NCCL_ASYNC_ERROR_HANDLING", (2, 2), None), ("NCCL_ASYNC_ERROR_HANDLING", (1, 7), None)),
            "ProcessGroupNCCL.hpp:71-72 (2.14.1); c10d/Utils.hpp getCvarInt: the first name wins",
        ),
        (
            (("TORCH_NCCL_BLOCKING_WAIT", (2, 2), None), ("NCCL_BLOCKING_WAIT", (1, 5), None)),
            PROCESS_GROUP_SOURCE,
        ),
        (
            (("TORCH_NCCL_DESYNC_DEBUG", (2, 2), None), ("NCCL_DESYNC_DEBUG", (1, 11), None)),
            PROCESS_GROUP_SOURCE,
        ),
        (
            (("TORCH_NCCL_ENABLE_TIMING", (2, 2), None), ("NCCL_ENABLE_TIMING", (2, 1), None)),
            PROCESS_GROUP_SOURCE,
        ),
        (
            (
                ("TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK", (2, 2), None),
                ("NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK", (2, 1), None),
            ),
            PROCESS_GROUP_SOURCE,
        ),
        (
            (("TORCH_FR_BUFFER_SIZE", (2, 8), None), ("TORCH_NCCL_TRACE_BUFFER_SIZE", (2, 2), None)),
            "FlightRecorder.hpp:100 (2.8.0), TraceUtils.h (2.2.2)",
        ),
        (
            (("TORCH_FR_DUMP_TEMP_FILE", (2, 8), None), ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", (2, 2), None)),
            "strings of libtorch_cpu 2.8.0 to 2.14.1, libtorch_cuda 2.2.2 to 2.7.1",
        ),
        (
            (("TORCH_FR_CPP_STACK", (2, 8), None), ("TORCH_NCCL_TRACE_CPP_STACK", (2, 2), None)),
            "FlightRecorder.hpp, TraceUtils.h:329 (2.2.2)",
        ),
    )
)

_BY_NAME = {name: row for row in ALIASES for name, _, _ in row.names}


def names_read(name: str, release: Release | None = None) -> tuple[str, ...]:
    """The variables that set what `name` sets and that the release reads, strongest first.

    Without a release every name that some release reads. A name without aliases gives itself.
    """
    row = _BY_NAME.get(name)
    if row is None:
        return (name,)
    return tuple(
        candidate
        for candidate, first, last in row.names
        if release is None or (release >= first and (last is None or release < last))
    )


RECORDER_BUFFER_SUGGESTED = 2_000
"""Events: what PyTorch's own tutorial sets and what became the default in 2.11."""


# torchrun: its agent sets variables for the workers, and its options have defaults of their own.

TORCHRUN_ASYNC_SINCE: Release = (1, 9)
TORCHRUN_SOURCE = "torch/distributed/elastic/agent/server/local_elastic_agent.py, 1.9.1 to 2.14.1"


def torchrun_async_variable(release: Release) -> str:
    """The async-error variable that torchrun's agent exports as 1 where it is unset; empty before 1.9."""
    if release < TORCHRUN_ASYNC_SINCE:
        return ""
    return "NCCL_ASYNC_ERROR_HANDLING" if release < (2, 2) else "TORCH_NCCL_ASYNC_ERROR_HANDLING"


def torchrun_overwrites_async(release: Release) -> bool:
    """Whether the agent sets the variable to 1 even where the user set another value (1.9 to 1.11)."""
    return TORCHRUN_ASYNC_SINCE <= release < (1, 12)


TORCHRUN_MAX_RESTARTS = 0
TORCHRUN_RENDEZVOUS_BACKEND = "static"
TORCHRUN_EXIT_BARRIER_SECONDS = 300.0
RENDEZVOUS_JOIN_SECONDS = 600.0
STORE_TIMEOUT_SECONDS = 300.0
"""TCPStore (Store.hpp kDefaultTimeout)."""

SHUTDOWN_SECONDS = 30.0
"""Between SIGTERM and SIGKILL of torchrun's workers; fixed before 2.12."""
SHUTDOWN_VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
SHUTDOWN_VARIABLE_SINCE: Release = (2, 12)

SHARED_STORE_VARIABLE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
SHARED_STORE_FAULT: tuple[Release, Release] = ((2, 4), (2, 6))
"""From, to (exclusive): restarts of torchrun fail to initialise NCCL unless TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1."""

RENDEZVOUS_KEYS: dict[str, frozenset[str]] = {
    "c10d": frozenset(
        {
            "join_timeout", "last_call_timeout", "close_timeout", "heartbeat_timeout", "keep_alive_interval",
            "keep_alive_max_attempt", "read_timeout", "is_host", "store_type", "use_libuv",
        }
    ),
    "static": frozenset({"timeout", "rank", "use_libuv"}),
}  # fmt: skip
"""Keys of --rdzv-conf that a backend reads; it ignores others in silence."""


def monitor_interval_seconds(release: Release) -> float:
    """How often torchrun's agent looks at its workers."""
    return 5.0 if release < (2, 4) else 0.1


COMPANIONS: dict[str, tuple[tuple[Release, Release], ...]] = {
    "triton": (
        ((2, 0), (2, 0)), ((2, 1), (2, 1)), ((2, 2), (2, 2)), ((2, 3), (2, 3)), ((3, 0), (2, 4)), ((3, 1), (2, 5)),
        ((3, 2), (2, 6)), ((3, 3), (2, 7)), ((3, 4), (2, 8)),
    ),
    "torchvision": (
        ((0, 14), (1, 13)), ((0, 15), (2, 0)), ((0, 16), (2, 1)), ((0, 17), (2, 2)), ((0, 18), (2, 3)),
        ((0, 19), (2, 4)), ((0, 20), (2, 5)), ((0, 21), (2, 6)), ((0, 22), (2, 7)), ((0, 23), (2, 8)),
    ),
    "torchaudio": (
        ((0, 13), (1, 13)), ((2, 0), (2, 0)), ((2, 1), (2, 1)), ((2, 2), (2, 2)), ((2, 3), (2, 3)), ((2, 4), (2, 4)),
        ((2, 5), (2, 5)), ((2, 6), (2, 6)), ((2, 7), (2, 7)), ((2, 8), (2, 8)),
    ),
    "pytorch-cuda": (((11, 6), (1, 12)), ((11, 7), (1, 13)), ((11, 8), (2, 0)), ((12, 1), (2, 1)), ((12, 4), (2, 4))),
}  # fmt: skip
"""Packages that belong to one release of torch: from which release of theirs on torch has at least which one.

Torch's wheels require one triton, torchvision's and torchaudio's one torch (Requires-Dist; the tables in the READMEs of
pytorch/vision and pytorch/audio). `pytorch-cuda` is conda's choice of CUDA (pytorch.org, previous versions).
"""


def torch_beside(package: str, version: Release) -> Release | None:
    """The oldest torch that goes with a release of one of its companions; None where that is not known."""
    found = [torch for since, torch in COMPANIONS.get(package, ()) if since <= version]
    return found[-1] if found else None


WHEEL_INDEXES: dict[str, Release] = {
    "cu117": (1, 13), "cu118": (2, 0), "cu121": (2, 1), "cu124": (2, 4), "cu126": (2, 6), "cu128": (2, 7),
    "cu129": (2, 8), "cu130": (2, 9), "rocm5.6": (2, 1), "rocm5.7": (2, 2), "rocm6.0": (2, 3), "rocm6.1": (2, 4),
    "rocm6.2": (2, 5), "rocm6.3": (2, 7), "rocm6.4": (2, 8),
}  # fmt: skip
"""The oldest torch in each of PyTorch's own package indexes, download.pytorch.org/whl/… (pytorch.org, previous
versions: the commands name the index of each release)."""


PYTHONS: dict[Release, Release] = {(3, 12): (2, 2), (3, 13): (2, 5), (3, 14): (2, 9)}
"""The oldest torch with a wheel for each of Python's releases (torch's files for Linux on PyPI)."""


class ShippedNccl(Struct, frozen=True):
    """The NCCL release that the default CUDA wheel of a torch release requires."""

    torch: Release
    nccl: Release


SHIPPED_NCCL: tuple[ShippedNccl, ...] = tuple(
    ShippedNccl(torch, nccl)
    for torch, nccl in (
        ((2, 0), (2, 14, 3)),
        ((2, 1), (2, 18, 1)),
        ((2, 2), (2, 19, 3)),
        ((2, 3), (2, 20, 5)),
        ((2, 4), (2, 20, 5)),
        ((2, 5), (2, 21, 5)),
        ((2, 6), (2, 21, 5)),
        ((2, 7), (2, 26, 2)),
        ((2, 8), (2, 27, 3)),
        ((2, 9), (2, 27, 5)),
        ((2, 10), (2, 27, 5)),
        ((2, 11), (2, 28, 9)),
        ((2, 12), (2, 29, 7)),
        ((2, 14), (2, 30, 7)),
    )
)
SHIPPED_NCCL_SOURCE = "Requires-Dist nvidia-nccl-cu11/12/13 in the metadata of torch's wheels on PyPI"


def shipped_nccl(release: Release) -> Release | None:
    """NCCL as torch's own wheel brings it; None where the wheel of that minor release was not read."""
    return next((row.nccl for row in SHIPPED_NCCL if row.torch == release[:2]), None)


MAKES_A_GROUP = (
    "distributed", "Distributed", "process_group", "nccl", "deepspeed", "accelerat", "Accelerat", "ightning", "horovod",
    "transformers", "Trainer", "Fabric", "composer", "import ray", "from ray", "megatron", "nemo", "torchtitan",
    "torchtune", "nanotron", "llmfoundry", "open_clip", "fairseq", "fairscale", "metaseq", "bagua", "apex", "jax",
    "tensorflow", "keras", "xla", "torchft", "habana", "hydra", "trl", "_target_", "Runner", "launch", "mmengine",
    "mmcv", "detectron2", "fastai", "monai", "ultralytics", "catalyst", "ignite", "colossalai", "espnet", "speechbrain",
    "allennlp", "parlai", "flair", "mpu",
)  # fmt: skip
"""Words of which one stands in a program whose processes talk to one another: torch's own names, and those of packages
that make a process group."""
