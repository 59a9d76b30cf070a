// The first screen: is it worth it here, and every target's throughput and setting with its changes.
import { by, make, svg, clock, axisOf, rate, settingText, KINDS } from "./dom.js";
import { targetChart, intervalPicture, knobStyle, shape } from "./charts.js";
import { openWhy } from "./why.js";

const FIRST_SHOWN = 8, FIRST_CHANGES = 20;
const shown = { most: FIRST_SHOWN, filter: "", changes: FIRST_CHANGES };
let tableKey = "";

export function setUp(render) {
  by("filter").addEventListener("input", (event) => { shown.filter = event.target.value; render(); });
  by("more-changes").addEventListener("click", () => { shown.changes = 500; tableKey = ""; render(); });
  by("more").addEventListener("click", () => { shown.most += 24; render(); });
}

export function render(state) {
  by("answer").textContent = state.worth.sentence;
  drawInterval(state);
  drawCounts(state);
  drawAdvice(state);
  by("legend").replaceChildren(...legend(state));
  drawTargets(state);
  drawChanges(state);
}

// Where there is no answer yet: how to get one.
const HOW = {
  agent: "To measure it on this node, let the agent switch itself on and off in turns: penstock agent trial --on 10m --off 10m --for 8h",
  log: "The log holds no change whose effect was measured. A running agent can be put to the test: penstock agent trial",
  recording: "A recording shows what was measured and set, but not why, so there is nothing to compare.",
};

function drawInterval(state) {
  const effect = state.worth.effect, place = by("interval");
  by("how").textContent = effect ? "" : HOW[state.about.kind] || "";
  by("how").hidden = !by("how").textContent;
  if (!effect) { place.replaceChildren(); return; }
  place.replaceChildren(intervalPicture(effect, Math.min(560, place.clientWidth || 360)));
  place.style.maxWidth = "560px";
}

function drawCounts(state) {
  const counts = state.worth.counts;
  const rows = [[counts.change === 1 ? "change" : "changes", counts.change], ["taken back", counts.revert],
    [counts.look === 1 ? "look at the original" : "looks at the original", counts.look],
    ["advised", counts.advice], ["refused", counts.failed]].filter(([, n], at) => n || at < 2);
  by("counts").replaceChildren(...rows.map(([name, n]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, String(n)))));
}

function drawAdvice(state) {
  const mode = state.status?.mode, place = by("advice");
  if (!state.advice.length) {
    place.replaceChildren(...(mode === "advise" ? [make("p", { class: "muted" }, "Nothing to advise yet.")] : []));
    return;
  }
  place.replaceChildren(make("h2", {}, "What it would do"), make("ul", {}, ...state.advice.map((each) =>
    make("li", {}, `${short(each.target)}: ${each.changes.join(", ")} `, expected(each) ? `(expected ${expected(each)}) ` : "",
      whyButton(each, state)))));
}

function expected(change) {
  if (change.expected === null) return "";
  const spread = change.spread_log2;
  const range = spread ? `, likely ${likely(change.expected, spread)}` : "";
  return `${change.expected.toFixed(2)} times the best so far${range}`;
}

function knobsOf(state) {
  const longest = state.targets.find((track) => track.steps.length);
  return longest ? Object.keys(longest.steps[longest.steps.length - 1][1]) : [];
}

const split = (state) => state.targets.some((track) => track.points.some((p) => p[1] > 0)) &&
  state.targets.some((track) => track.points.some((p) => p[2] > 0));
const twinned = (state) => state.targets.some((track) => track.points.some((p) => p[3] !== undefined));

// What every line and sign of the charts means, for this screen and the simulator's.
export function legend(state, both = split(state)) {
  const line = (colour, dash) => svg("svg", { viewBox: "0 0 22 12" }, svg("line", { x1: 0, x2: 22, y1: 6, y2: 6,
    stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash || null }));
  const sign = (kind, colour) => svg("svg", { viewBox: "0 0 22 12" }, shape(kind, 11, 13, colour));
  const ways = [...new Set(state.targets.map((track) => track.unit))].map((unit) => axisOf(unit).ways);
  const [first, second] = [0, 1].map((at) => ways.map((each) => each[at]).join(" or "));
  const lines = both ? [["var(--tuned)", "", first], ["var(--write)", "8 3", second]] : [["var(--tuned)", "", "throughput"]];
  if (twinned(state)) lines.push(["var(--twin)", "5 3", "the same client at its defaults"]);
  knobsOf(state).forEach((knob, at) => { const { colour, dash } = knobStyle(at); lines.push([colour, dash, knob]); });
  const kinds = [...new Set(state.changes.map((change) => change.kind))];
  return [
    ...lines.map(([colour, dash, name]) => make("span", {}, line(colour, dash), name)),
    ...kinds.map((kind) => make("span", {}, sign(kind, kind === "revert" || kind === "failed" ? "var(--bad)" : "var(--ink)"), KINDS[kind]))];
}

export function timeRange(state) {
  const times = state.targets.flatMap((track) => track.points.length ? [track.points[0][0], track.points[track.points.length - 1][0]] : []);
  const changes = state.changes.map((change) => change.t_s);
  const to = Math.max(...times, ...changes, state.about.virtual ? 1 : state.about.live ? state.now_s : 0);
  const first = Math.min(to - 1, ...times, ...changes);
  return { from: state.about.live && !state.about.virtual ? Math.max(first, to - 900) : first, to };
}

