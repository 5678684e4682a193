"""Whatever is done to the files between two runs, the cache says what a fresh run says."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from caching import Runner, later
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube_gaplint.cache import key

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  backoffLimit: %d
  template:
    spec:
      containers:
      - name: m
        image: x
        command: [torchrun, --nnodes=%d, t.py]
        envFrom: [{configMapRef: {name: c}}]
        resources: {limits: {nvidia.com/gpu: %d}}
"""
TEXTS = (
    # Of equal length where they can be, so that sizes tell nothing.
    JOB % (0, 4, 8),
    JOB % (9, 2, 4),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {NCCL_DEBUG: "TRACE"}\n',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {NCCL_DEBUG: "WARN "}\n',
    "resources: [a.yaml]\nnamePrefix: p-\n",
    "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gres=gpu:8\nsource ./e.sh\nsrun python t.py\n",
    "export NCCL_DEBUG=INFO\n",
    "a: [\n",
    "",
)
SETTINGS = ("ignore: [GPU]\n", "select: [NCCL]\n", "exclude: [b]\n", "severity: {GPU001: info}\n", "nonsense: 1\n")
IGNORED = ("a.yaml\n", "b/\n", "!a.yaml\n*.sh\n")
NAMES = ("a.yaml", "b/a.yaml", "b/kustomization.yaml", "c.sbatch", "e.sh", "b/c/d.yml", "train", "b")
ARGUMENTS = (
    (),
    ("b", "--format", "json"),
    ("--min-severity", "info", "--format", "concise"),
    ("--changed", "--", "a.yaml"),
    ("--jobs", "2", "--quiet"),
)


def _path(folder: Path, name: str) -> Path:
    """A path in the folder; what is in the way of its folders is gone."""
    path = folder / name
    for parent in reversed(path.relative_to(folder).parents[:-1]):
        if not (folder / parent).is_dir():
            _remove(folder / parent)
            (folder / parent).mkdir()
    return path


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(folder: Path, name: str, text: str) -> None:
    path = _path(folder, name)
    _remove(path)
    path.write_text(text)


def _rewrite(folder: Path, name: str, text: str) -> None:
    """Other content in the same file, with its old time."""
    path = folder / name
    if path.is_file():
        status = path.stat()
        path.write_text(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _delete(folder: Path, name: str) -> None:
    if (folder / name).parent.is_dir():
        _remove(folder / name)


def _move(folder: Path, name: str, to: str) -> None:
    if (folder / name).exists() and name != to and not to.startswith(f"{name}/"):
        spare = folder.parent / "spare"
        (folder / name).rename(spare)
        target = _path(folder, to)
        _remove(target)
        spare.rename(target)


def _link(folder: Path, name: str, to: str) -> None:
    path = _path(folder, name)
    _remove(path)
    path.symlink_to(folder / to)


def _mode(folder: Path, name: str, mode: int) -> None:
    if (folder / name).is_file():
        (folder / name).chmod(mode)


def _repository(folder: Path, there: bool) -> None:
    _remove(folder / ".git")
    if there:
        (folder / ".git").mkdir()


def _touch(folder: Path, name: str) -> None:
    if (folder / name).exists():
        os.utime(folder / name)


names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)
changes: st.SearchStrategy[tuple[Callable[..., None], tuple[object, ...]]] = st.one_of(
    st.tuples(st.just(_write), st.tuples(names, texts)),
    st.tuples(st.just(_rewrite), st.tuples(names, texts)),
    st.tuples(st.just(_delete), st.tuples(names)),
    st.tuples(st.just(_move), st.tuples(names, names)),
    st.tuples(st.just(_link), st.tuples(names, names)),
    st.tuples(st.just(_mode), st.tuples(names, st.sampled_from([0o000, 0o444, 0o755]))),
    st.tuples(st.just(_touch), st.tuples(names)),
    st.tuples(st.just(_repository), st.tuples(st.booleans())),
    st.tuples(st.just(_write), st.tuples(st.just(".gaplint.yaml"), st.sampled_from(SETTINGS))),
    st.tuples(st.just(_write), st.tuples(st.just(".gitignore"), st.sampled_from(IGNORED))),
    st.tuples(st.just(_delete), st.tuples(st.sampled_from([".gaplint.yaml", ".gitignore"]))),
)
steps = st.lists(st.tuples(st.lists(changes, max_size=3), st.sampled_from(ARGUMENTS)), min_size=2, max_size=8)


@pytest.mark.parametrize("settled", [True, False])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_change(
    settled: bool, steps: list[tuple[list[tuple[Callable[..., None], tuple[object, ...]]], tuple[str, ...]]]
) -> None:
    with tempfile.TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patch:
        if settled:  # files count as settled at once: sizes and times are all that is compared
            patch.setattr(key, "SETTLED", 0)
        folder = Path(temporary, "work")
        folder.mkdir()
        run = Runner(Path(temporary, "cache"), folder, patch)
        _write(folder, "a.yaml", TEXTS[0])
        _write(folder, "b/a.yaml", TEXTS[2])
        for changed, arguments in steps:
            for change, details in changed:
                change(folder, *details)
            later(Path(temporary))
            fresh = run.fresh(*arguments)
            assert run(*arguments) == fresh
            assert run(*arguments) == fresh
            later(Path(temporary))
