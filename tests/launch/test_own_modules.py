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
        ("python train.py", {"train.py": "import lib as own\nimport lib.x as x\n", "lib/x.py": ""}, 2),
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
        ("python train.py", {"train.py": "from hydra.utils import instantiate\ninstantiate(c)\n"}, "makes objects"),
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


HYDRA = {
    "run/fit.py": "@hydra.main(\n    config_path=join(here(), '../conf'),\n    config_name='base.yaml',\n)\n"
    "def main(c):\n"
    "    hydra.utils.instantiate(c.model)\n",
    "conf/base.yaml": "defaults: [{model: small}, {optional local: mine}, {override hydra/job_logging: none}]\n"
    "optimizer: {_target_: torch.optim.AdamW}\ncallbacks: [{_target_: own.calls.Stop}]\n",
    "conf/other.yaml": "model: {_target_: own.other.Other}\n",
    "conf/model/small.yaml": "_target_: own.small.Small\n",
    "conf/model/large.yaml": "_target_: own.large.build\n",
    "own/calls.py": "calls",
    "own/small.py": "import own.deep",
    "own/deep.py": "instantiate(x)",
    "own/large.py": "large",
    "own/other.py": "other",
}


@pytest.mark.parametrize(
    ("words_given", "last"),
    [
        ("", ["calls", "import own.deep", "instantiate(x)"]),
        ("lr=0.1 model.width=$WIDTH", ["calls", "import own.deep", "instantiate(x)"]),
        ("model=large", ["calls", "large"]),
        ("--config-name=other", ["other"]),
        ("-cn other", ["other"]),
        ("model._target_=own.other.Other", ["calls", "other", "import own.deep", "instantiate(x)"]),
    ],
)
def test_what_hydra_makes_belongs_to_the_program(words_given: str, last: list[str]) -> None:
    text = text_of(f"python run/fit.py {words_given}", HYDRA)
    assert sorted(list(text.texts)[1:]) == sorted(last)
    assert text.open_because == ""


def test_a_configuration_without_objects_leaves_its_modules_nothing_to_make() -> None:
    script = "@hydra.main(config_path='conf', config_name='base')\ndef main(c): pass\nimport own.deep\n"
    files = {"fit.py": script, "conf/base.yaml": "lr: 0.1\n", "own/deep.py": "instantiate(x)"}
    assert text_of("python fit.py", files).open_because == ""
    files["own/deep.py"] = "get_class(x)"
    assert text_of("python fit.py", files).open_because == "own/deep.py makes objects that only the run names"


@pytest.mark.parametrize(
    ("words_given", "change"),
    [
        ("model=$MODEL", {}),
        ("$GIVEN", {}),
        ("--config-name=$NAME", {}),
        ("--config-dir=elsewhere", {}),
        ("--config-name=missing", {}),
        ("", {"conf/base.yaml": "model: {_target_: '${kind}.Model'}\n"}),
        ("", {"conf/base.yaml": "defaults: [{model: missing}]\n"}),
        ("", {"conf/base.yaml": "lr: 0.1\n"}),
        ("", {"run/fit.py": "instantiate(config)\n"}),
        ("", {"run/fit.py": "@hydra.main(config_name='base')\ndef main(c): instantiate(c)\n"}),
    ],
)
def test_objects_that_are_not_seen(words_given: str, change: dict[str, str]) -> None:
    text = text_of(f"python run/fit.py {words_given}", {**HYDRA, **change})
    assert text.open_because == "run/fit.py makes objects that only the run names"
