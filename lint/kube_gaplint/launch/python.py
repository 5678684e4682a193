"""Facts from the text of a Python program: imports, calls that matter, variables that it sets and reads, options.

The text is parsed by tree-sitter's grammar, so that the host's Python version does not matter, and never run. A value
is known where it is a literal, simple arithmetic on literals, a `timedelta(…)`, a name that is assigned exactly once,
or (where the caller gives them) a command-line option or an environment variable. Everything else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.facts.python_calls import CALL_NAMES, CALLS, FIT_AT_ONCE, LOADING_CALLS, OF_NETWORKS, CallRow
from kube_gaplint.launch.python_loops import is_step, loop_facts
from kube_gaplint.launch.python_order import Order
from kube_gaplint.launch.python_signals import StopFacts, stop_facts
from kube_gaplint.launch.python_values import Duration, Folder, Value, parses_arguments, text_of
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.program_text import ProgramText
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.text.limits import PYTHON, reached
from kube_gaplint.text.source import Place, PlacedText, Source, WholeText

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = PYTHON.most
"""Characters of a program that are read; a longer one is none that a person wrote into a manifest."""

Context: TypeAlias = Literal["always", "conditional", "repeated"]


class Import(Struct, frozen=True):
    """A module or name that is imported, by its full dotted name."""

    name: str
    place: Place


class Argument(Struct, frozen=True):
    """One argument of a call; the place covers the keyword as well."""

    value: Setting[Value]
    place: Place


class PythonCall(Struct, frozen=True):
    """A call of a row of `facts.python_calls`. `open_because`: `**…` may hold more arguments."""

    key: str
    name: str
    """As far as it resolves: `torch.distributed.init_process_group`, `trainer.fit`."""
    arguments: Mapping[str, Argument]
    place: Place
    context: Context
    row: CallRow
    open_because: str = ""

    def get(self, *names: str) -> Setting[Value]:
        """The value of a parameter under any of its names; absent only where nothing unseen may give it."""
        for name in names:
            if name in self.arguments:
                return self.arguments[name].value
        origin = Origin(self.place)
        return Unknown(self.open_because, origin) if self.open_because else Absent(origin)

    @property
    def timeout(self) -> Setting[float]:
        """The process-group timeout that the call gives, in seconds; absent where it has none to give."""
        if self.row.timeout is None:
            return Absent(Origin(self.place))
        name, unit = self.row.timeout
        value = self.get(name)
        return _seconds(value, 60.0 if unit == "minutes" else 1.0)


class FileUse(Struct, frozen=True):
    """A save or a load. `folder` is the known beginning of the path up to its last slash: files' names often vary."""

    call: PythonCall
    path: Setting[str]
    folder: Setting[str]

    @property
    def place(self) -> Place:
        return self.call.place


class VariableChange(Struct, frozen=True):
    """`os.environ["X"] = v` or `os.environ.setdefault("X", v)`."""

    name: str
    value: Setting[str]
    only_if_unset: bool
    context: Context
    place: Place


class SignalHandler(Struct, frozen=True):
    """`signal.signal(signal.SIGTERM, …)`; `ignored` for SIG_IGN, and for SIG_DFL, which is no handler either."""

    signal: str
    """`SIGTERM`; empty where a loop or a variable says which."""
    ignored: bool
    place: Place

    @property
    def tells_to_stop(self) -> bool:
        """It handles a signal that tells the program to stop, or one that is not named."""
        return self.signal in _STOP_SIGNALS and not self.ignored


class ProgramOption(Struct, frozen=True):
    """An option that the program declares (argparse, click): its names, and the default (`Absent`: none)."""

    names: tuple[str, ...]
    destination: str
    default: Setting[Value]
    kind: str
    """`int`, `float`, `str` …: the name given as its type; `flag` for an option without a value."""
    place: Place


