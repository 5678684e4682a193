"""What becomes of a failure: whether the exit status of a command reaches the end of its scripts.

The statements of a script are followed once more, from the command that fails to the end: a failing pipeline member,
`|| true`, commands that come after it, background jobs, `if`. Where somebody looks at the status (`rc=$?`, `exit $rc`,
`$PIPESTATUS`, a test that ends the script), or where it cannot be told, nothing is said.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts.shell_names import COPIES_WHAT_THERE_IS, PARTS_THAT_SUCCEED, SUCCEED_ANYWAY
from kube_gaplint.launch.shared import path_of
from kube_gaplint.launch.shell_flow import ASSIGNMENT
from kube_gaplint.launch.shell_parser import structure
from kube_gaplint.launch.shell_tree import (
    Block,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    Not,
    Parsed,
    Pipe,
    Redirected,
    Simple,
    Statement,
)
from kube_gaplint.model.command import Command, EndStatus, LostStatus, Script, StatusLoss
from kube_gaplint.model.endless import sleeps_on
from kube_gaplint.model.setting import Set, Setting
from kube_gaplint.text.limits import SCRIPT

_STATUS: Final = lazy_re.compile(r"\$\{?\?|\$\{?#?(?:PIPESTATUS|pipestatus)\b")
_LAST_STATUS: Final = lazy_re.compile(r"\$\?|\$\{\?\}")
_ENDS: Final = lazy_re.compile(r"\b(?:exit|return|exec|break|continue)\b")
_WAITS: Final = lazy_re.compile(r"\bwait\b|\bfg\b|\bkill\s+-0\b|\bjobs\b")
_FAILED: Final = lazy_re.compile(
    r"(?:test|\[\[?) +[\"']?\$\{?(?P<name>\w+|\?)\}?[\"']? +(?:-ne|-gt|!=) +[\"']?0[\"']?(?: +\]\]?)?"
    r"|\(\( *\$?\{?(?P<counted>\w+|\?)\}? *(?:(?:!=|>) *0 *)?\)\)"
)
"""A test that holds where a kept status is not 0."""
_WELL: Final = lazy_re.compile(
    r"(?:test|\[\[?) +[\"']?\$\{?(?P<name>\w+|\?)\}?[\"']? +(?:-eq|={1,2}) +[\"']?0[\"']?(?: +\]\]?)?"
    r"|\(\( *\$?\{?(?P<counted>\w+|\?)\}? *== *0 *\)\)"
)
"""A test that holds where a kept status is 0."""
_TESTS: Final = frozenset({"[", "[[", "test", "((", "let", "grep", "false"})
_PIPED: Final = lazy_re.compile(r"=[\"']?(?:\$\(|`)[^()`\n]*[^|\n]\|[^|]")
"""An assignment of what a pipeline says: its status is that of the pipeline."""
_BOUNDED: Final = lazy_re.compile(r"-(?:lt|le|gt|ge)\b|[<>]")
_NAME: Final = lazy_re.compile(r"\b[A-Za-z_]\w*")
_ENDLESS: Final = lazy_re.compile(r"for\s*\(\([^;]*;\s*;")
_DECLARING: Final = frozenset({"export", "local", "declare", "typeset", "readonly"})
_PATTERN: Final = lazy_re.compile(r"[*?\[{]")
_SHOWS: Final = frozenset({"echo", "printf", "logger", ":"})
_DEEPEST: Final = 8
"""Scripts and functions that call one another."""
_MOST_CALLS: Final = 8
_LONGEST_CODE: Final = 9

Kind: TypeAlias = Literal["fails", "running", "ends", "lost", "lost-end", "unknown"]


class _Fate(Struct, frozen=True):
    """How things stand after a statement that holds the failing command.

    "fails": its status is not 0; "running": it is a background job that nobody has waited for yet; "ends": the shell
    ends with a status that is not 0; "lost" and "lost-end": the status is 0, and the shell goes on or ends.
    """

    kind: Kind
    way: StatusLoss = "later"
    span: tuple[int, int] = (0, 0)
    exempt: bool = False
    """A failure that `set -e` does not end the shell for."""
    kept: frozenset[str] = frozenset()
    """Variables that hold the status."""
    code: int | None = None
    """Of "fails" and "ends": the status where it is another one than the command's own (`|| exit 138`)."""


