# SPDX-License-Identifier: Apache-2.0
"""How well the normal of a curved surface is estimated while a Panda presses and draws a circle on it.

    python -m benchmarks.control.pressing_normals

The angle between the normal that the controller has where the tool is and the true one, in degrees.
"""

from __future__ import annotations

import numpy as np
from rigs.compliant_plant import Surroundings
from rigs.pressing_cell import Cell, Setting, circle_points

CIRCLE = (0.04, 3.0)  # m, s
#: shape, radius (m), by how much it is given beside where it is (m), noise of the sensor (N)
CASES = (
    ("plane", 1.0, 0.0, 0.0), ("sphere", 0.3, 0.0, 0.0), ("sphere", 0.3, 0.02, 0.0), ("sphere", 0.3, 0.02, 0.2),
    ("cylinder", 0.3, 0.02, 0.0), ("sphere", 0.1, 0.01, 0.0),
)  # fmt: skip


def main() -> None:
    print("| surface | radius, m | beside, mm | noise, N | at the begin | last second | largest in the second half "
          "| force, N |\n" + "|---" * 8 + "|")  # fmt: skip
    for shape, radius, beside, noise in CASES:
        around = Surroundings(shape=shape, radius=radius, friction=0.3)
        misplaced = (beside, 0.0, 0.0)
        cell = Cell(Setting(around=around, misplaced=misplaced, estimate_normal=True, noise=noise))
        cell.run(0.3).engage().run(3.0)
        begin = len(cell.seen)
        cell.move(*circle_points(*CIRCLE))
        angles = []
        for _ in range(round(1000 * (CIRCLE[1] + 0.5))):
            cell.step()
            true, _ = cell.plant.normal_at(cell.plant.position)
            angles.append(np.degrees(np.arccos(min(1.0, float(true @ cell.normal_of(cell.plant.q))))))
        forces, late = cell.forces[begin:], angles[len(angles) // 2 :]
        print(f"| {shape} | {radius:g} | {1e3 * beside:g} | {noise:g} | {angles[0]:.2f} | {np.mean(angles[-1000:]):.2f}"
              f" | {max(late):.2f} | {forces.min():.2f} to {forces.max():.2f} |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
