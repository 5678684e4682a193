"""What a shell knows at one point of a script: variables, options, functions.

Changes are journalled, so that a branch can be tried, taken back and merged at the cost of its changes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.launch.shared import HOLE
from kube_gaplint.launch.shell_exports import Exports
from kube_gaplint.launch.shell_text import NO_ELEMENTS, Atom, Elements, FixedText, Hole, Part, Ref, Run, Value, flatten
from kube_gaplint.launch.shell_tree import Statement
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place


class Variable(Struct, frozen=True, eq=False):
    """A variable: a text, or the elements of an array. Both None: surely unset.

    `setting` is what the environment gave, where the script has not touched it.
    """

    value: Value | None = None
    elements: Elements | None = None
    exported: bool | None = False
    """None: it is not known whether it is exported."""
    origin: Origin | None = None
    setting: Setting[str] | None = None

    @property
    def scalar(self) -> Value | None:
        """What `$X` gives: the text, or the first element."""
        if self.elements is not None:
            return self.elements[0] if self.elements else None
        return self.value

    @property
    def all_elements(self) -> Elements:
        """What `${X[@]}` gives."""
        if self.elements is not None:
            return self.elements
        return NO_ELEMENTS if self.value is None else Elements((self.value,))


class Body(Struct, frozen=True, eq=False):
    """A function: its body and the text that holds it."""

    statement: Statement
    owner: object
    """The reading (script, text, reader) that the body belongs to."""


Key: TypeAlias = "str | tuple[str, str]"
"""A variable's name, or ("option", name), ("function", name), ("file", path), ("state", name)."""

_MISSING: Final = object()

MOST_CHOICES: Final = 8
"""How many texts of one variable are kept apart after branches."""
MOST_ELEMENTS: Final = 64
"""How many elements of an array are kept apart so."""

OPEN: Final[Key] = ("state", "open")
DIRECTORY: Final[Key] = ("state", "directory")
ARGUMENTS: Final[Key] = ("state", "arguments")
ZERO: Final[Key] = ("state", "zero")
SOURCE: Final[Key] = ("state", "source")
"""The file that is sourced at this point."""
PLACE: Final[Key] = ("state", "place")
"""Where the working directory is not known: the folder of the repository that it is."""

Changes: TypeAlias = "dict[Key, object]"