_FAILS, _ENDING, _UNKNOWN = _Fate("fails"), _Fate("ends"), _Fate("unknown")


def lost_status(command: Command) -> LostStatus | None:
    """How the status of a command is lost when it fails; None where it is handed on, or where that is not known."""
    for _ in range(_DEEPEST):
        analysis = _followed(command)
        if analysis is None:
            return None
        fate = analysis.outcome()
        if fate.kind == "running":
            fate = replace(fate, kind="lost")
        if fate.kind in ("lost", "lost-end"):
            helps = fate.way == "pipe" and replace(analysis, pipefail=True).outcome().kind in ("fails", "ends")
            helps = helps and not (analysis.errexit and analysis.may_end_elsewhere())
            place, looped = analysis.script.text.place(*fate.span), analysis.looped()
            return LostStatus(fate.way, place, command, helps, analysis.member(fate), looped)
        if fate.kind == "unknown" or analysis.script.started_by is None:
            return None
        command = analysis.script.started_by
    return None


def end_status(command: Command) -> EndStatus | None:
    """With which status the container ends when a command fails; None where it is lost, or where that is not known."""
    status = EndStatus()
    for _ in range(_DEEPEST):
        if command.script is None:
            return status
        analysis = _followed(command)
        if analysis is None:
            return None
        fate = analysis.outcome()
        if fate.kind not in ("fails", "ends"):
            return None
        if fate.code is not None:
            status = EndStatus(fate.code, analysis.script.text.place(*fate.span))
        if analysis.script.started_by is None:
            return status
        command = analysis.script.started_by
    return None


def ends_the_script(command: Command) -> bool:
    """Whether its script surely ends at once when a command in it fails: no later round of a loop starts it again."""
    analysis = _followed(command)
    return analysis is not None and analysis.outcome().kind == "ends"


def _followed(command: Command) -> _Analysis | None:
    """The script of a command, with the command that fails in it; None where it cannot be followed."""
    script = command.script
    if script is None or script.form == "source" or _trapped(script):
        return None
    return _Analysis.of(script, command)


def _trapped(script: Script) -> bool:
    """A trap may give another status."""
    return any(signal == "ERR" or (signal == "EXIT" and "exit" in handler) for signal, handler in script.traps)


def _known(setting: Setting[bool] | None) -> bool | None:
    return setting.value if isinstance(setting, Set) else None


