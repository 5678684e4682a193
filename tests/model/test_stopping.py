"""Who gets SIGTERM, and how long there is for a save."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.model.pod import asks_no_program, probe
from kube_gaplint.model.stopping import asked_grace, deaf_shell, grace_ceiling, grace_shown, time_to_save

HELD = '[bash, -c, "torchrun train.py > log.txt 2>&1"]'


@pytest.mark.parametrize(
    ("command", "pod", "held"),
    [
        (HELD, "", True),
        ('[bash, -c, "exec torchrun train.py > log.txt"]', "", False),
        ('[bash, -c, "torchrun train.py"]', "", False),
        ("[torchrun, train.py]", "", False),
        (HELD, "shareProcessNamespace: true", False),
        (HELD, "hostPID: true", False),
        (HELD, "shareProcessNamespace: ${SHARE}", False),
        (HELD, "shareProcessNamespace: false", True),
        ('[bash, -c, "mpirun -np 32 python train.py; echo done"]', "", False),
    ],
)
def test_shells_that_keep_the_signal(command: str, pod: str, held: bool, tmp_path: Path) -> None:
    assert (deaf_shell(process(tmp_path, command=command, pod=pod)) is not None) is held


@pytest.mark.parametrize(
    ("action", "asks_nothing"),
    [
        ("exec: {command: [pgrep, -f, train.py]}", True),
        ("exec: {command: [/usr/bin/nvidia-smi]}", True),
        ("exec: {command: [bash, -c, 'ps aux | grep python | grep -v grep']}", True),
        ("exec: {command: [sh, -c, 'if [ ! -f /tmp/alive ]; then exit 1; fi']}", True),
        ("exec: {command: [sh, -c, 'test \"$(cat /tmp/state)\" = up 2>/dev/null']}", True),
        ("exec: {command: [sh, -c, 'pgrep python && curl -f localhost:8080']}", False),
        ("exec: {command: [sh, -c, 'find /tmp/beat -mmin -5 | grep .']}", False),
        ("exec: {command: [sh, -c, 'test $(( $(date +%s) - $(cat /tmp/beat) )) -lt 60']}", False),
        ("exec: {command: [python, -c, 'import torch']}", False),
        ("exec: {command: ['${PROBE}']}", False),
        ("httpGet: {path: /, port: 80}", False),
    ],
)
def test_probes_that_ask_nothing_of_the_program(action: str, asks_nothing: bool, tmp_path: Path) -> None:
    found = process(tmp_path, more=f"livenessProbe: {{{action}}}")
    alive = probe(found.container, "liveness")
    assert alive is not None
    assert asks_no_program(alive) is asks_nothing


def test_sh_is_dash_by_the_image(tmp_path: Path) -> None:
    found = deaf_shell(process(tmp_path, command='[sh, -c, "torchrun train.py"]'))
    assert found is not None
    assert found.why == "dash"


@pytest.mark.parametrize(
    ("pod", "shown", "asked", "ceiling"),
    [
        ("", "30 s", None, math.inf),
        ("terminationGracePeriodSeconds: 30", "30 s", None, math.inf),
        ("terminationGracePeriodSeconds: 600", "10 min", 600.0, math.inf),
        ("terminationGracePeriodSeconds: ${GRACE}", "the grace period", None, math.inf),
        ("nodeSelector: {cloud.google.com/gke-spot: 'true'}", "30 s", None, 15.0),
        ("nodeSelector: {karpenter.sh/capacity-type: spot}", "30 s", None, 120.0),
        ("nodeSelector: {kubernetes.azure.com/scalesetpriority: spot}", "30 s", None, 30.0),
        ("nodeSelector: {acme.example/spot: 'true'}", "30 s", None, math.inf),
    ],
)
def test_grace_periods(pod: str, shown: str, asked: float | None, ceiling: float, tmp_path: Path) -> None:
    found = process(tmp_path, pod=pod)
    grace = asked_grace(found)
    assert grace_shown(found) == shown
    assert (None if grace is None else grace.value) == asked
    assert grace_ceiling(found) == ceiling


@pytest.mark.parametrize(
    ("annotations", "seconds", "words"),
    [
        ("", 60.0, ""),
        ('gaplint.dev/save-seconds: "90"', 90.0, "90 s as declared"),
        (
            'gaplint.dev/save-seconds: "90", gaplint.dev/step-seconds: "30"',
            120.0,
            "90 s after a step of 30 s as declared",
        ),
        ('gaplint.dev/step-seconds: "30"', 60.0, ""),
    ],
)
def test_time_that_a_save_takes(annotations: str, seconds: float, words: str, tmp_path: Path) -> None:
    (found,) = workloads(
        tmp_path,
        job_yaml=f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: run, annotations: {{{annotations}}}}}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - name: c
                image: registry.acme.example/m:1
                command: [python, train.py]
                resources: {{limits: {{nvidia.com/gpu: 8}}}}
        """,
    )
    assert time_to_save(found) == (seconds, words)
