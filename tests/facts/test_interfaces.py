"""Lists of network interfaces, read as NCCL reads them."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.interfaces import Interfaces, on_hosts_alone, read_interfaces


@pytest.mark.parametrize(
    ("text", "names", "excluded", "exact"),
    [
        ("eth0", ("eth0",), False, False),
        ("^docker0,lo", ("docker0", "lo"), True, False),
        ("=bond0", ("bond0",), False, True),
        ("^=docker0", ("docker0",), True, True),
        (" eth0 , ens5 ", ("eth0", "ens5"), False, False),
        ("^", (), True, False),
        ("", (), False, False),
    ],
)
def test_lists(text: str, names: tuple[str, ...], excluded: bool, exact: bool) -> None:
    assert read_interfaces(text) == Interfaces(names, excluded, exact)


@pytest.mark.parametrize(
    ("text", "interface", "covered"),
    [
        ("^docker,lo", "lo", True),
        ("^l", "lo", True),
        ("^=l", "lo", False),
        ("^docker0", "lo", False),
        ("eth", "eth0", True),
        ("=eth", "eth0", False),
    ],
)
def test_prefixes_and_exact_names(text: str, interface: str, covered: bool) -> None:
    assert read_interfaces(text).covers(interface) is covered


@pytest.mark.parametrize("text", ["ens5", "enp90s0np0", "=eno1", "bond0", "ib0,ib1", "enP5p9s0", "hsn", "mlx5_0", "en"])
def test_names_that_only_hosts_have(text: str) -> None:
    assert on_hosts_alone(read_interfaces(text))


@pytest.mark.parametrize(
    "text", ["eth0", "eth", "e", "=eth0", "net1", "eth0,ens5", "^ens5", "eth1", "lo", "", "gpu-net"]
)
def test_names_that_pods_have_or_may_have(text: str) -> None:
    assert not on_hosts_alone(read_interfaces(text))
