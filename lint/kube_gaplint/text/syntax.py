"""What the YAML parser complains about, in words for people, and at the place where one would look."""

from __future__ import annotations

from kube_gaplint import lazy_re
from kube_gaplint.text.source import Source, Span

_TEMPLATE = lazy_re.compile(r"""(?:[^'"]|'[^'\r\n]*'|"[^"\r\n]*")*?(\{\{|\{%)""")
"""The first template expression of a line that is not in quotes."""
_LONGEST_LINE = 1000
TEMPLATE_TEXT = "template text (`{{ … }}`) is not YAML: render it first, or put it in quotes"
_TEMPLATE_STATEMENT = "template text (`{% … %}`) is not YAML: render it first"

_QUOTE_IT = "put the text in quotes"
_INDENTATION = "the indentation does not fit the lines above"
_NO_ITEM = "a `- ` item cannot stand here: the indentation is wrong"
_NO_MARKER = "text after the end of the document: a `---` line is missing, or the indentation is wrong"
_TAG = f"`!` at the start of a value is a tag: {_QUOTE_IT}"
_IN_LIST = "a `,` or the closing `]` was expected here"
_IN_MAP = "a `,` or the closing `}` was expected here"
_HEXADECIMAL = "hexadecimal digits were expected after the escape"

# What the parser says, and what the user reads. The C parser and the pure one use different words. The first row whose
# text occurs in the parser's message counts. The place is where the parser stopped …
_WORDS: tuple[tuple[str, str], ...] = (
    (
        "mapping values are not allowed",
        "a `:` cannot stand here: the indentation is wrong, or a text with `: ` in it needs quotes",
    ),
    ("mapping keys are not allowed", "a key cannot stand here: the indentation is wrong"),
    ("sequence entries are not allowed", _NO_ITEM),
    ("tab character", "a tab cannot indent YAML: use spaces"),
    ("did not find expected key", f"a key was expected here: {_INDENTATION}"),
    ("did not find expected '-' indicator", f"a `- ` item was expected here: {_INDENTATION}"),
    ("expected <block end>", _INDENTATION),
    ("expected ',' or ']'", _IN_LIST),
    ("expected ',' or '}'", _IN_MAP),
    ("expected <document start>", _NO_MARKER),
    ("expected '<document start>'", _NO_MARKER),
    ("did not find expected node content", "a value was expected here"),
    ("expected the node content", "a value was expected here"),
    (
        "found unknown escape character",
        "this escape is not known in double quotes: write `\\\\` for a backslash, or use single quotes",
    ),
    ("Unicode character escape code", "this escape is no Unicode character"),
    ("hexdecimal number", _HEXADECIMAL),
    ("hexadecimal numbers", _HEXADECIMAL),
    ("found incompatible YAML document", "this version of YAML is not known"),
    ("found duplicate %YAML directive", "a second `%YAML` directive"),
    (
        "scanning a block scalar",
        "a block text begins wrongly: after `|` or `>` only indicators and a comment may follow, "
        "and no leading empty line may be indented deeper than the text",
    ),
    ("found unexpected ':'", f"a `:` cannot stand here: {_QUOTE_IT}"),
)

# … or, for these, where the construct begins that it could not finish.
_WORDS_AT_BEGINNING: tuple[tuple[str, str], ...] = (
    (
        "could not find expected ':'",
        "this line is no `key: value` pair: the `:` is missing, or the indentation is wrong",
    ),
    ("found unexpected end of stream", "this quote is never closed"),
    ("found unexpected document", "this quote is not closed before the `---` or `...` line"),
    ("scanning an alias", f"`*` at the start of a value is an alias: {_QUOTE_IT}"),
    ("scanning an anchor", f"`&` at the start of a value is an anchor: {_QUOTE_IT}"),
    ("found undefined tag handle", _TAG),
    ("scanning a tag", _TAG),
    ("parsing a tag", _TAG),
    ("unknown directive", "a line that starts with `%` is a YAML directive, and this one is not known"),
    ("scanning a directive", "this YAML directive cannot be read"),
)


def explain(source: Source, problem: str, at: int, context: str, context_at: int | None) -> tuple[str, Span]:
    """The message and the place of a syntax error.

    `problem` and `context` are the parser's words; `at` and `context_at` the offsets that it gives for them.
    """
    text = source.text
    at = min(at, len(text))
    begin = at if context_at is None else min(context_at, at)
    template = _template_on_lines(source, begin, at)
    if template is not None:
        return template
    said = f"{context}: {problem}"
    message = _first_match(_WORDS_AT_BEGINNING, said)
    from_context = bool(message)
    if "cannot start any token" in problem:
        message = _cannot_start(text, at)
    message = message or _first_match(_WORDS, said) or problem or context
    if from_context:
        at = begin
    elif context_at is not None and source.position(context_at).line != source.position(at).line:
        message += f" (it belongs to what begins on line {source.position(context_at).line})"
    if at == len(text) and not from_context:
        # Point at the end of what was written, not at the empty line after it.
        at = len(text.rstrip())
    return message, _one_character(text, at)


def _first_match(rows: tuple[tuple[str, str], ...], said: str) -> str:
    return next((words for needle, words in rows if needle in said), "")


def _cannot_start(text: str, at: int) -> str:
    character = text[at : at + 1]
    if character == "\t":
        return "a tab cannot indent YAML: use spaces"
    return f"a value cannot start with `{character}`: {_QUOTE_IT}" if character else "a value was expected here"


def _template_on_lines(source: Source, begin: int, at: int) -> tuple[str, Span] | None:
    """The explanation where template text stands on the line of the error, the one before it, or the first one."""
    text = source.text
    last = source.position(at).line
    for line in (last, last - 1, source.position(begin).line):
        span = source.line_span(max(line, 1))
        match = _TEMPLATE.match(text, span.start, min(span.end, span.start + _LONGEST_LINE))
        if match is not None:
            message = TEMPLATE_TEXT if match[1] == "{{" else _TEMPLATE_STATEMENT
            return message, Span(match.start(1), match.end(1))
    return None


def _one_character(text: str, at: int) -> Span:
    end = at + 1 if at < len(text) and text[at] not in "\r\n" else at
    return Span(at, end)
