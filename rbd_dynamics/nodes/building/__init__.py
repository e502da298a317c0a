# SPDX-License-Identifier: Apache-2.0
"""The way from a description to what a node works with, in a process of its own."""
