"""Whether a program, as it is started, surely begins anew: nothing reads a checkpoint back before it trains.

All its own texts are looked at: the script and the modules of its repository. Each call that reads a checkpoint is
followed to what starts it. It does not count where a training goes before it (it reads the best weights for a last
test), where nothing calls it, where it needs an option that is off, and where it reads a file of a fixed name that the
program never writes: what a fine-tuning starts from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.launch.python_order import FUNCTIONS
from kube_gaplint.launch.python_values import text_of
from kube_gaplint.model.program_lines import READS_BY_ITSELF, trained_by_keras

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_TEXT = 400_000
"""Characters in all that are parsed for one program."""
MOST_CALLERS = 8
DEEPEST = 6
_MOST_PATHS = 24
_MOST_READS = 200
_MOST_WRITES = 100
_MOST_ASSIGNMENTS = 8
_MOST_ALIASES = 4
_MOST_SETTERS = 40
_MOST_LEAVING = 40
_MOST_BASES = 40
_KNOW_NO_METHODS = frozenset({"object", "Module", "ABC", "Generic", "Protocol", "Dataset", "IterableDataset", "Enum"})
"""Classes of libraries that call no methods of those that are built on them, but for `_OF_MODULES`."""
_CALL_NOTHING = frozenset({"@classmethod", "@staticmethod", "@torch.no_grad()", "@torch.inference_mode()"})
"""Decorators that leave it to others when a function is called."""
_OF_MODULES = frozenset({"load_state_dict", "set_extra_state", "forward", "state_dict"})

_READS = lazy_re.compile(
    r"(?i)\A(?:safe_open|load_file|load_objects)\Z"
    r"|(?:load|read|restore|resume|recover|continue|warm_?start)\w*"
    r"(?:ckpt|checkpoint|snapshot|state|model|weight|param|train|latest|last|previous)"
    r"|(?:ckpt|checkpoint|snapshot|weights?|state)_?(?:load|restore|resume)"
    r"|\A_?(?:restore|resume|auto_?resume|maybe_?(?:load|resume|restore)\w*)"
    r"|\Afrom_?(?:ckpt|checkpoint|snapshot)"
)
"""Last names of calls that read a checkpoint back, where the program does not define them itself."""
_NO_READ = lazy_re.compile(
    r"(?i)load_(?:\w*_)?state_dict|load_dataset|load_train\w*data|(?:save|write|print|log|tokeni)"
)
"""Names that look alike: a state that is there already is put into a model, data are loaded."""
_STATE_DICTS = lazy_re.compile(r"(?i)\A(?:dcp|dist_cp|(?:dist(?:_|\.))?checkpoint\w*)\.load_state_dict\Z")
_OTHER_FILES = lazy_re.compile(
    r"(?i)(?:\A|\.)(?:np|numpy|json|yaml|toml\w*|pickle|joblib|dill|orjson|ujson|librosa|torchaudio|sf|soundfile|"
    r"omegaconf|spacy|plt|h5py|cv2|pd|scipy|sio|nib|ast|imageio|trimesh|pkl|tokenizer|processor|dataset\w*|audio|"
    r"image|config|cfg|dotenv|nltk)\.load\Z"
)
"""`load` of modules that read data or configurations."""
_BY_NAME = lazy_re.compile(
    r"(?:\A|\.)from_pretrained\Z"
    r"|(?i:(?:\A|[._])(?:clip|hub|mvp|r3m|vip|whisper))\.load(?:_(?:model|r3m|vip))?\Z"
)
"""What makes a pre-trained model by its name, or by the path of one."""
_OF_ITS_OWN = lazy_re.compile(r"(?i)resume|ckpt|checkpoint|\blast|latest|output|out_dir|save|snapshot|restore")
"""Words in the first argument of such a call that speak of what the program wrote itself."""
_LIBRARIES = lazy_re.compile(
    r"(?i)(?:\A|[._])(?:torch|th|paddle|dcp|dist_cp|engine|accelerator|fabric|manager|checkpointer|saver|ocp)\.\w+\Z"
)
"""Calls of libraries, also where the program has a function of the same name."""
_SAVES = lazy_re.compile(
    r"(?i)\A(?:async_)?save\Z|save_?\w*(?:state|pretrained|model|checkpoint|ckpt|weight|snapshot)"
    r"|(?:state|model|checkpoint|ckpt|weights?)_?save|\AModelCheckpoint\Z|\AFileSystemWriter\Z"
)
"""Last names of calls that may write a checkpoint."""
_SAVES_OTHER_FILES = lazy_re.compile(
    r"(?i)(?:\A|\.)(?:np|numpy|omegaconf|plt|image|img|tokenizer|processor|wandb|json|fig|config|ani\w*)\.save\w*\Z"
)
_MOVES = lazy_re.compile(r"\A(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace|renames|link|symlink))\Z|\.symlink_to\Z")
_HUB = lazy_re.compile(r"\b(?:hf_hub_download|snapshot_download|cached_download|load_state_dict_from_url)\(")
_GOES_ON_BY = frozenset({"ckpt_path", "resume_from_checkpoint", "resume_from", "resume_path", "load_from"})
"""Keywords by which a trainer is told what to go on from."""
_TRAINS = lazy_re.compile(
    r"\.backward\(|\bopt\w*\.step\(|\.apply_gradients\(|\boptax\.apply_updates\("
    r"|\b(?:accelerator|scaler|engine|model_engine)\.(?:backward|step)\("
    r"|\b(?:train|fit|learn)\([^)\s]|[Tt]rainer\w*\.(?:train|fit)\("
    r"|\b(?:train_model|train_epochs?|train_one_epoch|train_loop|training_loop|run_training|do_train)\("
)
"""What a part of a program that trains holds."""
_BY_HAND = lazy_re.compile(r"\.backward\(|\bopt\w*\.step\(|\.apply_gradients\(|\boptax\.apply_updates\(")
"""A training loop that the program writes itself: nothing behind it resumes unseen."""
_OTHER_WAYS = lazy_re.compile(
    r"BackupAndRestore|\bget_checkpoint\(|resume_or_load|AutoResume|auto_resume|CheckpointManager|latest_checkpoint\("
    r"|torchsnapshot|torchft|keras_?tuner|MonitoredTrainingSession|set_defaults\(\s*\*\*|\bexec\(|tf\.train\.Checkpoint"
)
"""Other means to go on, which are not followed."""
_JAX = lazy_re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:jax|flax|optax)\b", re.MULTILINE)
_OTHER_WAYS_OF_JAX = lazy_re.compile(
    r"\b(?:pickle|dill|joblib|cloudpickle|msgpack)\.loads?\(|\bfrom_(?:bytes|state_dict)\(|msgpack_restore"
    r"|\b(?:np|jnp|numpy)\.load\([^)\n]*(?i:ckpt|checkpoint|param|model|weight|state|resume|restore|opt|path\)|name\))"
    r"|tree_deserialise|orbax|\bocp\b"
)
"""Its programs read their parameters by means that are also there for data."""
_TAKES_OVER = lazy_re.compile(
    r"\b(?:vars\(\w{1,60}\)|(?:args|opts?|options|cfg|config|hparams)\.__dict__)\.update\("
    r"|\bsetattr\(\s*(?:args|opts?|options|cfg|config|hparams),\s*\w"
)
"""Calls that give options by names that the text does not tell: any option may be given then."""
_CALLED = lazy_re.compile(r"(?<![\w.])(?P<function>[\w.]+)(?![\w.])[\"'\])]*\s*\(")
"""What is called somewhere in a text, also by its name in a table (`ways["load_model"](path)`)."""
_PUTS_AWAY = lazy_re.compile(r"(?i)save|checkpoint|ckpt|FileSystemWriter|\bshutil\b|\bos\.(?:re|link|sym)|symlink_to")
"""A part of all that writes a file under a name, or gives it another one."""
_OF_A_PROCESS = lazy_re.compile(r"(?i)rank|world|gpu|device|distributed")
"""Settings that a launcher gives each process, whatever their default is."""
_FIELD = lazy_re.compile(r"(?:\w+\.)?[Ff]ield\(\s*default\s*=\s*(?P<default>[\w\"']+)\s*[,)]")
"""A field of a settings class, of `dataclasses` or pydantic, by its default."""
_OF_ANOTHER = lazy_re.compile(r"\w+(?:\.\w+)*\.(?P<option>\w+)\)*\Z")
"""The value of another option, handed on as it is."""
_OFF = frozenset({"none", "false", '""', "''", "null"})
_EMPTY = (" is not None", " != None", ' != ""', " != ''", " is True", " == True", " > 0", " != 0")


class Way(Struct, frozen=True):
    """A way on which a program reads a checkpoint back: the options that are surely given on it, and those of them of
    which one surely is the path that it reads. Without `reads` it is one on which the program takes over settings from
    elsewhere, which may tell it to read one."""

    options: frozenset[str]
    places: frozenset[str] = frozenset()
    reads: bool = True


def restoring_ways(texts: tuple[str, ...], *, by_trainer: bool = False) -> tuple[Way, ...] | None:
    """The ways on which a program reads a checkpoint back before it trains; None where they are not known. `texts`
    begin with the script; `by_trainer`: what trains is a library's trainer that goes on only from what it is told."""
    by_hand = by_trainer or any(lazy_re.found_in(text, _BY_HAND) or trained_by_keras(text) for text in texts)
    if len(texts) > 200 or not by_hand or any(lazy_re.found_in(text, _OTHER_WAYS) for text in texts):
        return None
    if any(word in text for text in texts for word in READS_BY_ITSELF):
        return None
    by_jax = any(lazy_re.found_in(text, _JAX) for text in texts)
    if by_jax and any(lazy_re.found_in(text, _OTHER_WAYS_OF_JAX) for text in texts):
        return None
    return _paths(texts)


