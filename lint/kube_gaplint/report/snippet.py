"""The source lines of a finding, with the spans that matter underlined.

A frame shows the lines of one file that carry a mark, the line that encloses the first of them (by indentation, the
same in YAML and in scripts), and under each span its underline and label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kube_gaplint.findings import Finding, Severity
from kube_gaplint.report.escape import LOG_COMMAND, visible
from kube_gaplint.report.layout import Glyphs, Palette, shortened, width_of, wrapped
from kube_gaplint.text.source import Place, Position, Source

WHOLE_LINES = 4
"""A span of up to so many lines is shown whole; of a longer one the first line is."""
MORE_PLACES = 4
"""So many further places are shown; the others are counted."""
_LOOK_UP = 400
"""How far up the enclosing line is looked for."""
_LINE_CHARACTERS = 1500
"""So much of a line around the span is looked at: a line may be megabytes long."""
_MARGIN = 12
"""Columns of a line that stay to the right of a span's start."""
_TAB = "    "


class Mark(Struct, frozen=True):
    """A span to underline, from `start` up to `end` (`last`: the last line that it covers), and what is said of it."""

    place: Place
    start: Position
    end: Position
    last: int
    label: str
    primary: bool

    @staticmethod
    def of(place: Place, label: str, *, primary: bool = False) -> Mark:
        start, end = place.start, place.end
        return Mark(place, start, end, last_line(start, end), label, primary)


class Look(Struct, frozen=True):
    """How snippets are drawn."""

    width: int
    glyphs: Glyphs
    palette: Palette
    ascii_only: bool


def further_places(finding: Finding) -> list[tuple[Place, str]]:
    """The places that explain a finding besides its own: those that the rule names, then the references that led from
    the workload to the finding's place. A place is named once."""
    named = [(related.origin.place, related.note) for related in finding.related]
    named += [(link.place, link.note) for link in finding.origin.chain]
    seen = {(finding.place.source.path, finding.place.span)}
    places = []
    for place, note in named:
        key = (place.source.path, place.span)
        if key not in seen:
            seen.add(key)
            places.append((place, note))
    return places


def snippet(finding: Finding, subject: str, look: Look) -> list[str]:
    """The frames of a finding: its own place first, then further places in other files."""
    groups, rest = grouped_marks(finding)
    highest = max(mark.start.line + WHOLE_LINES for marks in groups for mark in marks)
    gutter = max(len(str(highest)), 3)
    lines: list[str] = []
    for at, group in enumerate(groups):
        lines += _frame(group, subject if at == 0 else "", finding.severity, gutter, look, first=at == 0)
    if rest:
        lines.append(" " * gutter + look.palette.frame(f" {look.glyphs.gap} ") + f"and {rest} more places")
    return lines


def grouped_marks(finding: Finding) -> tuple[list[list[Mark]], int]:
    """The marks of a finding by file, its own first, and the number of places that are left out."""
    further = further_places(finding)
    own = "" if finding.origin.written else finding.origin.note
    marks = [Mark.of(finding.place, own, primary=True)]
    marks += [Mark.of(place, note) for place, note in further[:MORE_PLACES]]
    by_path: dict[str, list[Mark]] = {}
    for mark in marks:
        by_path.setdefault(mark.place.source.path, []).append(mark)
    return [*by_path.values()], max(len(further) - MORE_PLACES, 0)


def location(place: Place, *, ascii_only: bool = False) -> str:
    """`path:line:column`, as terminals and editors open it."""
    return _located(place, place.start, ascii_only)


def _located(place: Place, start: Position, ascii_only: bool) -> str:
    return f"{visible(place.source.path, ascii_only=ascii_only)}:{start.line}:{start.column}"


