"""Which variables a script makes use of."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import Place, Source, Span, WholeText


def reads(script: str) -> set[str]:
    source = Source("job.sh", script)
    home = Origin(Place(source, Span(0, 0)))
    return read_script(WholeText(source), Environment(home)).reads


@pytest.mark.parametrize(
    "script",
    [
        'python train.py --minutes "$NAME"',
        "python train.py --minutes ${NAME:-30}",
        'SECONDS=$((NAME * 60)); python train.py --seconds "$SECONDS"',
        "export OTHER=$NAME",
        'if [ "$NAME" = 1 ]; then python train.py; fi',
        "[[ $NAME == 1 ]] && python train.py",
        'case "$NAME" in a) python train.py;; esac',
        'echo "timeout: $NAME" > config.yaml',
        'X=$(echo "$NAME" | tr -d " ")',
        "mpirun -x OTHER=$NAME python train.py",
        "cat > config.yaml <<END\ntimeout: $NAME\nEND\n",
        "for n in $NAME; do python train.py; done",
    ],
)
def test_used(script: str) -> None:
    assert "NAME" in reads(script)


@pytest.mark.parametrize(
    "script",
    [
        "export NAME=${NAME:-30}",
        'export A=1 NAME="${NAME:-30}"',
        "NAME=${NAME:-30}\nexport NAME",
        ': "${NAME:=30}"',
        "NAME=$NAME python train.py",
        "mpirun -x NAME=$NAME python train.py",
        'srun --export=ALL,NAME="$NAME" python train.py',
        'docker run -e NAME="$NAME" image',
        'echo "timeout: $NAME"',
        'printf "%s\\n" "$NAME"',
        "export NAME=30",
    ],
)
def test_only_handed_on_or_shown(script: str) -> None:
    assert "NAME" not in reads(script)