def is_off(name: str, texts: tuple[str, ...], declared_off: Callable[[str], bool | None], aliases: int = 2) -> bool:
    """Whether an option that nobody gives is off: by its declaration, which `declared_off` knows where an option of
    the command line or a configuration has the name, or by the class that holds the settings; and set nowhere else but
    by options that are off themselves, followed through so many names (`Settings(load=args.resume)`)."""
    known = False if _OF_A_PROCESS.search(name) is not None else declared_off(name)
    if known is False:
        return False
    in_class = re.compile(rf"^[ \t]+{re.escape(name)}[ \t]*:[^=\n#]{{1,80}}=[ \t]*(?P<value>[^#\n]+)", re.MULTILINE)
    lines = (found[0].rstrip() for text in texts for found in in_class.finditer(text))
    if known is None and all(line.endswith(",") for line in lines):
        return False
    others = set_from(name, texts)
    if others is None or len(others) > _MOST_ALIASES or (others and not aliases):
        return False
    return all(is_off(other, texts, declared_off, aliases - 1) for other in sorted(others))


def set_from(name: str, texts: tuple[str, ...]) -> frozenset[str] | None:
    """The options whose values a program gives an option; None where it may give it something else."""
    found: set[str] = set()
    for text in texts:
        others = _set_in(text, name) if name in text else frozenset()
        if others is None:
            return None
        found |= others
    return frozenset(found)


