// SPDX-License-Identifier: Apache-2.0
/* A robot that moves on its own: its joints, the floor, a hand that pulls, motors that hold. Needs no browser.

   A step finds the velocity at its end by (M + h D) v' = M v + h (tau - b) + J^T p. The impulses p of contacts, limits,
   dry friction, motors and the hand are found one after the other (projected Gauss-Seidel; Jourdan, Alart and Jean 1998),
   springs of motors and hand as they are at the end of the step, which no stiffness makes unstable (Catto 2011). */
class Physics {
  /* kernels: what `load` of the exported WebAssembly gives; facts: as `physics_of` has them. */
  constructor(tree, kernels, facts) {
    Object.assign(this, {tree, kernels, facts, nv: facts.nv});
    this.mechanics = new Mechanics(tree, facts.moves, facts.nv);
    this.hand = null;  // {body, point in its frame, target in the world}
    this.wanted = null;  // {joint: position} that motors hold, null: they are off
    this.reset();
  }

  reset(q = this.facts.q) {
    this.q = Float64Array.from(q);
    this.v = new Float64Array(this.nv);
    this.impulses = new Map();
    this.time = 0;
    this.hand = null;
    this.draw();
  }

  /* {joint: position} of those with one coordinate. */
  positions() {
    return Object.fromEntries(this.facts.joints.filter(joint => joint.kind === "single").map(joint =>
      [joint.name, this.q[joint.q]]));
  }

  draw() {
    const poses = {};
    for (const joint of this.facts.joints)
      if (joint.kind !== "single") poses[joint.body] = this.poseOf(joint);
    this.tree.setPositions(this.positions(), poses);
    this.tree.poseOf(-1);
  }

  /* Upper rows of the pose of a joint's body in its parent. */
  poseOf({kind, q, placement, directions}) {
    const matrix = new THREE.Matrix4(), at = Array.from(this.q.slice(q, q + 7));
    if (kind === "floating") matrix.compose(new THREE.Vector3(...at), new THREE.Quaternion(...at.slice(3)), Physics.ONE);
    else if (kind === "spherical") matrix.makeRotationFromQuaternion(new THREE.Quaternion(...at.slice(0, 4)));
    else {
      const [x, y, axis] = directions.map(parts => new THREE.Vector3(...parts));
      matrix.makeRotationAxis(axis, at[2]).setPosition(x.multiplyScalar(at[0]).addScaledVector(y, at[1]));
    }
    const rows = RobotTree.matrixOf(placement).multiply(matrix).transpose().elements;
    return Array.from(rows.slice(0, 12));
  }

  // --- a step -----------------------------------------------------------------------------------------------------

  step(h) {
    const {kernels, q, v, nv, facts} = this, motors = this.wanted ? this.gravity() : new Float64Array(nv);
    const M = kernels.mass_matrix(q), bias = kernels.bias(q, v), push = new Float64Array(nv);
    for (let i = 0; i < nv; i++) {
      push[i] = h * (motors[i] - bias[i]);
      for (let k = 0; k < nv; k++) push[i] += M[nv * i + k] * v[k];
      M[nv * i + i] += h * facts.damping[i];
    }
    const L = Mechanics.factor(M, nv), y = Mechanics.forward(L, push, nv), free = Mechanics.backward(L, y, nv);
    const rows = [...this.springs(h, M, motors), ...this.drag(h, L), ...this.friction(h), ...this.limits(h, free),
      ...this.contacts(h)];
    this.solve(rows, L, y);
    this.v = Mechanics.backward(L, y, nv);
    this.integrate(h);
    this.time += h;
    this.draw();
  }

  /* Adds the impulses of rows to y = L^T v'. A row holds J v' + soft p = target with p in [low, high]; a normal bounds
     the two rows after it to its cone of friction. */
  solve(rows, L, y) {
    for (const row of rows) {
      row.y = Mechanics.forward(L, row.J, this.nv);
      row.size = Mechanics.dot(row.y, row.y) + row.soft;
      row.p = Math.max(row.low, Math.min(row.high, this.impulses.get(row.key) || 0));
      if (row.size > Physics.STILL) Physics.add(y, row.y, row.p); else row.size = row.p = 0;
    }
    for (let turn = 0; turn < Physics.TURNS; turn++) {
      let most = 0;
      for (let k = 0; k < rows.length; k++) {
        const row = rows[k];
        if (row.slips) {
          most = Math.max(most, this.rub(rows[k - 1], row, rows[k + 1], y));
          k++;
          continue;
        }
        if (!row.size) continue;
        const p = row.p + (row.target - Mechanics.dot(row.y, y) - row.soft * row.p) / row.size;
        most = Math.max(most, this.change(row, Math.max(row.low, Math.min(row.high, p)), y));
      }
      if (most < 1e-7) break;
    }
    this.impulses = new Map(rows.map(row => [row.key, row.p]));
  }

