"""User data and bootstrap files of nodes, read for what upgrades them and what keeps them from being upgraded.

Everything is parsed: cloud-config as YAML, MIME archives by their parts, apt.conf line by line, shell by the shell
reader. A `Setup` collects what it sees in the order in which it takes effect; `actions` then tells what is in force,
so that an upgrade that is switched on in one file and off in a later one is off.

Source rows: k8s.md D "CAPI", "Ubuntu", "Flatcar", "Bottlerocket".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.facts import packages
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.inner import Fixed, InnerYaml, Slice, decoded, inner_yaml, lines, stripped
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.nodes import UpgradeAction, UpgradeKind
from kube_gaplint.model.setting import Link, Origin, Set, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import PlacedText

_DEEPEST = 4
_NODE_ENVIRONMENT = "the environment of a node is not seen"
_APT_TOKEN = lazy_re.compile(
    r"""\s*(?:
        (?P<open>[A-Za-z][\w:-]*)\s*\{
      | (?P<close>\}\s*;?)
      | (?P<key>[A-Za-z][\w:-]*)\s+(?P<value>"[^"]*"|[^";{}]+)\s*;
      | "(?P<item>[^"]*)"\s*;?
      | [^\s{}";]+
      | ;
    )""",
    re.VERBOSE,
)
_ASSIGNMENT = lazy_re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*$")
_SUBSTITUTION = lazy_re.compile(r"(?:/[^/]*/|\d+)?s([^\w\s\\])((?:(?!\1).)*)\1((?:(?!\1).)*)\1")
_UNATTENDED = "apt::periodic::unattended-upgrade"
_PERIODIC = "apt::periodic::enable"
_BLACKLIST = "unattended-upgrade::package-blacklist"
_CRON = lazy_re.compile(r"\s*(?:@\w+|(?:\S+\s+){5})(?:[\w.-]+\s+)?(.*)")


class _Switch(Struct, frozen=True):
    """A mechanism switched on or off. `firm`: it takes the whole mechanism away (a mask, a removed package)."""

    topic: str
    on: bool
    action: UpgradeAction
    firm: bool = False


class _AptValue(Struct, frozen=True):
    file: str
    key: str
    value: str
    action: UpgradeAction


class Setup(Struct):
    """What is known of a node's set-up. `opaque_because`: part of it is not seen."""

    opaque_because: str = ""
    files: dict[str, PlacedText] = field(default_factory=dict)
    """Files that were written, so that commands which run them can be followed."""
    flatcar: bool = False
    _plain: list[UpgradeAction] = field(default_factory=list)
    _switches: list[_Switch] = field(default_factory=list)
    _apt: list[_AptValue] = field(default_factory=list)

    def close(self, reason: str) -> None:
        """Something that cannot be seen may change anything."""
        self.opaque_because = self.opaque_because or reason

    def add(self, kind: UpgradeKind, what: str, origin: Origin, *, recurring: bool = False) -> None:
        self._plain.append(UpgradeAction(kind, what, origin, recurring=recurring))

    def add_action(self, action: UpgradeAction) -> None:
        self._plain.append(action)

    def switch(self, topic: str, on: bool, what: str, origin: Origin, *, firm: bool = False) -> None:
        kind: UpgradeKind = "unattended-off"
        if on:
            kind = "os-update-agent" if topic in packages.REBOOTING_AGENTS else "unattended-on"
        self._switches.append(_Switch(topic, on, UpgradeAction(kind, what, origin, recurring=on), firm))

    def apt_value(self, file: str, key: str, value: str, what: str, origin: Origin) -> None:
        on = value.strip() not in ("0", "", "never", "false")
        kind: UpgradeKind = "unattended-on" if on else "unattended-off"
        self._apt.append(_AptValue(file, key, value, UpgradeAction(kind, what, origin, recurring=on)))

    def forget_file(self, path: str) -> None:
        """A file is overwritten or removed: its earlier settings are gone."""
        name = path.rpartition("/")[2]
        self._apt = [value for value in self._apt if value.file != name]

    def actions(self) -> tuple[UpgradeAction, ...]:
        """What is in force in the end, in the order in which it is written."""
        out = [*self._plain]
        topics = dict.fromkeys(switch.topic for switch in self._switches)
        if self._apt:
            topics.setdefault("apt")
        for topic in topics:
            out.extend(self._resolve(topic))
        once = {(action.kind, action.what, action.origin.place.span): action for action in out}
        return tuple(
            sorted(once.values(), key=lambda action: (action.origin.place.source.path, action.origin.place.span))
        )

    def _resolve(self, topic: str) -> list[UpgradeAction]:
        """One mechanism: off where its end state is off, else everything that switches it on."""
        on: list[UpgradeAction] = []
        off: list[UpgradeAction] = []
        for switch in self._switches:
            if switch.topic != topic:
                continue
            if switch.on:
                if switch.firm:
                    off = []
                on.append(switch.action)
            else:
                off.append(switch.action)
        if topic == "apt":
            periodic, unattended = self._effective(_PERIODIC), self._effective(_UNATTENDED)
            if periodic is not None and periodic.action.kind == "unattended-off":
                off.append(periodic.action)
            if unattended is not None:
                (off if unattended.action.kind == "unattended-off" else on).append(unattended.action)
        return off or on

    def _effective(self, key: str) -> _AptValue | None:
        """The value in force: apt reads the files in the order of their names, and the last one wins."""
        found = [value for value in self._apt if value.key == key]
        return sorted(found, key=lambda value: value.file)[-1] if found else None


