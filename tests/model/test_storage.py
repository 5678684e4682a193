"""What a path in a container is kept on."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process

from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.storage import durable_mounts, volume_at

MOUNTS = (
    "volumeMounts: [{name: claim, mountPath: /data}, {name: scratch, mountPath: /data/scratch/}, "
    "{name: claim, mountPath: /ro, readOnly: true}, {name: code, mountPath: /code}, "
    "{name: gone, mountPath: /gone}, {name: scratch, mountPath: dev/shm}, {name: claim, mountPath: '/runs/${RUN}'}]"
)
VOLUMES = (
    "volumes: [{name: claim, persistentVolumeClaim: {claimName: c}}, {name: scratch, emptyDir: {}}, "
    "{name: code, configMap: {name: m}}]"
)
ENV = "[{name: RUN, valueFrom: {secretKeyRef: {name: s, key: k}}}]"


@pytest.mark.parametrize(
    ("path", "volume"),
    [
        ("/data/ckpt/step_1", "claim"),
        ("/data", "claim"),
        ("/data/scratch/x", "scratch"),
        ("/data/scratchy", "claim"),
        ("/data/../tmp/x", None),
        ("/database", None),
        ("/tmp/x", None),
        ("/dev/shm/x", "scratch"),
        ("/gone/x", "?"),
        ("/runs/7/ckpt", "?"),
        ("ckpt", "?"),
        ("s3://bucket/ckpt", "?"),
        ("", "?"),
    ],
)
def test_the_deepest_mount_decides(path: str, volume: str | None, tmp_path: Path) -> None:
    found = process(tmp_path, more=MOUNTS, pod=VOLUMES, env=ENV)
    kept = volume_at(path, found.container, found.role.pod)
    shown = kept.value.name if isinstance(kept, Set) else None if isinstance(kept, Absent) else "?"
    assert shown == volume


def test_where_something_can_be_kept(tmp_path: Path) -> None:
    found = process(tmp_path, more=MOUNTS, pod=VOLUMES, env=ENV)
    assert [path for path, _ in durable_mounts(found.container, found.role.pod)] == ["/data"]
