# SPDX-License-Identifier: Apache-2.0
"""What docs/first_torques.md puts into a parameter file and into `terms` is what the nodes take."""

from __future__ import annotations

import re

import yaml
from helpers.paths import ROOT

from rbd_dynamics.control import TERMS
from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
from rbd_dynamics.nodes.interface.guard import GuardParameters

TEXT = (ROOT / "docs" / "first_torques.md").read_text()


def test_the_parameter_file_has_parameters_of_the_node():
    (block,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    given = yaml.safe_load(block)["/**/feedforward"]["ros__parameters"]
    table = {parameter.name: parameter for parameter in FeedforwardParameters.table()}
    assert given
    for name, value in given.items():
        assert isinstance(value, list) and table[name].is_array, name


def test_terms_are_terms_and_change_while_the_nodes_run():
    lists = re.findall(r"`\[([a-z, ]+)\]`|terms \"\[([a-z, ]+)\]\"", TEXT)
    assert len(lists) >= 4
    for found in lists:
        assert set("".join(found).split(", ")) <= set(TERMS)
    for parameters in (FeedforwardParameters, GuardParameters):
        (terms,) = [parameter for parameter in parameters.table() if parameter.name == "terms"]
        assert terms.dynamic