def read_user_data(text: PlacedText, chain: tuple[Link, ...] = (), setup: Setup | None = None, depth: int = 0) -> Setup:
    """User data of any of cloud-init's formats, told by its first line."""
    setup = Setup() if setup is None else setup
    content = text.text.lstrip("﻿")
    start = content.lstrip()
    first = start.split("\n", 1)[0].strip()
    if not start:
        return setup
    if depth > _DEEPEST:
        setup.close("its parts are nested too deeply")
    elif first.startswith(("#cloud-config-archive", "#include", "#part-handler", "#upstart-job")):
        setup.close(f"the user data is {first.split()[0]}")
    elif first.startswith(("#cloud-config", "## template: jinja")):
        if "{{" in content or "{%" in content:
            setup.close("the cloud-config is a template")
        read_cloud_config(text, chain, setup)
    elif first.startswith("#cloud-boothook"):
        read_shell(text, chain, setup)
    elif first.startswith("#!"):
        if "sh" not in first and "env" not in first:
            setup.close(f"the user data is a program for {first[2:].strip()}")
        else:
            read_shell(text, chain, setup)
    elif re.match(r"(?i)(content-type:\s*multipart|mime-version:)", first):
        _read_mime(text, chain, setup, depth)
    elif start.startswith("{"):
        _read_ignition(text, chain, setup)
    elif re.match(r"\[{1,2}[\w.\"-]+\]", first):
        pass  # Bottlerocket's TOML: an image that does not upgrade by itself
    elif re.match(r"apiVersion:\s*node\.eks\.aws", start) or re.search(r"(?m)^machine:", content):
        pass  # EKS' NodeConfig, Talos' machine configuration
    elif re.match(r"[\w-]+:(\s|$)", first):
        read_cloud_config(text, chain, setup)
    else:
        read_shell(text, chain, setup)
    return setup


# cloud-config


