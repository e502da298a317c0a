# SPDX-License-Identifier: Apache-2.0
"""Places of numbers in the arrays that the search for contacts in machine code works on."""

from __future__ import annotations

#: kinds of shapes; a box is a hull of eight corners, too
PLANE, HULL, CYLINDER, BOX = 0, 1, 2, 3
#: of each shape whole numbers: its kind, its first corner, how many it has, its frame
KIND, START, COUNT, FRAME, SHAPE = 0, 1, 2, 3, 4
#: of each shape numbers: rounding, reach (0 of planes), tolerances of what belongs to an edge or face, radius and half
#: the length of cylinders, the middle of its corners (3), and its place in its frame: R (9), p (3)
ROUNDING, REACH, TOLERANCE, FINE, RADIUS, HALF, MIDDLE, OWN_R, OWN_P, SIZES = 0, 1, 2, 3, 4, 5, 6, 9, 18, 21
#: of each shape where it is: R (9), p (3)
PLACE = 12
#: of each frame how it moves, in the world: v, w, a, alpha, without joint acceleration
RATE_V, RATE_W, RATE_A, RATE_ALPHA, RATES = 0, 3, 6, 9, 12
#: of each touch: point and other, normal, two tangents, gap, curvature
POINT, OTHER, NORMAL, TANGENTS, GAP, COMPLIANCE, SHARE, RADII, TOUCH = 0, 3, 6, 9, 15, 16, 20, 24, 28

#: the workspace of one pair: first what is the nearest
V, LENGTH, ORIGIN, TOP, BOTTOM, SIMPLEX, TRIAL = 0, 3, 4, 8, 12, 16, 32
BASIS = 40  # normal and tangents (9)
FITS = 52  # of both features: height, gradient (2), middle (2)
CURVED = 64  # H (4), K (4)
MOST = 64  # points of a feature
FEATURE = 8 + 3 * MOST  # radius (3), rounding, points
ABOVE, BELOW = 80, 80 + FEATURE
OUTLINE = 2 * 4 * MOST  # points of a polygon
FIRST = BELOW + FEATURE
SECOND, RESULT = FIRST + OUTLINE, FIRST + 2 * OUTLINE
WORK = FIRST + 3 * OUTLINE
#: whole numbers of it: of both features the number of points, the rank, whether there is a radius
POINTS, RANK, RIM, WHOLE = 0, 1, 2, 4
UPPER, LOWER, USED, COUNTS = 0, 4, 8, 8 + 2 * MOST
