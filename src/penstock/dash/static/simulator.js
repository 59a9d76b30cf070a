// The third screen: choose what is simulated, disturb it, and watch the default and the tuned client side by side.
import { by, make, number, settingText, workloadText, DISTURBANCES } from "./dom.js";
import { post } from "./api.js";
import { targetChart } from "./charts.js";
import { openWhy } from "./why.js";
import { legend, short, timeRange } from "./overview.js";

let built = null;

export function render(state) {
  if (!built) built = build(state);
  const extra = state.extra, effect = state.worth.effect;
  built.answer.textContent = effect ? state.worth.sentence : "Starting …";
  built.run.textContent = extra.running ? "Pause" : "Go on";
  built.speed.value = extra.speed;
  for (const [what, button] of Object.entries(built.disturb)) {
    button.setAttribute("aria-pressed", extra.on.includes(what));
  }
  const words = workloadText(extra.workload);
  built.now.textContent = `${number(state.now_s)} s of virtual time, doing ${extra.workload}${words ? `: ${words}` : ""}`;
  sides(state);
  charts(state);
}

function build(state) {
  const place = by("simulator"), choices = state.extra.choices, chosen = state.extra.chosen;
  const select = (name, options, value) => make("select", { name, id: `sim-${name}` },
    ...options.map((each) => make("option", { value: each, selected: each === value, title: workloadText(each) || null }, each)));
  const label = (text, control) => make("label", {}, text, control);
  const fields = Object.fromEntries(["cluster", "workload", "policy"].map((name) => [name, select(name, choices[name], chosen[name])]));
  const seed = make("input", { id: "sim-seed", type: "number", value: chosen.seed, min: 0 });
  const say = make("p", { role: "status", class: "muted" });
  const tell = (verb, body) => post(verb, body()).then((answer) => { say.textContent = answer.said; },
    (error) => { say.textContent = error.message; });
  const form = make("form", { class: "form", onsubmit: (event) => {
    event.preventDefault();
    tell("start", () => ({ ...Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value])), seed: Number(seed.value) }));
  } }, label("Cluster", fields.cluster), label("Workload", fields.workload), label("Who tunes", fields.policy),
    label("Seed", seed), make("button", { class: "main" }, "Start anew"));
  const run = make("button", { type: "button", onclick: () => tell(run.textContent === "Pause" ? "pause" : "resume", () => ({})) });
  const speed = select("speed", choices.speed, state.extra.speed);
  speed.addEventListener("change", () => tell("speed", () => ({ speed: speed.value })));
  const disturb = Object.fromEntries(Object.entries(choices.disturbance).map(([what, text]) => {
    const button = make("button", { type: "button", "aria-pressed": "false", title: text, onclick: () =>
      tell("disturb", () => ({ what, on: button.getAttribute("aria-pressed") !== "true" })) }, DISTURBANCES[what] || what);
    return [what, button];
  }));
  const other = select("other", choices.other, state.extra.workload);
  const work = make("button", { type: "button", onclick: () => tell("work", () => ({ workload: other.value })) }, "Do this now");
  const answer = make("h1", {}), now = make("p", { class: "muted" }), both = make("div", { class: "panels", id: "sides" });
  const drawn = make("div", { class: "targets", id: "sim-targets" }), named = make("p", { class: "legend" });
  const hint = make("p", { class: "muted" }, "Choose a mark below the settings to read why that change was made.");
  place.replaceChildren(make("div", { class: "hero" }, answer, now, both), form,
    make("fieldset", {}, make("legend", {}, "Disturb both clients"), make("div", { class: "form" }, ...Object.values(disturb),
      make("div", { class: "pair" }, label("Other work", other), work), make("div", { class: "pair" }, label("Speed", speed), run)), say),
    named, drawn, hint);
  return { legend: named, answer, now, both, drawn, run, speed, disturb };
}

// Both clients' throughput over the last seconds, as figures and as bars of one scale.
function sides(state) {
  const last = (at) => state.targets.reduce((sum, track) => {
    const recent = track.points.slice(-6);
    return sum + (recent.length ? recent.reduce((total, point) => total + at(point), 0) / recent.length : 0);
  }, 0) / 1e6;
  const plain = last((point) => point[3] ?? 0), tuned = last((point) => point[1] + point[2]);
  const most = Math.max(plain, tuned, 1e-9);
  const settings = state.targets.length && state.targets[0].steps.length
    ? state.targets[0].steps[state.targets[0].steps.length - 1][1] : {};
  const side = (name, value, text, kind) => {
    const bar = make("i", {});
    bar.style.width = `${100 * value / most}%`;
    return make("section", {}, make("h2", {}, name), make("p", {}, make("strong", {}, `${number(value)} MB/s`), " over the wire, in the last 3 s"),
      make("div", { class: `meter ${kind}` }, bar), make("p", { class: "muted" }, text));
  };
  const first = state.targets.length ? state.targets[0].steps[0]?.[1] : {};
  built.both.replaceChildren(side("Left at its defaults", plain, settingText(first), "twin"),
    side(`Tuned by ${state.extra.chosen.policy}`, tuned, settingText(settings), ""));
}

function charts(state) {
  const focused = document.activeElement?.dataset?.id;
  const range = timeRange(state), from = Math.max(range.from, range.to - 180);
  const width = Math.max(280, built.drawn.clientWidth - 30);
  built.drawn.replaceChildren(...state.targets.slice(0, 5).map((track) => make("article", { class: "card" },
    make("h3", {}, short(track.name)),
    targetChart(track, state.changes.filter((change) => change.target === track.name), { width: columns(width, state.targets.length),
      virtual: true, from, to: range.to, kinds: { split: false }, bands: state.extra.bands, spans: state.extra.spans, onChange: (id) => openWhy(id, true) }))));
  built.legend.replaceChildren(...legend(state, false));
  if (focused) built.drawn.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
}

const columns = (width, count) => count > 1 && width > 1140 ? (width + 30 - 16) / 2 - 30 : width;
