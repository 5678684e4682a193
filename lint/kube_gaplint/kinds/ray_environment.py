"""Ray's runtime environment, as a RayJob gives it: what Ray installs on every node before the job's program starts.

Source: Ray, "Environment Dependencies" (`pip`, `uv`, `conda`, `working_dir`, `py_modules`), and
`python/ray/_private/runtime_env`: a list under `pip` becomes the lines of a requirements file.
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Unknown
from kube_gaplint.model.start import RuntimeEnvironment
from kube_gaplint.text.nodes import Mapping, Scalar, Sequence
from kube_gaplint.text.templates import placeholder

_PIP = (("pip", ("pip", "install")), ("uv", ("uv", "pip", "install")))


def read_runtime_environment(root: Part, environment: Environment) -> RuntimeEnvironment:
    """What Ray runs and fetches for a runtime environment; `environment` holds the variables of its nodes."""
    commands = []
    for key, program in _PIP:
        given = root.at(key)
        words = tuple(_requirements(given))
        if words:
            start = tuple(Word((text,), given.place) for text in program)
            commands.append(Command((*start, *words), environment, words[0].place))
    conda = root.at("conda")
    if _is_made(conda):
        words = tuple(Word((text,), conda.place) for text in ("conda", "env", "create"))
        commands.append(Command(words, environment, conda.place))
    return RuntimeEnvironment(tuple(commands), tuple(_archives(root)), environment)


def _requirements(given: Part) -> Iterator[Word]:
    """The words that pip is handed: packages and options of a list, those of a mapping, or a file of them."""
    if isinstance(given.node, Scalar) and (given.text() or ""):
        yield Word(("-r",), given.place)
        yield _word(given)
    elif isinstance(given.node, Mapping):
        for key in ("pip_install_options", "uv_pip_install_options"):
            for option in given.at(key).items():
                yield from _words(option)
        packages = given.at("packages")
        if packages.present:
            yield from _requirements(packages)
    elif isinstance(given.node, Sequence):
        for line in given.items():
            yield from _words(line)


def _words(line: Part) -> Iterator[Word]:
    """The words of one line of a requirements file."""
    if not isinstance(line.node, Scalar):
        yield Word((Unknown("it is no text", line.origin),), line.place, multiple=True)
        return
    text = line.node.text.partition(" #")[0].partition(";")[0].strip()
    for word in text.split() if text.startswith("-") else [text.replace(" ", "")]:
        why = placeholder(word)
        yield Word((Unknown(why, line.origin),) if why else (word,), line.place)


def _word(part: Part) -> Word:
    assert isinstance(part.node, Scalar)
    return Word((part.node.text,), part.place)


def _is_made(conda: Part) -> bool:
    """Whether an environment is made: by a file or its contents. A name is that of one that is there."""
    if isinstance(conda.node, Scalar):
        return conda.node.text.endswith((".yml", ".yaml"))
    return isinstance(conda.node, Mapping)


def _archives(root: Part) -> Iterator[Word]:
    """The addresses from which code is fetched."""
    for part in (root.at("working_dir"), *root.at("py_modules").items()):
        if isinstance(part.node, Scalar) and "://" in part.node.text and not placeholder(part.node.text):
            yield _word(part)
