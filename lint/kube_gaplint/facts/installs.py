"""Programs that bring software from a network into a running container: installers, and git.

One row a program and the words that follow it. Sources: each program's own manual.
"""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint import lazy_re


class Installer(Struct, frozen=True):
    """A call that fetches. `words` follow the program, options left out.

    `targets`: "packages" are looked up in an index; "requirements" stand in a file; "remote" is a repository;
    "any": it always fetches.
    """

    programs: tuple[str, ...]
    words: tuple[str, ...]
    title: str
    source: str
    targets: str = "packages"
    locks: tuple[str, ...] = ()
    """Files that fix every release where they are there: beside them the program installs the same each time."""


PYPI = "PyPI"

INSTALLERS: tuple[Installer, ...] = (
    Installer(("pip", "pip3"), ("install",), "pip install", PYPI),
    Installer(("pip", "pip3"), ("download",), "pip download", PYPI),
    Installer(("uv",), ("pip", "install"), "uv pip install", PYPI),
    Installer(("uv",), ("pip", "sync"), "uv pip sync", PYPI, "any"),
    Installer(("uv",), ("sync",), "uv sync", PYPI, "any", ("uv.lock",)),
    Installer(("uv",), ("add",), "uv add", PYPI),
    Installer(("poetry", "pdm"), ("install",), "poetry install", PYPI, "any", ("poetry.lock", "pdm.lock")),
    Installer(("pipenv",), ("install",), "pipenv install", PYPI, "any"),
    Installer(("pipenv",), ("sync",), "pipenv sync", PYPI, "any", ("Pipfile.lock",)),
    Installer(("conda", "mamba", "micromamba"), ("install",), "conda install", "the conda channels"),
    Installer(("conda", "mamba", "micromamba"), ("create",), "conda create", "the conda channels", "any"),
    Installer(("conda", "mamba", "micromamba"), ("env", "create"), "conda env create", "the conda channels", "any"),
    Installer(("conda", "mamba", "micromamba"), ("env", "update"), "conda env update", "the conda channels", "any"),
    Installer(("apt-get", "apt", "aptitude"), ("install",), "apt-get install", "the distribution's mirrors"),
    Installer(("apt-get", "apt"), ("upgrade",), "apt-get upgrade", "the distribution's mirrors", "any"),
    Installer(("dnf", "dnf5", "yum", "microdnf", "tdnf"), ("install",), "dnf install", "the distribution's mirrors"),
    Installer(("zypper",), ("install",), "zypper install", "the distribution's mirrors"),
    Installer(("zypper",), ("in",), "zypper install", "the distribution's mirrors"),
    Installer(("apk",), ("add",), "apk add", "the distribution's mirrors"),
    Installer(("git",), ("clone",), "git clone", "the Git server", "remote"),
    Installer(("git",), ("pull",), "git pull", "the Git server", "any"),
    Installer(("git",), ("fetch",), "git fetch", "the Git server", "any"),
    Installer(("git",), ("submodule", "update"), "git submodule update", "the Git server", "any"),
)


class ImageInstaller(Struct, frozen=True):
    """An image whose entry point fetches, if one of these options or variables says what."""

    image: str
    asks: tuple[str, ...]
    pins: tuple[str, ...]
    """Options and variables that choose a state of it."""
    installer: Installer


IMAGE_INSTALLERS = (
    # kubernetes/git-sync README, v3 and v4
    ImageInstaller(
        "git-sync",
        ("--repo", "-repo", "GITSYNC_REPO", "GIT_SYNC_REPO"),
        ("--ref", "-ref", "--rev", "-rev", "GITSYNC_REF", "GIT_SYNC_REV"),
        Installer((), (), "git-sync", "the Git server", "remote"),
    ),
)
ARCHIVE = Installer((), (), "the archive of a branch", "the Git server", "remote")
BRANCH_ARCHIVE = lazy_re.compile(
    r"https?://(?:www\.)?(?:github|gitlab|bitbucket)\.[\w.]+/[^?#]{1,400}?/(?:-/)?(?:archive|zipball|get)/"
    r"(?:refs/heads/)?(?P<state>[^?#]{1,400}?)(?:\.zip|\.tar\.gz)?"
)
"""The address of an archive of a repository at a state of it (GitHub's, GitLab's and Bitbucket's documentation)."""
_RELEASED = lazy_re.compile(r"[0-9a-f]{7,64}|v?\d+(\.\d+)+\S*|refs/tags/\S+")


def is_fixed_state(name: str) -> bool:
    """Whether a revision is a commit or a release, and not a branch that moves."""
    return _RELEASED.fullmatch(name) is not None


VALUED = frozenset({
    "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links",
    "--prefix", "--target", "-t", "--root", "--python", "-p", "--cache-dir", "--proxy", "--timeout", "--retries",
    "--trusted-host", "-o", "--option", "--config-file", "--target-release", "-C", "-b", "--branch", "--depth",
    "--reference", "-n", "--name", "--channel", "--file", "-X", "--repository", "--enablerepo", "--disablerepo",
    "--config-settings", "--no-binary", "--only-binary", "--progress-bar", "--jobs", "-j", "--log", "--build",
    "--upgrade-strategy", "--platform", "--group", "--directory", "--project", "--installroot", "--releasever",
})  # fmt: skip
"""Options that take the next word, besides those of requirement files."""

REQUIREMENT_OPTIONS = frozenset({"-r", "--requirement", "--requirements"})
EDITABLE_OPTIONS = frozenset({"-e", "--editable"})
ALONE_OPTIONS = frozenset({"--no-deps", "--no-build-isolation"})
"""With these a project's folder is taken as it is. Without them pip and uv fetch what builds it, each time, and what it
depends on and is not there (pip's reference, build system interface)."""
OFFLINE_OPTIONS = frozenset({"--no-index", "--offline", "--no-download", "--cacheonly", "-C0", "--no-network"})
INDEX_OPTIONS = ("-i", "--index-url", "--index", "--default-index")
INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
OFFLINE_VARIABLES = ("PIP_NO_INDEX", "UV_OFFLINE", "CONDA_OFFLINE")

_PUBLIC = lazy_re.compile(
    r"(.*\.)?(pypi\.org|pythonhosted\.org|python\.org|pytorch\.org|nvidia\.com|anaconda\.(org|com)|github\.(com|io)|"
    r"huggingface\.co|tuna\.tsinghua\.edu\.cn|aliyun\.com|ustc\.edu\.cn|douban\.com|tencent(yun)?\.com|"
    r"huaweicloud\.com|163\.com|vllm\.ai|flashinfer\.ai)"
)
"""Hosts that serve everybody."""


def is_internal(url: str) -> bool:
    """Whether an index is somebody's own: a host that is none of the public ones, or a folder."""
    from urllib.parse import urlsplit

    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    return not host or _PUBLIC.fullmatch(host) is None


def is_project(target: str) -> bool:
    """Whether a local target is the folder of a project, which is built first: no wheel, archive or other file."""
    path = target.split("[", 1)[0].removeprefix("file:").rstrip("/")
    return is_local(target) and "." not in path.rpartition("/")[2].strip(".")


def is_local(target: str) -> bool:
    """Whether a package or repository stands in the file system: a path, a wheel, a `file:` address."""
    return target.startswith((".", "/", "~", "file:")) or target.split("[", 1)[0].endswith((".whl", ".deb", ".rpm"))
