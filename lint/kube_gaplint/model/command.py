"""What a shell or an exec array starts: words, commands, and the conditions under which they run."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, PlacedText


class Word(Struct, frozen=True):
    """One argument after expansion.

    `pieces` are known text and unknown parts in order, so that `--rdzv-endpoint=${HEAD}:29500` still shows its option
    name. `multiple` marks an unquoted unknown (`$EXTRA_ARGS`, `"$@"`) that may become any number of words, options
    included.
    """

    pieces: tuple[str | Unknown, ...]
    place: Place
    multiple: bool = False
    placed: PlacedText | None = None
    """For a word out of a manifest: its text with the place of every character, so that it can be read as the script
    of `sh -c`. Unknown `$(VAR)` references stand in it as `${VAR}`."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Word and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        return self.pieces, self.place, self.multiple

    @property
    def known(self) -> str | None:
        """The whole text, or None where part of it is unknown."""
        if len(self.pieces) == 1:
            piece = self.pieces[0]
            return piece if isinstance(piece, str) else None
        if any(isinstance(piece, Unknown) for piece in self.pieces):
            return None
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def prefix(self) -> str:
        """The known text up to the first unknown part."""
        out = []
        for piece in self.pieces:
            if isinstance(piece, Unknown):
                break
            out.append(piece)
        return "".join(out)

    @property
    def shown(self) -> str:
        """The text with unknown parts as an ellipsis: for messages and names, never for decisions."""
        return "".join(piece if isinstance(piece, str) else "…" for piece in self.pieces)

    @property
    def known_end(self) -> str:
        """The known text after the last unknown part: all of a word that is known."""
        out: list[str] = []
        for piece in reversed(self.pieces):
            if isinstance(piece, Unknown):
                break
            out.append(piece)
        return "".join(reversed(out))

    @property
    def located(self) -> str | None:
        """The path that the word is, also where only a folder of the repository before it is unknown
        (`$(pwd)/conf/run.toml` gives `conf/run.toml`); None where more of it is unknown."""
        first = self.pieces[0]
        if not isinstance(first, Unknown):
            return self.known
        rest = self.pieces[1:]
        if first.path is None or any(isinstance(piece, Unknown) for piece in rest):
            return None
        tail = "".join(piece for piece in rest if isinstance(piece, str))
        return posixpath.normpath((first.path or ".") + tail) if tail[:1] in ("", "/") else None

    @property
    def setting(self) -> Setting[str]:
        text = self.known
        if text is not None:
            return Set(text, Origin(self.place))
        unknown = next(piece for piece in self.pieces if isinstance(piece, Unknown))
        path = self.located
        return unknown if path == unknown.path else replace(unknown, path=path)

    def from_offset(self, offset: int) -> Word:
        """The word without its first `offset` known characters (`--save=X` to `X`); the place stays the whole word."""
        pieces: list[str | Unknown] = []
        for piece in self.pieces:
            if not isinstance(piece, str):
                pieces.append(piece)
                continue
            rest = piece[offset:]
            offset = max(0, offset - len(piece))
            if rest:
                pieces.append(rest)
        return Word(tuple(pieces) or ("",), self.place, self.multiple)


Certainty: TypeAlias = Literal["always", "conditional", "repeated", "on-exit", "never-seen"]


class Pipeline(Struct, frozen=True):
    """The place of a command in a pipeline of `length` commands (1: no pipe)."""

    index: int = 0
    length: int = 1
    pipefail: Setting[bool] | None = None
    """Whether `pipefail` is in force; None where the command is not piped."""


class Command(Struct, eq=False):
    """One simple command that a script or an exec array runs.

    `certainty`: "always" when it runs on every path to the end of the script; "conditional" inside a branch, after
    `&&`/`||`, or in a function that is called conditionally; "repeated" inside a loop; "on-exit" in a trap.
    """

    words: tuple[Word, ...]
    environment: Environment
    place: Place
    script: Script | None = None
    """The script that holds the command; None for an exec array."""
    certainty: Certainty = "always"
    condition: str = ""
    pipeline: Pipeline = field(default_factory=Pipeline)
    background: bool = False
    waited: bool = True
    """For a background command: whether a later `wait` waits for it."""
    fallback: bool = False
    """Its failure is swallowed by `|| …` or `!`."""
    is_exec: bool = False
    is_last: bool = False
    """It is the last command of the script on its path."""
    redirected: bool = False
    writes: Word | None = None
    """The file that its standard output is redirected to (`> file`, `>> file`)."""
    errexit: Setting[bool] | None = None
    """Whether `set -e` is in force at the command; None for an exec array."""
    options_open: bool = False
    """Unknown words may hold more options than are visible."""
    wrappers: tuple[str, ...] = ()
    """Programs in front of this one that were taken off `words`: `exec`, `numactl`, `timeout` … (facts.wrappers)."""
    directory: Setting[str] | None = None
    """The working directory after every `cd`; None where no `cd` came before."""
    stdin: Heredoc | None = None
    """The here-document that the command reads."""
    unending: bool = False
    """It stands in a loop that nothing in sight ever ends: `while true`, `until false`, `while sleep 60`."""
    expected: Certainty = "always"
    """As `certainty`, where what only gets something ready succeeds: "always" behind `mkdir -p /logs &&`, for none of
    that is there to be tested."""
    evaluated: Place | None = None
    """The `eval` of its script that runs it, where that runs nothing else: its status is the command's."""

    @property
    def name(self) -> str:
        """The program's base name (`/usr/bin/srun` gives `srun`); empty where it is unknown."""
        text = self.words[0].known if self.words else None
        return text.rsplit("/", 1)[-1] if text else ""

    @property
    def argv(self) -> list[str | None]:
        return [word.known for word in self.words]


