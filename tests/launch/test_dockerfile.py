"""What a Dockerfile tells of its image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.launch.dockerfile import read_dockerfile
from kube_gaplint.model.setting import Set, Unknown
from kube_gaplint.text.source import PlacedText, Source, WholeText


def text(content: str, name: str = "Dockerfile") -> WholeText:
    return WholeText(Source(name, content))


def nothing(_path: str) -> PlacedText | None:
    return None


def base_of(content: str) -> str | None:
    built = read_dockerfile(text(content), nothing)
    assert built is not None
    return built.base.value if isinstance(built.base, Set) else None


@pytest.mark.parametrize(
    ("content", "base"),
    [
        ("FROM pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime\n", "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime"),
        ("# syntax=docker/dockerfile:1\n\nfrom a:1 as b\n", "a:1"),
        ("ARG TAG=24.05-py3\nFROM nvcr.io/nvidia/pytorch:${TAG}\n", "nvcr.io/nvidia/pytorch:24.05-py3"),
        ('ARG TAG="24.05-py3"\nFROM nvcr.io/nvidia/pytorch:$TAG\n', "nvcr.io/nvidia/pytorch:24.05-py3"),
        ("FROM a:${TAG:-7}\n", "a:7"),
        ("FROM --platform=linux/amd64 a:1 AS base\nRUN true\nFROM base\n", "a:1"),
        ("FROM a:1 AS base\nFROM b:1 AS tools\nFROM base AS final\n", "a:1"),
        ("FROM \\\n  # the newest one that we tried\n  a:1\n", "a:1"),
        ("ARG TAG\nFROM a:${TAG}\n", None),
        ("FROM a:1\r\nRUN true\r\n", "a:1"),
    ],
)
def test_base(content: str, base: str | None) -> None:
    assert base_of(content) == base


def test_a_build_argument_without_a_default_is_named() -> None:
    built = read_dockerfile(text("ARG TAG\nFROM a:${TAG}\n"), nothing)
    assert built is not None
    assert isinstance(built.base, Unknown)
    assert "TAG" in built.base.reason


def test_a_text_without_a_stage_is_no_recipe() -> None:
    assert read_dockerfile(text("# empty\nARG X=1\nRUN true\n"), nothing) is None


def test_commands_of_the_last_stage_and_those_below_it() -> None:
    built = read_dockerfile(
        text(
            "FROM a:1 AS base\n"
            "RUN --mount=type=cache,target=/root/.cache pip install \\\n"
            "    # the trainer's own\n"
            "    torch==2.4.0 numpy && echo done\n"
            "FROM b:1 AS tools\n"
            "RUN pip install torch==1.9\n"
            "FROM base\n"
            'RUN ["true"]\n'
            "RUN make install\n"
        ),
        nothing,
    )
    assert built is not None
    assert [[word.known for word in command.words] for command in built.commands] == [
        ["pip", "install", "torch==2.4.0", "numpy"],
        ["echo", "done"],
        ["make", "install"],
    ]


def test_files_are_those_that_were_copied_in() -> None:
    asked: list[str] = []

    def beside(path: str) -> PlacedText | None:
        asked.append(path)
        return text("torch==2.2.0\n", path)

    built = read_dockerfile(
        text("FROM a:1\nCOPY src/ /app/\nCOPY requirements.txt .\nCOPY --from=tools /x /y\n"), beside
    )
    assert built is not None
    assert built.files("requirements.txt") is not None
    assert built.files("/app/extra/list.txt") is not None
    assert built.files("/y") is None
    assert asked == ["requirements.txt", "src/extra/list.txt"]


@given(st.text(alphabet="FROMRUNARGas $}{:-\\\n#\"'x1", max_size=300))
def test_any_text_is_read(content: str) -> None:
    read_dockerfile(text("FROM a\n" + content), nothing)


def test_files_of_a_container_are_those_that_were_copied_to_where_it_looks() -> None:
    context = {"train.py": "t", "jobs/run.sh": "r", "conf/big.toml": "c", "tools/a.py": "a"}

    def beside(path: str) -> PlacedText | None:
        name = path.removeprefix("./")
        return text(context[name], name) if name in context else None

    built = read_dockerfile(
        text(
            "FROM a:1 AS base\nWORKDIR /opt\nWORKDIR work\nENV MODE=fast LEVEL=$BASE_LEVEL\n"
            'FROM base\nCOPY train.py .\nCOPY conf conf/\nCOPY jobs/*.sh /usr/local/bin/\nCOPY ["tools", "/tools"]\n'
        ),
        beside,
    )
    assert built is not None
    assert [
        (found := built.holds(path)) and found.text
        for path in (
            "train.py",
            "/opt/work/train.py",
            "conf/big.toml",
            "/usr/local/bin/run.sh",
            "/tools/a.py",
            "/train.py",
        )
    ] == ["t", "t", "c", "r", "a", None]
    mode, level = built.variables["MODE"], built.variables["LEVEL"]
    assert isinstance(mode, Set)
    assert mode.value == "fast"
    assert isinstance(level, Unknown), "the base image may set what it is made of"


@pytest.mark.parametrize(
    ("content", "folder"),
    [
        ("FROM a:1\nWORKDIR /code\nWORKDIR src\n", "/code/src"),
        ("FROM a:1 AS base\nWORKDIR /code\nFROM base\nRUN true\n", "/code"),
        ("ARG HOME=/opt\nFROM a:1\nWORKDIR ${HOME}/code\n", "/opt/code"),
        ("FROM a:1\nRUN true\n", ""),
        ("FROM a:1\nWORKDIR src\n", ""),
        ("ARG HOME\nFROM a:1\nWORKDIR ${HOME}/code\n", ""),
    ],
)
def test_where_a_container_starts(content: str, folder: str) -> None:
    built = read_dockerfile(text(content), nothing)
    assert built is not None
    assert built.folder == folder


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('FROM a:1\nENTRYPOINT ["torchrun", "--nproc-per-node=2", "t.py"]\n', "torchrun --nproc-per-node=2 t.py | "),
        ('FROM a:1\nENTRYPOINT ["python"]\nCMD ["t.py"]\n', "python | t.py"),
        ('FROM a:1 AS b\nENTRYPOINT ["python"]\nCMD ["t.py"]\nFROM b\nCMD ["u.py"]\n', "python | u.py"),
        ('FROM a:1 AS b\nCMD ["t.py"]\nFROM b\nENTRYPOINT ["python"]\n', "python | "),
        ('FROM a:1 AS b\nENTRYPOINT ["python"]\nFROM c:1\nCMD ["t.py"]\n', " | t.py"),
        ("FROM a:1\nENTRYPOINT torchrun t.py\nCMD [1]\n", " | "),
    ],
)
def test_what_the_image_starts(content: str, words: str) -> None:
    built = read_dockerfile(text(content), nothing)
    assert built is not None
    assert f"{' '.join(built.entry)} | {' '.join(built.arguments)}" == words
