"""Whether a path of a Hydra configuration lies in a folder that each start names anew."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.config_files import read_config
from kube_gaplint.launch.hydra_runs import Runs
from kube_gaplint.launch.options import parse_options
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import Source, WholeText

TIMED = "hydra:\n  run:\n    dir: runs/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
CHANGES = "  job:\n    chdir: true\n"
CWD = 'OmegaConf.register_new_resolver("cwd", os.getcwd)\n'


def is_new(text: str, *words: str, script: str = "") -> bool:
    source = WholeText(Source("conf.yaml", text))
    home = Origin(source.place(0, 0))
    given = [Word((word,), source.place(0, 0)) for word in words]
    return Runs((read_config(source, "conf.yaml"),), parse_options(given, home), script).is_new("newest")


@pytest.mark.parametrize(
    "text",
    [
        f"newest: ${{hydra:run.dir}}/last.ckpt\n{TIMED}",
        "newest: ${hydra:runtime.output_dir}/last.ckpt\n",
        f"newest: last.ckpt\n{TIMED}{CHANGES}",
        f"saves:\n  folder: ${{hydra:run.dir}}\n  newest: ${{.folder}}/last.ckpt\n{TIMED}",
        f"folder: states\nsaves:\n  newest: ${{folder}}/last.ckpt\n{TIMED}{CHANGES}",
        "newest: /scratch/${now:%Y-%m-%d_%H-%M-%S}/last.ckpt\n",
    ],
)
def test_in_the_folder_of_this_start(text: str) -> None:
    assert is_new(text)


@pytest.mark.parametrize(
    "text",
    [
        f"newest: last.ckpt\n{TIMED}",
        f"newest: /scratch/last.ckpt\n{TIMED}{CHANGES}",
        f"newest: s3://runs/last.ckpt\n{TIMED}{CHANGES}",
        f"newest: ${{unknown}}/last.ckpt\n{TIMED}{CHANGES}",
        f"newest: ${{hydra:runtime.cwd}}/last.ckpt\n{TIMED}{CHANGES}",
        "newest: ${hydra:run.dir}/last.ckpt\nhydra:\n  run:\n    dir: runs/wide\n",
        "newest: ${hydra:run.dir}/last.ckpt\nhydra:\n  run:\n    dir: runs/${now:%Y-%m-%d}\n",
        "newest: /scratch/${now:%Y-%m-%d}/last.ckpt\n",
        f"newest:\n{TIMED}{CHANGES}",
        f"other: last.ckpt\n{TIMED}{CHANGES}",
        f"newest: ${{newest}}\n{TIMED}{CHANGES}",
    ],
)
def test_perhaps_elsewhere(text: str) -> None:
    assert not is_new(text)


def test_a_resolver_of_the_script() -> None:
    text = f"newest: ${{cwd:}}/last.ckpt\n{TIMED}{CHANGES}"
    assert is_new(text, script=CWD)
    assert not is_new(text, script=CWD.replace("os.getcwd", "os.getpid"))
    assert not is_new(text)


def test_the_command_line_goes_first() -> None:
    text = f"folder: ${{hydra:run.dir}}\nnewest: ${{folder}}/last.ckpt\n{TIMED}"
    assert is_new(text)
    for word in ("folder=/scratch", "newest=/scratch/last.ckpt", "hydra.run.dir=/scratch", "--multirun", "-m"):
        assert not is_new(text, word), word
