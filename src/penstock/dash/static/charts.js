// Drawings by hand: one chart a target with throughput and settings over a shared time axis, and the gain's interval.
import { svg, number, clock, axisOf, rate, unitsOf, DISTURBANCES, KINDS } from "./dom.js";

const FAR_APART_S = 6;
const LEFT = 48, RIGHT = 10, TOP = 24, RATE_H = 130, GAP = 30, STEP_H = 84, BOTTOM = 24, BAND_H = 16;
const KNOBS = ["var(--k0)", "var(--k1)", "var(--k2)"];
const DASHES = ["", "7 3", "2 3"];

export const knobStyle = (at) => ({ colour: KNOBS[at % 3], dash: DASHES[at % 3] });

// {points: [[t, read, write, twin?]...], steps: [[t, {knob: value}]...]}, changes of this target, options.
export function targetChart(track, changes, { width, virtual, from, to, onChange, bands = [], spans = [], kinds }) {
  const height = TOP + RATE_H + GAP + STEP_H + BOTTOM + (bands.length ? BAND_H : 0);
  const top = TOP + (bands.length ? BAND_H : 0);
  const x = (t) => LEFT + (width - LEFT - RIGHT) * (to > from ? (t - from) / (to - from) : 1);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `throughput and setting of ${track.name} over time` });
  const inside = track.points.filter((point) => point[0] >= from - 1e-9);
  drawBands(drawing, bands, x, top, height - BOTTOM, from, to);
  drawSpans(drawing, spans, x, top, from, to);
  drawRates(drawing, inside, x, { top, width, kinds, axis: axisOf(track.unit) });
  drawSteps(drawing, track.steps, x, { top: top + RATE_H + GAP, width, from, to });
  drawTimes(drawing, { from, to, x, y: height - 6, width, virtual });
  const visible = changes.filter((change) => change.t_s >= from && change.t_s <= to + 1e-9);
  // More lines than this would hide what they cross; the signs below stay.
  const dense = visible.length > (width - LEFT) / 12;
  for (const change of visible) {
    drawing.append(changeMark(change, x(change.t_s), { top, bottom: height - BOTTOM, onChange, virtual, dense }));
  }
  return drawing;
}

function drawBands(drawing, bands, x, top, bottom, from, to) {
  bands.forEach((band, at) => {
    const left = x(Math.max(band.from, from)), right = x(Math.min(band.to ?? to, to));
    if (right <= left) return;
    drawing.append(svg("rect", { x: left, y: top, width: right - left, height: bottom - top,
      fill: at % 2 ? "var(--neutral)" : "none", opacity: .7 }));
    const cramped = left + 4 + band.name.length * 7 > x(to);
    drawing.append(svg("text", { x: cramped ? x(to) : left + 4, y: top - 5, class: "soft", "text-anchor": cramped ? "end" : "start" },
      band.name));
  });
}

// What disturbs the client, as a bar with its name on top of the throughput.
function drawSpans(drawing, spans, x, top, from, to) {
  for (const span of spans) {
    const left = x(Math.max(span.from, from)), right = x(Math.min(span.to ?? to, to)), name = DISTURBANCES[span.what] || span.what;
    if (right <= left) continue;
    drawing.append(svg("rect", { class: "span", x: left, y: top, width: right - left, height: RATE_H, fill: "var(--bad)", opacity: .09 },
      svg("title", {}, name)));
    drawing.append(svg("rect", { x: left, y: top, width: right - left, height: 4, fill: "var(--bad)" }));
    const cramped = left + name.length * 7 > x(to);
    drawing.append(svg("text", { x: cramped ? x(to) : left + 2, y: top + 16, "text-anchor": cramped ? "end" : "start" }, name));
  }
}

