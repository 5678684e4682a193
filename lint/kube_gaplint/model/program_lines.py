"""What a program saves and reads back, by the lines of its text: in which loops, and under which conditions.

Lines and their indentation are enough to be sure of a yes, and modules that are read only for this need no grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from kube_gaplint import lazy_re

_LOOP = lazy_re.compile(r"(?:async\s+)?(?:for|while)\b")
_TEST = lazy_re.compile(r"(?:if|elif)\b(?P<condition>[^:#]{1,300}):")
_SCOPE = lazy_re.compile(r"(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")
CHECKPOINT_WORD = lazy_re.compile(r"(?i:save|checkpoint|ckpt)")
_CALL = lazy_re.compile(r"(?P<callee>[\w.\[\]\"']*?\w*(?:save|checkpoint|ckpt)\w*)\(", re.IGNORECASE)
_NO_SAVE = lazy_re.compile(
    r"(?i:load|from_|resume|restore|find|get_|latest|last_|is_|has_|should|activation|gradient|wrapper|enable|list_|"
    r"parse|path|dir|name|callback|config|delete|remove|clean|prune|print|log_|savefig|savez|savetxt)"
    r"|\Acheckpoint\Z"
)
"""Names that speak of checkpoints and write none; a plain `checkpoint(…)` computes activations anew."""
_OTHER_FILES = lazy_re.compile(r"(?i:np|numpy|omegaconf|plt|image|img|tokenizer|processor|wandb|json|fig)\Z")
"""Whose `save` writes no checkpoint."""
_SURELY_SAVES = lazy_re.compile(
    r"\b_?save_(?:checkpoint|ckpt|state|model|weights|training|snapshot)\w*\("
    r"|\b(?:checkpointer|checkpoint_manager|ckpt_manager)\.save\(|\bdcp\.(?:async_)?save\("
    r"|\btorch\.save\([^#]*(?:state_dict|optim)"
)
_OPENS_A_SAVE = lazy_re.compile(r"\btorch\.save\([ \t]*(?:\{|dict\()?[ \t]*$", re.MULTILINE)
_STATE = lazy_re.compile(r"state_dict|optim")
_MOST_LINES = 6
"""Lines in which a call that begins in one of them tells what it saves."""
_ONLY_IF_ASKED = lazy_re.compile(
    r"\b(?:save_(?:model|models|checkpoints?|ckpts?|intermediate\w*|state|weights)|intermediate_checkpoints|do_save|"
    r"do_checkpoint|enable_checkpoint\w*|checkpointing_enabled)\b(?!\()"
)
"""A switch in a condition: whether it is on is another question."""
_RESTORES = lazy_re.compile(
    r"\b(?:load_state_dict|load_state|load_checkpoint|load_ckpt|load_optimizer\w*|load_snapshot|restore\w*|resume\w*|"
    r"from_checkpoint|set_(?:optimizer_)?state_dict|(?:dcp|checkpointer|checkpoint_manager|ckpt_manager)\.load)\("
)
_RESTORING = lazy_re.compile(r"(?i:load|restore|resume|from_)")
"""In the name of a function that is there to read something back: what it does counts where it is called."""
READS_BY_ITSELF = (
    # SpeechBrain: fit() recovers the newest checkpoint of its checkpointer (speechbrain/core.py:728-747 @9c826ef3).
    "recover_if_possible", ".Brain)", "(Brain)", ".Brain,", "(Brain,",
    # TensorFlow 1: Estimators and the Supervisor read the newest one in model_dir or logdir.
    "tf.estimator.", "train.Supervisor(", "slim.learning.train(",
)  # fmt: skip
"""Words of what reads the newest checkpoint when it begins to train, with no word of that in the program."""
READS_BACK = (
    *READS_BY_ITSELF, "load_state", "load_checkpoint", "load_ckpt", "load_snapshot", "torch.load(", "restore", "resume",
    "from_checkpoint", "set_state_dict", "set_optimizer_state_dict", "dcp.load", "load_model", "load_weights",
    "load_from", "loader.load(", "checkpointer.load",
)  # fmt: skip
"""Words without any of which a program reads no checkpoint."""
_KERAS = lazy_re.compile(r"^[ \t]*(?:from|import)[ \t]+(?:keras|keras_core|tensorflow)\b", re.MULTILINE)
_KERAS_FITS = lazy_re.compile(r"\.fit(?:_generator)?\(")
_KERAS_SAVES = lazy_re.compile(r"(?<![\w.])(?:[\w.]*\bcallbacks\.)?ModelCheckpoint\(")
_METHOD = lazy_re.compile(r"^[ \t]+(?:async[ \t]+)?def[ \t]+(?P<name>_?save\w*)\(\s*self\b", re.MULTILINE)
_OF_AN_OBJECT = lazy_re.compile(r"(?<![\w.])(?P<owner>(?:\w+\.)*\w+)\.(?P<name>_?save\w*)\(")
_OTHER_OBJECTS = lazy_re.compile(
    r"(?i)\A(?:torch|th|paddle|jnp|joblib)\Z|video|record|imag|img|fig|plot|log|buffer|replay|memory|data|conf|cfg|"
    r"writ|metric|result|stat|token|process"
)
"""In the name of an object: what it saves is no checkpoint, whatever a class of the program saves."""
_OF_TRAINING = lazy_re.compile(
    r"(?i)while\b|\brange\(|epoch|step|iter|episode|update|round|loader|batch|trange\(|generation|tqdm\("
)
"""What a loop goes over in which a training goes on; one over the agents saves each of them, whenever that is."""
_DOES_NOTHING = lazy_re.compile(r"(?:pass\Z|\.\.\.\Z|raise\b|[\"'])")
_MOST_TEXT = 1_000_000


class _Line(Struct, frozen=True):
    """A line of code, without the test that it begins with; the function that it stands in, the heads of the loops of
    that function that it stands in, and the conditions that it stands under."""

    text: str
    function: str
    loops: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def looped(self) -> bool:
        return bool(self.loops)


def decides_on_saves(texts: Iterable[str], name: str) -> bool:
    """Whether a program saves in its loops under the switch `name`, and in none without it. A switch for the result
    alone, which is written when the training is over, is none for checkpoints."""
    found = False
    for text in texts:
        if "save" not in text and "checkpoint" not in text and "ckpt" not in text:
            continue
        under, besides = _saves(text, name)
        if besides:
            return False
        found = found or under
    return found


def saves_in_a_loop(texts: Iterable[str]) -> bool:
    """Whether a program surely saves while it trains, by a loop of its own and under no switch, be it by a method that
    one of its classes has for it."""
    own = tuple(texts)
    return any(map(_saves_in_a_loop, own)) or _saves_by_its_method(own)


def trained_by_keras(text: str) -> bool:
    """Whether a text lets Keras train, which goes on with nothing unless it is told to."""
    return "keras" in text and lazy_re.found_in(text, _KERAS) and lazy_re.found_in(text, _KERAS_FITS)


def saved_by_keras(text: str) -> bool:
    """Whether a text lets Keras train and save while it does, under no condition."""
    if len(text) > _MOST_TEXT or not trained_by_keras(text) or _KERAS_SAVES.search(text) is None:
        return False
    return any(_KERAS_SAVES.search(line.text) is not None and not line.conditions for line in _lines(text))


def restores_only_if(texts: Iterable[str], name: str) -> bool:
    """Whether a program reads a checkpoint back, and only where a condition speaks of the option `name`."""
    found = False
    for text in texts:
        under, besides = _restores(text, name)
        if besides:
            return False
        found = found or under
    return found


@lru_cache(maxsize=512)  # the programs of a repository import the same modules
def _saves(text: str, name: str) -> tuple[bool, bool]:
    """Whether a text saves in a loop under the switch, and whether it saves in a loop without it."""
    if len(text) > _MOST_TEXT:
        return False, True
    asked = _asking(name)
    denied = re.compile(
        rf"\bnot\s+[\w.\[\]\"'()]*{re.escape(name)}|{re.escape(name)}\W*\s*(?:==|is)\s*(?:False|None|not)"
    )
    under = False
    for line in _lines(text):
        for call in _CALL.finditer(line.text):
            if not line.looped or not writes_checkpoint(call["callee"]):
                continue
            if not any(asked.search(one) and not denied.search(one) for one in line.conditions):
                return under, True
            under = True
    return under, False


@lru_cache(maxsize=512)
def _saves_in_a_loop(text: str) -> bool:
    if len(text) > _MOST_TEXT or (_SURELY_SAVES.search(text) is None and _OPENS_A_SAVE.search(text) is None):
        return False
    return any(line.looped for line in _saving_lines(text))


def _saving_lines(text: str) -> Iterator[_Line]:
    """The lines that surely save and stand under no switch; of a call over several lines, the first one."""
    opened, left = None, 0
    for line in _lines(text):
        saves = line if _SURELY_SAVES.search(line.text) is not None else None
        if opened is not None:
            saves = opened if _STATE.search(line.text) is not None else saves
            left -= 1
        if saves is not None or not left:
            opened = None
        if _OPENS_A_SAVE.search(line.text) is not None:
            opened, left = line, _MOST_LINES
        if saves is not None and not any(map(_ONLY_IF_ASKED.search, saves.conditions)):
            yield saves


def _saves_by_its_method(texts: tuple[str, ...]) -> bool:
    """Whether a loop calls a method (`runner.save()`) of which each class of the program that has one saves by it."""
    found: set[str] = set()
    others: set[str] = set()
    for text in texts:
        saving, besides = _methods(text)
        found |= saving
        others |= besides
    names = frozenset(found - others)
    return bool(names) and any(_calls_in_a_loop(text, names) for text in texts if "save" in text)


@lru_cache(maxsize=512)
def _methods(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The methods of a text that by their names save something: those that save a checkpoint under no switch, and
    those that do another thing. One that does nothing is there for others to replace."""
    if ("def save" not in text and "def _save" not in text) or len(text) > _MOST_TEXT:
        return frozenset(), frozenset()
    named = {found["name"] for found in _METHOD.finditer(text)}
    if not named:
        return frozenset(), frozenset()
    saving = {line.function for line in _saving_lines(text)} & named
    others = {line.function for line in _lines(text) if _DOES_NOTHING.match(line.text) is None} & named
    return frozenset(saving), frozenset(others - saving)


