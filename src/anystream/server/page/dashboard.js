// Live page of the server: reads snapshots from v1/events and draws them.

import { CurveChart, TimeChart, percent, short } from "./charts.js";
import { Recent } from "./recent.js";

const SPOKEN_EVERY_S = 10; // a screen reader hears a summary this often
const at = (id) => document.getElementById(id);
const figure = (name) => document.querySelector(`[data-chart="${name}"]`);
const milliseconds = (value) => `${short(value)} ms`;

const charts = [
  new TimeChart(figure("wait"), {
    label: "Waiting time", format: milliseconds,
    series: [
      { name: "median", style: "first", area: true, of: (now) => now.wait_p50_ms },
      { name: "99 of 100 wait less", style: "third", of: (now) => now.wait_p99_ms },
      { name: "deadline", style: "limit", of: (now) => now.deadline_ms },
    ],
  }),
  new TimeChart(figure("arrivals"), {
    label: "Records per second",
    series: [
      { name: "arrivals/s", style: "first", area: true, of: (now) => now.arrivals_per_s },
      { name: "answers/s", style: "second", of: (now) => now.answers_per_s },
    ],
  }),
  new TimeChart(figure("steps"), {
    label: "Steps per answer",
    series: [{ name: "mean", style: "first", area: true, of: (now) => now.steps_per_answer }],
  }),
  new TimeChart(figure("shares"), {
    label: "Shares", format: percent, maximum: 1,
    series: [
      { name: "in time", style: "first", of: (now) => now.on_time_share },
      { name: "certified", style: "third", of: (now) => now.certified_share },
      { name: "right", style: "second", of: (now) => now.accuracy },
    ],
  }),
  new TimeChart(figure("queue"), {
    label: "Queue",
    series: [{ name: "records waiting", style: "first", area: true, of: (now) => now.queue_length }],
  }),
];
const curve = new CurveChart(figure("curve"));
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let model = null; // name of the model on show
let cards = new Map(); // name -> card
let shownVersions = ""; // of all models
let recent = new Recent(); // of the model on show
let clock = 0; // server time minus that of this page, in seconds
let lastSpoken = -Infinity;

// -- what arrives ------------------------------------------------------------------------------------------------------

function connect() {
  const events = new EventSource("v1/events");
  events.onmessage = (event) => {
    showSnapshot(JSON.parse(event.data));
    setStatus("live", "live"); // from the first snapshot on: what is answered later is shown
  };
  events.onerror = () => setStatus("lost", "connection lost, trying again");
}

function setStatus(state, text) {
  const status = at("status");
  if (status.dataset.state === state) return;
  status.dataset.state = state;
  status.textContent = text;
}

/** Fetch the cards of the models if one of them has changed. */
async function updateCards(models) {
  const versions = JSON.stringify(Object.entries(models).map(([name, found]) => [name, found.version]));
  if (versions === shownVersions) return;
  shownVersions = versions;
  const list = await (await fetch("dashboard/models")).json();
  cards = new Map(list.map((card) => [card.name, card]));
  at("model").replaceChildren(...list.map((card) => new Option(card.name, card.name, false, card.name === model)));
  at("model-choice").hidden = list.length < 2;
  showCard();
}

/** Show another model, from here on. */
function selectModel(name) {
  model = name;
  recent = new Recent();
  for (const chart of charts) chart.clear();
  showCard();
}

function showCard() {
  const card = cards.get(model);
  if (!card) return;
  document.title = `${card.name} · anystream`;
  at("card").replaceChildren(...Object.entries(card.facts).map(([term, text]) => {
    const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = text;
    row.append(dt, dd);
    return row;
  }));
  curve.show(card.curve);
}

function showSnapshot({ time, uptime_s, deadline_s, models, load }) {
  if (!models[model]) selectModel(Object.keys(models)[0] ?? null);
  updateCards(models);
  if (!models[model]) return;
  recent.push(time, models[model]);
  const now = { ...recent.figures(), deadline_ms: 1e3 * deadline_s };
  clock = time - performance.now() / 1000;
  for (const chart of charts) chart.push(time, now);
  curve.mark(now.steps_per_answer);
  showFigures(now);
  showLoad(load);
  at("uptime").textContent = `up for ${duration(uptime_s)}`;
  speak(time, now);
}

