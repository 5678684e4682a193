"""The image of a container, where its Dockerfile lies in the repository: what it copies there, and what it installs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kube_gaplint import lazy_re
from kube_gaplint.bundle.recipes import Recipe
from kube_gaplint.kinds.context import Context
from kube_gaplint.launch.shared import module_files
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Set, Setting, Unknown
from kube_gaplint.text.source import PlacedText

if TYPE_CHECKING:
    from kube_gaplint.launch.dockerfile import Built

_FILE = lazy_re.compile(r"[\w./-]+\.(?:py|sh)\b")
_MODULE = lazy_re.compile(r"-m[ ]([A-Za-z_][\w.]*\.[\w.]+)")
_MOST_FILES = 20


class OwnImage:
    """Finds the Dockerfile of one container's image when it is first asked.

    It is the one that the image's name tells, or else those around the manifest that copy a file to where the container
    starts it. `words` are the container's command and arguments.
    """

    def __init__(self, image: Setting[str], context: Context, working_dir: str, words: Sequence[Word]) -> None:
        self._reference = image.value if isinstance(image, Set) else image.prefix if isinstance(image, Unknown) else ""
        self._context = context
        self._working_dir = working_dir
        self._words = words
        self._found: list[Recipe] | None = None

    def recipe(self, image: str) -> Recipe | None:
        """The Dockerfile of this image, or of another one that is started inside."""
        if image != self._reference:
            return self._context.bundle.recipes_near(self._context.object.file)(image)
        found = self._recipes()
        return found[0] if len(found) == 1 else None

    def files(self, path: str) -> PlacedText | None:
        """A file by its path in the image."""
        found = self._recipes()
        if not found:
            return None
        from kube_gaplint.launch.dockerfile import image_files

        return image_files(found)(path)

    def variables(self) -> Mapping[str, Setting[str]]:
        """What the Dockerfile's ENV sets; those on which several that may be meant do not agree are unknown."""
        images = [image.variables for image in self._images() if image is not None]
        out: dict[str, Setting[str]] = {}
        for name, value in ((name, value) for image in images for name, value in image.items()):
            same = all(_value(image.get(name)) == _value(value) for image in images)
            out[name] = value if same else Unknown("the Dockerfiles around it do not agree", value.origin)
        return out

    def packages(self) -> frozenset[str]:
        """The packages that its Dockerfile surely installs by pip, as they are written there; of several that may be
        meant those of all."""
        from kube_gaplint.model.start import asked_of_pip

        images = self._images()
        each = [
            frozenset[str]().union(
                *(
                    asked_of_pip(command, image.files) or ()
                    for command in image.commands
                    if command.certainty == "always" and not command.fallback
                )
            )
            for image in images
            if image is not None
        ]
        return frozenset.intersection(*each) if each and len(each) == len(images) else frozenset()

    def folders(self) -> tuple[str, ...]:
        """Every folder in which its container may start; none where that is not known."""
        found = {"" if image is None else image.folder for image in self._images()}
        return () if "" in found else tuple(sorted(found))

    def starts(self) -> tuple[str, ...]:
        """The words that the image itself starts with, where the manifest gives no command; none where the Dockerfile
        is not known or has no entry point."""
        images = self._images()
        image = images[0] if len(images) == 1 else None
        return () if image is None or not image.entry else (*image.entry, *image.arguments)

    def _images(self) -> list[Built | None]:
        """What each Dockerfile that may be meant builds; None for one that cannot be read."""
        found = self._recipes()
        if not found:
            return []
        from kube_gaplint.launch.dockerfile import built

        return [built(recipe) for recipe in found]

    def _recipes(self) -> list[Recipe]:
        if self._found is None:
            self._found = self._search()
        return self._found

    def _search(self) -> list[Recipe]:
        bundle, file = self._context.bundle, self._context.object.file
        named = bundle.recipes_near(file)(self._reference)
        if named is not None and self._holds_program(named):
            return [named]
        from kube_gaplint.facts.images import is_published

        if named is None and is_published(self._reference):
            return []  # a release of somebody else's
        around = bundle.recipes_for(self._reference, file)
        return list(filter(self._holds_program, around)) or ([] if named is None else [named])

    def _holds_program(self, recipe: Recipe) -> bool:
        """Whether a Dockerfile copies a file to where the container starts it."""
        from kube_gaplint.launch.dockerfile import image_files

        holds = image_files([recipe])
        return any(holds(path) is not None for path in self._program_paths)

    @cached_property
    def _program_paths(self) -> list[str]:
        """Where the files that the container starts may lie in its image."""
        return [posixpath.join(self._working_dir, path) for path in _started(self._words)]


def _value(setting: Setting[str] | None) -> str | None:
    return setting.value if isinstance(setting, Set) else None


def _started(words: Sequence[Word]) -> Iterator[str]:
    """Paths that may be those of programs and scripts."""
    text = " ".join(word.shown if word.placed is None else word.placed.text for word in words)
    for found in [*_FILE.finditer(text)][:_MOST_FILES]:
        yield found[0]
    for found in [*_MODULE.finditer(text)][:_MOST_FILES]:
        yield from module_files(found[1])
