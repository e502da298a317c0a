// SPDX-License-Identifier: Apache-2.0
/* How fast points of a robot move, and postures in which a point is somewhere else. Needs no browser.
   moves: of each body of a `RobotTree`, null or {first, columns}: twists (w, v) in its frame as the coordinates `first`,
   `first + 1`... of its joint move by one. */
class Mechanics {
  constructor(tree, moves, count) {
    Object.assign(this, {tree, moves, count});
  }

  /* Point (x, y, z) of a body's frame, in the world. */
  place(body, point) { return Mechanics.moved(this.tree.poseOf(body).elements, point); }

  /* Its velocity in the world, three rows of `count` numbers, as each coordinate moves by one. Poses must be up to date:
     after `tree.setPositions` one call of `place` or `poseOf`. */
  jacobian(body, point) {
    const rows = [0, 1, 2].map(() => new Float64Array(this.count)), {tree, moves} = this;
    const at = Mechanics.moved(tree.bodies[body].moved.matrixWorld.elements, point);
    for (let k = body; k >= 0; k = tree.robot.bodies[k].parent) {
      if (!moves[k]) continue;
      const pose = tree.bodies[k].moved.matrixWorld.elements;
      const arm = [at[0] - pose[12], at[1] - pose[13], at[2] - pose[14]];
      moves[k].columns.forEach((column, c) => {
        const turn = Gravity.turned(pose, column.slice(0, 3)), along = Gravity.turned(pose, column.slice(3));
        const across = Gravity.cross(turn, arm);
        for (let axis = 0; axis < 3; axis++) rows[axis][moves[k].first + c] += across[axis] + along[axis];
      });
    }
    return rows;
  }

  /* How coordinates change that take a point towards a target by damped least squares (Wampler 1986), each by at most
     `most`; those of `held` rest. */
  towards(body, point, target, held, most = 0.2) {
    const rows = this.jacobian(body, point), at = this.place(body, point);
    for (const row of rows) held.forEach((rests, k) => { if (rests) row[k] = 0; });
    const size = Math.max(...rows.map(row => Mechanics.dot(row, row)), 1e-12), damped = [0, 1, 2].map(i =>
      [0, 1, 2].map(j => Mechanics.dot(rows[i], rows[j]) + (i === j ? 1e-3 * size : 0)));
    const pull = Mechanics.solved(Mechanics.factor(damped.flat(), 3), at.map((x, axis) => target[axis] - x), 3);
    const change = Array.from({length: this.count}, (_, k) => rows.reduce((sum, row, i) => sum + row[k] * pull[i], 0));
    const largest = Math.max(...change.map(Math.abs)), share = largest > most ? most / largest : 1;
    return change.map(x => x * share);
  }

  static moved(pose, point) {
    return Gravity.turned(pose, point).map((x, axis) => x + pose[12 + axis]);
  }

  static dot(a, b) {
    let sum = 0;
    for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
    return sum;
  }

  /* Lower triangular L with L L^T = A (n, n), row after row. Throws where A is not positive. */
  static factor(matrix, n) {
    const L = Float64Array.from(matrix);
    for (let j = 0; j < n; j++) {
      for (let i = j; i < n; i++) {
        let sum = L[n * i + j];
        for (let k = 0; k < j; k++) sum -= L[n * i + k] * L[n * j + k];
        if (i === j && !(sum > 0)) throw new Error("the mass matrix is singular");
        L[n * i + j] = i === j ? Math.sqrt(sum) : sum / L[n * j + j];
      }
    }
    return L;
  }

  /* L^-1 x, L^-T x and (L L^T)^-1 x. */
  static forward(L, x, n) {
    const y = Float64Array.from(x);
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) y[i] -= L[n * i + k] * y[k];
      y[i] /= L[n * i + i];
    }
    return y;
  }

  static backward(L, x, n) {
    const y = Float64Array.from(x);
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) y[i] -= L[n * k + i] * y[k];
      y[i] /= L[n * i + i];
    }
    return y;
  }

  static solved(L, x, n) { return Mechanics.backward(L, Mechanics.forward(L, x, n), n); }
}