class _Analysis(Struct, frozen=True):
    """One script, and one command in it that fails. `errexit` and `pipefail` are those in force at the command."""

    script: Script
    parsed: Parsed
    text: str
    target: int
    """The offset at which the command begins."""
    errexit: bool | None
    pipefail: bool | None
    itself: _Fate = _FAILS
    """The fate of the command alone: of a function's call, that of its body."""
    calls: tuple[str, ...] = ()
    functions: dict[str, Function] = field(default_factory=dict)

    @classmethod
    def of(cls, script: Script, command: Command) -> _Analysis | None:
        text = script.text.text
        if not text or len(text) > SCRIPT.most:
            return None
        parsed = structure(text)
        where = command.evaluated or command.place
        for simple in _simples(parsed.body):
            if script.text.place(simple.start, simple.end) == where:
                functions = {one.name: one for one in _statements(parsed.body) if isinstance(one, Function)}
                errexit, pipefail = _known(command.errexit), _known(command.pipeline.pipefail)
                return cls(script, parsed, text, simple.start, errexit, pipefail, functions=functions)
        return None

    def outcome(self) -> _Fate:
        """The fate of the whole script."""
        holder = next((one for one in self.functions.values() if _holds(one.body, self.target)), None)
        if holder is None:
            return self.block(self.parsed.body)
        if holder.name in self.calls or len(self.calls) >= _DEEPEST:
            return _UNKNOWN
        inside = self.statement(holder.body)
        if inside.kind == "unknown":
            return _UNKNOWN
        sites = [
            one
            for one in _simples(self.parsed.body)
            if self.words(one)[:1] == [holder.name] and not _holds(holder.body, one.start)
        ]
        if not sites or len(sites) > _MOST_CALLS:
            return _UNKNOWN
        calls = (*self.calls, holder.name)
        found = [replace(self, target=site.start, itself=inside, calls=calls).outcome() for site in sites]
        different = {one.kind in ("lost", "lost-end", "running") for one in found}
        return found[0] if len(different) == 1 else _UNKNOWN

    def member(self, fate: _Fate) -> int:
        """Which command of the pipeline that loses the status holds the one that fails."""
        pipes = (one for one in _statements(self.parsed.body) if isinstance(one, Pipe))
        items = next((one.items for one in pipes if (one.start, one.end) == fate.span), [])
        return next((at for at, item in enumerate(items) if _holds(item, self.target)), 0)

    def may_end_elsewhere(self) -> bool:
        """Under `set -e`, whether a pipeline that comes later may end the shell as well once `pipefail` holds, as
        `ls *.log | tail -n 1` does where there are none."""
        for one in _statements(self.parsed.body):
            if one.end <= self.target or _holds(one, self.target):
                continue
            of_log = isinstance(one, Pipe) and self.words(one.items[-1])[:1] == ["tee"]  # loses a status, too
            if isinstance(one, Pipe) and not of_log and not all(map(self.succeeds, one.items[:-1])):
                return True
            if isinstance(one, Simple) and _PIPED.search(self.text, one.start, one.end) is not None:
                return True
        return False

    def looped(self) -> bool:
        loops = (one for one in _statements(self.parsed.body) if isinstance(one, Loop))
        return any(_holds(one.body, self.target) for one in loops)

    # --- statements that hold the command -----------------------------------------------------------------------

    def statement(self, statement: Statement) -> _Fate:
        if isinstance(statement, Simple):
            return self.simple(statement)
        if isinstance(statement, Block):
            return self.block(statement)
        if isinstance(statement, Redirected):
            return self.statement(statement.body)
        if isinstance(statement, Group):
            fate = self.block(statement.body)
            return _left(fate) if statement.subshell else fate
        if isinstance(statement, Pipe):
            return self.pipe(statement)
        if isinstance(statement, Chain):
            return self.chain(statement)
        if isinstance(statement, If):
            return self.branches(statement)
        if isinstance(statement, Case):
            body = next((block for _, block, _ in statement.items if _holds(block, self.target)), None)
            return _UNKNOWN if body is None else self.block(body)
        if isinstance(statement, Loop) and statement.kind != "select" and _holds(statement.body, self.target):
            return self.loop(statement)
        return _UNKNOWN

    def simple(self, statement: Simple) -> _Fate:
        if statement.start != self.target:
            return _UNKNOWN
        return _ENDING if self.words(statement)[:1] == ["exec"] else self.itself

    def loop(self, loop: Loop) -> _Fate:
        """A loop that runs several things, one after the other or at once, or that tries again a limited time: that one
        ends with the status of its last round."""
        fate = self.block(loop.body)
        tries = loop.kind in ("while", "until") or re.search(r"\bbreak\b", self.text[loop.body.start : loop.body.end])
        if tries and (fate.kind != "lost" or not self.gives_up(loop, fate)):
            return _UNKNOWN
        return fate if fate.kind in ("ends", "lost", "lost-end", "running") else _UNKNOWN

    def gives_up(self, loop: Loop, fate: _Fate) -> bool:
        """A loop surely ends after some failures, and only by its count: nothing else in it ends it or the shell."""
        others = [one for one, _ in loop.body.items if not _holds(one, self.target)]
        if any(self.may_end(one) for one in others):
            return False
        if loop.condition is None:
            return _ENDLESS.match(self.text, loop.start) is None
        condition = self.text[loop.condition.start : loop.condition.end]
        if not all(isinstance(one, Simple) for one, _ in loop.condition.items) or not _BOUNDED.search(condition):
            return False
        names = set(_NAME.findall(condition))
        if names & fate.kept or any(self.assigns(one, names) for one, _ in loop.body.items if one not in others):
            return False
        return any(isinstance(one, Simple) and self.assigns(one, names) for one in others)

    def may_end(self, statement: Statement) -> bool:
        """It may end the loop or the shell, by itself or by a function."""
        if self.shows(statement):
            return False
        return _ENDS.search(self.text, statement.start, statement.end) is not None or "exit" in self.called(statement)

    def assigns(self, statement: Statement, names: set[str]) -> bool:
        """It counts, or changes one of the variables in another way."""
        text = self.text[statement.start : statement.end]
        return any(re.search(rf"\b{name}(?:\+\+|--|[-+]?=)|(?:\+\+|--){name}\b", text) for name in names)

    def pipe(self, pipe: Pipe) -> _Fate:
        at = next((index for index, item in enumerate(pipe.items) if _holds(item, self.target)), None)
        if at is None:
            return _UNKNOWN
        fate = _left(self.statement(pipe.items[at]))
        if fate.kind != "fails" or at == len(pipe.items) - 1 or self.pipefail:
            return fate
        return _UNKNOWN if self.pipefail is None else _Fate("lost", "pipe", (pipe.start, pipe.end))

    def chain(self, chain: Chain) -> _Fate:
        """`a && b || c`, from the part that holds the command on."""
        at = next((index for index, (_, one) in enumerate(chain.items) if _holds(one, self.target)), None)
        if at is None:
            return _UNKNOWN
        fate = self.statement(chain.items[at][1])
        last = at == len(chain.items) - 1
        if fate.kind == "ends" and self.errexit and not last and self.calls:
            return _UNKNOWN  # `set -e` does not hold within a function that is called in front of `&&` or `||`
        for operator, statement in chain.items[at + 1 :]:
            if fate.kind not in ("fails", "lost"):
                return fate
            if (operator == "||") is (fate.kind == "fails"):
                fate = self.after(statement, fate)
        return replace(fate, exempt=fate.exempt or not last)

    def branches(self, statement: If) -> _Fate:
        for condition, body in statement.clauses:
            if _holds(body, self.target):
                return self.block(body)
            if _holds(condition, self.target):
                return self.tested(statement, condition)
        otherwise = statement.otherwise
        return self.block(otherwise) if otherwise is not None and _holds(otherwise, self.target) else _UNKNOWN

    def tested(self, statement: If, condition: Block) -> _Fate:
        """`if command`: the branch of a failure follows."""
        if len(statement.clauses) != 1 or len(condition.items) != 1:
            return _UNKNOWN
        whole = condition.items[0][0]
        negated = isinstance(whole, Not)
        fate = self.statement(whole.body if isinstance(whole, Not) else whole)
        if fate.kind != "fails":
            return fate if fate.kind == "lost" else _UNKNOWN
        branch = statement.clauses[0][1] if negated else statement.otherwise
        lost = _Fate("lost", "branch", (statement.start, statement.end))
        return lost if branch is None else self.effect(branch, lost, fails=not negated)

    # --- what comes after it ------------------------------------------------------------------------------------

    def block(self, block: Block) -> _Fate:
        at = next((index for index, (one, _) in enumerate(block.items) if _holds(one, self.target)), None)
        if at is None:
            return _UNKNOWN
        statement, background = block.items[at]
        fate = self.statement(statement)
        if background and fate.kind in ("fails", "ends"):
            fate = _Fate("running", "background", (statement.start, statement.end))
        return self.go_on(block, at + 1, fate)

    def go_on(self, block: Block, at: int, fate: _Fate) -> _Fate:
        """The rest of a block after a statement with this fate."""
        if fate.kind == "running":
            return self.waited(block, at, fate)
        if fate.kind == "fails" and not fate.exempt:
            if self.errexit:
                return _ends(fate)
            if self.errexit is None:
                return _UNKNOWN
        rest = [one for one in block.items[at:] if not isinstance(one[0], Function)]
        if fate.kind not in ("fails", "lost") or not rest:
            return replace(fate, kept=frozenset()) if fate.kept and fate.kind not in ("fails", "lost") else fate
        kept = fate.kept
        first = rest[0][0]
        if _STATUS.search(self.text, first.start, first.end) and not self.shows(first):
            of_pipe = "PIPESTATUS" in self.text[first.start : first.end].upper()
            if fate.kind == "lost" and not of_pipe and self.gives_0(fate):
                return self.asked_too_late(rest, fate)
            name = self.keeps(first)
            if not name:
                return _ends(fate) if fate.kind == "fails" and self.hands_on(first) else _UNKNOWN
            kept, rest = kept | {name}, rest[1:]
            if not rest:  # it is kept, and nobody asks for it: the assignment's own status is 0
                return fate if fate.kind == "lost" else _Fate("lost", "later", (first.start, first.end), kept=kept)
            if fate.kind == "fails" and (end := self.given_up(rest[0][0], name, fate)) is not None:
                return end
        if any(self.uses(one, kept) for one, _ in rest):
            return _UNKNOWN
        return self.rest(rest, fate)

    def asked_too_late(self, rest: list[tuple[Statement, bool]], fate: _Fate) -> _Fate:
        """The status is asked for where it is another command's 0 already: `exit $?` behind a pipe into `tee`."""
        zero = {"?"}
        others: list[tuple[Statement, bool]] = []
        for at, (statement, background) in enumerate(rest):
            if at == 1:
                zero.discard("?")
            words = self.words(statement)
            if words[:1] == ["exit"] and words[1:] and words[1].strip("${}") in zero:
                fate = self.rest(others, fate) if others else fate
                return replace(fate, kind="lost-end", kept=frozenset()) if fate.kind == "lost" else fate
            name = self.keeps(statement)
            if at == 0 and name and _LAST_STATUS.fullmatch(words[-1].partition("=")[2].strip("\"'")):
                zero.add(name)
            elif (branch := self.taken(statement, zero)) is not None:
                others += branch
            elif self.uses(statement, fate.kept | (zero - {"?"})) or (at == 0 and not self.shows(statement)):
                return _UNKNOWN
            else:
                others.append((statement, background))
        return self.rest(others, fate) if others else replace(fate, kept=frozenset())

    def gives_0(self, fate: _Fate) -> bool:
        """Not the status of a filter that looks into what the program says (`| grep -v Error`)."""
        pipes = (one for one in _statements(self.parsed.body) if isinstance(one, Pipe))
        return fate.way != "pipe" or any(
            self.succeeds(one.items[-1]) for one in pipes if (one.start, one.end) == fate.span
        )

    def taken(self, statement: Statement, zero: set[str]) -> list[tuple[Statement, bool]] | None:
        """What a test of a status runs where that is 0; None where it is another statement, or another test."""
        if isinstance(statement, Chain) and [operator for operator, _ in statement.items[1:]] == ["||"]:
            first = statement.items[0][1]
            tested = _WELL.fullmatch(self.text[first.start : first.end])
            return [] if tested is not None and (tested["name"] or tested["counted"]) in zero else None
        if not isinstance(statement, If) or len(statement.clauses) != 1:
            return None
        condition, body = statement.clauses[0]
        test = self.text[condition.start : condition.end].strip(" \t\n;")
        for pattern, branch in ((_FAILED, statement.otherwise), (_WELL, body)):
            tested = pattern.fullmatch(test)
            if tested is not None and (tested["name"] or tested["counted"]) in zero:
                return branch.items if branch is not None else []
        return None

    def rest(self, rest: list[tuple[Statement, bool]], fate: _Fate) -> _Fate:
        """Statements that do not know of the status."""
        final: Statement | None = None
        for statement, background in rest:
            words = self.words(statement)
            if words[:1] == ["exit"]:
                shown = final is not None and self.shows(final) and words[1:] in ([], ["$?"], ["${?}"])
                return self.exit(["exit", "0"] if shown else words, statement, fate)
            final = None if background else statement
            if not background and self.stays(statement):
                return _UNKNOWN  # the shell does not end: nobody takes it for finished
            if words[:1] == ["return"] or (words[:1] == ["exec"] and len(words) > 1 and not self.succeeds(statement)):
                return _UNKNOWN
            if self.may_leave(statement):
                return _UNKNOWN
        if fate.kind == "lost":
            return _UNKNOWN if final is not None and self.decides(final) else fate
        if final is None or self.succeeds(final):
            last = rest[-1][0]
            return _Fate("lost", "later", (last.start, last.end))
        return _UNKNOWN

    def exit(self, words: list[str], statement: Statement, fate: _Fate) -> _Fate:
        if len(words) == 1:
            return _UNKNOWN if fate.kind == "fails" else replace(fate, kind="lost-end")
        if words[1] == "0":
            ending = _Fate("lost-end", "exit", (statement.start, statement.end))
            return ending if fate.kind == "fails" else replace(fate, kind="lost-end")
        if not words[1].isdigit() or len(words[1]) > _LONGEST_CODE:
            return _UNKNOWN
        return _Fate("ends", span=(statement.start, statement.end), code=int(words[1]) & 255)

    def waited(self, block: Block, at: int, fate: _Fate) -> _Fate:
        """A background job: the first statement that waits decides."""
        for index, (statement, _) in enumerate(block.items[at:], at):
            if not _WAITS.search(self.text, statement.start, statement.end) or isinstance(statement, Function):
                continue
            wait = next((one for one in _simples(statement) if self.words(one)[:1] == ["wait"]), None)
            if wait is None or not isinstance(statement, Simple | Chain | Group):
                return _UNKNOWN
            plain = len(self.words(wait)) == 1
            itself = _Fate("lost", "wait", (wait.start, wait.end)) if plain else _FAILS
            inner = replace(self, target=wait.start, itself=itself)
            return inner.go_on(block, index + 1, inner.statement(statement))
        if any(
            _ENDS.search(self.text, one.start, one.end) for one, _ in block.items[at:] if not isinstance(one, Simple)
        ):
            return _UNKNOWN
        return fate

    # --- what a statement does that runs because of the failure ---------------------------------------------------

    def after(self, statement: Statement, fate: _Fate) -> _Fate:
        """What stands behind `||` (of a failure) or `&&` (of a lost one)."""
        fails = fate.kind == "fails"
        lost = _Fate("lost", "fallback", (statement.start, statement.end)) if fails else fate
        if isinstance(statement, Group):
            return self.effect(statement.body, lost, fails=fails)
        function = self.functions.get(next(iter(self.words(statement)), ""))
        if function is not None and isinstance(function.body, Group):
            return self.effect(function.body.body, lost, fails=fails)
        return self.effect(Block(statement.start, statement.end, [(statement, False)]), lost, fails=fails)

    def effect(self, block: Block, lost: _Fate, *, fails: bool) -> _Fate:
        """The fate after a block that handles the failure: `lost` where it surely ends well. `fails`: the status that
        it begins with is that of the failure, which a plain `exit` hands on."""
        for at, (statement, _) in enumerate(block.items):
            words = self.words(statement)
            if fails and at == 0 and words == ["exit"]:
                return _ends(replace(lost, span=(statement.start, statement.end)))
            name = self.keeps(statement) if _STATUS.search(self.text, statement.start, statement.end) else ""
            if name:
                lost = replace(lost, kept=lost.kept | {name})
            elif words[:1] == ["exit"]:
                return self.exit(words, statement, lost)
            elif not self.succeeds(statement) or self.may_leave(statement):
                return _UNKNOWN
        return lost

    # --- words ----------------------------------------------------------------------------------------------------

    def words(self, statement: Statement) -> list[str]:
        """The words of a simple command as written, without plain quotes; empty for anything else."""
        if not isinstance(statement, Simple):
            return []
        return [self.text[t.start : t.end].strip("\"'") for t in statement.tokens if t.kind == "word"]

    def reached(self, statement: Statement) -> str:
        """The text of the functions that a statement calls, and of those that these call."""
        found: dict[str, Function] = {}
        stack = [statement] if self.functions else []
        while stack:
            for one in _simples(stack.pop()):
                function = self.functions.get(next(iter(self.words(one)), ""))
                if function is not None and function.name not in found:
                    found[function.name] = function
                    stack.append(function.body)
        return "\n".join(self.text[one.start : one.end] for one in found.values())

    def called(self, statement: Statement) -> str:
        """The text of the function that a simple command calls; empty for anything else."""
        function = self.functions.get(next(iter(self.words(statement)), ""))
        return "" if function is None else self.text[function.start : function.end]

    def stays(self, statement: Statement) -> bool:
        """A `sleep infinity` that keeps the shell, and its container, for somebody to log in."""
        words = self.words(statement)
        return words[:1] == ["sleep"] and any(map(sleeps_on, words[1:]))

    def succeeds(self, statement: Statement) -> bool:
        """It ends with 0 whatever the command before it did."""
        if isinstance(statement, Pipe):
            return not self.pipefail and self.succeeds(statement.items[-1])
        if isinstance(statement, Redirected):
            return self.succeeds(statement.body)
        if isinstance(statement, Group):
            return bool(statement.body.items) and self.succeeds(statement.body.items[-1][0])
        if isinstance(statement, Chain):
            operator, last = statement.items[-1]
            if not self.succeeds(last) or any("exit" in self.called(one) for _, one in statement.items):
                return False
            return operator == "||" or all(self.succeeds(one) for _, one in statement.items)
        if isinstance(statement, If):
            return self.passes_by(statement)
        if isinstance(statement, Chain):
            return self.comes_to_0(statement)
        if isinstance(statement, Loop):
            return self.runs_out(statement)
        words = self.words(statement)
        if not words:
            return False
        if words[0] in self.functions:
            return self.function_succeeds(self.functions[words[0]])
        if all(ASSIGNMENT.match(word) for word in words):
            return "$(" not in "".join(words) and "`" not in "".join(words)
        if words[0] == "exec":
            words = words[1:] or [":"]
        if words[0] in PARTS_THAT_SUCCEED:
            return words[1:2] == [PARTS_THAT_SUCCEED[words[0]]]
        name = words[0].rsplit("/", 1)[-1]
        if name in COPIES_WHAT_THERE_IS:
            return any(COPIES_WHAT_THERE_IS[name].fullmatch(word) for word in words[1:])
        return name in SUCCEED_ANYWAY or words == ["wait"] or (name == "ls" and self.lists_what_it_made(statement))

    def lists_what_it_made(self, statement: Statement) -> bool:
        """An `ls` of folders that this script, or one that started it, has surely made; of the current one, too."""
        place = self.script.text.place(statement.start, statement.end)
        command = next((one for one in self.script.commands if one.place == place), None)
        named = None if command is None else _paths(command)
        return named is not None and (not named or named <= _made(self.script))

    def comes_to_0(self, chain: Chain) -> bool:
        """`a && b || true`: whatever fails on the way, its last word is 0."""
        well = self.succeeds(chain.items[0][1])
        for operator, part in chain.items[1:]:
            well = (well or self.succeeds(part)) if operator == "||" else (well and self.succeeds(part))
        return well

    def runs_out(self, loop: Loop) -> bool:
        """A loop over a list or the lines of a file whose last command succeeds."""
        if self.asks(loop.start, loop.end) or not loop.body.items:
            return False
        first = loop.condition.items[0][0] if loop.condition is not None and loop.condition.items else None
        if loop.kind != "for" and (first is None or "read" not in self.words(first)[:2]):
            return False
        return self.succeeds(loop.body.items[-1][0])

    def function_succeeds(self, function: Function) -> bool:
        """A function that does not ask how the command before it ended, and whose last command succeeds."""
        body = function.body.body if isinstance(function.body, Redirected) else function.body
        if not isinstance(body, Group) or function.name in self.calls or len(self.calls) >= _DEEPEST:
            return False
        items = body.body.items
        if not items or self.asks(body.start, items[-1][0].start) or "exit" in self.reached(body):
            return False
        if self.words(items[-1][0]) == ["return", "0"]:
            return True
        if self.asks(items[-1][0].start, body.end):
            return False
        return replace(self, calls=(*self.calls, function.name)).succeeds(items[-1][0])

    def asks(self, start: int, end: int) -> bool:
        """A part of the script looks at a status, or leaves the shell, a function or a loop."""
        return _STATUS.search(self.text, start, end) is not None or _ENDS.search(self.text, start, end) is not None

    def may_leave(self, statement: Statement) -> bool:
        """A compound command, or a function that is called, may end the shell."""
        if "exit" in self.reached(statement):
            return True
        return not isinstance(statement, Simple) and _ENDS.search(self.text, statement.start, statement.end) is not None

    def decides(self, statement: Statement) -> bool:
        """A command or function whose own status says something: the script may end by it on purpose."""
        return next(iter(self.words(statement)), "") in _TESTS or "return" in self.called(statement)

    def passes_by(self, statement: If) -> bool:
        """An `if` over plain tests that gives 0 where none of them holds, or whichever does."""
        conditions = [item for condition, _ in statement.clauses for item, _ in condition.items]
        if not all(self.words(one)[:1] in (["["], ["[["], ["test"]) for one in conditions):
            return False
        if statement.otherwise is None:
            return True
        bodies = [*(body for _, body in statement.clauses), statement.otherwise]
        return all(body.items and self.succeeds(body.items[-1][0]) for body in bodies)

    def shows(self, statement: Statement) -> bool:
        """It only prints the status."""
        if isinstance(statement, Pipe):
            return self.shows(statement.items[0])
        return self.words(statement)[:1] in [[one] for one in _SHOWS]

    def keeps(self, statement: Statement) -> str:
        """The variable that a statement puts the status into; empty for any other statement."""
        words = self.words(statement)
        if words and words[0] in _DECLARING:
            words = words[1:]
        found = [ASSIGNMENT.match(word) for word in words]
        return found[0].group(1) if len(found) == 1 and found[0] is not None else ""

    def hands_on(self, statement: Statement) -> bool:
        """`exit $?` right behind the command."""
        words = self.words(statement)
        return words[:1] == ["exit"] and _STATUS.search(words[1]) is not None if len(words) == 2 else False

    def given_up(self, statement: Statement, name: str, fate: _Fate) -> _Fate | None:
        """The fate after `if [ $rc -ne 0 ]; then … exit $rc; fi`: a test of the kept status that ends the shell."""
        if not isinstance(statement, If) or len(statement.clauses) != 1:
            return None
        condition, body = statement.clauses[0]
        tested = _FAILED.fullmatch(self.text[condition.start : condition.end].strip(" \t\n;"))
        if tested is None or name not in (tested["name"], tested["counted"]) or not body.items:
            return None
        *before, (last, _) = body.items
        words = self.words(last)
        if words[:1] != ["exit"] or len(words) != 2 or not all(self.succeeds(one) for one, _ in before):
            return None
        end = _ends(fate) if words[1] in (f"${name}", f"${{{name}}}") else self.exit(words, last, fate)
        return end if end.kind == "ends" else None

    def uses(self, statement: Statement, names: frozenset[str]) -> bool:
        """It looks at one of the variables, and does not only print it."""
        if not names or self.shows(statement):
            return False
        text = self.text[statement.start : statement.end] + self.reached(statement)
        return any(re.search(rf"\b{name}\b", text) for name in names)


