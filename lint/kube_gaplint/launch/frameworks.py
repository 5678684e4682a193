"""Frameworks: which one a program belongs to, and the settings that decide its fate.

What each framework's options are called and what holds without them stands in `facts.frameworks`; this module only
looks them up and brings them into one form. Three states are kept throughout: a key that no visible place gives is
absent only where every place was seen, and only then does a default apply.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts import torch as torch_facts
from kube_gaplint.facts.frameworks import (
    CONVENTIONS,
    DATA_FILES,
    FRAMEWORKS,
    IN_PROCESS_IMPORTS,
    IN_PROCESS_VARIABLES,
    Amount,
    ConfigSource,
    FrameworkFacts,
    PathOf,
    Resume,
    Switch,
    Timeout,
)
from kube_gaplint.facts.launchers import CHORES, HELPER_SCRIPTS, TRAINING_SCRIPTS
from kube_gaplint.launch.amounts import is_off, quantity, unit_of_name
from kube_gaplint.launch.config_files import Config, ExpandedText, read_config
from kube_gaplint.launch.launchers import Peeled
from kube_gaplint.launch.launchers.base import matches
from kube_gaplint.launch.lookup import Lookup, ScriptFacts
from kube_gaplint.launch.options import NO_SPEC, parse_options
from kube_gaplint.launch.shared import path_of
from kube_gaplint.model.environment import Environment, Layered, differing
from kube_gaplint.model.program_lines import (
    READS_BACK,
    decides_on_saves,
    restores_only_if,
    saved_by_keras,
    saves_in_a_loop,
)
from kube_gaplint.model.program_text import ProgramText
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, mapped
from kube_gaplint.model.training import (
    SAME_STATE,
    SAVES_ONCE,
    SWITCHED_OFF,
    Framework,
    Options,
    Quantity,
    Release,
    TrainingSettings,
)
from kube_gaplint.text.source import Files, no_files

_ONE_STATE = lazy_re.compile(
    r"/(?![^/]*(?:last|latest))(?:[^/]*\d[^/]*\.(?:pt|pth|tar|ckpt|pkl|bin|safetensors|h5|model|npz)"
    r"|[^/]*(?:checkpoint|ckpt|step|iter|epoch)[-_=]?\d+/?)\Z"
)


def _of_what_it_names(value: Set[str]) -> Setting[bool]:
    """Whether a program goes on from its last checkpoint that is told what to load. A file or folder with a number in
    its name is one state of one run, which each start loads again, unless the program looks for a later one itself."""
    if _ONE_STATE.search("/" + value.value.strip().strip("\"'")):
        return Unknown(SAME_STATE, value.origin)
    return Set(True, value.origin)


_FALSE = frozenset({"", "0", "-1", "false", "no", "off", "none", "null", "~", "n", "f", "never"})
_SAVES = lazy_re.compile(
    r"\bdef (?P<function>\w{1,120})"
    r"|\b(?:torch\.save|save_pretrained|save_state|save_checkpoint|save_model|async_save)\("
)
_FOR_SAVING = lazy_re.compile(r"save|checkpoint|ckpt|export|dump", re.IGNORECASE)
_GROUP_WITH_TIMEOUT = lazy_re.compile(
    r"\b(?:init_distributed|init_process_group)\((?:[^()]|\([^()]{0,200}\)){0,400}?\btimeout\s{0,9}="
)


@cache
def _gives(word: str) -> re.Pattern[str]:
    """What gives a keyword its value at the end of a line, be it as the entry of a dictionary."""
    return re.compile(rf"""\b{word}(?:=|["']\s*:\s*)([\w.]+)\s*[,)}}]*\s*\Z""")


_GOES_ON_BY = (("train", "resume_from_checkpoint"), ("fit", "ckpt_path"))
"""Calls of trainers of many kinds, and the keyword by which they are told what to go on from."""
_GOES_ON_WORDS = frozenset(keyword for _, keyword in _GOES_ON_BY)
_GOES_ON_KEYS = frozenset(f"{call}({keyword})" for call, keyword in _GOES_ON_BY)
_RESUME_OPTIONS = frozenset(map(Options.normal, (*CONVENTIONS.resume, *CONVENTIONS.load_path)))
_READS_SETTINGS = lazy_re.compile(
    r"\b(?:yaml\.(?:safe_|full_|unsafe_)?load|json\.loads?|toml\w*\.loads?|OmegaConf\.load|YAML\([^)]*\)\.load|yaml_load)\("
)
_BY_ITS_OPTION = lazy_re.compile(r"\bresume_from_checkpoint\s{0,9}=\s{0,9}(?:\w{1,60}\.){0,4}resume_from_checkpoint\b")
"""A call that hands on what the option of that name gives."""
_BARE_TRAIN = lazy_re.compile(r"\b\w{0,60}trainer\.train\(\s{0,99}\)", re.IGNORECASE)
_TRAINERS_OF = frozenset({"transformers", "trl"})
"""Packages whose trainers begin anew where `train` is told of no checkpoint (transformers `Trainer.train`)."""
_FINDS_ITS_LAST = ("last_checkpoint", "latest", "last.", "glob(", "listdir(", "newest")
"""Words by which a program shows that it may look for its last checkpoint whatever it is told."""
_PRETRAINED = lazy_re.compile(r"(?i)pre_?-?train")
"""In the name of an option: weights that a training starts from."""
_OWN_LAST = lazy_re.compile(r"(?i)last|latest|resume")
_CONFIG_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".gin", ".ini", ".cfg")


class Understood(Struct, frozen=True):
    """What was understood of one program."""

    framework: Framework | None
    facts: FrameworkFacts | None
    options: Options
    configs: tuple[Config, ...]
    settings: TrainingSettings


def understand(
    peeled: Peeled,
    *,
    files: Files = no_files,
    script: ScriptFacts | None = None,
    torch: Setting[Release] | None = None,
    text: ProgramText | None = None,
) -> Understood:
    """The framework of a program and its settings.

    `files` gives configuration files by path, `script` what the program's own text says where that is visible, `text`
    that text with the modules of its repository.
    """
    home = Origin(peeled.command.place)
    options = parse_options(peeled.words, home, NO_SPEC)
    if options.open_because and script is not None and script.valued:
        options = parse_options(peeled.words, home, NO_SPEC.with_names(valued=script.valued))
    found = recognise(peeled, options, script, read_configs(options, _ANY_CONFIG, files))
    facts = _as_forked(found[0], text, peeled.name) if found is not None else None
    if facts is not None and facts.flags:
        spec = NO_SPEC.with_names(facts.flags.split(), _valued_names(facts))
        options = parse_options(peeled.words, home, spec)
    configs = tuple(config.overridden(options) for config in _configs(facts, options, files))
    if not configs and text is not None and (facts is None or not facts.visible):
        configs = _by_hydra(peeled, text, home, files)
    look = Lookup(
        options=options,
        configs=configs,
        environment=peeled.environment,
        script=script,
        home=home,
        plain_calls=facts.calls if facts is not None else (),
        unseen=_unseen(peeled, facts, options, configs, script),
    )
    framework = None
    if found is not None and facts is not None:
        row = facts
        framework = Framework(
            row.name,
            row.title,
            found[1],
            timeout_option=row.timeout.how,
            least_torch=row.least_torch,
            guards=row.guards,
            keep_option=row.keep,
            exit_option=row.exit_by,
            can_leave=not row.visible or row.signal_save is not None or bool(row.exit_after),
            data_options=row.training_data,
            saves_at_end=row.saves_at_end,
            resume_option=row.resume_by,
            resumes_by_file=row.resumes_by_file,
        )
    reader = _Reader(look, facts, peeled, torch or Unknown("the torch release is not known"), text)
    reader.usual = lambda: _usual_configs(facts, options, files)
    settings = reader.read()
    return Understood(framework, facts, options, configs, settings)


def _by_hydra(peeled: Peeled, text: ProgramText, home: Origin, files: Files) -> tuple[Config, ...]:
    """The configuration that Hydra gives a script of somebody's own."""
    if "@hydra.main" not in next(text.texts, ""):
        return ()
    from kube_gaplint.launch.hydra_main import main_config
    from kube_gaplint.launch.own_modules import start_text

    path, script = start_text(peeled, files)
    main = None if script is None else main_config(script.text, path, peeled.words, home, files)
    return () if main is None else (main.config,)


