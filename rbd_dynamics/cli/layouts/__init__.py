# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics layouts`: what PlotJuggler, Foxglove and rviz are to show of the nodes."""
