# SPDX-License-Identifier: Apache-2.0
"""Threads that compute in turns."""

import threading
import time

import pytest

from rbd_dynamics.nodes.simulation.fair_lock import SLICE, FairLock


def test_one_computes_at_a_time_and_each_comes_to_its_turn():
    turns, computing, most, order = FairLock(), [], [], []

    def work(name):
        with turns.taken() as turn:
            for _ in range(3):
                computing.append(name)
                most.append(len(computing))
                order.append(name)
                while time.monotonic() - turn.since <= SLICE:
                    time.sleep(SLICE / 4.0)
                computing.remove(name)
                turn.offer()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    with turns.taken():  # so that all of them are in the queue before one begins
        for thread in threads:
            thread.start()
            while len(turns._queue) < 2 + threads.index(thread):
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert order == [0, 1, 2, 3] * 3


def test_a_turn_that_ends_by_an_error_is_given_back():
    turns = FairLock()
    with pytest.raises(ValueError), turns.taken():
        raise ValueError
    with turns.taken() as turn:
        turn.offer()