@lru_cache(maxsize=512)
def _set_in(text: str, name: str) -> frozenset[str] | None:
    """The options whose values a text gives a name besides its own value handed on, or nothing; None for all else."""
    quoted = re.escape(name)
    given = re.compile(
        rf"(?<![\w-]){quoted}[ \t]*(?P<type>:[ \t]*[\w.\[\]| ,\"']{{1,60}})?=(?!=)[ \t]*(?P<value>[^\n#]*)"
        rf"|[\"']{quoted}[\"'][ \t]*(?:\][ \t]*=(?!=)|:|,(?=[^)\n]*\)))[ \t]*(?P<entry>[^\n#]*)"
    )
    own = re.compile(
        rf"[\w.()\[\]\"']*(?<!\w){quoted}[\"']?(?!\w)(?:, ?(?:None|False))?[)\]]*(?:[ \t]*(?:or None|if .*))?\Z"
    )
    handed_on = re.search(rf"\.{quoted}[ \t]*=[ \t]*{quoted}(?!\w)", text) is not None
    suspects: list[tuple[int, str]] = []
    for found in given.finditer(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if "#" in line or "add_argument(" in line or "add_argument(" in found[0]:
            continue
        if found["type"] and line.lstrip().startswith(("if ", "elif ", "while ")):
            continue  # `if args.resume: state = …` asks for it
        if not line.strip() and not handed_on and re.match(rf"{quoted}[ \t]+=", found[0]):
            continue  # a variable of a function, which is called alike
        value = _first_part(found["value"] or found["entry"] or "")
        if found["value"] and (default := _FIELD.match(text, found.start("value"))) is not None:
            value = default["default"]
        if value.lower() in _OFF or not value or own.match(value):
            continue
        other = _OF_ANOTHER.match(value)
        suspects.append((found.start(), "" if other is None else other["option"]))
    if not suspects:
        return frozenset()
    if len(suspects) > _MOST_SETTERS:
        return None
    try:
        tree = _tree(text, True)
    except _TooMuch:
        return None
    others = {other for at, other in suspects if name not in _guards(tree, at)}
    return None if "" in others else frozenset(others)


def _first_part(text: str) -> str:
    """The expression that a text begins with: up to a comma, or a bracket that closes one before it."""
    depth = 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and letter == ","):
            return text[:at].strip()
    return text.strip()


def _guards(tree: _Tree, at: int) -> frozenset[str]:
    """What is surely given at a character of a text."""
    start = len(tree.text[:at].encode("utf-8", "surrogatepass"))
    node = tree.root.descendant_for_byte_range(start, start)
    names: frozenset[str] = frozenset()
    while node is not None and node.parent is not None and node.type not in FUNCTIONS:
        names |= _given_here(node, node.parent)
        node = node.parent
    return names


class _Tree:
    """One text, parsed: its calls, what it imports, and the names that are handed on without being called. Raises
    _TooMuch."""

    def __init__(self, text: str, is_script: bool) -> None:
        from kube_gaplint.launch.python import parsed

        program = parsed(text.encode("utf-8", "surrogatepass"))
        if program.too_deep:
            raise _TooMuch
        self.text = text
        self.is_script = is_script
        self.root = program.root
        self.calls: dict[str, list[Node]] = {}
        self.handed_on: set[str] = set()
        self.methods_handed_on: set[str] = set()
        self.stand_for: dict[str, set[str]] = {}
        """Attributes of `self` that stand for a method (`self.restorer = self.restore if … else …`), by its name."""
        self.renamed: set[str] = set()
        """Names of other modules that stand here under another one."""
        self.imported: set[str] = set()
        """Names that stand for something of another module; `*` where all names of one do."""
        pending = [self.root]
        while pending:
            node = pending.pop()
            kind = node.type
            if kind in {"import_statement", "import_from_statement"}:
                self._import(node)
                continue
            if kind == "identifier":
                self._note(node)
            elif kind == "call":
                self.calls.setdefault(_last(text_of(node.child_by_field_name("function"))), []).append(node)
            pending.extend(node.named_children)

    def _import(self, node: Node) -> None:
        if any(child.type == "wildcard_import" for child in node.children):
            self.imported.add("*")
        for name in node.children_by_field_name("name"):
            if name.type == "aliased_import":
                self.imported.add(text_of(name.child_by_field_name("alias")))
                if node.type == "import_from_statement":
                    self.renamed.add(text_of(name.child_by_field_name("name")))
            else:
                self.imported.add(_last(text_of(name)))

    def _note(self, name: Node) -> None:
        target, parent, kept = name, name.parent, self.handed_on
        if parent is not None and parent.type == "attribute":
            if parent.child_by_field_name("attribute") != name:
                return
            target, parent, kept = parent, parent.parent, self.methods_handed_on
        if parent is None:
            return
        if target.type == "attribute" and (other := _attribute_for(target)):
            self.stand_for.setdefault(text_of(name), set()).add(other)
            return
        fields = {"call": "function", "function_definition": "name", "class_definition": "name", "assignment": "left",
                  "keyword_argument": "name"}  # fmt: skip
        if parent.type not in fields or parent.child_by_field_name(fields[parent.type]) != target:
            kept.add(text_of(name))

    def knows(self, name: str) -> bool:
        """Whether a plain name stands here for the function or class of this name."""
        return not self.imported.isdisjoint((name, "*")) or f"def {name}(" in self.text or f"class {name}" in self.text

    def has_its_own(self, name: str) -> bool:
        """Whether a plain name is a function that this text defines, so that it is none of another module's."""
        if name in self.renamed or not self.imported.isdisjoint((name, "*")):
            return False
        return self.text.startswith(f"def {name}(") or f"\ndef {name}(" in self.text

    def callers(self, name: str, owner: str, *, elsewhere: bool) -> list[Node] | None:
        """The calls of a function, or of a method of the class `owner`; None where it may be called from anywhere.
        `elsewhere`: it is defined in another text."""
        found = []
        plain = not owner and self.knows(name) and not (elsewhere and self.has_its_own(name))
        for call in self.calls.get(name, ()):
            function = call.child_by_field_name("function")
            if function is None or function.type != "attribute":
                if plain:
                    found.append(call)
                continue
            receiver = text_of(function.child_by_field_name("object"))
            last = _last(receiver)
            fits = last == owner or not last[:1].isupper() or f"{owner})" in self.text
            if fits if owner else receiver in self.imported:
                found.append(call)
        anywhere = (
            name in self.methods_handed_on if owner else name in self.renamed or (plain and name in self.handed_on)
        )
        return None if anywhere else found


