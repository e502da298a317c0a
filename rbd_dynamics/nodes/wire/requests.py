# SPDX-License-Identifier: Apache-2.0
"""Requests that are taken, looked at and answered in a thread of their own; only what they want is done by the node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rcl_interfaces.srv import SetParameters
from rclpy.serialization import deserialize_message
from rclpy.service import Service

from rbd_dynamics.nodes.managed.answering import refuse
from rbd_dynamics.nodes.wire import parameter_requests
from rbd_dynamics.nodes.wire.entity_thread import EntityThread
from rbd_dynamics.nodes.wire.middleware import Middleware, Serialised
from rbd_dynamics.nodes.wire.parameter_requests import Refused, check_count, count_of, refusals, serialised

HEAD = 8  # bytes of a request in which a list's length is


class Requests:
    """Answers requests of services; a callback is the service's own, called by the executor.

    Parameters:
        largest: bytes that a request may have now.
        texts: bytes that the texts of parameters which are set may have besides.
        refused: called by the executor with the reason where a request is not looked at.
    """

    def __init__(
        self,
        thread: EntityThread,
        middleware: Middleware,
        *,
        largest: Callable[[], int],
        texts: Callable[[], int],
        refused: Callable[[str], None],
    ) -> None:
        self._thread, self._middleware = thread, middleware
        self._largest, self._texts, self._refused = largest, texts, refused

    def serve(self, service: Service) -> None:
        """Take a service's requests from now on."""
        self._thread.add(service, partial(self._take, service))

    def _take(self, service: Service) -> None:
        with self._middleware.request(service) as taken:
            if taken is None:
                return
            identity, raw = taken
            count = 0
            try:
                if service.srv_type in parameter_requests.KINDS:
                    count = count_of(raw.part(0, HEAD))
                    check_count(service.srv_type, count)
                request = self._read(service.srv_type, raw)
            except Refused as error:
                name = service.srv_name.rpartition("/")[2]
                self._thread.hand_over(partial(self._refused, f"request of {name} refused: {error}"))
                response = _refusal(service.srv_type, str(error), count)
            else:
                response = self._answer(service, request)
        self._middleware.respond(service, identity, response)

    def _read(self, kind: Any, raw: Serialised) -> Any:
        """The request. Raises Refused."""
        setting = kind in parameter_requests.SETTING
        largest = self._largest()
        most = largest + self._texts() if setting else largest
        if raw.length > most:
            bound = "parameters may have here" if setting else "parameter 'largest_message' allows"
            raise Refused(f"it has {raw.length} bytes, more than {bound} ({most})")
        if setting:
            request = parameter_requests.read_setting(kind, raw.part(0), largest)
        else:
            request = deserialize_message(raw.part(0), kind.Request)
        if kind in parameter_requests.KINDS:
            parameter_requests.check_names(kind, request)
        return request

    def _answer(self, service: Service, request: Any) -> bytes:
        kind = service.srv_type
        if kind is not SetParameters:
            return serialised(self._thread.hand_over(lambda: service.callback(request, kind.Response())))
        results = []
        for parameter in request.parameters:  # each by itself anyhow: the node does other things between them
            single = SetParameters.Request(parameters=[parameter])
            answer = self._thread.hand_over(partial(service.callback, single, SetParameters.Response()))
            results += answer.results
        return serialised(SetParameters.Response(results=results))


def _refusal(kind: Any, reason: str, count: int) -> Any:
    """The serialised response that says no."""
    if kind is SetParameters:
        return refusals(count, reason)
    response = kind.Response()
    refuse(response, reason, count)
    return serialised(response)
