// The fourth screen: several policies on one scenario, from the same seed.
import { by, make, svg, number } from "./dom.js";
import { post } from "./api.js";
import { roundUp } from "./charts.js";

const EXAMPLE = `# A scenario as "penstock evaluate scenarios" takes it.
clients = 3
events = ["slow:ost=0:at=20:for=15:factor=4"]

[[job]]
workload = "f_wr_sq_1m"
clients = [0, 1]

[[job]]
workload = "s_rd_rn_1m"
clients = [2]
`;
const COLOURS = ["var(--twin)", "var(--tuned)", "var(--bad)", "var(--good)", "var(--k1)", "var(--k2)"];
// Lines are told apart without their colours as well.
const DASHES = ["5 3", null, "9 3", "2 2", "9 3 2 3", "14 4"];
let built = null, key = "";

export function render(state) {
  if (!built) built = build(state);
  const found = state.extra.comparison;
  built.go.disabled = found.running;
  built.cancel.hidden = !found.running;
  built.progress.hidden = !found.running;
  built.progress.value = found.share;
  const now = JSON.stringify([found.rows.map((row) => row.policy), found.error, built.results.clientWidth]);
  if (now !== key) { key = now; results(found); }
}

function build(state) {
  const choices = state.extra.choices, chosen = state.extra.chosen;
  const select = (name, options, value) => make("select", { id: `compare-${name}` },
    ...options.map((each) => make("option", { value: each, selected: each === value }, each)));
  const cluster = select("cluster", choices.cluster, chosen.cluster), workload = select("workload", choices.workload, chosen.workload);
  const boxes = choices.policy.filter((name) => !["default", "fixed"].includes(name)).map((name) =>
    make("input", { type: "checkbox", value: name, checked: ["weir", "carat", "climb"].includes(name) }));
  const seconds = make("input", { id: "compare-seconds", type: "number", value: 60, min: 5, max: 600 });
  const text = make("textarea", { id: "compare-scenario", rows: 12, cols: 60, "aria-label": "Scenario" }, EXAMPLE);
  const own = make("input", { type: "checkbox", id: "compare-own" });
  const scenario = make("div", { hidden: true }, text);
  own.addEventListener("change", () => { scenario.hidden = !own.checked; cluster.disabled = workload.disabled = own.checked; });
  const say = make("p", { role: "status", class: "muted" });
  const tell = (verb, body) => post(verb, body).then((answer) => { say.textContent = answer.said; },
    (error) => { say.textContent = error.message; });
  const go = make("button", { class: "main" }, "Compare");
  const cancel = make("button", { type: "button", hidden: true, onclick: () => tell("cancel", {}) }, "Cancel");
  const progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "How far the comparison is" });
  const form = make("form", { onsubmit: (event) => {
    event.preventDefault();
    tell("compare", { policies: boxes.filter((box) => box.checked).map((box) => box.value), seconds: Number(seconds.value),
      ...(own.checked ? { scenario: text.value } : { cluster: cluster.value, workload: workload.value }) });
  } }, make("div", { class: "form" }, make("label", {}, "Cluster", cluster), make("label", {}, "Workload", workload),
    make("label", {}, "Seconds each", seconds)),
    make("fieldset", {}, make("legend", {}, "Policies beside the default"), make("div", { class: "checks" },
      ...boxes.map((box) => make("label", { class: "check" }, box, ` ${box.value}`)))),
    make("p", {}, make("label", { class: "check" }, own, " describe the scenario instead")), scenario,
    make("div", { class: "form" }, go, cancel, progress), say);
  const results = make("div", { id: "compare-results" });
  const about = make("p", { class: "muted" }, "Runs every chosen policy in a simulated world of its own, all from the same seed, " +
    "beside the same client left at its defaults; the answer, a chart over time and a table follow below.");
  by("compare").replaceChildren(make("h1", {}, "Compare policies on a scenario"), about, form, results);
  return { go, cancel, progress, results };
}

