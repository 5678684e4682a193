"""Where the cache lies, and whom it trusts."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from caching import Runner

from kube_gaplint.cache import place, shelf
from kube_gaplint.cache.shelf import Shelf, Unusable

IS_ROOT = os.geteuid() == 0
NOBODY = 65534


def test_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    for name in ("XDG_CACHE_HOME", place.FOLDER):
        monkeypatch.delenv(name, raising=False)
    assert place.folder() == "/home/someone/.cache/gaplint"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert place.folder() == "/home/someone/.cache/gaplint"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/someone")
    assert place.folder() == "/var/cache/someone/gaplint"
    monkeypatch.setenv(place.FOLDER, "/fast/gaplint")
    assert place.folder() == "/fast/gaplint"


def test_no_home_and_no_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", place.FOLDER, place.OFF):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "nowhere")
    assert place.folder() == ""
    assert "no home" in place.why_not(place.folder())
    assert "no absolute path" in place.why_not("cache")


@pytest.mark.parametrize(
    ("inside", "why"),
    [(".git/..", "git work tree"), ("a/b", "git work tree")],
)
def test_never_in_a_git_work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, why: str) -> None:
    monkeypatch.delenv(place.OFF)
    (tmp_path / ".git").mkdir()
    assert why in place.why_not(str(tmp_path / inside / "gaplint"))


def test_never_in_what_is_linted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(place.OFF)
    (tmp_path / "linted").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("linted")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert not place.why_not(str(tmp_path / "gaplint"))
    assert "is linted" in place.why_not(str(tmp_path / "elsewhere" / "gaplint"))
    assert "is linted" in place.why_not(str(tmp_path / "linted" / "gaplint"), ["../linted"])
    assert "is linted" in place.why_not(str(tmp_path / "link" / "gaplint"), ["--format", "json", "../linted"])
    assert not place.why_not(str(tmp_path / "linted2" / "gaplint"), ["../linted"])


def test_a_cache_that_comes_with_the_repository_is_not_believed(run: Runner) -> None:
    """Whoever opens a pull request could put an entry there that says that all is well."""
    run()
    (run.folder / ".git").mkdir()
    run.home.rename(run.folder / "cache")
    run.home = run.folder / "cache"
    kept = {path: path.read_bytes() for path in run.home.iterdir()}
    os.environ[place.FOLDER] = str(run.home)  # the fixture takes it back
    before = run.runs
    run()
    run()
    assert run.runs == before + 2
    assert {path: path.read_bytes() for path in run.home.iterdir()} == kept


def test_it_is_private(run: Runner) -> None:
    run()
    assert run.home.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in run.home.iterdir())
    assert (run.home / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to(run: Runner, mode: int) -> None:
    run()
    run.home.chmod(mode)
    assert not run.repeats()
    run.home.chmod(0o755)
    assert run.repeats()


def test_a_folder_that_is_a_link(run: Runner) -> None:
    run()
    run.home.rename(run.home.with_name("real"))
    run.home.symlink_to("real")
    assert not run.repeats()
    with pytest.raises(Unusable, match="symbolic link"):
        Shelf(str(run.home))


def test_a_folder_that_is_a_file(run: Runner) -> None:
    run.home.write_bytes(b"mine")
    assert not run.repeats()
    assert run.home.read_bytes() == b"mine"


def test_an_entry_that_is_a_link(run: Runner) -> None:
    run()
    (entry,) = run.entries
    entry.rename(run.home.parent / "moved")
    entry.symlink_to(run.home.parent / "moved")
    assert not run.repeats()
    assert not entry.is_symlink()  # the link was replaced, not followed
    assert run.repeats()


def test_a_pipe_for_an_entry(run: Runner) -> None:
    run()
    (entry,) = run.entries
    entry.unlink()
    os.mkfifo(entry)
    assert not run.repeats()


@pytest.mark.skipif(not IS_ROOT, reason="takes the right to give files away")
def test_what_belongs_to_another_user(run: Runner) -> None:
    run()
    (entry,) = run.entries
    os.chown(entry, NOBODY, -1)
    assert not run.repeats()
    os.chown(run.home, NOBODY, -1)
    assert not run.repeats()
    with pytest.raises(Unusable, match="another user"):
        Shelf(str(run.home))


def test_a_home_that_is_not_there_is_not_made(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(place.FOLDER)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert not run.repeats()
    assert not (tmp_path / "nobody").exists()
    (tmp_path / "nobody").mkdir()
    run()
    assert (tmp_path / "nobody" / ".cache" / "gaplint").is_dir()
    assert run.repeats()


def test_a_folder_that_cannot_be_written(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    original = os.open

    def read_only(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return original(path, flags, *rest, **more)

    monkeypatch.setattr(shelf.os, "open", read_only)
    assert run.repeats()
    assert not run.repeats("--quiet")
    assert not run.repeats("--quiet")


def test_no_room_is_no_error(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shelf.os, "write", full)
    assert not run.repeats()
    assert not run.repeats()
    assert not [path for path in run.home.iterdir() if path.name != "CACHEDIR.TAG"]


def test_what_was_used_longest_ago_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Shelf(str(tmp_path / "cache"), make=True) as kept:
        now = time.time()
        for number in range(3):
            name = f"{number:032x}.run"
            assert kept.put(name, bytes(1000))
            os.utime(tmp_path / "cache" / name, (now - 100 + number,) * 2)
        monkeypatch.setattr(shelf, "MOST_BYTES", 2500)
        assert kept.put(f"{7:032x}.run", b"")
        assert [one.name for one in kept.stored()] == [f"{number:032x}.run" for number in (1, 2, 7)]


def test_what_is_not_used_goes_and_what_is_used_stays(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with Shelf(str(folder), make=True) as kept:
        for name in ("aa.run", "bb.run"):
            kept.put(name, b"x")
            os.utime(folder / name, (1_000_000, 1_000_000))
        (folder / "aa.run.1.00.new").write_bytes(b"of a run that was ended")
        os.utime(folder / "aa.run.1.00.new", (1_000_000, 1_000_000))
        (folder / "mine.txt").write_text("not ours")
        os.utime(folder / "mine.txt", (1_000_000, 1_000_000))
        assert kept.get("bb.run") == b"x"
        kept.put("cc.run", b"y")
        assert {one.name for one in kept.stored()} == {"bb.run", "cc.run"}
    assert sorted(path.name for path in folder.iterdir()) == ["CACHEDIR.TAG", "bb.run", "cc.run", "mine.txt"]


def test_what_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "LARGEST", 10)
    with Shelf(str(tmp_path / "cache"), make=True) as kept:
        assert not kept.put("aa.run", bytes(11))
        assert kept.put("aa.run", bytes(10))
        (tmp_path / "cache" / "bb.run").write_bytes(bytes(11))
        assert kept.get("bb.run") is None


def test_the_command_tells_and_clears(run: Runner) -> None:
    assert b"holds   0 files" in run("cache").out
    assert not run.home.exists()
    run()
    said = run("cache")
    assert said.code == 0
    assert f"folder  {run.home}\n".encode() in said.out
    assert b"used    yes\n" in said.out
    (run.home / "mine.txt").write_text("not ours")
    assert run("cache", "clear").out.startswith(b"removed ")
    assert [path.name for path in run.home.iterdir()] == ["mine.txt"]
    (run.home / "mine.txt").unlink()
    run()
    run("cache", "clear")
    assert not run.home.exists()
    assert run("cache", "clear").out == b"removed 0 files, 0.0 MiB\n"


def test_the_command_says_why_it_is_not_used(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    run.home.chmod(0o777)
    assert b"used    no: others may write to it" in run("cache").out
    run.home.chmod(0o700)
    monkeypatch.setenv(place.OFF, "1")
    assert b"used    no: GAPLINT_NO_CACHE is set" in run("cache").out
    assert b"is not one of show, clear" in run("cache", "remove").errors
