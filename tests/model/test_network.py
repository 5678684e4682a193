"""The network of pods, and where processes are to meet."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.model.hostnames import misses
from kube_gaplint.model.network import Address, addresses, has_further_networks, host_of
from kube_gaplint.model.pod import on_host_network
from kube_gaplint.model.workload import Workload


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("gpt-0.gpt", "gpt-0.gpt"),
        ("gpt-0.gpt:29400", "gpt-0.gpt"),
        ("tcp://10.0.0.1:29400", "10.0.0.1"),
        ("[fd00::1]:29400", "fd00::1"),
        ("fd00::1", "fd00::1"),
    ],
)
def test_host_of_an_endpoint(endpoint: str, host: str) -> None:
    assert host_of(endpoint) == host


@pytest.mark.parametrize(
    ("host", "literal", "name"),
    [
        ("10.0.0.1", True, False),
        ("fd00::1", True, False),
        ("127.0.0.1", False, True),
        ("0.0.0.0", False, True),
        ("localhost", False, False),
        ("gpt-0.gpt", False, True),
    ],
)
def test_addresses_and_names(tmp_path: Path, host: str, literal: bool, name: bool) -> None:
    sample = process(tmp_path)
    address = Address(host, "MASTER_ADDR", sample.origin, sample.container)
    assert address.is_literal is literal
    assert address.is_name is (name and any(letter.isalpha() for letter in host))


def indexed(folder: Path, *, pod: str = "", env: str = "[]", command: str = "[python, train.py]") -> Workload:
    (found,) = workloads(
        folder,
        job_yaml=f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: gpt, namespace: team}}
        spec:
          completionMode: Indexed
          parallelism: 4
          completions: 4
          template:
            metadata: {{annotations: {{}}}}
            spec:
              {pod}
              containers:
              - name: c
                image: i
                env: {env}
                command: {command}
                resources: {{limits: {{nvidia.com/gpu: 8}}}}
        """,
    )
    return found


@pytest.mark.parametrize(
    ("env", "command", "expected"),
    [
        ('[{name: MASTER_ADDR, value: "10.0.0.1"}]', "[python, train.py]", [("MASTER_ADDR", "10.0.0.1")]),
        ("[]", "[torchrun, --nnodes=4, --master-addr=gpt-0.gpt, train.py]", [("--master-addr", "gpt-0.gpt")]),
        (
            "[]",
            "[torchrun, --nnodes=4, --rdzv-backend=c10d, '--rdzv-endpoint=gpt-0.gpt:29400', train.py]",
            [("--rdzv-endpoint", "gpt-0.gpt")],
        ),
        ("[]", "[torchrun, --nnodes=4, --rdzv-backend=etcd-v2, '--rdzv-endpoint=etcd:2379', train.py]", []),
        ('[{name: MASTER_ADDR, value: "${HEAD}"}]', "[python, train.py]", []),
    ],
)
def test_addresses_in_force(tmp_path: Path, env: str, command: str, expected: list[tuple[str, str]]) -> None:
    found = addresses(indexed(tmp_path, env=env, command=command))
    assert [(address.given_by, address.host) for address in found] == expected


@pytest.mark.parametrize(
    ("pod", "host", "trouble"),
    [
        ("subdomain: ranks", "gpt-0.ranks", ""),
        ("subdomain: ranks", "gpt-0.ranks.team.svc.cluster.local", ""),
        ("subdomain: ranks", "gpt-0.ranks.svc", ""),
        ("subdomain: ranks", "gpt-0.gpt", ".ranks"),
        ("subdomain: ranks", "gpt-0.ranks.other", "namespace is team"),
        ("", "gpt-0.gpt", "no subdomain"),
        ('subdomain: "${DOMAIN}"', "gpt-0.gpt", ""),
        ("subdomain: ranks", "other-0.ranks", ""),
        ("subdomain: ranks", "etcd.tools", ""),
        ("subdomain: ranks", "gpt-0", ""),
    ],
)
def test_names_that_miss_their_pod(tmp_path: Path, pod: str, host: str, trouble: str) -> None:
    found = misses(indexed(tmp_path, pod=pod), host)
    assert bool(found) is bool(trouble)
    assert trouble in found


def test_a_stranger_is_wrong_where_all_ranks_are_pods_of_the_job(tmp_path: Path) -> None:
    whole = "[torchrun, --nnodes=4, --master-addr=other-0.ranks, train.py]"
    part = "[torchrun, --nnodes=5, --master-addr=other-0.ranks, train.py]"
    found = misses(indexed(tmp_path, pod="subdomain: ranks", command=whole), "other-0.ranks")
    assert found == "no pod of the job is called other-0; the first is gpt-0"
    assert misses(indexed(tmp_path, pod="subdomain: ranks", command=part), "other-0.ranks") == ""
    assert misses(indexed(tmp_path, pod="subdomain: ranks", command=whole), "store.tools") == ""


@pytest.mark.parametrize(("pod", "expected"), [
    ("", False), ("hostNetwork: true", True), ("hostNetwork: false", False), ('hostNetwork: "${H}"', None),
])  # fmt: skip
def test_host_network(tmp_path: Path, pod: str, expected: bool | None) -> None:
    assert on_host_network(indexed(tmp_path, pod=pod).roles[0].pod) is expected


@pytest.mark.parametrize(("more", "expected"), [
    ("", False), ("resourceClaims: [{name: nic, resourceClaimTemplateName: nic}]", True),
])  # fmt: skip
def test_further_networks(tmp_path: Path, more: str, expected: bool) -> None:
    assert has_further_networks(indexed(tmp_path, pod=more).roles[0].pod) is expected