class PythonFacts(Struct, eq=False):
    """What was found in a program, in the order of the text. `problem` says why parts of it were not understood."""

    text: PlacedText
    imports: list[Import] = field(default_factory=list)
    calls: list[PythonCall] = field(default_factory=list)
    changes: list[VariableChange] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    """Names of the environment variables that the program reads."""
    signals: list[SignalHandler] = field(default_factory=list)
    options: list[ProgramOption] = field(default_factory=list)
    files: list[FileUse] = field(default_factory=list)
    at_stop: StopFacts = StopFacts()
    """What follows from its handlers of the signals that tell it to stop."""
    saves_once: bool = False
    """It saves, and only when its training is over: what it writes are results, and no checkpoints."""
    restores_if: frozenset[str] = frozenset()
    """What is surely true wherever it reads the state of its optimizer back: `resume` under `if args.resume`."""
    steps: Set[int] | None = None
    """The optimizer's steps of the whole run, where its loops tell."""
    save_every: Set[int] | None = None
    """Steps between its saves, where its loops tell."""
    save_epochs: Set[int] | None = None
    """Epochs between them, where its loops tell and none comes sooner."""
    problem: str = ""

    def imports_from(self, *modules: str) -> Import | None:
        """The first import of one of these packages or of something in them."""
        for found in self.imports:
            if any(found.name == module or found.name.startswith(module + ".") for module in modules):
                return found
        return None

    def of(self, *keys: str) -> list[PythonCall]:
        """The calls of these rows."""
        return [call for call in self.calls if call.key in keys]

    @property
    def process_groups(self) -> list[PythonCall]:
        """Calls that make the default process group or give the arguments for it."""
        return self.of("process-group", "deepspeed-init", "accelerate-process-group")

    @property
    def saves(self) -> list[FileUse]:
        return [use for use in self.files if use.call.key == "save"]

    @property
    def loads(self) -> list[FileUse]:
        return [use for use in self.files if use.call.key == "load"]

    def fetched(self) -> Iterator[Set[str]]:
        """What it surely has the Hub's libraries look up, without a folder of its own for it. A path may be meant."""
        for call in self.of("hub"):
            named = call.get(call.row.parameters[0])
            elsewhere = any(name in call.arguments for name in ("cache_dir", "local_dir", "local_files_only"))
            if call.context == "conditional" or elsewhere or call.open_because:
                continue
            if isinstance(named, Set) and isinstance(named.value, str):
                yield Set(named.value, named.origin)

    def timeouts(self) -> Iterator[tuple[PythonCall, Setting[float]]]:
        """Every call that can set a process-group timeout, with the seconds that it sets (absent: it leaves it)."""
        for call in self.calls:
            if call.row.timeout is not None and call.key != "new-group":
                yield call, call.timeout


def read_python(
    text: PlacedText,
    options: Options | None = None,
    environment: Environment | None = None,
    whole: ProgramText | None = None,
) -> PythonFacts:
    """Read a program. Never raises on any text.

    `options` are the arguments that the program gets: with them `args.timeout` has the value of `--timeout` or its
    declared default. `environment` is what it starts with: with it `os.environ.get("X", 5)` has a value. `whole` is the
    program with the modules that it imports, which may declare options as well.
    """
    facts = PythonFacts(text)
    if len(text.text) > MAX_TEXT:
        facts.problem = f"the program has more than {MAX_TEXT:,} characters"
        reached(PYTHON, text.place(0, 0))
        return facts
    reader = _Reader(facts, options, environment)
    if whole is not None:
        reader.folder.declared_elsewhere = cache(partial(declared_by_modules, whole))
    reader.read()
    return facts


def declared_by_modules(whole: ProgramText, destination: str) -> ProgramOption | None:
    """The option of this destination that modules declare; None where they do not agree on its default."""
    named = destination.replace("_", "-")
    found: list[ProgramOption] = []
    for text in islice(whole.texts, 1, None):  # the first one is the program itself
        if "add_argument" in text and (destination in text or named in text):
            found.extend(option for option in _options_of(text) if option.destination == destination)
    if not found or len({_default_of(option) for option in found}) > 1:
        return None
    return found[0]


