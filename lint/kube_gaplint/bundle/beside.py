# ruff: noqa: PTH118, PTH122
# Paths are strings here, as everywhere in the bundle.
"""READMEs, scripts (of Windows too), makefiles, variables and Terraform beside a file and in the folders around it:
people write there how they submit a script and how they make the cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from kube_gaplint import disk, lazy_re
from kube_gaplint.discover import FileId, read_file
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import PlacedText, Source, WholeText

_LEVELS = 3
"""Folders searched: the file's own and two around it (`submit.sh`, `slurm/train/run.sbatch`)."""
_LARGEST = 2**18
_MOST_FILES = 60
_ENDINGS = frozenset(
    {".md", ".rst", ".txt", ".sh", ".bash", ".bat", ".cmd", ".ps1", ".tf", ".tfvars", ".conf", ".env", ".example"}
)
_NAMES = frozenset({"README", "Makefile", "makefile", "justfile", "Justfile"})
_TERRAFORM_FOLDER = lazy_re.compile(r"(?i)(?:.*[-_.])?(?:terraform|tf|infra|infrastructure)(?:[-_.].*)?")
"""Folders beside others that hold Terraform: it is kept apart from the manifests."""
_MARKS = (
    b"sbatch", b"SBATCH_", b"create configmap", b"create cm",
    b"node-pools", b"nodegroup", b"nodepool", b"machine_type", b"instance_type", b"vm_size",
    b"xlarge", b"gpu-", b"-standard-", b"tandard_N", b"tandard_n", b".GPU", b" GPUs",
)  # fmt: skip
"""A text without any of these says nothing that is looked for."""


class BesideFiles(Struct):
    """Each folder is listed and each file read once."""

    _folders: dict[str, list[str]] = field(default_factory=dict)
    _texts: dict[str, PlacedText | None] = field(default_factory=dict)

    def around(self, file: FileId) -> Iterator[tuple[int, PlacedText]]:
        """The texts around a file, nearest first, with the number of the folder: 1 for the file's own."""
        for level, folder in enumerate(islice(file.folders(), _LEVELS), 1):
            for path in self._listing(folder):
                text = self._read(path, file) if path != file.path else None
                if text is not None:
                    yield level, text

    def _listing(self, folder: str) -> list[str]:
        if folder not in self._folders:
            names = [
                name
                for name in disk.file_names(folder)
                if name in _NAMES or os.path.splitext(name)[1].lower() in _ENDINGS
            ]
            for inside in filter(_TERRAFORM_FOLDER.fullmatch, disk.folder_names(folder)):
                below = disk.file_names(os.path.join(folder, inside))
                names += [os.path.join(inside, name) for name in below if name.endswith((".tf", ".tfvars"))]
            self._folders[folder] = [os.path.join(folder, name) for name in names[:_MOST_FILES]]
        return self._folders[folder]

    def _read(self, path: str, near: FileId) -> PlacedText | None:
        if path not in self._texts:
            file = near.toward(path)
            data = None if file is None else read_file(file)
            self._texts[path] = None
            if file is not None and data is not None and len(data) <= _LARGEST and any(mark in data for mark in _MARKS):
                with contextlib.suppress(Unreadable):
                    self._texts[path] = WholeText(Source(file.shown, decode(data)))
        return self._texts[path]
