# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics nodes`, `call`, `get`, `set`, `pub` and `record`, which need ROS 2 and no `ros2`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rbd_dynamics.cli.listening import print_message, without_nan
from rbd_dynamics.cli.ros import needs_ros
from rbd_dynamics.cli.usage_error import UsageError

if TYPE_CHECKING:
    from rbd_dynamics.nodes.tools.requests import Graph


@contextmanager
def _graph(command: str, patience: float) -> Iterator[Graph]:
    with needs_ros(command):
        from rbd_dynamics.nodes.tools.listening import visitor
        from rbd_dynamics.nodes.tools.requests import Graph
    with visitor(command) as (node, spin):
        yield Graph(node, spin, patience)


def run_nodes(options: argparse.Namespace) -> int:
    with _graph("nodes", options.patience) as graph:
        found = graph.nodes()
    if options.json:
        print(json.dumps([each._asdict() for each in found], indent=2))
        return 0
    if not found:
        print("no node is running in this ROS_DOMAIN_ID")
    for each in found:
        print(each.name)
        for name, kind in sorted(each.services.items()) if options.services else ():
            print(f"  {name}  {kind}")
    return 0


def run_call(options: argparse.Namespace) -> int:
    """Exit code 1 where the answer says `success: false`."""
    with _graph("call", options.patience) as graph:
        from rbd_dynamics.nodes.tools.message_values import plain

        answer = plain(graph.call(options.service, _yaml(options.values, options)))
    print_message(answer, json_wanted=options.json)
    return 0 if answer.get("success", True) else 1


def run_get(options: argparse.Namespace) -> int:
    with _graph("get", options.patience) as graph:
        found = graph.parameters(options.node, options.names)
    if options.json:
        print(json.dumps(without_nan({each.name: _listed(each.value) for each in found}), indent=2))
        return 0
    for each in found:
        print(f"{each.name}: {_flow(_listed(each.value))}")
        if options.names:
            print(f"  {each.description}")
    return 0


def run_set(options: argparse.Namespace) -> int:
    """Exit code 1 where the node refuses it."""
    if len(options.values) % 2:
        raise UsageError("parameters come as NAME VALUE, one pair after the other")
    names = options.values[::2]
    values = {name: _yaml(text, options) for name, text in zip(names, options.values[1::2], strict=True)}
    with _graph("set", options.patience) as graph:
        refusal = graph.set_parameters(options.node, values)
    if refusal:
        print(f"rbd_dynamics: {options.node} refuses it: {refusal}", file=sys.stderr)
        return 1
    for name, value in values.items():
        print(f"{name}: {_flow(value)}")
    return 0


def run_pub(options: argparse.Namespace) -> int:
    values = _yaml(options.values, options)
    with _graph("pub", options.patience) as graph:
        topic = graph.publish(options.topic, options.type, values, count=options.count, rate=options.rate)
    print(f"published on {topic}" + (f", {options.count} times" if options.count > 1 else ""))
    return 0


def run_record(options: argparse.Namespace) -> int:
    """Exit code 1 where nothing was recorded, or a topic that was asked for did not bring a message."""
    with needs_ros("record"):
        from rbd_dynamics.nodes.tools.listening import visitor
        from rbd_dynamics.nodes.tools.recorder import Recorder
    from rbd_dynamics.common.console import working
    from rbd_dynamics.common.process.one_interrupt import one_interrupt

    def say(topic: str) -> None:
        print(f"recording {topic}", file=sys.stderr)

    def warn(text: str) -> None:
        print(f"rbd_dynamics: warning: {text}", file=sys.stderr)

    with one_interrupt(), visitor("record") as (node, spin):
        recorder = Recorder(node, spin, options.output, options.topics, say=say, warn=warn)
        ends = f"for {options.seconds:g} s" if options.seconds else "until Ctrl-C"
        try:
            with working(f"recording {ends}"):
                recorder.run(options.seconds)
        except KeyboardInterrupt:
            pass  # the end of a recording
        finally:
            recorder.close()
    for topic, count in sorted(recorder.counts.items()):
        print(f"{topic}: {count}")
    for topic in recorder.missing():
        warn(f"{topic}: no message came")
    if not any(recorder.counts.values()):
        warn("nothing was recorded")
    print(options.output)
    return 0 if any(recorder.counts.values()) and not recorder.missing() else 1


def _yaml(text: str, options: argparse.Namespace) -> Any:
    """Values of an argument, or of a file where it is @FILE. Raises UsageError."""
    from pathlib import Path

    import yaml

    from rbd_dynamics.common.safe_yaml import SMALL, YamlError, read_file, read_text

    try:
        if text.startswith("@"):
            return read_file(Path(text[1:]), text[1:], SMALL)
        return read_text(text, "the values", SMALL)
    except (YamlError, yaml.YAMLError) as error:
        raise UsageError(str(error)) from error


def _listed(value: Any) -> Any:
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def _flow(value: Any) -> str:
    """A value on one line, as it can be given to `set`."""
    import yaml

    return (
        yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True).removesuffix("\n...\n").strip()
    )
