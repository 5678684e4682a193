"""What STOP001 advises for a program in the background."""

from __future__ import annotations

import pytest
from judged import finding

POD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: tune}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 300
      containers:
      - name: trainer
        image: registry.acme.example/tune:3
        command: [bash, -c]
        args:
        - |
          set -e
          %s &
          wait $!
          echo ended
        resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("line", "out_of_the_pipe"),
    [("python train.py", False), ("python train.py 2>&1 | tee log", True), ("cat urls | python train.py", False)],
)
def test_the_pid_of_a_pipe_is_that_of_its_last_program(line: str, out_of_the_pipe: bool) -> None:
    found = finding("STOP001", POD % line)
    assert found is not None and found.fix is not None
    assert found.fix.title.startswith("send its output away") is out_of_the_pipe
    assert found.fix.title.endswith('`wait "$pid" || wait "$pid"`')  # `set -e` ends the shell at a bare wait
