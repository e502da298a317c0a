# SPDX-License-Identifier: Apache-2.0
"""How a tool meets a surface, stays on it and leaves it: approach, what tells that it touches, and letting go."""
