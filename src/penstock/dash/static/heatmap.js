// The knob space as the policy saw it: two knobs across and up, colour for what is expected, the path on top.
import { svg, make, settingText, unitsOf } from "./dom.js";

const LEFT = 46, TOP = 6, CELL_W = 30, CELL_H = 22;
// From loss through "no difference" to gain: vermillion, grey, blue. Light and dark pages share it.
const LOSS = [213, 94, 0], EVEN = [238, 238, 238], GAIN = [0, 114, 178];
const SURE = [255, 247, 224], UNSURE = [90, 60, 120];

const mix = (a, b, share) => `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * share)).join(",")})`;
export const gainColour = (log2) =>
  log2 < 0 ? mix(EVEN, LOSS, Math.min(1, -log2 / 1.5)) : mix(EVEN, GAIN, Math.min(1, log2 / 1.5));
const spreadColour = (log2) => mix(SURE, UNSURE, Math.min(1, log2 / 1.5));
const chanceColour = (p) => mix(EVEN, GAIN, p);

// The figures of a map: for gains the gain and its spread, else one for the chance that a setting pays.
export function maps(map, path) {
  const knobs = Object.keys(map.knobs);
  if (knobs.length < 1 || knobs.length > 2) return [];
  if (map.unit === "chance") {
    return [figure("Chance that a setting pays", map, map.p, path, chanceColour, (p) => `chance ${p.toFixed(2)}`)];
  }
  const gain = (log2) => `expected ${(2 ** log2).toFixed(2)} times the original`;
  const spread = (log2) => `within a factor of ${(2 ** log2).toFixed(2)} (one standard deviation)`;
  return [
    figure("Expected gain over the original", map, map.gain_log2, path, gainColour, gain,
      [[-1.5, "0.35 x"], [0, "same"], [1.5, "2.8 x"]]),
    figure("How unsure that is", map, map.spread_log2, path, spreadColour, spread,
      [[0, "sure"], [1.5, "factor 2.8"]]),
  ];
}

function figure(title, map, values, path, colour, words, scale = [[0, "never"], [1, "surely"]]) {
  const [across, up] = Object.keys(map.knobs);
  const xs = distinct(map.knobs[across]), ys = up ? distinct(map.knobs[up]) : [0];
  const width = LEFT + xs.length * CELL_W + 6, height = TOP + ys.length * CELL_H + 66;
  const corner = (setting) => [LEFT + nearest(xs, setting[across]) * CELL_W,
    TOP + (ys.length - 1 - (up ? nearest(ys, setting[up]) : 0)) * CELL_H];
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${summary(map, values, words)}` });
  values.forEach((value, at) => {
    const setting = { [across]: map.knobs[across][at], ...(up ? { [up]: map.knobs[up][at] } : {}) };
    const [x, y] = corner(setting);
    drawing.append(svg("rect", { x, y, width: CELL_W - 1, height: CELL_H - 1, fill: colour(value) },
      svg("title", {}, `${settingText(setting)}: ${words(value)}`)));
  });
  ticks(drawing, xs, ys, { across, up, corner, bottom: TOP + ys.length * CELL_H });
  drawPath(drawing, path.map(corner));
  drawScale(drawing, scale, colour, { width, y: height - 20 });
  return make("figure", {}, make("figcaption", {}, title), drawing);
}

function summary(map, values, words) {
  const at = values.indexOf(Math.max(...values));
  const setting = Object.fromEntries(Object.entries(map.knobs).map(([knob, all]) => [knob, all[at]]));
  return `the highest is ${settingText(setting)}, ${words(values[at])}`;
}

function ticks(drawing, xs, ys, { across, up, corner, bottom }) {
  xs.forEach((value, at) => {
    if (at % 2 === 0) drawing.append(svg("text", { x: LEFT + at * CELL_W + CELL_W / 2, y: bottom + 13,
      "text-anchor": "middle" }, String(value)));
  });
  ys.forEach((value, at) => {
    if (up && at % 2 === 0) drawing.append(svg("text", { x: LEFT - 5, y: corner({ [across]: xs[0], [up]: value })[1] + 15,
      "text-anchor": "end" }, String(value)));
  });
  const units = unitsOf(up ? { [across]: 1, [up]: 1 } : { [across]: 1 });
  const named = (knob) => units[knob] ? `${knob} (${units[knob]})` : knob;
  drawing.append(svg("text", { x: LEFT, y: bottom + 28, class: "soft" }, up ? `${named(across)} across, ${named(up)} up` : named(across)));
}

// A square where it began, a line for the way, a filled circle where it went.
function drawPath(drawing, corners) {
  const middles = corners.map(([x, y]) => [x + CELL_W / 2, y + CELL_H / 2]);
  const line = middles.map((place) => place.join(",")).join(" ");
  for (const [stroke, width] of [["#000", 5], ["#fff", 2.5]]) {
    drawing.append(svg("polyline", { points: line, fill: "none", stroke, "stroke-width": width }));
  }
  if (!middles.length) return;
  const [sx, sy] = corners[0], [ex, ey] = middles[middles.length - 1];
  drawing.append(svg("rect", { x: sx + 3, y: sy + 3, width: CELL_W - 7, height: CELL_H - 7, fill: "none",
    stroke: "#000", "stroke-width": 2.5 }, svg("title", {}, "where it began")));
  drawing.append(svg("circle", { cx: ex, cy: ey, r: 6, fill: "#fff", stroke: "#000", "stroke-width": 2.5 },
    svg("title", {}, "where this change goes")));
}

function drawScale(drawing, scale, colour, { width, y }) {
  const [low, high] = [scale[0][0], scale[scale.length - 1][0]];
  const from = LEFT, to = width - 40, steps = 40;
  for (let i = 0; i < steps; i++) {
    drawing.append(svg("rect", { x: from + (to - from) * i / steps, y: y - 10, width: (to - from) / steps + .6,
      height: 10, fill: colour(low + (high - low) * i / steps) }));
  }
  for (const [value, text] of scale) {
    const x = from + (to - from) * (value - low) / (high - low);
    const anchor = value === low ? "start" : value === high ? "end" : "middle";
    drawing.append(svg("text", { x, y: y + 13, "text-anchor": anchor }, text));
  }
}

const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
const nearest = (values, value) => values.reduce((best, each, at) =>
  Math.abs(Math.log2(Math.max(each, 1)) - Math.log2(Math.max(value, 1))) <
  Math.abs(Math.log2(Math.max(values[best], 1)) - Math.log2(Math.max(value, 1))) ? at : best, 0);
