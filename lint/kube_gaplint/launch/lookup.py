"""Where a training program's settings may stand: flags, a visible script's keywords, configuration files, variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.launch.config_files import Config
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options

_CALL = lazy_re.needing(("(",), r"([\w.]+)\((\w+)\)\Z")


@lru_cache(maxsize=4096)  # the keys of the tables come again and again
def _sorted_out(keys: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The normal names of the plain keys; the keys that are variables (`$NAME`) or keywords of calls (`f(name)`)."""
    others = tuple(key for key in keys if key[0] == "$" or key[-1] == ")")
    return frozenset(Options.normal(key) for key in keys if key not in others), others


class ScriptFacts(Struct, frozen=True):
    """What a visible Python script says, as far as frameworks are concerned."""

    origin: Origin
    imports: Mapping[str, Origin] = field(default_factory=dict)
    keywords: Mapping[str, Mapping[str, Setting[str]]] = field(default_factory=dict)
    """Keyword arguments by the called name's last part; those of several calls are one."""
    calls: Mapping[str, Origin] = field(default_factory=dict)
    open_calls: frozenset[str] = frozenset()
    """Calls that take `**kwargs` or arguments that are not read."""
    save_paths: tuple[Setting[str], ...] = ()
    """What `torch.save` and its like write to."""
    saves_once: bool = False
    """Whether all of that is written once, when the training is over."""
    declared: Mapping[str, Setting[str]] = field(default_factory=dict)
    """The default of each option that it declares, by the option's normal name; `Absent` where it has none."""
    valued: frozenset[str] = frozenset()
    """The normal names of the options that it declares with the type of their value."""
    restores_if: frozenset[str] = frozenset()
    """What is surely true wherever it reads the state of its optimizer back: `resume` under `if args.resume`."""
    steps: Set[int] | None = None
    """The optimizer's steps of the whole run, where its loops tell."""
    save_every: Set[int] | None = None
    """Steps between its saves, where its loops tell."""
    save_epochs: Set[int] | None = None
    """Epochs between them, where its loops tell and none comes sooner."""
    hands_callbacks: bool = False
    """Whether it gives callbacks to a trainer: they may save where the trainer's own options say no."""
    loads: bool = False
    """Whether it loads a checkpoint."""
    fetched: tuple[Set[str], ...] = ()
    """What it has the Hub's libraries look up: ids, or paths."""
    saves_at_stop: Setting[bool] | None = None
    """Whether its handler of SIGTERM or SIGUSR1 leads to a save."""
    saves_only_at_stop: bool = False
    """Whether all that it saves waits for such a signal."""
    stop_signals: frozenset[str] = frozenset()
    """Those that it handles."""
    open_because: str = ""
    """Why it may do more than is seen: it imports the user's own modules."""


class Lookup(Struct, frozen=True):
    """All the places of one program in order of precedence.

    `plain_calls` are the calls whose keywords count as options under their plain names. `unseen` says why keys may be
    set at places that are not visible; empty where all were seen.
    """

    options: Options
    configs: tuple[Config, ...]
    environment: Environment
    script: ScriptFacts | None
    home: Origin
    plain_calls: tuple[str, ...] = ()
    unseen: str = ""
    _names: set[str] = field(default_factory=set)
    """The normal names of all keys that options, configurations and plain calls give, filled by the first look-up."""

    def explicit(self, key: str) -> Setting[str] | None:
        """The value where the key is visibly given (an unknown one, or an explicit null, included); else None."""
        if key[0] == "$":
            return self.environment.variables.get(key[1:])
        call = _CALL.match(key) if key[-1] == ")" else None
        if call is not None:
            return None if self.script is None else self.script.keywords.get(call[1], {}).get(call[2])
        found = self.options.find(key)
        if found is not None:
            return found.value
        if self.script is not None:
            name = key.replace("-", "_")
            for plain in self.plain_calls:
                value = self.script.keywords.get(plain, {}).get(name)
                if value is not None:
                    return value
        for config in self.configs:
            value = config.values.get(Options.normal(key))
            if value is not None:
                return value
        return None

    def given(self, keys: Iterable[str]) -> tuple[str, Setting[str]] | None:
        """The first of several keys that is given with anything but null, and its value."""
        for key in self._candidates(tuple(keys)):
            value = self.explicit(key)
            if value is not None and not isinstance(value, Absent):
                return key, value
        return None

    def _candidates(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys that may be given: a program gives few, and the tables ask for hundreds."""
        plain, others = _sorted_out(keys)
        return others if self._given_names().isdisjoint(plain) else keys

    def _given_names(self) -> set[str]:
        names = self._names
        if not names:
            names.update(("", *self.options.names))  # never empty again
            for config in self.configs:
                names.update(config.values)
            if self.script is not None:
                for plain in self.plain_calls:
                    names.update(map(Options.normal, self.script.keywords.get(plain, ())))
        return names

    def get(self, *keys: str) -> Setting[str]:
        found = self.given(keys)
        return self.missing(keys) if found is None else found[1]

    def missing(self, keys: Iterable[str]) -> Absent | Unknown:
        """What keys that are not given come to: absent where every place was seen. Without keys, any key at all."""
        named = tuple(keys)
        for reason in map(self._unseen_place, named) if named else (self.unseen,):
            if reason:
                return Unknown(reason, self.home)
        for key in self._candidates(named):
            value = self.explicit(key)
            if isinstance(value, Absent):
                return value
        return Absent(self.home)

    def _unseen_place(self, key: str) -> str:
        if key.startswith("$"):
            return self.environment.open_because
        call = _CALL.match(key)
        if call is not None:
            if self.script is None:
                return "" if not self.unseen else self.unseen
            return "its keywords are not visible" if call[1] in self.script.open_calls else self.script.open_because
        return self.unseen

    def bare(self, key: str) -> bool:
        """Whether an option is given as a flag without a value."""
        found = self.options.find(key)
        return found is not None and found.bare