def _made(script: Script) -> frozenset[str]:
    """The folders that a script and those that started it surely make, by `mkdir`."""
    found: set[str] = set()
    for _ in range(_DEEPEST):
        for command in script.commands:
            if command.name == "mkdir" and command.certainty == "always":
                found.update(_paths(command) or ())
        if script.started_by is None or script.started_by.script is None:
            break
        script = script.started_by.script
    return frozenset(found)


def _paths(command: Command) -> frozenset[str] | None:
    """The operands of a command as paths from where it runs; None where one of them is not known, or is a pattern."""
    found = [word.known for word in command.words[1:] if not word.prefix.startswith("-")]
    folder = "" if command.directory is None else path_of(command.directory)
    if folder is None or any(path is None or _PATTERN.search(path) for path in found):
        return None
    return frozenset(posixpath.normpath(posixpath.join(folder, path)) for path in found if path)


def _ends(fate: _Fate) -> _Fate:
    """The shell ends with the status of a failure."""
    return replace(fate, kind="ends", kept=frozenset())


def _left(fate: _Fate) -> _Fate:
    """The fate of a subshell: its `exit` ends only itself, and `set -e` outside holds for its status in any case."""
    kinds: dict[Kind, Kind] = {"ends": "fails", "lost-end": "lost"}
    return replace(fate, kind=kinds.get(fate.kind, fate.kind), exempt=False)


def _holds(statement: Statement, offset: int) -> bool:
    return statement.start <= offset < statement.end


def _children(statement: Statement) -> Iterator[Statement]:
    if isinstance(statement, Pipe):
        yield from statement.items
    elif isinstance(statement, Chain):
        yield from (one for _, one in statement.items)
    elif isinstance(statement, Block):
        yield from (one for one, _ in statement.items)
    elif isinstance(statement, If):
        for condition, body in statement.clauses:
            yield condition
            yield body
        if statement.otherwise is not None:
            yield statement.otherwise
    elif isinstance(statement, Case):
        yield from (body for _, body, _ in statement.items)
    elif isinstance(statement, Loop):
        if statement.condition is not None:
            yield statement.condition
        yield statement.body
    elif not isinstance(statement, Simple):
        yield statement.body


def _statements(root: Statement) -> Iterator[Statement]:
    """All statements below one, in no particular order."""
    stack = [root]
    while stack:
        statement = stack.pop()
        yield statement
        stack.extend(_children(statement))


def _simples(root: Statement) -> Iterator[Simple]:
    return (one for one in _statements(root) if isinstance(one, Simple))
