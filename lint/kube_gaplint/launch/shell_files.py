"""Redirections: here-documents, the files that a script writes itself, and the files that it can read."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kube_gaplint.launch.shared import HOLE
from kube_gaplint.launch.shell_state import DIRECTORY, PLACE
from kube_gaplint.launch.shell_text import Atom, FixedText, Run, TracedText, Value, flatten, joined, text_of
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.model.command import Heredoc, Script, Word
from kube_gaplint.text.source import PlacedText

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker


def redirections(
    walker: Walker, redirects: Sequence[Token], name: str, words: Sequence[Word]
) -> tuple[Heredoc | None, Word | None]:
    """What a command with these redirections reads, where it is known, and the file that its output goes to.

    What it surely writes (`cat > file <<EOF`, `tee file <<EOF`, `echo … > file`) is remembered under the file's name.
    """
    heredoc: Heredoc | None = None
    target: Word | None = None
    append = False
    for token in redirects:
        document = token.document
        if document is not None:
            heredoc = Heredoc(
                text_of(walker.words.value(document.start, document.end))
                if document.string
                else walker.words.document(document.start, document.end, document.strip_tabs, document.expanded),
                document.expanded,
                name,
                "",
            )
            walker.script.heredocs.append(heredoc)
            continue
        found = walker.words.words(*token.target)
        word = found[0] if len(found) == 1 else None
        if token.operator in (">", ">>", ">|", "&>", "&>>") and token.descriptor in ("", "1"):
            target, append = word, token.operator in (">>", "&>>")
        elif token.operator == "<" and token.descriptor in ("", "0") and word is not None:
            content = find_word(walker, word)
            heredoc = Heredoc(content, True, name, "") if content is not None else None
    if name == "tee":
        heredoc = heredoc or walker.shell.input
        copies = [word for word in words[1:] if not word.prefix.startswith("-")]
        if copies:
            append = any(word.known in ("-a", "--append") for word in words[1:])
            _write(walker, heredoc, copies[0], append)
    elif name in ("cat", "") and target is not None:
        _write(walker, heredoc, target, append)
    elif name == "echo" and target is not None and target.known not in (None, "/dev/null"):
        text = echoed(words[1:], whole=False)
        if text is not None:
            written = Heredoc(text, True, name, target.known or "")
            written.target_word = target
            walker.script.heredocs.append(written)
            if not text.holes:
                _keep(walker, target.known or "", text, append)
    return heredoc, target


def _write(walker: Walker, heredoc: Heredoc | None, target: Word, append: bool) -> None:
    if heredoc is None:
        return
    heredoc.target = target.known or ""
    heredoc.target_word = target
    if heredoc.target:
        _keep(walker, heredoc.target, heredoc.text, append)


def _keep(walker: Walker, path: str, text: PlacedText, append: bool) -> None:
    """Remember what a script writes into a file."""
    state = walker.shell.state
    key = ("file", absolute(walker, path))
    if append:
        before = state.data.get(key)
        if not isinstance(before, TracedText | FixedText):
            return
        parts = [Run(each.text, each, 0, len(each.text)) for each in (before, text) if each.text]
        text = TracedText(flatten(Value(parts)))
    state.put(key, text)


def absolute(walker: Walker, path: str) -> str:
    """A path as the process sees it: joined to the working directory where that is known."""
    directory = walker.shell.state.data.get(DIRECTORY)
    if isinstance(directory, str) and not path.startswith("/"):
        path = posixpath.join(directory, path)
    return posixpath.normpath(path) if path else path


def find(walker: Walker, path: str) -> PlacedText | None:
    """The text of a file: written by the script before, or known from outside."""
    full = absolute(walker, path)
    written = walker.shell.state.data.get(("file", full))
    if isinstance(written, TracedText):
        return written
    place = walker.shell.state.data.get(PLACE)
    if isinstance(place, str) and full == posixpath.normpath(path) and not path.startswith("/"):
        found = walker.shell.files(posixpath.normpath(posixpath.join(place, path)))
        if found is not None:
            return found
    found = walker.shell.files(full)
    return found if found is not None or full == path else walker.shell.files(path)


def find_word(walker: Walker, word: Word) -> PlacedText | None:
    """The text of the file that a word names, also below a folder that only the run tells."""
    if word.known:
        return find(walker, word.known)
    path = word.located or _below_unknown(word)
    return walker.shell.files(path) if path else None


def _below_unknown(word: Word) -> str:
    """A path below a folder that nothing tells (`$WORK/code/repo/env.sh`, `/scratch/$1/repo/env.sh`), `HOLE` for what
    goes before it; empty for anything else."""
    tail = word.known_end
    return HOLE + tail if tail.startswith("/") and tail != word.shown else ""


def written_by(script: Script | None, word: Word) -> PlacedText | None:
    """The here-document that a script or its parents write into the file that a word names, the last one first. The
    name may be unknown in part, as long as both are put together from the same parts."""
    while script is not None:
        for heredoc in reversed(script.heredocs):
            target = heredoc.target_word
            if target is not None and (target.pieces == word.pieces or _same_path(target.known, word.known)):
                return heredoc.text
        script = script.parent
    return None


def _same_path(one: str | None, other: str | None) -> bool:
    return bool(one) and bool(other) and posixpath.normpath(one or "") == posixpath.normpath(other or "")


def echoed(words: Sequence[Word], *, whole: bool = True) -> TracedText | None:
    """What `echo` writes; None with options or escapes that change it, or unknown words. Of several lines parts may be
    unknown, unless they must be `whole`."""
    if words and words[0].prefix.startswith("-"):
        if words[0].known != "-e" or any("\\" in (word.known or "\\") for word in words[1:]):
            return None
        words = words[1:]
    text = joined(words)
    if text is None or (text.holes and (whole or "\n" not in text.text)):
        return None
    end = FixedText("\n", words[-1].place)
    return TracedText(
        [*flatten(Value([Run(text.text, text, 0, len(text.text))] if text.text else ())), Atom("\n", end, 0, 1)]
    )
