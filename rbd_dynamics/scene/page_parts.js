// SPDX-License-Identifier: Apache-2.0
/* What pages with a robot are made of: colours, numbers, a time that is played. */
const dark = matchMedia("(prefers-color-scheme: dark)");

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/* Numbers as `packing` has them; null where there is none. */
function unpacked({low, step, codes}) {
  const bytes = Uint8Array.from(atob(codes), letter => letter.charCodeAt(0));
  const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(step))));
  return Array.from(new Uint16Array(bytes.buffer),
    code => code === 65535 ? null : Number((low + code * step).toFixed(digits)));
}

/* A time among `times` (null between stretches), which several parts of a page show and set. */
function timeCursor(times) {
  return {
    step: 0,
    steps: times.map((t, k) => k).filter(k => times[k] !== null),
    listeners: [],
    get t() { return times[this.steps[this.step]]; },
    /* The number of the sample next to a time. */
    near(t) {
      let low = 0, high = this.steps.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (times[this.steps[middle]] <= t) low = middle; else high = middle;
      }
      return t - times[this.steps[low]] < times[this.steps[high]] - t ? low : high;
    },
    set(step) {
      this.step = Math.max(0, Math.min(this.steps.length - 1, step));
      this.listeners.forEach(listener => listener());
    },
  };
}

/* A button, a slider and a clock for a cursor: `element`; `show` brings them to its time. */
function playerOf(cursor, times) {
  const play = make("button", {type: "button", className: "play", textContent: "▶"});
  const slider = make("input", {type: "range", min: 0, max: cursor.steps.length - 1, value: 0});
  slider.setAttribute("aria-label", "time");
  const clock = make("output", {});

  // at most a minute for all; gaps between stretches are passed over
  const end = cursor.steps.length - 1, whole = times[cursor.steps[end]] - times[cursor.steps[0]];
  const speed = Math.max(1, whole / 60), gap = Math.max(1, 0.02 * whole);
  let before = 0, at = 0;
  function tick(now) {
    if (!cursor.playing) return;
    at += Math.min(now - before, 100) / 1000 * speed;
    before = now;
    const next = times[cursor.steps[Math.min(cursor.step + 1, end)]];
    if (next - at > gap) at = next;
    const step = cursor.near(at);
    if (step > cursor.step) cursor.set(step);
    if (cursor.step >= end) return stop();
    requestAnimationFrame(tick);
  }
  function stop() {
    cursor.playing = false;
    play.textContent = "▶";
    play.setAttribute("aria-label", speed > 1 ? `play, ${speed.toFixed(1)} times as fast` : "play");
  }
  play.addEventListener("click", () => {
    if (cursor.playing) return stop();
    cursor.playing = cursor.moved = true;
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "pause");
    if (cursor.step >= end) cursor.set(0);
    before = performance.now();
    at = cursor.t;
    requestAnimationFrame(tick);
  });
  slider.addEventListener("input", () => { cursor.moved = true; cursor.set(Number(slider.value)); at = cursor.t; });

  stop();
  const show = () => {
    slider.value = cursor.step;
    clock.textContent = cursor.t.toFixed(2) + " s";
    slider.setAttribute("aria-valuetext", clock.textContent);
  };
  return {element: make("div", {className: "player"}, play, slider, clock), show, stop};
}

/* Two of them; view: a function that returns the view, or nothing. */
function zoomButtons(view) {
  const buttons = [["+", 1.25, "closer"], ["−", 0.8, "farther"]].map(([sign, factor, label]) => {
    const button = make("button", {type: "button", textContent: sign, onclick: () => view() && view().zoom(factor)});
    button.setAttribute("aria-label", label);
    return button;
  });
  return make("div", {className: "zoom"}, ...buttons);
}

function noWebGL() {
  return make("p", {className: "note"}, "This browser draws nothing in 3-D: it has no WebGL.");
}

/* Of a colour scheme's variables in the page's style. */
function viewColours() {
  return {link: css("--link"), other: css("--other-link"), line: css("--axis"), outline: css("--outline")};
}
