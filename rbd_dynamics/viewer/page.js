// SPDX-License-Identifier: Apache-2.0
/* The page of a robot: its view, a slider for each joint, and bars of the torques that hold and that move it. */
const page = (() => {
  const PARTS = ["shapes", "inertia", "frames"];
  const host = make("div", {className: "view"}), seen = document.getElementById("seen");
  if (motion) {
    for (const group of ["positions", "torques"])
      for (const name in motion[group]) motion[group][name] = unpacked(motion[group][name]);
    for (const index in motion.poses) motion.poses[index] = motion.poses[index].map(unpacked);
  }
  const cursor = motion && timeCursor(motion.times), player = motion && playerOf(cursor, motion.times);
  let tree, view = null, hand = null;
  try {
    tree = view = new RobotView(host, robot);
  } catch (error) {
    tree = new RobotTree(robot);
    host.replaceChildren(noWebGL());
  }
  const gravity = new Gravity(tree, masses), positions = {...posture};
  const simulated = physics && new Simulated(tree, physics, update);
  const mechanics = new Mechanics(tree, robot.bodies.map(body => {
    const first = joints.findIndex(joint => joint.name === body.joint);
    return body.twist && first >= 0 ? {first, columns: [body.twist.map(x => x * body.multiplier)]} : null;
  }), joints.length);
  let followed = Boolean(motion);  // whether the robot stands where the motion has it

  // --- numbers ----------------------------------------------------------------------------------------------------

  const text = (x, digits) => x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  const number = x => text(x, Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2);
  const place = (x, unit) => text(x, 3) + " " + unit + (unit === "rad" ? " (" + text(x * 180 / Math.PI, 0) + "°)" : "");

  /* What a bar has at its end: the limit of the effort; without one the largest torque, or force, of all joints at many
     postures and in the motion, but no less than what is little beside the robot's weight: a bar that had its own would
     be full of what is nothing to the robot, or of rounding. */
  const most = {};
  const count = (joint, value) => { most[joint.torque_unit] = Math.max(most[joint.torque_unit] || 0, Math.abs(value)); };
  for (let k = 0; joints.some(joint => !joint.effort) && k < 200; k++) {
    // steps of the roots of primes, which are evenly spread in all directions
    const some = {...positions};
    joints.forEach((joint, j) => { some[joint.name] = joint.low + (joint.high - joint.low) * ((k * Math.sqrt(j + 2)) % 1); });
    tree.setPositions(some);
    const found = gravity.torques();
    for (const joint of joints) count(joint, found[joint.name]);
  }
  if (motion) for (const joint of joints) count(joint, motion.largest[joint.name]);
  const scales = Object.fromEntries(joints.map(joint =>
    [joint.name, joint.effort || Math.max(joint.least, most[joint.torque_unit])]));

  // --- joints -----------------------------------------------------------------------------------------------------

  const rows = joints.map((joint, k) => {
    const slider = make("input", {type: "range", min: joint.low, max: joint.high, step: "any", id: "joint" + k});
    const where = make("output", {}), bars = make("div", {className: motion ? "bars two" : "bars"});
    const held = make("div", {className: "gravity"}), taken = make("div", {className: "torque"});
    bars.append(held, ...(motion ? [taken] : []));
    const told = make("span", {}), moving = make("span", {}), limit = make("span", {});
    limit.textContent = joint.effort ? "limit " + number(joint.effort) : "";
    const label = make("label", {htmlFor: slider.id}, joint.name);
    const element = make("div", {className: "joint"}, make("div", {className: "name"}, label, where),
      make("div", {className: "both"}, slider, bars),
      make("div", {className: "effort"}, told, ...(motion ? [moving] : []), limit));
    slider.addEventListener("input", () => {
      if (simulated) { simulated.want(joint.name, Number(slider.value)); return; }
      leave();
      positions[joint.name] = Number(slider.value);
      update();
    });
    return {element, slider, where, held, taken, told, moving};
  });

  function fill(bar, value, joint) {
    const share = Math.min(1, Math.abs(value) / (scales[joint.name] || 1));
    bar.style.width = 50 * share + "%";
    bar.style.left = (value < 0 ? 50 - 50 * share : 50) + "%";
    bar.classList.toggle("over", over(value, joint));
  }
  function over(value, joint) { return Boolean(joint.effort) && Math.abs(value) > joint.effort; }

  function say(where, what, value, joint) {
    where.textContent = value === null ? "" : what + " " + number(value) + " " + joint.torque_unit;
    where.classList.toggle("over", value !== null && over(value, joint));
  }

  // --- what is shown ----------------------------------------------------------------------------------------------

  const labels = {shapes: "Shapes", inertia: "Inertia ellipsoids", frames: "Frames", centre: "Centre of mass"};
  const toggles = Object.fromEntries(Object.keys(labels).map(name =>
    [name, make("input", {type: "checkbox", checked: name === "shapes", onchange: mark})]));
  const reset = make("button", {type: "button", className: "reset", textContent: "Reset"});
  reset.addEventListener("click", () => {
    Object.assign(positions, posture);
    if (simulated) simulated.reset();
    else if (motion) { player.stop(); followed = true; cursor.set(0); } else update();
    if (view) view.resetView();
  });

  function mark() {
    if (!view) return;
    for (const name of PARTS) view.show(name, toggles[name].checked);
    view.markPoint(toggles.centre.checked ? gravity.centre() : null);
  }

  const positionsAt = sample => Object.fromEntries(
    Object.entries(motion.positions).map(([name, values]) => [name, values[sample]]));
  const posesAt = sample => Object.fromEntries(
    Object.entries(motion.poses).map(([index, columns]) => [index, columns.map(column => column[sample])]));

  function leave() {
    if (!motion) return;
    player.stop();
    followed = false;
  }

  function update() {
    const sample = followed ? cursor.steps[cursor.step] : null, moved = simulated && simulated.physics;
    if (sample !== null) Object.assign(positions, positionsAt(sample));
    if (motion) player.show();
    if (moved) Object.assign(positions, moved.positions());
    else tree.setPositions(positions, sample === null ? {} : posesAt(sample));
    const found = gravity.torques();
    joints.forEach((joint, k) => {
      const row = rows[k], value = found[joint.name], torque = sample === null ? null : motion.torques[joint.name][sample];
      row.slider.value = moved && moved.wanted ? moved.wanted[joint.name] : positions[joint.name];
      row.where.textContent = place(positions[joint.name], joint.unit);
      row.slider.setAttribute("aria-valuetext", row.where.textContent);
      fill(row.held, value, joint);
      say(row.told, "gravity", value, joint);
      if (motion) { fill(row.taken, torque || 0, joint); say(row.moving, "motion", torque, joint); }
    });
    if (view && toggles.centre.checked) view.markPoint(gravity.centre());
  }

  /* Joints follow the hand as far as they can; all but those of the body and what carries it rest. */
  let taken = null;
  const pull = {
    grab: (body, point) => {
      if (!mechanics.jacobian(body, point).some(row => row.some(x => x !== 0))) return false;
      leave();
      taken = {body, point};
      return true;
    },
    move: target => {
      for (let k = 0; k < 10; k++) {
        tree.setPositions(positions);
        tree.poseOf(-1);
        const at = joints.map(joint => positions[joint.name]), held = at.map(() => false);
        let next = at;
        for (let again = true; again;) {  // joints at their limits rest, and the others make up for them
          again = false;
          const change = mechanics.towards(taken.body, taken.point, target, held);
          next = at.map((x, j) => Math.max(joints[j].low, Math.min(joints[j].high, x + change[j])));
          change.forEach((dx, j) => {
            if (!held[j] && Math.abs(next[j] - at[j] - dx) > 1e-9) held[j] = again = true;
          });
        }
        joints.forEach((joint, j) => { positions[joint.name] = next[j]; });
      }
      update();
    },
    drop: () => { taken = null; },
  };

  function recolour() {
    if (view) view.colour(viewColours());
    update();
  }

  // --- together ---------------------------------------------------------------------------------------------------

  const swatch = (name, said) => make("span", {}, make("i", {className: name}), said);
  const legend = make("div", {className: "legend"}, swatch("gravity", "holds against gravity"),
    ...(motion ? [swatch("torque", "of the motion")] : []));
  seen.append(host, zoomButtons(() => view), ...(motion ? [player.element] : []),
    ...(simulated ? [simulated.element] : []), make("div", {className: "toggles"},
    ...Object.keys(toggles).map(name => make("label", {}, toggles[name], labels[name])), reset));
  document.getElementById("joints").append(legend, ...rows.map(row => row.element));
  if (view) {
    const some = motion ? Array.from({length: 24}, (_, k) => Math.round(k / 23 * (cursor.steps.length - 1))) : [];
    view.fit(motion ? some.map(positionsAt) : [posture], some.map(posesAt));
    hand = new Hand(view, host, simulated || pull);
    view.addMarks("inertia", marks.inertia);
    view.addMarks("frames", marks.frames.map(frame => ({...frame, size: frame.size * view.size})));
  }
  if (motion) cursor.listeners.push(() => { followed = true; update(); });
  dark.addEventListener("change", recolour);
  recolour();
  return {tree, view, gravity, positions, cursor, update, simulated, hand};
})();
