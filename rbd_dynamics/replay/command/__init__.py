# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics replay`: recordings in, tables and reports out. What is heavy is imported when it is needed."""