function drawRates(drawing, points, x, { top, width, kinds, axis }) {
  const most = Math.max(axis.scale, ...points.map((p) => Math.max(p[1] + p[2], p[3] ?? 0)));
  const scale = roundUp(most / axis.scale) * axis.scale;
  const y = (value) => top + RATE_H - RATE_H * Math.min(value / scale, 1);
  for (const share of [0, .5, 1]) {
    level(drawing, y(share * scale), number(share * scale / axis.scale), width);
  }
  drawing.append(svg("text", { x: 0, y: top - 11, class: "soft" }, axis.unit));
  const line = (values, colour, dash) => {
    for (const part of unbroken(values)) {
      if (part.length === 1) {
        drawing.append(svg("circle", { cx: x(part[0][0]), cy: y(part[0][1]), r: 2.5, fill: colour }));
      }
      drawing.append(svg("polyline", { fill: "none", stroke: colour, "stroke-width": 2,
        "stroke-dasharray": dash || null,
        points: part.map(([t, value]) => `${x(t).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
    }
  };
  if (points.some((p) => p[3] !== undefined)) {
    line(points.filter((p) => p[3] !== undefined).map((p) => [p[0], p[3]]), "var(--twin)", "5 3");
  }
  if (kinds.split) {
    line(points.map((p) => [p[0], p[1]]), "var(--tuned)");
    line(points.map((p) => [p[0], p[2]]), "var(--write)", "8 3");
  } else {
    line(points.map((p) => [p[0], p[1] + p[2]]), "var(--tuned)");
  }
}

// Nothing is known of the time between measurements that lie far apart: no line is drawn there.
function unbroken(values) {
  const parts = [], apart = values.slice(1).map((value, at) => value[0] - values[at][0]).sort((a, b) => a - b);
  const far = Math.max(FAR_APART_S, 3 * (apart[apart.length >> 1] ?? 0));
  for (const value of values) {
    const last = parts[parts.length - 1];
    if (last && value[0] - last[last.length - 1][0] <= far) last.push(value);
    else parts.push([value]);
  }
  return parts;
}

function drawSteps(drawing, steps, x, { top, width, from, to }) {
  const knobs = steps.length ? Object.keys(steps[steps.length - 1][1]) : [];
  const values = steps.flatMap(([, setting]) => Object.values(setting)).filter((value) => value > 0);
  const high = Math.max(2, Math.ceil(Math.log2(Math.max(2, ...values))));
  const y = (value) => top + STEP_H - STEP_H * Math.log2(Math.max(value, 1)) / high;
  const units = unitsOf(steps.length ? steps[steps.length - 1][1] : {});
  const named = knobs.map((knob) => units[knob] ? `${knob} (${units[knob]})` : knob).join(", ");
  if (named) drawing.append(svg("text", { x: 0, y: top - 9, class: "soft" }, `${named}; log scale`));
  for (let power = 0; power <= high; power += high > 8 ? 4 : 2) level(drawing, y(2 ** power), String(2 ** power), width);
  knobs.forEach((knob, at) => {
    const { colour, dash } = knobStyle(at);
    const levels = levelsOf(steps, knob, from, to).map(([t, until, value]) =>
      `${x(t).toFixed(1)},${y(value).toFixed(1)} ${x(until).toFixed(1)},${y(value).toFixed(1)}`);
    // Of many steps the levels only: the lines between them would be a solid block.
    const paths = levels.length > (width - LEFT) / 8 ? levels : [levels.join(" ")];
    for (const points of paths) {
      drawing.append(svg("polyline", { fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash || null, points }));
    }
  });
}

// The values of a knob with the times that they held, equal ones joined: other knobs' steps are not its own.
function levelsOf(steps, knob, from, to) {
  const levels = [];
  steps.forEach(([t, setting], number) => {
    const until = number + 1 < steps.length ? steps[number + 1][0] : to;
    if (until < from || setting[knob] === undefined) return;
    const last = levels[levels.length - 1];
    if (last && last[2] === setting[knob] && last[1] >= t) last[1] = until;
    else levels.push([Math.max(t, from), until, setting[knob]]);
  });
  return levels;
}

function level(drawing, y, label, width) {
  drawing.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
  drawing.append(svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, label));
}

function drawTimes(drawing, { from, to, x, y, width, virtual }) {
  // Round times, as many as fit; the first and the last label stay inside the drawing.
  const room = width > 480 ? 8 : 4, steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((each) => (to - from) / each <= room) || (to - from) / room;
  for (let t = Math.ceil(from / step - 1e-9) * step; t <= to + 1e-9; t += step) {
    const place = x(t), anchor = place < LEFT + 24 ? "start" : place > width - RIGHT - 24 ? "end" : "middle";
    drawing.append(svg("line", { class: "grid", x1: place, x2: place, y1: y - 18, y2: y - 14 }));
    drawing.append(svg("text", { x: place, y, "text-anchor": anchor, class: "soft" }, clock(t, virtual)));
  }
}

// A line over both parts and a shape below it; each kind has a shape of its own.
function changeMark(change, x, { top, bottom, onChange, virtual, dense }) {
  const what = `${KINDS[change.kind]} at ${clock(change.t_s, virtual)}: ${change.changes.join(", ")}. Why?`;
  const open = () => onChange(change.id);
  const colour = change.kind === "revert" || change.kind === "failed" ? "var(--bad)" : "var(--ink)";
  const mark = svg("g", { class: "mark", tabindex: 0, role: "button", "aria-label": what, "data-id": change.id,
    onclick: open, onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); }
    } }, svg("title", {}, what));
  const quiet = dense || change.kind === "look";
  mark.append(svg("line", { x1: x, x2: x, y1: quiet ? bottom - 12 : top, y2: bottom, stroke: colour,
    "stroke-width": 1, "stroke-dasharray": change.kind === "advice" ? "2 3" : null, opacity: .55 }));
  mark.append(shape(change.kind, x, bottom, colour));
  mark.append(svg("rect", { class: "halo", x: x - 8, y: bottom - 14, width: 16, height: 18, rx: 4 }));
  return mark;
}

export function shape(kind, x, y, colour) {
  const d = {
    change: `M${x},${y - 12} l5,9 l-10,0 z`, revert: `M${x},${y - 3} l5,-9 l-10,0 z`,
    look: `M${x},${y - 11} l0,8`, advice: `M${x},${y - 12} l5,9 l-10,0 z`, failed: `M${x - 4},${y - 11} l8,8 m0,-8 l-8,8`,
  }[kind];
  const hollow = kind === "advice" || kind === "failed" || kind === "look";
  return svg("path", { d, fill: hollow ? "none" : colour, stroke: colour, "stroke-width": 1.5 });
}

// The gain with its interval on a scale of ratios; 1 is "no difference".
export function intervalPicture(effect, width) {
  const low = effect.low ?? effect.gain, high = effect.high ?? effect.gain;
  const edge = Math.max(.25, ...[low, high].map((value) => Math.abs(Math.log2(Math.max(value, 1e-3))))) * 1.25;
  const x = (ratio) => 14 + (width - 28) * (Math.log2(ratio) + edge) / (2 * edge);
  const drawing = svg("svg", { viewBox: `0 0 ${width} 58`, role: "img", "aria-label": high > low ?
    `gain ${effect.gain.toFixed(2)}, interval ${low.toFixed(2)} to ${high.toFixed(2)}` : `gain ${effect.gain.toFixed(2)}` });
  const colour = low > 1 ? "var(--good)" : high < 1 ? "var(--bad)" : "var(--twin)";
  drawing.append(svg("line", { class: "grid", x1: 6, x2: width - 6, y1: 22, y2: 22 }));
  drawing.append(svg("line", { x1: x(1), x2: x(1), y1: 6, y2: 38, stroke: "var(--ink)", "stroke-dasharray": "3 3" }));
  drawing.append(svg("text", { x: x(1), y: 53, "text-anchor": "middle" }, "1 = no difference"));
  drawing.append(svg("text", { x: 6, y: 53, class: "soft" }, "slower"));
  drawing.append(svg("text", { x: width - 6, y: 53, "text-anchor": "end", class: "soft" }, "faster"));
  if (high > low) {
    drawing.append(svg("line", { x1: x(low), x2: x(high), y1: 22, y2: 22, stroke: colour, "stroke-width": 7 }));
    for (const [value, anchor] of [[low, "end"], [high, "start"]]) {
      const at = x(value) + (anchor === "end" ? -4 : 4);
      drawing.append(svg("text", { x: at, y: 12, "text-anchor": anchor }, value.toFixed(2)));
    }
  }
  if (high === low) drawing.append(svg("text", { x: x(effect.gain), y: 11, "text-anchor": "middle" }, `${effect.gain.toFixed(2)} x`));
  drawing.append(svg("circle", { cx: x(effect.gain), cy: 22, r: 7, fill: colour, stroke: "var(--paper)",
    "stroke-width": 2 }, svg("title", {}, `${effect.gain.toFixed(2)} times as fast`)));
  return drawing;
}

export function roundUp(value) {
  const decade = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((step) => step * decade >= value) * decade;
}

export { rate };
