# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics doctor`: what this machine has, whether it works, and what real time would need. Changes nothing."""