@lru_cache(maxsize=256)  # the programs of a repository import the same modules
def _options_of(text: str) -> tuple[ProgramOption, ...]:
    """The options (no positional arguments) that a module declares."""
    if len(text) > MAX_TEXT:
        return ()
    facts = PythonFacts(WholeText(Source("", text)))
    _Reader(facts, None, None).read_options()
    return tuple(option for option in facts.options if option.names[0].startswith("-"))


def _default_of(option: ProgramOption) -> object:
    default = option.default
    return (option.names, option.kind, default.value if isinstance(default, Set) else type(default))


@cache
def _grammar() -> Parser:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_python.language()))


_IMPORTS = frozenset({"import_statement", "import_from_statement"})
_TELLING = _IMPORTS | {
    "call", "assignment", "augmented_assignment", "named_expression", "for_statement", "for_in_clause", "as_pattern",
    "parameters", "lambda_parameters", "function_definition", "class_definition", "subscript",
}  # fmt: skip


_DEEPEST = 300
"""Nested nodes up to which it is asked what stands around a call: a way up takes the square of that. Programs that
people write have some 40."""
_MOST_STEPS = 200
"""Calls of which it is asked."""
_MOST_HANDLERS = 20
_STOP_SIGNALS = frozenset({"SIGTERM", "SIGUSR1", "SIGUSR2", ""})
"""Signals that tell a program to stop, or one that is not named where its handler is set."""


class Parsed:
    """A text, parsed: its nodes that bind, call or import, each with how surely it runs and what it stands in."""

    def __init__(self, data: bytes) -> None:
        self.root = _grammar().parse(data).root_node
        self.telling: list[tuple[Node, str, Context, str]] = []
        self.depth = 0
        """How deep its nodes are nested."""
        stack: list[tuple[Node, Context, str, int]] = [(self.root, "always", "module", 0)]
        while stack:
            node, context, scope, depth = stack.pop()
            kind = node.type
            self.depth = max(self.depth, depth)
            if kind in _TELLING:
                self.telling.append((node, kind, context, scope))
                if kind in _IMPORTS:
                    continue
            for child, child_context in _children(node, context):
                if not child.child_count:
                    continue  # a token, which binds and calls nothing
                child_scope = scope
                if kind == "class_definition" and child.type == "block":
                    child_scope = "class"
                elif kind in {"function_definition", "lambda"}:
                    child_scope = "function"
                stack.append((child, child_context, child_scope, depth + 1))

    @property
    def too_deep(self) -> bool:
        """Nobody should climb in it."""
        return self.depth > _DEEPEST

    @cached_property
    def order(self) -> Order:
        """How its functions are called."""
        return Order.of(self.root)


@lru_cache(maxsize=32)  # many jobs of a repository start the same program, each with options of its own
def parsed(data: bytes) -> Parsed:
    """A text (UTF-8), parsed once for all that look at it."""
    return Parsed(data)