def _attribute_for(method: Node) -> str:
    """The attribute of `self` that an assignment lets stand for a method, be it for one of several."""
    node, parent = method, method.parent
    while parent is not None and parent.type in {"parenthesized_expression", "conditional_expression"}:
        node, parent = parent, parent.parent
    if parent is None or parent.type != "assignment" or not _is(node, parent, "right"):
        return ""
    owner, _, name = text_of(parent.child_by_field_name("left")).rpartition(".")
    return name if owner == "self" and name.isidentifier() else ""


@lru_cache(maxsize=32)  # the programs of a repository import the same modules
def _tree(text: str, is_script: bool) -> _Tree:
    return _Tree(text, is_script)


class _Program(Struct, dict=True):
    """The texts of a program, parsed as far as they are asked for. Following it raises _TooMuch where it is too large.

    `reads`: the calls so far that read a checkpoint, perhaps.
    """

    texts: tuple[str, ...]
    trees: dict[int, _Tree] = field(default_factory=dict)
    size: int = 0
    reads: int = 0

    def tree(self, index: int) -> _Tree:
        found = self.trees.get(index)
        if found is None:
            self.size += len(self.texts[index])
            if self.size > MOST_TEXT:
                raise _TooMuch
            found = self.trees[index] = _tree(self.texts[index], index == 0)
        return found

    def with_word(self, name: str) -> Iterator[_Tree]:
        for index, text in enumerate(self.texts):
            if name in text:
                yield self.tree(index)

    def defines(self, name: str) -> bool:
        return any(f"def {name}(" in text for text in self.texts)

    def function(self, name: str) -> Node | None:
        """The one function of this name at the top of a text, where no other text has one."""
        indexes = [index for index, text in enumerate(self.texts) if f"def {name}(" in text]
        if len(indexes) != 1:
            return None
        named = [
            one
            for one in self.tree(indexes[0]).root.named_children
            if one.type == "function_definition" and text_of(one.child_by_field_name("name")) == name
        ]
        return named[0] if len(named) == 1 else None

    def bases(self, name: str) -> frozenset[str] | None:
        """The last names of the classes that a class of the program is built on; None where it is another's."""
        pattern = re.compile(
            rf"^[ \t]*class[ \t]+{re.escape(name)}[ \t]*(?:\((?P<bases>[^()]*)\))?[ \t]*:", re.MULTILINE
        )
        found = [one["bases"] or "" for text in self.texts if name in text for one in pattern.finditer(text)]
        if not found:
            return None
        words = (word.partition("[")[0].strip() for bases in found for word in bases.split(","))
        return frozenset(_last(word) for word in words if word and "=" not in word)

    def count_read(self) -> None:
        self.reads += 1
        if self.reads > _MOST_READS:
            raise _TooMuch

    @cached_property
    def writes(self) -> frozenset[str] | None:
        """The names of all files that it writes, NUL for what is put into one; None where one may have any name."""
        names: set[str] = set()
        for index, text in enumerate(self.texts):
            for last, calls in self.tree(index).calls.items() if _PUTS_AWAY.search(text) is not None else ():
                for call in calls:
                    function = text_of(call.child_by_field_name("function"))
                    if _MOVES.search(function) is not None:
                        return None
                    if _SAVES.search(last) is None or _SAVES_OTHER_FILES.search(function) is not None:
                        continue
                    if self.defines(last) and "." not in function:
                        continue  # what it does is looked at itself
                    found = _file_names(_saved_to(call)) if function == "torch.save" else {""}
                    names |= found
                    if "" in found or len(names) > _MOST_WRITES:
                        return None
        return frozenset(names)


class _TooMuch(Exception):
    """There is more to follow than is followed."""


