# SPDX-License-Identifier: Apache-2.0
"""The structure of a description: is it one tree, and what do its mimic joints follow?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from rbd_dynamics.model.description import Description, JointDescription
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Mimic

SINGLE_FREEDOM = ("revolute", "continuous", "prismatic")


def check_tree(description: Description, findings: Findings) -> None:
    """Add an error for everything that keeps the links from being one tree with one root."""
    if not description.links:
        findings.error("robot description", "has no link")
        return
    before = len(findings.errors)
    links = [link.name for link in description.links]
    for what, names in (("link", links), ("joint", [joint.name for joint in description.joints])):
        for name, count in Counter(names).items():
            if count > 1 and name:
                findings.error(f"{what} {name!r}", f"is defined {count} times")
    known = set(links)
    parents: dict[str, list[str]] = {}
    for joint in description.joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                findings.error(f"joint {joint.name!r}", f"has the unknown {end} link {name!r}")
        parents.setdefault(joint.child, []).append(joint.name)
    for link, joints in parents.items():
        if len(joints) > 1:
            findings.error(
                f"link {link!r}",
                f"is the child of {len(joints)} joints: {_quoted(joints)}",
                "a URDF is a tree; close a loop by a <loop> element, or as a constraint",
            )
    if len(findings.errors) > before:
        return
    roots = [link for link in links if link not in parents]
    if len(roots) > 1:
        findings.error(
            f"link {roots[1]!r}",
            f"is a second root: no joint connects it (roots: {_quoted(roots)})",
            "join the trees with a joint",
        )
    elif not roots or len(reached := _reached(description, roots[0])) < len(links):
        start = next(link for link in links if not roots or link not in reached)
        loop = _loop(description, start)
        findings.error(f"joint {loop[0]!r}", f"closes a loop of joints: {_quoted(loop)}", "a URDF is a tree")


def root_link(description: Description) -> str:
    """The root of a description that `check_tree` found nothing wrong with."""
    children = {joint.child for joint in description.joints}
    return next(link.name for link in description.links if link.name not in children)


def joints_of(description: Description) -> dict[str, list[JointDescription]]:
    """The joints on each link, in file order."""
    found: dict[str, list[JointDescription]] = {}
    for joint in description.joints:
        found.setdefault(joint.parent, []).append(joint)
    return found


def resolve_mimics(
    description: Description, findings: Findings, single: Collection[str] | None = None
) -> dict[str, Mimic]:
    """What each mimic joint follows in the end: chains are composed, so no leader mimics another.

    A joint whose leader does not exist follows none. single: the joints with one coordinate, which alone
    can follow and lead; by default those of a URDF's types that have one.
    """
    if single is None:
        single = {joint.name for joint in description.joints if joint.type in SINGLE_FREEDOM}
    joints = {joint.name: joint for joint in description.joints}
    found: dict[str, Mimic] = {}
    reported: set[str] = set()
    followed, circles = _followed(joints)
    for joint in description.joints:
        if joint.mimic is None or joints[joint.name] is not joint:  # two of one name have been reported
            continue
        where = f"joint {joint.name!r}"
        if joint.name not in single:
            findings.error(where, f"is {joint.type} and cannot mimic", "only a joint with one coordinate can")
            continue
        leader, multiplier, offset = followed(joint.name)
        if leader in circles:
            circle = circles[leader]
            if leader not in reported:
                findings.error(f"joint {leader!r}", f"mimics itself, through {_quoted([*circle, leader])}")
                reported.update(circle)
        elif leader not in joints:
            if leader:  # an empty name has been reported
                findings.defect(where, f"mimics the unknown joint {leader!r}", "it counts as a joint of its own")
        elif leader not in single and joints[leader].type != "fixed":
            findings.error(where, f"mimics {leader!r}, which is {joints[leader].type}")
        elif not math.isfinite(multiplier) or not math.isfinite(offset):
            if all(map(math.isfinite, _numbers_of(joint.mimic)[1:])):  # else reported already
                findings.error(where, "follows its leaders with numbers too large to compute with")
        else:
            found[joint.name] = Mimic(leader, multiplier=multiplier, offset=offset)
    return found


def _followed(
    joints: Mapping[str, JointDescription],
) -> tuple[Callable[[str], tuple[str, float, float]], dict[str, list[str]]]:
    """What a mimic joint follows in the end, with multiplier and offset; and each circle, by its joints.

    Each joint is looked at once, however long the chains are. What ends in a circle follows the joint where it enters.
    """
    ends: dict[str, tuple[str, float, float]] = {}
    circles: dict[str, list[str]] = {}

    def follow(name: str) -> tuple[str, float, float]:
        path: dict[str, tuple[str, float, float]] = {}  # in the order in which it is gone
        leader = name
        while leader not in path and leader not in ends and leader in joints and joints[leader].mimic is not None:
            path[leader] = _numbers_of(joints[leader].mimic)
            leader = path[leader][0]
        if leader in path:
            names = list(path)
            circle = names[names.index(leader) :]
            circles.update(dict.fromkeys(circle, circle))
            ends.update((member, (member, 1.0, 0.0)) for member in circle)
        for follower in reversed(path):
            if follower not in ends:
                above, multiplier, offset = path[follower]
                end, inner, shift = ends.get(above, (above, 1.0, 0.0))
                ends[follower] = end, multiplier * inner, multiplier * shift + offset
        return ends[name]

    return follow, circles


def _numbers_of(mimic: Mimic | None) -> tuple[str, float, float]:
    assert mimic is not None
    return mimic.leader, mimic.multiplier, mimic.offset


def _reached(description: Description, root: str) -> set[str]:
    children = joints_of(description)
    found, waiting = {root}, [root]
    while waiting:
        for joint in children.get(waiting.pop(), []):
            found.add(joint.child)
            waiting.append(joint.child)
    return found


def _loop(description: Description, link: str) -> list[str]:
    """The joints of the loop that going from `link` towards its parents ends in, from parent to child."""
    parent_joint = {joint.child: joint for joint in description.joints}
    passed: dict[str, None] = {}  # in this order
    while link not in passed:
        passed[link] = None
        link = parent_joint[link].parent
    seen = list(passed)
    return [parent_joint[name].name for name in reversed(seen[seen.index(link) :])]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
