"""Hydra's run folder, and what lies in it: by default its name is the time of the start, so that the next start has
another one (https://hydra.cc/docs/configure_hydra/workdir/).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.config_files import Config
from kube_gaplint.model.setting import Set, Setting, Unknown
from kube_gaplint.model.training import Options

_DEFAULT = "outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}"
_NOW = lazy_re.compile(r"\$\{now:[^}]*%[MSsfXTc]")
"""The time, to the minute at least: two starts surely differ."""
_RUN_FOLDER = lazy_re.compile(r"\$\{hydra:(?:runtime\.output_dir|run\.dir)\}")
_REFERENCE = lazy_re.compile(r"\$\{(?P<dots>\.*)(?P<key>[\w.-]+)\}")
_RELATIVE = lazy_re.compile(r"(?![/~$])(?!\w+://)")
_MOST_STEPS = 16
_LONGEST = 2000
_SWEEPS = frozenset({"-m", "--multirun"})


class Runs(Struct, frozen=True):
    """What the configuration, the overrides and the script of a program say of its run folder."""

    configs: Sequence[Config]
    options: Options
    script: str

    def is_new(self, name: str) -> bool:
        """Whether all keys that end in a name surely hold a place that no earlier start had."""
        normal = Options.normal(name)
        keys = {key for config in self.configs for key in config.values if ("." + key).endswith("." + normal)}
        if not keys or self._sweeps:
            return False
        return all(self._is_new_place(self._text(key)) for key in keys)

    @property
    def _sweeps(self) -> bool:
        words = self.options.positionals
        return self.options.find("m", "multirun") is not None or any(word.known in _SWEEPS for word in words)

    def _is_new_place(self, text: str | None) -> bool:
        if text is None:
            return False
        if _NOW.search(text) is not None:
            return True
        run = self._text("hydra.run.dir", _DEFAULT)
        if run is None or _NOW.search(run) is None:
            return False
        return _RUN_FOLDER.match(text) is not None or (self._changes_into_it and self._is_in_working_folder(text))

    @property
    def _changes_into_it(self) -> bool:
        return (self._text("hydra.job.chdir") or "").strip().lower() == "true"

    def _is_in_working_folder(self, text: str) -> bool:
        if _RELATIVE.match(text) is not None:
            return True
        named = re.match(r"\$\{(\w+):\}", text)
        resolver = (
            rf"register_new_resolver\(\s*[\"']{named[1]}[\"']\s*,\s*(?:lambda\s*:\s*)?os\.getcwd\b" if named else ""
        )
        return bool(resolver) and re.search(resolver, self.script) is not None

    def _text(self, key: str, default: str | None = None) -> str | None:
        """The value of a key with the other keys that it names put in; None where it is not known."""
        text = self._raw(key, default)
        for _ in range(_MOST_STEPS):
            if text is None or len(text) > _LONGEST:
                return None
            found = _REFERENCE.search(text)
            if found is None:
                return text
            named = found["key"]
            if found["dots"]:
                above = key.split(".")[: -len(found["dots"])]
                named = ".".join((*above, named))
            value = self._raw(named, None)
            if value is None:
                return None if _NOW.search(text) is None else text
            text = text[: found.start()] + value + text[found.end() :]
        return None

    def _raw(self, key: str, default: str | None) -> str | None:
        """The value of a key as it is written: that of the command line before that of the configurations."""
        given = self.options.find(key)
        if given is not None:
            return given.value.value if isinstance(given.value, Set) else None
        normal = Options.normal(key)
        for config in self.configs:
            value = config.values.get(normal)
            if value is not None:
                return _written(value)
        return default


def _written(value: Setting[str]) -> str | None:
    """A value as the file writes it, its references not replaced; None for null, and where a part is not known."""
    if isinstance(value, Set):
        return value.value
    if isinstance(value, Unknown) and value.origin is not None:
        text = value.origin.place.text.strip()
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
    return None
