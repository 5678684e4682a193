"""Programs and images that run until somebody stops them.

Sources: the programs' own manuals (a server's main command serves until it gets a signal; `tail -f`, `sleep infinity`
of GNU coreutils), and the entry points of the images.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.lazy_re import globs

PROGRAMS = frozenset(
    {
        "tensorboard", "nginx", "httpd", "redis-server", "etcd", "envoy", "pilot-agent", "prometheus", "pushgateway",
        "node_exporter", "dcgm-exporter", "nvidia_gpu_exporter", "fluent-bit", "fluentd", "td-agent", "filebeat",
        "metricbeat", "promtail", "vector", "telegraf", "otelcol", "otelcol-contrib", "alloy", "grafana-agent",
        "cloud_sql_proxy", "cloud-sql-proxy", "kube-proxy", "jupyter-lab", "jupyter-notebook", "code-server", "ttyd",
        "gunicorn", "uvicorn", "hypercorn", "haproxy", "caddy", "minio", "memcached",
        "postgres", "mongod", "crond", "supervisord",
    }
)  # fmt: skip


class WithWord(Struct, frozen=True):
    """A program that serves with one of these words among its arguments."""

    program: str
    words: frozenset[str]


WITH_WORDS: tuple[WithWord, ...] = (
    WithWord("jupyter", frozenset({"lab", "notebook", "server"})),
    WithWord("mlflow", frozenset({"server", "ui"})),
    WithWord("aim", frozenset({"up", "server"})),
    WithWord("wandb", frozenset({"server"})),
    WithWord("python", frozenset({"http.server", "tensorboard.main", "SimpleHTTPServer"})),
    WithWord("python3", frozenset({"http.server", "tensorboard.main"})),
    WithWord("sshd", frozenset({"-D", "-De", "-eD", "-Ddp"})),
    WithWord("streamlit", frozenset({"run"})),
    WithWord("flask", frozenset({"run"})),
    WithWord("kubectl", frozenset({"port-forward", "proxy"})),
    WithWord("dcgmi", frozenset({"dmon"})),
    WithWord("inotifywait", frozenset({"-m", "--monitor"})),
    WithWord("rclone", frozenset({"mount", "serve"})),
    WithWord("gcsfuse", frozenset({"--foreground"})),
)

# Images whose entry point serves, where the manifest gives no command of its own.
IMAGES = (
    "*/fluent-bit:*", "*/fluent-bit", "*/fluentd:*", "*/fluentd*", "*/filebeat:*", "*/promtail:*", "timberio/vector*",
    "nginx", "nginx:*", "*/nginx:*", "redis", "redis:*", "*/redis:*", "prom/*", "*/prometheus/*", "*dcgm-exporter*",
    "*/istio/proxyv2:*", "*envoyproxy/envoy:*", "*cloud-sql-proxy*", "*cloudsql-docker/gce-proxy*", "*/otel/*",
    "*otel/opentelemetry-collector*", "*nvidia_gpu_exporter*", "memcached:*", "*filebrowser/filebrowser*",
)  # fmt: skip

ALWAYS_TRUE = frozenset({"true", ":", "1", "[ 1 ]", "[ true ]", "[[ 1 ]]", "((1))", "(( 1 ))", "/bin/true"})
"""Conditions of loops that never end by themselves."""

LONGEST_NAP = 86_400.0
"""Seconds: what sleeps longer is meant to wait for somebody."""


_FOLLOWS = lazy_re.compile(r"-[\w+-]*[fF]\w*|--follow(?:=.*)?")
"""How `tail` is told to go on at the end of the file: alone, in a bundle (`-fn0`, `-100f`), with what it follows."""


def serves(name: str, words: Sequence[str]) -> bool:
    """Whether a program runs until it is stopped. `words`: its arguments."""
    if name == "tail":  # `--pid` ends it with another process
        return any(_FOLLOWS.fullmatch(word) for word in words) and not any(word.startswith("--pid") for word in words)
    return name in PROGRAMS or any(row.program == name and not row.words.isdisjoint(words) for row in WITH_WORDS)


def serving_image(image: str) -> bool:
    """Whether an image's own entry point runs until it is stopped."""
    return any(globs(image, pattern) for pattern in IMAGES)
