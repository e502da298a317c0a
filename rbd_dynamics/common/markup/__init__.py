# SPDX-License-Identifier: Apache-2.0
"""Texts with elements and attributes: read as others read them, and compared with what a format knows."""
