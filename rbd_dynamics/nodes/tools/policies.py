# SPDX-License-Identifier: Apache-2.0
"""Access control policies of SROS 2 from the tables in `interface`: each node may do what it needs and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from rbd_dynamics.nodes.interface.tables import Interface

#: of every life-cycle node of rclpy, besides its own
PUBLISHED = ("/parameter_events", "/rosout", "~/transition_event")
SUBSCRIBED = ("/clock", "/parameter_events")
PARAMETER_SERVICES = (
    "~/describe_parameters", "~/get_parameter_types", "~/get_parameters", "~/list_parameters", "~/set_parameters",
    "~/set_parameters_atomically",
)  # fmt: skip
LIFE_CYCLE_SERVICES = (
    "~/change_state", "~/get_available_states", "~/get_available_transitions", "~/get_state", "~/get_transition_graph",
)  # fmt: skip
OTHER_SERVICES = ("~/get_type_description",)


def policy(interface: Interface) -> str:
    """The policy of one node in the root name space, in an enclave of its own, as XML (policy schema 0.2.0)."""
    root = ElementTree.Element("policy", version="0.2.0")
    enclave = ElementTree.SubElement(ElementTree.SubElement(root, "enclaves"), "enclave")
    enclave.set("path", f"/{interface.executable}")
    profile = ElementTree.SubElement(ElementTree.SubElement(enclave, "profiles"), "profile")
    profile.set("ns", "/")
    profile.set("node", interface.executable)
    published = {topic.name for topic in interface.topics if topic.published}
    subscribed = {topic.name for topic in interface.topics if not topic.published}
    services = {service.name for service in interface.services}
    _rules(profile, "topic", "publish", {*published, *PUBLISHED})
    _rules(profile, "topic", "subscribe", {*subscribed, *SUBSCRIBED})
    _rules(profile, "service", "reply", {*services, *PARAMETER_SERVICES, *LIFE_CYCLE_SERVICES, *OTHER_SERVICES})
    if interface.used_services:
        _rules(profile, "service", "request", {service.name for service in interface.used_services})
    if interface.actions:
        _rules(profile, "action", "execute", {action.name for action in interface.actions})
    if interface.used_actions:
        _rules(profile, "action", "call", {action.name for action in interface.used_actions})
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
    return head + ElementTree.tostring(root, encoding="unicode") + "\n"


def _rules(profile: ElementTree.Element, kind: str, what: str, names: Iterable[str]) -> None:
    rules = ElementTree.SubElement(profile, f"{kind}s", {what: "ALLOW"})
    for name in sorted(names):
        ElementTree.SubElement(rules, kind).text = name