class State(Struct, eq=False):
    """The mutable state of one shell. `environment` is what it was started with."""

    environment: Environment
    data: dict[Key, object] = field(default_factory=dict)
    unseen: dict[tuple[str, str], Unknown] = field(default_factory=dict)
    """Variables that nothing visible sets, with the reason why they are not known: each is the same at every use."""
    _journals: list[Changes] = field(default_factory=list)
    _seen: dict[str, Variable] = field(default_factory=dict)
    _child: Environment | None = None
    _exports: Exports = field(default_factory=Exports)
    _stale: dict[str, None] = field(default_factory=dict)
    """Variables that changed since `_exports` was brought up to date."""
    _settings: dict[Variable, Setting[str]] = field(default_factory=dict)

    # --- journal ---------------------------------------------------------------------------------------------------

    def put(self, key: Key, value: object) -> None:
        if self._journals:
            self._journals[-1].setdefault(key, self.data.get(key, _MISSING))
        if value is _MISSING:
            self.data.pop(key, None)
        else:
            self.data[key] = value
        self._note(key)

    def _note(self, key: Key) -> None:
        """Something that a child may see has changed."""
        if isinstance(key, str):
            self._stale[key] = None
        elif key == OPEN:
            self._child = None

    def now(self, key: Key) -> object:
        """What stands under a key, to be given back to `put` later."""
        return self.data.get(key, _MISSING)

    def begin(self) -> None:
        """Begin a branch: what changes from here on can be taken back."""
        self._journals.append({})

    def rollback(self) -> Changes:
        """End the branch, take its changes back, and give them (by key, the new value)."""
        journal = self._journals.pop()
        changes: Changes = {}
        for key, old in journal.items():
            changes[key] = self.data.get(key, _MISSING)
            if old is _MISSING:
                self.data.pop(key, None)
            else:
                self.data[key] = old
            self._note(key)
        return changes

    def keep(self) -> None:
        """End the branch and keep its changes."""
        journal = self._journals.pop()
        if self._journals:
            outer = self._journals[-1]
            for key, old in journal.items():
                outer.setdefault(key, old)

    def apply(self, changes: Changes) -> None:
        for key, value in changes.items():
            self.put(key, value)

    def merge(self, branches: list[Changes], place: Place, because: str) -> None:
        """Go on after branches of which any one may have run. A branch that never comes here is left out."""
        if not branches:
            return
        if len(branches) == 1:
            self.apply(branches[0])
            return
        changed: dict[Key, list[tuple[int, object]]] = {}
        for at, changes in enumerate(branches):
            for key, value in changes.items():
                changed.setdefault(key, []).append((at, value))
        for key, found in changed.items():
            values = _distinct(found, self.data.get(key, _MISSING), len(branches))
            if all(value is values[0] for value in values):
                self.put(key, values[0])
            else:
                self.put(key, self._merged(key, values, place, because))

    def _merged(self, key: Key, values: list[object], place: Place, because: str) -> object:
        if isinstance(key, str):
            found = [
                self._initial(key) if value is _MISSING else value
                for value in values
                if value is _MISSING or isinstance(value, Variable)
            ]
            return _merge_variables(key, [v for v in found if isinstance(v, Variable)], place, because)
        sort, name = key
        if sort == "option":
            settings = [value for value in values if isinstance(value, Set | Unknown)]
            first = settings[0] if settings else None
            agreed = all(isinstance(s, Set) and isinstance(first, Set) and s.value == first.value for s in settings)
            if agreed and first is not None and len(settings) == len(values):
                return first
            return Unknown(f"`{name}` is switched {because}", Origin(place))
        if key == OPEN:
            return next((value for value in values if isinstance(value, str) and value), "")
        if sort == "function":
            return next((value for value in values if value is not _MISSING), _MISSING)
        return None  # directory, arguments, files: not known

    # --- variables -------------------------------------------------------------------------------------------------

    def _initial(self, name: str) -> Variable:
        """The variable as the environment gave it; not there: a variable without value and setting."""
        known = self._seen.get(name)
        if known is not None:
            return known
        setting = self.environment.variables.get(name)
        if isinstance(setting, Set):
            text = FixedText(setting.value, setting.origin.place)
            value = Value([Run(setting.value, text, 0, len(setting.value))] if setting.value else ())
            if isinstance(setting.rope, Value):
                value = setting.rope
            known = Variable(value, None, True, setting.origin, setting)
        elif isinstance(setting, Unknown):
            place = (setting.origin or self.environment.home).place
            hole = Hole(setting, FixedText("", place), 0, 0)
            rope = setting.rope if isinstance(setting.rope, Value) else Value([hole])
            known = Variable(rope, None, True, setting.origin, setting)
        elif isinstance(setting, Absent):
            known = Variable(None, None, False, setting.origin, setting)
        else:
            known = Variable()
        self._seen[name] = known
        return known

    def variable(self, name: str) -> Variable | None:
        """The variable, None where nothing visible gives or takes it."""
        found = self.data.get(name)
        if isinstance(found, Variable):
            return found
        initial = self._initial(name)
        return initial if initial.value is not None or initial.setting is not None else None

    def assign(self, name: str, variable: Variable) -> None:
        self.put(name, variable)

    # --- the rest --------------------------------------------------------------------------------------------------

    def option(self, name: str) -> Setting[bool] | None:
        found = self.data.get(("option", name))
        return found if isinstance(found, Set | Unknown) else None

    def set_option(self, name: str, value: bool, place: Place) -> None:
        self.put(("option", name), Set(value, Origin(place)))

    @property
    def open_because(self) -> str:
        found = self.data.get(OPEN)
        return self.environment.open_because or (found if isinstance(found, str) else "")

    def open(self, reason: str) -> None:
        """From here on something unseen may set variables."""
        if not self.open_because:
            self.put(OPEN, reason)

    def exports(self) -> Mapping[str, Setting[str]]:
        """The variables that a program would be given now, `Absent` for those that the script took away."""
        return self.child().variables

    def _exported(self, name: str) -> Setting[str] | None:
        found = self.data.get(name)
        if not isinstance(found, Variable):
            return None
        given = name in self.environment.variables
        origin = found.origin or self.environment.home
        if found.exported is False:
            return Absent(origin) if given else None
        if found.setting is not None and found.exported:
            return found.setting
        if found.elements is not None:
            return None  # arrays are never exported
        if found.value is None:
            return Absent(origin) if given else None
        if found.exported is None:
            return Unknown(f"{name} is exported in one branch only", origin)
        setting = self._settings.get(found)
        if setting is None:
            setting = self._settings[found] = found.value.setting(origin)
        return setting

    def child(self) -> Environment:
        """The environment of a program that is started now."""
        for name in self._stale:
            if self._exports.put(name, self._exported(name)):
                self._child = None
        self._stale.clear()
        if self._child is None:
            given = self.environment
            variables, reason = self._exports.over(given.variables), self.open_because
            same = variables is given.variables and reason == given.open_because
            self._child = given if same else replace(given, variables=variables, open_because=reason)
        return self._child