def _frame(
    marks: Sequence[Mark], subject: str, severity: Severity, gutter: int, look: Look, *, first: bool
) -> list[str]:
    glyphs, palette = look.glyphs, look.palette
    blank = " " * gutter
    where = _located(marks[0].place, marks[0].start, look.ascii_only)
    lines = []
    corner = glyphs.top if first else glyphs.branch
    room = look.width - gutter - 2 - width_of(corner)
    if subject and width_of(where) + width_of(subject) + 4 <= room:
        lines.append(f"{blank} {palette.frame(corner)} {where}  {palette.dim(subject)}")
    else:
        lines.append(f"{blank} {palette.frame(corner)} {where}")
        lines += [f"{blank} {palette.frame(glyphs.side)}  {palette.dim(line)}" for line in _fit(subject, room)]
    source = marks[0].place.source
    numbers, thick = lines_to_show(marks)
    shown = {
        number: SourceLine.read(source, number, focus_of(marks, number), ascii_only=look.ascii_only)
        for number in numbers
    }
    columns = look.width - gutter - 3
    shift = _common_indent(shown.values(), columns)
    previous = 0
    for number, line in shown.items():
        if previous and number > previous + 1:
            lines.append(f"{blank} {palette.dim(glyphs.gap)}")
        previous = number
        here = [mark for mark in marks if mark.start.line == number]
        begin, text = line.window(shift, columns, here[0].start.column if here else None, glyphs.cut)
        side = palette.frame(glyphs.side)
        if number in thick:
            side = palette.severity(severity, glyphs.thick) if thick[number] else palette.second(glyphs.thick)
        lines.append(f"{palette.frame(str(number).rjust(gutter))} {side} {text}".rstrip())
        for mark in here:
            for row in _underline(mark, line, begin=begin, columns=columns, severity=severity, look=look):
                lines.append(f"{blank} {palette.frame(glyphs.side)} {row}")
    return lines


def _fit(text: str, columns: int) -> list[str]:
    return wrapped(text, columns) if text else []


def focus_of(marks: Iterable[Mark], line: int) -> int:
    """The column around which a line is looked at (from 0)."""
    return next((mark.start.column - 1 for mark in marks if mark.start.line == line), 0)


def last_line(start: Position, end: Position) -> int:
    """The last line that a span covers; a span that ends at the start of a line does not cover that line."""
    return end.line - 1 if end.column == 1 and end.line > start.line else end.line


def lines_to_show(marks: Sequence[Mark]) -> tuple[list[int], dict[int, bool]]:
    """The numbers of the lines of a frame, and those that a span of several lines covers: whether the primary does."""
    numbers: set[int] = set()
    thick: dict[int, bool] = {}
    for mark in marks:
        first, last = mark.start.line, mark.last
        if last - first >= WHOLE_LINES:
            last = first
        numbers.update(range(first, last + 1))
        if last > first:
            for number in range(first, last + 1):
                thick[number] = mark.primary or thick.get(number, False)
    parent = _enclosing_line(marks[0].place.source, marks[0].start.line)
    if parent:
        numbers.add(parent)
    numbers.update(number + 1 for number in list(numbers) if number + 2 in numbers)
    return sorted(numbers), thick


def _enclosing_line(source: Source, line: int) -> int:
    """The nearest line above that is indented less, 0 where none is."""
    depth = _depth(_head(source, line))
    if not depth:
        return 0
    for number in range(line - 1, max(line - _LOOK_UP, 0), -1):
        text = _head(source, number)
        bare = text.strip()
        if bare and not bare.startswith("#") and _depth(text) < depth:
            return number
    return 0


def _head(source: Source, line: int) -> str:
    span = source.line_span(line)
    return source.text[span.start : min(span.end, span.start + 200)]


def _depth(text: str) -> int:
    """Indentation; a list item stands deeper than a key in the same column, of which it is the value."""
    bare = text.lstrip(" \t")
    return 2 * (len(text) - len(bare)) + bare.startswith("- ")