function drawTargets(state) {
  by("sparse").hidden = state.about.kind !== "log";
  const place = by("targets");
  const focused = document.activeElement?.dataset?.id;
  const named = state.targets.filter((track) => track.name.includes(shown.filter));
  // Of what moved nothing and was left as it is, one line says all.
  const moved = new Set(state.changes.map((change) => change.target));
  const atWork = named.filter((track) => moved.has(track.name) || track.points.some((p) => p[1] + p[2] > 0));
  const known = atWork.length ? atWork : named.slice(0, 1);
  const some = known.slice(0, shown.most);
  const width = cardWidth(place, some.length), range = timeRange(state), kinds = { split: split(state) };
  place.replaceChildren(...some.map((track) => card(state, track, { width, range, kinds })));
  drawIdle(state, named.filter((track) => !known.includes(track)));
  if (!state.targets.length) place.replaceChildren(make("p", { class: "muted" }, "Nothing was measured yet."));
  by("filter-label").hidden = state.targets.length <= FIRST_SHOWN;
  by("more").hidden = known.length <= some.length;
  by("more").textContent = `Show more of the other ${known.length - some.length} targets`;
  if (focused) place.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
}

function drawIdle(state, tracks) {
  by("idle").hidden = !tracks.length;
  const names = tracks.slice(0, 3).map((track) => shortOf(state, track)).join(", ");
  const more = tracks.length > 3 ? ` and ${tracks.length - 3} more` : "";
  by("idle").textContent = `Idle all the time: ${names}${more}.`;
}

const shortOf = (state, track) => (state.status?.targets || []).find((each) => each.target === track.name)?.short || short(track.name);

function cardWidth(place, count) {
  const columns = Math.max(1, Math.min(count, Math.floor((place.clientWidth + 16) / (560 + 16))));
  return Math.max(280, (place.clientWidth - 16 * (columns - 1)) / columns - 28);
}

function card(state, track, { width, range, kinds }) {
  const row = (state.status?.targets || []).find((each) => each.target === track.name);
  const last = track.points[track.points.length - 1];
  const setting = track.steps.length ? track.steps[track.steps.length - 1][1] : {};
  const changes = state.changes.filter((change) => change.target === track.name);
  const chart = targetChart(track, changes, { width, virtual: state.about.virtual, ...range, kinds,
    bands: state.extra.bands || [], spans: state.extra.spans || [], onChange: (id) => openWhy(id, state.about.virtual) });
  return make("article", { class: "card" },
    make("header", {}, make("h3", {}, row?.short || short(track.name)),
      make("span", { class: "now" }, last ? rate(last[1] + last[2], track.unit) : "")),
    make("p", { class: "muted" }, settingText(setting)), chart,
    row?.words ? make("p", { class: "muted" }, `${row.state}: ${row.words}`) : null);
}

function whyButton(change, state) {
  return make("button", { type: "button", "data-id": `row-${change.id}`,
    "aria-label": `Why ${change.changes.join(", ")}?`, onclick: () => openWhy(change.id, state.about.virtual) }, "Why");
}

const ratioCell = (label, value, spread) => make("td", { class: `num ${value === null ? "none" : ""}`, "data-label": label },
  value === null ? "–" : `${value.toFixed(2)} x${spread ? ` (${likely(value, spread)})` : ""}`);
const likely = (value, spread) => `${(value * 2 ** -spread).toFixed(2)} to ${(value * 2 ** spread).toFixed(2)}`;

// The kernel's address in a target's name tells nobody anything.
export const short = (name) => name.replace(/(-osc)?-[0-9a-f]{8,}(?=$|-)/, "");

function drawChanges(state) {
  const key = JSON.stringify(state.changes.map((change) => [change.id, change.kind, change.gain]));
  if (key === tableKey) return;
  tableKey = key;
  const focused = document.activeElement?.dataset?.id;
  const body = by("changes").tBodies[0];
  by("more-changes").hidden = state.changes.length <= shown.changes;
  by("more-changes").textContent = `Show all ${state.changes.length}`;
  const all = Object.values(state.worth.counts).reduce((sum, n) => sum + n, 0);
  by("older").hidden = all <= state.changes.length;
  by("older").textContent = `The list holds the last ${state.changes.length} of ${all}; the decision log has all.`;
  body.replaceChildren(...state.changes.slice(-shown.changes).reverse().map((change) => make("tr", {},
    make("td", { "data-label": "at" }, clock(change.t_s, state.about.virtual)), make("td", {}, short(change.target)),
    make("td", { class: "what" }, make("span", { class: "kind" }, `${KINDS[change.kind]}: `), change.changes.join(", ")),
    ratioCell("expected, against the best so far", change.expected, change.spread_log2), make("td", { class: `num ${change.outcome === null ? "none" : ""}`, "data-label": "outcome, against the original" }, change.outcome ?? "–"),
    make("td", { class: "last" }, whyButton(change, state)))));
  by("changes").hidden = !state.changes.length;
  by("no-changes").hidden = state.changes.length > 0;
  if (focused) body.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
}
