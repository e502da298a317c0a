# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: arguments, parameter files, signals, executor."""
