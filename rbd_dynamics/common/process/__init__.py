# SPDX-License-Identifier: Apache-2.0
"""What a process does with signals, locks, processors and imports."""
