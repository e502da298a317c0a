// SPDX-License-Identifier: Apache-2.0
/* The torque that holds a robot at rest, and its centre of mass, exactly, wherever its `RobotTree` stands. */
class Gravity {
  /* masses: as `masses_of` has them. */
  constructor(tree, masses) {
    this.tree = tree;
    this.masses = masses;
  }

  /* {joint: N m or N}: a joint feels what its body carries, those of joints that follow it too. */
  torques() {
    const {gravity} = this.masses, carried = this.carried(), found = {};
    this.tree.robot.bodies.forEach((body, k) => {
      if (!body.twist) return;
      const {mass, moment, pose} = carried[k], [turn, along] = [body.twist.slice(0, 3), body.twist.slice(3)]
        .map(part => Gravity.turned(pose, part));
      const lever = moment.map((x, axis) => x - mass * pose[12 + axis]);
      const power = Gravity.cross(turn, lever).map((x, axis) => x + mass * along[axis]);
      const torque = -(power[0] * gravity[0] + power[1] * gravity[1] + power[2] * gravity[2]);
      found[body.joint] = (found[body.joint] || 0) + body.multiplier * torque;
    });
    return found;
  }

  /* (x, y, z), m, of all that has mass; null where nothing has. */
  centre() {
    const mass = this.masses.fixed.mass + this.masses.bodies.reduce((sum, body) => sum + body.mass, 0);
    if (!mass) return null;
    const parts = this.carried(), whole = [...this.masses.fixed.moment];
    this.tree.robot.bodies.forEach((body, k) => {
      if (body.parent < 0) parts[k].moment.forEach((x, axis) => { whole[axis] += x; });
    });
    return whole.map(x => x / mass);
  }

  /* Of each body with all that it carries: mass, first moment in the world, and its own pose, columns one after the other. */
  carried() {
    const {tree, masses} = this;
    tree.world.updateMatrixWorld(true);
    const found = masses.bodies.map(({mass, moment}, k) => {
      const pose = tree.bodies[k].moved.matrixWorld.elements;
      return {mass, pose, moment: Gravity.turned(pose, moment).map((x, axis) => x + mass * pose[12 + axis])};
    });
    for (let k = found.length - 1; k >= 0; k--) {
      const parent = found[tree.robot.bodies[k].parent];
      if (!parent) continue;
      parent.mass += found[k].mass;
      found[k].moment.forEach((x, axis) => { parent.moment[axis] += x; });
    }
    return found;
  }

  static turned(pose, [x, y, z]) {
    return [0, 1, 2].map(axis => pose[axis] * x + pose[4 + axis] * y + pose[8 + axis] * z);
  }

  static cross([a, b, c], [x, y, z]) { return [b * z - c * y, c * x - a * z, a * y - b * x]; }
}
