"""Which containers surely never end by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.model.endless import endless, only_waits
from kube_gaplint.model.workload import Container


def container(folder: Path, command: str, image: str = "ubuntu:24.04") -> Container:
    (found,) = workloads(
        folder,
        pod_yaml=f"""\
        apiVersion: v1
        kind: Pod
        metadata: {{name: p}}
        spec: {{containers: [{{name: c, image: "{image}", {command} resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
        """,
    )
    return found.roles[0].pod.containers[0]


@pytest.mark.parametrize(
    ("command", "for_ever", "waits"),
    [
        ("command: [sleep, infinity],", True, True),
        ("command: [sleep, 365d],", True, True),
        ('command: [sleep, "3600"],', False, False),
        ("command: [tail, -f, /dev/null],", True, True),
        ('command: [sh, -c, "while true; do sleep 60; done"],', True, True),
        ('command: [sh, -c, "while :; do nvidia-smi; sleep 60; done"],', True, False),
        ('command: [sh, -c, "while :; do date; sleep 60; done"],', True, True),
        ('command: [sh, -c, "nvidia-smi; sleep infinity"],', True, True),
        ('command: [sh, -c, "while [ ! -e /done ]; do sleep 60; done"],', False, False),
        ('command: [sh, -c, "sleep infinity & python train.py"],', False, False),
        ('command: [sh, -c, "python train.py; sleep infinity"],', True, False),
        ('command: [sh, -c, "trap exit TERM; sleep infinity & wait"],', True, True),
        ("command: [sh, -c, \"tail -f /dev/null & P=$!; trap 'kill $P' TERM; wait $P\"],", True, True),
        ('command: [sh, -c, "sleep infinity &"],', False, False),
        ('command: [sh, -c, "sleep 600 & wait"],', False, False),
        ('command: [sh, -c, "python train.py & sleep infinity & wait"],', True, False),
        ('command: [sh, -c, "tail -F /log & python train.py; kill %1; wait"],', False, False),
        ('command: [sh, -c, "while true; do sync-logs; sleep 9; [ -f /done ] && break; done"],', False, False),
        ('command: [sh, -c, "while true; do if [ -f /done ]; then exit 0; fi; sleep 9; done"],', False, False),
        ('command: [sh, -c, "while sleep 60; do sync-logs; done"],', True, False),
        ('command: [sh, -c, "until false; do sync-logs; sleep 60; done"],', True, False),
        ('command: [bash, -c, "for (( ; ; )); do sync-logs; done"],', True, False),
        ('command: [sh, -c, "for x in a b; do sync-logs; sleep 60; done"],', False, False),
        ('command: [bash, -c, "for ((i = 0; i < 3; i++)); do sync-logs; done"],', False, False),
        ('command: [sh, -c, "while sleep 5 && ping -c1 trainer; do sync-logs; done"],', False, False),
        ("command: [tail, --follow=name, /log],", True, True),
        ("command: [tail, -100f, /log],", True, True),
        ('command: [tail, -F, /log, "--pid=1"],', False, False),
        ("command: [tail, -n, '5', /log],", False, False),
        ('command: [sh, -c, "mkdir -p /tb && exec tensorboard --logdir /tb"],', True, False),
        ('command: [sh, -c, "cd /logs && touch log && tail -F log"],', True, False),
        ('command: [sh, -c, "python3 -m pip install x && while true; do sync-logs; sleep 5; done"],', True, False),
        ('command: [sh, -c, "mkdir -p /tb && sleep infinity"],', True, True),
        ('command: [sh, -c, "[ -e /logs/log ] && tail -F /logs/log"],', False, False),
        ('command: [sh, -c, "mkdir -p /tb && grep -q x /log && tail -F /log"],', False, False),
        ('command: [sh, -c, "mkdir /lock || tail -F /log"],', False, False),
        ('command: [sh, -c, "git diff --quiet && sleep infinity"],', False, False),
        ('command: [sh, -c, "if [ $A = $B ]; then touch x && sleep infinity; fi"],', False, False),
        ('command: [sh, -c, "mkdir -p /tb && sync-logs && sleep infinity"],', False, False),
        ("command: [tensorboard, --logdir, /tb],", True, False),
        ("command: [python, -m, http.server],", True, False),
        ('command: [timeout, "60", tail, -f, /log],', False, False),
        ("command: [python, train.py],", False, False),
    ],
)
def test_commands(tmp_path: Path, command: str, for_ever: bool, waits: bool) -> None:
    found = container(tmp_path, command)
    assert (endless(found) is not None, only_waits(found) is not None) == (for_ever, waits)


@pytest.mark.parametrize(
    ("image", "command", "expected"),
    [
        ("fluent/fluent-bit:3.1", "", "fluent/fluent-bit:3.1"),
        ("fluent/fluent-bit:3.1", "command: [fluent-bit-check],", None),
        ("ghcr.io/acme/train:1", "", None),
    ],
)
def test_images_whose_entry_point_serves(tmp_path: Path, image: str, command: str, expected: str | None) -> None:
    found = endless(container(tmp_path, command, image))
    assert (found.what if found is not None else None) == expected