@lru_cache(maxsize=512)
def _calls_in_a_loop(text: str, names: frozenset[str]) -> bool:
    if len(text) > _MOST_TEXT or not any(f".{name}(" in text for name in names):
        return False
    return any(
        call["name"] in names and _OTHER_OBJECTS.search(call["owner"].rpartition(".")[2]) is None
        for line in _lines(text)
        if any(map(_OF_TRAINING.search, line.loops)) and not any(map(_ONLY_IF_ASKED.search, line.conditions))
        for call in _OF_AN_OBJECT.finditer(line.text)
    )


@lru_cache(maxsize=512)
def _restores(text: str, name: str) -> tuple[bool, bool]:
    """Whether a text reads a checkpoint back under a condition on the option, and whether it does so without."""
    if len(text) > _MOST_TEXT:
        return False, True
    if _RESTORES.search(text) is None:
        return False, False
    asked = _asking(name)
    under = False
    for line in _lines(text):
        if _RESTORES.search(line.text) is None or _RESTORING.search(line.function):
            continue
        if not any(map(asked.search, line.conditions)):
            return under, True
        under = True
    return under, False


def _asking(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def writes_checkpoint(callee: str) -> bool:
    """Whether what is called (`self.save_checkpoint`, `torch.save`) writes a checkpoint, by its name."""
    owner, _, last = callee.rpartition(".")
    if CHECKPOINT_WORD.search(last) is None or _NO_SAVE.search(last) is not None:
        return False
    return _OTHER_FILES.search(owner.rpartition(".")[2]) is None


def _lines(text: str) -> Iterator[_Line]:
    blocks: list[tuple[int, str, str]] = []
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line[0] in "#)]}":
            continue
        indent = len(raw) - len(raw.lstrip())
        while blocks and blocks[-1][0] >= indent:
            blocks.pop()
        scope, test = _SCOPE.match(line), _TEST.match(line)
        if scope is not None:
            blocks.append((indent, "scope", scope["name"]))
            continue
        if test is not None:
            blocks.append((indent, "test", test["condition"]))
            line = line[test.end() :]
        elif _LOOP.match(line):
            blocks.append((indent, "loop", line))
        at = next((number for number in range(len(blocks) - 1, -1, -1) if blocks[number][1] == "scope"), -1)
        inside = blocks[at + 1 :]
        yield _Line(
            line,
            blocks[at][2] if at >= 0 else "",
            tuple(one for _, kind, one in inside if kind == "loop"),
            tuple(one for _, kind, one in inside if kind == "test"),
        )
