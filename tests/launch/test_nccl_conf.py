"""NCCL's files of settings: which one wins, and what a file that is not seen leaves open."""

from __future__ import annotations

import pytest
from launch_words import environment, placed, words
from test_processes import HOME, container, files_of, value

from kube_gaplint.launch.nccl_conf import with_conf_files
from kube_gaplint.model.command import Command
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Mount

TIMEOUT = "NCCL_IB_TIMEOUT"


def mounted(path: str) -> Mount:
    return Mount(Set(path, HOME), "conf", "", False, HOME)


def told(script: str = "", files: dict[str, str] | None = None, command: str = "torchrun t.py", **env: str) -> object:
    """What NCCL_IB_TIMEOUT is; "?" where that is not known."""
    given = environment(**env)
    main = container(f"{script}\ntrue\n" if script else "", given)
    main.mounts = tuple(mounted(path) for path in files or ())
    start = Command(words(command), given, HOME.place)
    found = with_conf_files(given, main, start, main.scripts, files_of(files))
    assert value(found.get("TORCH_NCCL_BLOCKING_WAIT")) is None
    return value(found.get(TIMEOUT))


@pytest.mark.parametrize(
    ("files", "env", "timeout"),
    [
        ({}, {}, None),
        ({"/etc/nccl.conf": "NCCL_IB_TIMEOUT=23\n"}, {}, "23"),
        ({"/etc/nccl.conf": "#NCCL_IB_TIMEOUT=23\nNCCL_DEBUG=WARN\n"}, {}, None),
        ({"/etc/nccl.conf": "TORCH_NCCL_BLOCKING_WAIT=1\nNCCL_BLOCKING_WAIT=1\n"}, {}, None),
        ({"/etc/nccl.conf": "NCCL_IB_TIMEOUT=23\n"}, {TIMEOUT: "14"}, "14"),
        ({"/etc/nccl.conf": "NCCL_IB_TIMEOUT=23", "/root/.nccl.conf": "NCCL_IB_TIMEOUT=20"}, {}, "20"),
        ({"/home/me/.nccl.conf": "NCCL_IB_TIMEOUT=20"}, {"HOME": "/home/me"}, "20"),
        ({"/a": "NCCL_IB_TIMEOUT=19", "/root/.nccl.conf": "NCCL_IB_TIMEOUT=20"}, {"NCCL_CONF_FILE": "/a"}, "19"),
        ({"/etc/nccl.conf": "NCCL_IB_TIMEOUT=23"}, {"NCCL_CONF_FILE": "/not-seen"}, "23"),
        ({}, {"NCCL_CONF_FILE": "/not-seen"}, "?"),
        ({"/etc/nccl.conf": "NCCL_IB_TIMEOUT={{ .timeout }}"}, {}, "?"),
    ],
)
def test_which_file_wins(files: dict[str, str], env: dict[str, str], timeout: str | None) -> None:
    assert told(files=files, **env) == timeout


@pytest.mark.parametrize(
    ("script", "timeout"),
    [
        ("cat > /etc/nccl.conf <<EOF\nNCCL_IB_TIMEOUT=23\nEOF", "23"),
        ("cat > /etc/nccl.conf <<EOF\nNCCL_IB_TIMEOUT=$UNSEEN\nEOF", "?"),
        ("tee /etc/nccl.conf <<EOF\nNCCL_IB_TIMEOUT=23\nEOF", "23"),
        ("echo NCCL_DEBUG=WARN > /etc/nccl.conf\necho NCCL_IB_TIMEOUT=22 >> /etc/nccl.conf", "22"),
        ('echo "NCCL_IB_TIMEOUT=22" > $HOME/.nccl.conf', "22"),
        ("envsubst < /x > /etc/nccl.conf", "?"),
        ("cp /shared/nccl.conf /etc/nccl.conf", "?"),
        ("srun bash -c 'printf \"NCCL_IB_TIMEOUT=22\\n\" > /etc/nccl.conf'", "?"),
        ("cp /shared/nccl.conf /tmp/x", None),
        ("echo NCCL_IB_TIMEOUT=22 > /tmp/nccl.conf", None),
    ],
)
def test_what_a_script_writes(script: str, timeout: str | None) -> None:
    assert told(script) == timeout


@pytest.mark.parametrize(
    ("command", "timeout"),
    [
        ("docker run -v ./nccl.conf:/etc/nccl.conf image torchrun t.py", "?"),
        ("srun --container-mounts=/x/nccl.conf:/etc/nccl.conf,/data:/data torchrun t.py", "?"),
        ("torchrun t.py --notes /x/nccl.conf", None),
    ],
)
def test_a_file_that_is_handed_into_a_container(command: str, timeout: str | None) -> None:
    assert told(command=command) == timeout


def test_a_mounted_file_that_is_not_seen_leaves_it_open() -> None:
    given = environment()
    main = container("", given)
    main.mounts = (mounted("/etc/nccl.conf"),)
    start = Command(words("torchrun t.py"), given, HOME.place)
    assert value(with_conf_files(given, main, start, (), files_of({})).get(TIMEOUT)) == "?"


def test_no_file_is_asked_for_that_nothing_gives() -> None:
    """A ConfigMap that is not seen would be spoken of."""
    given = environment()
    asked: list[str] = []
    start = Command(words("torchrun t.py"), given, HOME.place)
    with_conf_files(given, container("", given), start, (), asked.append)  # type: ignore[arg-type]
    assert asked == []


def test_a_value_stands_in_its_file() -> None:
    given = environment()
    text = "NCCL_DEBUG=WARN\nNCCL_IB_TIMEOUT=23\n"
    main = container("", given)
    main.mounts = (mounted("/etc/nccl.conf"),)
    found = with_conf_files(
        given, main, Command(words("torchrun t.py"), given, HOME.place), (),
        lambda path: placed(text, path) if path == "/etc/nccl.conf" else None,
    )  # fmt: skip
    setting = found.variables[TIMEOUT]
    assert isinstance(setting, Set)
    assert setting.origin.place.text == "NCCL_IB_TIMEOUT=23"
