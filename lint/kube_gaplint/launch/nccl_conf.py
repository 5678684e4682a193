"""The files that NCCL takes settings from when it starts: the user's, then the system's.

`NCCL_CONF_FILE` names the user's file, `~/.nccl.conf` is it else; `/etc/nccl.conf` is the system's. What is set already
stays: the environment wins over both, the user's file over the system's (NCCL's src/misc/param.cc, setEnvFile).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.bundle.recipes import Recipe
from kube_gaplint.facts.variables import is_in_conf_files
from kube_gaplint.launch.shared import HOLE
from kube_gaplint.launch.shell_text import FixedText
from kube_gaplint.model.command import Command, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Container, Mount
from kube_gaplint.text.source import Files, PlacedText

_SYSTEM = "/etc/nccl.conf"
_USER = ".nccl.conf"
_NAMED = "NCCL_CONF_FILE"
_LINE = lazy_re.compile(r"^(?P<name>[A-Za-z_]\w*)=(?P<value>[^\r\n]*)", re.MULTILINE)
_MOST_LINES = 500


def with_conf_files(
    environment: Environment, container: Container, command: Command, scripts: Sequence[Script], files: Files
) -> Environment:
    """What a program's NCCL has set: its environment, and below it what the files say.

    `command` is what started the program, `scripts` are those that run where it runs, `files` those that it sees. A
    file that is there and not seen leaves the variables open that nothing else gives. What the nodes of a Slurm cluster
    hold nobody sees, and like the ENV of images it is left out of account.
    """
    named = environment.variables.get(_NAMED)
    found: dict[str, Setting[str]] = {}
    unseen = ""
    if isinstance(named, Unknown):
        unseen = f"{_NAMED} is not known"
    path = named.value if isinstance(named, Set) and named.value else _home_file(environment)
    for name in (path, _SYSTEM):
        texts, why = _contents(name, container, scripts, files)
        for text in texts:
            for variable, value in _lines(text):
                found.setdefault(variable, value)
        if not texts and (why or (isinstance(named, Set) and name == named.value)):
            unseen = unseen or why or f"{name} is not seen"
    if not unseen and any(_hands_in(word) for word in command.words):
        unseen = f"its container gets a file {posixpath.basename(_SYSTEM)}"
    changes = {name: value for name, value in found.items() if name not in environment}
    return replace(environment, conf_because=unseen).over(changes) if changes or unseen else environment


def _home_file(environment: Environment) -> str:
    home = environment.variables.get("HOME")
    return posixpath.join(home.value if isinstance(home, Set) and home.value else "/root", _USER)


def _contents(path: str, container: Container, scripts: Sequence[Script], files: Files) -> tuple[list[PlacedText], str]:
    """The texts that a file is made of; without any, why it may be there all the same."""
    written: list[PlacedText] = [
        heredoc.text
        for script in scripts
        for heredoc in script.heredocs
        if _is(path, heredoc.target_word, heredoc.target)
    ]
    by_script = bool(written)
    commands = container.commands if any("nccl.conf" in script.text.text for script in scripts) else ()
    for command in (*commands, *_of_image(container)):
        if command.writes is not None and _is(path, command.writes, ""):
            if by_script and command.script in scripts:
                continue
            if command.name == "echo" and all(word.known is not None for word in command.words):
                said = " ".join(word.shown for word in command.words[1:])
                written.append(FixedText(said, command.place))
            else:
                return [], f"{command.name or 'a command'} writes {path}"
        elif any(_WRITTEN_INSIDE.search(word.shown) for word in command.words[1:] if "nccl.conf" in word.shown):
            if not by_script:  # `srun bash -c 'printf … > /etc/nccl.conf'`, the same by ssh
                return [], f"{command.name} writes {_SYSTEM} or ~/{_USER}"
        elif command.name in _COPYING and command.words and _is(path, command.words[-1], ""):
            return [], f"{command.name} makes {path}"
    if written:
        return written, ""
    covers = [mount for mount in map(_folder, container.mounts) if mount and f"{path}/".startswith(f"{mount}/")]
    if not covers and posixpath.basename(path) in (posixpath.basename(_SYSTEM), _USER) and not _in_image(container):
        return [], ""  # nothing else is looked for: a ConfigMap that is not seen would be spoken of
    text = files(path)
    if text is not None:
        return [text], ""
    return [], f"{path} is mounted, and not seen" if path in covers else ""


def _folder(mount: Mount) -> str:
    return posixpath.normpath(mount.path.value) if isinstance(mount.path, Set) else ""


_WRITTEN_INSIDE = lazy_re.compile(r"(?:>|\btee\s+(?:-a\s+)?)\s*[\"']?(?:/etc/|\S*/\.)nccl\.conf")
_COPYING = frozenset({"cp", "mv", "ln", "install", "sed", "curl", "wget", "gsutil", "aws"})


def _is(path: str, word: Word | None, target: str) -> bool:
    """Whether a script's word names a file: a home folder may be written in any way."""
    if target and posixpath.normpath(target) == path:
        return True
    name = posixpath.basename(path)
    end = "" if word is None else word.known_end
    if name == _USER:
        return posixpath.basename(end) == name or posixpath.basename(target) == name
    return end == path


def _hands_in(word: Word) -> bool:
    """Whether a word puts one of the files into a container: `-v conf:/etc/nccl.conf`, `--container-mounts=…`."""
    text = word.shown
    return "nccl.conf" in text and _MOUNTED.search(text) is not None


_MOUNTED = lazy_re.compile(r"[:=](?:/etc|\S*/\.)?/?nccl\.conf(?:[,:]|\Z)")


def _of_image(container: Container) -> tuple[Command, ...]:
    """What the container's Dockerfile runs, where it lies in the repository and speaks of such a file."""
    recipe = _in_image(container)
    if recipe is None:
        return ()
    from kube_gaplint.launch.dockerfile import built

    image = built(recipe)
    return () if image is None else image.commands


def _in_image(container: Container) -> Recipe | None:
    """The container's Dockerfile, where it speaks of such a file."""
    recipes = container.exposed.get("recipes")
    if not callable(recipes) or not isinstance(container.image, Set):
        return None
    recipe: Recipe | None = recipes(container.image.value)
    return recipe if recipe is not None and "nccl.conf" in recipe.text.text else None


def _lines(text: PlacedText) -> Iterator[tuple[str, Setting[str]]]:
    for number, line in enumerate(_LINE.finditer(text.text)):
        if number >= _MOST_LINES:
            return
        if not is_in_conf_files(line["name"]):
            continue
        origin, value = Origin(text.place(*line.span())), line["value"]
        if HOLE in value or "$" in value or "{{" in value:
            yield line["name"], Unknown("its file is filled in by a script", origin)
        else:
            yield line["name"], Set(value, origin)