class Script(Struct, eq=False):
    """A shell script that was read: the text, the shell, and what holds for the whole of it."""

    text: PlacedText
    shell: str
    """`bash`, `sh`, `dash`, `zsh` …: as named by the command or the #! line."""
    commands: list[Command] = field(default_factory=list)
    """All simple commands in the order in which they would run, functions expanded where they are called."""
    exports: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Variables exported at the end."""
    sources: list[Word] = field(default_factory=list)
    """Files that are sourced and could not be read: the environment is open after the first of them."""
    traps: list[tuple[str, str]] = field(default_factory=list)
    """(signal, handler text) of every `trap`."""
    handlers: list[Command] = field(default_factory=list)
    """Commands that the handlers of signals run, functions expanded. Those of EXIT stand in `commands`."""
    heredocs: list[Heredoc] = field(default_factory=list)
    errors: list[Place] = field(default_factory=list)
    """Spans that the grammar did not understand."""
    reads: set[str] = field(default_factory=set)
    """Names of the variables that the script makes use of: not those that it only hands on under the same name
    (`export X=${X:-1}`, `mpirun -x X=$X`) or prints (`echo $X`)."""
    unseen: list[Word] = field(default_factory=list)
    """Script files that it starts and that could not be read."""
    output: Word | None = None
    """The file to which the shell sends its own output, and that of all that it starts then (`exec > file`)."""
    inner: list[Command] = field(default_factory=list)
    """Commands in command substitutions (`$(scontrol show hostnames)`): only their output is used."""
    parent: Script | None = None
    depth: int = 0
    form: Literal["string", "file", "stdin", "source", ""] = ""
    """How the shell got it: `-c` string, file, standard input, `source`; empty where nobody said."""
    started_by: Command | None = None
    """The command of the parent that started it, or the container's; None for a script that starts by itself."""


StatusLoss: TypeAlias = Literal["pipe", "fallback", "later", "background", "wait", "branch", "exit"]


class LostStatus(Struct, frozen=True):
    """How the exit status of a failed command gets lost, so that its script ends with 0.

    `way`: "pipe" (the status of a pipeline is that of its last command), "fallback" (`|| true`), "later" (commands
    after it succeed), "background" (nothing waits for it), "wait" (`wait` without a process id is 0), "branch" (`if`
    without a branch that fails), "exit" (`exit 0`).
    """

    way: StatusLoss
    place: Place
    """What drops the status."""
    command: Command
    """The command whose status is dropped: the failed one, or the one that started the script that it runs in."""
    pipefail_suffices: bool = False
    """For "pipe": with pipefail in force the script would end with the failure."""
    member: int = 0
    """For "pipe": which of its commands fails, counted as in `PIPESTATUS`."""
    looped: bool = False
    """A loop of the script starts the command, several times perhaps."""


ShellHold: TypeAlias = Literal[
    "background", "pipe", "redirected", "fallback", "time", "trap", "file", "later", "compound", "text", "dash"
]


class ShellInFront(Struct, frozen=True):
    """A shell that stays between the container's runtime and a program, and hands no SIGTERM on to it.

    `why` it does not run the program in its own place: "background", "pipe", "redirected", "fallback" (`|| true`),
    "time" and "trap" as they stand at the program, "file" (it reads a script file), "later" (commands come after it),
    "compound" (it stands in an `if`, a loop or a group), "text" (a blank line or a comment comes after it), "dash"
    (this shell never does).
    """

    shell: str
    why: ShellHold
    command: Command
    """What the shell waits for: the program, or an inner shell."""
    after: Command | None = None
    """The command that the script runs next."""
    deaf_trap: bool = False
    """A trap on SIGTERM is set, which the shell runs only when the program in the foreground has ended."""

    exec_suffices: bool = False
    """`exec` in front of the command is all that it takes: it ends the script, and no trap is set."""


class EndStatus(Struct, frozen=True):
    """The exit status of a container after a command in it has failed.

    `code` is what a script ends with instead (`|| exit 138`); None: the command's own status is handed on.
    """

    code: int | None = None
    place: Place | None = None
    """The `exit` that gives the code."""


class Heredoc(Struct, eq=False):
    """A here-document: its text, and the command that reads it or the file that it is written to."""

    text: PlacedText
    expanded: bool
    """False where the delimiter is quoted: the text is taken as it stands."""
    command: str
    target: str
    """The file that it is redirected to, where that is known; else empty."""
    target_word: Word | None = None
    """The file's name as it was written, also where part of it is unknown (`ds_config.$SLURM_JOB_ID.json`): compare it
    with a word that names the file."""