def _as_forked(facts: FrameworkFacts, text: ProgramText | None, program: str) -> FrameworkFacts:
    """The row of a framework, with the timeout of a fork where the visible text or the script's name is that of one."""
    for fork in facts.timeout.forks:
        told = text is not None and text.mentions(fork.reads) and not text.mentions(fork.instead_of)
        if told or posixpath.basename(program) in fork.scripts:
            return replace(facts, timeout=Timeout(fork.amounts, fork.seconds, fork.note, fork.how))
    return facts


def opaque_settings(reason: str, origin: Origin) -> TrainingSettings:
    """The settings of a program that nothing is known of."""
    unknown = Unknown(reason, origin)
    return TrainingSettings(
        save_path=unknown,
        save_interval=unknown,
        saving=unknown,
        total=unknown,
        retention=unknown,
        resume=unknown,
        timeout=unknown,
        asynchronous=unknown,
        in_memory=unknown,
        best_only=unknown,
        signal_save=unknown,
        second_path=unknown,
        exit_after=unknown,
        samples_per_step=unknown,
    )


# -- recognition -----------------------------------------------------------------------------------------------------


class _Seen(Struct, frozen=True):
    peeled: Peeled
    options: Options
    script: ScriptFacts | None
    configs: tuple[Config, ...]


def recognise(
    peeled: Peeled, options: Options, script: ScriptFacts | None = None, configs: tuple[Config, ...] = ()
) -> tuple[FrameworkFacts, Origin] | None:
    """The framework of a program, and what shows it. Strong signs of any row go before weak ones of all."""
    seen = _Seen(peeled, options, script, configs)
    if is_helper(peeled.name):
        return None
    for sign, may_show in _SIGNS.items():
        for row in FRAMEWORKS if may_show(seen) else ():
            needed = row.recognition.only_with
            if needed and options.find(*needed) is None:
                continue
            origin = sign(row, seen)
            if origin is not None:
                return row, origin
    return None


def is_framework_module(name: str) -> bool:
    """Whether a dotted name is that of a framework's own program, whose options say more than its text."""
    return any(matches(name, row.recognition.modules) for row in FRAMEWORKS)


def is_helper(name: str) -> bool:
    """Whether a script by its name prepares, converts or evaluates: with a framework's options, but no training."""
    lowered = name.lower()
    if matches(lowered, CHORES) and "train" not in lowered and "tune" not in lowered:
        return True
    return matches(lowered, HELPER_SCRIPTS) and not matches(lowered, TRAINING_SCRIPTS)


