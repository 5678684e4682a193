"""The inputs that fuzzing begins with: the fixtures, cut into documents, and the scripts within them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

from mutate import LONGEST

ROOT = Path(__file__).resolve().parents[2]
SEPARATOR = b"\n%%%%\n"
"""Between the files of one kustomization."""
CRASHES = ROOT / "tests" / "hostile" / "crashes"

_OWN = Path(__file__).resolve().parent / "kustomizations"
_YAML = (".yaml", ".yml", ".json")
_SHELL = (".sh", ".sbatch", ".slurm")
_DOCUMENT = re.compile(rb"^---[ \t]*\r?\n", re.M)
_BLOCK = re.compile(rb"^( *)[^\n#]*:? ?[|>][+-]?[ \t]*\n((?:\1 +[^\n]*\n|[ \t]*\n)+)", re.M)


@cache
def _files(*endings: str) -> tuple[bytes, ...]:
    found = (path for path in sorted((ROOT / "fixtures").rglob("*")) if path.suffix in endings and path.is_file())
    return tuple(path.read_bytes() for path in found)


def _parts(data: bytes) -> Iterator[bytes]:
    yield from (data,) if len(data) <= LONGEST else (part for part in _DOCUMENT.split(data) if len(part) <= LONGEST)


@cache
def manifests() -> tuple[bytes, ...]:
    return tuple(part for data in _files(*_YAML) for part in _parts(data))


@cache
def scripts() -> tuple[bytes, ...]:
    """Shell: batch scripts, and what stands in block scalars."""
    inner = [
        re.sub(rb"(?m)^ {%d}" % (len(match[2]) - len(match[2].lstrip(b" "))), b"", match[2])
        for data in _files(*_YAML)
        for match in _BLOCK.finditer(data)
    ]
    return tuple(text for text in (*_files(*_SHELL), *inner) if len(text) <= LONGEST)


@cache
def batch() -> tuple[bytes, ...]:
    return tuple(text for text in _files(*_SHELL) if len(text) <= LONGEST)


@cache
def programs() -> tuple[bytes, ...]:
    """Python: files, and heredocs or `-c` strings are found in scripts by the mutations."""
    inline = (text for text in scripts() if b"import " in text)
    return (*_files(".py"), *inline)


@cache
def _own() -> tuple[bytes, ...]:
    """Kustomizations that use what no fixture does."""
    return tuple(path.read_bytes() for path in sorted(_OWN.glob("*.txt")))


@cache
def pairs() -> tuple[bytes, ...]:
    """Two documents: an object, and a patch of it."""
    out = []
    operations = (_OWN / "operations.yaml").read_bytes()
    for joined in _own():
        _, base, *others = joined.split(SEPARATOR)
        out.extend(base + b"\n---\n" + other for other in (*others, base, operations))
    for data in _files(*_YAML):
        parts = [part for part in _DOCUMENT.split(data) if part.strip()]
        out.extend(b"---\n".join(two) for two in pairwise(parts) if len(two[0]) + len(two[1]) < LONGEST)
    return tuple(out)


@cache
def kustomizations() -> tuple[bytes, ...]:
    """A kustomization and the files that it names, joined as the target `kustomize` splits them."""
    found = []
    for path in sorted((ROOT / "fixtures").rglob("kustomization.y*ml")):
        others = [other for other in sorted(path.parent.iterdir()) if other.suffix in _YAML and other != path]
        joined = SEPARATOR.join([path.read_bytes(), *(other.read_bytes() for other in others)])
        if len(joined) <= LONGEST:
            found.append(joined)
    return (*found, *_own())
