"""ConfigMaps that people make by a command: `kubectl create configmap code --from-file=train.py` in a README or a
script beside the manifest that mounts it."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.discover import FileId

_COMMAND = lazy_re.compile(
    r"\b(?:kubectl|oc)[ \t]+(?:-\S+[ \t]+(?:[\w-]+[ \t]+)?){0,4}create[ \t]+(?:configmap|cm)[ \t]+"
    r"((?:[^\n\\;|&]|\\(?:\r?\n|.)){1,2000})"
)
_WORD = lazy_re.compile(r"[^\s'\"`\\]+")
_FROM_FILE = "--from-file"
_NO_PATH = frozenset("$<{*~")
"""What makes a path one that only a shell or a person completes."""


class ConfigMapCommands(Struct):
    """Finds the files of ConfigMaps that commands make."""

    beside: BesideFiles

    def files_of(self, name: str, file: FileId) -> dict[str, str]:
        """The keys of the ConfigMap and the paths of their files, by the nearest commands around `file`; empty where
        there are none, or where they do not agree."""
        found: dict[str, str] = {}
        nearest = 0
        for level, text in self.beside.around(file):
            if nearest and level > nearest:
                break
            for command in _COMMAND.finditer(text.text):
                words = _WORD.findall(command[1])
                if name not in words:
                    continue
                nearest = level
                for key, path in _given(words):
                    if found.setdefault(key, path) != path:
                        return {}
        return found


def _given(words: list[str]) -> list[tuple[str, str]]:
    given = []
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option != _FROM_FILE:
            continue
        value = value if equals else words[at + 1] if at + 1 < len(words) else ""
        key, named, path = value.partition("=")
        path = (path if named else value).removeprefix("./")
        key = key if named else path.rpartition("/")[2]
        if key and path and _NO_PATH.isdisjoint(path):
            given.append((key, path))
    return given
