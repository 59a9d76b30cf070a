// Puts the screens together: one state, brought up to date by the server's events, drawn when it changes.
import { takeToken, follow } from "./api.js";
import { by, useUnits } from "./dom.js";
import * as overview from "./overview.js";
import * as node from "./node.js";
import * as simulator from "./simulator.js";
import * as compare from "./compare.js";

const MOST_POINTS = 900, MOST_CHANGES = 500;
const SCREENS = { overview, node, simulator, compare };
let state = null, waiting = false;

function take(news) {
  if (news.view) { state = news.view; useUnits(state.about.units || []); }
  else if (news.trouble && !("now_s" in news)) say(news.trouble);
  else if (!state) return;
  else merge(news);
  draw();
}

function merge(news) {
  for (const name of ["now_s", "trouble", "status", "worth", "advice", "notes", "extra"]) {
    if (name in news) state[name] = news[name];
  }
  // In the order they happened: a setting begins when it is set, not when it is next measured.
  const points = (news.points || []).map((point) => [point.t_s, () => addPoint(point)]);
  const changes = (news.changes || []).map((change) => [change.t_s, () => addChange(change)]);
  for (const [, add] of [...points, ...changes].sort((a, b) => a[0] - b[0])) add();
  state.changes.splice(0, state.changes.length - MOST_CHANGES);
}

function addChange(change) {
  const at = state.changes.findIndex((each) => each.id === change.id);
  if (at >= 0) { state.changes[at] = change; return; }
  state.changes.push(change);
  const track = state.targets.find((each) => each.name === change.target);
  if (track && change.setting) addStep(track, change.t_s, change.setting);
}

function addStep(track, t, setting) {
  const last = track.steps[track.steps.length - 1];
  if (!last || (t >= last[0] && JSON.stringify(last[1]) !== JSON.stringify(setting))) track.steps.push([t, setting]);
}

function addPoint(point) {
  let track = state.targets.find((each) => each.name === point.target);
  if (!track) state.targets.push(track = { name: point.target, unit: point.unit, points: [], steps: [] });
  const last = track.points[track.points.length - 1];
  if (last && point.t_s <= last[0]) return;
  track.points.push([point.t_s, point.first, point.second, ...(point.twin === null ? [] : [point.twin])]);
  track.points.splice(0, track.points.length - MOST_POINTS);
  addStep(track, point.t_s, point.setting);
}

function draw() {
  if (waiting || !state) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    document.body.dataset.ready = "1";
    by("source").textContent = state.about.title;
    document.title = `${state.worth.sentence} – Penstock`;
    say(state.trouble);
    for (const name of ["simulator", "compare"]) {
      document.querySelector(`nav [data-view=${name}]`).hidden = state.about.kind !== "simulator";
    }
    if (shownScreen !== current()) show();
    SCREENS[current()].render(state);
  });
}

function say(trouble) {
  const place = by("trouble");
  if (place.textContent !== (trouble || "")) place.textContent = trouble || "";
  place.hidden = !trouble;
}

function current() {
  const asked = location.hash.slice(1);
  return asked in SCREENS ? asked : state?.about.kind === "simulator" ? "simulator" : "overview";
}

let shownScreen = "";

function show() {
  shownScreen = current();
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== current();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === current()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  draw();
}

function themes() {
  const button = by("theme"), names = ["auto", "light", "dark"];
  const put = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = `Colours: ${name}`;
    button.setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system has them" : name}`);
  };
  put(localStorage.getItem("penstock-theme") || "auto");
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
    localStorage.setItem("penstock-theme", next);
    put(next);
  });
}

takeToken();
themes();
overview.setUp(draw);
addEventListener("hashchange", show);
addEventListener("resize", draw);
show();
follow(take, (word, why) => {
  by("live").textContent = word === "live" ? "connected" : "connection lost, trying again";
  if (why) { say(why); }
});
