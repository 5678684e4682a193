"""Which torch a project's requirements ask for."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.project import activated, asked_torch
from kube_gaplint.text.source import PlacedText, Source, WholeText


def least(**contents: str) -> tuple[int, ...] | None:
    files = {name.replace("__", "."): content for name, content in contents.items()}

    def look_up(path: str) -> PlacedText | None:
        return WholeText(Source(path, files[path])) if path in files else None

    found = asked_torch(look_up)
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch==2.1.1", (2, 1, 1)),
        ("torch >= 2.4 # the newest", (2, 4)),
        ("torch[opt]~=2.0.1", (2, 0, 1)),
        ("torchvision==0.17.0", (2, 2)),
        ("torchvision>=0.15.2", (2, 0)),
        ("torchvision==0.9.0", None),
        ("triton==3.1.0", (2, 5)),
        ("torchaudio==2.3.1", (2, 3)),
        ("tritonclient==3.1.0", None),
        ("triton<3.1.0", None),
        ("pytorch-lightning==2.1", None),
        ("--extra-index-url https://download.pytorch.org/whl/cu124", (2, 4)),
        ("--extra-index-url https://download.pytorch.org/whl/cu124\ntorch==2.5.1", (2, 5, 1)),
        ("--extra-index-url https://download.pytorch.org/whl/cpu", None),
        ("# --extra-index-url https://download.pytorch.org/whl/cu124", None),
        ("# torch==2.3", None),
        ("torch", None),
        ("torch<2.3", None),
    ],
)
def test_requirements(line: str, expected: tuple[int, ...] | None) -> None:
    assert least(requirements__txt=f"numpy\n{line}\n") == expected


def test_other_forms_and_the_oldest_of_all() -> None:
    assert least(pyproject__toml='[project]\ndependencies = ["numpy", "torch>=2.5.1"]\n') == (2, 5, 1)
    assert least(environment__yml="dependencies:\n  - pytorch=2.1.0\n  - pip\n") == (2, 1, 0)
    lock = '[[package]]\nname = "torch"\nversion = "2.6.0"\n\n[[package]]\nname = "x"\nversion = "1.0"\n'
    assert least(uv__lock=lock) == (2, 6, 0)
    assert least(uv__lock=lock, requirements__txt="torch>=1.13\n") == (1, 13)


def test_torch_s_own_release_counts_before_that_of_its_companions() -> None:
    assert least(requirements__txt="torch==2.0.1\ntriton==3.1.0\n") == (2, 0, 1)
    assert least(requirements__txt="triton==2.0.0\ntorchvision>=0.16\n") == (2, 1)  # both have to fit
    assert least(environment__yml="dependencies:\n  - pytorch-cuda=12.1\n  - pytorch\n") == (2, 1)


def test_companions_say_where_their_release_stands() -> None:
    found = asked_torch(lambda _path: None, lambda: [[WholeText(Source("requirements.yaml", "- triton>=2.2.0\n"))]])
    assert found is not None
    note = "requirements.yaml asks for triton 2.2.0 or later, which goes with torch 2.2 or later"
    assert (found.value, found.origin.note, found.origin.place.text) == ((2, 2), note, "2.2.0")


def test_a_list_by_another_name_counts_where_no_other_says_anything() -> None:
    def text(name: str, content: str) -> WholeText:
        return WholeText(Source(name, content))

    near, far = [text("requeriments.txt", "torch==2.1.1\n"), text("req-dev.txt", "ruff\n")], [text("env.yml", "")]
    found = asked_torch(lambda _path: None, lambda: [far, near])
    assert found is not None
    assert (found.value, found.origin.note) == ((2, 1, 1), "requeriments.txt asks for torch 2.1.1")
    standard = asked_torch(
        lambda path: text(path, "torch==2.4.0") if path == "requirements.txt" else None, lambda: [near]
    )
    assert standard is not None
    assert standard.value == (2, 4, 0)


def test_a_folder_inside_another_one_has_its_own_say() -> None:
    files = {
        "requirements.txt": ("examples/imagenet/requirements.txt", "torch==2.7.1\n"),
        "pyproject.toml": ("pyproject.toml", 'dependencies = ["torch>=2.0.0"]\n'),
        "uv.lock": ("examples-old/uv.lock", 'name = "torch"\nversion = "2.5.0"\n'),
    }

    def look_up(path: str) -> PlacedText | None:
        return WholeText(Source(*files[path])) if path in files else None

    found = asked_torch(look_up)
    assert found is not None
    assert found.origin.note == "uv.lock asks for torch 2.5.0"
    files.pop("uv.lock")
    found = asked_torch(look_up)
    assert found is not None
    assert found.origin.note == "requirements.txt asks for torch 2.7.1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Needs Python 3.10 and PyTorch 2.1.", (2, 1)),
        ("Needs **PyTorch** >= 2.0.1 or PyTorch v2.4", (2, 0, 1)),
        ("pip install torch==1.13.1+cu117 torchvision", (1, 13, 1)),
        ("`torch` (version 2.2)", (2, 2)),
        ("the image nvcr.io/nvidia/pytorch:24.05-py3", None),
        ("PyTorch Lightning 2.0, pytorch-lightning==2.0, torchvision 0.15", None),
    ],
)
def test_words_of_a_readme(words: str, expected: tuple[int, ...] | None) -> None:
    guides = [[WholeText(Source("README.md", words))], [WholeText(Source("../README.md", "torch 1.8"))]]
    found = asked_torch(lambda _path: None, guides=lambda: guides[:1])
    assert (None if found is None else found.value) == expected
    further = asked_torch(lambda _path: None, guides=lambda: guides)
    assert further is not None
    assert further.value == (expected or (1, 8))


def test_the_environment_that_is_activated_counts_alone() -> None:
    def text(name: str, content: str) -> WholeText:
        return WholeText(Source(name, content))

    old = text("envs/a.yml", "name: old\ndependencies:\n- pytorch=1.12.1=py3\n")
    new = text("envs/b.yml", "name: new\ndependencies:\n- pytorch=2.3.0\n")

    def asked(*scripts: str) -> str:
        found = asked_torch(lambda _path: None, lambda: [[old, new]], environment=activated(scripts))
        return "" if found is None else found.origin.note

    assert asked("conda activate new\n") == "b.yml asks for torch 2.3.0"
    assert asked("source activate /opt/envs/old\n") == "a.yml asks for torch 1.12.1"
    assert asked("conda activate other\n") == "a.yml asks for torch 1.12.1"
    assert asked("# conda activate new\n") == "a.yml asks for torch 1.12.1"
    assert asked("source ~/miniconda3/bin/activate\n") == "a.yml asks for torch 1.12.1"
    assert asked("source ~/venvs/x/bin/activate\n") == ""
