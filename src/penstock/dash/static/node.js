// The second screen: the node's budgets, what the guard still allows, the mode, faults and what happened.
import { by, make, clock, size, settingText } from "./dom.js";
import { hasToken, post } from "./api.js";
import { short } from "./overview.js";

export function render(state) {
  const status = state.status;
  const panels = [mode(state), budget(status), bounds(status), faults(state), notes(state), targets(status)];
  const focused = document.activeElement?.dataset?.id;
  by("node").replaceChildren(make("h1", {}, status ? "This node" : "No agent answers here"),
    make("div", { class: "panels node" }, ...panels.filter(Boolean)));
  if (focused) by("node").querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
}

const panel = (title, ...children) => make("section", { "data-panel": title }, make("h2", {}, title), ...children);

function mode(state) {
  const status = state.status;
  if (!status) return null;
  const held = status.paused.includes("*") ? "everything" : status.paused.join(", ");
  const paused = held ? `; paused: ${held}` : "";
  const facts = [["mode", `${status.mode}${paused}`], ["policy", status.policy], ["looks every", `${status.interval_s} s`],
    ["jobs here", status.jobs.join(", ") || "none known"]];
  if (status.hands_off.length) facts.push(["left alone for", status.hands_off.join(", ")]);
  return panel("Mode", make("dl", { class: "facts" },
    ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])), controls(state));
}

function controls(state) {
  const can = state.about.can;
  if (!can.includes("mode")) return null;
  if (!state.about.control || !hasToken()) {
    return make("p", { class: "muted" }, "This page only shows. Started with --control, it can switch modes.");
  }
  const say = make("p", { role: "status" });
  const ask = (verb, body) => () => post(verb, body).then(() => { say.textContent = "done"; },
    (error) => { say.textContent = error.message; });
  const button = (id, text, verb, body) => make("button", { type: "button", "data-id": id, onclick: ask(verb, body) }, text);
  const buttons = ["observe", "advise", "tune"].map((each) => button(`mode-${each}`, each, "mode", { mode: each }));
  const paused = state.status.paused.includes("*");
  return make("div", {}, make("div", { class: "form" }, ...buttons,
    paused ? button("resume", "resume all", "resume", {}) : button("pause", "pause all", "pause", {})), say);
}

function meter(label, used, most, text) {
  const share = most > 0 ? Math.min(1, used / most) : 0;
  const bar = make("i", {});
  bar.style.width = `${(100 * share).toFixed(1)}%`;
  return make("div", {}, make("p", {}, `${label}: ${text}`), make("div", { class: `meter ${share > .8 ? "high" : ""}`,
    role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-valuenow": Math.round(100 * share) }, bar));
}

function budget(status) {
  if (!status) return null;
  const node = status.node, limits = node.dirty_limits_bytes, most = node.dirty_budget_bytes;
  const rows = [most ? meter("All dirty limits together", limits, most, `${size(limits)} of ${size(most)}`)
    : make("p", {}, `All dirty limits together: ${size(limits)}; the node's budget is not known`)];
  if (node.memory_available_ratio !== null) {
    const left = node.memory_available_ratio;
    rows.push(meter("Memory in use", 1 - left, 1, `${Math.round(100 * left)} % left`));
  }
  return panel("Dirty budget and memory", ...rows);
}

function bounds(status) {
  if (!status) return null;
  const rows = (status.bounds || []).map((each) => make("div", {}, meter(`Work lost to changes on ${short(each.mount)}`, each.lost_s, each.most_s,
    `${each.lost_s.toFixed(1)} s of at most ${each.most_s.toFixed(0)} s`)));
  return panel("What changes may cost", ...(rows.length ? rows : [make("p", { class: "muted" }, "Nothing was tried yet.")]));
}

// What a target moves, way by way: [[name, value], ...] of every figure a second.
const rates = (row) => Object.entries(row).filter(([name]) => name.endsWith("_per_s"));

function rateText(row) {
  if (row.void) return "";
  return rates(row).map(([name, value]) => name.endsWith("_operations_per_s")
    ? `${value.toFixed(0)} ${name.replace("_operations_per_s", "")} op/s` : `${(value / 1e6).toFixed(1)} MB/s ${name.replace("_bytes_per_s", "")}`).join(", ");
}

function targets(status) {
  if (!status?.targets.length) return null;
  return panel("Targets", make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {},
    ...["target", "now", "setting", "state"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {},
    ...grouped(status.targets).map(([row, count]) => make("tr", {},
      make("td", {}, count > 1 ? `${row.short} and ${count - 1} more` : row.short), make("td", {}, count > 1 ? "" : rateText(row)), make("td", {}, settingText(row.setting)),
      make("td", {}, row.state)))))));
}

// Targets of which the same is to be said, as the first of them and their number.
function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.fs, row.setting, row.state]);
    groups.set(key, [groups.get(key)?.[0] ?? row, (groups.get(key)?.[1] ?? 0) + 1]);
  }
  return [...groups.values()];
}

function faults(state) {
  if (!state.status) return null;
  const known = [...(state.status?.problems || [])];
  if (state.status?.lost_log_lines) known.push(`${state.status.lost_log_lines} lines could not be written to the log`);
  if (state.status?.policy_errors) known.push(`the policy failed ${state.status.policy_errors} times; its targets were left alone`);
  return panel("Faults", known.length ? make("ul", {}, ...known.map((text) => make("li", {}, text)))
    : make("p", { class: "muted" }, "None."));
}

function notes(state) {
  const rows = [...state.notes].reverse();
  return panel("What happened", rows.length ? make("ul", { class: "notes" }, ...rows.map((each) =>
    make("li", {}, make("span", { class: "muted" }, `${clock(each.t_s, state.about.virtual)} `), each.text)))
    : make("p", { class: "muted" }, "Nothing but decisions."));
}
