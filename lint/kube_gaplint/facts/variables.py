"""Environment variables of NCCL and torch.distributed: which exist, who reads them, and what a value becomes.

The rows are in `variables.tsv`: name, owner, reader, accepted, first, last, default, replaced_by, note, source. A name
that ends in `*` stands for all names that begin so. `accepted` lists words (`A|B`) or a range (`0-31`) where the whole
of it is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from kube_gaplint import lazy_re, packaged
from kube_gaplint.facts.nccl import EMPTY_FILTER_HIDES, IB_TIMEOUT_LIMIT, STRICT_ALGORITHMS_SINCE, TOKENS

Release: TypeAlias = tuple[int, ...]

Owner: TypeAlias = Literal["nccl", "torch", "elastic", "torchrun", "external", "invented"]
"""`external`: read by a plugin, an image or a tool; `invented`: read by nobody, but seen in the wild."""

Reader: TypeAlias = Literal[
    "number",  # NCCL: strtoll with base 0; text becomes 0, 010 becomes 8
    "flag",  # NCCL: the same, as 0 or not 0
    "one",  # NCCL: only the value 1 has an effect
    "level",  # NCCL: the name of a path level in capitals, or a number; anything else is passed over
    "exact",  # one of the accepted words as it is written; anything else is passed over
    "word",  # one of the accepted words, in any case
    "list",  # accepted words, by commas
    "filter",  # the same, a ^ in front of all for what is left out; unknown ones are passed over
    "prefixes",  # names of interfaces or adapters
    "path",
    "prefix",  # the beginning of a path; the rank is appended
    "stoi",  # torch: std::stoi; what is no number ends the process at init
    "torch-flag",  # torch: y/yes/1/t/true or n/no/0/f/false in any case; anything else ends the process at init
    "one-text",  # exactly the text 1
    "text",
]


DECIDE_HOW_IT_FAILS = (
    "NCCL_", "RCCL_", "TORCH_", "PYTORCH_", "TORCHELASTIC_", "PET_", "UCX_", "FI_", "HF_", "TRANSFORMERS_",
    "CUDA_VISIBLE_", "HIP_VISIBLE_", "ROCR_VISIBLE_",
)  # fmt: skip
"""How the names of the variables begin that decide how a run fails: two starts that differ in these are not alike."""

PROCESS_GROUP_TIMEOUT = "the process group's timeout is an argument"


class Variable(Struct, frozen=True):
    """One variable. `first` and `last` are releases of its owner: the first that reads it, the last that did."""

    name: str
    owner: Owner
    reader: Reader
    accepted: str
    first: Release
    last: Release
    default: str
    replaced_by: str
    """The name that does the same now; for an invented name the real one that was meant."""
    note: str
    """For an invented name: what sets the thing that was wanted."""
    source: str

    @property
    def words(self) -> tuple[str, ...]:
        """The accepted words; empty where not all of them are known."""
        return tuple(self.accepted.split("|")) if "|" in self.accepted else ()

    @property
    def wants_timeout(self) -> bool:
        """Whether an invented name is meant to set the process group's timeout, which no variable does."""
        return self.owner == "invented" and PROCESS_GROUP_TIMEOUT in self.note

    @property
    def range(self) -> tuple[int, int] | None:
        found = re.fullmatch(r"(\d+)-(\d+)", self.accepted)
        return (int(found[1]), int(found[2])) if found else None

    def read_by(self, release: Release) -> bool:
        """Whether a release of the variable's owner reads it."""
        if self.owner == "invented" or (self.first and release[: len(self.first)] < self.first[: len(release)]):
            return False
        return not self.last or release[: len(self.last)] <= self.last[: len(release)]


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split(".")) if text else ()


@cache
def _lines() -> dict[str, str]:
    """The rest of each line by name. A line is read when somebody asks for it: most runs ask for a few of hundreds."""
    lines = packaged.text("kube_gaplint.facts", "variables.tsv").splitlines()[1:]
    return {name: rest for name, _, rest in (line.partition("\t") for line in lines)}


