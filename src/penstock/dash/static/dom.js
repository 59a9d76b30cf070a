// Small helpers: elements, numbers, times. Text is always set as text, never as HTML.
const SVG = "http://www.w3.org/2000/svg";

export const by = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// What a target's rates are shown in, by what it moves.
const AXES = { bytes: { unit: "MB/s", scale: 1e6, ways: ["read", "written"] },
  operations: { unit: "op/s", scale: 1, ways: ["looked up", "changed"] } };
export const axisOf = (unit) => AXES[unit] || AXES.bytes;
export const rate = (perS, unit) => `${number(perS / axisOf(unit).scale)} ${axisOf(unit).unit}`;

export function number(value) {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(value ? 2 : 0);
}

export function clock(seconds, virtual) {
  if (virtual) return `${Number(seconds.toFixed(1))} s`;
  return new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
}

// Units of knobs by file system, as the server declares them; a setting belongs to the first that has all its knobs.
let spaces = [];
export const useUnits = (declared) => { spaces = declared; };
export function unitsOf(setting) {
  const knobs = Object.keys(setting || {});
  const units = spaces.find((space) => knobs.every((knob) => knob in space)) || {};
  return Object.fromEntries(knobs.map((knob) => [knob, units[knob] && units[knob] !== knob ? units[knob] : ""]));
}

export function settingText(setting) {
  const units = unitsOf(setting);
  return Object.entries(setting || {}).map(([knob, value]) => `${knob} ${value} ${units[knob]}`.trim()).join(", ");
}

export const size = (bytes) =>
  bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;

// `s_rd_rn_1m` in words; other names speak for themselves.
export function workloadText(name) {
  const found = /^([sf])_(rd|wr)_(sq|rn)_(\d+)([km])$/.exec(name || "");
  if (!found) return "";
  const [, streams, way, order, count, unit] = found;
  return `${streams === "s" ? "one stream" : "five streams"}, ${order === "sq" ? "sequential" : "random"} ` +
    `${way === "rd" ? "reads" : "writes"} of ${count} ${unit === "k" ? "KiB" : "MiB"}`;
}

export const DISTURBANCES = { client: "Another client", slow: "Slow OST", dead: "Dead OST" };

export const KINDS = {
  change: "changed", revert: "taken back", look: "looked at the original", advice: "advised", failed: "refused",
};
