"""Data sets so small that a program named after one trains for minutes.

Sources: torchvision's documentation gives MNIST and FashionMNIST 60,000 training images of 28 × 28 pixels, CIFAR10 and
CIFAR100 50,000 of 32 × 32. One GPU takes thousands of them a second.
"""

from __future__ import annotations

# Part of a name, and the epochs up to which a run surely lasts less than an hour on one GPU.
TOYS = {"mnist": 50, "cifar": 10}
"""A run of unknown length over the first kind is short as well: its examples train for 1 to 20 epochs."""
SHORT_BY_NAME = frozenset({"mnist"})


def toy(name: str) -> str:
    """The small data set that a name speaks of (`fashion_mnist.py`, `uoft-cs/cifar10`); empty where it names none."""
    lowered = name.lower()
    return next((part for part in TOYS if part in lowered), "")