@cache
def _beginnings() -> tuple[str, ...]:
    """The names that stand for all that begin so."""
    return tuple(name for name in _lines() if name.endswith("*"))


@cache
def _row(name: str) -> Variable:
    """The row of a name as it stands in the table."""
    owner, reader, accepted, first, last, default, replaced_by, note, source = _lines()[name].split("\t")
    return Variable(
        name, cast("Owner", owner), cast("Reader", reader), accepted, _release(first), _release(last), default,
        replaced_by, note, source,
    )  # fmt: skip


def _named(name: str) -> Variable | None:
    """The row of a variable by its whole name."""
    return _row(name) if name in _lines() and not name.endswith("*") else None


@cache
def _all_named() -> tuple[Variable, ...]:
    return tuple(row for name in _lines() if (row := _named(name)) is not None)


def all_variables() -> Iterable[Variable]:
    """All rows, those of invented and external names as well."""
    return (*_all_named(), *map(_row, _beginnings()))


def variable(name: str) -> Variable | None:
    """The row of a name, invented and external ones as well; None for one that is not known at all."""
    found = _named(name)
    if found is None:
        beginning = next((one for one in _beginnings() if name.startswith(one[:-1])), None)
        return None if beginning is None else _row(beginning)
    return found


_FAMILY = lazy_re.needing(("NCCL_", "TORCH_FR_"), r"(?:NCCL|TORCH_NCCL|TORCH_FR)_[A-Z0-9_]+\Z", re.ASCII)


def is_ours(name: str) -> bool:
    """Whether a name claims to be read by NCCL or torch: `NCCL_*`, `TORCH_NCCL_*`, `TORCH_FR_*`, or an invented one."""
    row = _named(name)
    return _FAMILY.match(name) is not None or (row is not None and row.owner == "invented")


def is_in_conf_files(name: str) -> bool:
    """Whether a variable has an effect in NCCL's files of settings: NCCL reads them when it starts and sets what is not
    set, for itself and the plugins that it loads. What torch reads under NCCL's name it has read before."""
    row = variable(name) if name.startswith("NCCL_") else None
    return name.startswith(("NCCL_", "RCCL_", "OFI_NCCL_", "FI_", "UCX_")) and (row is None or row.owner != "torch")


def exists(name: str) -> bool:
    """Whether some release, plugin or tool reads the name."""
    row = variable(name)
    return row is not None and row.owner != "invented"


@cache
def _vocabulary() -> frozenset[str]:
    """All words in the names of NCCL's and torch's variables, and in those that were made up for them."""
    rows = (row for row in _all_named() if row.owner in {"nccl", "torch", "invented"})
    return frozenset(word for row in rows for word in row.name.split("_") if word)


@cache
def is_private(name: str) -> bool:
    """Whether a name that nobody reads is likely the user's own: it holds a word that no variable of NCCL's or torch's
    has, not even with a typing error (`NCCL_CONTAINER`, `NCCL_JOB_ID`)."""
    known = _vocabulary()
    for word in name[:80].split("_"):
        if not word or word.isdigit() or word in known:
            continue
        limit = 0 if len(word) < 6 else 1
        if not any(edit_distance(word, other, limit) <= limit for other in known):
            return True
    return False


