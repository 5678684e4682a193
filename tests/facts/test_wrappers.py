"""Every wrapper row: its own words end where the program begins."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.shell_names import given_because, sourced_harmless
from kube_gaplint.facts.wrappers import SHELLS, WRAPPERS, Wrapper
from kube_gaplint.launch.shell_calls import invocation, peel_words
from kube_gaplint.model.command import Word
from kube_gaplint.text.source import Place, Source, Span


def words(*texts: str) -> tuple[Word, ...]:
    place = Place(Source("x", ""), Span(0, 0))
    return tuple(Word((text,), place) for text in texts)


@pytest.mark.parametrize("row", WRAPPERS, ids=lambda row: " ".join((row.names[0], *row.subcommand)))
def test_rows(row: Wrapper) -> None:
    for name in row.names:
        own = [f"/usr/bin/{name}", *row.subcommand]
        for option in row.values:
            own += [option, "value"]
        own += ["--flag", "--valued=x"]
        if row.assignments:
            own.append("NAME=value")
        own += ["own"] * row.positionals
        peeled = peel_words(words(*own, "program", "-c", "--flag"))
        assert [word.known for word in peeled.words] == ["program", "-c", "--flag"]
        assert peeled.wrappers == (name,)
        assert bool(peeled.changes) is row.assignments or "--unset" in row.values
        assert peeled.opens == row.opens


@pytest.mark.parametrize("row", [row for row in WRAPPERS if row.refuses], ids=lambda row: row.names[0])
def test_options_with_which_nothing_runs(row: Wrapper) -> None:
    for option in row.refuses:
        assert peel_words(words(row.names[0], option, "program")).wrappers == ()


def test_names_are_unique_up_to_their_subcommands() -> None:
    seen = [(name, row.subcommand) for row in WRAPPERS for name in row.names]
    assert len(seen) == len(set(seen))
    assert not {name for name, _ in seen} & SHELLS


def test_a_program_is_no_wrapper() -> None:
    assert peel_words(words("python", "env", "x")).wrappers == ()
    assert peel_words(words("env")).wrappers == ()
    assert peel_words(words("timeout", "5")).wrappers == ()
    assert invocation(words("python", "-c", "x")) is None


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("SLURM_PROCID", True),
        ("RANK", True),
        ("HOSTNAME", True),
        ("CUDA_VISIBLE_DEVICES", True),
        ("TRAINER_SERVICE_HOST", True),
        ("CUDA_DEVICE_MAX_CONNECTIONS", False),
        ("SAVE_INTERVAL", False),
        ("NCCL_DEBUG", False),
        ("DATA", False),
    ],
)
def test_names_that_are_given(name: str, given: bool) -> None:
    assert bool(given_because(name)) is given


@pytest.mark.parametrize(
    ("path", "harmless"),
    [
        ("/venv/bin/activate", True),
        ("activate", True),
        ("/opt/conda/etc/profile.d/conda.sh", True),
        ("/etc/profile.d/modules.sh", True),
        ("/etc/profile.d/nccl.sh", False),
        ("env.sh", False),
        ("/opt/activate.sh", False),
    ],
)
def test_files_that_are_sourced_everywhere(path: str, harmless: bool) -> None:
    assert sourced_harmless(path) is harmless
