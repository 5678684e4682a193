"""Comments that say that a value stands for now."""

from __future__ import annotations

import pytest

from kube_gaplint.model.remarks import stands_for_now
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import Place, Source, Span


def says(text: str, value: str = "SAVE=5") -> bool:
    start = text.rindex(value) + len(value) - 1
    return stands_for_now(Origin(Place(Source("x.sh", text), Span(start, start + 1))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SAVE=5\n", False),
        ("# SAVE=249\nSAVE=5\n", True),
        ("set -e\n#SAVE=249\nexport SAVE=5\n", True),
        ("# 249\nSAVE=5\n", True),
        ("# 249 layers\nSAVE=5\n", False),
        ("# OTHER=249\nSAVE=5\n", False),
        ("# SAVE=249\n\nSAVE=5\n", False),
        ("# SAVE=249\nOTHER=1\nSAVE=5\n", False),
        ("# after the first save, change to the value you want\n# (see the log)\nSAVE=5\n", True),
        ("SAVE=5  # for now\n", True),
        ("SAVE=5  # steps\n", False),
        ("echo '#'\nSAVE=5\n", False),
        ("# SAVE=249\n# a\n# b\n# c\nSAVE=5\n", False),
    ],
)
def test_remarks(text: str, expected: bool) -> None:
    assert says(text) is expected


def test_yaml_keys() -> None:
    assert says("args:\n# save_steps: 500\nsave_steps: 5\n", "save_steps: 5")
