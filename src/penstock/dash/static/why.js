// The dialogue behind a change: what was measured, what was expected, the guard's word, the outcome.
import { get } from "./api.js";
import { by, make, axisOf, clock, number, rate, settingText, KINDS } from "./dom.js";
import { maps } from "./heatmap.js";

const DETAILS = 12;

export async function openWhy(id, virtual) {
  const body = by("why-body"), dialogue = by("why");
  body.replaceChildren(make("p", {}, "Looking …"));
  if (!dialogue.open) dialogue.showModal();
  try {
    body.replaceChildren(...page(await get(`api/changes/${encodeURIComponent(id)}`), virtual));
  } catch (error) {
    body.replaceChildren(make("h1", { id: "why-title" }, "Not known"), make("p", {}, error.message));
  }
  dialogue.dataset.id = id;
  dialogue.scrollTop = 0;
}

function page(change, virtual) {
  const drawn = change.map ? maps(change.map, change.path) : [];
  return [
    make("h1", { id: "why-title" }, change.changes.join(", ") || "no change"),
    make("p", { class: "muted" }, `${KINDS[change.kind]} at ${clock(change.t_s, virtual)} on ${change.target}`),
    make("p", { class: "why" }, `${capital(change.sentence)}.`),
    facts(change),
    drawn.length ? make("h2", {}, "What was expected of every setting") : null,
    drawn.length ? make("p", { class: "legend" }, "☐ where it began   ─ the path taken   ● where this change goes") : null,
    drawn.length ? make("div", { class: "maps" }, ...drawn)
      : make("p", { class: "muted" }, "Nothing was forecast for the other settings."),
    ...measured(change.measured),
  ].filter(Boolean);
}

function facts(change) {
  const rows = [["guard", change.guard], ["outcome", change.outcome]];
  if (change.confidence !== null) rows.push(["chance to gain", `${Math.round(100 * change.confidence)} %`]);
  for (const [name, value] of Object.entries(change.evidence)) rows.push(evidence(name, value));
  if (change.jobs.length) rows.push(["jobs", change.jobs.join(", ")]);
  if (change.model) rows.push(["model", change.model.slice(0, 12)]);
  rows.push(["decision", `${change.id} (${change.reason})`]);
  return make("dl", { class: "facts" },
    ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

const WORDS = {
  best_log2: "best so far, against the original", gain_log2: "expected, against the best so far",
  deviation_log2: "unsure by a factor of", lost_s: "seconds of work lost", gain_ratio: "measured, against the original",
};

// Logarithms are for machines.
function evidence(name, value) {
  if (name.endsWith("bytes_per_s")) return [name.replace(/_?bytes_per_s$/, "") || "rate", `${number(value / 1e6)} MB/s`];
  if (name === "deviation_log2") return [WORDS[name], (2 ** value).toFixed(2)];
  if (name.endsWith("_log2")) return [WORDS[name] || name.replace("_log2", ""), `${(2 ** value).toFixed(2)} times`];
  return [WORDS[name] || name.replaceAll("_", " "), String(Number(value.toPrecision(4)))];
}

function measured(windows) {
  if (!windows.length) return [];
  const last = windows[windows.length - 1];
  const metrics = Object.entries(last.metrics).filter(([, value]) => value).slice(0, DETAILS);
  return [
    make("h2", {}, "What was measured"),
    make("p", {}, `Over the last ${number(last.seconds)} s at ${settingText(last.setting)}: ` +
      last.rates.map((each, at) => `${rate(each, last.unit)} ${axisOf(last.unit).ways[at]}`).join(", ") + "."),
    make("details", {}, make("summary", {}, "All counters of that interval"),
      make("div", { class: "wide" }, make("table", {}, make("tbody", {}, ...metrics.map(([name, value]) =>
        make("tr", {}, make("td", {}, name), make("td", { class: "num" }, String(Number(value.toPrecision(7))))))))) ),
  ];
}

const capital = (text) => text ? text[0].toUpperCase() + text.slice(1).replace(/\.$/, "") : "";