@cache
def nearest(name: str) -> Variable | None:
    """The one real variable that a misspelt name surely means; None where there is none, or more than one.

    Near is: the same but for underscores; the same words in another order; or at most two typing errors apart, one
    where the name proper is short, none where it is very short. Names with different numbers, or of plugins, never are.
    """
    invented = _named(name)
    if invented is not None:
        if invented.owner == "invented" and invented.replaced_by:
            return variable(invented.replaced_by)
        return None
    if len(name) > 80 or _FAMILY.match(name) is None:
        return None
    candidates = [row for row in _all_named() if row.owner in {"nccl", "torch"}]
    plain = name.replace("_", "")
    words = sorted(name.split("_"))
    for same in (
        [row for row in candidates if row.name.replace("_", "") == plain],
        [row for row in candidates if sorted(row.name.split("_")) == words],
    ):
        if len(same) == 1:
            return same[0]
    beginning = name[: _proper(name)]
    proper = len(name) - len(beginning)
    limit = 0 if proper < 4 else 1 if proper < 8 else 2
    best = limit + 1
    found: list[Variable] = []
    for row in candidates:
        if not row.name.startswith(beginning) or abs(len(row.name) - len(name)) > limit:
            continue
        distance = edit_distance(name, row.name, limit)
        if distance < best:
            best, found = distance, [row]
        elif distance == best <= limit:
            found.append(row)
    if len(found) != 1 or _digits(found[0].name) != _digits(name):
        return None
    return found[0]


def _proper(name: str) -> int:
    """The length of the beginning that a family shares."""
    return next(len(start) for start in ("TORCH_NCCL_", "TORCH_FR_", "NCCL_") if name.startswith(start))


def _digits(name: str) -> list[str]:
    return re.findall(r"\d+", name)


def edit_distance(left: str, right: str, limit: int) -> int:
    """Typing errors between two words: letters added, dropped, replaced, or two neighbours swapped.

    A distance beyond `limit` is given as `limit + 1`.
    """
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


# What a value becomes

Trouble: TypeAlias = Literal[
    "",  # read as it is written
    "becomes-zero",  # text where a number is read
    "octal",  # a leading 0
    "cut",  # a number with text after it: the text is dropped
    "too-large",  # beyond the reader's range
    "out-of-range",  # beyond what the setting allows
    "for-ever",  # switches the time limit off
    "no-effect",  # a value that the reader knows but does nothing with
    "unknown-word",
    "filters-all",  # no word is known, and nothing passes
    "ends-the-process",  # the reader raises at init
]


class Reading(Struct, frozen=True):
    """What the reader of a variable makes of a text: `effective` is the value in force ("" where there is none)."""

    effective: str
    trouble: Trouble = ""
    opposite: bool = False
    """The setting ends up the opposite of what is written (`NCCL_IB_DISABLE=true` leaves InfiniBand on)."""
    words: tuple[str, ...] = ()
    """The words that are not known, for `unknown-word` and `filters-all`."""


_SPACE = " \t\n\v\f\r"
_TRUE = frozenset({"y", "yes", "1", "t", "true"})
_FALSE = frozenset({"n", "no", "0", "f", "false"})
_MEANS_ON = _TRUE | {"on", "enable", "enabled"}
_MEANS_OFF = _FALSE | {"off", "disable", "disabled"}
_STRTOLL = lazy_re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)


def strtoll(text: str) -> tuple[int, str]:
    """The C function with base 0: the number at the start (0 where there is none), and what follows it."""
    stripped = text.lstrip(_SPACE)
    found = _STRTOLL.match(stripped)
    if found is None:
        return 0, text
    digits = found[0]
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    end = found.end()
    if digits[:2].lower() == "0x":
        return sign * int(digits, 16), stripped[end:]
    if digits.startswith("0"):
        octal = re.match(r"[0-7]+", digits)
        assert octal is not None
        cut = len(digits) - len(octal[0])
        return sign * int(octal[0], 8), stripped[end - cut :]
    return sign * int(digits[:40]), stripped[end:]


def stoi(text: str) -> int | None:
    """std::stoi: the decimal number at the start; None where it throws (no number, or beyond 32 bits)."""
    found = re.match(r"[+-]?[0-9]+", text.lstrip(_SPACE), re.ASCII)
    if found is None or len(found[0]) > 20:
        return None
    value = int(found[0])
    return value if -(2**31) <= value < 2**31 else None


