# SPDX-License-Identifier: Apache-2.0
"""Which topics are meant: joint states and descriptions of one robot, in a recording of several as well."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.replay.reading.storage import RecordingError

NAME = re.compile(r"<robot\b[^>]*?\bname\s*=\s*[\"']([^\"']*)")


@dataclass(frozen=True)
class JointStateTopic:
    """What the first messages of a topic have: the joints they name, and whether there are velocities and efforts.

    parts: of several topics that are read as one.
    """

    name: str
    joints: tuple[str, ...]
    has_velocity: bool
    has_effort: bool
    _: KW_ONLY
    parts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The topics that it is: itself, or its parts."""
        return self.parts or (self.name,)


def one_of(topics: Sequence[JointStateTopic], path: object) -> JointStateTopic:
    """Several topics that name different joints of a robot, as one. Raises RecordingError where two name the same."""
    if len(topics) == 1:
        return topics[0]
    owner: dict[str, str] = {}
    for topic in topics:
        for joint in topic.joints:
            if owner.setdefault(joint, topic.name) != topic.name:
                raise RecordingError(
                    f"{path}: topics {owner[joint]} and {topic.name} both name joint {excerpt(joint)}: they are no "
                    "halves of a robot"
                )
    names = tuple(topic.name for topic in topics)
    velocity, effort = (any(getattr(topic, has) for topic in topics) for has in ("has_velocity", "has_effort"))
    return JointStateTopic(" and ".join(names), tuple(owner), velocity, effort, parts=names)


def namespaces(topic: str) -> list[str]:
    """left and arm of /left/arm/joint_states."""
    return [part for part in topic.split("/")[:-1] if part]


def home(topic: str) -> str:
    """/left/arm of /left/arm/joint_states."""
    return topic.rpartition("/")[0]


def named_in(description: str) -> str:
    """What a URDF calls its robot; empty where it does not say."""
    found = NAME.search(description)
    return found[1] if found else ""


def of_robot(robot: str, states: Collection[str], descriptions: Mapping[str, str], path: object) -> list[str]:
    """Topics of one robot, of those with joint states and {topic: text} of descriptions.

    Those in its namespace; else the description that has its name, with the joint states beside it; none where only
    names of joints can tell. Raises RecordingError for a name that several descriptions have.
    """
    wanted = robot.strip("/")
    inside = [
        name for name in (*states, *descriptions) if wanted in namespaces(name) or home(name).strip("/") == wanted
    ]
    if inside:
        return inside
    called = [name for name, text in descriptions.items() if named_in(text) == wanted]
    if len(called) > 1:
        raise RecordingError(
            f"{path}: {len(called)} descriptions are of a robot {excerpt(wanted)}, on {', '.join(sorted(called))}: "
            "name the namespace"
        )
    return [*called, *(name for name in states if called and home(name) == home(called[0]))]


def robots_there(states: Sequence[JointStateTopic], descriptions: Mapping[str, str]) -> str:
    """Names by which a robot may be chosen, for an error."""
    names = [part for topic in states for part in namespaces(topic.name)]
    names += [name for name in map(named_in, descriptions.values()) if name]
    return listed(sorted(set(names))) or "none by a namespace or a description"


def topics_there(topics: Mapping[str, str], wanted: str) -> str:
    """Topics, {name: type}, for an error: those of the type that is wanted have no messages."""
    told = [f"{name} ({'without messages' if kind == wanted else kind})" for name, kind in sorted(topics.items())]
    return f"its topics: {', '.join(told) or 'none'}"


def best_topic(
    found: Sequence[JointStateTopic], joints: Collection[str], robot_joints: Collection[str], path: object
) -> JointStateTopic:
    """The topic that names most of `joints` (of any, if none are given), rather one with efforts and velocities.

    robot_joints: what to call them in the error.
    """

    def merit(candidate: JointStateTopic) -> tuple[int, bool, bool, bool, int]:
        known = len(set(candidate.joints) & set(joints)) if joints else len(candidate.joints)
        usual = candidate.name.endswith("joint_states")
        return known, candidate.has_effort, candidate.has_velocity, usual, -len(candidate.name)

    best = max(found, key=merit)
    if joints and not set(best.joints) & set(joints):
        raise RecordingError(
            f"{path}: topic {best.name} names {listed(best.joints)}; none of them is a joint of the robot, "
            f"which has {listed(list(robot_joints))} (--joint-map tells which is which)"
        )
    return best