def _distinct(found: list[tuple[int, object]], now: object, count: int) -> list[object]:
    """What a key may hold after so many branches, of which some give it a value and the others leave it as it is now.
    It stands where the first of them has it, and at the end where the last has it: a `case` with a thousand branches
    takes a thousand steps and not a million."""
    values: list[object] = []
    missing = len(found) < count
    for index, (at, value) in enumerate(found):
        if missing and at > index:
            values.append(now)
            missing = False
        values.append(value)
    if missing or found[-1][0] < count - 1:
        values.append(now)
    return values


def _merge_variables(name: str, values: list[Variable], place: Place, because: str) -> Variable:
    """One variable for several that may be in force."""
    first = values[0]
    exported: bool | None = first.exported
    if any(value.exported is not first.exported for value in values):
        exported = None
    origins = [value.origin for value in values if value.origin is not None]
    origin = origins[-1] if origins else Origin(place)
    unknown = Unknown(f"{name} is set {because}", origin)
    if any(value.elements is not None for value in values):
        lists = [NO_ELEMENTS if _only_given(value) else value.all_elements for value in values]
        merged = _merge_lists(lists, unknown, place)
        return Variable(None, merged, exported, origin)
    if all(value.value is None for value in values):
        return replace(first, exported=exported)
    texts = [value.value.known() if value.value is not None else None for value in values]
    if texts[0] is not None and all(text == texts[0] for text in texts):
        return replace(first, exported=exported, setting=None)
    options = [value.value if value.value is not None else Value() for value in values]
    return Variable(_merge_texts(options, unknown, place), None, exported, origin)


def _only_given(variable: Variable) -> bool:
    """Whether only the environment may have set it, which holds no arrays: what a script makes an array is none yet."""
    return isinstance(variable.setting, Unknown)


def _merge_lists(lists: list[Elements], unknown: Unknown, place: Place) -> Elements:
    """What all lists begin with, and one unknown part for the rest."""
    shortest = min(lists, key=len)
    common = len(shortest)
    if any(elements[:common] != shortest for elements in lists):  # values are equal where they are the same
        common = next(at for at, these in enumerate(zip(*lists, strict=False)) if len(set(map(id, these))) > 1)
    rests = [elements[common:] for elements in lists]
    if len(rests) <= MOST_CHOICES and all(len(rest) <= MOST_ELEMENTS for rest in rests):
        choices = dict.fromkeys(" ".join(map(_one_word, rest)) for rest in rests)
        unknown = replace(unknown, choices=tuple(choices))
    hole = Hole(unknown, FixedText("", place), 0, 0, many=True)
    return Elements((*shortest[:common], Value([hole])))


def _one_word(value: Value) -> str:
    """An element's text as one word of a choice, `HOLE` for what is unknown of it or would end the word."""
    known = "".join(HOLE if atom.hole is not None else atom.text for atom in flatten(value))
    return "".join(HOLE if c.isspace() else c for c in known) or HOLE