@lru_cache(maxsize=64)  # many scripts of a repository start the same program
def _paths(texts: tuple[str, ...]) -> tuple[Way, ...] | None:
    program = _Program(texts)
    found: list[Way] = []
    try:
        for index, text in enumerate(texts):
            takes_over = _TAKES_OVER.search(text) is not None
            if not takes_over and not _may_read(text):
                continue
            tree = program.tree(index)
            for name, calls in tree.calls.items():
                for call in calls:
                    if takes_over and name in {"update", "setattr"} and _TAKES_OVER.search(text_of(call)):
                        found.extend(Way(names, reads=False) for names in _ways(call, tree, program, 0, frozenset()))
                    for source in _sources(call, name, program):
                        needs = frozenset() if source is None else _comes_from(source, program)
                        places = frozenset() if source is None else _places(source)
                        for names in () if needs is None else _ways(call, tree, program, 0, frozenset(), needs):
                            found.append(Way(names, places))
                            if len(found) > _MOST_PATHS:
                                return None
    except _TooMuch:
        return None
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=512)
def _may_read(text: str) -> bool:
    """Whether a text has a call that may read a checkpoint, so that it is worth its parsing."""
    if any(keyword in text for keyword in _GOES_ON_BY):
        return True
    functions = frozenset(found["function"] for found in _CALLED.finditer(text))
    return any(_BY_NAME.search(one) is not None or _reads(one, _last(one)) for one in functions)


def _reads(function: str, name: str) -> bool:
    """Whether a function reads a checkpoint, by its name and what it is of."""
    if name == "load":
        return "." in function and _OTHER_FILES.search(function) is None
    if _READS.search(name) is not None and _NO_READ.search(name) is None:
        return True
    return _STATE_DICTS.search(function) is not None


def _sources(call: Node, name: str, program: _Program) -> Iterator[Node | None]:
    """Once for a call that reads a checkpoint: what it reads; None where that is not told."""
    function = text_of(call.child_by_field_name("function"))
    holder = call.child_by_field_name("arguments")
    arguments = holder.named_children if holder is not None and holder.type == "argument_list" else []
    for argument in arguments:
        if argument.type == "keyword_argument" and text_of(argument.child_by_field_name("name")) in _GOES_ON_BY:
            value = argument.child_by_field_name("value")
            if value is not None and text_of(value).lower() not in _OFF and not program.defines(name):
                program.count_read()
                yield value
            return
    if _BY_NAME.search(function) is not None:
        if any(_OF_ITS_OWN.search(text_of(one)) for one in arguments[:1]):
            yield arguments[0]
        return
    if not _reads(function, name):
        return
    program.count_read()
    around = _function_of(call)
    inside = text_of(around.child_by_field_name("name")) if around is not None else ""
    if program.defines(name) and inside != name and _LIBRARIES.search(function) is None:
        return  # what it does is looked at itself
    if around is not None and _HUB.search(text_of(around)) is not None:
        return
    if not (arguments and _never_written(arguments[0], program)):
        yield arguments[0] if arguments else None


def _never_written(path: Node, program: _Program) -> bool:
    """Whether a program surely writes no file of the fixed name that it reads, so that it is not one of its own."""
    name = _file_name(path)
    if "." not in name or "\0" in name:
        return False
    writes = program.writes  # a program that is not seen to write anything leaves that to others
    return bool(writes) and not any(
        re.fullmatch(".*".join(map(re.escape, written.split("\0"))), name) for written in writes or ()
    )


def _saved_to(call: Node) -> Node | None:
    holder = call.child_by_field_name("arguments")
    parts = holder.named_children if holder is not None else []
    return parts[1] if len(parts) > 1 and parts[1].type != "keyword_argument" else None


def _file_names(path: Node | None) -> set[str]:
    """The same of each path that a variable of a function is given."""
    given = _assigned(path) if path is not None and path.type == "identifier" else []
    return {_file_name(value) for _, value in given} or {_file_name(path)}


def _file_name(path: Node | None) -> str:
    """The last part of a path that is written in the program, NUL for what is put into it; empty where it is not seen.

    A name stands for its value where one assignment in its text gives it.
    """
    if path is None:
        return ""
    if path.type == "identifier":
        value = _only_value(path)
        if value is None:
            given = _assigned(path)
            value = given[0][1] if len(given) == 1 else None
        return _file_name(value) if value is not None and value.type != "identifier" else ""
    if path.type == "binary_operator" and text_of(path.child_by_field_name("operator")) == "/":
        last = path.child_by_field_name("right")  # of a Path
        return _file_name(last) if last is not None and last.type == "string" else ""
    if path.type == "call" and _last(text_of(path.child_by_field_name("function"))) in {"join", "Path", "str"}:
        holder = path.child_by_field_name("arguments")
        parts = holder.named_children if holder is not None else []
        return _file_name(parts[-1]) if parts and parts[-1].type in {"string", "binary_operator"} else ""
    if path.type != "string":
        return ""
    words = (
        "\0" if one.type == "interpolation" else text_of(one)
        for one in path.named_children
        if one.type in {"interpolation", "string_content"}
    )
    return "".join(words).rpartition("/")[2]


def _only_value(name: Node) -> Node | None:
    """What a plain name stands for, where one assignment of its text gives it, outside functions and classes."""
    word, node = text_of(name), name
    while node.parent is not None:
        node = node.parent
        if node.type in FUNCTIONS and re.search(rf"\b{word}\b", text_of(node.child_by_field_name("parameters"))):
            return None
    given = _bindings(node).get(word, [])
    one = given[0] if len(given) == 1 else None
    above = None if one is None else one.parent
    if one is None or above is None or above.type != "expression_statement" or above.parent != node:
        return None
    return one.child_by_field_name("right")


