"""A program's script and the modules of its own repository that it imports, directly or through one another.

Only lines of imports are read here, so that hundreds of modules cost little. A module is looked for beside the script
that starts the program, in the working directory, and in `src/`.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from kube_gaplint import lazy_re
from kube_gaplint.facts.frameworks import KNOWN_PACKAGES
from kube_gaplint.launch.launchers import Peeled
from kube_gaplint.launch.shared import module_files
from kube_gaplint.model.setting import Set
from kube_gaplint.text.source import Files, PlacedText

MOST_MODULES = 200
MOST_TEXT = 4_000_000
"""Characters in all; a program with more of either is not seen as a whole."""

_IMPORT = lazy_re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]*(?P<names>\([^()]{0,5000}\)|[^\n#;]{0,500})"
    r"|import[ \t]+(?P<plain>[^\n#;]{1,500}))"
    r"|\b(?:import_module|__import__)\([ \t]*[\"'](?P<named>[\w.]+)",
    re.MULTILINE,
)
_DYNAMIC = lazy_re.compile(
    r"\b(?:import_module|__import__)\([ \t]*(?![ \t\"'])"
    r"|\brunpy\b|\bsys\.executable\b"
    r"|(?:\bsubprocess\.\w+|\bos\.(?:system|exec\w+|spawn\w+))\("
    r"[^()]{0,200}(?:python|torchrun|accelerate|deepspeed|\.py\b)"
)
"""What loads a module by a name that is made at run time, or starts another program."""
_MADE = lazy_re.compile(r"\b(?:instantiate|get_class|get_method|get_object)\(")
"""What makes an object by a name that Hydra's configuration holds."""
_GOT = lazy_re.compile(r"\bget_(?:class|method|object)\(")
_NAME = lazy_re.compile(r"(?:^|,)[ \t\r\n(]*([\w.]+)")


class OwnModules:
    """The texts of a program, each read once. `open_because` says, after all of them, why they are not the whole.

    `beside_all`: the script stands where the rest of its repository does, so that what is not found there is a package
    of somebody else's.
    """

    def __init__(self, peeled: Peeled, files: Files, *, beside_all: bool) -> None:
        self.peeled = peeled
        self.files = files
        self.beside_all = beside_all
        self.roots: tuple[str, ...] = ()
        self.open_because = ""
        self._seen: set[str] = set()
        self._strangers: set[str] = set()
        self._objects: frozenset[str] | None = None
        """What Hydra makes by the configuration, once it was looked for."""
        self._gets_by_name = False

    def texts(self) -> Iterator[str]:
        path, text = start_text(self.peeled, self.files)
        if text is None:
            self.open_because = f"the text of {self.peeled.name or 'the program'} is not visible"
            return
        self.roots = tuple(dict.fromkeys((posixpath.dirname(path), "", "src")))
        self._seen.add(posixpath.normpath(path))
        waiting = [(path, text.text)]
        size = 0
        makes = ""
        for count in range(MOST_MODULES + 1):
            if not waiting and makes:
                waiting.extend(self._made(path, text.text, makes))
                makes = ""
            if not waiting:
                return
            here, content = waiting.pop(0)
            size += len(content)
            if count == MOST_MODULES or size > MOST_TEXT:
                break
            if not self.open_because and lazy_re.found_in(content, _DYNAMIC):
                self.open_because = f"{here or 'it'} loads modules by name or starts other programs"
            self._gets_by_name = self._gets_by_name or lazy_re.found_in(content, _GOT)
            if self._objects is None and lazy_re.found_in(content, _MADE):
                makes = makes or here or "it"
            yield content
            for module, names in _imports(content):
                waiting.extend(self._modules(here, module, names))
        self.open_because = "it has more modules than are read"

    def _made(self, path: str, script: str, makes: str) -> Iterator[tuple[str, str]]:
        """The modules of what Hydra makes for the program."""
        from kube_gaplint.launch.hydra_main import objects

        known = objects(script, path, self.peeled.words, self.peeled.origin, self.files)
        self._objects = known or frozenset()
        # A configuration of which all is seen and that names none leaves modules that the script may not use nothing
        # to make; a script that makes something takes it from elsewhere.
        if known is None or (not known and (self._gets_by_name or makes == path)):
            self.open_because = self.open_because or f"{makes} makes objects that only the run names"
        for name in sorted(self._objects):
            module, _, own = name.rpartition(".")
            yield from self._modules("", module, (own,))

    def _modules(self, here: str, module: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or module in self._strangers:
            return
        if top in KNOWN_PACKAGES and top in self._strangers:
            return  # another one may be a folder without a module of its own, of which a part is found
        base, roots = module.replace(".", "/"), self.roots
        if not top:
            level = len(module) - len(module.lstrip("."))
            folder = posixpath.dirname(here)
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            base, roots = module[level:].replace(".", "/"), (folder,)
        found = False
        for root in roots:
            start = posixpath.join(root, base) if base else root
            beside = [posixpath.join(start, name) for name in names]
            for stem in (start, *beside):
                for path in (f"{stem}.py", f"{stem}/__init__.py") if stem else ():
                    known = posixpath.normpath(path) in self._seen
                    text = None if known else self.files(path)
                    found = found or known or text is not None
                    if text is not None:
                        self._seen.add(posixpath.normpath(path))
                        yield path, text.text
            if found:
                return
        if top:
            self._strangers.add(top if top in KNOWN_PACKAGES else module)
        if not self.open_because and not (top and self.beside_all) and top not in KNOWN_PACKAGES:
            self.open_because = f"it imports {module}, which is not visible"


def start_text(peeled: Peeled, files: Files) -> tuple[str, PlacedText | None]:
    """The path and the text of what a program starts with; None for a text that is not seen."""
    if peeled.form == "inline":
        return "", peeled.command.stdin.text if peeled.command.stdin is not None else None
    if peeled.form == "script":
        return _script(peeled, files)
    if peeled.form == "module":
        for path in module_files(peeled.program):
            text = files(path)
            if text is not None:
                return path, text
    return "", None


def _script(peeled: Peeled, files: Files) -> tuple[str, PlacedText | None]:
    """A script by its path, and one on another machine's disk by the longest end of it that is found here."""
    parts = peeled.program.removeprefix("…").strip("/").split("/")
    folders = [one.options.get("working-dir") for one in peeled.launchers if one.kind == "ray"]
    below = [posixpath.join(one.value, peeled.program) for one in folders if isinstance(one, Set)]
    for path in dict.fromkeys((peeled.program, *below, *("/".join(parts[at:]) for at in range(len(parts))))):
        text = files(path)
        if text is not None:
            return path, text
    return "", None


@lru_cache(maxsize=2048)  # the programs of a repository import the same modules
def _imports(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each imported module with the names that are taken from it."""
    return tuple(_imported(text))


def _imported(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for found in _IMPORT.finditer(text):
        if found["module"]:
            yield found["module"], tuple(_NAME.findall(found["names"]))
            continue
        for name in _NAME.findall(found["plain"] or found["named"]):
            yield name, ()
