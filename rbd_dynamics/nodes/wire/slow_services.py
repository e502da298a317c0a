# SPDX-License-Identifier: Apache-2.0
"""Services whose answers take long: computed in a thread of their own, one by one, while the node answers others.

rclpy's executors answer a request in the callback that takes it, and some call no coroutines. So these requests are
none of the executor's: it only says, between two callbacks, what they are to be computed with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.service import Service

from rbd_dynamics.nodes.managed.answering import Answer, refuse
from rbd_dynamics.nodes.wire.entity_thread import EntityThread
from rbd_dynamics.nodes.wire.middleware import Middleware
from rbd_dynamics.nodes.wire.parameter_requests import serialised
from rbd_dynamics.nodes.wire.rclpy_private import check_waiting

#: in the executor's thread: looks at a request, and gives what computes its response in another one: a message, or the
#: bytes that the middleware sends
Begin = Callable[[Any], Callable[[], Any]]
#: makes of a request's bytes what `Begin` gets in place of the message
Read = Callable[[bytes], Any]


class SlowServices:
    """The thread, and the services that are `in` it.

    Parameters:
        largest: bytes that a request may have now; of a larger one no Python object is made.
        bound: what sets that, for messages.
    """

    def __init__(self, node: Node, name: str, *, largest: Callable[[], int], bound: str) -> None:
        """Raises OSError, AttributeError and the like where this is not possible with this ROS."""
        self._middleware = Middleware()
        check_waiting(list(node.services), node.context)
        self._largest, self._bound = largest, bound
        self._thread = EntityThread(node, name)

    def __contains__(self, entity: object) -> bool:
        return entity in self._thread

    def serve(self, service: Service, begin: Begin, read: Read | None = None) -> None:
        read = read or partial(deserialize_message, message_type=service.srv_type.Request)
        self._thread.add(service, partial(self._take, service, begin, read))

    def remove(self, entity: Any) -> None:
        """Take nothing more from an entity, before it is destroyed."""
        self._thread.remove(entity)

    def close(self) -> None:
        """Take nothing more; what is being computed is still answered."""
        self._thread.close()

    def _take(self, service: Service, begin: Begin, read: Read) -> None:
        with self._middleware.request(service) as taken:
            if taken is None:
                return
            identity, message = taken
            most = self._largest()
            data = message.part(0) if message.length <= most else None
            size = message.length
        kind = service.srv_type
        if data is None:
            response = kind.Response()
            refuse(response, f"the request has {size} bytes, more than {self._bound} ({most})", 0)
        else:
            response = self._thread.hand_over(partial(begin, read(data)))()
        self._middleware.respond(service, identity, response if isinstance(response, bytes) else serialised(response))


def at_once(begin: Begin, read: Read | None = None) -> Answer:
    """The callback of a service that does all of it in the executor's thread."""

    def answer(request: Any, response: Any) -> Any:
        found = begin(request if read is None else read(serialised(request)))()
        return deserialize_message(found, type(response)) if isinstance(found, bytes) else found

    return answer
