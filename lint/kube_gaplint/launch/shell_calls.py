"""What an argument list really starts: wrappers in front of a program, and the script that a shell is given."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts.wrappers import SHELL_VALUES, SHELLS, WRAPPERS, Wrapper
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Files, PlacedText

_SHELL_LINE = lazy_re.compile(r"#!.*\b(?:ba|da|z|k|a|mk)?sh\b")
_ASSIGNMENT = lazy_re.compile(r"([A-Za-z_]\w*)=")
_BY_NAME: dict[str, list[Wrapper]] = {}
for _row in WRAPPERS:
    for _name in _row.names:
        _BY_NAME.setdefault(_name, []).append(_row)


def base_name(word: Word) -> str:
    """The name of a program without its folder; empty where it is not known."""
    text = word.known
    return text.rsplit("/", 1)[-1] if text else ""


class Peeled(Struct, frozen=True):
    """Words after the wrappers in front of them."""

    words: tuple[Word, ...]
    wrappers: tuple[str, ...]
    changes: dict[str, Setting[str]]
    cleared: bool
    """`env -i`: nothing else of the environment is passed on."""
    opens: str

    def environment(self, environment: Environment) -> Environment:
        """The environment after what the wrappers do to it."""
        if self.cleared:
            environment = replace(environment, variables={}, open_because="")
        return environment.over(self.changes, self.opens)


_MOST_WRAPPERS = 50
"""Wrappers around one command; nobody writes more than five."""


def peel_words(words: tuple[Word, ...]) -> Peeled:
    """Take the wrappers off the front of an argument list."""
    wrappers: list[str] = []
    changes: dict[str, Setting[str]] = {}
    cleared = False
    opens = ""
    while words and len(wrappers) < _MOST_WRAPPERS:
        name = base_name(words[0])
        found = None
        for row in _BY_NAME.get(name, ()):
            found = _peel(row, words)
            if found is not None:
                opens = opens or row.opens
                break
        if found is None:
            break
        rest, assigned, empty = found
        if empty:
            cleared = True
            changes.clear()
        changes.update(assigned)
        wrappers.append(name)
        words = rest
    return Peeled(words, tuple(wrappers), changes, cleared, opens)


def _peel(row: Wrapper, words: tuple[Word, ...]) -> tuple[tuple[Word, ...], dict[str, Setting[str]], bool] | None:
    """The words after one wrapper, what it assigns, and whether it clears the environment; None where it runs
    nothing."""
    at = 1
    for expected in row.subcommand:
        while at < len(words) and words[at].known != expected and (words[at].known or "").startswith("-"):
            at += 2 if words[at].known in row.values else 1
        if at >= len(words) or words[at].known != expected:
            return None
        at += 1
    left = row.positionals
    changes: dict[str, Setting[str]] = {}
    cleared = False
    ended = False
    while at < len(words):
        word = words[at]
        text = word.known
        prefix = word.prefix
        if not ended and text == "--":
            ended = True
            at += 1
            continue
        if not ended and prefix.startswith("-") and (text != "-" or row.assignments):
            if text in row.refuses:
                return None
            if row.names[0] == "env" and text in ("-i", "-", "--ignore-environment"):
                cleared = True
            if row.names[0] == "env" and text in ("-u", "--unset") and at + 1 < len(words):
                name = words[at + 1].known
                if name:
                    changes[name] = Absent(Origin(words[at + 1].place))
            at += 2 if text in row.values else 1
            continue
        if row.assignments and (found := _ASSIGNMENT.match(prefix)) is not None:
            changes[found.group(1)] = assigned(word, len(found.group()))
            at += 1
            continue
        if word.multiple and not ended and at + 1 < len(words):
            at += 1  # more options of the wrapper, most likely
            continue
        if left > 0:
            left -= 1
            at += 1
            continue
        break
    if at >= len(words) and not (row.names[0] == "env" and changes):
        return None
    return words[at:], changes, cleared


def assigned(word: Word, offset: int) -> Setting[str]:
    """The value of a `NAME=value` word whose value begins at an offset; its origin is the whole word."""
    value = word.from_offset(offset)
    text = value.known
    origin = Origin(word.place)
    if text is not None:
        return Set(text, origin)
    unknown = next(piece for piece in value.pieces if isinstance(piece, Unknown))
    return Unknown(unknown.reason, origin)


def peel_wrappers(command: Command) -> Command:
    """The command without the wrappers in front of its program: `exec numactl -l torchrun …` gives `torchrun …`.

    The wrappers' names are kept in `wrappers`, an `exec` among them sets `is_exec`, and what `env` assigns is in the
    environment. A command without wrappers is given back as it is.
    """
    peeled = peel_words(command.words)
    if not peeled.wrappers or not peeled.words:
        return command
    return replace(
        command,
        words=peeled.words,
        environment=peeled.environment(command.environment),
        wrappers=(*command.wrappers, *peeled.wrappers),
        is_exec=command.is_exec or "exec" in peeled.wrappers,
        options_open=any(word.multiple for word in peeled.words[1:]),
    )


class Invocation(Struct, frozen=True):
    """A shell that is started: what it reads, and with which options."""

    shell: str
    kind: Literal["string", "file", "stdin"]
    word: Word | None
    """The string of `-c`, or the path of the script."""
    zero: Word | None
    arguments: tuple[Word, ...] | None
    """`$1` and so on; None where they are not known."""
    options: dict[str, bool] = field(default_factory=dict)
    """`errexit`, `pipefail` …: switched on or off on the command line."""
    login: bool = False


_LETTERS = {
    "e": "errexit",
    "x": "xtrace",
    "u": "nounset",
    "a": "allexport",
    "n": "noexec",
    "v": "verbose",
    "f": "noglob",
}


def invocation(words: tuple[Word, ...]) -> Invocation | None:
    """How a shell is started by these words; None where the program is no shell."""
    if not words:
        return None
    shell = base_name(words[0])
    at = 1
    if shell == "busybox" and len(words) > 1 and words[1].known in ("sh", "ash"):
        shell, at = "sh", 2
    if shell in ("su", "runuser"):
        return _switch_user(words)
    if shell == "script":
        return _typescript(words)
    if shell not in SHELLS:
        return None
    options: dict[str, bool] = {}
    login = string = stdin = False
    while at < len(words):
        word = words[at]
        text = word.known
        if text is None:
            if word.multiple and at + 1 < len(words):
                at += 1
                continue
            break
        if text in ("--", "-"):
            at += 1
            break
        if text in SHELL_VALUES:
            at += 2
            continue
        if text.startswith("--"):
            login = login or text == "--login"
            at += 1
            continue
        if len(text) < 2 or text[0] not in "-+":
            break
        at += 1
        on = text[0] == "-"
        for letter in text[1:]:
            if letter == "o":
                if at < len(words) and words[at].known is not None:
                    options[words[at].known or ""] = on
                at += 1
            elif letter == "c":
                string = True
            elif letter == "s":
                stdin = True
            elif letter == "l":
                login = True
            elif letter in _LETTERS:
                options[_LETTERS[letter]] = on
    rest = words[at:]
    if string:
        if not rest:
            return None
        return Invocation(shell, "string", rest[0], rest[1] if len(rest) > 1 else None, rest[2:], options, login)
    if stdin or not rest:
        return Invocation(shell, "stdin", None, None, rest, options, login)
    return Invocation(shell, "file", rest[0], rest[0], rest[1:], options, login)


def _switch_user(words: tuple[Word, ...]) -> Invocation | None:
    """`su - user -c "…"`: the string runs in the user's login shell."""
    texts = [word.known for word in words]
    login = any(text in ("-", "-l", "--login") for text in texts[1:])
    for option in ("-c", "--command"):
        if option in texts[1:-1]:
            return Invocation("sh", "string", words[texts.index(option, 1) + 1], None, (), {}, login)
    return None