class _Reader:
    """One walk over the tree collects bindings and calls; values are folded after it, when all bindings are known."""

    def __init__(self, facts: PythonFacts, options: Options | None, environment: Environment | None) -> None:
        self.facts = facts
        self.folder = Folder(facts.text, options, environment)
        self.found_calls: list[tuple[Node, Context]] = []
        self.found_changes: list[tuple[Node, Node, Context]] = []
        self.found_saves: list[Node] = []
        self.found_steps: list[Node] = []
        self.found_handlers: list[Node] = []
        """Of signals that tell it to stop."""

    def read(self) -> None:
        program = parsed(self.folder.offsets.data)
        if program.root.has_error:
            self.facts.problem = "parts of the program are not valid Python"
        self._walk(program)
        self._options()
        for call, context in self.found_calls:
            self._call(call, context)
        for target, value, context in self.found_changes:
            self._change(target, value, context)
        asked = len(self.found_saves) + len(self.found_steps)
        if 0 < asked <= _MOST_STEPS and not program.too_deep:
            order = program.order
            self.facts.saves_once = bool(self.found_saves) and all(
                order.only_after_training(save, fits=self._fits_at_once()) for save in self.found_saves
            )
            self._loops(order)
            restores = [order.tested_before(call) for call, _ in self.found_calls if _restores(call)]
            if restores:
                self.facts.restores_if = frozenset.intersection(*restores)
        if 0 < len(self.found_handlers) <= _MOST_HANDLERS and not program.too_deep:
            functions = [node for node, kind, _, _ in program.telling if kind == "function_definition"]
            calls = (call for call, _ in self.found_calls)
            self.facts.at_stop = stop_facts(self.found_handlers, calls, functions, program.order)
        self.facts.reads = self.folder.reads
        self.facts.changes.sort(key=lambda change: change.place.span)

    def _fits_at_once(self) -> bool:
        packages = {one.name.partition(".")[0] for one in self.facts.imports}
        return not FIT_AT_ONCE.isdisjoint(packages) and OF_NETWORKS.isdisjoint(packages)

    def _loops(self, order: Order) -> None:
        found = loop_facts(self.found_steps, self.found_saves, order, self.folder.fold)
        self.facts.steps = self._told(found.steps, "its loops")
        self.facts.save_every = self._told(found.save_every, "its loop")
        self.facts.save_epochs = self._told(found.save_epochs, "its loop")

    def _told(self, found: tuple[int, Node] | None, note: str) -> Set[int] | None:
        return None if found is None else Set(found[0], Origin(self.folder.place(found[1]), "derived", note))

    def read_options(self) -> None:
        """The declared options alone."""
        self._walk(parsed(self.folder.offsets.data))
        self._options()

    def _walk(self, program: Parsed) -> None:
        for node, kind, context, scope in program.telling:
            if kind in _IMPORTS:
                self._import(node)
            elif kind == "call":
                self.found_calls.append((node, context))
            elif kind == "assignment":
                self._assignment(node, context, scope)
            elif kind in {"augmented_assignment", "named_expression"}:
                self._bind(node.child_by_field_name("left") or node.child_by_field_name("name"), None)
            elif kind in {"for_statement", "for_in_clause"}:
                self._bind(node.child_by_field_name("left"), None)
            elif kind == "as_pattern":
                for alias in node.children_by_field_name("alias"):
                    self._bind(alias, None)
            elif kind in {"parameters", "lambda_parameters"}:
                for parameter in node.named_children:
                    self._bind(_parameter_name(parameter), None)
            elif kind in {"function_definition", "class_definition"}:
                self._bind(node.child_by_field_name("name"), None)
            elif kind == "subscript":
                self.folder.note_read(node)
        self.found_calls.sort(key=lambda found: found[0].start_byte)

    # bindings

    def _import(self, node: Node) -> None:
        module = ""
        if node.type == "import_from_statement":
            module = text_of(node.child_by_field_name("module_name"))
            if any(child.type == "wildcard_import" for child in node.children):
                self.facts.imports.append(Import(module, self.folder.place(node)))
                return
        for name in node.children_by_field_name("name"):
            alias = ""
            target = name
            if name.type == "aliased_import":
                alias = text_of(name.child_by_field_name("alias"))
                target = name.child_by_field_name("name") or name
            full = text_of(target)
            bound = alias or (full if module else full.split(".", 1)[0])
            whole = f"{module}.{full}" if module else full
            self.facts.imports.append(Import(whole, self.folder.place(node)))
            self.folder.aliases[bound] = whole if module or alias else bound

    def _assignment(self, node: Node, context: Context, scope: str) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        if left.type == "identifier":
            if scope != "class":
                self._bind(left, right if context == "always" else None)
            return
        if left.type == "subscript":
            self.found_changes.append((left, right, context))
            return
        pairs = left.type in {"pattern_list", "tuple_pattern"} and right.type in {"expression_list", "tuple"}
        if pairs and left.named_child_count == right.named_child_count:
            for target, value in zip(left.named_children, right.named_children, strict=True):
                self._bind(target, value if context == "always" else None)
            return
        self._bind(left, right if parses_arguments(right) else None)

    def _bind(self, target: Node | None, value: Node | None) -> None:
        """Note that names get a value; None for one that is not followed."""
        stack = [target] if target is not None else []
        steps = 0
        while stack and steps < 1000:
            steps += 1
            node = stack.pop()
            if node.type == "identifier":
                self.folder.bind(text_of(node), value)
            elif node.type not in {"attribute", "subscript", "call"}:
                stack.extend(node.named_children)

    # calls

    def _options(self) -> None:
        for call, _ in self.found_calls:
            function = call.child_by_field_name("function")
            name = text_of(function).rsplit(".", 1)[-1] if function is not None else ""
            if name == "add_argument" or (name == "option" and self.folder.resolve(function).startswith("click")):
                option = self._option(call)
                if option is not None:
                    self.facts.options.append(option)
                    self.folder.options[option.destination] = option

    def _option(self, call: Node) -> ProgramOption | None:
        names: list[str] = []
        given: dict[str, Node] = {}
        for argument in _arguments(call):
            if argument.type == "keyword_argument":
                value = argument.child_by_field_name("value")
                if value is not None:
                    given[text_of(argument.child_by_field_name("name"))] = value
            elif argument.type in {"string", "concatenated_string"}:
                name = self.folder.fold(argument)
                if isinstance(name, str):
                    names.append(name)
        if not names:
            return None
        long = next((name for name in names if name.startswith("--")), names[0])
        destination = long.lstrip("-").replace("-", "_")
        if "dest" in given:
            spelt = self.folder.fold(given["dest"])
            destination = spelt if isinstance(spelt, str) else destination
        action = text_of(given.get("action")).strip("\"'")
        kind = text_of(given.get("type"))
        default: Setting[Value] = Absent(Origin(self.folder.place(call)))
        if "default" in given:
            default = self.folder.setting(given["default"])
        elif action in {"store_true", "store_false"}:
            default = Set(action == "store_false", Origin(self.folder.place(call), "default", f"action {action}"))
        if action in {"store_true", "store_false"} or "is_flag" in given:
            kind = "flag" if action != "store_false" else "unset"
        return ProgramOption(tuple(names), destination, default, kind, self.folder.place(call))

    def _call(self, call: Node, context: Context) -> None:
        function = call.child_by_field_name("function")
        if function is None:
            return
        self.folder.note_read(call)
        name = self.folder.resolve(function)
        last = name.rsplit(".", 1)[-1]
        if last == "setdefault" and name.startswith("os.environ."):
            arguments = [child for child in _arguments(call) if child.type != "comment"]
            if len(arguments) == 2:
                self._add_change(arguments[0], arguments[1], True, context, call)
        elif name == "os.putenv" and len(_arguments(call)) == 2:
            first, second = _arguments(call)
            self._add_change(first, second, False, context, call)
        elif name == "os.environ.update":
            self._update(call, context)
        elif last in {"signal", "add_signal_handler"} and ("signal" in name or last == "add_signal_handler"):
            self._signal(call)
        if last in LOADING_CALLS and not self.facts.problem:
            self.facts.problem = f"{self.folder.short(call)} runs code that only the run tells"
        if last == "step" and is_step(function, _arguments(call)):
            self.found_steps.append(call)
        if last not in CALL_NAMES:
            return
        row = _row(name, last, function.type == "attribute")
        if row is not None:
            self._known_call(call, row, name, context)

    def _known_call(self, call: Node, row: CallRow, name: str, context: Context) -> None:
        arguments: dict[str, Argument] = {}
        nodes: dict[str, Node] = {}
        open_because = ""
        position = 0
        for argument in _arguments(call):
            if argument.type == "keyword_argument":
                key = text_of(argument.child_by_field_name("name"))
                value = argument.child_by_field_name("value")
            elif argument.type in {"dictionary_splat", "list_splat"}:
                open_because = f"{self.folder.short(argument)} may hold more arguments"
                position += 1000
                continue
            elif argument.type in {"comment", "ERROR"}:
                continue
            else:
                key = row.parameters[position] if position < len(row.parameters) else f"#{position}"
                value = argument
                position += 1
            if value is not None:
                nodes[key] = value
                arguments[key] = Argument(self.folder.setting(value), self.folder.place(argument))
        if row.key == "train" and ("resume_from_checkpoint" not in arguments or _is_a_mode(call)):
            return  # a module's own train() mode, or a trainer that starts afresh: nothing to learn
        if row.key == "fit" and "ckpt_path" not in arguments and not open_because and len(arguments) < 1:
            return
        made = PythonCall(row.key, name, arguments, self.folder.place(call), context, row, open_because)
        self.facts.calls.append(made)
        if row.key == "save":
            self.found_saves.append(call)
        if row.path:
            self._file(made, nodes.get(row.path))

    def _file(self, call: PythonCall, node: Node | None) -> None:
        if node is None:
            setting = call.get(call.row.path)
            missing = setting if isinstance(setting, Unknown) else Absent(Origin(call.place))
            self.facts.files.append(FileUse(call, missing, missing))
            return
        value = self.folder.setting(node)
        path: Setting[str]
        if isinstance(value, Set):
            if not isinstance(value.value, str):
                return
            path = Set(value.value, value.origin)
        else:
            path = value
        folder: Setting[str] = path
        if not isinstance(path, Set):
            prefix = self.folder.prefix(node)
            if "/" in prefix:
                known = prefix.rsplit("/", 1)[0] or "/"
                folder = Set(known, Origin(self.folder.place(node), "derived", "the part of the path that is known"))
        self.facts.files.append(FileUse(call, path, folder))

    def _signal(self, call: Node) -> None:
        arguments = [child for child in _arguments(call) if child.type != "comment"]
        if len(arguments) < 2:
            return
        name = text_of(arguments[0]).rsplit(".", 1)[-1].strip("\"'")
        if not (name.startswith("SIG") and name.isupper()):
            name = ""
        ignored = text_of(arguments[1]).endswith(("SIG_IGN", "SIG_DFL"))
        handler = SignalHandler(name, ignored, self.folder.place(call))
        self.facts.signals.append(handler)
        if handler.tells_to_stop:
            self.found_handlers.append(arguments[1])

    # variables

    def _change(self, target: Node, value: Node, context: Context) -> None:
        holder = target.child_by_field_name("value")
        if holder is not None and self.folder.resolve(holder) == "os.environ":
            subscripts = target.children_by_field_name("subscript")
            if len(subscripts) == 1:
                self._add_change(subscripts[0], value, False, context, target)

    def _update(self, call: Node, context: Context) -> None:
        for argument in _arguments(call):
            if argument.type == "dictionary":
                for pair in argument.named_children:
                    key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
                    if pair.type == "pair" and key is not None and value is not None:
                        self._add_change(key, value, False, context, pair)
            elif argument.type == "keyword_argument":
                key, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
                if key is not None and value is not None:
                    name, setting = text_of(key), _as_text(self.folder.setting(value))
                    place = self.folder.place(argument)
                    self.facts.changes.append(VariableChange(name, setting, False, context, place))

    def _add_change(self, key: Node, value: Node, only_if_unset: bool, context: Context, whole: Node) -> None:
        name = self.folder.fold(key)
        if isinstance(name, str) and name:
            setting = _as_text(self.folder.setting(value))
            place = self.folder.place(whole, value)
            self.facts.changes.append(VariableChange(name, setting, only_if_unset, context, place))