def torch_flag(text: str, release: Release | None = None) -> bool | None:
    """torch's reading of a switch; None where it throws. Before 2.2 only 0 and 1 are taken."""
    if release is not None and release < (2, 2):
        number = stoi(text)
        return bool(number) if number in {0, 1} else None
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def reading(row: Variable, text: str, *, nccl: Release | None = None, torch: Release | None = None) -> Reading:
    """What a text becomes for the reader of a variable, in the given releases where they are known."""
    if row.reader in {"number", "flag", "one"}:
        return Reading("") if not text else _number(row, text)
    if row.reader == "stoi":
        return _torch_number(row, text)
    if row.reader == "torch-flag":
        flag = torch_flag(text, torch)
        return Reading("", "ends-the-process") if flag is None else Reading("1" if flag else "0")
    if row.reader in {"level", "exact"} and row.words and text:
        known = text in row.words or (row.reader == "level" and text[0] in "0123456789")
        return Reading(text) if known else Reading("", "unknown-word", words=(text,))
    if row.reader == "filter" and text:
        return _filter(row, text, nccl)
    if row.reader in {"word", "list"} and row.words and text:
        return _words(row, text, nccl)
    return Reading(text)


def _filter(row: Variable, text: str, nccl: Release | None) -> Reading:
    """A list whose unknown words are passed over matters where no word is left of it."""
    first, behind = EMPTY_FILTER_HIDES
    words = tuple(part for part in text.split(",") if part)
    if text.startswith("^") or {word.upper() for word in words} & set(row.words):
        return Reading(text)
    if nccl is not None and not first <= nccl < behind:
        return Reading(text)
    return Reading("", "filters-all", words=words)


def _torch_number(row: Variable, text: str) -> Reading:
    number = stoi(text)
    if number is None:
        return Reading("", "ends-the-process")
    if row.range is not None and not row.range[0] <= number <= row.range[1]:
        return Reading(str(number), "out-of-range")
    rest = re.sub(r"\A\s*[+-]?[0-9]+", "", text)
    return Reading(str(number), "cut" if rest.strip(_SPACE) else "")


def _number(row: Variable, text: str) -> Reading:
    value, rest = strtoll(text)
    shown = str(value)
    if not -(2**63) <= value < 2**63:
        return Reading("", "too-large")
    is_number = _STRTOLL.match(text.lstrip(_SPACE)) is not None
    if not is_number:
        if text.strip().lower() in _MEANS_OFF:
            return Reading(shown)  # text becomes 0, which is what is meant
        return Reading(shown, "becomes-zero", opposite=text.strip().lower() in _MEANS_ON)
    if row.reader == "one" and value not in {0, 1}:
        return Reading(shown, "no-effect", opposite=True)
    if row.name == "NCCL_IB_TIMEOUT" and (value <= 0 or value >= IB_TIMEOUT_LIMIT):
        return Reading(shown, "for-ever")
    if row.range is not None and not row.range[0] <= value <= row.range[1]:
        return Reading(shown, "out-of-range")
    if rest.strip(_SPACE):
        return Reading(shown, "cut")
    digits = text.strip().lstrip("+-")
    if re.fullmatch(r"0[0-7]+", digits) and int(digits) != value:
        return Reading(shown, "octal")
    return Reading(shown)


def _words(row: Variable, text: str, nccl: Release | None) -> Reading:
    if row.reader == "word":
        if text.upper() in {word.upper() for word in row.words}:
            return Reading(text.upper())
        return Reading("", "ends-the-process" if row.owner == "torch" else "unknown-word", words=(text,))
    known = {token.word: token.since for token in TOKENS if token.variable == row.name}
    unknown = []
    for part in re.split(r"[;,]", text):
        word = part.rsplit(":", 1)[-1].strip().lstrip("^").lower()
        since = known.get(word)
        if word and (since is None or (nccl is not None and nccl < since)):
            unknown.append(part.strip())
    if not unknown:
        return Reading(text)
    fails = nccl is not None and nccl >= STRICT_ALGORITHMS_SINCE
    return Reading("", "ends-the-process" if fails else "unknown-word", words=tuple(unknown))
