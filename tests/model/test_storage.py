"""Which mount and volume hold a path."""

from __future__ import annotations

import pytest

from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import Surplus
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.storage import storage_of
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.workload import Container, Mount, Pod, Volume
from kube_gaplint.text.source import Place, Source, Span

AT = Origin(Place(Source("job.yaml", "x"), Span(0, 1)))
NONE = Absent(AT)


def known(path: str) -> Setting[str]:
    return Set(path, AT)


def container(*mounts: tuple[Setting[str], str], directory: Setting[str] = NONE) -> Container:
    return Container(
        "main", AT, Subject("Job"), NONE, Environment(AT), NONE, NONE, (), {}, {},
        tuple(Mount(path, volume, "", False, AT) for path, volume in mounts), fields={"workingDir": directory},
    )  # fmt: skip


def volume(name: str) -> Volume:
    return Volume(name, "claim", known(name), AT, NONE, NONE, NONE, NONE, Set(True, AT), Set(True, AT))


def pod(*names: str, unseen: str = "", open_volumes: str = "") -> Pod:
    surplus = Surplus({"volumes": open_volumes} if open_volumes else {})
    return Pod(
        AT, (), (), tuple(map(volume, names)), {}, {}, NONE, NONE, {}, exposed={"open_parts": surplus},
        overrides_unknown=unseen,
    )  # fmt: skip


TWO = ((known("/data"), "data"), (known("/data/ckpt/"), "ckpt"))


@pytest.mark.parametrize(
    ("path", "kind", "held"),
    [
        (known("/data/ckpt/run1"), "volume", "ckpt"),
        (known("/data/ckpt"), "volume", "ckpt"),
        (known("/data/ckpt2/run1"), "volume", "data"),
        (known("/data//x/../ckpt/y"), "volume", "ckpt"),
        (known("file:///data/x"), "volume", "data"),
        (known("/database"), "container", ""),
        (known("/tmp/x"), "container", ""),
        (known("s3://bucket/x"), "remote", ""),
        (known("gs://bucket"), "remote", ""),
        (known("ckpt"), "unknown", ""),
        (NONE, "unknown", ""),
        (Unknown("a variable"), "unknown", ""),
        (Unknown("a variable", prefix="/data/ckpt/"), "volume", "ckpt"),
        (Unknown("a variable", prefix="/data/ckpt"), "unknown", ""),  # /data/ckpt2 may be meant
        (Unknown("a variable", prefix="/data/"), "unknown", ""),  # the deeper mount may be meant
        (Unknown("a variable", prefix="/data/logs-"), "volume", "data"),
        (Unknown("a variable", prefix="/"), "unknown", ""),
        (Unknown("a variable", prefix="/var/"), "container", ""),
    ],
)
def test_the_deepest_mount_holds_a_path(path: Setting[str], kind: str, held: str) -> None:
    found = storage_of(path, container(*TWO), pod("data", "ckpt"))
    assert (found.kind, "" if found.volume is None else found.volume.name) == (kind, held)
    assert (found.kind == "unknown") == bool(found.reason)


def test_a_volume_that_the_template_does_not_show() -> None:
    found = storage_of(known("/data/x"), container(*TWO), pod())
    assert (found.kind, found.volume) == ("volume", None)
    assert found.mount is not None
    assert found.mount.volume == "data"


@pytest.mark.parametrize(
    ("directory", "own", "kind"),
    [
        (known("/data"), NONE, "volume"),
        (known("/workspace"), known("/data"), "container"),
        (None, known("/data"), "volume"),
        (known("runs"), known("/data"), "volume"),
        (known("runs"), NONE, "unknown"),
        (Unknown("cd $X"), known("/data"), "unknown"),
        (None, NONE, "unknown"),
    ],
)
def test_a_relative_path(directory: Setting[str] | None, own: Setting[str], kind: str) -> None:
    assert storage_of(known("out"), container(*TWO, directory=own), pod("data"), directory).kind == kind


def test_what_may_be_mounted_unseen() -> None:
    assert storage_of(known("/x"), container(*TWO), pod("data", unseen="the runtime is not seen")).kind == "unknown"
    assert storage_of(known("/x"), container(*TWO), pod("data", open_volumes="a Helm expression")).kind == "unknown"
    assert storage_of(known("/data/x"), container(*TWO), pod("data", unseen="the runtime")).kind == "volume"
    mystery = container((Unknown("$(DIR)"), "data"))
    assert storage_of(known("/x"), mystery, pod("data")).kind == "unknown"


def test_a_mount_at_the_root() -> None:
    assert storage_of(known("/any/where"), container((known("/"), "root")), pod("root")).kind == "volume"
