# SPDX-License-Identifier: Apache-2.0
"""YAML of others: whatever it holds, it is read as PyYAML reads it or refused with its place, in bounded time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from itertools import product

import pytest
import yaml
from helpers.wide import table

from rbd_dynamics.common.safe_yaml import LARGE, SMALL, Bounds, YamlError, read_file, read_text
from rbd_dynamics.constraints import load_constraints
from rbd_dynamics.model import ModelError, load_yaml
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.recording_files import parts_of


def laughs(entry: str) -> str:
    """Nine lists, each nine times the one before."""
    names = "abcdefghij"
    first = f"a: &a {entry}\n"
    return first + "".join(
        f"{now}: &{now} {'[' if entry[0] == '[' else '{<<: ['}{','.join([f'*{before}'] * 9)}"
        f"{']' if entry[0] == '[' else ']}'}\n"
        for before, now in zip(names, names[1:])
    )


HOSTILE = {
    "brackets": ("[" * 30_000, "inside each other at line 1"),
    "braces": ("{a: " * 30_000, "inside each other"),
    "dashes": ("- " * 3_000, "inside each other"),
    "questions": ("? " * 3_000, "inside each other"),
    "closed brackets": ("a:\n  " + "[" * 15_000 + "]" * 15_000, "inside each other at line 2"),
    "aliases": (laughs("[x, x, x, x, x, x, x, x, x]"), "aliases included at line"),
    "merges": (laughs("{x: 1, y: 2}"), "aliases included at line"),
    "an alias of itself": ("a: &a [*a]\n", "alias 'a' contains itself at line 1, column 8"),
    "a merge of itself": ("a: &a {<<: *a}\n", "alias 'a' contains itself"),
    "an unknown alias": ("a: *b\n", "undefined alias 'b' at line 1"),
    "many values": ("[" + "1," * 500_000 + "]", "values"),
    "many keys": ("\n".join(f"k{k}: 1" for k in range(250_000)), "values"),
    "base 60": ("a: 1" + ":1" * 500_000 + "\n", "too long for a number at line 1"),
    "base 60 with a point": ("a: 1" + ":1" * 500_000 + ".5\n", "too long for a number"),
    "base 16": ("a: 0x" + "1" * 500_000 + "\n", "too long for a number"),
    "base 10": ("a: " + "1" * 500_000 + "\n", "too long for a number"),
    "directives": ("".join(f"%TAG !a{k}! x\n" for k in range(100_000)) + "--- a\n", "directives"),
    "documents": ("--- a\n" * 100_000, "another document at line 2"),
    "a call": ("a: !!python/object/apply:os.system [ls]\n", "tag .*os.system.* is not taken at line 1"),
    "a set": ("a: !!set {b, c}\n", "tag .*set.* is not taken"),
    "a tag of one's own": ("a: 1\nb: !mine 3\n", "tag '!mine' is not taken at line 2"),
    "no date": ("a: 2001-13-45\n", "2001-13-45.*month.* at line 1"),
    "a key twice": ("a: 1\nb: 2\na: 3\n", "key 'a' is given twice at line 3, column 1"),
    "an inner key twice": ("a: [{b: 1,\n  b: 1}]\n", "key 'b' is given twice at line 2"),
    "a list for a key": ("? [a]\n: 1\n", "a key must be a text at line 1"),
    "a zero byte": ("a: 1\nb: \0\n", "line 2"),
    "half a character": ("a: \ud800\n", "surrogates"),
    "too long": ("# " + "x" * LARGE.size + "\na: 1\n", "too long"),
    "not closed": ("a: [1, 2\n", "line 2"),
}


#: seconds for each reader, which stops at the same number of them
SLOW = ("many values", "many keys")


@pytest.mark.parametrize(
    ("size", "name"),
    table(product(["small", "large"], HOSTILE), lambda case: case[0] == "small" or case[1] not in SLOW),
)
def test_hostile_texts_are_refused_with_what_is_wrong_and_where(size, name):
    bounds, (text, reason) = {"small": SMALL, "large": LARGE}[size], HOSTILE[name]
    reason = "too long|" + reason if len(text) > bounds.size else reason
    with pytest.raises(YamlError, match=f"^arm.yaml .*({reason})") as caught:
        read_text(text, "arm.yaml", bounds)
    assert len(str(caught.value)) < 500


def test_hostile_texts_take_little_memory_and_a_bounded_time():
    """Each in a process that may have 1 GB and 60 s of the processor: far more than needed, far less than they took."""
    code = (
        "import resource, sys\n"
        "import test_safe_yaml as t\n"
        "for text, _ in t.HOSTILE.values():\n"
        "    try:\n"
        "        t.read_text(text, 'x', t.LARGE)\n"
        "    except t.YamlError:\n"
        "        continue\n"
        "    sys.exit(3)\n"
    )

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))

    here = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, preexec_fn=limits, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]


@pytest.mark.parametrize("name", table(HOSTILE, lambda name: name not in SLOW))
def test_every_reader_refuses_them_as_it_refuses_other_faults(name, tmp_path):
    text = HOSTILE[name][0]
    if name == "half a character":
        content = b"a: \xed\xa0\x80\n"
    else:
        content = text.encode()
    with pytest.raises(ModelError):
        load_yaml(text + "\n")
    with pytest.raises(ValueError, match="^constraints"):
        load_constraints(text + "\n", None)
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "metadata.yaml").write_bytes(content)
    (bag / "a.mcap").write_bytes(b"\x89MCAP0\r\n")
    assert [file.name for file in parts_of(bag, Log()).files] == ["a.mcap"]
    for read in (load_yaml, lambda path: load_constraints(path, None)):
        with pytest.raises(ValueError, match="metadata.yaml"):
            read(bag / "metadata.yaml")


PLAIN = """
format: "text"
numbers: [1, -2.5, 1.0e-3, .inf, 0x10, 1_000, 1:30]
truths: {on: yes, off: no}
nothing: ~
block: |
  two
  lines