function results(found) {
  if (!found.rows.length) { built.results.replaceChildren(found.error ? make("p", {}, found.error) : ""); return; }
  const ranked = [...found.rows].sort((a, b) => b.mbps - a.mbps);
  const first = ranked[0], base = found.rows[0];
  const answer = found.rows.length < 2 ? "The default is measured; the others run." :
    `${first.policy} brings most: ${number(first.mbps)} MB/s, ${(first.mbps / base.mbps).toFixed(2)} times the default.`;
  built.results.replaceChildren(make("h2", { id: "compare-answer" }, `${answer} (${found.title}, ${found.seconds} s each)`),
    bars(found.rows, built.results.clientWidth), lines(found.rows, built.results.clientWidth),
    table(found.rows), found.error ? make("p", {}, found.error) : "");
}

function bars(rows, width) {
  const left = 110, row = 26, top = 4, most = Math.max(...rows.map((each) => each.mbps));
  const wide = Math.min(width, 760), x = (value) => left + (wide - left - 120) * value / most;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${top + row * rows.length + 6}`, role: "img", "aria-label":
    rows.map((each) => `${each.policy} ${number(each.mbps)} MB/s`).join(", ") });
  rows.forEach((each, at) => {
    const y = top + row * at;
    drawing.append(svg("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, each.policy),
      svg("rect", { x: left, y: y + 2, width: x(each.mbps) - left, height: row - 8, fill: COLOURS[at % 6] }),
      svg("text", { x: x(each.mbps) + 6, y: y + 15 }, `${number(each.mbps)} MB/s${at ? `, ${each.gain.toFixed(2)} x` : ""}`));
  });
  drawing.append(svg("line", { x1: x(rows[0].mbps), x2: x(rows[0].mbps), y1: 0, y2: top + row * rows.length,
    stroke: "var(--ink)", "stroke-dasharray": "4 3" }));
  return drawing;
}

// What all applications got over time; the names stand in the bars above, in the same colours and order.
function lines(rows, width) {
  const height = 200, left = 48, bottom = 26, top = 22, right = width > 600 ? 110 : 10;
  const most = roundUp(Math.max(1, ...rows.flatMap((each) => each.series)));
  const count = Math.max(2, ...rows.map((each) => each.series.length));
  const x = (at) => left + (width - left - right) * at / (count - 1), y = (value) => height - bottom - (height - bottom - top) * value / most;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "throughput over time" });
  for (const share of [0, .5, 1]) {
    drawing.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(share * most), y2: y(share * most) }),
      svg("text", { x: left - 6, y: y(share * most) + 4, "text-anchor": "end" }, number(share * most)));
  }
  rows.forEach((each, at) => drawing.append(svg("polyline", { fill: "none", stroke: COLOURS[at % 6], "stroke-width": 2,
    "stroke-dasharray": DASHES[at % 6], points: each.series.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ") })));
  if (right > 100) endLabels(drawing, rows, width - right + 6, y);
  drawing.append(svg("text", { x: 0, y: 10, class: "soft" }, "MB/s, all applications together"));
  for (const [share, anchor] of [[0, "start"], [.5, "middle"], [1, "end"]]) {
    drawing.append(svg("text", { x: x(share * (count - 1)), y: height - 6, "text-anchor": anchor, class: "soft" }, `${number(share * count / 2)} s`));
  }
  return drawing;
}

// Each line's name at its end; names of lines that meet stand below each other.
function endLabels(drawing, rows, x, y) {
  const ends = rows.map((each) => ({ name: each.policy, y: y(each.series.at(-1) ?? 0) })).sort((a, b) => a.y - b.y);
  ends.forEach((each, at) => {
    if (at) each.y = Math.max(each.y, ends[at - 1].y + 14);
    drawing.append(svg("text", { x, y: each.y + 4 }, each.name));
  });
}

function table(rows) {
  const cell = (text) => make("td", { class: "num" }, text);
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "policy"),
    ...["MB/s", "of default", "changes"].map((name) => make("th", { class: "num" }, name)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, make("td", {}, row.policy), cell(number(row.mbps)),
      cell(row.gain === null ? "–" : `${row.gain.toFixed(2)} x`), cell(String(row.changes)))))));
}