  /* Both rows that rub, after their normal: towards rest, and back into the cone of friction. */
  rub(normal, one, other, y) {
    const size = Math.max(one.size, other.size), bound = Physics.FRICTION * normal.p;
    if (!size) return 0;
    const [a, b] = [one, other].map(row => row.p - Mechanics.dot(row.y, y) / size), along = Math.hypot(a, b);
    const share = along > bound ? bound / along : 1;  // what cannot move has a row, and an impulse, of zero
    return Math.max(this.change(one, share * a, y), this.change(other, share * b, y));
  }

  change(row, p, y) {
    const more = p - row.p;
    if (more) Physics.add(y, row.y, more);
    row.p = p;
    return Math.abs(more) * Math.sqrt(row.size);
  }

  static add(y, row, p) { for (let k = 0; k < y.length; k++) y[k] += row[k] * p; }

  row(key, J, target, low, high, soft = 0) { return {key, J, target, low, high, soft}; }

  unit(k, sign = 1) {
    const J = new Float64Array(this.nv);
    J[k] = sign;
    return J;
  }

  /* What holds the robot's joints against gravity, as far as their motors can: N m or N. */
  gravity() {
    const found = this.kernels.bias(this.q, new Float64Array(this.nv)), held = new Float64Array(this.nv);
    for (const {kind, v, effort} of this.facts.joints)
      if (kind === "single") held[v] = Math.max(-effort, Math.min(effort, found[v]));
    return held;
  }

  /* Target velocity and softness of a spring and damper with mass m, critically damped, as they are after h. */
  static spring(m, error, h, rate) {
    const k = m * rate * rate, d = 2 * m * rate, soft = 1 / (h * (d + h * k));
    return [error * h * k * soft, soft];
  }

  springs(h, M, motors) {
    if (!this.wanted) return [];
    return this.facts.joints.filter(joint => joint.name in this.wanted).map(joint => {
      const {v, q, name, effort} = joint, own = M[this.nv * v + v];
      const m = Math.max(own, this.facts.carried / Physics.MOTOR ** 2);  // what stands is carried by any joint
      const [target, soft] = Physics.spring(m, this.wanted[name] - this.q[q], h, Physics.MOTOR);
      return this.row("motor " + name, this.unit(v), target, h * (-effort - motors[v]), h * (effort - motors[v]), soft);
    });
  }

  drag(h, L) {
    if (!this.hand) return [];
    const {body, point, target} = this.hand, at = this.mechanics.place(body, point);
    const most = h * Physics.STRENGTH * Math.max(this.facts.weight, 1);
    return this.mechanics.jacobian(body, point).map((J, axis) => {
      const y = Mechanics.forward(L, J, this.nv), mobility = Math.max(Mechanics.dot(y, y), 1e-9);
      const [wanted, soft] = Physics.spring(1 / mobility, target[axis] - at[axis], h, Physics.HAND);
      return this.row("hand " + axis, J, wanted, -most, most, soft);
    });
  }

  friction(h) {
    return this.facts.joints.flatMap(({name, v, friction}) =>
      friction ? [this.row("dry " + name, this.unit(v), 0, -h * friction, h * friction)] : []);
  }

  /* Of joints that are near a limit, or would be at the end of the step. */
  limits(h, free) {
    return this.facts.joints.filter(joint => joint.kind === "single").flatMap(({name, q, v, low, high}) =>
      [[low, 1], [high, -1]].flatMap(([limit, sign]) => {
        const room = limit === null ? Infinity : sign * (this.q[q] - limit);
        if (room > 0.05 + h * Math.max(0, -sign * free[v])) return [];
        return [this.row("limit " + name + sign, this.unit(v, sign), Physics.back(room, h), 0, Infinity)];
      }));
  }