def _by_launcher(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    for launcher in seen.peeled.launchers:
        if launcher.kind in row.recognition.launchers:
            return replace(launcher.origin, note=f"started by {launcher.kind}")
    return None


def _by_name(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    peeled = seen.peeled
    if not peeled.program or row.name not in _named(peeled.form, peeled.program, peeled.name):
        return None
    if _is_by_its_text_another(row, seen):
        return None
    return replace(peeled.origin, note=f"the program is {peeled.name}")


def _is_by_its_text_another(row: FrameworkFacts, seen: _Seen) -> bool:
    """Whether the visible text of a program that is called like one of a framework imports another one instead: many
    a `pretrain_t5.py` has nothing of Megatron-LM."""
    if seen.script is None or not row.recognition.imports or _by_script(row, seen) is not None:
        return False
    return any(_by_script(other, seen) is not None for other in FRAMEWORKS)


@lru_cache(maxsize=1024)
def _named(form: str, program: str, name: str) -> frozenset[str]:
    """The rows that a program's name speaks for."""
    found = []
    for row in FRAMEWORKS:
        signs = row.recognition
        if form == "module":
            fits = matches(program, signs.modules)
        else:
            fits = matches(name, signs.scripts) or matches(program, signs.paths)
        if fits:
            found.append(row.name)
    return frozenset(found)


@lru_cache(maxsize=256)
def _first_names(options: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    return frozenset(Options.normal(names[0]) for names in options)


def _by_options(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    if seen.options.names.isdisjoint(_first_names(row.recognition.options)):
        return None
    for names in row.recognition.options:
        first = seen.options.find(names[0])
        if first is not None and all(seen.options.find(name) is not None for name in names[1:]):
            shown = ", ".join(f"--{name}" if "." not in name else name for name in names)
            return Origin(first.word.place, note=f"it is given {shown}")
    return None


def _by_script(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    script = seen.script
    if script is None:
        return None
    for name, origin in script.imports.items():
        if any(name == known or name.startswith(known + ".") for known in row.recognition.imports):
            return replace(origin, note=f"the script imports {name}")
    for call in row.recognition.calls:
        name, _, keyword = call.rstrip(")").partition("(")
        if name in script.calls and (not keyword or keyword in script.keywords.get(name, {})):
            return replace(script.calls[name], note=f"the script calls {name}")
    return None


def _by_config(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    signs = row.recognition
    if seen.peeled.name not in signs.with_config or not any(
        one.kind in signs.weak_launchers for one in seen.peeled.launchers
    ):
        return None
    for word in seen.options.positionals:
        if word.prefix.endswith(row.config.positional):
            return Origin(word.place, note=f"{seen.peeled.name} takes {word.shown}")
    return None


def _by_weak_launcher(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    if row.recognition.with_config:
        return None
    for launcher in reversed(seen.peeled.launchers):
        if launcher.kind in row.recognition.weak_launchers:
            return replace(launcher.origin, note=f"started by {launcher.kind}")
    return None


def _by_variable(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    if not row.recognition.variables:
        return None
    environment = seen.peeled.environment
    name = _fitting(row.recognition.variables).first(environment)
    if name is None:
        return None
    origin = environment.variables[name].origin or environment.home
    return replace(origin, note=f"{name} is set")


class _Fitting:
    """The first variable whose name fits a pattern, of one environment after the other: the commands of a script mostly
    share one, or have one that differs by a few variables from that of a command before."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.last: Mapping[str, Setting[str]] = {}
        self.found: str | None = None
        self.layered: Mapping[str, Setting[str]] = {}
        """The last variables of many."""
        self.names: list[str] = []
        """Those of them whose names fit."""

    def first(self, environment: Environment) -> str | None:
        if environment.variables is not self.last:
            self.last = environment.variables
            self.found = self._look(environment)
        return self.found

    def _look(self, environment: Environment) -> str | None:
        variables = environment.variables
        if not isinstance(variables, Layered):
            return next((name for name in environment if matches(name, self.patterns)), None)
        new = (name for name in differing(self.layered, variables) if matches(name, self.patterns))
        self.names = [name for name in dict.fromkeys((*self.names, *new)) if name in variables]
        self.layered = variables
        given = [name for name in self.names if name in environment]
        if len(given) > 1:
            given = [name for name in environment if name in given]
        return given[0] if given else None


_fitting = lru_cache(maxsize=128)(_Fitting)


def _by_keys(row: FrameworkFacts, seen: _Seen) -> Origin | None:
    for config in seen.configs:
        for keys in row.recognition.config_keys:
            values = [config.values.get(Options.normal(key)) for key in keys]
            if all(value is not None for value in values):
                first = values[0]
                origin = (first.origin if first is not None else None) or config.home
                return replace(origin, note=f"its configuration has {', '.join(keys)}")
    return None


def _started(seen: _Seen) -> bool:
    return bool(seen.peeled.launchers)


def _has_known_options(seen: _Seen) -> bool:
    return not _all_first_names().isdisjoint(seen.options.names)


@cache
def _all_first_names() -> frozenset[str]:
    return frozenset().union(*(_first_names(row.recognition.options) for row in FRAMEWORKS))


def _takes_config(seen: _Seen) -> bool:
    return seen.peeled.name in _all_with_config()


@cache
def _all_with_config() -> frozenset[str]:
    return frozenset(name for row in FRAMEWORKS for name in row.recognition.with_config)


_SIGNS: dict[Callable[[FrameworkFacts, _Seen], Origin | None], Callable[[_Seen], bool]] = {
    _by_launcher: _started,
    _by_name: lambda seen: bool(seen.peeled.program),
    _by_options: _has_known_options,
    _by_script: lambda seen: seen.script is not None,
    _by_keys: lambda seen: bool(seen.configs),
    _by_config: _takes_config,
    _by_weak_launcher: _started,
    _by_variable: lambda _: True,
}
"""From the strongest to the weakest, each with a quick test whether it can show any framework at all."""


# -- configuration files ---------------------------------------------------------------------------------------------

_ANY_CONFIG = ConfigSource(options=CONVENTIONS.config, positional=_CONFIG_ENDINGS, name_option="config-name")


def _configs(facts: FrameworkFacts | None, options: Options, files: Files) -> tuple[Config, ...]:
    """The configurations of a program. A script of one's own names it as it likes, whatever library it calls: where it
    is not seen, the script's text tells what it makes of it."""
    if facts is None or facts.visible or facts.config != ConfigSource():
        return read_configs(options, facts.config if facts is not None else _ANY_CONFIG, files)
    return tuple(config for config in read_configs(options, _ANY_CONFIG, files) if not config.open_because)


def _usual_configs(facts: FrameworkFacts | None, options: Options, files: Files) -> Iterator[Config]:
    """The configurations that a script names by default (`--config ${CONFIG:-base.yaml}`), where they are in reach."""
    source = facts.config if facts is not None and facts.config != ConfigSource() else _ANY_CONFIG
    for _, occurrence in options.among(source.options):
        value = occurrence.value
        if isinstance(value, Unknown) and value.otherwise.endswith(_CONFIG_ENDINGS):
            config = _config(
                Set(value.otherwise, value.origin or Origin(occurrence.word.place)), options.home, source, files
            )
            if not config.open_because:
                yield config


def read_configs(options: Options, source: ConfigSource, files: Files) -> tuple[Config, ...]:
    """The configuration files that the arguments name. One that is not visible comes out open."""
    found: list[Config] = []
    if source.name_option:
        named = _named_config(options, source, files)
        if named is not None:
            return (named,)
    for _, occurrence in options.among(source.options):
        if not occurrence.bare:
            found.append(_config(occurrence.value, Origin(occurrence.word.place), source, files))
    for word in options.positionals if source.positional else ():
        if word.prefix.lower().endswith(source.positional) or (word.known is None and not word.prefix):
            found.append(_config(word.setting, Origin(word.place), source, files))
    return tuple(found)


def _named_config(options: Options, source: ConfigSource, files: Files) -> Config | None:
    """Hydra's configuration by its name (`--config-name`), where that is a file in reach or one that is shipped."""
    named = options.find(source.name_option)
    if named is None or not isinstance(named.value, Set) or not named.value.value:
        return None
    from kube_gaplint.launch.hydra import named_config

    folder = options.find("config-path")
    path = "" if folder is None else path_of(folder.value)
    if path is None:
        return None
    return named_config(path, named.value.value, Origin(named.word.place), files, source.standard)


def _config(setting: Setting[str], origin: Origin, source: ConfigSource, files: Files) -> Config:
    path = path_of(setting)
    if path is None:
        return Config("", origin, open_because="the configuration file is not known")
    if posixpath.basename(path) in source.standard:
        return Config(path, origin)
    text = files(path)
    if text is None and source.folder and not posixpath.splitext(path)[1]:
        text = files(f"{source.folder}/{path}.yaml")
    if text is None:
        return Config(path, origin, open_because=f"the configuration {path} is not visible")
    return read_config(text, path, expanded=isinstance(text, ExpandedText) and text.expanded)


def _valued_names(facts: FrameworkFacts) -> list[str]:
    """Options that surely take a value, so that an unknown one after them opens nothing."""
    names: list[str] = []
    for amount in (*facts.interval, *facts.total, *facts.retention, *facts.timeout.amounts, *facts.exit_after):
        names.extend(amount.keys)
    for path in (*facts.save_path, *facts.second_path):
        names.extend(key for key, _ in path.parts)
    names.extend(facts.samples_per_step)
    if facts.strategy is not None:
        names.extend(facts.strategy.keys)
    if facts.resume is not None and facts.resume.kind == "same-path":
        names.extend(facts.resume.keys)
    flags = {Options.normal(flag) for flag in facts.flags.split()}
    return [name for name in names if name[0] not in "$" and "(" not in name and Options.normal(name) not in flags]


def _unseen(
    peeled: Peeled,
    facts: FrameworkFacts | None,
    options: Options,
    configs: tuple[Config, ...],
    script: ScriptFacts | None,
) -> str:
    """Why a key that is not given may be set all the same; empty where everything was seen."""
    if options.open_because:
        return options.open_because
    for config in configs:
        if config.open_because:
            return config.open_because
    if facts is None or not facts.visible:
        if script is None:
            return f"the text of {peeled.name or 'the program'} is not visible"
        if script.open_because:
            return script.open_because
    return facts.config.default_elsewhere if facts is not None else ""


# -- settings --------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads the settings of one program by the row of its framework, or by conventions where it has none."""

    def __init__(
        self,
        look: Lookup,
        facts: FrameworkFacts | None,
        peeled: Peeled,
        torch: Setting[Release],
        text: ProgramText | None,
    ) -> None:
        self.text = text or ProgramText()
        self.look = look
        self.facts = facts
        self.peeled = peeled
        self.torch = torch
        self.usual: Callable[[], Iterable[Config]] = tuple
        """The configurations that hold unless who starts the script names others."""

    def read(self) -> TrainingSettings:
        facts, look = self.facts, self.look
        loose = facts is None or not facts.visible
        path = self._paths(facts.save_path if facts is not None else ())
        if loose and not isinstance(path, Set):
            path = self._conventional_path() or self._script_path() or self._variable_path() or path
        effect, effect_setting = self._strategy()
        interval = self._interval(effect, effect_setting)
        total = self._total()
        if loose and not isinstance(interval, Set):
            named = self._named(CONVENTIONS.interval, total)
            looped = None if isinstance(named, Set) else self._by_loops("save_every") or self._epochs_between_saves()
            interval = looped or named or self._untold(interval)
        saving = self._saving(path, interval, effect, effect_setting)
        if isinstance(saving, Set) and not saving.value:
            interval = Absent(saving.origin)
        retention = self._retention()
        return TrainingSettings(
            save_path=path,
            save_interval=interval,
            saving=saving,
            total=total,
            retention=retention,
            resume=self._resume(path, saving),
            timeout=self._timeout(),
            asynchronous=self._switch(facts.asynchronous if facts is not None else None),
            in_memory=self._in_memory(),
            best_only=self._best_only(effect, effect_setting),
            signal_save=self._signal_save(),
            second_path=self._paths(facts.second_path, missing_is_absent=True)
            if facts is not None and facts.second_path
            else self._second_of_script(path) or look.missing(()),
            exit_after=self._exit_after(),
            samples_per_step=self._samples(),
            usual_total=self._usual_total(total) or self._usually(total, CONVENTIONS.usual_total),
            usual_interval=self._usually(interval, CONVENTIONS.usual_interval),
            unseen_config=next((config.open_because for config in look.configs if config.open_because), ""),
            stop_signals=look.script.stop_signals if look.script is not None else frozenset(),
            fetched=look.script.fetched if look.script is not None else (),
            extra=self._extra(),
        )

    # -- paths

    def _paths(self, paths: tuple[PathOf, ...], *, missing_is_absent: bool = False) -> Setting[str]:
        """The first path that is given; else the first that has a default."""
        look = self.look
        if not paths:
            return look.missing(())
        for path in paths:
            if any(look.given((key,)) is not None for key, _ in path.parts):
                return self._join(path)
        missing = look.missing([key for path in paths for key, _ in path.parts])
        if isinstance(missing, Absent) and not missing_is_absent:
            for path in paths:
                if all(default is not None for _, default in path.parts):
                    return self._join(path)
        return missing

    def _join(self, path: PathOf) -> Setting[str]:
        joined = ""
        origin: Origin | None = None
        written = False
        for key, fallback in path.parts:
            value = self.look.get(key)
            if isinstance(value, Unknown):
                before = (
                    f"{joined.rstrip('/')}/{value.prefix}"
                    if joined and not value.prefix.startswith("/")
                    else value.prefix
                )
                if written or self.look.given((key,)) is not None:
                    return Unknown(value.reason, value.origin, before)
                return value
            if isinstance(value, Absent):
                if fallback is None:
                    return value
                text = fallback
            else:
                text = value.value
                if not written or text.startswith("/") or "://" in text:
                    origin = value.origin
                written = True
            joined = _join_paths(joined, text)
        if written and origin is not None:
            return Set(joined, origin)
        note = self.facts.title if self.facts is not None else ""
        return Set(joined, Origin(self.look.home.place, "default", f"{note}'s default folder"))

    def _conventional_path(self) -> Setting[str] | None:
        """A place for checkpoints by the option's name. `--output results.json` writes something else."""
        names = CONVENTIONS.save_path
        while (found := self.look.given(names)) is not None:
            key, value = found
            text = value.value.strip().lower() if isinstance(value, Set) else self._ending(key)
            if not text.endswith(DATA_FILES):
                return None if isinstance(value, Set) and text in _FALSE else value
            names = names[names.index(key) + 1 :]
        return None

    def _ending(self, key: str) -> str:
        """The text that ends an option's value which is not known as a whole (`/tmp/$label.json`)."""
        option = self.look.options.find(key)
        if option is None or option.bare:
            return ""
        words = self.peeled.words
        at = words.index(option.word) if option.word in words else len(words)
        separate = isinstance(option.word.pieces[-1], str) and "=" not in option.word.prefix
        last = words[at + separate].pieces[-1] if at + separate < len(words) else ""
        return last.lower() if isinstance(last, str) else ""

    def _script_path(self) -> Setting[str] | None:
        script = self.look.script
        if script is None:
            return None
        for path in script.save_paths:
            if not isinstance(path, Absent):
                return path
        return None

    def _second_of_script(self, path: Setting[str]) -> Setting[str] | None:
        """Another folder that a visible script saves to besides its first one; None where there is none."""
        known = [one for one in (self.look.script.save_paths if self.look.script else ()) if isinstance(one, Set)]
        if not isinstance(path, Set) or path not in known:
            return None
        first = posixpath.dirname(path.value)
        return next((one for one in known if posixpath.dirname(one.value) != first), None)

    def _variable_path(self) -> Setting[str] | None:
        """A variable that by its name holds the save path of a script whose text is not seen."""
        if self.look.script is not None:
            return None
        for name in CONVENTIONS.variables:
            value = self.look.environment.variables.get(name)
            if value is not None and not isinstance(value, Absent):
                return value
        return None

    # -- what is saved, and when

    def _strategy(self) -> tuple[str, Setting[str]]:
        """The effect of an option that chooses what triggers a save; empty where the other options do."""
        strategy = self.facts.strategy if self.facts is not None else None
        if strategy is None:
            return "", Absent(self.look.home)
        value = self.look.get(*strategy.keys)
        if isinstance(value, Set):
            text = value.value.strip().strip("\"'").lower().rsplit(".", 1)[-1]
            effect = strategy.effects.get(text)
            return (
                (effect, value) if effect is not None else ("?", Unknown(f"{value.value!r} is not known", value.origin))
            )
        if isinstance(value, Unknown):
            return "?", value
        return strategy.default or "", value

    def _interval(self, effect: str, setting: Setting[str]) -> Setting[Quantity]:
        facts, look = self.facts, self.look
        if facts is None:
            return look.missing(())
        if effect == "off":
            return Absent(setting.origin or look.home)
        if effect == "epochs":
            return Set(Quantity(1, "epochs"), setting.origin or look.home)
        if effect == "best":
            return Unknown("it saves when a metric is best", setting.origin)
        if effect == "?":
            return Unknown("what triggers a save is not known", setting.origin)
        found = self._amount(facts.interval)
        each = None if facts.every_epoch is None else self._switch(facts.every_epoch)
        if each is not None and not _within_an_epoch(found):
            if isinstance(each, Unknown):
                return Unknown("whether it saves after every epoch is not known", each.origin)
            if isinstance(each, Set) and each.value:
                return Set(Quantity(1, "epochs"), each.origin)
        fallback = facts.interval_default
        left_to_it = isinstance(found, Unknown) and self._leaves_the_interval(facts)
        if not isinstance(found, Absent) and not left_to_it:
            return found
        if fallback is None or (look.unseen and not left_to_it):
            return found
        note = f"{facts.title}'s default: {fallback.note}"
        return Set(Quantity(fallback.value, fallback.unit), Origin(look.home.place, "default", note))  # type: ignore[arg-type]

    def _leaves_the_interval(self, facts: FrameworkFacts) -> bool:
        """Whether a program of which all is seen makes what saves, and nothing in it or its configuration says how
        often: neither by the keywords for it nor by what shifts it (`interval_shifts`)."""
        keywords = [key[key.index("(") + 1 : -1] for amount in facts.interval for key in amount.keys if key[-1] == ")"]
        shifts = (*keywords, *facts.interval_shifts)
        if not facts.interval_shifts or not self._saves_by_its_text(facts):
            return False
        settled = self.look.given((facts.interval_settled,)) if facts.interval_settled else None
        if settled is not None and isinstance(settled[1], Set) and settled[1].value == "true":
            shifts = (*keywords, *(name for name, value in facts.interval_shifts.items() if not value))
        if self.text.mentions(*shifts) is not False:
            return False
        harmless = {Options.normal(name): facts.interval_shifts.get(name, "") for name in shifts}
        if not harmless.keys().isdisjoint(name.rpartition(".")[2] for name in self.look.options.names):
            return False
        return all(
            isinstance(value, Absent) or (isinstance(value, Set) and value.value == harmless[last])
            for config in self.look.configs
            for name, value in config.values.items()
            if (last := name.rpartition(".")[2]) in harmless
        )

    def _untold(self, interval: Setting[Quantity]) -> Setting[Quantity]:
        """The interval of a script of somebody's own that saves, and neither options nor loops say how often."""
        script = self.look.script
        if not isinstance(interval, Absent) or script is None or script.saves_only_at_stop:
            return interval
        return Unknown("its text does not tell how often it saves", script.origin)

    def _amount(self, amounts: tuple[Amount, ...]) -> Setting[Quantity]:
        """The first of several amounts that is in use."""
        look = self.look
        unread: Unknown | None = None
        for amount in amounts:
            found = look.given(amount.keys)
            if found is None:
                continue
            key, value = found
            if isinstance(value, Unknown):
                unread = unread or value
                continue
            if not isinstance(value, Set) or is_off(value.value, amount):
                continue
            read = quantity(value.value, amount.unit, key)
            if read is None:
                unread = unread or Unknown(f"{value.value!r} cannot be read", value.origin)
                continue
            return unread or self._times(amount, read, value.origin)
        if unread is not None:
            return unread
        return self._switched_off(amounts) or look.missing([key for amount in amounts for key in amount.keys])

    def _times(self, amount: Amount, read: Quantity, origin: Origin) -> Setting[Quantity]:
        """An amount with the options that multiply it."""
        total = read.amount
        for name in amount.times:
            given = self.look.given((name,))
            if given is None:
                continue
            factor = quantity(given[1].value, "steps") if isinstance(given[1], Set) else None
            if factor is None:
                return Unknown(f"it is multiplied by {name}, which is not known", given[1].origin)
            total *= factor.amount
        return Set(Quantity(total, read.unit), origin)

    def _switched_off(self, amounts: tuple[Amount, ...]) -> Absent | None:
        """An amount that the command line switches off in every form it has: no file that is not seen sets it then."""
        off: Absent | None = None
        if self.look.options.open_because:
            return None
        for amount in amounts:
            found = self.look.options.find(*amount.keys)
            if found is None or not isinstance(found.value, Set) or not is_off(found.value.value, amount):
                return None
            off = off or Absent(found.value.origin)
        return off

    def _named(self, names: tuple[str, ...], beside: Setting[Quantity] | None = None) -> Setting[Quantity] | None:
        """An amount of an unknown program: its unit is that of the option's name, or of the total beside it."""
        found = self.look.given(names)
        if found is None:
            return None
        key, value = found
        if not isinstance(value, Set):
            return value
        amount = Amount((key,), "named")
        if is_off(value.value, amount):
            return None
        unit = unit_of_name(key)
        if unit is None and isinstance(beside, Set) and beside.value.unit == "steps":
            unit = "steps"
        read = quantity(value.value, unit or "epochs-or-time-string")
        if read is None or unit is None:
            return Unknown(f"the unit of --{key} is not known", value.origin)
        if unit == "steps" and "step" in key.lower() and self.look.given(CONVENTIONS.simulations) is not None:
            return Set(Quantity(read.amount, "samples"), value.origin)  # each is one sample of experience
        return Set(read, value.origin)

    def _saving(
        self, path: Setting[str], interval: Setting[Quantity], effect: str, setting: Setting[str]
    ) -> Setting[bool]:
        facts, look = self.facts, self.look
        if effect == "off" and look.script is not None and look.script.hands_callbacks:
            return Unknown("a callback of the script may save", setting.origin)
        if effect == "off":
            return Set(False, setting.origin or look.home)
        if effect == "?":
            return Unknown("what triggers a save is not known", setting.origin)
        if facts is None or (not facts.visible and not facts.needs and facts.saving is None):
            switched = self._told_not_to_save() or self._off_by_switch()
            if switched is not None:
                return switched
            script = look.script
            if script is not None and script.saves_once and not isinstance(interval, Set) and not self._at_stop():
                place = script.save_paths[0].origin or script.origin
                return Set(False, Origin(place.place, "derived", SAVES_ONCE))
            # A hand-written script that is given a place or an interval for saves, saves.
            for given in (interval, path):
                if isinstance(given, Set) and given.origin.written:
                    return Set(True, given.origin)
            return self._script_saves()
        for name in facts.saves_by:
            if look.script is not None and name in look.script.calls:
                return Set(True, look.script.calls[name])
        if facts.saving is not None:
            switch = self._switch(facts.saving)
            if isinstance(switch, Unknown) and self._saves_by_its_text(facts):
                return Set(True, Origin(look.home.place, "derived", f"its text makes a {facts.saves_with[0]}"))
            if not (isinstance(switch, Set) and switch.value and facts.needs):
                return switch
        for need, given in (("path", path), ("interval", interval)):
            if need not in facts.needs:
                continue
            if isinstance(given, Absent):
                if given.origin.place != look.home.place:
                    return Set(False, given.origin)  # somebody wrote that it is not to be
                if need == "interval" and facts.refuses_path_alone and not self._not_given("path"):
                    return Unknown(f"{facts.title} does not start so: a fork saves on its own schedule", look.home)
                return Set(False, Origin(given.origin.place, "default", f"{facts.title} saves nothing without it"))
            if isinstance(given, Unknown) and not given.prefix and self._not_given(need):
                return given
        if isinstance(path, Set):
            if not path.origin.written and isinstance(interval, Set) and interval.origin.written:
                return Set(True, interval.origin)
            return Set(True, path.origin)
        if isinstance(path, Unknown) and "path" in facts.needs:
            return Set(True, Origin(look.home.place, "derived", "it is given a folder whose name is not known"))
        return Set(True, Origin(look.home.place, "default", f"{facts.title} saves by itself"))

    def _saves_by_its_text(self, facts: FrameworkFacts) -> bool:
        """Whether all of the program's text is seen, and it makes what saves and has nothing that may switch it off."""
        look = self.look
        if not facts.saves_with or not self._all_is_seen():
            return False
        given = (value.value for config in look.configs for value in config.values.values() if isinstance(value, Set))
        makes = self.text.mentions(*facts.saves_with) or any(text.endswith(facts.saves_with) for text in given)
        off = frozenset(map(Options.normal, facts.saves_not))
        names = (
            name.rpartition(".")[2]
            for keys in (look.options.names, *(one.values for one in look.configs))
            for name in keys
        )
        if makes is not True or not off.isdisjoint(names):
            return False
        return not any(self._may_switch_off(facts, word) for word in facts.saves_not)

    def _may_switch_off(self, facts: FrameworkFacts, word: str) -> bool:
        """Whether some line of the program may switch saving off by a word: not where it gives it the value that
        leaves saving on, be it by an option that nobody gives."""
        harmless = facts.saves_unless.get(word)
        for text in self.text.texts:
            for line in text.split("\n") if word in text else ():
                if word not in line or line.lstrip().startswith("#"):
                    continue
                given = None if harmless is None else _gives(word).search(line)
                if given is None or (given[1] != harmless and (harmless != "False" or not self._is_left_off(given[1]))):
                    return True
        return False

    def _is_left_off(self, value: str) -> bool:
        """Whether what is handed on is an option that nobody gives and that is off by default."""
        from kube_gaplint.launch.restores import is_off as is_left_off

        _, point, name = value.rpartition(".")
        return bool(point) and is_left_off(name, tuple(self.text.texts), self._declared_off)

    def _all_is_seen(self) -> bool:
        """Whether the options, the configurations and the text of the program are all there."""
        opened = self.look.options.open_because or any(config.open_because for config in self.look.configs)
        return not opened and not self.text.open_because

    def _told_not_to_save(self) -> Set[bool] | None:
        """An option of the command line that by its name switches the saves of somebody's own program off."""
        for name, option in self.look.options.among(CONVENTIONS.not_saving):
            if option.bare or (isinstance(option.value, Set) and option.value.value.strip().lower() not in _FALSE):
                said = f"{Options.normal(name).replace('-', '_')} is given"
                return Set(False, Origin(option.word.place, note=SWITCHED_OFF + said))
        return None

    def _off_by_switch(self) -> Set[bool] | None:
        """A switch of the program's own that is off, where its text saves in no loop without it."""
        look, script = self.look, self.look.script
        if script is None:
            return None
        for name in CONVENTIONS.saving:
            value, normal = look.explicit(name), Options.normal(name)
            if value is None and not look.options.open_because:
                value = script.declared.get(normal)
            if isinstance(value, Set) and (look.bare(name) or value.value.strip().lower() not in _FALSE):
                continue
            if not isinstance(value, Absent | Set) or self.text.open_because:
                continue
            if not decides_on_saves(self.text.texts, normal.replace("-", "_")):
                continue
            origin = value.origin or look.home
            said = f"{normal.replace('-', '_')} is {value.value if isinstance(value, Set) else 'not set'}"
            given = look.options.find(name) is not None
            return Set(False, replace(origin, via="written" if given else "default", note=SWITCHED_OFF + said))
        return None

    def _script_saves(self) -> Setting[bool]:
        """Whether a visible script saves at all."""
        script = self.look.script
        missing = self.look.missing(())
        if script is None:
            return missing if isinstance(missing, Unknown) else Unknown("its text is not visible", self.look.home)
        if script.save_paths:
            return Set(True, script.save_paths[0].origin or script.origin)
        if saved_by_keras(next(self.text.texts, "")):
            return Set(True, Origin(script.origin.place, "derived", "its text gives Keras a ModelCheckpoint"))
        nowhere = Origin(script.origin.place, "derived", "nothing in the visible script saves")
        return missing if isinstance(missing, Unknown) else Set(False, nowhere)

    def _not_given(self, need: str) -> bool:
        """Whether a need is nowhere visible: given with an unknown value, it is given all the same; an interval that
        switches saving off is none."""
        facts = self.facts
        assert facts is not None
        if need == "path":
            return self.look.given([key for path in facts.save_path for key, _ in path.parts]) is None
        for amount in facts.interval:
            found = self.look.given(amount.keys)
            if found is not None and not (isinstance(found[1], Set) and is_off(found[1].value, amount)):
                return False
        return True

    def _switch(self, switch: Switch | None) -> Setting[bool]:
        look = self.look
        if switch is None:
            return look.missing(()) if look.unseen else Unknown("not known of this program", look.home)
        found = look.given(switch.keys)
        if found is None:
            missing = look.missing(switch.keys)
            if isinstance(missing, Absent) and switch.default is not None:
                note = switch.note or "off by default"
                return Set(switch.default, Origin(look.home.place, "default", note))
            return missing if isinstance(missing, Unknown) else Unknown("its default is not known", look.home)
        key, value = found
        if not isinstance(value, Set):
            return value
        is_on = look.bare(key) or value.value.strip().strip("\"'").lower() not in switch.off
        return Set(is_on is not switch.inverted, value.origin)

    def _best_only(self, effect: str, setting: Setting[str]) -> Setting[bool]:
        look = self.look
        if effect == "best":
            return Set(True, setting.origin or look.home)
        if effect == "?":
            return Unknown("what triggers a save is not known", setting.origin)
        missing = look.missing(())
        return missing if isinstance(missing, Unknown) else Set(False, Origin(look.home.place, "default"))

    def _in_memory(self) -> Setting[bool]:
        look = self.look
        switches = self.facts.in_memory if self.facts is not None else ()
        given = look.given(CONVENTIONS.in_memory) if self.facts is None or not self.facts.visible else None
        if given is not None and isinstance(given[1], Set):
            return Set(given[1].value.strip().lower() not in _FALSE, given[1].origin)
        unknown: Unknown | None = None
        for switch in switches:
            found = self._switch(switch)
            if isinstance(found, Set) and found.value:
                return found
            if isinstance(found, Unknown):
                unknown = found
        missing = look.missing(())
        if unknown is not None:
            return unknown
        return missing if isinstance(missing, Unknown) else Set(False, Origin(look.home.place, "default"))

    def _signal_save(self) -> Setting[bool]:
        script = self.look.script
        own = script.saves_at_stop if script is not None else None
        if own is not None and self._at_stop():
            return own
        if self.facts is not None and self.facts.signal_save is not None:
            switch = self._switch(self.facts.signal_save)
            return own if isinstance(own, Unknown) and not (isinstance(switch, Set) and switch.value) else switch
        if own is not None:
            return own
        missing = self.look.missing(())
        return missing if isinstance(missing, Unknown) else Unknown("not known of this program", self.look.home)

    def _at_stop(self) -> bool:
        """The visible script surely saves when it is told to stop."""
        own = self.look.script.saves_at_stop if self.look.script is not None else None
        return isinstance(own, Set) and own.value

    # -- how much, how long

    def _total(self) -> Setting[Quantity]:
        facts, look = self.facts, self.look
        found = self._amount(facts.total) if facts is not None and facts.total else look.missing(())
        if isinstance(found, Set):
            return found
        if facts is None or not facts.visible:
            return self._named(CONVENTIONS.total) or self._by_loops("steps") or found
        if isinstance(found, Absent) and facts.total_default is not None and not look.unseen:
            note = f"{facts.title}'s default: {facts.total_default.note}"
            default = facts.total_default
            return Set(Quantity(default.value, default.unit), Origin(look.home.place, "default", note))  # type: ignore[arg-type]
        return found

    def _by_loops(self, what: Literal["steps", "save_every"]) -> Set[Quantity] | None:
        """Steps that the loops of a visible script tell."""
        script = self.look.script
        number = None if script is None else script.steps if what == "steps" else script.save_every
        return None if number is None else Set(Quantity(number.value, "steps"), number.origin)

    def _epochs_between_saves(self) -> Set[Quantity] | None:
        """Epochs that the loop of a visible script lets pass between saves, where no module of its own saves besides:
        only functions that by their name are there for it do."""
        number = None if self.look.script is None else self.look.script.save_epochs
        if number is None:
            return None
        if any(map(_saves_besides, islice(self.text.texts, 1, None))):
            return None
        return Set(Quantity(number.value, "epochs"), number.origin)

    def _usual_total(self, total: Setting[Quantity]) -> Quantity | None:
        """The length that the script's own default gives (`--max-steps ${STEPS:-50}`)."""
        if not isinstance(total, Unknown) or not total.otherwise:
            return None
        facts = self.facts
        amounts = facts.total if facts is not None and facts.total else (Amount(CONVENTIONS.total, "named"),)
        for amount in amounts:
            found = self.look.given(amount.keys)
            if found is None or found[1] != total:
                continue
            unit = amount.unit if amount.unit != "named" else unit_of_name(found[0])
            return None if unit is None else quantity(total.otherwise, unit, found[0])
        return None

    def _usually(self, told: Setting[Quantity], names: tuple[str, ...]) -> Quantity | None:
        """What the configuration that the script names by default gives for an amount that is not known."""
        if not isinstance(told, Unknown):
            return None
        for config in self.usual():
            for name in names:
                value = config.values.get(Options.normal(name))
                if isinstance(value, Set) and (found := quantity(value.value, "named", name)) is not None:
                    return found if found.amount > 0 else None
        return None

    def _retention(self) -> Setting[int]:
        facts, look = self.facts, self.look
        loose = facts is None or not facts.visible
        if loose:
            found = look.given(CONVENTIONS.retention)
            if found is not None:
                amount = Amount((found[0],), "steps")
                if isinstance(found[1], Set) and is_off(found[1].value, amount):
                    return Absent(found[1].origin)
                return _count(mapped(found[1], lambda text: quantity(text, "steps")))
        if facts is None or not (facts.retention or facts.retention_default):
            return look.missing(())
        other = look.given(facts.retention_other)
        if other is not None:
            return Unknown(f"--{other[0]} thins them out", other[1].origin)
        given = look.given([key for amount in facts.retention for key in amount.keys])
        value = self._amount(facts.retention)
        if isinstance(value, Absent) and given is not None and isinstance(given[1], Set):
            return Absent(given[1].origin)  # an explicit "keep all"
        if isinstance(value, Absent) and facts.retention_default is not None:
            note = f"{facts.title} keeps {facts.retention_default} by default"
            return Set(facts.retention_default, Origin(look.home.place, "default", note))
        return _count(value)

    def _timeout(self) -> Setting[float]:
        facts, look = self.facts, self.look
        given = self._given_timeout(
            (*facts.timeout.calls, *facts.timeout.amounts) if facts is not None else CONVENTIONS.timeout
        )
        if given is not None:
            return given
        if facts is None:
            return look.missing(())
        old = look.given(facts.old_releases) if facts.old_releases else None
        if old is not None:
            return Unknown(f"--{old[0]} is of an older {facts.title}, whose default is another", old[1].origin)
        timeout = facts.timeout
        if timeout.calls and any(map(_GROUP_WITH_TIMEOUT.search, islice(self.text.texts, 1, None))):
            return Unknown("a module of the program gives its process group a timeout", look.home)
        calls = look.script.calls if look.script is not None else {}
        for call in timeout.made_by:
            if call in calls:
                return Unknown(f"{call} makes the process group before {facts.title}", calls[call])
        missing = look.missing([key for amount in timeout.amounts for key in amount.keys])
        if isinstance(missing, Unknown):
            return missing
        if facts.runtime != "torch":
            return Unknown(timeout.note or f"{facts.title} has no process group of torch", look.home)
        if timeout.seconds is not None:
            note = f"{facts.title}'s default: {timeout.note}"
            return Set(timeout.seconds, Origin(look.home.place, "default", note))
        if isinstance(self.torch, Set):
            defaults = torch_facts.defaults(self.torch.value)
            if defaults is not None:
                shown = ".".join(map(str, self.torch.value))
                return Set(defaults.timeout_nccl, Origin(look.home.place, "default", f"torch {shown}'s default"))
        return Absent(look.home)

    def _given_timeout(self, amounts: tuple[Amount, ...]) -> Setting[float] | None:
        """The timeout that an option gives; None where none does."""
        for amount in amounts:
            found = self.look.given(amount.keys)
            if found is None:
                continue
            key, value = found
            if not isinstance(value, Set):
                return value
            if value.value.strip().lower() in {"none", "null", ""}:
                continue
            read = quantity(value.value, amount.unit, key)
            seconds = read.seconds if read is not None else None
            if seconds is None:
                return Unknown(f"{value.value!r} cannot be read", value.origin)
            return Set(seconds, value.origin)
        return None

    def _exit_after(self) -> Setting[float]:
        if self.facts is None or not self.facts.exit_after:
            return self.look.missing(())
        found = self._amount(self.facts.exit_after)
        if not isinstance(found, Set):
            return found
        seconds = found.value.seconds
        return Unknown("it is no time", found.origin) if seconds is None else Set(seconds, found.origin)

    def _samples(self) -> Setting[float]:
        keys = self.facts.samples_per_step if self.facts is not None else CONVENTIONS.samples_per_step
        if not keys:
            return self.look.missing(())
        varies = (
            self.look.given(self.facts.samples_vary) if self.facts is not None and self.facts.samples_vary else None
        )
        if varies is not None:
            return Unknown(f"--{varies[0]} changes the batch size during the run", varies[1].origin)
        value = self._amount((Amount(keys, "samples"),))
        return mapped(value, lambda found: found.amount)

    # -- going on after a failure

    def _resume(self, path: Setting[str], saving: Setting[bool]) -> Setting[bool]:
        facts, look = self.facts, self.look
        rule = facts.resume if facts is not None else None
        if rule is None:
            return self._conventional_resume(path, saving)
        if rule.kind == "same-path":
            return self._same_path(rule, path)
        given = look.given(rule.keys) if rule.keys else None
        if given is not None:
            key, value = given
            if not isinstance(value, Set):
                note = self._begins_anew(path, by_trainer=True) if key in _GOES_ON_KEYS else ""
                return Set(False, Origin(look.home.place, "derived", note)) if note else value
            if look.bare(key) or value.value.strip().strip("\"'").lower() not in _FALSE:
                return _of_what_it_names(value)
            return Set(False, value.origin)
        for name in rule.unless:
            stop = look.given((name,))
            if stop is None:
                continue
            if not isinstance(stop[1], Set):
                return stop[1]
            if look.bare(name) or stop[1].value.strip().lower() not in _FALSE:
                return Set(False, stop[1].origin)
        script = look.script
        if script is not None and self._call_begins_anew(rule, script):
            if script.open_because and self._all_is_seen() and not self._begins_anew(path, by_trainer=True):
                return Unknown("a module of the program may read a checkpoint back", script.origin)
            return Set(False, Origin(script.origin.place, "derived", rule.note))
        missing = look.missing((*rule.keys, *rule.unless))
        if isinstance(missing, Unknown):
            note = self._call_of_a_module_begins_anew(rule, path)
            return Set(False, Origin(look.home.place, "derived", note)) if note else missing
        default = True if rule.kind == "always" else rule.default
        if matches(self.peeled.name, rule.by_itself):
            default = True
        if default is None:
            found = self._begins_anew_by_its_call(rule, script) if script is not None and rule.finds else None
            return Unknown("whether the script resumes is not visible", look.home) if found is None else found
        return Set(default, Origin(look.home.place, "default", rule.note))

    def _begins_anew_by_its_call(self, rule: Resume, script: ScriptFacts) -> Setting[bool] | None:
        """Whether a script goes on with a run, by what it tells the trainer that it makes; None where that is not seen.

        A module that is not seen matters only where the script leaves it to others to make the trainer or to call it.
        """
        makes = {call for call in script.calls if call.endswith("Trainer")}
        if not makes:
            return None
        finds = self.text.mentions(*rule.finds)
        call, keyword = _GOES_ON_BY[0]
        told = script.keywords.get(call, {}).get(keyword)
        if isinstance(told, Unknown) and not _BY_ITS_OPTION.search(next(self.text.texts, "")):
            return None  # what it is given is worked out by the program
        if finds is False:
            note = "nothing in the visible program looks for its last checkpoint"
            return Set(False, Origin(script.origin.place, "derived", note))
        note = "its trainer is given no checkpoint to go on from"
        if isinstance(told, Absent):  # by an option that is left out, say
            return Set(False, Origin(told.origin.place, "derived", note))
        known = any(
            name.rpartition(".")[2] in makes and name.partition(".")[0] in _TRAINERS_OF for name in script.imports
        )
        if told is None and finds is None and known and _BARE_TRAIN.search(next(self.text.texts, "")):
            return Set(False, Origin(script.origin.place, "derived", note))
        return None  # perhaps one of several calls, each under a condition of its own

    def _call_begins_anew(self, rule: Resume, script: ScriptFacts) -> bool:
        """The visible script itself makes the call that would be told what to go on from, and tells it nothing."""
        calls = {key.partition("(")[0] for key in rule.keys if key.endswith(")")}
        if not calls or rule.default is not False or self.text.mentions(*rule.finds) is True:
            return False
        return all(call in script.calls and call not in script.open_calls for call in calls)

    def _call_of_a_module_begins_anew(self, rule: Resume, path: Setting[str]) -> str:
        """`_begins_anew` where a module of the program makes the call that would be told what to go on from."""
        if rule.default is not False or _GOES_ON_KEYS.isdisjoint(rule.keys):
            return ""
        others = [word for word in rule.finds if word not in _GOES_ON_WORDS]
        calls = [f".{key.partition('(')[0]}(" for key in rule.keys if key in _GOES_ON_KEYS]
        if self.text.mentions(*others) is not False or self.text.mentions(*calls) is not True:
            return ""
        told = [self.look.given((word,)) is not None or self._below(word) for word in _GOES_ON_WORDS]
        if any(told):
            return ""
        note = self._begins_anew(path, by_trainer=True)
        # Lightning then takes its own options from the command line, one that resumes among them.
        return "its option to resume is not given" if note and self.text.mentions("from_argparse_args") else note

    def _same_path(self, rule: Resume, path: Setting[str]) -> Setting[bool]:
        found = self.look.given(rule.keys)
        if found is None:
            missing = self.look.missing(rule.keys)
            if isinstance(missing, Unknown):
                return missing
            return Set(False, Origin(missing.origin.place, "default", rule.note))
        load = found[1]
        if isinstance(load, Set) and isinstance(path, Set):
            return Set(posixpath.normpath(load.value) == posixpath.normpath(path.value), load.origin)
        if isinstance(load, Set):
            return Set(True, load.origin)
        if isinstance(load, Unknown) and isinstance(path, Unknown) and load.reason == path.reason:
            return Set(True, load.origin or self.look.home)
        return load if isinstance(load, Unknown) else Absent(self.look.home)

    def _conventional_resume(self, path: Setting[str], saving: Setting[bool]) -> Setting[bool]:
        look = self.look
        found = look.given(CONVENTIONS.resume)
        if found is not None:
            key, value = found
            if not isinstance(value, Set):
                return value
            if look.bare(key) or value.value.strip().lower() in _FALSE:
                return Set(look.bare(key), value.origin)
            return _of_what_it_names(value)
        load = look.given(CONVENTIONS.load_path)
        if load is not None and isinstance(load[1], Set) and isinstance(path, Set) and load[1].value == path.value:
            return Set(True, load[1].origin)
        missing = look.missing(())
        script = look.script
        if script is not None:
            for call, keyword in _GOES_ON_BY:
                told = script.keywords.get(call, {}).get(keyword)
                if isinstance(told, Set):
                    return Set(told.value.strip().lower() not in _FALSE, told.origin)
                if isinstance(told, Unknown) and self.text.mentions(f"def {call}(") is not True:
                    return told  # a function of its own that is called alike takes other things
            if isinstance(missing, Absent) and not script.loads:
                # What it reads only by options that are left out is none of its loads; whoever reads it should find it.
                reads = any(word in next(self.text.texts, "") for word in READS_BACK)
                note = (self._begins_anew(path) if reads else "") or "nothing in its script reads a checkpoint"
                return Set(False, Origin(script.origin.place, "derived", note))
            if self._resume_is_left_out(script):
                return Set(False, Origin(script.origin.place, "derived", "its option to resume is not given"))
            if self._may_save(saving) and (note := self._begins_anew(path)):
                return Set(False, Origin(script.origin.place, "derived", note))
            if script.loads:
                return Unknown("what the visible script loads may be a checkpoint of its own", script.origin)
        return missing if isinstance(missing, Unknown) else Unknown("whether it resumes is not visible", look.home)

    def _resume_is_left_out(self, script: ScriptFacts) -> bool:
        """The program declares an option by which it would go on, off by default, and nothing gives it."""
        look = self.look
        if look.options.open_because:
            return False
        if any(self._is_off_in_a_configuration(name) for name in CONVENTIONS.resume):
            return True
        if any(config.open_because for config in look.configs):
            return False
        declared = [name for name in _RESUME_OPTIONS if name in script.declared]
        defaults = [script.declared[name] for name in declared]
        off = all(isinstance(one, Absent) or (isinstance(one, Set) and one.value.lower() in _FALSE) for one in defaults)
        if not declared or not off or any(self._may_stand_in_a_file(name.replace("-", "_")) for name in declared):
            return False
        # What it writes may be called the latest, and folders are listed for much: where the script restores its state
        # only when it is told to, the modules that it imports are what may look for the last checkpoint.
        told = not script.restores_if.isdisjoint(declared)
        texts = islice(self.text.texts, 1 if told else 0, None)
        return not any(word in text for text in texts for word in _FINDS_ITS_LAST)

    def _is_off_in_a_configuration(self, name: str) -> bool:
        """A configuration has the option and leaves it empty, and only where it is set does the text go on."""
        value = self.look.explicit(name)
        if value is None or not _is_off_value(value):
            return False
        return restores_only_if(self.text.texts, Options.normal(name).replace("-", "_"))

    def _may_save(self, saving: Setting[bool]) -> bool:
        """It saves while it trains, or what is not seen of its settings may say so."""
        return saving.value if isinstance(saving, Set) else saves_in_a_loop(self.text.texts)

    def _begins_anew(self, path: Setting[str], *, by_trainer: bool = False) -> str:
        """Why the program, which saves to `path`, surely trains from its beginning, by all of its own text; empty where
        that is not known. `by_trainer`: a trainer of its framework goes on only from what it is told."""
        if not self._all_is_seen():
            return ""
        from kube_gaplint.launch.restores import is_off, restoring_ways

        texts = tuple(self.text.texts)
        ways = restoring_ways(texts, by_trainer=by_trainer)
        if ways is None:
            return ""
        left_out: set[str] = set()
        in_vain, begins_with = "", ""
        for way in ways:
            off = next((name for name in sorted(way.options) if is_off(name, texts, self._declared_off)), "")
            if off:
                left_out.update((off,) if way.reads else ())
            elif way.places and all(self._is_in_a_new_folder(name, texts) for name in way.places):
                in_vain = in_vain or min(way.places)
            elif way.places and all(self._is_of_another_run(name, path) for name in way.places):
                begins_with = begins_with or min(way.places)
            else:
                return ""
        if in_vain:
            return f"it looks for its checkpoint only at {in_vain}, in a run folder that each start names anew"
        if begins_with:
            return f"of checkpoints it reads what it starts from, {begins_with}, and none of its own"
        if left_out:
            return f"it reads a checkpoint back only by {_left_out(sorted(left_out))}"
        return "nothing in its own text reads a checkpoint back before it trains"

    def _is_of_another_run(self, name: str, path: Setting[str]) -> bool:
        """Whether an option surely names pre-trained weights, which do not lie where the program saves."""
        if _PRETRAINED.search(name) is None or not isinstance(path, Set):
            return False
        given = {one.name: one.value for one in self.look.options.occurrences}
        for config in self.look.configs:
            given = {**config.values, **given}
        if self.look.script is not None:
            given = {**self.look.script.declared, **given}
        named = [value for key, value in given.items() if _PRETRAINED.search(key.rpartition(".")[2])]
        own = posixpath.normpath(path.value)
        return bool(named) and all(
            isinstance(one, Set)
            and not _is_within(posixpath.normpath(one.value), own)
            and _OWN_LAST.search(one.value) is None
            for one in named
        )

    def _is_in_a_new_folder(self, name: str, texts: tuple[str, ...]) -> bool:
        """Whether an option surely names a place in the run folder of Hydra, which bears the time of the start."""
        if "hydra" not in texts[0] or not self.look.configs:
            return False
        from kube_gaplint.launch.hydra_runs import Runs
        from kube_gaplint.launch.restores import set_from

        return (
            Runs(self.look.configs, self.look.options, texts[0]).is_new(name) and set_from(name, texts) == frozenset()
        )

    def _declared_off(self, name: str) -> bool | None:
        """Whether an option is off as given, or by its declaration; None where nothing declares one of this name."""
        if self.look.bare(name):
            return False  # a flag
        value = self.look.explicit(name)
        below = self._below(name) if value is None else []
        if below:
            return all(_is_off_value(one) for one in below)
        if value is None and self._may_stand_in_a_file(name):
            return False
        if value is None and self.look.script is not None:
            value = self.look.script.declared.get(Options.normal(name))
        if value is None:
            from kube_gaplint.launch.python import declared_by_modules

            option = declared_by_modules(self.text, name.replace("-", "_"))
            if option is None:
                return None
            default = option.default
            return isinstance(default, Absent) or (isinstance(default, Set) and not default.value)
        return _is_off_value(value)

    def _may_stand_in_a_file(self, name: str) -> bool:
        """Whether the program takes an option of this name from settings that it may have read from a file itself."""
        if not any(lazy_re.found_in(text, _READS_SETTINGS) for text in self.text.texts):
            return False
        taken = re.compile(
            rf"(?i)\b(?:config|cfg|conf|settings?|params|hparams|hp)\w*(?:\.|\[[\"']){re.escape(name)}\b"
        )
        return any(taken.search(text) for text in self.text.texts if name in text)

    def _below(self, name: str) -> list[Setting[str]]:
        """What the options and the configurations give the keys that end in a name (`eval.load` of `load`)."""
        ending = "." + Options.normal(name)
        given = {
            normal: one.value
            for one in self.look.options.occurrences
            if (normal := Options.normal(one.name)).endswith(ending)
        }
        for config in self.look.configs:
            given |= {key: value for key, value in config.values.items() if key.endswith(ending) and key not in given}
        return list(given.values())

    # -- the rest

    def _extra(self) -> dict[str, Setting[str]]:
        facts, look = self.facts, self.look
        names = {**(CONVENTIONS.extra if facts is None or not facts.visible else {}), **(facts.extra if facts else {})}
        out: dict[str, Setting[str]] = {}
        for canonical, keys in names.items():
            found = look.given(keys)
            if found is not None:
                out[canonical] = found[1]
            elif facts is not None and canonical in facts.extra_defaults and isinstance(look.missing(keys), Absent):
                note = f"{facts.title}'s default"
                out[canonical] = Set(facts.extra_defaults[canonical], Origin(look.home.place, "default", note))
        recovery = self._in_process()
        given = out.pop("in-process-recovery", None)
        if recovery is None and isinstance(given, Set):
            key = next(key for key in names["in-process-recovery"] if look.given((key,)) is not None)
            if look.bare(key) or given.value.strip().lower() not in _FALSE:
                recovery = given
        if recovery is not None:
            out["in-process-recovery"] = recovery
        return out

    def _in_process(self) -> Setting[str] | None:
        """torchft, NVRx in-process restart and their like."""
        for name in IN_PROCESS_VARIABLES:
            value = self.look.environment.variables.get(name)
            if value is not None and not isinstance(value, Absent):
                return Set(name, value.origin or self.look.home)
        for launcher in self.peeled.launchers:
            found = launcher.options.find("inprocess-restart")
            if found is not None:
                return Set("inprocess-restart", Origin(found.word.place))
        if self.look.script is not None:
            for name, origin in self.look.script.imports.items():
                if any(name == known or name.startswith(known + ".") for known in IN_PROCESS_IMPORTS):
                    return Set(name, origin)
        return None


def _is_off_value(value: Setting[str]) -> bool:
    return isinstance(value, Absent) or (isinstance(value, Set) and value.value.strip().lower() in _FALSE)


def _left_out(names: list[str]) -> str:
    """Options of which none is given, as a reader is told of them."""
    if len(names) == 1:
        return f"{names[0]}, which is not given"
    return f"{', '.join(names[:-1])} or {names[-1]}, none of which is given"


def _is_within(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, as far as their names tell: the end of one may be that of the other."""
    return path == folder or f"/{path}/".find(f"/{folder.strip('/')}/") >= 0


def _saves_besides(text: str) -> bool:
    """Whether a module saves in a function that by its name is there for something else."""
    function = ""
    for found in _SAVES.finditer(text):
        if found["function"]:
            function = found["function"]
        elif not _FOR_SAVING.search(function):
            return True
    return False


def _within_an_epoch(interval: Setting[Quantity]) -> bool:
    return isinstance(interval, Set) and interval.value.unit == "epochs" and interval.value.amount <= 1


def _count(setting: Setting[Quantity] | Setting[Quantity | None]) -> Setting[int]:
    if not isinstance(setting, Set):
        return setting
    if setting.value is None:
        return Unknown("it is no number", setting.origin)
    return Set(int(setting.value.amount), setting.origin)


def _join_paths(first: str, second: str) -> str:
    """`os.path.join`, for URIs as well."""
    if not first or second.startswith("/") or "://" in second:
        return second
    return f"{first.rstrip('/')}/{second}" if second else first