def read_cloud_config(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    """The keys of a cloud-config that have to do with packages, files and commands."""
    inner = inner_yaml(text)
    if inner.broken:
        setup.close("the cloud-config cannot be read as YAML")
    if inner.root is None:
        return
    root = Part.of(inner.root, chain)
    cloud_config_keys(root, inner, setup)


def cloud_config_keys(root: Part, inner: InnerYaml | None, setup: Setup) -> None:
    """The keys of a cloud-config that is already parsed."""
    for key in ("package_upgrade", "apt_upgrade", "apt-upgrade"):
        value = root.boolean(key)
        if isinstance(value, Set) and value.value:
            setup.add("package-upgrade", f"{key}: true", root.at(key).origin)
        elif isinstance(value, Unknown):
            setup.close(f"{key} is not known")
    repo = root.text("repo_upgrade")
    if repo in ("all", "security", "bugfix"):
        setup.add("package-upgrade", f"repo_upgrade: {repo}", root.at("repo_upgrade").origin)
    conf = root.at("apt", "conf")
    if isinstance(conf.node, Scalar):
        _apt_conf("94cloud-init-config", _text_of(inner, conf.node), conf.chain, setup)
    for item in root.at("packages").items():
        entry = item.items()[0] if item.items() else item
        _installed(setup, [entry.text() or ""], entry.origin)
    for item in root.at("write_files").items():
        _write_file(item, inner, setup)
    for key in ("bootcmd", "runcmd"):
        part = root.at(key)
        if part.open_list:
            setup.close(f"{key} is not seen whole")
        for item in part.items():
            run_item(item, inner, setup)


def _text_of(inner: InnerYaml | None, node: Scalar) -> PlacedText:
    if inner is not None:
        return inner.text_of(node)
    from kube_gaplint.text.scalar_text import scalar_text

    return scalar_text(node)


def _write_file(item: Part, inner: InnerYaml | None, setup: Setup) -> None:
    path = item.text("path")
    content = item.at("content")
    if not path or not isinstance(content.node, Scalar):
        return
    encoding = (item.text("encoding") or "").lower()
    text = _text_of(inner, content.node)
    if encoding:
        unpacked = decoded(text) if "64" in encoding else None
        if unpacked is None:
            if packages.file_kind(path) is not None:
                setup.close(f"{path} is encoded")
            return
        text = unpacked
    appends = item.boolean("append")
    write_file(path, text, content.chain, setup, appends=isinstance(appends, Set) and appends.value)


def run_item(item: Part, inner: InnerYaml | None, setup: Setup) -> None:
    """One element of `runcmd`: a line of shell, or an exec array."""
    if isinstance(item.node, Scalar):
        read_shell(_text_of(inner, item.node), item.chain, setup)
        return
    words = []
    for word in item.items():
        if not isinstance(word.node, Scalar):
            return
        words.append(Word((word.node.text,), word.node.place, placed=_text_of(inner, word.node)))
    if words:
        environment = Environment(item.origin, open_because=_NODE_ENVIRONMENT)
        _all_commands(start(tuple(words), environment, setup.files.get).commands, item.chain, setup)


# Files


def write_file(path: str, text: PlacedText, chain: tuple[Link, ...], setup: Setup, *, appends: bool = False) -> None:
    """A file that the set-up writes."""
    kind = packages.file_kind(path)
    if not appends:
        setup.forget_file(path)
        setup.files[path] = text
    if kind == "apt-conf":
        _apt_conf(path.rpartition("/")[2], text, chain, setup)
    elif kind == "dnf-automatic":
        _dnf_automatic(text, chain, setup)
    elif kind == "dnf-conf":
        _dnf_conf(text, chain, setup)
    elif kind == "apt-preferences":
        _apt_preferences(text, chain, setup)
    elif kind == "flatcar":
        _flatcar_conf(text, chain, setup)
    elif kind == "zincati":
        _zincati(text, chain, setup)
    elif kind == "cloud-config":
        read_cloud_config(text, chain, setup)
    elif kind == "boot-script":
        read_shell(text, chain, setup, recurring=True)
    elif kind == "cron":
        _cron(text, chain, setup)
    elif kind == "unit":
        _unit(text, chain, setup)


def _origin(piece: PlacedText, chain: tuple[Link, ...]) -> Origin:
    return Origin(piece.place(0, len(piece.text)), chain=chain)


def _apt_conf(file: str, text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    """apt.conf, as far as upgrades go: `Key::Sub "value";` and one level of `Key { Sub "value"; "value"; };`."""
    block = ""
    for line, raw in lines(text):
        if line.lstrip().startswith(("//", "#")):
            continue
        piece = stripped(raw)
        at = 0
        while at < len(line):
            token = _APT_TOKEN.match(line, at)
            if token is None:
                break
            at = token.end()
            opened, closed, key, value, item = token.group("open", "close", "key", "value", "item")
            if opened is not None:
                block = opened.lower()
            elif closed is not None:
                block = ""
            elif key is not None:
                name = (f"{block}::{key}" if block else key).lower()
                if name in (_UNATTENDED, _PERIODIC):
                    setup.apt_value(file, name, value.strip(' "'), piece.text, _origin(piece, chain))
                elif name.rstrip(":") == _BLACKLIST:
                    named = value.strip(' "')
                    setup.add("held", f"blacklist {named}", _origin(piece, chain))
            elif item is not None and block == _BLACKLIST:
                setup.add("held", f"blacklist {item}", _origin(piece, chain))


def _assignments(text: PlacedText) -> Iterable[tuple[str, str, Slice]]:
    for line, piece in lines(text):
        if line.lstrip().startswith(("#", ";")):
            continue
        found = _ASSIGNMENT.match(line)
        if found:
            yield found.group(1), found.group(2).strip("\"'"), stripped(piece)


def _dnf_automatic(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    for key, value, piece in _assignments(text):
        if key == "apply_updates":
            on = value.lower() in ("yes", "true", "1")
            setup.switch("dnf", on, f"apply_updates = {value}", _origin(piece, chain))


def _dnf_conf(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    for key, value, piece in _assignments(text):
        if key in ("exclude", "excludepkgs") and value:
            setup.add("held", f"{key}={value}", _origin(piece, chain))


def _apt_preferences(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    package = ""
    for line, piece in lines(text):
        name, _, value = line.partition(":")
        if name.strip().lower() == "package":
            package = value.strip()
        elif name.strip().lower() == "pin-priority" and value.strip().startswith("-"):
            setup.add("held", f"pin {package}", _origin(stripped(piece), chain))


def _flatcar_conf(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    setup.flatcar = True
    for key, value, piece in _assignments(text):
        if key == "REBOOT_STRATEGY":
            setup.switch("flatcar", value.lower() != "off", f"REBOOT_STRATEGY={value}", _origin(piece, chain))
        elif key == "SERVER" and value.lower() == "disabled":
            setup.switch("flatcar", False, "SERVER=disabled", _origin(piece, chain), firm=True)


def _zincati(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    for key, value, piece in _assignments(text):
        if key == "enabled" and value.lower() == "false":
            setup.switch("fcos", False, "updates.enabled = false", _origin(piece, chain), firm=True)


def _cron(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    for line, piece in lines(text):
        if line.lstrip().startswith("#"):
            continue
        found = _CRON.match(line)
        if found and found.group(1):
            start = found.start(1)
            read_shell(Slice(piece, start, len(line)), chain, setup, recurring=True)


def _unit(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    for key, _, piece in _assignments(text):
        if key in ("ExecStart", "ExecStartPre", "ExecStartPost"):
            raw = piece.text
            start = raw.index("=") + 1
            while start < len(raw) and raw[start] in " -@+!:":
                start += 1
            read_shell(Slice(piece, start, len(raw)), chain, setup, recurring=True)


# MIME archives and Ignition


def _read_mime(text: PlacedText, chain: tuple[Link, ...], setup: Setup, depth: int) -> None:
    """The parts of a multipart archive, each read by its own type."""
    rows = lines(text)
    boundary = ""
    for line, _ in rows:
        found = re.search(r'(?i)boundary\s*=\s*"?([^"\s;]+)"?', line)
        if found:
            boundary = found.group(1)
            break
    if not boundary:
        setup.close("the MIME archive has no boundary")
        return
    marks = [i for i, (line, _) in enumerate(rows) if line.strip() in (f"--{boundary}", f"--{boundary}--")]
    if not marks:
        setup.close("the MIME archive has no parts")
        return
    for begin, end in zip(marks, [*marks[1:], len(rows)], strict=True):
        if rows[begin][0].strip().endswith("--") and rows[begin][0].strip() != f"--{boundary}":
            break
        _mime_part(rows[begin + 1 : end], text, chain, setup, depth)


def _mime_part(
    rows: list[tuple[str, Slice]], text: PlacedText, chain: tuple[Link, ...], setup: Setup, depth: int
) -> None:
    headers: dict[str, str] = {}
    at = 0
    while at < len(rows) and rows[at][0].strip():
        name, _, value = rows[at][0].partition(":")
        headers[name.strip().lower()] = value.strip()
        at += 1
    body = rows[at + 1 :]
    if not body:
        return
    part: PlacedText = Slice(text, body[0][1].start, body[-1][1].end)
    if headers.get("content-transfer-encoding", "").lower() == "base64":
        unpacked = decoded(part)
        if unpacked is None:
            setup.close("a part of the MIME archive is encoded")
            return
        part = unpacked
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/cloud-config":
        read_cloud_config(part, chain, setup)
    elif kind in ("text/x-shellscript", "text/cloud-boothook", "text/x-shellscript-per-boot"):
        read_shell(part, chain, setup)
    elif kind in ("text/x-include-url", "text/x-include-once-url", "text/part-handler"):
        setup.close(f"a part of the user data is {kind}")
    else:
        read_user_data(part, chain, setup, depth + 1)


def _read_ignition(text: PlacedText, chain: tuple[Link, ...], setup: Setup) -> None:
    """Ignition is JSON, and JSON is YAML."""
    inner = inner_yaml(text)
    if inner.root is None or inner.broken:
        setup.close("the Ignition configuration cannot be read")
        return
    ignition(Part.of(inner.root, chain), inner, setup)


def ignition(root: Part, inner: InnerYaml | None, setup: Setup) -> None:
    """Ignition, or Butane from which it is made: files with inline or `data:` contents, units that are masked."""
    if root.at("ignition", "config", "merge").items() or root.at("ignition", "config", "replace").present:
        setup.close("the Ignition configuration includes another one")
    if (root.text("variant") or "") == "flatcar":
        setup.flatcar = True
    for item in root.at("storage", "files").items():
        path = item.text("path") or ""
        inline, source = item.at("contents", "inline"), item.at("contents", "source")
        if isinstance(inline.node, Scalar):
            write_file(path, _text_of(inner, inline.node), inline.chain, setup)
        elif isinstance(source.node, Scalar) and packages.file_kind(path) is not None:
            content = _data_url(source.node)
            if content is None:
                setup.close(f"{path} is fetched from elsewhere")
            else:
                write_file(path, content, source.chain, setup)
    for unit in root.at("systemd", "units").items():
        _unit_switch(setup, unit)


def _data_url(node: Scalar) -> Fixed | None:
    from urllib.parse import unquote

    if not node.text.startswith("data:"):
        return None
    head, _, body = node.text.partition(",")
    if head.endswith(";base64"):
        return decoded(Fixed(unquote(body), node.place))
    return Fixed(unquote(body), node.place)


def _unit_switch(setup: Setup, unit: Part) -> None:
    name = unit.text("name") or ""
    row = packages.UNITS.get(name.rpartition(".")[0] or name)
    if row is None:
        return
    mask, enabled = unit.boolean("mask"), unit.boolean("enabled")
    if isinstance(mask, Set) and mask.value:
        setup.switch(row.topic, False, f"{name} masked", unit.origin, firm=True)
    elif isinstance(enabled, Set):
        setup.switch(row.topic, enabled.value, f"{name} {'enabled' if enabled.value else 'disabled'}", unit.origin)


# Shell


def read_shell(text: PlacedText, chain: tuple[Link, ...], setup: Setup, *, recurring: bool = False) -> None:
    """A shell script, or a line of one, that runs as root on the node."""
    from kube_gaplint.launch.shell import read_script

    home = Origin(text.place(0, 0), chain=chain)
    script = read_script(text, Environment(home, open_because=_NODE_ENVIRONMENT), files=setup.files.get)
    for source in script.sources:
        if source.known is None or not packages.HARMLESS_SOURCES.fullmatch("/" + source.known):
            setup.close(f"{source.shown} is sourced and not seen")
    _all_commands(script.commands, chain, setup, recurring=recurring)


def _all_commands(
    commands: Iterable[Command], chain: tuple[Link, ...], setup: Setup, *, recurring: bool = False
) -> None:
    previous: Command | None = None
    for command in commands:
        one_command(setup, command, previous, chain, recurring=recurring)
        previous = command


def one_command(
    setup: Setup,
    command: Command,
    previous: Command | None,
    chain: tuple[Link, ...] = (),
    *,
    recurring: bool = False,
) -> None:
    """What one command does to upgrades. `previous` is the command before it, for pipes."""
    words = [word.known or "" for word in command.words]
    if not words:
        return
    name = words[0].rpartition("/")[2]
    origin = Origin(command.place, chain=chain)
    if command.stdin is not None and command.stdin.target:
        write_file(command.stdin.target, command.stdin.text, chain, setup, appends=name == "tee" and "-a" in words)
    elif command.writes is not None and command.writes.known:
        _written(setup, command.writes.known, command, chain)
    if name in packages.MANAGERS:
        _manager(setup, name, words, origin, recurring=recurring)
    elif name == "systemctl":
        _systemctl(setup, words, origin)
    elif name in ("dpkg-reconfigure", "dpkg", "rpm"):
        _dpkg(setup, name, words, origin)
    elif name == "sed" and any(word.startswith(("-i", "--in-place")) for word in words):
        _sed(setup, words, origin)
    elif name == "rm":
        _removed_files(setup, words, origin)
    elif name == "tee" and command.pipeline.index > 0 and not (command.stdin is not None and command.stdin.target):
        for path in words[1:]:
            if not path.startswith("-"):
                _teed(setup, path, command, previous, chain)
    _watch_opaque(setup, name, words, command, previous)


def short(words: list[str], limit: int = 60) -> str:
    """A command for a message."""
    text = " ".join(words)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _manager(setup: Setup, name: str, words: list[str], origin: Origin, *, recurring: bool) -> None:
    manager = packages.MANAGERS[name]
    if any(word in manager.harmless for word in words):
        return
    operands: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word in manager.commands or not word.startswith("-"):
            operands.append(word)
        elif word in manager.valued:
            at += 1
        at += 1
    if name in packages.ALWAYS_UPGRADES:
        setup.add("upgrade-command", short(words), origin, recurring=recurring)
        return
    verbs = operands if name == "transactional-update" else operands[:1]  # it takes several at once
    effect = next((manager.commands[verb] for verb in verbs if verb in manager.commands), None)
    named = [word for word in operands[1:] if word]
    if effect == "upgrade" and not (named and name in _NAMES_PACKAGES):
        setup.add("upgrade-command", short(words), origin, recurring=recurring)
    elif effect == "upgrade" or (effect == "install" and "--only-upgrade" in words):
        loose = [word for word in named if _node_package(word)]
        if loose:
            setup.add("upgrade-command", short(words), origin, recurring=recurring)
    elif effect == "install":
        _installed(setup, named, origin)
    elif effect == "remove":
        for word in named:
            if word.rstrip("-+*") in packages.UPGRADERS:
                topic = "apt" if word.startswith("unattended") else "dnf"
                setup.switch(topic, False, short(words), origin, firm=True)
    elif effect == "hold" and (named or name == "apt-mark") and not {"delete", "clear", "list"} & set(named[:1]):
        setup.add("held", short(words), origin)


_NAMES_PACKAGES = frozenset({"dnf", "dnf5", "yum", "microdnf", "tdnf", "zypper", "apk"})
"""Managers whose upgrade takes names of packages and then upgrades those alone."""


def _node_package(word: str) -> bool:
    return bool(packages.NODE_PACKAGES.match(word)) and not packages.HARMLESS_NVIDIA.match(word)


def _installed(setup: Setup, names: Iterable[str], origin: Origin) -> None:
    loose = []
    for name in names:
        if name in packages.STARTS_BY_ITSELF:
            setup.switch("apt", True, f"{name} installed", origin)
        elif _node_package(name) and "=" not in name and not re.search(r"-\d+\.\d", name):
            loose.append(name)
    if loose:
        setup.add("unpinned-install", f"install {' '.join(loose[:3])} without a version", origin)


def _systemctl(setup: Setup, words: list[str], origin: Origin) -> None:
    operands = [word for word in words[1:] if not word.startswith("-")]
    if not operands:
        return
    verb, units = operands[0], operands[1:]
    off, on = verb in packages.SWITCH_OFF, verb in packages.SWITCH_ON
    if not (off or on):
        return
    for unit in units:
        name = re.sub(r"\.(service|timer|socket|path)$", "", unit)
        row = packages.UNITS.get(name)
        if row is None or (on and not row.enough) or (on and verb in ("start", "restart") and row.topic == "apt"):
            continue
        setup.switch(row.topic, on, short(words), origin, firm=True)


def _dpkg(setup: Setup, name: str, words: list[str], origin: Origin) -> None:
    named = [word for word in words[1:] if word in packages.UPGRADERS]
    if not named:
        return
    if name == "dpkg-reconfigure":
        setup.switch("apt", True, short(words), origin)
    elif any(word in ("-r", "-P", "--remove", "--purge", "-e", "--erase") for word in words):
        setup.switch("apt" if named[0].startswith("unattended") else "dnf", False, short(words), origin, firm=True)


def _sed(setup: Setup, words: list[str], origin: Origin) -> None:
    """`sed -i 's/"1"/"0"/' FILE` on one of the files that switch upgrades."""
    paths = [word for word in words[1:] if packages.file_kind(word) in ("apt-conf", "dnf-automatic")]
    for path in paths:
        kind = packages.file_kind(path)
        for script in words[1:]:
            found = _SUBSTITUTION.match(script)
            if found is None:
                continue
            old, new = found.group(2), found.group(3)
            if kind == "dnf-automatic" and "apply_updates" in old + new:
                setup.switch("dnf", "yes" in new or "true" in new, short(words), origin)
            elif kind == "apt-conf" and ("Unattended-Upgrade" in old + new or '"' in new):
                if '"0"' in new:
                    setup.switch("apt", False, short(words), origin)
                elif '"1"' in new:
                    setup.switch("apt", True, short(words), origin)


def _removed_files(setup: Setup, words: list[str], origin: Origin) -> None:
    for path in words[1:]:
        if packages.file_kind(path) == "apt-conf" and path.rpartition("/")[2] in ("20auto-upgrades", "10periodic"):
            setup.forget_file(path)
            setup.switch("apt", False, short(words), origin)


def _teed(setup: Setup, path: str, command: Command, previous: Command | None, chain: tuple[Link, ...]) -> None:
    """A file that `tee` writes out of a pipe."""
    if command.stdin is not None and packages.file_kind(path) is not None:
        write_file(path, command.stdin.text, chain, setup, appends=True)
    elif previous is not None:
        _written(setup, path, previous, chain)


def _written(setup: Setup, path: str, command: Command, chain: tuple[Link, ...]) -> None:
    """A file that `echo` or `printf` writes."""
    if packages.file_kind(path) is None:
        return
    content = _printed(command)
    if content is None:
        setup.close(f"what is written to {path} is not known")
    else:
        write_file(path, Fixed(content, command.place), chain, setup, appends=True)


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def _printed(command: Command) -> str | None:
    """What `echo` or `printf` prints; None where it is another program or not known."""
    words = command.words
    if not words or any(word.known is None for word in words):
        return None
    texts = [word.known or "" for word in words]
    name = texts[0].rpartition("/")[2]
    if name == "echo":
        rest = texts[1:]
        escapes = False
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            escapes = escapes or "e" in rest[0]
            rest = rest[1:]
        text = " ".join(rest) + "\n"
        return _unescaped(text) if escapes else text
    if name == "printf" and len(texts) > 1:
        form, values = _unescaped(texts[1]), texts[2:]
        if not values:
            return form.replace("%%", "%")
        if form.count("%") == form.count("%s") == 1:
            return "".join(form.replace("%s", value) for value in values)
        if form.count("%") == form.count("%s") == len(values):
            for value in values:
                form = form.replace("%s", value, 1)
            return form
    return None


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(0)), text)


def _watch_opaque(setup: Setup, name: str, words: list[str], command: Command, previous: Command | None) -> None:
    """Notice what runs something that is not seen."""
    if name in packages.CONFIGURATION_MANAGERS:
        setup.close(f"{name} sets the node up")
    elif name in packages.SHELLS:
        piped = command.pipeline.index > 0 and previous is not None and previous.name in packages.DOWNLOADERS
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        if piped or "<(" in " ".join(words):
            setup.close("a downloaded script is run")
        elif script and "/" in script and script not in setup.files and not packages.KNOWN_PROGRAMS.fullmatch(script):
            setup.close(f"{script} is not seen")
    elif "/" in words[0] and words[0] not in setup.files and not packages.KNOWN_PROGRAMS.fullmatch(words[0]):
        setup.close(f"{words[0]} is not seen")
    elif not words[0]:
        setup.close("a command is not known")