def _merge_texts(values: list[Value], unknown: Unknown, place: Place) -> Value:
    """What all texts begin and end with, the middle unknown. It keeps the options of `ARGS="$ARGS --x"` in a branch.

    Parts that all of them share as a whole are kept so and not opened: a text that grows by a branch after the other
    would be looked through again and again.
    """
    nowhere = FixedText("", place)
    parts = _shared(values)
    shortest = min(map(len, parts))
    first, last = 0, 0
    while first < shortest and all(_same(one[first], parts[0][first]) for one in parts):
        first += 1
    while last < shortest - first and all(_same(one[-1 - last], parts[0][-1 - last]) for one in parts):
        last += 1
    begins = [_unused(part) for part in parts[0][:first]]
    ends = [_unused(part) for part in parts[0][len(parts[0]) - last :]]
    atoms = [list(flatten(Value(one[first : len(one) - last]))) for one in parts]
    lists = [[(a.text, a.source, a.start, a.hole) for a in one] for one in atoms]
    shortest = min(map(len, lists))
    head = tail = 0
    while head < shortest and all(one[head] == lists[0][head] for one in lists):
        head += 1
    while tail < shortest - head and all(one[-1 - tail] == lists[0][-1 - tail] for one in lists):
        tail += 1
    begins.extend(_as_part(atom) for atom in atoms[0][:head])
    ends[:0] = [_as_part(atom) for atom in atoms[0][len(atoms[0]) - tail :]]
    middles = [one[head : len(one) - tail] for one in atoms]
    texts = ["".join(atom.text or "x" for atom in one) for one in middles]
    cut_before = all(not text or text[0] in _BLANKS for text in texts) or _last_text(begins)[-1:] in _BLANKS
    cut_after = all(not text or text[-1] in _BLANKS for text in texts)
    hole = Hole(
        _with_choices(unknown, middles),
        nowhere,
        0,
        0,
        cut_before=cut_before and bool(begins),
        cut_after=cut_after and bool(ends),
    )
    return Value([*begins, hole, *ends])


_BLANKS: Final = (" ", "\t", "\n")


def _shared(values: list[Value]) -> list[list[Part]]:
    """The parts of the texts; where all others begin or end with the shortest one, that one is a single part."""
    base = min(values, key=lambda value: value.size)
    if base.parts and all(value is base or _holds(value, base) for value in values):
        return [[Ref(base, None, 0, 0)] if value is base else list(value.parts) for value in values]
    return [list(value.parts) for value in values]


def _holds(value: Value, base: Value) -> bool:
    """Whether a text begins or ends with the value of a variable."""
    return any(isinstance(part, Ref) and part.value is base for part in (*value.parts[:1], *value.parts[-1:]))


def _same(one: Part, other: Part) -> bool:
    """Whether two parts are written at the same place, or are the same value."""
    if isinstance(one, Ref):
        return isinstance(other, Ref) and other.value is one.value
    if isinstance(one, Hole):
        return one is other
    return isinstance(other, Run) and (other.text, other.source, other.start) == (one.text, one.source, one.start)


def _unused(part: Part) -> Part:
    """A shared part without the place where one branch uses it."""
    return Ref(part.value, None, 0, 0) if isinstance(part, Ref) else part


def _as_part(atom: Atom) -> Part:
    return atom.hole if atom.hole is not None else Run(atom.text, atom.source, atom.start, atom.end)


def _last_text(parts: list[Part]) -> str:
    """The text of the last run; empty where an unknown part stands at the end."""
    part = parts[-1] if parts else None
    while isinstance(part, Ref):
        part = part.value.parts[-1] if part.value.parts else None
    return part.text if isinstance(part, Run) else ""


def _with_choices(unknown: Unknown, middles: list[list[Atom]]) -> Unknown:
    """The unknown part with everything that it may be, where each branch tells it; as it is where one does not."""
    found: dict[str, None] = {}
    for atoms in middles:
        if len(atoms) == 1 and atoms[0].hole is not None:
            if not atoms[0].hole.unknown.choices:
                return unknown
            found.update(dict.fromkeys(atoms[0].hole.unknown.choices))
        elif any(atom.hole is not None for atom in atoms):
            return unknown
        else:
            found["".join(atom.text for atom in atoms)] = None
    return replace(unknown, choices=tuple(found)) if len(found) <= MOST_CHOICES else unknown
