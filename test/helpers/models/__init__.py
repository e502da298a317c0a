# SPDX-License-Identifier: Apache-2.0
"""Robots for tests: real ones, random ones, small ones for particular claims."""
