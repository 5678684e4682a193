"""slurm.conf wherever it stands: files, ConfigMaps, Slinky's Controller, Soperator's SlurmCluster, SUNK, Helm values.

Keys are compared without case, and the last one wins. What an operator writes itself comes first, so that a fragment
which is appended overrides it. Source rows: k8s.md B1 to B4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from kube_gaplint import lazy_re
from kube_gaplint.bundle.bundle import Bundle, ScriptFile
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.discover import FileId
from kube_gaplint.facts import clusters
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.inner import Slice, lines, stripped
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Link, Origin, Set, Setting, Unknown
from kube_gaplint.model.slurm import SlurmConf
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import PlacedText
from kube_gaplint.text.templates import placeholder

NAME = lazy_re.compile(r"(?:.*[/_.-])?slurm(?:[_-]\w+)?\.conf(?:\.\w+)?", re.IGNORECASE)
"""File names and ConfigMap keys that hold slurm.conf or a part of it: `slurm.conf`, `slurm_base.conf`."""
_NOT = lazy_re.compile(
    r"(slurmdbd|cgroup|gres|topology|acct_gather|plugstack|job_container|oci|burst|switch)", re.IGNORECASE
)

_KEY = lazy_re.compile(r"[ \t]*([A-Za-z][\w]*)[ \t]*=[ \t]*(.*)")
_GRES = lazy_re.compile(r"\bGres=(\S+)", re.IGNORECASE)
_ROWS = frozenset({"nodename", "partitionname", "nodeset", "downnodes", "frontendname", "switchname"})
"""Keys that begin a row of their own: their further `key=value` pairs are no settings of the cluster."""

CONTROLLERS = ("slurmctldhost", "controlmachine")

_SOPERATOR = {
    "killonbadexit": "1",
    "killwait": "180",
    "unkillablesteptimeout": "600",
    "slurmdtimeout": "180",
    "slurmctldtimeout": "180",
    "waittime": "0",
    "inactivelimit": "0",
    "returntoservice": "2",
    "prologflags": "contain",
    "jobrequeue": "1",
    "messagetimeout": "60",
}
"""What Soperator writes into slurm.conf itself (k8s.md B2)."""

_READMES = ("README.md", "readme.md", "README.rst", "README")
_SITE = lazy_re.compile(r"\bsoperator\b", re.IGNORECASE)

_SOPERATOR_CHART = {"healthcheckprogram": "/opt/slurm_scripts/hc_program.sh", "healthcheckinterval": "120"}
"""What the template of the chart slurm-cluster writes into every SlurmCluster."""

_SOPERATOR_FIELDS = {
    "messageTimeout": "messagetimeout",
    "prolog": "prolog",
    "epilog": "epilog",
    "taskProlog": "taskprolog",
    "completeWait": "completewait",
    "suspendTime": "suspendtime",
}


def read_lines(text: PlacedText, chain: tuple[Link, ...] = ()) -> dict[str, Setting[str]]:
    """The settings of slurm.conf text. Rows of nodes and partitions give their first key, and `gres` of nodes."""
    values: dict[str, Setting[str]] = {}
    for line, piece in _logical(text):
        found = _KEY.match(line)
        if found is None:
            if line.strip().lower().startswith("include"):
                values["include"] = Set(line.strip()[7:].strip(), Origin(stripped(piece).place(0, len(line.strip()))))
            continue
        key, value = found.group(1).lower(), found.group(2).strip()
        place = stripped(piece)
        origin = Origin(place.place(0, len(place.text)), chain=chain)
        if key in _ROWS:
            values[key] = Set(value.split(None, 1)[0] if value else "", origin)
            devices = _GRES.search(value)
            if devices is not None:
                values["gres"] = Set(devices.group(1), origin)
            continue
        reason = placeholder(value)
        values[key] = Unknown(reason, origin) if reason else Set(value.strip("\"'"), origin)
    return values


def _logical(text: PlacedText) -> Iterator[tuple[str, Slice]]:
    """Lines without comments; a backslash at the end joins the next line."""
    pending: Slice | None = None
    for raw, piece in lines(text):
        start = piece.start if pending is None else pending.start
        joined = Slice(text, start, piece.end)
        if raw.rstrip().endswith("\\") and not raw.lstrip().startswith("#"):
            pending = joined
            continue
        pending = None
        content = joined.text
        cut = _comment(content)
        yield content[:cut].replace("\\\n", " "), Slice(text, start, start + cut)
    if pending is not None:
        yield pending.text.rstrip("\\\n "), pending


def _comment(line: str) -> int:
    at = line.find("#")
    while at > 0 and line[at - 1] == "\\":
        at = line.find("#", at + 1)
    return len(line) if at < 0 else at


def is_conf_name(name: str) -> bool:
    """Whether a file name or a ConfigMap key is that of slurm.conf or a part of it."""
    base = name.rpartition("/")[2]
    return len(base) < 200 and NAME.fullmatch(base) is not None and _NOT.search(base) is None


def of_text(text: PlacedText, subject: Subject, origin: Origin, chain: tuple[Link, ...] = ()) -> SlurmConf | None:
    """slurm.conf that stands as a text by itself; None where the text holds no setting."""
    values = read_lines(text, chain)
    if not values:
        return None
    whole = "clustername" in values and any(key in values for key in CONTROLLERS) and "include" not in values
    if any(marker in text.text for marker in ("{{", "{%")):
        whole = False
    return SlurmConf(subject, origin, values, whole)


def of_file(script: ScriptFile) -> SlurmConf | None:
    """A file `slurm.conf`."""
    name = script.source.path.replace("\\", "/").rpartition("/")[2]
    text = script.text
    return of_text(text, Subject("slurm.conf", name=name), Origin(text.place(0, _first_line(text))))


def _first_line(text: PlacedText) -> int:
    end = text.text.find("\n")
    return len(text.text) if end < 0 else end


def in_config_map(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[SlurmConf]:
    """The keys of a ConfigMap that hold slurm.conf."""
    context = Context(bundle, item, profile)
    for key, part in context.root.at("data").entries():
        if is_conf_name(key) and isinstance(part.node, Scalar):
            conf = of_text(scalar_text(part.node), context.subject, Origin(part.place, node=part.node), part.chain)
            if conf is not None:
                yield conf


# Operators


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[SlurmConf]:
    """The cluster objects of Slinky, Soperator and SUNK."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    if item.group == "slinky.slurm.net":
        yield slinky(spec, context.subject, context.origin)
    elif item.group == "slurm.nebius.ai":
        yield soperator(spec, context.subject)
    elif item.group == "sunk.coreweave.com":
        yield sunk(spec.at("slurmConfig"), context.subject, spec.origin)


