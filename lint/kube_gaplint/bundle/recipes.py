# ruff: noqa: PTH118, PTH119, PTH120
# Paths are strings here, as everywhere in the bundle.
"""The Dockerfile that an image in a manifest is built from, where it lies in the same repository.

Scripts of a cluster name images that a registry's table cannot know (`/shared/trainer.sqsh`,
`${REGISTRY}/trainer:v1`), and the Dockerfile beside them says what is in. It is found by its name, or where it is the
only one in the nearest folder that has any and the image is surely nobody else's.

A Dockerfile in a folder beside the manifest's may be another project's, whose program has the same name as the job's
(`train.py`). It counts where the image or the folders tie the two together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from msgspec import Struct, field

from kube_gaplint import disk, lazy_re
from kube_gaplint.discover import FileId, is_batch_script, read_file, within
from kube_gaplint.facts.candidates import SCRIPT_ENDINGS, SHELL_ENDINGS, YAML_ENDINGS
from kube_gaplint.facts.images import is_image_file, parse_reference
from kube_gaplint.text.source import Files, PlacedText, Source, WholeText

Recipes: TypeAlias = "Callable[[str], Recipe | None]"
"""The recipe of an image by its reference; unknown parts of the reference stand in it as `${…}`."""

_LEVELS = 3
"""Folders searched: the manifest's own and two around it (`job/slurm/run.sbatch`, `job/Dockerfile`)."""
_LARGEST = 2**18
_MOST_CANDIDATES = 6
_FEW_FOLDERS = 12
_FOLDERS_FOR_THEM = ("docker", "dockerfiles", "containers", "container", "build", "images", "image")
_PARTS_OF_A_PROJECT = frozenset(
    {*_FOLDERS_FOR_THEM, "ai", "app", "apps", "artifacts", "code", "core", "jobs", "llm", "ml", "model", "models",
     "package", "program", "project", "pytorch", "python", "scripts", "source", "src", "torch", "trainer", "trainers",
     "workload", "workloads"}
)  # fmt: skip
"""Words in the names of folders that say no more than that programs or images are in there."""
_MANIFESTS = (*YAML_ENDINGS, *SCRIPT_ENDINGS, *SHELL_ENDINGS)
_MOST_MANIFESTS = 40
_STARTS_PODS = lazy_re.compile(
    rb"""(?m)^\s*kind[ \t]*:[ \t]*["']?(?:\w*Job|JobSet|Deployment|StatefulSet|DaemonSet|ReplicaSet|Pod|\w*Workflow"""
    rb"""|WorkflowTemplate|RayCluster|RayService|LeaderWorkerSet|InferenceService)["']?[ \t]*\r?$"""
)
_NAME = lazy_re.needing(
    ("dockerfile", "containerfile"),
    r"(?:(?P<before>.+)\.)?(?:docker|container)file(?:\.(?P<after>.+))?\Z",
    re.IGNORECASE,
)
_FILLER = frozenset(
    {"aws", "image", "img", "container", "docker", "gpu", "cuda", "training", "train", "base", "latest"}
)


class Recipe(Struct, frozen=True, eq=False):
    """A Dockerfile: one object for each file. `files` gives the text of a file of its build context by its path."""

    text: PlacedText
    files: Files