def _typescript(words: tuple[Word, ...]) -> Invocation | None:
    """`script -q -c "…" file`."""
    for at, word in enumerate(words[1:-1], 1):
        text = word.known or ""
        if text == "--command" or (text.startswith("-") and not text.startswith("--") and text.endswith("c")):
            return Invocation("sh", "string", words[at + 1], None, ())
    return None


def direct_script(command: Command, files: Files, *, here: bool = False) -> tuple[Invocation | None, PlacedText | None]:
    """How a script file is started by its name (`./run.sh`), and its text where it is known; nothing for a program.

    `here`: a bare name (`run.sh`) is looked for in the working directory too, as srun does where PATH has none.
    """
    word = command.words[0]
    path = word.known or word.located
    if not path or ("/" not in path and word.known is not None and not (here and path.endswith((".sh", ".bash")))):
        return None, None
    if path.endswith(".py"):  # no shell reads it, be it that a wrapper (`uv run`) has Python do so
        return None, None
    text = files(path)
    if text is None:
        if word.known is None:
            return None, None
        call = Invocation("bash", "file", word, word, command.words[1:])
        return (call, None) if path.endswith((".sh", ".bash")) else (None, None)
    first = text.text[:200].split("\n", 1)[0]
    if first.startswith("#!") and _SHELL_LINE.match(first) is None:
        return None, None
    shell, options = shebang(text.text)
    return Invocation(shell, "file", word, word, command.words[1:], options), text


def shebang(text: str) -> tuple[str, dict[str, bool]]:
    """The shell and its options by the `#!` line; bash without one."""
    line = text[:200].split("\n", 1)[0].strip()
    words = line[2:].split() if line.startswith("#!") else []
    if words and words[0].rsplit("/", 1)[-1] == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    if not words:
        return "bash", {}
    options: dict[str, bool] = {}
    for word in words[1:]:
        if word == "pipefail":
            options["pipefail"] = True
        elif word.startswith("-") and not word.startswith("--"):
            options.update({name: True for letter, name in (("e", "errexit"), ("a", "allexport")) if letter in word})
    return words[0].rsplit("/", 1)[-1], options