  /* The velocity that a gap (m or rad) allows within h; what is too deep comes back slowly. */
  static back(gap, h) { return gap > 0 ? -gap / h : Math.min(-0.1 * gap / h, 0.3); }

  /* Three rows for each of at most four points of a body that are near the floor: the normal, and two that rub. */
  contacts(h) {
    const {floor, points} = this.facts, found = [];
    points.forEach(({body, at}) => {
      const pose = this.tree.bodies[body].moved.matrixWorld.elements, near = [];
      for (let k = 0; k < at.length; k += 4) {
        const gap = pose[2] * at[k] + pose[6] * at[k + 1] + pose[10] * at[k + 2] + pose[14] - at[k + 3] - floor;
        if (gap < 0.02) near.push({k, gap, place: Mechanics.moved(pose, at.slice(k, k + 3))});
      }
      for (const {k, gap, place} of Physics.spread(near)) {
        place[2] -= at[k + 3];  // the lowest point of a ball
        const J = this.mechanics.jacobian(body, this.within(pose, place));
        [2, 0, 1].forEach((axis, n) => {
          const row = this.row(`floor ${body} ${k} ${axis}`, J[axis], n ? 0 : Physics.back(gap, h), n ? -Infinity : 0, Infinity);
          row.slips = n === 1;
          found.push(row);
        });
      }
    });
    return found;
  }

  /* A point of the world in a body's frame. */
  within(pose, place) {
    const arm = place.map((x, axis) => x - pose[12 + axis]);
    return [0, 1, 2].map(axis => Mechanics.dot(arm, pose.slice(4 * axis, 4 * axis + 3)));
  }

  /* The deepest, then what is farthest from those there are. */
  static spread(near, most = 4) {
    const left = near.sort((a, b) => a.gap - b.gap).slice(), kept = left.splice(0, 1);
    const apart = one => Math.min(...kept.map(other => Math.hypot(...one.place.map((x, k) => x - other.place[k]))));
    while (kept.length < most && left.length) {
      const far = left.map(apart), best = far.indexOf(Math.max(...far));
      if (far[best] < 1e-3) break;
      kept.push(...left.splice(best, 1));
    }
    return kept;
  }

  // --- along the velocity -----------------------------------------------------------------------------------------

  integrate(h) {
    for (const {kind, q, v} of this.facts.joints) {
      const speed = Array.from(this.v.slice(v, v + 6), x => h * x);
      if (kind === "single") this.q[q] += speed[0];
      else if (kind === "planar") this.slide(q, speed);
      else this.turn(q, kind === "floating", speed);
    }
  }

  slide(q, [x, y, turn]) {
    const middle = this.q[q + 2] + turn / 2, [c, s] = [Math.cos(middle), Math.sin(middle)];
    this.q[q] += c * x - s * y;
    this.q[q + 1] += s * x + c * y;
    this.q[q + 2] += turn;
  }

  /* By a turn and, of what floats, a way in the body's axes. */
  turn(q, floats, speed) {
    const at = floats ? q + 3 : q, half = new THREE.Vector3(...speed.slice(0, 3)).multiplyScalar(0.5), angle = half.length();
    const turned = new THREE.Quaternion(...this.q.slice(at, at + 4)), way = new THREE.Vector3(...speed.slice(3));
    if (floats) way.applyQuaternion(turned).toArray().forEach((x, k) => { this.q[q + k] += x; });
    half.multiplyScalar(angle > 1e-12 ? Math.sin(angle) / angle : 1);
    turned.multiply(new THREE.Quaternion(half.x, half.y, half.z, Math.cos(angle))).normalize();
    turned.toArray().forEach((x, k) => { this.q[at + k] = x; });
  }
}
Physics.ONE = new THREE.Vector3(1, 1, 1);
Physics.STILL = 1e-14;  // 1/kg, below which nothing moves along a row
Physics.TURNS = 40;  // of the solver, at most
Physics.FRICTION = 0.8;  // of the floor
Physics.MOTOR = 25;  // 1/s, of the spring with which a motor holds its joint
Physics.HAND = 15;  // 1/s
Physics.STRENGTH = 3;  // of the hand, times the robot's weight
