// SPDX-License-Identifier: Apache-2.0
/* The robot beside the plots: where it was at the cursor's time, joints in the colour of their residual, and the bodies
   that may have been touched. */
(() => {
  const side = document.getElementById("side");
  for (const joint of Object.values(motion.joints)) joint.residual = unpacked(joint.residual);
  for (const name in motion.positions) motion.positions[name] = unpacked(motion.positions[name]);
  const names = Object.keys(motion.joints), events = motion.contacts;
  const host = make("div", {className: "view"});
  const player = playerOf(cursor, times);
  const bar = make("div", {className: "bar"});
  bar.style.background = `linear-gradient(90deg, ${motion.scale.join(", ")})`;
  const ticks = ["0", "1", "2 ×"].map(text => make("span", {}, text));
  const legend = make("div", {className: "legend"}, make("span", {}, "Joints: residual ÷ " + motion.level[0]),
    make("div", {className: "scale"}, bar, make("div", {className: "ticks"}, ...ticks)));
  const touch = make("div", {className: "touch"});
  const cells = names.map(name => ({swatch: make("i", {}), value: make("td", {}), share: make("td", {})}));
  const rows = names.map((name, k) => make("tr", {}, make("th", {}, cells[k].swatch, name), cells[k].value, cells[k].share));
  const heads = ["joint", "residual", "÷ " + motion.level[1]].map(text => make("th", {}, text));
  const list = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  const key = make("div", {className: "key"}, list);
  const seen = make("div", {className: "seen"}, host, zoomButtons(() => view), player.element, legend, touch);
  side.append(seen, key);

  let view;
  try {
    view = new RobotView(host, robot);
  } catch (error) {
    host.replaceChildren(noWebGL());
  }

  const number = x => x.toFixed(Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2).replace(/^-(?=[0.]*$)/, "");
  const mixed = (a, b, share) => "#" + [1, 3, 5].map(k => {
    const [x, y] = [a, b].map(colour => parseInt(colour.slice(k, k + 2), 16));
    return Math.round(x + (y - x) * share).toString(16).padStart(2, "0");
  }).join("");
  const colourOf = share => {
    const at = Math.min(Math.max(share, 0), 2) / 2 * (motion.scale.length - 1), low = Math.min(Math.floor(at), 3);
    return mixed(motion.scale[low], motion.scale[low + 1], at - low);
  };
  const positionsAt = sample => Object.fromEntries(
    Object.entries(motion.positions).map(([name, values]) => [name, values[sample]]));

  function update() {
    const sample = cursor.steps[cursor.step], t = cursor.t;
    player.show();
    if (view) view.setPositions(positionsAt(sample));
    names.forEach((name, k) => {
      const {residual, level, unit} = motion.joints[name], value = residual[sample];
      const known = value !== null && level !== null && level !== undefined;
      const share = known ? Math.abs(value) / level : 0, colour = known ? colourOf(share) : null;
      cells[k].swatch.style.background = colour || "none";
      cells[k].value.textContent = value === null ? "–" : number(value).replace("-", "−") + " " + unit;
      cells[k].share.textContent = known ? share.toFixed(1) + " ×" : "–";
      if (view) view.markJoint(name, colour);
    });
    const event = events.find(one => one.start <= t && t <= one.end);
    const near = new Set(event ? event.nearest : []), far = new Set(event ? event.beyond : []);
    robot.bodies.forEach((body, k) => view && view.tintBody(k,
      near.has(body.name) ? css("--touched") : far.has(body.name) ? css("--touchable") : null));
    touch.replaceChildren(...said(event));
  }

  /* What the external torque says of where it was touched, and no more. */
  function said(event) {
    if (!event) return [events.length ? "No contact at this time." : "No contact was found."];
    const what = event.load ? "Perhaps a load" : "Perhaps touched", where = event.nearest.join(" or ");
    if (!where) return [what + ", but by no single force: no link is moved by all of " + event.joints.join(", ") + "."];
    const swatch = name => make("i", {className: name});
    const beyond = event.beyond.length ? [", or ", swatch("touchable"), "what it carries"] : [];
    return [what + ": ", swatch("touched"), where, ...beyond, ". It shows in " + event.joints.join(", ") + "."];
  }

  function recolour() {
    if (view) view.colour(viewColours());
    update();
  }

  if (view) {
    const some = Array.from({length: 24}, (_, k) => cursor.steps[Math.round(k / 23 * (cursor.steps.length - 1))]);
    view.fit(some.map(positionsAt));
  }
  cursor.listeners[1] = update;
  dark.addEventListener("change", recolour);
  recolour();
  window.robotView = view;
})();