def _function_of(node: Node | None) -> Node | None:
    while node is not None and node.type != "function_definition":
        node = node.parent
    return node


def _named(value: Node, *, follow: bool = True) -> frozenset[str]:
    """The options that a value is or comes from, as `config.load` or `config["load"]`: without them there is nothing to
    read. A variable of a function is followed to what the function puts into it."""
    parts = value.named_children
    if value.type == "identifier":
        return _behind(value) if follow else frozenset()
    if value.type == "conditional_expression" and len(parts) == 3:
        given, condition, otherwise = parts
        if text_of(otherwise).lower() in _OFF:
            return _named(given, follow=follow) | _asked(condition, follow=follow)
        if text_of(given).lower() in _OFF:
            return _named(otherwise, follow=follow) | _denied(condition, follow=follow)
        return frozenset()
    if value.type == "boolean_operator" and len(parts) == 2 and text_of(parts[1]).lower() in _OFF:
        return _named(parts[0], follow=follow)
    name = _option(value)
    return frozenset({name} if name else ())


def _behind(name: Node) -> frozenset[str]:
    """The options without any of which a variable of a function holds nothing; none where that is not seen. For a
    parameter of the function stands its name behind NUL: each call gives it another value."""
    function = _function_of(name)
    if function is not None and _is_parameter(text_of(name), function):
        return frozenset({f"\0{text_of(name)}"})
    found: list[frozenset[str]] = []
    for node, value in _assigned(name):
        names = _named(value, follow=False)
        at = node
        while at.parent is not None and at != function:
            names |= _given_here(at, at.parent, follow=False)
            at = at.parent
        found.append(names)
    return frozenset.intersection(*found) if found else frozenset()


def _places(value: Node) -> frozenset[str]:
    """The options of which one is a value, be it by a variable of a function; none where it may be another thing."""
    values = [given for _, given in _assigned(value)] if value.type == "identifier" else [value]
    names = frozenset(map(_option, values))
    return frozenset() if "" in names else names


def _assigned(name: Node) -> list[tuple[Node, Node]]:
    """The assignments that put something into a variable of a function, with what they put into it; none where it may
    get its value in another way, or where they are too many."""
    function = _function_of(name)
    bindings = () if function is None else _bindings(function).get(text_of(name), ())
    if len(bindings) > _MOST_ASSIGNMENTS:
        return []
    found: list[tuple[Node, Node]] = []
    for node in bindings:
        value = None if node is None else node.child_by_field_name("right")
        if node is None or value is None:
            return []
        if text_of(value).lower() not in _OFF:
            found.append((node, value))
    return found


@lru_cache(maxsize=32)
def _bindings(scope: Node) -> dict[str, list[Node | None]]:
    """What gives each name of a function, or of a module and its functions, its values: the plain assignments; None
    for anything else. The parameters of a module's functions are other names."""
    found: dict[str, list[Node | None]] = {}
    other = _PARAMETERS if scope.parent is None else ()
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.named_children)
        parent = node.parent
        if node.type != "identifier" or parent is None or parent.type in other:
            continue
        if parent.type == "assignment" and _is(node, parent, "left"):
            found.setdefault(text_of(node), []).append(parent)
        elif parent.type in _BINDS and not (
            parent.type in _BINDS_LEFT and not _is(node, parent, _BINDS_LEFT[parent.type])
        ):
            found.setdefault(text_of(node), []).append(None)
    return found


_PARAMETERS = frozenset(
    {"parameters", "lambda_parameters", "default_parameter", "typed_default_parameter", "typed_parameter"}
)
_BINDS_LEFT = {
    "augmented_assignment": "left", "for_statement": "left", "for_in_clause": "left", "named_expression": "name",
    "default_parameter": "name", "typed_default_parameter": "name",
}  # fmt: skip
_BINDS = frozenset(
    {
        *_BINDS_LEFT, "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "dictionary_splat_pattern",
        "as_pattern_target", "global_statement", "nonlocal_statement", "parameters", "lambda_parameters",
        "typed_parameter", "dotted_name", "aliased_import", "delete_statement", "function_definition",
        "class_definition", "case_pattern",
    }
)  # fmt: skip
"""Where a name stands that gets its value in another way than by a plain assignment."""


def _option(node: Node) -> str:
    """The name of the option whose value a node is, as it is or as a path; empty for anything else."""
    if node.type == "call" and _last(text_of(node.child_by_field_name("function"))) in _AS_PATH:
        holder = node.child_by_field_name("arguments")
        parts = holder.named_children if holder is not None else []
        return _option(parts[0]) if len(parts) == 1 and parts[0].type != "call" else ""
    if node.type == "attribute":
        return text_of(node.child_by_field_name("attribute"))
    if node.type == "subscript":
        keys = node.children_by_field_name("subscript")
        return text_of(keys[0]).strip("\"'") if len(keys) == 1 and keys[0].type == "string" else ""
    if node.type == "call" and text_of(node.child_by_field_name("function")).endswith(".get"):
        holder = node.child_by_field_name("arguments")
        parts = holder.named_children if holder is not None else []
        given = len(parts) == 1 or (len(parts) == 2 and text_of(parts[1]).lower() in _OFF)
        return text_of(parts[0]).strip("\"'") if given and parts[0].type == "string" else ""
    return ""


def _is_parameter(word: str, function: Node) -> bool:
    """Whether a name of a function is a parameter that nothing in it gives another value."""
    return _bindings(function).get(word) == [None] and any(word == name for name, _ in _parameters(function))