const figures = [
  ["on-time", (now) => percent(now.on_time_share)],
  ["arrivals", (now) => short(now.arrivals_per_s)],
  ["steps", (now) => short(now.steps_per_answer)],
  ["certified", (now) => percent(now.certified_share)],
  ["accuracy", (now) => percent(now.accuracy)],
];
const rows = [
  ["Answered in time", (now) => percent(now.on_time_share)],
  ["Arrivals per second", (now) => short(now.arrivals_per_s)],
  ["Answers per second", (now) => short(now.answers_per_s)],
  ["Median waiting time", (now) => milliseconds(now.wait_p50_ms)],
  ["99 of 100 wait less than", (now) => milliseconds(now.wait_p99_ms)],
  ["Deadline", (now) => milliseconds(now.deadline_ms)],
  ["Steps per answer", (now) => short(now.steps_per_answer)],
  ["Certified", (now) => percent(now.certified_share)],
  ["Confident, not certified", (now) => percent(now.confident_share)],
  ["Accuracy", (now) => percent(now.accuracy)],
  ["Records waiting", (now) => short(now.queue_length)],
  ["Answered since the start", (now) => now.answered.toLocaleString("en")],
  ["Late since the start", (now) => now.late.toLocaleString("en")],
  ["Refused since the start", (now) => now.refused.toLocaleString("en")],
  ["Learned since the start", (now) => now.learned.toLocaleString("en")],
];
const cells = rows.map(([name]) => {
  const row = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
  head.scope = "row";
  head.textContent = name;
  row.append(head, cell);
  at("rows").append(row);
  return cell;
});

function showFigures(now) {
  for (const [id, text] of figures) at(id).textContent = text(now);
  document.querySelector(".hero").classList.toggle("bad", now.on_time_share < 0.99);
  at("on-time-note").textContent = now.refused ? `of the last ten seconds; ${now.refused.toLocaleString("en")} refused since the start` : "of the last ten seconds";
  at("certified-note").textContent = now.confident_share > 0 ? `and ${percent(now.confident_share)} confident, by a test of the model` : "no further step can change the label";
  if (at("figures-table").open) rows.forEach(([, text], i) => { cells[i].textContent = text(now); });
}

function speak(time, now) {
  if (time - lastSpoken < SPOKEN_EVERY_S || !now.answers_per_s) return;
  lastSpoken = time;
  at("spoken").textContent = `${percent(now.on_time_share)} answered in time, ${short(now.arrivals_per_s)} arrivals per second, ${short(now.steps_per_answer)} steps per answer`;
}

function duration(seconds) {
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${minutes % 60} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

// -- load of the demonstration -----------------------------------------------------------------------------------------

const loadOf = (position) => Math.min(2 ** Number(position), 10); // the slider is logarithmic: 0.25 to 10

function showLoad(load) {
  at("controls").hidden = load === null;
  if (load === null || document.activeElement === at("load")) return;
  at("load").value = Math.log2(load);
  describeLoad(load);
}

function describeLoad(load) {
  const text = `${load >= 1 ? short(Math.round(load * 10) / 10) : load.toFixed(2)} ×`;
  at("load-value").textContent = text;
  at("load").setAttribute("aria-valuetext", `${text} of what this machine can classify`);
}

const send = (path, body) => fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

at("load").addEventListener("input", (event) => describeLoad(loadOf(event.target.value)));
at("load").addEventListener("change", (event) => send("v1/demo/load", { load: loadOf(event.target.value) }));
at("burst").addEventListener("click", () => send("v1/demo/burst", {}));

// -- the page ----------------------------------------------------------------------------------------------------------

at("model").addEventListener("change", (event) => selectModel(event.target.value));

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  at("theme").textContent = isDark() ? "Light" : "Dark";
}

at("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});

function slide() {
  if (!calm.matches && !document.hidden) {
    const time = clock + performance.now() / 1000;
    for (const chart of charts) chart.slide(time);
  }
  requestAnimationFrame(slide);
}

showTheme();
connect();
requestAnimationFrame(slide);
