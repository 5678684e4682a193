"""Defaults of torch.distributed and NCCL by release, row by row."""

from __future__ import annotations

import pytest

from kube_gaplint.facts import nccl, torch

MINUTE = 60

ROWS = [
    # release, async, NCCL and other timeout (s), monitoring, heartbeat, buffer, dump, wait-dump, prefix ends with
    ((1, 7, 1), 0, 30, 30, None, None, None, None, None, None),
    ((1, 13, 1), 0, 30, 30, None, None, None, None, None, None),
    ((2, 0, 1), 0, 30, 30, None, None, None, None, None, None),
    ((2, 1), 1, 30, 30, None, None, None, None, None, None),
    ((2, 1, 2), 1, 30, 30, None, None, None, None, None, None),
    ((2, 2, 2), 3, 10, 30, False, 120, 0, False, None, "/tmp/nccl_trace_rank_"),
    ((2, 3), 3, 10, 30, True, 600, 0, False, 2000, "/tmp/nccl_trace_rank_"),
    ((2, 4, 1), 3, 10, 30, True, 600, 0, False, 60000, "/tmp/nccl_trace_rank_"),
    ((2, 5, 1), 3, 10, 30, True, 480, 0, False, 60000, "/tmp/nccl_trace_rank_"),
    ((2, 6, 0), 3, 10, 30, True, 480, 0, False, 60000, "/tmp/nccl_trace_rank_"),
    ((2, 7, 1), 3, 10, 30, True, 480, 0, True, 60000, "~/.cache/torch/nccl_trace_rank_"),
    ((2, 8), 3, 10, 30, True, 480, 0, True, 15000, "~/.cache/torch/nccl_trace_rank_"),
    ((2, 9, 1), 3, 10, 30, True, 480, 0, True, 15000, "~/.cache/torch/comm_lib_trace_rank_"),
    ((2, 10), 3, 10, 30, True, 480, 0, True, 15000, "~/.cache/torch/comm_lib_trace_rank_"),
    ((2, 11), 3, 10, 30, True, 480, 2000, True, 15000, "/torch/comm_lib_trace_rank_"),
    ((2, 14, 1), 3, 10, 30, True, 480, 2000, True, 15000, "/torch/comm_lib_trace_rank_"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ".".join(map(str, row[0])))
def test_defaults_of_a_release(row: tuple) -> None:  # type: ignore[type-arg]
    release, handling, timeout, other, monitoring, heartbeat, buffer, dump, wait, prefix = row
    found = torch.defaults(release)
    assert found is not None
    assert found.async_error_handling == handling
    assert (found.timeout_nccl, found.timeout_other) == (timeout * MINUTE, other * MINUTE)
    assert (found.monitoring, found.heartbeat, found.recorder_buffer) == (monitoring, heartbeat, buffer)
    assert (found.dump_on_timeout, found.wait_dump_milliseconds) == (dump, wait)
    assert found.dump_prefix == prefix or (prefix and found.dump_prefix and found.dump_prefix.endswith(prefix))
    assert found.source


def test_releases_out_of_the_table() -> None:
    assert torch.defaults((1, 6)) is None
    assert torch.defaults((3, 0)) == torch.DEFAULTS[-1]
    assert [row.since for row in torch.DEFAULTS] == sorted(row.since for row in torch.DEFAULTS)


@pytest.mark.parametrize(
    ("name", "release", "names"),
    [
        ("NCCL_ASYNC_ERROR_HANDLING", (2, 1), ("NCCL_ASYNC_ERROR_HANDLING",)),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", (2, 1), ("NCCL_ASYNC_ERROR_HANDLING",)),
        (
            "NCCL_ASYNC_ERROR_HANDLING",
            (2, 2),
            ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"),
        ),
        ("TORCH_FR_BUFFER_SIZE", (2, 7), ("TORCH_NCCL_TRACE_BUFFER_SIZE",)),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", (2, 8), ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")),
        ("TORCH_FR_DUMP_TEMP_FILE", None, ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")),
        ("TORCH_FR_BUFFER_SIZE", (2, 1), ()),
        ("NCCL_DEBUG", (2, 1), ("NCCL_DEBUG",)),
    ],
)
def test_names_read(name: str, release: tuple[int, ...] | None, names: tuple[str, ...]) -> None:
    assert torch.names_read(name, release) == names


def test_what_torchrun_sets() -> None:
    assert torch.torchrun_async_variable((1, 8)) == ""
    assert torch.torchrun_async_variable((1, 9)) == "NCCL_ASYNC_ERROR_HANDLING"
    assert torch.torchrun_async_variable((2, 1, 2)) == "NCCL_ASYNC_ERROR_HANDLING"
    assert torch.torchrun_async_variable((2, 2)) == "TORCH_NCCL_ASYNC_ERROR_HANDLING"
    assert torch.torchrun_overwrites_async((1, 11))
    assert not torch.torchrun_overwrites_async((1, 12, 1))
    assert torch.monitor_interval_seconds((2, 3)) == 5
    assert torch.monitor_interval_seconds((2, 4)) == 0.1
    assert "join_timeout" not in torch.RENDEZVOUS_KEYS["static"]
    assert "timeout" not in torch.RENDEZVOUS_KEYS["c10d"]


@pytest.mark.parametrize(
    ("release", "shipped"),
    [((1, 13, 1), None), ((2, 0, 1), (2, 14, 3)), ((2, 3, 1), (2, 20, 5)), ((2, 9, 1), (2, 27, 5)), ((2, 13), None)],
)
def test_nccl_in_the_wheel(release: tuple[int, ...], shipped: tuple[int, ...] | None) -> None:
    assert torch.shipped_nccl(release) == shipped


@pytest.mark.parametrize(
    ("release", "value"),
    [((2, 2), 14), ((2, 3, 5), 14), ((2, 13, 4), 14), ((2, 14, 3), 18), ((2, 22, 3), 18), ((2, 23, 4), 20)],
)
def test_default_infiniband_timeout(release: tuple[int, ...], value: int) -> None:
    assert nccl.ib_timeout_default(release) == value


@pytest.mark.parametrize(("timeout", "total"), [(14, 0.5), (18, 7.5), (20, 30), (22, 120), (23, 240)])
def test_how_long_a_dead_link_is_waited_for(timeout: int, total: float) -> None:
    assert nccl.ib_total_seconds(timeout) == pytest.approx(total, rel=0.07)


def test_timeouts_that_wait_for_ever() -> None:
    assert nccl.ib_total_seconds(0) is None
    assert nccl.ib_total_seconds(32) is None
    assert nccl.ib_try_seconds(31) == pytest.approx(8796, rel=0.01)
    assert nccl.ib_total_seconds(20, 1) == nccl.ib_try_seconds(20)


def test_eras() -> None:
    assert nccl.same_era((2, 18, 3), (2, 21, 5))
    assert nccl.same_era((2, 25, 1), (2, 27, 7))
    assert not nccl.same_era((2, 21, 5), (2, 25, 1))