@lru_cache(maxsize=32)
def _parameters(function: Node) -> tuple[tuple[str, Node | None], ...]:
    """The parameters of a function in their order, each with its default; those behind `*` have no place."""
    holder = function.child_by_field_name("parameters")
    found: list[tuple[str, Node | None]] = []
    for one in holder.named_children if holder is not None else ():
        if one.type in {"default_parameter", "typed_default_parameter"}:
            found.append((text_of(one.child_by_field_name("name")), one.child_by_field_name("value")))
        elif one.type == "typed_parameter" and one.named_children:
            found.append((text_of(one.named_children[0]), None))
        elif one.type != "comment":
            found.append((text_of(one), None))
    return tuple(found)


def _given_to(names: frozenset[str], function: Node, call: Node, program: _Program) -> frozenset[str] | None:
    """What is surely given where a call runs a function in which these names are, its parameters among them; None where
    the call gives one of those nothing, so that it does not come there."""
    found = {name for name in names if name[0] != "\0"}
    for marked in names - found:
        value = _argument(marked[1:], function, call)
        if value is None:
            continue
        more = _comes_from(value, program)
        if more is None:
            return None
        found |= more
    return frozenset(found)


def _argument(word: str, function: Node, call: Node) -> Node | None:
    """What a call gives a parameter, be it by its default; None where that is not seen."""
    holder = call.child_by_field_name("arguments")
    above = function.parent
    if holder is None or holder.type != "argument_list" or above is None or above.type == "decorated_definition":
        return None
    given = [one for one in holder.named_children if one.type != "comment"]
    if any(one.type in {"list_splat", "dictionary_splat"} for one in given):
        return None
    by_name = {text_of(one.child_by_field_name("name")): one for one in given if one.type == "keyword_argument"}
    if word in by_name:
        return by_name[word].child_by_field_name("value")
    parameters = _parameters(function)
    place = next(number for number, (name, _) in enumerate(parameters) if name == word)
    placed = [one for one in given if one.type != "keyword_argument"]
    at = place - (parameters[0][0] in {"self", "cls"})
    if any(name.startswith("*") for name, _ in parameters[:place]):
        at = len(placed)
    return placed[at] if at < len(placed) else parameters[place][1]


def _comes_from(value: Node, program: _Program) -> frozenset[str] | None:
    """`_named`, and what a function of the program asks for before it gives something; None for what is nothing."""
    if text_of(value).lower() in _OFF:
        return None
    names = _named(value)
    last = _last(text_of(value.child_by_field_name("function"))) if value.type == "call" else ""
    function = program.function(last) if last else None
    if function is None:
        return names
    found: list[frozenset[str]] = []
    waiting = [function.child_by_field_name("body")]
    while waiting:
        node = waiting.pop()
        if node is None or node.type in FUNCTIONS:
            continue
        waiting.extend(node.named_children)
        if (
            node.type == "return_statement"
            and node.named_children
            and text_of(node.named_children[0]).lower() not in _OFF
        ):
            asked, at = _named(node.named_children[0]), node
            while at.parent is not None and at != function:
                asked |= _given_here(at, at.parent)
                at = at.parent
            found.append(asked)
    if not found:
        return names
    more = _given_to(frozenset.intersection(*found), function, value, program)
    return None if more is None else names | more


def _seen(names: frozenset[str]) -> frozenset[str]:
    """Without the parameters of a function that is called in a way that is not seen."""
    return frozenset(name for name in names if name[0] != "\0")


def _ways(
    node: Node,
    tree: _Tree,
    program: _Program,
    depth: int,
    seen: frozenset[tuple[str, int]],
    names: frozenset[str] = frozenset(),
) -> Iterator[frozenset[str]]:
    """The ways on which a call runs before the program trains: what is surely given on each, `names` among it."""
    while node.parent is not None and node.type not in FUNCTIONS:
        parent = node.parent
        if _is_main_test(parent) and not tree.is_script and _is(node, parent, "consequence"):
            return
        if parent.type not in {"if_statement", "conditional_expression"} and _trains_before(node, parent):
            return
        names |= _given_here(node, parent)
        node = parent
    if node.type == "lambda" or node.parent is None or depth >= DEEPEST:
        yield _seen(names)
        return
    name, owner = text_of(node.child_by_field_name("name")), _class_of(node)
    key = (name, node.start_byte)
    if key in seen:
        return
    unseen = name.startswith("__") and name != "__init__"
    if name == "__init__":
        name, owner = owner, ""
    callers: list[tuple[Node, _Tree]] = []
    called = [(name, one) for one in program.with_word(name)] if name and not unseen else []
    for other in sorted({other for _, one in called for other in one.stand_for.get(name, ())}) if owner else ():
        called.extend((other, one) for one in program.with_word(other))
    for word, one in called:
        found = one.callers(word, owner, elsewhere=one is not tree)
        if found is None:
            unseen = True
            break
        callers.extend((call, one) for call in found)
    if unseen or not name or len(callers) > MOST_CALLERS:
        yield _seen(names)
        return
    if not callers:
        if name == "main" or _may_be_called_unseen(node, name, program):
            yield _seen(names)
        return
    for call, one in callers:
        given = _given_to(names, node, call, program)
        if given is not None:
            yield from _ways(call, one, program, depth + 1, seen | {key}, given)


