# SPDX-License-Identifier: Apache-2.0
"""That the process was asked to end: whoever works for long looks here."""

from __future__ import annotations

import threading

stop_requested = threading.Event()
