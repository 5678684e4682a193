"""What a finding is about."""

from __future__ import annotations

from msgspec import Struct


class Subject(Struct, frozen=True):
    """The object that a finding belongs to. `kind` is `sbatch` for a batch script, `file` for a file as such.

    `name` is the object's name, or what stands for it (a job name); empty where nothing names it.
    """

    kind: str
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    container: str = ""

    def in_container(self, container: str) -> Subject:
        return Subject(self.kind, self.api_version, self.namespace, self.name, container)
