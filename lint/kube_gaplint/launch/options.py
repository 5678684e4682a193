"""Arguments to options: GNU long and short options, Go's single dash, bare flags, `key=value` overrides.

What a word means depends on its program: `-np 8` is one option to mpirun, `-K1` two letters to srun. An `OptionSpec`
says what is known of a program; where nothing is known, a word that starts with a dash takes the next word as its value
unless that starts with a dash itself.

A word of unknown content leaves the list *open*: options that are not seen are then unknown, not absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.launch.shared import HOLE
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options, OptionValue

MANY = -1
"""The arity of an option that takes every word up to the next option (argparse's `nargs="+"`)."""

UNSEEN_WORDS = "a variable of unknown content may hold more options"

_NUMBER = lazy_re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z")
_AMOUNT = lazy_re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z")
_OVERRIDE = lazy_re.compile(r"\+{0,2}[A-Za-z_][\w.@/:\[\]-]*=")
_ARGUMENT_ENDINGS = (".yaml", ".yml", ".json", ".jsonl", ".toml", ".txt", ".cfg", ".ini", ".csv", ".parquet")
"""What no program's name ends with: such a word behind a variable is the argument of a program in the variable."""
_TAKES_VALUE = lazy_re.compile(
    r"(?:.*[-.])?(?:paths?|files?|dirs?|folders?|root|names?|ids?|sizes?|iters|samples|tokens|rate|ratio|fraction|steps|"
    r"interval|layers|heads|length|len|epochs?|workers|seed|type|model|config|cfg|addr|address|port|host|rank|url|uri|"
    r"prefix|suffix|format|dtype|backend|endpoint|split|decay|eps|beta1|beta2|clip|lr|degree|count|num|nodes|devices|"
    r"gpus|tokenizer|dataset|data|output|input|save|load|out|project|entity|stage|strategy|style|optimizer|scheduler|"
    r"version|key|tag|level|minutes|mins|seconds|secs|time|timeout|limit|every|freq|frequency|period|channels|dropout)\Z"
)
"""Names of options that surely take a value, so that a variable behind one is its value and not more options."""
_PROGRAM = lazy_re.compile(r"(?:.*/)?(?:[\w.+-]*\.(?:py|pyc|sh|bash|pex)|python[\d.]*|bash|sh|env|exec)\Z")


class OptionSpec(Struct, frozen=True):
    """How a program reads its words. Names are normal (`Options.normal`): no leading dashes, `-` for `_`."""

    flags: frozenset[str] = frozenset()
    """Long names that take no value."""
    valued: Mapping[str, int] = field(default_factory=dict)
    """Long names and the number of words that they take (`MANY`: up to the next option)."""
    optional: frozenset[str] = frozenset()
    """Long names whose value must be attached (`--kill-on-bad-exit[=0]`, `-K0`)."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Letters and the long name that each stands for. Not empty: letters may be clustered (`-lK1`)."""
    single_dash: bool = False
    """`-np` is one name, not a cluster."""
    abbreviations: bool = False
    """A unique beginning of a long name stands for it (getopt_long)."""
    overrides: bool = True
    """`key=value`, `+key=value` and `++key=value` are options (Hydra, OmegaConf)."""
    ends_at_positional: bool = False
    """The first word that is no option is the program to start, and all after it belong to that."""

    def knows(self, name: str) -> bool:
        return name in self.flags or name in self.valued or name in self.optional

    def full_name(self, name: str) -> str:
        """The long name that an abbreviation stands for; the name itself where it is none."""
        if not self.abbreviations or self.knows(name):
            return name
        found = {known for known in (*self.flags, *self.valued, *self.optional) if known.startswith(name)}
        return found.pop() if len(found) == 1 else name

    def with_names(self, flags: Iterable[str] = (), valued: Iterable[str] = ()) -> OptionSpec:
        """The same with more names known."""
        return replace(
            self,
            flags=self.flags | {Options.normal(name) for name in flags},
            valued={**self.valued, **{Options.normal(name): 1 for name in valued}},
        )


NO_SPEC = OptionSpec()


def make_spec(
    flags: str = "",
    valued: str = "",
    *,
    many: str = "",
    optional: str = "",
    short: Mapping[str, str] | None = None,
    single_dash: bool = False,
    abbreviations: bool = False,
    overrides: bool = False,
    ends_at_positional: bool = True,
) -> OptionSpec:
    """A launcher's spec from lists of names separated by blanks."""
    names = {Options.normal(name): 1 for name in valued.split()}
    names.update({Options.normal(name): MANY for name in many.split()})
    return OptionSpec(
        flags=frozenset(Options.normal(name) for name in flags.split()),
        valued=names,
        optional=frozenset(Options.normal(name) for name in optional.split()),
        short={letter: Options.normal(name) for letter, name in (short or {}).items()},
        single_dash=single_dash,
        abbreviations=abbreviations,
        overrides=overrides,
        ends_at_positional=ends_at_positional,
    )


class Parsed(Struct, frozen=True):
    """A launcher's own options, and the words from the program on that it starts."""

    options: Options
    rest: tuple[Word, ...]


CUT_OFF = "a backslash stands before a blank, which cuts the command off: what follows is not passed"
"""An argument of blanks alone is never meant: the line was to go on."""


def parse_options(
    words: Sequence[Word], home: Origin, spec: OptionSpec = NO_SPEC, *, open_because: str = ""
) -> Options:
    """The options among a program's arguments (the program's own name excluded).

    `open_because` is for a caller who knows of more options that are not in `words`.
    """
    return _Reader(words, home, spec, open_because).read().options


def parse_launcher(words: Sequence[Word], home: Origin, spec: OptionSpec, *, open_because: str = "") -> Parsed:
    """A launcher's options and what it starts (the launcher's own name excluded)."""
    return _Reader(words, home, replace(spec, ends_at_positional=True), open_because).read()


class _Reader:
    def __init__(self, words: Sequence[Word], home: Origin, spec: OptionSpec, open_because: str) -> None:
        self.words = words
        self.home = home
        self.spec = spec
        self.open_because = open_because
        self.found: list[OptionValue] = []
        self.positionals: list[Word] = []
        self.rest: tuple[Word, ...] = ()
        self.at = 0
        self._program: int | None = None

    def read(self) -> Parsed:
        words = self.words
        if any(word.known and not word.known.strip() for word in words):
            self.open_because = self.open_because or CUT_OFF
        while self.at < len(words):
            word = words[self.at]
            if word.known == "--":
                self._after_double_dash()
                break
            text = word.prefix
            if text.startswith("--") and len(text) > 2:
                self._long(word, text)
            elif text.startswith("-") and len(text) > 1 and not _NUMBER.match(text):
                self._short(word, text)
            elif self._positional(word):
                break
        options = Options(tuple(self.found), tuple(self.positionals), self.home, self.open_because)
        return Parsed(options, self.rest)

    # -- words that are no option ------------------------------------------------------------------------------------

    def _after_double_dash(self) -> None:
        tail = tuple(self.words[self.at + 1 :])
        if self.spec.ends_at_positional:
            self.rest = tail
        else:
            self.positionals.extend(tail)

    def _positional(self, word: Word) -> bool:
        """Take a word that is no option; True where the launcher's own words end with it."""
        nothing_known = not any(isinstance(piece, str) and piece for piece in word.pieces)
        if self.spec.ends_at_positional:
            if word.known is None and nothing_known and self._choices(word):
                return False
            if word.known is None and nothing_known and self.at < self._program_at():
                self._open()
                self.at += 1
                return False
            if word.known is None and nothing_known:
                self._open()
            self.rest = tuple(self.words[self.at :])
            return True
        if word.known is None and nothing_known:
            if self._choices(word):
                return False
            self._open()
        match = _OVERRIDE.match(word.prefix) if self.spec.overrides else None
        if match is not None:
            name = match.group(0)[:-1].lstrip("+")
            self.found.append(OptionValue(name, _value(word.from_offset(match.end())), word))
        else:
            self.positionals.append(word)
        self.at += 1
        return False

    def _choices(self, word: Word) -> bool:
        """Take a variable whose every value is seen: what it may hold are options that may be given, and no others.

        False where that does not hold: a value is not seen, or holds something else than options.
        """
        unknown = word.pieces[0]
        if len(word.pieces) != 1 or not isinstance(unknown, Unknown) or not unknown.choices or not word.multiple:
            return False
        found: dict[str, None] = {}
        for choice in unknown.choices:
            parts = [_chosen(part, word, replace(unknown, choices=())) for part in choice.split()]
            parsed = _Reader(parts, self.home, self.spec, "").read()
            if parsed.rest or parsed.options.open_because:
                return False
            # numbers behind an option's value are more values of it (argparse's `nargs`)
            if any(_AMOUNT.match(one.known or "") is None for one in parsed.options.positionals):
                return False
            found.update(dict.fromkeys(one.name for one in parsed.options.occurrences))
        for name in found:
            self.found.append(OptionValue(name, replace(unknown, choices=()), word))
        self.at += 1
        return True

    def _program_at(self) -> int:
        """Where the program stands behind a variable of unknown content; 0 where the variable may be the program.

        `torchrun $ARGS train.py` shows a program behind the variable, `torchrun $SCRIPT --lr 1` shows options that
        are none of the launcher's: there the variable holds the program.
        """
        if self._program is None:
            self._program = 0
            at = self.at
            while at < len(self.words):
                word = self.words[at]
                text = word.prefix
                if text.startswith("-") and len(text) > 1:
                    name = Options.normal(text.split("=", 1)[0])
                    short = self.spec.short.get(name[:1], "") if not text.startswith("--") else ""
                    if text == "--":
                        self._program = at
                        break
                    if not self.spec.knows(self.spec.full_name(name)) and not short:
                        break
                    full = short or self.spec.full_name(name)
                    attached = "=" in text or (short and len(text) > 2)
                    at += 1 if attached else 1 + max(0, self.spec.valued.get(full, 0))
                elif text:
                    self._program = 0 if text.lower().endswith(_ARGUMENT_ENDINGS) or "=" in text else at
                    break
                else:
                    at += 1
        return self._program

    def _open(self) -> None:
        self.open_because = self.open_because or UNSEEN_WORDS

    # -- options -----------------------------------------------------------------------------------------------------

    def _long(self, word: Word, text: str) -> None:
        written, equals, _ = text.partition("=")
        if not equals and word.known is None:  # `--$NAME`, `--save$X`: which option it is cannot be told
            self._open()
            self.at += 1
            return
        name = self.spec.full_name(Options.normal(written))
        if equals:
            self._add(name, _value(word.from_offset(len(written) + 1)), word)
            self.at += 1
        else:
            self._take(name, word)

    def _short(self, word: Word, text: str) -> None:
        written, equals, _ = text.partition("=")
        name = Options.normal(written)
        if self.spec.single_dash and (self.spec.knows(name) or not self.spec.short) and len(name) > 1:
            self._long(word, text)
            return
        if not self.spec.short:
            if equals:
                self._add(name, _value(word.from_offset(len(written) + 1)), word)
                self.at += 1
            elif word.known is None:
                self._open()
                self.at += 1
            else:
                self._take(name, word)
            return
        self._cluster(word, text)

    def _cluster(self, word: Word, text: str) -> None:
        """`-lK1`, `-N4`, `-W 60`: letters, of which the first that takes a value takes the rest of the word."""
        offset = 1
        while offset < len(text):
            letter = text[offset]
            offset += 1
            name = self.spec.short.get(letter)
            if name is None:
                whole = Options.normal(text.split("=", 1)[0])
                if offset == 2 and len(text) > 2 and self.spec.knows(whole):
                    self._long(word, text)
                elif offset == 2:
                    self._take(whole, word)
                else:
                    self.at += 1
                return
            attached = word.from_offset(offset)
            has_rest = offset < len(text) or word.known is None
            if name in self.spec.valued:
                if has_rest:
                    self._add(name, _value(attached), word)
                    self.at += 1
                else:
                    self._take(name, word)
                return
            if name in self.spec.optional and has_rest and (offset >= len(text) or not text[offset].isalpha()):
                self._add(name, _value(attached), word)
                self.at += 1
                return
            self._add(name, Set("", Origin(word.place)), word, bare=True)
        self.at += 1

    def _take(self, name: str, word: Word) -> None:
        """An option without an attached value: take the words that belong to it."""
        self.at += 1
        arity = self._arity(name)
        if arity == 0:
            self._add(name, Set("", Origin(word.place)), word, bare=True)
            return
        values: list[Word] = []
        while self.at < len(self.words) and (arity == MANY or len(values) < arity):
            following = self.words[self.at]
            if self._is_option(following, lenient=arity > 0 and name in self.spec.valued):
                break
            values.append(following)
            self.at += 1
        if not values:
            self._add(name, Set("", Origin(word.place)), word, bare=True)
            return
        takes_value = name in self.spec.valued or _TAKES_VALUE.match(name) is not None
        if not takes_value and any(_may_be_options(value) for value in values):
            self._open()  # `--bf16 $DATA_ARGS`: a flag followed by options, or an option and its value
        self._add(name, _joined(values), word)

    def _arity(self, name: str) -> int:
        if name in self.spec.valued:
            return self.spec.valued[name]
        if name in self.spec.flags or name in self.spec.optional:
            return 0
        if self.at >= len(self.words):
            return 0
        following = self.words[self.at]
        if self.spec.ends_at_positional and _PROGRAM.match(following.prefix):
            return 0
        return 1

    def _is_option(self, word: Word, *, lenient: bool) -> bool:
        text = word.prefix
        if not text.startswith("-") or len(text) < 2 or _NUMBER.match(text):
            return False
        if not lenient:
            return True
        name = Options.normal(text.split("=", 1)[0])
        return text == "--" or (text.startswith("--") and (self.spec.knows(name) or "=" in text))

    def _add(self, name: str, value: Setting[str], word: Word, *, bare: bool = False) -> None:
        self.found.append(OptionValue(name, value, word, bare))


def _chosen(text: str, word: Word, unknown: Unknown) -> Word:
    """A word out of what a variable may hold."""
    if HOLE not in text:
        return Word((text,), word.place)
    pieces: list[str | Unknown] = []
    for known in text.split(HOLE):
        pieces.extend((known, unknown) if known else (unknown,))
    return Word(tuple(pieces[:-1]), word.place, multiple=not text.strip(HOLE))


def _may_be_options(word: Word) -> bool:
    unknown = [piece for piece in word.pieces if isinstance(piece, Unknown)]
    if not word.multiple or len(unknown) < len(word.pieces):
        return False
    return not all(piece.choices and all(map(_is_one_value, piece.choices)) for piece in unknown)


def _is_one_value(choice: str) -> bool:
    """One word that is no option, as the elements of an array mostly are."""
    return len(choice.split()) == 1 and not (choice.startswith("-") and not _NUMBER.match(choice))


def _value(word: Word) -> Setting[str]:
    """A word's value; an unknown one keeps the known text before it and the place of the whole word."""
    setting = word.setting
    if isinstance(setting, Unknown):
        return replace(setting, origin=setting.origin or Origin(word.place), prefix=word.prefix, path=word.located)
    return setting


def _joined(words: list[Word]) -> Setting[str]:
    if len(words) == 1:
        return _value(words[0])
    for word in words:
        if word.known is None:
            return _value(word)
    return Set(" ".join(word.known or "" for word in words), Origin(words[0].place))
