"""What `$` begins: parameters, `${…}` with its operators, arithmetic and command substitution."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from kube_gaplint import lazy_re
from kube_gaplint.facts.shell_names import given_because
from kube_gaplint.launch.shell_arithmetic import evaluate, names, transform
from kube_gaplint.launch.shell_sinks import Sink, ValueSink
from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, PLACE, SOURCE, ZERO, Variable
from kube_gaplint.launch.shell_text import EMPTY, Elements, Hole, Value, flatten, located
from kube_gaplint.model.setting import Origin, Unknown

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_words import Expander

_VARIABLE: Final = lazy_re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
_PARAMETER: Final = lazy_re.compile(r"([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]\n]*\])?")
_OPERATOR: Final = lazy_re.compile(r":?[-=+?]|##?|%%?|//?|:|\^\^?|,,?|@")
_NAME: Final = lazy_re.compile(r"[A-Za-z_]\w*")
_INTEGER: Final = lazy_re.compile(r"[+-]?(0|[1-9]\d{0,17})")

_MOST_ELEMENTS: Final = 64
"""Elements of an array of which one that is not known is told to be one of them."""
MAX_DEPTH: Final = 30
"""Nesting of `${X:-${Y:-…}}` that is followed."""


def dollar(expander: Expander, at: int, end: int, sink: Sink, quoted: bool) -> int:
    """Expand what begins at `at`; the offset after it."""
    length = expander.hole_at(at, sink, quoted)
    if length:
        return at + length
    text, reader = expander.text, expander.reader
    follow = text[at + 1] if at + 1 < end else ""
    if follow == "{":
        stop = reader.closing(at, end)
        if stop > 0:
            _braces(expander, at, stop, sink, quoted)
            return stop
        name = _PARAMETER.match(text, at + 2, end)
        stop = name.end() if name else at + 2
        expander.unknown("the closing bracket is missing", at, stop, sink, quoted)
        return stop
    if follow == "(":
        stop = reader.closing(at, end)
        if stop > 0:
            if text.startswith("((", at + 1) and text[stop - 2 : stop] == "))":
                _arithmetic(expander, at, stop, at + 3, stop - 2, sink)
            else:
                expander.command(at, stop, at + 2, stop - 1, sink, quoted)
            return stop
    if follow == "[":
        stop = reader.closing(at, end)
        if stop > 0:
            _arithmetic(expander, at, stop, at + 2, stop - 1, sink)
            return stop
    found = _VARIABLE.match(text, at, end)
    if found is None:
        expander.literal(at, at + 1, sink, quoted)
        return at + 1
    parameter(expander, found.group(1), "", at, found.end(), sink, quoted)
    return found.end()


def why_unknown(expander: Expander, name: str) -> str:
    """Why a variable that nothing visible sets has no known value."""
    return expander.state.open_because or given_because(name) or f"${name} is not set in anything visible"


def arguments(expander: Expander) -> Elements | None:
    """The positional parameters from `$1` on; None where they are not known."""
    found = expander.state.data.get(ARGUMENTS)
    return found if isinstance(found, Elements) else None


def parameter(expander: Expander, name: str, index: str, start: int, end: int, sink: Sink, quoted: bool) -> None:
    """`$X`, `${X}`, `${X[@]}`, `$@`, `$1` …"""
    if name in ("@", "*"):
        given = arguments(expander)
        if given is None:
            reason = "the arguments of the script are not known"
            expander.unknown(reason, start, end, sink, quoted, many=name == "@")
        else:
            sink.values(given, start, end, quoted, name == "*")
        return
    if not _NAME.fullmatch(name):
        value = _special(expander, name) or (_here(expander, "BASH_SOURCE", start, end) if name == "0" else None)
        if value is None:
            expander.unknown(f"${name} is only known when the script runs", start, end, sink, quoted)
        else:
            sink.value(value, start, end, quoted)
        return
    expander.reads.add(name)
    variable = expander.state.variable(name)
    if variable is None:
        directory = expander.state.data.get(DIRECTORY)
        if name == "PWD" and isinstance(directory, str):
            sink.run(directory, start, end)
        elif name in ("PWD", "BASH_SOURCE") and (here := _here(expander, name, start, end)) is not None:
            sink.value(here, start, end, quoted)
        else:
            # one unknown for all its uses: `$D/x` and `$D/x` are the same file
            reason = why_unknown(expander, name)
            known = expander.state.unseen.get((name, reason))
            if known is None:
                known = Unknown(reason, Origin(expander.source.place(start, end)))
                expander.state.unseen[name, reason] = known
            sink.hole(Hole(known, expander.source, start, end, many=index == "[@]"), quoted)
        return
    if index:
        _element(expander, variable, name, index, start, end, sink, quoted)
        return
    scalar = variable.scalar
    if scalar is not None:
        sink.value(scalar, start, end, quoted)


def _here(expander: Expander, name: str, start: int, end: int) -> Value | None:
    """The working directory, or the file that is read, which only the run tells: by its path in the repository."""
    data = expander.state.data
    path: object = data.get(PLACE, "")
    if name == "BASH_SOURCE":
        found = data.get(SOURCE) or data.get(ZERO)
        if isinstance(found, Value):
            return found
        path = _ITSELF
    if not isinstance(path, str):
        return None
    unknown = Unknown(
        f"${name} is only known when the script runs", Origin(expander.source.place(start, end)), path=path
    )
    return Value([Hole(unknown, expander.source, start, end)])


_ITSELF: Final = "script"
"""Stands for the name of a script that nobody has called by it: only the folder around it counts."""


def _special(expander: Expander, name: str) -> Value | None:
    """`$0`, `$1`, `$#` where they are known."""
    if name == "0":
        found = expander.state.data.get(ZERO)
        return found if isinstance(found, Value) else None
    given = arguments(expander)
    if given is None:
        return None
    if name == "#":
        return None if given.many else expander.computed(str(len(given)), 0, 0)
    if not name.isdigit():
        return None
    number = int(name[:6])
    if given.many and any(value.many for value in given[:number]):
        return None
    return given[number - 1] if number <= len(given) else EMPTY


def _element(
    expander: Expander, variable: Variable, name: str, index: str, start: int, end: int, sink: Sink, quoted: bool
) -> None:
    """`${A[@]}`, `${A[0]}`."""
    elements = variable.all_elements
    key = index[1:-1]
    if key in ("@", "*"):
        sink.values(elements, start, end, quoted, key == "*")
        return
    number = arithmetic_value(expander, key)
    if number is not None and not elements.many:
        if -len(elements) <= number < len(elements):
            sink.value(elements[number], start, end, quoted)
        return
    texts = [] if elements.many or len(elements) > _MOST_ELEMENTS else [value.known() for value in elements]
    choices = tuple(text for text in texts if text is not None)
    whole = choices if len(choices) == len(texts) else ()
    expander.unknown(f"which element of {name} is meant is not known", start, end, sink, quoted, choices=whole)


# --- arithmetic ----------------------------------------------------------------------------------------------------


def arithmetic_value(expander: Expander, text: str) -> int | None:
    """The value of an arithmetic text, None where it is not known."""
    return evaluate(text, lambda name: _integer(expander, name))


def _integer(expander: Expander, name: str) -> int | None:
    """The value of a variable in arithmetic (unset counts as 0 only where it is surely unset)."""
    if name.isdigit():
        special = _special(expander, name)
        text = special.known() if special is not None else None
    else:
        variable = expander.state.variable(name)
        if variable is None:
            return None
        scalar = variable.scalar
        text = "" if scalar is None else scalar.known()
    if text is None or not text.strip():
        return None if text is None else 0
    return int(text) if _INTEGER.fullmatch(text.strip()) else None


def _arithmetic(expander: Expander, start: int, end: int, low: int, high: int, sink: Sink) -> None:
    """`$(( … ))`."""
    text = expander.text[low:high]
    expander.reads.update(names(text))
    holes = expander.holes
    number = None
    if holes is None or not any(low <= at < high for at in holes):
        number = arithmetic_value(expander, text)
    if number is None:
        expander.unknown(f"$(({expander.shown(low, high)})) cannot be worked out", start, end, sink, True)
    else:
        sink.run(str(number), start, end)


# --- ${…} ----------------------------------------------------------------------------------------------------------


def _braces(expander: Expander, start: int, end: int, sink: Sink, quoted: bool) -> None:
    text = expander.text
    low, high = start + 2, end - 1
    prefix = ""
    if high - low > 1 and text[low] in "#!" and (text[low + 1].isalnum() or text[low + 1] == "_"):
        prefix = text[low]
    elif text[low:high] in ("#@", "#*"):
        prefix = "#"
    low += len(prefix)
    found = _PARAMETER.match(text, low, high)
    at = found.end() if found is not None else low
    operator = _OPERATOR.match(text, at, high)
    if found is None or (at < high and operator is None) or expander.depth >= MAX_DEPTH:
        expander.unknown(f"{expander.shown(start, end)} is not computed", start, end, sink, quoted)
        return
    name, index = found.group(1), found.group(2) or ""
    if prefix == "#" and at == high:
        _length(expander, name, index, start, end, sink)
    elif prefix == "!":
        _indirect(expander, name, index, at == high, start, end, sink, quoted)
    elif operator is None:
        parameter(expander, name, index, start, end, sink, quoted)
    else:
        expander.depth += 1
        try:
            if operator.group() != ":" and operator.group()[-1] in "-=+?":
                _default(expander, name, index, operator.group(), operator.end(), start, end, sink, quoted)
            else:
                _change(expander, name, index, operator.group(), operator.end(), start, end, sink, quoted)
        finally:
            expander.depth -= 1


def _length(expander: Expander, name: str, index: str, start: int, end: int, sink: Sink) -> None:
    """`${#X}`, `${#A[@]}`, `${#@}`."""
    count: int | None = None
    if name in ("@", "*"):
        given = arguments(expander)
        count = None if given is None or given.many else len(given)
    else:
        expander.reads.add(name)
        variable = expander.state.variable(name)
        if variable is not None and index in ("[@]", "[*]"):
            elements = variable.all_elements
            count = None if elements.many else len(elements)
        elif variable is not None and not index:
            text = "" if variable.scalar is None else variable.scalar.known()
            count = None if text is None else len(text)
    if count is None:
        expander.unknown(f"the length of {name} is not known", start, end, sink, True)
    else:
        sink.run(str(count), start, end)


def _indirect(
    expander: Expander, name: str, index: str, bare: bool, start: int, end: int, sink: Sink, quoted: bool
) -> None:
    """`${!X}`: the variable whose name X holds."""
    if bare and not index:
        expander.reads.add(name)
        variable = expander.state.variable(name)
        target = variable.scalar.known() if variable is not None and variable.scalar is not None else None
        if target is not None and _NAME.fullmatch(target):
            parameter(expander, target, "", start, end, sink, quoted)
            return
    many = bool(index) or not bare
    expander.unknown(f"what ${{!{name}}} names is not known", start, end, sink, quoted, many=many)


def _change(
    expander: Expander,
    name: str,
    index: str,
    operator: str,
    at: int,
    start: int,
    end: int,
    sink: Sink,
    quoted: bool,
) -> None:
    """`${X%…}`, `${X/…}`, `${X:…}`: worked out for a known text."""
    one = index not in ("[@]", "[*]") and name not in ("@", "*")
    probe = ValueSink(expander.source)
    parameter(expander, name, index, start, end, probe, True)
    value = probe.result()
    text = value.known() if one else None
    result = None
    if text is not None:
        raw = expander.text[at : end - 1]
        new = at + _separator(raw) if operator in ("/", "//") else end - 1
        argument = expander.value(at, new).known() if at < new else ""
        replacement = expander.value(new + 1, end - 1).known() if new + 1 < end - 1 else ""
        if argument is not None and replacement is not None:
            quotes = any(c in raw for c in "'\"\\")
            result = transform(
                text, operator, argument, replacement, quotes, lambda part: arithmetic_value(expander, part)
            )
    if result is not None:
        sink.value(expander.computed(result, start, end), start, end, quoted)
        return
    inner = value.unknown() if one else None
    if inner is not None and operator in ("%", "%%") and expander.text[at : end - 1] == "/*":
        path = located(value)
        if path is not None:  # the folder of a file that only the run tells
            folder = Unknown(inner.reason, Origin(expander.source.place(start, end)), path=posixpath.dirname(path))
            sink.hole(Hole(folder, expander.source, start, end), quoted)
            return
    reason = inner.reason if inner is not None else f"{expander.shown(start, end)} is not computed"
    expander.unknown(reason, start, end, sink, quoted, many=not one)


def _separator(raw: str) -> int:
    """Where the pattern of `${X/pattern/new}` ends: the first `/` that is not escaped; the length where none is."""
    at = 0
    while at < len(raw) and raw[at] != "/":
        at += 2 if raw[at] == "\\" else 1
    return min(at, len(raw))


def _default(
    expander: Expander,
    name: str,
    index: str,
    operator: str,
    at: int,
    start: int,
    end: int,
    sink: Sink,
    quoted: bool,
) -> None:
    """`${X:-d}` and its kin. A variable that nothing visible sets has its default in force, unless something unseen
    may set it."""
    letter = operator[-1]
    present = _presence(expander, name, index, operator.startswith(":"))
    if letter == "?" or (letter in "-=" and present is True):
        parameter(expander, name, index, start, end, sink, quoted)
        return
    if letter == "+":
        if present is True:
            expander.expand_default(at, end - 1, sink, quoted)
        elif present is None:
            expander.unknown(_reason(expander, name), start, end, sink, quoted)
        elif quoted:
            sink.quote()
        return
    assigns = letter == "=" and not index and _NAME.fullmatch(name) is not None
    reason = otherwise = ""
    path: str | None = None
    if present is None:
        fallback = expander.value(at, end - 1).known()
        reason = _reason(expander, name)
        if fallback and fallback.startswith("/") and not posixpath.splitext(fallback)[1]:
            path = fallback  # a folder: whoever names another one (a second checkout) has the same files there
        if fallback and len(fallback) <= 40 and "\n" not in fallback:
            reason = f"{reason}; without it, it is {fallback}"
            otherwise = fallback
    if not assigns:
        if present is False:
            expander.expand_default(at, end - 1, sink, quoted)
        elif _is_folder(expander, name):
            parameter(expander, name, index, start, end, sink, quoted)
        else:
            expander.unknown(reason, start, end, sink, quoted, otherwise=otherwise, path=path)
        return
    origin = Origin(expander.source.place(start, end))
    if present is False:
        fresh = expander.value(at, end - 1)
        sink.value(fresh, start, end, quoted)
    else:
        unknown = Unknown(reason, origin, otherwise=otherwise, path=path)
        hole = Hole(unknown, expander.source, start, end)
        fresh = Value([hole])
        sink.hole(hole, quoted)
    before = expander.state.variable(name)
    exported = before.exported if before is not None else (False if present is False else None)
    expander.state.assign(name, Variable(fresh, None, exported, origin))


def _is_folder(expander: Expander, name: str) -> bool:
    """Whether a variable is surely a folder of the repository (`${SLURM_SUBMIT_DIR:-.}`)."""
    variable = expander.state.variable(name) if _NAME.fullmatch(name) else None
    return variable is not None and variable.scalar is not None and located(variable.scalar) is not None


def _reason(expander: Expander, name: str) -> str:
    """Why it is not known whether a parameter is set."""
    variable = expander.state.variable(name) if _NAME.fullmatch(name) else None
    if variable is None:
        return why_unknown(expander, name) if _NAME.fullmatch(name) else f"${name} is not known"
    unknown = variable.scalar.unknown() if variable.scalar is not None else None
    return unknown.reason if unknown is not None else f"the value of {name} is not known"


def _presence(expander: Expander, name: str, index: str, colon: bool) -> bool | None:
    """Whether a parameter is set (and not empty, with `colon`); None where that is not known."""
    if not _NAME.fullmatch(name):
        given = arguments(expander)
        if given is None or given.many:
            return None
        if name in ("@", "*"):
            return bool(given)
        if name.isdigit() and name != "0" and int(name[:6]) > len(given):
            return False
        value = _special(expander, name)
        return None if value is None else _full(value, colon)
    expander.reads.add(name)
    state = expander.state
    variable = state.variable(name)
    if variable is None:
        return None if state.open_because or given_because(name) else False
    if index in ("[@]", "[*]") and variable.elements is not None:
        return None if variable.elements.many else bool(variable.elements)
    return False if variable.scalar is None else _full(variable.scalar, colon)


def _full(value: Value, colon: bool) -> bool | None:
    """Whether a set value counts as given."""
    if not colon:
        return True
    unknown = False
    for atom in flatten(value):
        if atom.hole is not None:
            unknown = True
        elif atom.text:
            return True
    return None if unknown else False