def _is_a_mode(call: Node) -> bool:
    """`model.train(True)`: the mode of a module, not what a trainer is to go on from."""
    first = next((one for one in _arguments(call) if one.type != "comment"), None)
    receiver = text_of(call.child_by_field_name("function")).rpartition(".")[0]
    return first is not None and first.type in {"true", "false"} and "trainer" not in receiver.lower()


def _row(name: str, last: str, is_attribute: bool) -> CallRow | None:
    """The row of a call. A bare name without an import matches a row that is certain of its name."""
    module = name[: -len(last)].rstrip(".")
    fallback = None
    best: tuple[int, CallRow] | None = None
    for row in CALLS:
        if last not in row.names:
            continue
        if not row.modules:
            if is_attribute and best is None:
                fallback = fallback or row
            continue
        for known in row.modules:
            within = module == known or module.startswith(known + ".")
            if within and (best is None or len(known) > best[0]):
                best = (len(known), row)
        if row.certain and (not module or module in {"dist", "distributed", "torch.distributed"}):
            fallback = fallback or row
    if best is not None:
        return best[1]
    if fallback is not None and fallback.modules and is_attribute and module not in {"dist", "distributed"}:
        return None
    return fallback


def _seconds(value: Setting[Value], factor: float) -> Setting[float]:
    if not isinstance(value, Set):
        return value
    amount = value.value
    if isinstance(amount, Duration):
        return Set(amount.seconds, value.origin)
    if isinstance(amount, bool) or amount is None:
        return Absent(value.origin) if amount is None else Unknown("it is no time", value.origin)
    if isinstance(amount, int | float):
        return Set(amount * factor, value.origin)
    return Unknown("it is no time", value.origin)


