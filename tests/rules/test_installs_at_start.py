"""IMG002: what it says of a repository that a script clones where it is missing."""

from __future__ import annotations

from textwrap import indent

from judged import finding

_JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: tune}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: ghcr.io/acme/train:1.4
        command: [bash, -c]
        args:
        - |
%s
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def _said(script: str) -> str:
    found = finding("IMG002", _JOB % indent(script, " " * 10))
    assert found is not None
    return found.message


def test_a_repository_is_cloned_or_brought_up_to_date() -> None:
    script = """if [ -d birds/.git ]; then
  cd birds && git pull origin main
else
  git clone https://github.com/acme/birds
  cd birds
fi
torchrun --nproc-per-node=8 train.py
"""
    assert _said(script) == "git clone or git pull at every start"


def test_one_that_is_there_is_brought_up_to_date() -> None:
    assert _said("cd /opt/birds && git pull\ntorchrun --nproc-per-node=8 train.py\n") == "git pull at every start"
