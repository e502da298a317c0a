# SPDX-License-Identifier: Apache-2.0
"""Order of each integration method, measured: the error after a second at steps that are halved.

    python -m benchmarks.simulation.orders

Two systems that move smoothly: an arm of two links that swings, and a body that tumbles with two links on it.
"""

from __future__ import annotations

from rigs.orders import METHODS, STEPS, errors, order


def main() -> None:
    print("| method | swinging arm: error at the longest step | order | tumbling body with arm: error | order |")
    print("|---|---|---|---|---|")
    for method in METHODS:
        arm, body = errors(False, method), errors(True, method)
        cells = (f"{found[0]:.1e} | {order(found):.2f}" for found in (arm, body))
        print(f"| {method}, {1e3 * STEPS[method]:g} ms | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