def slinky(spec: Part, subject: Subject, origin: Origin, key: str = "extraConf") -> SlurmConf:
    """Slinky's Controller: the operator writes slurm.conf and appends `extraConf`.

    It writes no KillOnBadExit, ReturnToService, HealthCheck or timeout of its own, so what is missing is at Slurm's
    default. (internal/builder/controllerbuilder/controller_config.go)
    """
    values: dict[str, Setting[str]] = {}
    extra = spec.at(key)
    whole = not extra.unknown
    mapped = spec.at("extraConfMap")
    for name, part in mapped.entries():
        values[name.lower()] = part.string()
    if isinstance(extra.node, Scalar):
        text = scalar_text(extra.node)
        values.update(read_lines(text, extra.chain))
        whole = "{{" not in text.text
    if spec.at("configFileRefs").items():
        values.setdefault("include", Set("configFileRefs", spec.at("configFileRefs").origin))
    if spec.at("prologScriptRefs").items() or spec.at("prologScripts").present:
        values.setdefault("prolog", Set("script", spec.at("prologScriptRefs").origin))
    return SlurmConf(subject, extra.origin if extra.present else origin, values, whole and not mapped.unknown, "slinky")


def soperator(spec: Part, subject: Subject, *, chart: bool = False) -> SlurmConf:
    """Soperator's SlurmCluster: what it writes itself, its typed fields, then `customSlurmConfig` over both.

    `chart`: these are values of its Helm chart, whose template brings a health check of its own.
    """
    written = Origin(spec.place, "injected", "Soperator", spec.chain, spec.node)
    values: dict[str, Setting[str]] = {key: Set(value, written) for key, value in _SOPERATOR.items()}
    if chart:
        template = Origin(spec.place, "injected", "the chart's template", spec.chain, spec.node)
        values.update({key: Set(value, template) for key, value in _SOPERATOR_CHART.items()})
    typed = spec.at("slurmConfig")
    for name, key in _SOPERATOR_FIELDS.items():
        part = typed.at(name)
        value = part.string()
        if part.present and not (isinstance(value, Set) and value.value == ""):
            values[key] = value
    health = spec.at("healthCheckConfig")
    for name in ("healthCheckInterval", "healthCheckProgram"):
        if health.at(name).present or health.unknown:
            values[name.lower()] = health.string(name)
    states = [item.text("state") or "" for item in health.at("healthCheckNodeState").items()]
    if states:
        values["healthchecknodestate"] = Set(",".join(states), health.at("healthCheckNodeState").origin)
    custom = spec.at("customSlurmConfig")
    if isinstance(custom.node, Scalar):
        values.update(read_lines(scalar_text(custom.node), custom.chain))
    whole = not (custom.unknown or typed.unknown or spec.unknown)
    return SlurmConf(subject, spec.origin, values, whole, "soperator")


