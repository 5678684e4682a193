"""Rendezvous backends of torch.distributed.elastic: which keys of `--rdzv-conf` each of them reads.

Source: pytorch torch/distributed/elastic/rendezvous (dynamic_rendezvous.py create_handler, c10d_rendezvous_backend.py,
etcd_rendezvous_backend.py, etcd_rendezvous.py, static_tcp_rendezvous.py), releases 1.9 to 2.14. A key that a backend
does not read is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Mapping

_DYNAMIC = frozenset(
    {
        "join_timeout", "last_call_timeout", "close_timeout", "heartbeat_timeout", "keep_alive_interval",
        "keep_alive_max_attempt",
    }
)  # fmt: skip

READ: Mapping[str, frozenset[str]] = {
    "static": frozenset({"timeout", "rank"}),
    "c10d": _DYNAMIC | {"read_timeout"},
    "etcd-v2": _DYNAMIC | {"read_timeout", "protocol", "ssl_cert", "ssl_cert_key", "ca_cert"},
    "etcd": frozenset({"timeout", "last_call_timeout", "etcd_prefix", "protocol", "cacert", "cert", "key"}),
}
"""Keys by backend. Of keys that no backend reads nothing is said."""

INSTEAD = {
    ("c10d", "timeout"): "join_timeout",
    ("etcd-v2", "timeout"): "join_timeout",
    ("etcd", "join_timeout"): "timeout",
    ("static", "join_timeout"): "timeout",
}
"""By backend and ignored key: the key that does there what is meant."""

OUTSIDE_STORES = frozenset({"etcd", "etcd-v2"})
"""Backends whose store outlives the job and serves several."""


def ignored_keys(backend: str, conf: str) -> list[str]:
    """Keys of a configuration that the backend passes over although another one reads them."""
    own = READ.get(backend)
    if own is None:
        return []
    known = frozenset().union(*READ.values())
    return [key for key in keys_of(conf) if key in known and key not in own]


def keys_of(conf: str) -> list[str]:
    """The keys that a configuration gives, in its order."""
    return [pair.partition("=")[0].strip() for pair in conf.split(",") if "=" in pair]
