"""Configuration files of launchers and frameworks as flat keys: `trainer.max_steps`, `checkpoint.interval`.

YAML, JSON, TOML and the ConfigDicts of Python are read, from ConfigMaps, from the repository and from here-documents
that a script writes. Every value keeps its place in the file. A file that cannot be read whole says why, so that a
missing key is unknown, not absent.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.launch.shared import HOLE
from kube_gaplint.model.command import Heredoc, Script
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.text.compose import Limits, compose
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence
from kube_gaplint.text.source import Files, PlacedText, Source
from kube_gaplint.text.templates import placeholder

_LIMITS = Limits(depth=40, nodes=20_000, expansion=20_000)
_REFERENCE = lazy_re.compile(r"\$\{([\w.-]+)\}")
_SHELL_VARIABLE = lazy_re.compile(r"(?<!\\)\$(?:\{|\(|[A-Za-z_])")
_MAX_DEPTH = _LIMITS.depth


class Config(Struct, frozen=True):
    """The keys of one file. Names are normal as option names are: `-` stands for `_`."""

    path: str
    home: Origin
    values: dict[str, Setting[str]] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    """Each normal name as the file writes it."""
    open_because: str = ""
    """Why more keys may be in force than are seen."""
    raw: dict[str, Set[str]] = field(default_factory=dict)
    """The values that refer to other keys, before those were looked up."""

    def overridden(self, options: Options) -> Config:
        """What holds where options of the command line set keys that values of the file refer to: references are
        looked up last of all."""
        changed = {
            name: _overridden(value, options)
            for name, value in self.raw.items()
            if any(options.find(key) is not None for key in _REFERENCE.findall(value.value))
        }
        return replace(self, values={**self.values, **changed}) if changed else self

    def get(self, *names: str) -> Setting[str]:
        """The value of the first of these keys that is there. A null is absent."""
        for name in names:
            found = self.values.get(Options.normal(name))
            if found is not None and not isinstance(found, Absent):
                return found
        if self.open_because:
            return Unknown(self.open_because, self.home)
        return Absent(self.home)

    def under(self, prefix: str) -> Iterator[tuple[str, Setting[str]]]:
        """All keys below a prefix, without it."""
        start = Options.normal(prefix) + "."
        return ((name[len(start) :], value) for name, value in self.values.items() if name.startswith(start))


def read_config(text: PlacedText, path: str, *, expanded: bool = False) -> Config:
    """Read one file by its name's ending; YAML where that says nothing.

    `expanded`: the text is a here-document in which the shell replaces variables.
    """
    home = Origin(text.place(0, len(text.text)))
    config = Config(path, home)
    lower = path.lower()
    if lower.endswith(".py") and (problem := _read_python(text, config)) is not None:
        return Config(path, home, config.values, config.written, problem)
    if lower.endswith((".py", ".sh", ".ini", ".cfg", ".conf", ".txt")):
        return Config(path, home, open_because=f"{path} is not read")
    problem = _read_toml(text, config, expanded) if lower.endswith(".toml") else _read_yaml(text, config, expanded)
    _resolve_references(config)
    if not problem and any(name == "defaults" or name.startswith("defaults.") for name in config.values):
        problem = f"{path} takes in other files by its defaults list"
    return Config(path, home, config.values, config.written, problem, config.raw)


def _overridden(value: Set[str], options: Options) -> Setting[str]:
    """A value of which references are set by options: known where it is one reference to a known one."""
    whole = _REFERENCE.fullmatch(value.value)
    given = options.find(whole[1]) if whole is not None else None
    if given is not None and not given.bare:
        return given.value
    return Unknown("an option sets what it refers to", value.origin)


def written_files(scripts: Iterable[Script], files: Files) -> Files:
    """`files`, and what the scripts write themselves by `cat > path <<EOF`."""
    found: dict[str, Heredoc] = {}
    for script in scripts:
        for heredoc in script.heredocs:
            if heredoc.target:
                found[posixpath.normpath(heredoc.target)] = heredoc
    if not found:
        return files

    def look_up(path: str) -> PlacedText | None:
        heredoc = _matching(found, path)
        return files(path) if heredoc is None else ExpandedText(heredoc.text, heredoc.expanded)

    return look_up


def _matching(found: dict[str, Heredoc], path: str) -> Heredoc | None:
    normal = posixpath.normpath(path)
    exact = found.get(normal)
    if exact is not None:
        return exact
    # A relative path and the folder that the script has changed into: the same file if only one ends like it.
    near = [
        heredoc
        for target, heredoc in found.items()
        if (not posixpath.isabs(normal) or not posixpath.isabs(target))
        and (target.endswith("/" + normal) or normal.endswith("/" + target))
    ]
    return near[0] if len(near) == 1 else None


class ExpandedText(Struct, frozen=True):
    """A here-document's text that remembers whether the shell replaces variables in it."""

    inner: PlacedText
    expanded: bool

    @property
    def text(self) -> str:
        return self.inner.text

    def place(self, start: int, end: int):  # type: ignore[no-untyped-def]
        return self.inner.place(start, end)


# -- YAML and JSON ---------------------------------------------------------------------------------------------------


