"""Well-known data sets: how many samples they have, and which are so small that a run over one lasts minutes.

Sources: torchvision's documentation gives MNIST and FashionMNIST 60,000 training images of 28 × 28 pixels, CIFAR10 and
CIFAR100 50,000 of 32 × 32. One GPU takes thousands of them a second. GSM8K: 7,473 training problems (its card on the
Hub, docs/examples/gsm8k_example.rst of verl). Geometry3K: 2,101 (Lu et al., Inter-GPS, table 1). SAMSum: 14,732
dialogues (Gliwa et al., table 1). WikiText-2: 2.1 million tokens (Merity et al., table 1), of which a GPU takes tens of
thousands a second in models of up to 8 billion parameters; WikiText-103 has fifty times as many. hymenoptera_data, the
ants and bees of PyTorch's tutorial on transfer learning: 244 training pictures. The tables that scikit-learn loads or
makes have up to 20,640 rows (its user guide, "Toy datasets" and California housing). Tiny Shakespeare: 1.1 million
characters; nanoGPT's README trains its model of them in about 3 minutes on one A100.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kube_gaplint import lazy_re

# Part of a name, and the epochs up to which a run surely lasts less than an hour on one GPU.
TOYS = {
    "mnist": 50, "cifar": 10, "hymenoptera": 100, "wikitext-2": 10, "wikitext2": 10, "sklearn": 100, "shakespeare": 10,
}  # fmt: skip
"""A run of unknown length over most of them is short as well: examples train for 1 to 25 epochs, or 3 over texts."""
SHORT_BY_NAME = frozenset({"mnist", "hymenoptera", "wikitext-2", "wikitext2", "sklearn", "shakespeare"})

_SOURCE = lazy_re.compile(
    r"\b(?:(?:load_dataset|load_from_disk|tfds\.load|WebDataset|ImageNet|CocoDetection|VOCDetection|read_csv"
    r"|read_parquet|memmap)\(\s{0,99}(?:(?:path|name)=)?(?:[\"'](?P<name>[^\"'\n]{0,200}))?"
    r"(?:[\"'],\s{0,99}(?:name=)?[\"'](?P<part>[^\"'\n]{0,200}))?"
    r"|(?P<class>\w{0,40}(?:MNIST|CIFAR)\w{0,40})\(|(?P<keras>mnist|fashion_mnist|cifar10|cifar100)\.load_data\("
    r"|(?P<tables>sklearn)\.datasets[ \t]{1,9}import[ \t]{1,9}(?:load_|make_|fetch_california)"
    r"|(?P<archive>hymenoptera)_data\b|(?P<folder>ImageFolder)\("
    r"|class[ \t]{1,9}(?P<own>\w{1,80})\([^()\n]{0,200}Dataset\b)"
)
"""What a program takes its training data from: a loader with the name that it is told (and that of a part of the set,
`load_dataset("wikitext", "wikitext-2-raw-v1")`), torchvision's class or Keras'
module of a set, a folder with the contents of a known archive or of something else, a class of its own."""


TRAINING_SAMPLES = {"gsm8k": 7_473, "geometry3k": 2_101, "geo3k": 2_101, "samsum": 14_732}
"""Samples of the training split, by the name of the set."""
_SAME = frozenset({
    "train", "training", "data", "dataset", "main", "socratic", "openai", "hiyouga", "processed", "multiturn", "multi",
    "turn", "w", "with", "tool", "sft", "rl", "rlhf", "verl", "parquet", "json", "jsonl",
})  # fmt: skip
"""Words beside that name that leave the number as it is. Others (`gsm8k_aug`) may stand for many times as many."""
_WORDS = lazy_re.compile(r"[a-z0-9]+")


def most_samples(name: str) -> int | None:
    """Samples of the training set that a path or a name on the Hub speaks of (`…/gsm8k/train.parquet`, `openai/gsm8k`).

    The set is named by the last part of it or by the folder of that. None where it is not known, or is one of several.
    """
    if "," in name:
        return None
    for part in reversed(name.lower().split("/")[-2:]):
        words = {word.group() for word in _WORDS.finditer(part)}
        named = [TRAINING_SAMPLES[word] for word in words if word in TRAINING_SAMPLES]
        if named:
            return named[0] if len(named) == 1 and words <= _SAME | TRAINING_SAMPLES.keys() else None
        if not words <= _SAME:
            return None
    return None


def toy(name: str) -> str:
    """The small data set that a name speaks of (`fashion_mnist.py`, `uoft-cs/cifar10`); empty where it names none."""
    lowered = name.lower()
    return next((part for part in TOYS if part in lowered), "")


_FOLDER = "a folder"


@lru_cache(maxsize=1024)  # the programs of a repository import the same modules
def _sources(text: str) -> frozenset[str]:
    """What a text takes data from: names of small sets, empty for any other set, `_FOLDER`."""
    found = set[str]()
    for match in _SOURCE.finditer(text):
        if match["folder"]:
            found.add(_FOLDER)
        elif f"def {match[0].partition('(')[0]}(" not in text:  # else a function of its own
            words = (
                match["name"] and f"{match['name']}/{match['part'] or ''}",
                match["class"],
                match["keras"],
                match["tables"],
                match["archive"],
                match["own"],
            )
            found.add(toy(next((word for word in words if word), "")))
    return frozenset(found)


def toy_in(texts: Iterable[str]) -> str:
    """The small data set that a program's text trains on; empty where it names none, or may take other data as well."""
    found = {name for text in texts for name in _sources(text)}
    folders = _FOLDER in found
    found.discard(_FOLDER)
    if "sklearn" in found:
        found.discard("")  # a class of its own takes its tables from there
    only = found.pop() if len(found) == 1 else ""
    return "" if folders and only != "hymenoptera" else only
