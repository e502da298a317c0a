// SPDX-License-Identifier: Apache-2.0
/* A robot that moves by its dynamics, no faster than the clock; `element`: what starts and stops it. */
class Simulated {
  /* facts: as `physics_of` has them; shown: called for each picture. */
  constructor(tree, facts, shown) {
    Object.assign(this, {facts, shown, physics: null, running: true, before: null, left: 0, took: 0});
    this.play = make("button", {type: "button", className: "play", onclick: () => this.run(!this.running)});
    this.motors = make("input", {type: "checkbox", checked: true, onchange: () => this.hold(this.motors.checked)});
    this.clock = make("output", {});
    this.element = make("div", {className: "simulated"}, this.play, this.clock,
      make("label", {}, this.motors, "Motors hold the joints"));
    this.run(true);
    load(Uint8Array.from(atob(facts.code), letter => letter.charCodeAt(0))).then(kernels => {
      this.physics = new Physics(tree, kernels, facts);
      this.hold(true);
      requestAnimationFrame(now => this.tick(now));
    }).catch(error => this.stop(error));
  }

  run(running) {
    this.running = running;
    this.play.textContent = running ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", running ? "Pause" : "Play");
  }

  /* Motors hold the joints where they are, or let go. */
  hold(on) {
    this.motors.checked = on;
    if (this.physics) this.physics.wanted = on ? this.physics.positions() : null;
  }

  /* A joint is to go there; its motors are on then. */
  want(joint, position) {
    if (!this.physics) return;
    if (!this.physics.wanted) this.hold(true);
    this.physics.wanted[joint] = position;
  }

  reset() {
    if (!this.physics) return;
    this.physics.reset();
    this.hold(true);
    this.run(true);
  }

  grab(body, point) {
    if (!this.physics || !this.running) return false;
    this.physics.hand = {body, point, target: this.physics.mechanics.place(body, point)};
    return true;
  }

  move(target) { if (this.physics.hand) this.physics.hand.target = target; }

  /* Motors hold what the hand has left. */
  drop() {
    this.physics.hand = null;
    if (this.physics.wanted) this.hold(true);
  }

  tick(now) {
    const elapsed = this.before === null ? 0 : Math.min(now - this.before, 100) / 1000;
    this.before = now;
    if (this.running) {
      this.left += elapsed;
      const until = performance.now() + 12;  // ms of a picture; a slower device shows slow motion
      try {
        for (; this.left > Simulated.STEP; this.left -= Simulated.STEP) {
          if (performance.now() > until) this.left = Simulated.STEP;
          const begin = performance.now();
          this.physics.step(Simulated.STEP);
          this.took += 0.02 * (performance.now() - begin - this.took);
        }
      } catch (error) {
        this.stop(error);
      }
    }
    this.clock.textContent = this.physics.time.toFixed(1) + " s, " + this.took.toFixed(1) + " ms a step";
    this.shown();
    requestAnimationFrame(later => this.tick(later));
  }

  stop(error) {
    this.run(false);
    this.element.append(make("p", {className: "note", role: "alert"}, "The simulation has stopped: " + error.message));
    console.error(error);
  }
}
Simulated.STEP = 1 / 250;  // s