def _may_be_called_unseen(function: Node, name: str, program: _Program) -> bool:
    """A decorated function, or the method of a class that is built on one of a library, which may know it."""
    above = function.parent
    if above is not None and above.type == "decorated_definition":
        if any(one.type == "decorator" and text_of(one) not in _CALL_NOTHING for one in above.named_children):
            return True
        above = above.parent
    while above is not None and above.type == "block":
        above = above.parent
    if above is None:
        return True
    if above.type != "class_definition" or above.child_by_field_name("superclasses") is None:
        return False
    if name in _OF_MODULES:
        return True
    waiting, seen = {text_of(above.child_by_field_name("name"))}, set(_KNOW_NO_METHODS)
    while waiting:
        one = waiting.pop()
        seen.add(one)
        bases = program.bases(one)
        if bases is None or len(seen) > _MOST_BASES:
            return True
        waiting |= bases - seen
    return False


def _class_of(function: Node) -> str:
    above = function.parent
    while above is not None and above.type in {"block", "decorated_definition"}:
        above = above.parent
    in_class = above is not None and above.type == "class_definition"
    return text_of(above.child_by_field_name("name")) if in_class and above is not None else ""


def _is_main_test(node: Node) -> bool:
    return node.type == "if_statement" and "__main__" in text_of(node.child_by_field_name("condition"))


class _Block(Struct):
    """What matters of the statements of one block for those behind them."""

    trains_from: float = inf
    """Where the first one that trains begins."""
    leaving: list[tuple[int, Node]] = field(default_factory=list)
    """The conditions under which it is left, with the place of each, as far as so many are looked at."""


@lru_cache(maxsize=64)  # one read of a checkpoint after the other stands in the same blocks
def _block(parent: Node) -> _Block:
    found = _Block()
    for one in parent.named_children:
        if one.type in {"function_definition", "class_definition", "decorated_definition", "comment"}:
            continue
        if found.trains_from == inf and _TRAINS.search(text_of(one)):
            found.trains_from = one.start_byte
        if one.type == "if_statement" and len(found.leaving) < _MOST_LEAVING:
            condition = one.child_by_field_name("condition")
            if condition is not None and _leaves(one.child_by_field_name("consequence")):
                found.leaving.append((one.start_byte, condition))
    return found


def _trains_before(node: Node, parent: Node) -> bool:
    """Whether the part of a block that goes before a statement trains."""
    return _block(parent).trains_from < node.start_byte


def _given_here(node: Node, parent: Node, *, follow: bool = True) -> frozenset[str]:
    """The options that are surely given where a node stands in its parent."""
    names: frozenset[str] = frozenset()
    if parent.type == "if_statement":
        condition = parent.child_by_field_name("condition")
        if _is(node, parent, "consequence"):
            names |= _asked(condition, follow=follow)
        elif node.type == "else_clause":
            names |= _denied(condition, follow=follow)
    elif parent.type == "conditional_expression" and parent.named_child_count == 3:
        parts = parent.named_children
        if parts[0] == node:
            names |= _asked(parts[1], follow=follow)
    elif parent.type in {"block", "module"}:
        for start, condition in _block(parent).leaving:
            if start >= node.start_byte:
                break
            names |= _denied(condition, follow=follow)
    return names


def _is(node: Node, parent: Node, name: str) -> bool:
    return parent.child_by_field_name(name) == node


def _leaves(block: Node | None) -> bool:
    last = block.named_children[-1] if block is not None and block.named_children else None
    return last is not None and last.type in {"return_statement", "raise_statement"}


def _asked(condition: Node | None, *, follow: bool = True) -> frozenset[str]:
    """The options that are surely given where a condition holds."""
    if condition is None:
        return frozenset()
    parts = condition.named_children
    kind = condition.type
    if kind == "parenthesized_expression" and parts:
        return _asked(parts[0], follow=follow)
    if kind == "boolean_operator":
        both = text_of(condition.child_by_field_name("operator")) == "and"
        asked = [_asked(part, follow=follow) for part in parts]
        return frozenset(chain.from_iterable(asked)) if both else frozenset.intersection(*asked)
    if kind == "comparison_operator" and len(parts) == 2 and text_of(condition).endswith(_EMPTY):
        return _asked(parts[0], follow=follow)
    if kind == "call" and text_of(condition.child_by_field_name("function")).rpartition(".")[2] in _EXISTS:
        holder = condition.child_by_field_name("arguments")
        return (
            _named(holder.named_children[0], follow=follow)
            if holder is not None and holder.named_children
            else frozenset()
        )
    return _named(condition, follow=follow)


_AS_PATH = frozenset({"Path", "str", "fspath", "expanduser", "abspath", "realpath"})
_EXISTS = frozenset({"exists", "isfile", "isdir", "is_file", "bool", "len", "str"})


def _denied(condition: Node | None, *, follow: bool = True) -> frozenset[str]:
    """The options that are surely given where a condition does not hold."""
    if condition is None:
        return frozenset()
    parts = condition.named_children
    if condition.type == "parenthesized_expression" and parts:
        return _denied(parts[0], follow=follow)
    if condition.type == "not_operator" and parts:
        return _asked(parts[0], follow=follow)
    if condition.type == "boolean_operator" and text_of(condition.child_by_field_name("operator")) == "or":
        return frozenset(chain.from_iterable(_denied(part, follow=follow) for part in parts))
    if condition.type == "comparison_operator" and text_of(condition).endswith((" is None", " == None", ' == ""')):
        return _asked(parts[0], follow=follow)
    return frozenset()


def _last(function: str) -> str:
    return function.rpartition(".")[2]
