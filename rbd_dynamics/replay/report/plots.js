// SPDX-License-Identifier: Apache-2.0
/* The plots, a tab each, in the page's colours; and the cursor, a time that plots show and set. */
const place = document.getElementById("figure");
const tabs = [...document.querySelectorAll("[role=tab]")];
let shown = 0, range = null;

const cursor = timeCursor(times);

/* A colour of a figure, "#rrggbb" or with an alpha, as it is in the dark. */
function shade(colour) {
  return dark.matches && colour ? (darker[colour.slice(0, 7)] || colour.slice(0, 7)) + colour.slice(7) : colour;
}

function themed(layout) {
  const ink = css("--ink"), line = css("--line"), soft = css("--soft");
  const result = {...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    modebar: {bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink},
    font: {color: ink, family: "system-ui, sans-serif", size: 12},
    hoverlabel: {bgcolor: css("--card"), bordercolor: css("--axis"), font: {color: ink}}};
  for (const key of Object.keys(result)) {
    if (/^[xy]axis/.test(key))
      result[key] = {...result[key], gridcolor: line, zerolinecolor: css("--axis"), linecolor: line, spikecolor: soft};
  }
  if (place.clientWidth < 600 && !layout.grid) {  // the legend takes a line more, and the buttons have one of their own
    result.height += 44;
    result.margin = {...layout.margin, t: layout.margin.t + 44, l: 44, r: 8};
  }
  result.shapes = (layout.shapes || []).map(shape => ({...shape, fillcolor: shade(shape.fillcolor),
    line: {...shape.line, color: shade(shape.line.color)}}));
  return result;
}

function tinted(trace) {
  const result = {...trace};
  if (trace.line) result.line = {...trace.line, color: shade(trace.line.color)};
  if (trace.marker) result.marker = {...trace.marker, color: shade(trace.marker.color)};
  if (trace.fillcolor) result.fillcolor = shade(trace.fillcolor);
  return result;
}

function drawable(trace) {
  const filled = {...trace, y: unpacked(trace.y), x: trace.x === "times" ? times : unpacked(trace.x)};
  return trace.upTo ? outlined({...filled, upTo: unpacked(trace.upTo)}) : filled;
}

function outlined(trace) {
  const x = [], y = [];
  for (let begin = 0, end; begin < times.length; begin = end + 1) {
    for (end = begin; end < times.length && times[end] !== null && trace.y[end] !== null; end++);
    if (end === begin) continue;
    const stretch = times.slice(begin, end);
    x.push(...stretch, ...stretch.reverse(), times[begin], null);
    y.push(...trace.y.slice(begin, end), ...trace.upTo.slice(begin, end).reverse(), trace.y[begin], null);
  }
  return {...trace, x, y, upTo: undefined};
}

function show(index) {
  shown = index;
  tabs.forEach((tab, k) => tab.setAttribute("aria-selected", k === index));
  const figure = figures[index], layout = themed(figure.layout), timed = !layout.grid;
  if (timed && range) layout.xaxis = {...layout.xaxis, range};
  place.replaceChildren(document.createElement("div"));
  const plot = place.firstChild;
  const data = figure.data.map(tinted).map(drawable);
  Plotly.newPlot(plot, data, layout, {responsive: true, displaylogo: false}).then(() => {
    if (!timed) return;
    plot.on("plotly_relayout", change => {
      if ("xaxis.range[0]" in change) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (change["xaxis.autorange"]) range = null;
    });
    withCursor(plot);
  });
}

/* A line at the cursor's time, which goes where a mouse or a finger is. */
function withCursor(plot) {
  const line = document.createElement("div");
  line.className = "cursor";
  plot.append(line);
  const follow = () => {
    const axis = plot._fullLayout.xaxis, x = axis.l2p(cursor.t), inside = cursor.moved && x >= 0 && x <= axis._length;
    line.hidden = !inside;
    if (!inside) return;
    line.style.left = axis._offset + x + "px";
    line.style.top = plot._fullLayout._size.t + "px";
    line.style.height = plot._fullLayout._size.h + "px";
  };
  const point = event => {
    const axis = plot._fullLayout.xaxis, x = event.clientX - plot.getBoundingClientRect().left - axis._offset;
    if (cursor.playing || x < 0 || x > axis._length) return;
    cursor.moved = true;
    cursor.set(cursor.near(axis.p2l(x)));
  };
  for (const type of ["pointermove", "pointerup"]) plot.addEventListener(type, point);  // up: a tap, not a swipe
  plot.on("plotly_afterplot", follow);
  cursor.listeners[0] = follow;
  follow();
}
// plotly would take a swipe for a zoom; where it sees no touches, up and down scroll the page
for (const type of ["touchstart", "touchmove"])
  place.addEventListener(type, event => event.stopPropagation(), {capture: true, passive: true});

tabs.forEach((tab, k) => tab.addEventListener("click", () => {
  history.replaceState(null, "", "#" + encodeURIComponent(tab.textContent));
  show(k);
}));
const wanted = tabs.findIndex(tab => tab.textContent === decodeURIComponent(location.hash.slice(1)));
if (figures.length) show(Math.max(wanted, 0));
dark.addEventListener("change", () => figures.length && show(shown));