nested: [[1, [2, [3]]], {a: {b: {c: [d]}}}]
pose: &pose {xyz: [0, 0, 1], rpy: [0, 0, 0]}
again: *pose
moved: {<<: *pose, xyz: [1, 0, 0]}
"""


def test_plain_texts_are_read_as_pyyaml_reads_them():
    expected = yaml.safe_load(PLAIN)
    expected["truths"] = {"on": True, "off": False}  # keys stay as they are written
    assert read_text(PLAIN, "x", SMALL) == expected
    assert read_text("", "x", SMALL) is None
    assert read_text("\ufeffa: 1", "x", SMALL) == {"a": 1}


def test_keys_are_the_texts_that_are_written():
    found = read_text("1: a\ntrue: b\n~: c\n2001-01-01: d\n1e3: e\n", "x", SMALL)
    assert found == {"1": "a", "true": "b", "~": "c", "2001-01-01": "d", "1e3": "e"}


def test_merged_keys_are_no_repeated_ones():
    text = "z: &z {x: 0}\na: {k: &m {<<: *z, x: 1}}\nb: {<<: *m, x: 2}\nc: {<<: [*m, *z]}\n"
    assert read_text(text, "x", SMALL) == yaml.safe_load(text)


def test_time_grows_with_the_length_and_no_faster():
    """Counted in calls of Python functions, which do not depend on what else the machine does."""

    def calls(text: str) -> int:
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            read_text(text, "x", LARGE)
        finally:
            sys.setprofile(None)
        return count

    for line in ("k{0}: 1\n", "- [a, b]\n", "- &a{0} [b]\n", "k{0}: {{a: 1, b: 2}}\n"):
        one, four = (calls("".join(line.format(k) for k in range(n))) for n in (1000, 4000))
        assert four < 4.5 * one


def test_bounds_are_exact():
    bounds = Bounds(size=100, values=5, depth=3)
    assert read_text("[1, 2, 3, 4]", "x", bounds) == [1, 2, 3, 4]
    with pytest.raises(YamlError, match="more than 5 values"):
        read_text("[1, 2, 3, 4, 5]", "x", bounds)
    assert read_text("[[1]]", "x", bounds) == [[1]]
    with pytest.raises(YamlError, match="more than 3 lists"):
        read_text("[[[1]]]", "x", bounds)
    assert read_text("#" * 100, "x", bounds) is None
    for text in ("#" * 101, "#" + "\u00e9" * 50):
        with pytest.raises(YamlError, match="too long: more than 100 bytes"):
            read_text(text, "x", bounds)


def test_files_without_end_are_not_read_to_it(tmp_path):
    with pytest.raises(YamlError, match="too long"):
        read_file("/dev/zero", "file /dev/zero", SMALL)
    with pytest.raises(YamlError, match="cannot be read"):
        read_file(tmp_path, "a folder", SMALL)


@pytest.mark.parametrize(
    "information",
    [
        "relative_file_paths: ['" + "x" * 5000 + "']",
        "relative_file_paths: ['']",
        "relative_file_paths: ['..']",
        'relative_file_paths: ["a\\0b"]',
        "relative_file_paths: 3",
        "topics_with_message_count: [{topic_metadata: {name: a}, message_count: .inf}]",
        "topics_with_message_count: [{topic_metadata: {name: [a]}, message_count: 1}]",
        "ros_distro: [jazzy]",
    ],
)
def test_odd_metadata_of_a_recording_are_no_obstacle(information, tmp_path):
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  " + information + "\n")
    (tmp_path / "a.mcap").write_bytes(b"\x89MCAP0\r\n")
    found = parts_of(tmp_path, Log())
    assert [file.name for file in found.files] == ["a.mcap"]
    assert found.distribution is None
