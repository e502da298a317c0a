# SPDX-License-Identifier: Apache-2.0
"""What several rooms share and that knows nothing of robots' dynamics: it imports no other room."""