class SourceLine(Struct, frozen=True):
    """A source line as it is displayed: one cell a character. `skipped` characters before the cells are left out.

    `narrow`: each cell takes one column, as nearly always, so that widths are counts.
    """

    cells: Sequence[str]
    skipped: int
    more: bool
    indent: int
    narrow: bool

    @staticmethod
    def read(source: Source, number: int, focus: int = 0, *, ascii_only: bool = False) -> SourceLine:
        span = source.line_span(number)
        start, end = span.start, span.end
        skipped = max(focus - _LINE_CHARACTERS // 3, 0) if end - start > _LINE_CHARACTERS else 0
        text = source.text[start + skipped : min(end, start + skipped + _LINE_CHARACTERS)]
        narrow = text.isascii() and text.isprintable() and "##" not in text
        cells: Sequence[str] = text
        if not narrow:
            commands = {match.start() + 1 for match in LOG_COMMAND.finditer(text)}
            cells = [
                "\\x23" if at in commands else _TAB if c == "\t" else visible(c, ascii_only=ascii_only)
                for at, c in enumerate(text)
            ]
        indent = 0 if skipped else len(text) - len(text.lstrip(" "))
        return SourceLine(cells, skipped, start + skipped + len(text) < end, indent, narrow)

    @property
    def width(self) -> int:
        return self._columns(0, len(self.cells))

    def _columns(self, first: int, last: int) -> int:
        """The width of the cells from `first` up to `last`."""
        if self.narrow:
            return max(min(last, len(self.cells)) - first, 0)
        return sum(map(width_of, self.cells[first:last]))

    def _end_within(self, first: int, columns: int) -> int:
        """Up to which cell the cells from `first` on fit into so many columns."""
        if self.narrow:
            return min(first + max(columns, 0), len(self.cells))
        at = first
        while at < len(self.cells) and (columns := columns - width_of(self.cells[at])) >= 0:
            at += 1
        return at

    def window(self, shift: int, columns: int, focus: int | None, cut: str) -> tuple[int, str]:
        """The index of the first cell shown, and the text shown in so many columns; `focus` (a column of the source,
        from 1) is in it."""
        mark = width_of(cut)
        if self.narrow and not (shift or self.skipped or self.more) and len(self.cells) <= columns - mark - _MARGIN:
            return 0, "".join(self.cells)
        begin = min(shift, len(self.cells)) if not self.skipped else 0
        if focus is not None:
            at = min(max(focus - 1 - self.skipped, 0), len(self.cells))
            if self._columns(begin, at + 1) > columns - mark - _MARGIN:
                begin, back = at, 0
                while begin > 0 and back < columns // 3:
                    begin -= 1
                    back += width_of(self.cells[begin])
        text, used, at = "", 0, begin
        if begin > shift or self.skipped:
            text, used = cut, mark
            dropped = 0
            while at < len(self.cells) and dropped < mark:
                dropped += width_of(self.cells[at])
                at += 1
            text += " " * (dropped - mark)
            used = dropped
        end = self._end_within(at, columns - used)
        text += "".join(self.cells[at:end])
        used += self._columns(at, end)
        at = end
        if at < len(self.cells) or self.more:
            while at > begin and used + mark > columns:
                at -= 1
                used -= width_of(self.cells[at])
                text = text[: len(text) - len(self.cells[at])]
            text += cut
        return begin, text

    def columns_of(self, begin: int, first: int, last: int) -> tuple[int, int]:
        """Display columns (from 0, counted from cell `begin`) of the source columns `first` to `last` (from 0)."""
        first, last = max(first - self.skipped, begin), max(last - self.skipped, begin)
        left = self._columns(begin, first)
        return left, left + self._columns(first, last)


def _common_indent(lines: Iterable[SourceLine], columns: int) -> int:
    """How much indentation all lines give up, where one of them is too long."""
    lines = list(lines)
    if all(line.width <= columns for line in lines):
        return 0
    return min((line.indent for line in lines if line.cells), default=0)


def _underline(mark: Mark, line: SourceLine, *, begin: int, columns: int, severity: Severity, look: Look) -> list[str]:
    start, end, last = mark.start, mark.end, mark.last
    glyph = look.glyphs.under if mark.primary else look.glyphs.under2

    def paint(text: str) -> str:
        return look.palette.severity(severity, text) if mark.primary else look.palette.second(text)

    label = visible(mark.label, ascii_only=look.ascii_only)
    if start.line < last < start.line + WHOLE_LINES and not label:
        return []  # the thick edge shows it
    stop = end.column - 1 if end.line == start.line else len(line.cells) + line.skipped
    left, right = line.columns_of(begin, start.column - 1, stop)
    left = min(left, columns - 1)
    right = max(min(right, columns), left + 1)
    row = " " * left + paint(glyph * (right - left))
    hidden = last - start.line
    if hidden >= WHOLE_LINES:
        more = f"and {hidden} more lines"
        if width_of(more) < columns - right:
            row += f" {look.palette.dim(more)}"
            right = columns
        else:
            label = f"{label} ({more})" if label else more
    if not label:
        return [row]
    if width_of(label) < columns - right:
        return [f"{row} {paint(label)}"]
    at = min(left, max(columns - 40, 0))
    return [row, *(" " * at + paint(text) for text in wrapped(label, columns - at))]


def short(text: str, columns: int, look: Look) -> str:
    """Text from outside on one line of at most so many columns."""
    return shortened(visible(text, ascii_only=look.ascii_only), columns, look.glyphs.cut)
