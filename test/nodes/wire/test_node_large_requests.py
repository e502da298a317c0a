# SPDX-License-Identifier: Apache-2.0
"""Requests of any size while torques are computed: too large ones get their answer, the others are all done."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.motion_loop import KP, SEES_WANTED, MotionLoop
from helpers.nodes.ros_nodes import needs_ros, rclpy, wait_until
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = needs_ros
PARAMETERS = {"robot_description": ARM, **SEES_WANTED, "plausible_velocity": 0.0, "state_timeout": 1.0}
NAME = "besieged"


@pytest.fixture(scope="module")
def loop(ros, robot):
    with ros.start("feedforward", PARAMETERS, name=NAME) as node:
        loop = MotionLoop(ros, node, robot)
        yield loop
        loop.close()


@pytest.fixture
def standing(loop):
    loop.stand()
    yield loop
    loop.goes_on()
    loop.has_not_moved()


def setting(name, value):
    from rclpy.parameter import Parameter

    return Parameter(name, value=value).to_parameter_msg()


def call(loop, kind, name, **fields):
    return loop.ros.client(kind, f"{NAME}/{name}")(**fields)


def kp_of(loop):
    from rcl_interfaces.srv import GetParameters

    return call(loop, GetParameters, "get_parameters", names=["kp"]).values[0].double_array_value.tolist()


def test_a_request_of_10_MB_is_refused_by_its_answer(standing):
    from geometry_msgs.msg import InertiaStamped

    from rbd_dynamics_interfaces.srv import SetPayload

    payload = InertiaStamped()
    payload.header.frame_id = "x" * 10_000_000
    answer = call(standing, SetPayload, "set_payload", payload=payload)
    assert not answer.success
    assert "more than parameter 'largest_message' allows (65536)" in answer.message
    standing.diagnosed("request of set_payload refused: it has 1000")


def test_a_transition_with_a_label_of_10_MB_is_refused(standing):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    deactivate = Transition(id=Transition.TRANSITION_DEACTIVATE, label="x" * 10_000_000)
    assert not call(standing, ChangeState, "change_state", transition=deactivate).success


def test_15_000_parameters_are_refused_one_by_one_without_being_set(standing):
    from rcl_interfaces.srv import SetParameters, SetParametersAtomically

    many = [setting("kp", [7.0])] * 15_000
    results = call(standing, SetParameters, "set_parameters", parameters=many).results
    assert len(results) == 15_000
    assert not any(result.successful for result in results)
    assert {result.reason.strip() for result in results} == {
        "the request has 15000 parameters, which exceeds the limit of 256"
    }
    result = call(standing, SetParametersAtomically, "set_parameters_atomically", parameters=many).result
    assert not result.successful and "15000 parameters" in result.reason
    assert kp_of(standing) == [KP]
    standing.diagnosed("request of set_parameters_atomically refused: the request has 15000 parameters")


def test_lists_and_texts_beyond_all_use_are_refused(standing):
    from rcl_interfaces.srv import SetParameters

    requests = {
        "parameter 'kp': its lists bring the request to 60000 values, which exceeds the limit of 2048": [
            setting("kp", [1.0] * 60_000)
        ],
        "parameter 'kd': its lists bring the request to 2100 values": [
            setting("kp", [1.0] * 1000),
            setting("kd", [1.0] * 1100),
        ],
        "more than parameters may have here (565536)": [setting("robot_description", "x" * 1_000_000)],
        "more than parameter 'largest_message' (65536)": [setting("joints", ["j" * 2000] * 40)],
    }
    for reason, parameters in requests.items():
        results = call(standing, SetParameters, "set_parameters", parameters=parameters).results
        assert [result.successful for result in results] == [False] * len(parameters)
        assert reason in results[-1].reason
    assert kp_of(standing) == [KP]


def test_a_parameter_is_not_asked_for_thousands_of_times(standing):
    from rcl_interfaces.srv import DescribeParameters, GetParameters

    assert not call(standing, GetParameters, "get_parameters", names=["robot_description"] * 200).values
    assert not call(standing, GetParameters, "get_parameters", names=["kp"] * 5000).values
    assert not call(standing, DescribeParameters, "describe_parameters", names=["kp"] * 5000).descriptors
    assert kp_of(standing) == [KP]


def test_each_parameter_of_a_list_has_its_own_result(standing):
    from rcl_interfaces.srv import SetParameters

    parameters = [
        setting("kp", [KP + 1.0]), setting("kp", [-1.0]), setting("no_such_parameter", 1.0), setting("kp", [KP]),
        setting("robot_description", ARM + f"<!-- {'grüße ' * 2000} -->"),
    ]  # fmt: skip
    results = call(standing, SetParameters, "set_parameters", parameters=parameters).results
    assert [result.successful for result in results] == [True, False, False, True, True]
    assert "kp" in results[1].reason and "undeclared" in results[2].reason
    assert kp_of(standing) == [KP]


def test_nothing_is_lost_between_requests_and_set_points(standing):
    from rcl_interfaces.srv import SetParameters

    client = standing.ros.node.create_client(SetParameters, f"{NAME}/set_parameters")
    assert client.wait_for_service(30.0)
    for k in range(1, 21):
        wanted = 0.01 * k
        parameters = [setting("kd", [0.01 * k]), setting("kd", [-1.0])]
        answers = [client.call_async(SetParameters.Request(parameters=parameters)) for _ in range(5)]
        standing.send(JOINTS, (0.0, [wanted, 0.0, 0.0]))
        wait_until(lambda w=wanted: abs(standing.wanted[-1][1][0] - w) < 1e-9, f"set-point {k}")
        wait_until(lambda a=answers: all(answer.done() for answer in a), "five answers")
        for answer in answers:
            assert [result.successful for result in answer.result().results] == [True, False]
    standing.ros.destroy(lambda: standing.ros.node.destroy_client(client))
    standing.ros.set_parameters(NAME, kd=[0.0])
    standing.stand()


def test_a_description_of_2_MB_is_taken_while_nothing_is_commanded(ros):
    from rcl_interfaces.srv import GetParameters, SetParameters

    text = ARM + f"<!-- {'grüße ' * 300_000} -->"
    with ros.start("feedforward", {"autostart": False}, name="waiting") as node:
        node.is_there()
        both = [setting("robot_description", text), setting("kp", [3.0])]
        results = ros.client(SetParameters, "waiting/set_parameters")(parameters=both).results
        assert [result.successful for result in results] == [True, True], results
        found = ros.client(GetParameters, "waiting/get_parameters")(names=["kp", "robot_description"]).values
        assert found[0].double_array_value.tolist() == [3.0]
        assert found[1].string_value == text


# --- how -------------------------------------------------------------------------------------------

texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))
long_texts = st.builds(lambda text, count: text * count, texts, st.integers(0, 3000))


@st.composite
def parameters(draw):
    from rcl_interfaces.msg import Parameter, ParameterValue

    numbers = st.floats(allow_nan=False)
    integers = st.integers(-(2**63), 2**63 - 1)
    value = ParameterValue(
        type=draw(st.integers(0, 9)), bool_value=draw(st.booleans()), integer_value=draw(integers),
        double_value=draw(numbers), string_value=draw(st.one_of(texts, long_texts)),
        byte_array_value=[bytes([k]) for k in draw(st.lists(st.integers(0, 255)))],
        bool_array_value=draw(st.lists(st.booleans())), integer_array_value=draw(st.lists(integers)),
        double_array_value=draw(st.lists(numbers)), string_array_value=draw(st.lists(texts)),
    )  # fmt: skip
    return Parameter(name=draw(texts), value=value)


@settings(max_examples=60, deadline=None)
@given(found=st.lists(parameters(), max_size=5))
def test_requests_are_read_as_rclpy_reads_them(found):
    from rcl_interfaces.srv import SetParameters
    from rclpy.serialization import serialize_message

    from rbd_dynamics.nodes.wire.parameter_requests import count_of, read_setting

    request = SetParameters.Request(parameters=found)
    raw = serialize_message(request)
    assert count_of(raw[:8]) == len(found)
    assert read_setting(SetParameters, raw, 10**6) == request


def test_a_response_of_any_service_says_no_in_its_own_fields():
    from lifecycle_msgs.srv import ChangeState
    from rcl_interfaces.msg import SetParametersResult
    from rcl_interfaces.srv import ListParameters, SetParameters, SetParametersAtomically
    from std_srvs.srv import Trigger

    from rbd_dynamics.nodes.managed.answering import refuse

    def refused(response, count=0):
        refuse(response, "too late", count)
        return response

    no, yes = SetParametersResult(successful=False, reason="too late"), SetParametersResult(successful=True)
    assert refused(Trigger.Response(success=True)) == Trigger.Response(success=False, message="too late")
    assert refused(ChangeState.Response(success=True)) == ChangeState.Response(success=False)
    assert refused(ListParameters.Response()) == ListParameters.Response()
    assert refused(SetParametersAtomically.Response(result=yes)).result == no
    assert refused(SetParameters.Response(results=[yes]), 3).results == [yes, no, no]


@pytest.mark.parametrize("reason", ["", "a", "ab", "abc", "abcd", "größer"])
def test_refusals_are_a_response(reason):
    from rcl_interfaces.srv import SetParameters
    from rclpy.serialization import deserialize_message

    from rbd_dynamics.nodes.wire.parameter_requests import refusals

    for count in (0, 1, 5, 1000):
        results = deserialize_message(bytes(refusals(count, reason)), SetParameters.Response).results
        assert [(result.successful, result.reason.rstrip()) for result in results] == [(False, reason)] * count


def test_the_thread_outlives_a_fault(ros):
    from std_srvs.srv import Trigger

    from rbd_dynamics.nodes.wire.entity_thread import EntityThread
    from rbd_dynamics.nodes.wire.middleware import Middleware
    from rbd_dynamics.nodes.wire.parameter_requests import serialised

    node = rclpy.create_node("faulty", context=ros.context)
    service, middleware, calls = node.create_service(Trigger, "faulty/try", None), Middleware(), []

    def take():
        calls.append(len(calls))
        if len(calls) < 3:
            raise RuntimeError("a fault")
        with middleware.request(service) as taken:
            identity, request = taken
            assert request.length < 100
        middleware.respond(service, identity, serialised(Trigger.Response(success=True, message="at last")))

    aside = EntityThread(node, "faulty")
    try:
        aside.add(service, take)
        assert ros.client(Trigger, "faulty/try")().message == "at last"
        assert len(calls) == 3
    finally:
        aside.close()
        node.destroy_node()
    assert service not in aside


def test_where_it_is_not_possible_the_executor_takes_all(ros, monkeypatch):
    from rbd_dynamics.nodes.feedforward import FeedforwardNode
    from rbd_dynamics.nodes.wire import input_threads as arrivals

    def services():
        node = FeedforwardNode(context=ros.context)
        warnings = [line for line in said if "may delay torques" in line]
        names = {service.srv_name.rpartition("/")[2] for service in node.services}
        node.entities.close()
        node.destroy_node()
        return names, warnings

    said = []
    monkeypatch.setattr(FeedforwardNode, "get_logger", lambda self: Logger(said))
    assert services() == (set(), [])

    def differs(raw):
        raise OSError("parameters are serialised in another way here")

    monkeypatch.setattr(arrivals, "check_form", differs)
    names, warnings = services()
    assert {"set_parameters", "get_parameters", "change_state"} <= names
    assert warnings == [
        "large messages and requests may delay torques here: parameters are serialised in another way here"
    ]


class Logger:
    """Keeps what a node says."""

    def __init__(self, said):
        self._said = said

    def __getattr__(self, severity):
        return lambda text, **options: self._said.append(text)


def test_torques_come_while_large_requests_do(standing):
    """What else arrives in the same time is done: large requests, and torques between them."""
    from geometry_msgs.msg import InertiaStamped

    from rbd_dynamics_interfaces.srv import SetPayload

    client = standing.ros.node.create_client(SetPayload, f"{NAME}/set_payload")
    assert client.wait_for_service(30.0)
    payload = InertiaStamped()
    payload.header.frame_id = "x" * 1_000_000
    answers = []
    for _ in range(10):
        answers.append(client.call_async(SetPayload.Request(payload=payload)))
        standing.goes_on(2)
        wait_until(answers[-1].done, "a refusal")
    assert all("more than parameter" in answer.result().message for answer in answers)
    steps, times = standing.steps()
    assert np.isfinite(steps).all() and len(times) >= 20
    standing.ros.destroy(lambda: standing.ros.node.destroy_client(client))
