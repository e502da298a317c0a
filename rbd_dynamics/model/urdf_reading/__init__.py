# SPDX-License-Identifier: Apache-2.0
"""The elements of a URDF: links, joints, drives and loops; its versions, and the table of all that it may have."""