def documented(file: FileId, bundle: Bundle) -> SlurmConf | None:
    """What the README nearest to a batch script tells of its site: a cluster of Soperator has the operator's values.

    A sentence for people is no setting, so the rest of slurm.conf stays unknown, but for what is judged by Slurm's
    defaults where no slurm.conf is seen at all.
    """
    readme = next((text for name in _READMES if (text := bundle.text_near(name, file)) is not None), None)
    found = None if readme is None else _SITE.search(readme.text)
    if readme is None or found is None:
        return None
    origin = Origin(readme.place(*found.span()), "injected", "Soperator, as the README says")
    values: dict[str, Setting[str]] = {key: Set(value, origin) for key, value in _SOPERATOR.items()}
    default = Origin(origin.place, "default", "Slurm's default, which Soperator leaves alone")
    values["jobfileappend"] = Set("0", default)
    return SlurmConf(Subject("slurm.conf", name="soperator"), origin, values, whole=False, writer="soperator")


def known_site(directives: Mapping[str, Set[str]]) -> SlurmConf | None:
    """The settings of a public cluster that a script's own directives name; None where they name none."""
    site = clusters.site_of({name: setting.value for name, setting in directives.items()})
    if site is None:
        return None
    sign = directives[next(iter(site.signs))]
    origin = Origin(sign.origin.place, "injected", f"{site.name}, by its {' and '.join(site.signs)}")
    values: dict[str, Setting[str]] = {key: Set(value, origin) for key, value in site.values.items()}
    return SlurmConf(Subject("slurm.conf", name=site.name), origin, values, whole=False, writer=site.name.lower())


def sunk(config: Part, subject: Subject, origin: Origin) -> SlurmConf:
    """SUNK's `slurmConfig`: a mapping of settings (or text); what SUNK itself writes is not documented."""
    values: dict[str, Setting[str]] = {}
    if isinstance(config.node, Scalar):
        values.update(read_lines(scalar_text(config.node), config.chain))
    for name, part in config.entries():
        if isinstance(part.node, Scalar):
            values[name.lower()] = part.string()
    return SlurmConf(subject, config.origin if config.present else origin, values, False, "sunk")


def choose(found: list[SlurmConf], path: str) -> SlurmConf | None:
    """The slurm.conf that a batch script at a path runs under: the only one, or the only one nearest to it."""
    if len(found) < 2:
        return found[0] if found else None
    at = _nearest(tuple(_folder(conf.origin.place.source.path) for conf in found), _folder(path))
    return None if at is None else found[at]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


@lru_cache(maxsize=256)  # many scripts lie in few folders
def _nearest(folders: tuple[str, ...], own: str) -> int | None:
    """Which of some folders is nearest to one; None where two are."""
    here = own.split("/") if own else []

    def nearness(folder: str) -> int:
        other = folder.split("/") if folder else []
        same = 0
        while same < min(len(here), len(other)) and here[same] == other[same]:
            same += 1
        return same * 100 - len(other)

    ranks = [nearness(folder) for folder in folders]
    best = max(ranks)
    return ranks.index(best) if ranks.count(best) == 1 else None
