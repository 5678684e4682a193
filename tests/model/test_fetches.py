"""What start scripts fetch, copy and delete before the training."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.facts.data import is_hub_id
from kube_gaplint.model.data import stagings
from kube_gaplint.model.start import fetches, guarded, start_commands
from kube_gaplint.model.wipe import wipes
from kube_gaplint.model.workload import Container, Role, Workload

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sample}
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
SCRIPT          torchrun --nproc-per-node=8 train.py
          rm -rf /data/after
          pip install afterwards
        env: [{name: OUT, value: /data/out}]
        volumeMounts: [{name: data, mountPath: /data}, {name: scratch, mountPath: /scratch}]
        resources: {limits: {nvidia.com/gpu: 8}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: c}}, {name: scratch, emptyDir: {}}]
"""


def sample(folder: Path, script: str) -> tuple[Workload, Role, Container]:
    lines = "".join(f"          {line}\n" for line in script.splitlines())
    (workload,) = workloads(folder, job_yaml=JOB.replace("SCRIPT", lines))
    ((role, container),) = workload.containers()
    return workload, role, container


@pytest.mark.parametrize(
    ("script", "titles"),
    [
        ("pip install torch", ["pip install"]),
        ("python3 -m pip install -r requirements.txt", ["pip install"]),
        ("sudo pip3.11 install -U 'torch>=2'", ["pip install"]),
        ("pip install -e .", ["pip install"]),
        ("uv pip install --system /src/acme[train]", ["uv pip install"]),
        ("pip install --no-build-isolation --editable=/src", []),
        ("pip install . --no-deps", []),
        ("pip install ./acme-1.0.tar.gz", []),
        ("pip install --no-index torch", []),
        ("pip install --find-links /wheels /wheels/a.whl", []),
        ("pip install -i https://pypi.corp.example.org/simple torch", []),
        ("pip install -i https://pypi.org/simple torch", ["pip install"]),
        ("pip install --extra-index-url https://download.pytorch.org/whl/cu124 torch", ["pip install"]),
        ("PIP_INDEX_URL=http://mirror.example.org/simple pip install torch", []),
        ("pip config set global.index-url http://mirror.example.org/simple\npip install torch", []),
        ("pip install $PIP_OPTIONS torch", []),
        ("uv pip install torch && uv sync", ["uv pip install", "uv sync"]),
        ("apt-get update && apt-get install -y ./local.deb", []),
        ("apt-get update && apt-get -qq install -y libaio-dev", ["apt-get install"]),
        ("git -C /src pull --ff-only", ["git pull"]),
        ("git clone git@git.example.org:acme/fork.git", ["git clone"]),
        ("git clone /mnt/fork.git", []),
        ("git clone https://huggingface.co/datasets/acme/corpus", []),
        ("echo pip install torch", []),
        ("pip list", []),
    ],
)
def test_installs(script: str, titles: list[str], tmp_path: Path) -> None:
    workload, _, container = sample(tmp_path, script)
    assert [one.installer.title for one in fetches(start_commands(workload, container))] == titles


@pytest.mark.parametrize(
    ("script", "pinned"),
    [
        ("pip install numpy==1.26.4", True),
        ("pip install -q numpy==1.26.4 scipy==1.13.0", True),
        ("pip install numpy==1.26.4 scipy", False),
        ("pip install 'numpy>1.26'", False),
        ("pip install -r requirements.txt", False),
        ("apt-get install -y libaio-dev=0.3.113", True),
        ("git clone https://git.example.org/acme/fork.git", False),
    ],
)
def test_pinned(script: str, pinned: bool, tmp_path: Path) -> None:
    workload, _, container = sample(tmp_path, script)
    (found,) = fetches(start_commands(workload, container))
    assert found.pinned is pinned


@pytest.mark.parametrize(
    ("script", "is_guarded"),
    [
        ("[ -d /venv ] || pip install torch", True),
        ("python -c 'import apex' || pip install apex", True),
        ("if ! command -v git; then apt-get install -y git; fi", True),
        ("apt-get update && apt-get install -y git", False),
        ("pip install torch", False),
    ],
)
def test_guards(script: str, is_guarded: bool, tmp_path: Path) -> None:
    workload, _, container = sample(tmp_path, script)
    (found,) = fetches(start_commands(workload, container))
    assert guarded(found.command) is is_guarded


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("rm -rf /data/cache", [("/data/cache", True)]),
        ("rm -rf /data/cache/*", [("/data/cache", True)]),
        ("rm -fr $OUT/checkpoint-*", [("/data/out", True)]),
        ("rm -rf /data/cache/*.lock", [("/data/cache", False)]),
        ("rm -f /data/cache/x", []),
        ('rm -rf "/data/$(hostname)"', []),
        ("cd /data && rm -rf cache", [("/data/cache", True)]),
        ("rm -rf cache", []),
        ("rm -rf /", []),
        ("find /data/cache -type f -delete", [("/data/cache", True)]),
        ("find /data/cache -name '*.arrow' -exec rm {} +", [("/data/cache", False)]),
        ("find /data/cache -name '*.arrow'", []),
        ("if [ $RANK = 0 ]; then rm -rf /data/cache; fi", []),
        ("[ $CLEAN = 1 ] && rm -rf /data/cache", []),
        ("[ -d /data/cache ] && rm -rf /data/cache", [("/data/cache", True)]),
    ],
)
def test_wipes(script: str, found: list[tuple[str, bool]], tmp_path: Path) -> None:
    workload, _, container = sample(tmp_path, script)
    assert [(one.folder, one.all_of_it) for one in wipes(workload, container)] == found


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("aws s3 sync s3://b/corpus /scratch/corpus", [("/scratch/corpus", True, False)]),
        ("aws s3 cp --recursive s3://b/corpus /data/corpus", [("/data/corpus", False, True)]),
        ("gsutil -m cp -r gs://b/corpus /tmp/corpus", [("/tmp/corpus", False, False)]),
        ("s5cmd --numworkers 64 cp 's3://b/*' /scratch/", [("/scratch/", False, False)]),
        ("hf download acme/corpus --repo-type dataset --local-dir /data/hf", [("/data/hf", True, True)]),
        ("curl -fsSL https://example.org/a.tar.gz -o /scratch/a.tar.gz", [("/scratch/a.tar.gz", False, False)]),
        ("curl -fsSL https://example.org/health", []),
        ("aws s3 cp s3://b/train.py /tmp/train.py", []),
        ("aws s3 sync /data/out s3://b/out", []),
        ("aws s3 sync s3://b/corpus .", []),
    ],
)
def test_copies(script: str, found: list[tuple[str, bool, bool]], tmp_path: Path) -> None:
    workload, role, container = sample(tmp_path, script)
    assert [(one.target, one.incremental, one.kept) for one in stagings(workload, role, container)] == found


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("meta-llama/Llama-3.1-8B", True),
        ("HuggingFaceFW/fineweb", True),
        ("models/llama", False),
        ("./acme/base", False),
        ("/acme/base", False),
        ("acme/base/sub", False),
        ("acme/run.py", False),
        ("s3://acme/base", False),
        ("resnet50", False),
        ("", False),
    ],
)
def test_hub_ids(text: str, yes: bool) -> None:
    assert is_hub_id(text) is yes
