"""Releases from images, installs in visible scripts, modules and the profile."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.versions import releases
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.text.source import Place, PlacedText, Source, Span, WholeText

SOURCE = Source("job.yaml", "image: x\n")
PLACE = Place(SOURCE, Span(7, 8))
HOME = Origin(PLACE)


def command(line: str, certainty: str = "always", *, fallback: bool = False) -> Command:
    """A command whose words are the line's, `?` for an unknown part."""
    words = []
    for text in line.split():
        pieces: list[str | Unknown] = []
        for number, part in enumerate(text.split("?")):
            if number:
                pieces.append(Unknown("not seen"))
            if part:
                pieces.append(part)
        words.append(Word(tuple(pieces), PLACE))
    made = Command(tuple(words), Environment(HOME), PLACE)
    made.certainty = certainty  # type: ignore[assignment]
    made.fallback = fallback
    return made


def known(image: str, *lines: str, profile: Profile | None = None) -> tuple[object, object, object]:
    found = releases(Set(image, HOME), profile or Profile(), [command(line) for line in lines], home=HOME)
    torch, nccl, uses = (setting.value if isinstance(setting, Set) else None for setting in found)
    return torch, nccl, uses


RUNTIME = "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime"


@pytest.mark.parametrize(
    ("line", "torch", "nccl"),
    [
        ("pip install torch==2.1.0", (2, 1, 0), (2, 18, 1)),
        (
            "pip3 install -q torch==2.1.2+cu118 -f https://x.example/whl.html",
            (2, 1, 2),
            (2, 18, 1),
        ),
        ("python3 -m pip install torch==2.2.*", (2, 2), (2, 19, 3)),
        ("uv pip install torch~=2.5.0", (2, 5), (2, 21, 5)),
        (
            "pip install https://x.example/torch-2.4.1%2Bcu121-cp310-none-any.whl",
            (2, 4, 1),
            (2, 20, 5),
        ),
        ("pip install torch==2.6.0+cu118", (2, 6, 0), None),
        ("conda install -y pytorch==2.0.1 pytorch-cuda=11.8 -c pytorch", (2, 0, 1), None),
        ("conda install pytorch::pytorch=1.13", (1, 13), None),
        ("module load cuda/12.1 pytorch-gpu/py3/2.1.1", (2, 1, 1), None),
        ("ml PyTorch/2.1.2-foss-2023a", (2, 1, 2), None),
        ("pip install nvidia-nccl-cu12==2.22.3", (2, 3, 1), (2, 22, 3)),
        # these leave the image's torch alone
        ("pip install transformers datasets torchvision==0.16.0", (2, 3, 1), (2, 20, 5)),
        ("pip install torch", (2, 3, 1), (2, 20, 5)),
        ("pip install -U transformers", (2, 3, 1), (2, 20, 5)),
        ("pip install -e .", (2, 3, 1), (2, 20, 5)),
        ("pip install -c constraints.txt deepspeed", (2, 3, 1), (2, 20, 5)),
        ("pip install torch-scatter==2.1.0", (2, 3, 1), (2, 20, 5)),
        ("echo pip install torch==1.0.0", (2, 3, 1), (2, 20, 5)),
        # and these make it unknown
        ("pip install torch>=2.4", None, None),
        ("pip install -U torch", None, None),
        ("pip install --pre torch --index-url https://x.example/nightly --force-reinstall", None, None),
        ("pip install torch==?", None, None),
        ("pip install ?", None, None),
        ("pip install -r requirements.txt", None, None),
    ],
)
def test_installs(line: str, torch: object, nccl: object) -> None:
    assert known(RUNTIME, line) == (torch, nccl, True)


def test_the_last_install_counts() -> None:
    assert known(RUNTIME, "pip install torch==2.1.0", "pip install torch==2.2.0")[0] == (2, 2, 0)


@pytest.mark.parametrize(("certainty", "fallback"), [("conditional", False), ("never-seen", False), ("always", True)])
def test_an_install_that_may_not_run_makes_it_unknown(certainty: str, fallback: bool) -> None:
    install = command("pip install torch==2.1.0", certainty, fallback=fallback)
    torch, nccl, uses = releases(Set(RUNTIME, HOME), Profile(), [install], home=HOME)
    assert isinstance(torch, Unknown)
    assert isinstance(nccl, Unknown)
    assert isinstance(uses, Set)


def test_a_visible_requirements_file() -> None:
    listed = WholeText(Source("requirements.txt", "# pins\nnumpy\ntorch==2.2.1  # with cuda\n-r more.txt\n"))

    def files(path: str) -> PlacedText | None:
        return listed if path == "requirements.txt" else None

    install = command("pip install -r requirements.txt")
    torch, nccl, _ = releases(Set("acme/train:1", HOME), Profile(), [install], home=HOME, files=files)
    assert isinstance(torch, Set)
    assert torch.value == (2, 2, 1)
    assert torch.origin.place.text == "torch==2.2.1"
    assert isinstance(nccl, Set)
    assert nccl.value == (2, 19, 3)


def test_images_of_which_nothing_is_known() -> None:
    assert known("acme/train:1") == (None, None, None)
    assert known("acme/train:1", "pip install torch==2.5.1") == ((2, 5, 1), (2, 21, 5), True)
    assert known("tensorflow/tensorflow:2.15.0-gpu") == (None, None, False)


def test_the_profile_wins() -> None:
    assert known("acme/train:1", profile=Profile(torch=(2, 3))) == ((2, 3), None, None)
    assert known(RUNTIME, profile=Profile(torch=(2, 1))) == ((2, 1), None, True)
    assert known(RUNTIME, profile=Profile(torch=(2, 3))) == ((2, 3, 1), (2, 20, 5), True)
    assert known(RUNTIME, profile=Profile(nccl=(2, 19)))[1] == (2, 19)


def test_reasons() -> None:
    absent = releases(Absent(HOME), Profile(), home=HOME)
    assert all(isinstance(setting, Unknown) and "node" in setting.reason for setting in absent)
    unseen = releases(Unknown("a Helm expression"), Profile(), home=HOME)
    assert all(isinstance(setting, Unknown) and "Helm" in setting.reason for setting in unseen)


def test_a_release_says_by_what_it_is_known() -> None:
    torch, _, _ = releases(Set("nvcr.io/nvidia/pytorch:24.05-py3", HOME), Profile(), home=HOME)
    assert isinstance(torch, Set)
    assert torch.value == (2, 4)
    assert torch.origin.via == "derived"
    assert "24.05" in torch.origin.note
    assert "pre-release" in torch.origin.note
