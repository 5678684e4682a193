"""Keys of --rdzv-conf by backend."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.rendezvous import INSTEAD, READ, ignored_keys


@pytest.mark.parametrize(
    ("backend", "conf", "ignored"),
    [
        ("c10d", "timeout=120", ["timeout"]),
        ("c10d", "join_timeout=900,last_call_timeout=60,close_timeout=30,read_timeout=60", []),
        ("static", "timeout=1800", []),
        ("static", "join_timeout=1800, keep_alive_interval=5", ["join_timeout", "keep_alive_interval"]),
        ("etcd", "timeout=900", []),
        ("etcd-v2", "timeout=900", ["timeout"]),
        ("c10d", "own_key=1", []),
        ("mine", "timeout=1", []),
        ("c10d", "", []),
        ("c10d", "timeout", []),
    ],
)
def test_ignored_keys(backend: str, conf: str, ignored: list[str]) -> None:
    assert ignored_keys(backend, conf) == ignored


def test_what_is_named_instead_is_read() -> None:
    for (backend, key), instead in INSTEAD.items():
        assert key not in READ[backend]
        assert instead in READ[backend]