def _read_yaml(text: PlacedText, config: Config, expanded: bool) -> str:
    composed = compose(Source(config.path, text.text), _LIMITS)
    if any(problem.kind not in ("duplicate-key", "repeated-key") for problem in composed.problems):
        return f"{config.path} cannot be read"
    roots = [document.root for document in composed.documents if document.root is not None]
    if not roots:
        return ""
    root = roots[0]
    if not isinstance(root, Mapping):
        return f"{config.path} holds no mapping"
    waiting: list[tuple[str, Node, int]] = [("", root, 0)]
    problem = ""
    while waiting:
        name, node, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            problem = f"{config.path} is nested too deeply"
            continue
        prefix = f"{name}." if name else ""
        if isinstance(node, Mapping):
            waiting.extend((prefix + entry.name, entry.value, depth + 1) for entry in node if entry.name)
        elif isinstance(node, Sequence):
            waiting.extend((f"{prefix}{index}", child, depth + 1) for index, child in enumerate(node))
            if len(node) and all(isinstance(child, Scalar) for child in node):
                joined = ",".join(child.text for child in node if isinstance(child, Scalar))
                _put(config, name, Set(joined, _origin(text, node)))
        elif isinstance(node, Scalar):
            _put(config, name, _scalar(text, node, expanded))
    return problem


def _origin(text: PlacedText, node: Node) -> Origin:
    return Origin(text.place(node.span.start, node.span.end))


def _scalar(text: PlacedText, node: Scalar, expanded: bool) -> Setting[str]:
    origin = _origin(text, node)
    if node.value is None and node.style == "plain":
        return Absent(origin)
    return _text_value(node.text, origin, expanded)


def _text_value(value: str, origin: Origin, expanded: bool) -> Setting[str]:
    if HOLE in value:
        return Unknown("a variable of unknown content", origin, value.split(HOLE, 1)[0])
    if expanded:
        match = _SHELL_VARIABLE.search(value)
        if match is not None:
            return Unknown("a shell variable in a here-document", origin, value[: match.start()])
    return Set(value, origin)


def _put(config: Config, name: str, value: Setting[str]) -> None:
    if name:
        normal = Options.normal(name)
        config.values[normal] = value
        config.written[normal] = name


def _resolve_references(config: Config) -> None:
    """OmegaConf's `${other.key}`: the other key's value where it is plain, else unknown."""
    for name, setting in list(config.values.items()):
        if not isinstance(setting, Set):
            continue
        text = setting.value
        if "${" in text:
            config.raw[name] = setting
        for _ in range(4):
            match = _REFERENCE.search(text)
            if match is None:
                break
            target = config.values.get(Options.normal(match[1]))
            if not isinstance(target, Set) or len(target.value) > 4096 or len(text) > 8192:
                break
            text = text[: match.start()] + target.value + text[match.end() :]
        reason = placeholder(text) if "$" in text or "{{" in text else ""
        if reason:
            config.values[name] = Unknown(reason, setting.origin, re.split(r"\$|\{\{", text, maxsplit=1)[0])
        elif text != setting.value:
            config.values[name] = Set(text, setting.origin)


# -- Python ----------------------------------------------------------------------------------------------------------


def _read_python(text: PlacedText, config: Config) -> str | None:
    """Why more keys may be in force than are seen; None for a text that is no such configuration."""
    from kube_gaplint.launch.python_configs import makes_config, python_values

    if not makes_config(text.text):
        return None
    values = python_values(text)
    if values is None:
        return f"{config.path} works values out"
    for name, value in values:
        _put(config, name, value)
    return ""


# -- TOML ------------------------------------------------------------------------------------------------------------

_TABLE = lazy_re.compile(r"^[ \t]*\[\[?\s*([^\[\]\n]+?)\s*\]\]?[ \t]*(?:#.*)?$")
_KEY = lazy_re.compile(r"^[ \t]*([A-Za-z0-9_.\"' -]+?)[ \t]*=[ \t]*")


def _read_toml(text: PlacedText, config: Config, expanded: bool) -> str:
    import tomllib

    try:
        data = tomllib.loads(text.text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return f"{config.path} cannot be read"
    places = _toml_places(text)
    waiting: list[tuple[str, object, int]] = [("", data, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            return f"{config.path} is nested too deeply"
        prefix = f"{name}." if name else ""
        if isinstance(value, dict):
            waiting.extend((f"{prefix}{key}", child, depth + 1) for key, child in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{prefix}{index}", child, depth + 1) for index, child in enumerate(value))
        else:
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            _put(config, name, _text_value(shown, places.get(name, config.home), expanded))
    return ""


def _toml_places(text: PlacedText) -> dict[str, Origin]:
    """Where each `key = value` stands. A line inside a multi-line string may be taken for one: its name is then none
    of the parsed keys, or the later, true one wins."""
    found: dict[str, Origin] = {}
    table = ""
    start = 0
    for line in text.text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        header = _TABLE.match(body)
        key = None if header else _KEY.match(body)
        if header is not None:
            table = _toml_name(header[1]) + "."
        elif key is not None:
            name = table + _toml_name(key[1])
            begin = start + len(body) - len(body.lstrip())
            found.setdefault(name, Origin(text.place(begin, start + len(body.rstrip()))))
        start += len(line)
    return found


def _toml_name(text: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in text.split("."))
