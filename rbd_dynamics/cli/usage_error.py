# SPDX-License-Identifier: Apache-2.0
"""What cannot be done as it was asked for."""

from __future__ import annotations


class UsageError(Exception):
    """Something on the command line cannot be done; the message is all that is shown."""
