"""The table of variables, the search for near names, and what values become."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.facts.variables import (
    Reading,
    all_variables,
    edit_distance,
    exists,
    is_ours,
    is_private,
    nearest,
    reading,
    stoi,
    strtoll,
    torch_flag,
    variable,
)

ROWS = list(all_variables())
REAL = [row.name for row in ROWS if row.owner in {"nccl", "torch"}]


def test_rows_are_sound() -> None:
    assert len(REAL) > 280
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    for row in ROWS:
        assert row.source, row.name
        assert re.fullmatch(r"[A-Z][A-Z0-9_]+\*?", row.name)
        if row.owner in {"nccl", "torch"}:
            assert row.first, row.name
        if row.last:
            assert row.last >= row.first[: len(row.last)], row.name
        if row.replaced_by:
            successor = variable(row.replaced_by)
            assert successor is not None
            assert successor.owner != "invented"
        if row.owner == "invented":
            assert row.replaced_by or row.note, row.name


@pytest.mark.parametrize(
    ("name", "release", "read"),
    [
        ("NCCL_IB_TIMEOUT", (2, 3, 5), True),
        ("NCCL_RAS_ENABLE", (2, 23, 4), False),
        ("NCCL_RAS_ENABLE", (2, 24, 3), True),
        ("NCCL_RAS_ENABLE", (2, 24), True),
        ("NCCL_TREE_THRESHOLD", (2, 4, 8), True),
        ("NCCL_TREE_THRESHOLD", (2, 5, 6), False),
        ("TORCH_FR_BUFFER_SIZE", (2, 7, 1), False),
        ("TORCH_FR_BUFFER_SIZE", (2, 8, 0), True),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", (2, 1, 2), False),
        ("NCCL_ASYNC_ERROR_HANDLING", (2, 14, 1), True),
        ("TORCH_NCCL_ABORT_IN_DESTROY_PG", (2, 3, 1), True),
        ("TORCH_NCCL_ABORT_IN_DESTROY_PG", (2, 4, 0), False),
        ("NCCL_TIMEOUT", (2, 30), False),
    ],
)
def test_which_release_reads_a_name(name: str, release: tuple[int, ...], read: bool) -> None:
    row = variable(name)
    assert row is not None
    assert row.read_by(release) is read


def test_names_of_plugins_and_tools() -> None:
    for name in (
        "NCCL_CTRAN_ENABLE",
        "NCCL_FASTRAK_ANYTHING",
        "NCCL_GPUDIRECTTCPX_TX_BINDINGS",
        "NCCL_VERSION",
        "NCCL_TESTS_VERSION",
    ):
        row = variable(name)
        assert row is not None
        assert row.owner == "external"
        assert exists(name)
        assert nearest(name) is None


def test_whose_names_are_judged() -> None:
    assert is_ours("NCCL_WHATEVER")
    assert is_ours("TORCH_NCCL_WHATEVER")
    assert is_ours("TORCH_DISTRIBUTED_TIMEOUT")
    assert not is_ours("MY_NCCL_DEBUG")
    assert not is_ours("FI_PROVIDER")
    assert not is_ours("OFI_NCCL_PROTOCOL")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_SOCKET_IF_NAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOKCET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SHM_DISABEL", "NCCL_SHM_DISABLE"),
        ("NCCL_DISABLE_IB", "NCCL_IB_DISABLE"),
        ("NCCL_DISABLE_NVLS_ENABLE", None),
        ("NCCL_BUFFERSIZE", "NCCL_BUFFSIZE"),
        ("NCCL_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_LOG_LEVEL", "NCCL_DEBUG"),
        ("NCCL_DEBUGG", "NCCL_DEBUG"),
        ("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
        ("NCCL_ASYNC_ERROR_HANDELING", "NCCL_ASYNC_ERROR_HANDLING"),
        ("NCCL_ASYNC_EROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLNG", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"),
        ("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MSEC", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"),
        # no false neighbours
        ("NCCL_TIMEOUT", None),
        ("TORCH_DISTRIBUTED_TIMEOUT", None),
        ("NCCL_IB_XX", None),
        ("NCCL_NEW", None),
        ("NCCL_FOO_BAR_BAZ", None),
        ("NCCL_PROTOCOLS_USED", None),
        ("LD_LIBRARY_PATH", None),
        ("NCCL_" + "A" * 200, None),
    ],
)
def test_near_names(name: str, meant: str | None) -> None:
    found = nearest(name)
    assert (found.name if found else None) == meant


@pytest.mark.parametrize("name", REAL)
def test_a_real_name_is_near_to_none(name: str) -> None:
    assert exists(name)
    assert nearest(name) is None


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("NCCL_CONTAINER", True),
        ("NCCL_JOB_ID", True),
        ("NCCL_WAIT_MINUTES", True),
        ("NCCL_SEED", True),
        ("NCCL_SOCKET_BUFFER_SIZE", False),
        ("NCCL_MAX_RETRIES", False),
        ("NCCL_ENABLE_TIMEOUT", False),
        ("NCCL_SOKCET_BUFFER_SIZE", False),
        ("TORCH_NCCL_MONITORING_SEC", False),
    ],
)
def test_names_that_are_likely_the_users_own(name: str, private: bool) -> None:
    assert not exists(name)
    assert is_private(name) is private


@pytest.mark.parametrize("name", REAL)
def test_no_real_name_is_private(name: str) -> None:
    assert not is_private(name)


def test_invented_names_say_what_to_use() -> None:
    row = variable("NCCL_TIMEOUT")
    assert row is not None
    assert row.owner == "invented"
    assert "init_process_group" in row.note
    assert row.wants_timeout
    assert not exists("NCCL_TIMEOUT")
    assert [variable(name).wants_timeout for name in ("NCCL_SOCKET_TIMEOUT", "NCCL_IB_QPS", "NCCL_DEBUG")] == [  # type: ignore[union-attr]
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("22", 22, ""), ("0x10", 16, ""), ("010", 8, ""), ("089", 0, "89"), ("0", 0, ""), ("-2", -2, ""),
        (" 7", 7, ""), ("true", 0, "true"), ("1s", 1, "s"), ("", 0, ""), ("+3 ", 3, " "), ("0xZ", 0, "xZ"),
    ],
)  # fmt: skip
def test_strtoll(text: str, value: int, rest: str) -> None:
    assert strtoll(text) == (value, rest)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" -3", -3), ("2x", 2), ("0x10", 0), ("010", 10), ("true", None), ("", None), ("9" * 12, None)],
)
def test_stoi(text: str, value: int | None) -> None:
    assert stoi(text) == value


def test_switches_of_torch() -> None:
    assert [torch_flag(text) for text in ("Yes", "1", "T", "TRUE", "y")] == [True] * 5
    assert [torch_flag(text) for text in ("no", "0", "F", "False", "n")] == [False] * 5
    assert [torch_flag(text) for text in ("on", "off", "2", "")] == [None] * 4
    assert torch_flag("true", (2, 1)) is None
    assert torch_flag("1", (2, 1)) is True


READINGS = [
    # name, text, reading
    ("NCCL_IB_DISABLE", "1", Reading("1")),
    ("NCCL_IB_DISABLE", "true", Reading("0", "becomes-zero", True)),
    ("NCCL_IB_DISABLE", "False", Reading("0")),
    ("NCCL_IB_DISABLE", "off", Reading("0")),
    ("NCCL_IB_DISABLE", "maybe", Reading("0", "becomes-zero")),
    ("NCCL_NVLS_ENABLE", "true", Reading("0", "becomes-zero", True)),
    ("NCCL_IB_GID_INDEX", "auto", Reading("0", "becomes-zero")),
    ("NCCL_IB_DISABLE", "on", Reading("0", "becomes-zero", True)),
    ("NCCL_IB_DISABLE", "", Reading("")),
    ("NCCL_P2P_DISABLE", "1", Reading("1")),
    ("NCCL_P2P_DISABLE", "0", Reading("0")),
    ("NCCL_P2P_DISABLE", "2", Reading("2", "no-effect", True)),
    ("NCCL_P2P_DISABLE", "yes", Reading("0", "becomes-zero", True)),
    ("NCCL_IB_TIMEOUT", "22", Reading("22")),
    ("NCCL_IB_TIMEOUT", "022", Reading("18", "octal")),
    ("NCCL_IB_TIMEOUT", "60", Reading("60", "for-ever")),
    ("NCCL_IB_TIMEOUT", "0", Reading("0", "for-ever")),
    ("NCCL_IB_TIMEOUT", "22s", Reading("22", "cut")),
    ("NCCL_IB_RETRY_CNT", "10", Reading("10", "out-of-range")),
    ("NCCL_BUFFSIZE", "9" * 30, Reading("", "too-large")),
    ("NCCL_BUFFSIZE", "8M", Reading("8", "cut")),
    ("NCCL_DEBUG", "info", Reading("INFO")),
    ("NCCL_DEBUG", "ERROR", Reading("", "unknown-word", words=("ERROR",))),
    ("NCCL_DEBUG_SUBSYS", "WARN", Reading("", "filters-all", words=("WARN",))),
    ("NCCL_DEBUG_SUBSYS", "warn,error", Reading("", "filters-all", words=("warn", "error"))),
    ("NCCL_DEBUG_SUBSYS", "WARN,init", Reading("WARN,init")),
    ("NCCL_DEBUG_SUBSYS", "^WARN", Reading("^WARN")),
    ("NCCL_ALGO", "Ring,Tree", Reading("Ring,Tree")),
    ("NCCL_ALGO", "^NVLS", Reading("^NVLS")),
    ("NCCL_ALGO", "allreduce:tree,nvls;broadcast:ring", Reading("allreduce:tree,nvls;broadcast:ring")),
    ("NCCL_ALGO", "Ring,Trees", Reading("", "unknown-word", words=("Trees",))),
    ("NCCL_PROTO", "Simple,LL128", Reading("Simple,LL128")),
    ("NCCL_P2P_LEVEL", "NVL", Reading("NVL")),
    ("NCCL_P2P_LEVEL", "3", Reading("3")),
    ("NCCL_P2P_LEVEL", "nvl", Reading("", "unknown-word", words=("nvl",))),
    ("NCCL_NET_GDR_LEVEL", "ALL", Reading("", "unknown-word", words=("ALL",))),
    ("NCCL_SOCKET_FAMILY", "AF_INET6", Reading("AF_INET6")),
    ("NCCL_SOCKET_FAMILY", "ipv4", Reading("", "unknown-word", words=("ipv4",))),
    ("NCCL_SOCKET_IFNAME", "^lo", Reading("^lo")),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", Reading("1")),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "true", Reading("", "ends-the-process")),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "7", Reading("7", "out-of-range")),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "10m", Reading("10", "cut")),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", " +600 ", Reading("600")),
    ("TORCH_NCCL_BLOCKING_WAIT", "TRUE", Reading("1")),
    ("TORCH_NCCL_BLOCKING_WAIT", "on", Reading("", "ends-the-process")),
    ("TORCH_DISTRIBUTED_DEBUG", "detail", Reading("DETAIL")),
    ("TORCH_DISTRIBUTED_DEBUG", "DEBUG", Reading("", "ends-the-process", words=("DEBUG",))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "expected"), READINGS)
def test_what_a_value_becomes(name: str, text: str, expected: Reading) -> None:
    row = variable(name)
    assert row is not None
    assert reading(row, text) == expected


@pytest.mark.parametrize(("release", "hides"), [((2, 7, 8), False), ((2, 20, 5), True), ((2, 30, 7), False)])
def test_a_filter_without_a_subsystem_by_release(release: tuple[int, ...], hides: bool) -> None:
    row = variable("NCCL_DEBUG_SUBSYS")
    assert row is not None
    assert (reading(row, "WARN", nccl=release).trouble == "filters-all") == hides


def test_algorithms_by_release() -> None:
    row = variable("NCCL_ALGO")
    assert row is not None
    assert reading(row, "NVLSTree", nccl=(2, 17)).trouble == "unknown-word"
    assert reading(row, "NVLSTree", nccl=(2, 18)).trouble == ""
    assert reading(row, "Trees", nccl=(2, 23)).trouble == "unknown-word"
    assert reading(row, "Trees", nccl=(2, 24)).trouble == "ends-the-process"


def test_switches_by_release() -> None:
    row = variable("NCCL_BLOCKING_WAIT")
    assert row is not None
    assert reading(row, "true", torch=(2, 1)).trouble == "ends-the-process"
    assert reading(row, "true", torch=(2, 3)) == Reading("1")


@given(st.sampled_from(ROWS), st.text(max_size=30))
def test_any_value_is_read(row, text: str) -> None:  # type: ignore[no-untyped-def]
    reading(row, text)
    reading(row, text, nccl=(2, 24), torch=(2, 1))


@given(st.text("NCL_IBTAHD0", max_size=12), st.text("NCL_IBTAHD0", max_size=12))
def test_distance_is_a_distance(left: str, right: str) -> None:
    limit = 20
    distance = edit_distance(left, right, limit)
    assert distance == edit_distance(right, left, limit)
    assert (distance == 0) == (left == right)
    assert abs(len(left) - len(right)) <= distance <= max(len(left), len(right))
    assert edit_distance(left, right, 2) == min(distance, 3)
