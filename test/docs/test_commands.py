# SPDX-License-Identifier: Apache-2.0
"""Every command, parameter file and message that a page shows is understood as it is printed."""

from __future__ import annotations

import importlib.util
import re

import pytest
import yaml
from helpers import pages
from helpers.nodes.ros_nodes import needs_ros
from helpers.pages import PAGES, fenced, split_at
from helpers.paths import ROOT

from rbd_dynamics.cli.program import make_parser
from rbd_dynamics.cli.sources import joined_kernels, xacro_arguments
from rbd_dynamics.common.node_table import NODES
from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.interface.every import interface_of

#: what a page says `ros2` for: commands of it that this package has not
STARTERS = ("launch", "run", "bag", "control", "security")


COMMANDS = [(command.page, words) for command in pages.COMMANDS for words in split_at(command.words, "&&")]


def of_program(program):
    return [
        pytest.param(page, words, id=f"{page}: {' '.join(words)[:50]}")
        for page, words in COMMANDS
        if words[0] == program
    ]


def sends(parameters):
    _, words = parameters.values
    return words[1] in ("call", "pub") and len(words) > 2


def service_type(name):
    """Kind of a service or topic by its whole name, of a node under its own name; None: no node has it."""
    for interface in INTERFACES:
        for each in (*interface.services, *interface.topics):
            if each.name.replace("~", f"/{interface.executable}") in (name, name.lstrip("/")):
                return each.kind
    return None


def check_values(name, text, kind=None):
    """The message's fields are those of the topic's or service's type."""
    from rbd_dynamics.nodes.tools.message_values import filled, message_class

    known = service_type(name)
    assert known is not None, f"no node has {name}"
    assert kind in (None, known)
    made = message_class(known)
    filled(getattr(made, "Request", made), yaml.safe_load(text), made_now())


def made_now():
    from builtin_interfaces.msg import Time

    return Time()


@pytest.mark.parametrize(("page", "words"), of_program("rbd_dynamics"))
def test_commands_of_the_package_are_understood(page, words):
    _, words = xacro_arguments(words)
    words = words[1 : words.index(">") if ">" in words else None]
    if "--help" in words:
        assert words[0] in make_parser().format_help()
        return
    options = make_parser().parse_args(joined_kernels(words))
    if words[0] == "set":
        table = {parameter.name for parameter in interface_of(options.node.strip("/").rpartition("/")[2]).parameters}
        assert set(options.values[::2]) <= table


@pytest.mark.parametrize(
    ("page", "words"),
    [pytest.param(*each.values, id=each.id, marks=needs_ros) for each in of_program("rbd_dynamics") if sends(each)],
)
def test_what_is_called_and_published_has_the_fields_of_its_type(page, words):
    options = make_parser().parse_args(words[1:])
    name = options.service if words[1] == "call" else options.topic
    check_values(name, "{}" if options.values.startswith("@") else options.values)


@pytest.mark.parametrize(("page", "words"), of_program("ros2"))
def test_commands_of_ros_start_what_there_is(page, words):
    _, command, *rest = words
    assert command in STARTERS, "a page says it by `rbd_dynamics`, which works without ros2 too"
    if command == "launch" and rest[0] == "rbd_dynamics":
        text = (ROOT / "launch" / rest[1]).read_text() + (ROOT / "rbd_dynamics/nodes/tools/launching.py").read_text()
        for name in (word.partition(":=")[0] for word in rest[2:] if ":=" in word):
            assert f'"{name}"' in text, name
    if command == "run" and rest[0] == "rbd_dynamics":
        assert rest[1] in (*NODES, "replay", "NODE")
        names = {parameter.name for parameter in interface_of(rest[1]).parameters} if rest[1] in NODES else set()
        given = [word.partition(":=")[0] for flag, word in zip(rest, rest[1:]) if flag == "-p"]
        assert set(given) <= names | {"use_sim_time"}


@pytest.mark.parametrize(("page", "words"), [each for node in NODES for each in of_program(node)])
def test_nodes_that_are_started_by_name_have_those_parameters(page, words):
    names = {parameter.name for parameter in interface_of(words[0]).parameters}
    given = {word.partition(":=")[0] for flag, word in zip(words, words[1:]) if flag == "-p"}
    assert given <= names | {"use_sim_time"}


def test_modules_and_targets_are_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for _, words in COMMANDS:
        if words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= set(targets)
    modules = {
        name for page in PAGES for name in re.findall(r"python -m ((?:benchmarks|campaigns)[\w.]*)", page.read_text())
    }
    assert modules and not [name for name in modules if importlib.util.find_spec(name) is None]


def test_parameter_files_have_parameters_of_their_nodes():
    checked = 0
    for page, block in fenced("yaml"):
        for node, content in (yaml.safe_load(block) or {}).items():
            name = str(node).rpartition("/")[2]
            if name not in NODES or not isinstance(content, dict) or "ros__parameters" not in content:
                continue
            interface = interface_of(name)
            table = {parameter.name: parameter for parameter in interface.parameters}
            given = content["ros__parameters"]
            assert set(given) <= table.keys() | {"use_sim_time"}, page
            for key, value in given.items():
                assert key == "use_sim_time" or isinstance(value, list) == table[key].is_array, f"{page}: {key}"
            checked += 1
    assert checked >= 3


def test_rotations_of_messages_are_rotations():
    """Seen: a pose with a quaternion of length 1.414."""
    for page, words in COMMANDS:
        for text in words:
            for found in re.findall(r"orientation: (\{[^}]*\})", text):
                values = yaml.safe_load(found)
                assert sum(x * x for x in ({"w": 1.0} | values).values()) == pytest.approx(1.0), page


def test_private_names_are_quoted():
    """A shell takes ~/commands for a file in the home folder."""
    for command in pages.COMMANDS:
        assert not re.search(r"(?<!['\"])~/\w+:=", command.text), f"{command.page}: {command.text}"