def _as_text(value: Setting[Value]) -> Setting[str]:
    if not isinstance(value, Set):
        return value
    if isinstance(value.value, str):
        return Set(value.value, value.origin)
    return Unknown("a variable of the environment takes text only", value.origin)


def _arguments(call: Node) -> list[Node]:
    holder = call.child_by_field_name("arguments")
    if holder is None or holder.type != "argument_list":
        return []
    return holder.named_children


_RESTORES = lazy_re.compile(
    r"(?i:optim)[^\n]{0,80}\.load_state_dict\Z"
    r"|(?:\A|[._])(?:load_state|load_checkpoint|restore|restore_checkpoint|set_optimizer_state_dict|set_state_dict)\Z"
    r"|(?:\A|[._])(?:dcp|checkpoint|checkpointer|ckpt|manager)\.load\Z"
)
"""Calls that read the state of an optimizer, or of a whole training, back."""


def _restores(call: Node) -> bool:
    return _RESTORES.search(text_of(call.child_by_field_name("function"))) is not None


def _parameter_name(parameter: Node) -> Node | None:
    if parameter.type == "identifier":
        return parameter
    named = parameter.child_by_field_name("name")
    if named is not None:
        return named
    return next((child for child in parameter.named_children if child.type == "identifier"), None)


_BRANCHES = frozenset({"elif_clause", "else_clause", "except_clause", "except_group_clause", "case_clause"})


def _children(node: Node, context: Context) -> Iterator[tuple[Node, Context]]:
    """The children of a node and how surely each runs."""
    kind = node.type
    if kind == "if_statement":
        always = text_of(node.child_by_field_name("condition")).replace('"', "'") == "__name__ == '__main__'"
        for child in node.children:
            conditional = child.type in _BRANCHES or (child.type == "block" and not always)
            yield child, "conditional" if conditional else context
    elif kind in {"for_statement", "while_statement", "for_in_clause"}:
        for child in node.children:
            repeated = child.type == "block" and context == "always"
            yield child, "repeated" if repeated else context
    elif kind in _BRANCHES or kind in {"conditional_expression", "lambda", "boolean_operator"}:
        for child in node.children:
            yield child, "conditional"
    else:
        for child in node.children:
            yield child, context


__all__ = [
    "Argument", "Duration", "FileUse", "Import", "ProgramOption", "PythonCall", "PythonFacts", "SignalHandler",
    "Value", "VariableChange", "declared_by_modules", "parsed", "read_python",
]  # fmt: skip