class RecipeBook(Struct):
    """Finds Dockerfiles; each folder is listed and each file read once.

    `source_of` makes a source of a file's bytes, `files_near` gives the look-up of the files beside one.
    """

    source_of: Callable[[FileId, bytes], Source | None]
    files_near: Callable[[FileId], Files]
    _folders: dict[str, list[tuple[str, frozenset[str]]]] = field(default_factory=dict)
    _inner: dict[str, list[str]] = field(default_factory=dict)
    _recipes: dict[str, Recipe | None] = field(default_factory=dict)
    _with_jobs: dict[str, bool] = field(default_factory=dict)

    def near(self, image: str, file: FileId) -> Recipe | None:
        """The recipe of an image that a manifest in `file` names; None where none is surely it."""
        for folder in islice(file.folders(), _LEVELS):
            found = self._listing(folder)
            if found:
                path = _chosen(found, words_of_image(image), alone=is_own(image))
                return None if path is None else self._recipe(path, file)
        return None

    def around(self, image: str, file: FileId) -> list[Recipe]:
        """The Dockerfiles of which one may be that of an image that a manifest in `file` names: those in the nearest
        folder around it that has any, or has a folder for them."""
        for folder in islice(file.folders(), _LEVELS):
            below = [(path, words) for path, words in self._below(folder) if self._tied(path, words, image, file)]
            own = [] if _is_built_inside(image, folder, file) else self._listing(folder)
            found = [*own, *below]
            if found:
                recipes = (self._recipe(path, file) for path, _ in found[:_MOST_CANDIDATES])
                return [recipe for recipe in recipes if recipe is not None]
        return []

    def _tied(self, path: str, words: frozenset[str], image: str, file: FileId) -> bool:
        """Whether a Dockerfile below a folder around the manifest may belong to its job: its folder is no project with
        jobs of its own, and the image's name is to be filled in, or is that of the repository, or the folder's name
        says nothing. An image that shares a word with the Dockerfile is built there in any case, and one that shares
        none with it but one with a folder of the manifest's is not."""
        folder, told = os.path.dirname(path), words_of_image(image)
        if told & words:
            return True
        if self._has_jobs(folder):
            return False
        if within(folder, file.folder):
            return True
        if _is_built_inside(image, os.path.dirname(folder), file):
            return False
        return is_own(image) or words <= _PARTS_OF_A_PROJECT or bool(told & _words(file.repository))

    def _has_jobs(self, folder: str) -> bool:
        """Whether manifests of pods or batch scripts lie in a folder or in those directly below it."""
        if folder not in self._with_jobs:
            inner = (os.path.join(folder, name) for name in disk.folder_names(folder))
            paths = (
                os.path.join(one, name)
                for one in (folder, *inner)
                for name in disk.file_names(one)
                if name.endswith(_MANIFESTS)
            )
            self._with_jobs[folder] = any(map(_starts_something, islice(paths, _MOST_MANIFESTS)))
        return self._with_jobs[folder]

    def _below(self, folder: str) -> list[tuple[str, frozenset[str]]]:
        """Dockerfiles in the folders below: all of them where they are few, else those that are there for them."""
        if folder not in self._inner:
            inner = disk.folder_names(folder)
            few = len(inner) <= _FEW_FOLDERS
            self._inner[folder] = [name for name in inner if few or name in _FOLDERS_FOR_THEM]
        return [found for name in self._inner[folder] for found in self._listing(os.path.join(folder, name))]

    def _listing(self, folder: str) -> list[tuple[str, frozenset[str]]]:
        if folder not in self._folders:
            names = [name for name in disk.file_names(folder, links=True) if _NAME.match(name)]
            self._folders[folder] = [(os.path.join(folder, name), _words_of_recipe(name, folder)) for name in names]
        return self._folders[folder]

    def _recipe(self, path: str, near: FileId) -> Recipe | None:
        file = near.toward(path)
        if file is None:
            return None
        if file.path not in self._recipes:
            data = read_file(file)
            source = None if data is None or len(data) > _LARGEST else self.source_of(file, data)
            self._recipes[file.path] = None if source is None else Recipe(WholeText(source), self.files_near(file))
        return self._recipes[file.path]


def _is_built_inside(image: str, folder: str, file: FileId) -> bool:
    """Whether an image is called like a folder between one around the manifest and the manifest itself, and not like
    that folder or the repository: what is there is a project of its own."""
    told = words_of_image(image)
    outer = _words(os.path.basename(folder)) | _words(file.repository)
    return bool(told & _words(os.path.relpath(file.folder, folder))) and not told & outer


def _starts_something(path: str) -> bool:
    try:
        data = disk.read(path, _LARGEST)
    except (OSError, disk.Refused):
        return False
    return _STARTS_PODS.search(data) is not None or is_batch_script(data)


def is_own(image: str) -> bool:
    """Whether an image is surely built by the people who wrote the manifest: a file, or in a registry to be filled
    in (an image that is not known at all is an empty text). A finished reference (`team/trainer:v2`) may be
    anybody's."""
    return not image or is_image_file(image) or image.startswith(("$", "{{", "<"))


def words_of_image(image: str) -> frozenset[str]:
    """The words of an image's own name: `${REGISTRY}aws-trainer:v1` and `/shared/aws-trainer.sqsh` give `trainer`."""
    repository = parse_reference(re.sub(r"\$\{[^}]*\}", "", image)).repository
    return _words(repository.rpartition("/")[2])


def _words_of_recipe(name: str, folder: str) -> frozenset[str]:
    found = _NAME.match(name)
    own = _words(" ".join(part for part in (found["before"], found["after"]) if part)) if found else frozenset()
    return own or _words(os.path.basename(folder))


def _words(name: str) -> frozenset[str]:
    words = {word for word in re.split(r"[^a-z0-9]+", name.lower()) if word and not word.isdigit()}
    return frozenset(words - _FILLER)


def _chosen(found: list[tuple[str, frozenset[str]]], wanted: frozenset[str], *, alone: bool) -> str | None:
    same = [path for path, words in found if words and words == wanted]
    if len(same) == 1:
        return same[0]
    if len(found) == 1 and alone and not same:
        return found[0][0]
    return None
