"""Entries are read back as they were written, or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from caching import Runner
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.cache.entry import Damaged, Entry, decoded, encoded
from kube_gaplint.trace import SEEN

KEY = bytes(range(16))
PATHS = st.text(st.characters(exclude_characters="\0", codec=None), min_size=1)  # lone surrogates are names, too
ENTRIES = st.builds(
    lambda **fields: Entry(seen=bytes(len(fields["paths"]) * SEEN.size), **fields),
    begun=st.integers(0, 2**62),
    code=st.sampled_from([0, 1, 3]),
    day=st.sampled_from(["", "2027-03-31"]),
    paths=st.lists(PATHS, max_size=4),
    answers=st.lists(
        st.tuples(st.sampled_from(["real", "type"]), PATHS, st.integers(-9, 9), PATHS | st.just("")), max_size=4
    ),
    said=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=20)), max_size=3),
)


def _fields(entry: Entry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in Entry.__slots__}


@given(ENTRIES)
def test_what_is_written_is_read(entry: Entry) -> None:
    assert _fields(decoded(encoded(entry, KEY), KEY)) == _fields(entry)


@given(ENTRIES, st.data())
def test_any_damage_is_noticed(entry: Entry, data: st.DataObject) -> None:
    written = bytearray(encoded(entry, KEY))
    at = data.draw(st.integers(0, len(written) - 1))
    cut = data.draw(st.booleans())
    if cut:
        del written[at:]
    else:
        written[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Damaged):
        decoded(bytes(written), KEY)


@given(ENTRIES, st.binary(min_size=1, max_size=3))
def test_nothing_may_follow(entry: Entry, more: bytes) -> None:
    with pytest.raises(Damaged):
        decoded(encoded(entry, KEY) + more, KEY)


@given(st.binary(max_size=200))
def test_noise_is_no_entry(data: bytes) -> None:
    with pytest.raises(Damaged):
        decoded(data, KEY)


@given(ENTRIES)
def test_an_entry_is_good_for_its_key_alone(entry: Entry) -> None:
    with pytest.raises(Damaged):
        decoded(encoded(entry, KEY), bytes(16))


@pytest.mark.parametrize("damage", ["empty", "half", "bit", "other"])
def test_a_damaged_file_is_passed_over_and_replaced(run: Runner, damage: str) -> None:
    run()
    run("--quiet")
    written = {entry: entry.read_bytes() for entry in run.entries}
    for entry, text in written.items():
        data = bytearray(text)
        if damage == "empty":
            data.clear()
        elif damage == "half":
            del data[len(data) // 2 :]
        elif damage == "bit":
            data[len(data) // 2] ^= 4
        else:
            data[:] = next(written[other] for other in written if other != entry)
        entry.write_bytes(data)
    assert not run.repeats()
    assert run.repeats()


def test_a_damaged_digest_of_the_code_is_made_anew(run: Runner) -> None:
    run()
    for path in run.home.glob("*.code"):
        path.write_bytes(bytes(32))
    assert run.repeats()


def test_entries_of_parallel_runs_are_whole(tmp_path: Path) -> None:
    from kube_gaplint.cache.shelf import Shelf

    folder = str(tmp_path / "cache")
    texts = [bytes([number]) * 200_000 for number in range(4)]
    read: list[bytes] = []

    def work(text: bytes) -> None:
        with Shelf(folder, make=True) as shelf:
            for _ in range(25):
                assert shelf.put("aa.run", text)
                found = shelf.get("aa.run")
                if found is not None:
                    read.append(found)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read
    assert set(read) <= set(texts)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["CACHEDIR.TAG", "aa.run"]
