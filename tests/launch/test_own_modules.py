"""The text of a program together with the modules of its repository that it imports."""

from __future__ import annotations

import pytest
from launch_words import placed, words

from kube_gaplint.launch import own_modules
from kube_gaplint.launch.launchers import peel
from kube_gaplint.launch.own_modules import OwnModules
from kube_gaplint.model.command import Command
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.program_text import ProgramText
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import PlacedText


def text_of(line: str, files: dict[str, str], *, beside_all: bool = True) -> ProgramText:
    def look_up(path: str) -> PlacedText | None:
        return placed(files[path], path) if path in files else None

    given = words(line)
    home = Origin(given[0].place)
    peeled = peel(Command(given, Environment(home, {}), given[0].place))
    return ProgramText(lambda: OwnModules(peeled, look_up, beside_all=beside_all))


@pytest.mark.parametrize(
    ("line", "files", "found"),
    [
        ("python a/train.py", {"a/train.py": "import torch\n"}, 1),
        ("python a/train.py", {"a/train.py": "import lib.x\n", "a/lib/x.py": "", "a/lib/__init__.py": ""}, 2),
        ("python a/train.py", {"a/train.py": "from lib import x, y\n", "lib/x.py": "", "lib/y.py": ""}, 3),
        ("python a/train.py", {"a/train.py": "from lib import (\n    x,\n    y as z,\n)\n", "lib/y.py": ""}, 2),
        (
            "python a/train.py",
            {"a/train.py": "import lib\n", "src/lib/__init__.py": "from . import x", "src/lib/x.py": ""},
            3,
        ),
        (
            "python a/train.py",
            {"a/train.py": "import p.m\n", "p/m.py": "from ..q import n\n", "q.py": "", "q/n.py": ""},
            4,
        ),
        ("python a/train.py", {"a/train.py": "import b\n", "b.py": "import a.train\nimport b\n"}, 2),
        ("python a/train.py", {"a/train.py": "m = __import__('b')\n", "b.py": ""}, 2),
        ("python -m p.train", {"src/p/train.py": "import p.m\n", "src/p/m.py": ""}, 2),
        ("python /home/me/repo/a/train.py", {"a/train.py": ""}, 1),
        ("ray job submit --working-dir jobs -- python train.py", {"jobs/train.py": ""}, 1),
    ],
)
def test_modules(line: str, files: dict[str, str], found: int) -> None:
    text = text_of(line, files)
    assert len(list(text.texts)) == found
    assert text.open_because == ""
    assert text.mentions("nowhere") is False


@pytest.mark.parametrize(
    ("line", "files", "reason"),
    [
        ("python train.py", {}, "not visible"),
        ("python train.py", {"train.py": "from .m import x\n"}, ".m, which is not visible"),
        ("python train.py", {"train.py": "import importlib\nimportlib.import_module(name)\n"}, "by name"),
        ("python train.py", {"train.py": "import subprocess\nsubprocess.run(['python', 'x'])\n"}, "other programs"),
        ("python train.py", {"train.py": "from hydra.utils import instantiate\ninstantiate(c)\n"}, "by name"),
    ],
)
def test_more_than_is_seen(line: str, files: dict[str, str], reason: str) -> None:
    text = text_of(line, files)
    assert reason in text.open_because
    assert text.mentions("nowhere") is None


def test_a_program_that_only_asks_git_is_whole() -> None:
    text = text_of("python train.py", {"train.py": "import subprocess\nsubprocess.run(['git', 'rev-parse', 'HEAD'])\n"})
    assert text.open_because == ""


def test_packages_of_others() -> None:
    files = {"train.py": "import torch, strangepackage\n"}
    assert text_of("python train.py", files).open_because == ""
    assert "strangepackage" in text_of("python train.py", files, beside_all=False).open_because


def test_no_more_is_read_than_the_answer_needs() -> None:
    text = text_of("python train.py", {"train.py": "import m\nsignal.signal(1, f)\n", "m.py": "raise"})
    assert text.mentions("signal.signal") is True
    assert len(text._taken) == 1


def test_too_many_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_modules, "MOST_MODULES", 3)
    files = {f"m{number}.py": f"import m{number + 1}\n" for number in range(6)}
    text = text_of("python m0.py", files)
    assert len(list(text.texts)) == 3
    assert "more modules" in text.open_because
