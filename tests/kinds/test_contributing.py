"""The kind that CONTRIBUTING.md adds, built as it stands there."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from kube_gaplint import kinds
from kube_gaplint.bundle import bundle
from kube_gaplint.discover import discover
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Set

GUIDE = Path(__file__).parent.parent.parent / "CONTRIBUTING.md"
MANIFEST = """\
apiVersion: tuning.example.com/v1
kind: FineTune
metadata: {name: chat}
spec:
  workers: 4
  attempts: 6
  template:
    spec:
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:24.05-py3
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_the_example_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    chapter = text[text.index("## A new kind") : text.index("## A new format")]
    module_text, row = re.findall(r"```python\n(.*?)```", chapter, re.DOTALL)
    module = types.ModuleType("kube_gaplint.kinds.finetune")
    exec(compile(module_text, "CONTRIBUTING.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    group, kind, name = re.findall(r'"([^"]+)"', row)
    monkeypatch.setitem(kinds.ADAPTERS, (group, kind), name)
    path = tmp_path / "finetune.yaml"
    path.write_text(MANIFEST, encoding="utf-8")
    model = kinds.build(bundle.load(discover((str(path),))).bundle, Profile())
    [workload] = model.workloads
    assert workload.purpose == "training"
    assert isinstance(workload.nodes, Set) and workload.nodes.value == 4
    assert isinstance(workload.restart_budget, Set) and workload.restart_budget.value == 6
    assert [process.program for process in workload.processes] == ["train.py"]
