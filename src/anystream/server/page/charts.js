// Two charts in plain SVG: values over the last minute, and accuracy over steps.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 56, RIGHT = 8, TOP = 10, BOTTOM = 20;

/** Return a number with three significant digits: 0.12, 4.5, 123, 45k. */
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6, 1)}M`;
  if (size >= 1e4) return `${trim(value / 1e3, 0)}k`;
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return size >= 10 ? trim(value, 1) : trim(value, 2);
}

export const percent = (share) => (Number.isFinite(share) ? `${trim(100 * share, share > 0.9995 || share === 0 ? 0 : 1)} %` : "–");

const trim = (value, digits) => String(Number(value.toFixed(digits)));

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

/** Least of 1, 2, 5 times a power of ten that is not below `value`. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((bound) => bound >= value * 0.9999);
}

/**
 * Lines over the last `seconds`, sliding to the left.
 *
 * series: [{name, style: "first" | "second" | "third" | "limit", area: bool, of: snapshot => number}]
 * format: number => text; maximum: fixed upper bound, or undefined to follow the data; minimum: lower bound.
 */
export class TimeChart {
  constructor(figure, { series, format = short, maximum, minimum = 0, seconds = 60, label }) {
    Object.assign(this, { figure, series, format, maximum, minimum, seconds, label });
    this.svg = figure.querySelector("svg");
    this.points = []; // [time, value of each series]
    this.top = maximum ?? 1;
    this.values = writeLegend(figure, series);
    this.grid = element("g", {}, this.svg);
    const clip = `clip-${figure.dataset.chart}`;
    this.clip = element("rect", {}, element("clipPath", { id: clip }, element("defs", {}, this.svg)));
    this.plot = element("g", {}, element("g", { "clip-path": `url(#${clip})` }, this.svg));
    this.areas = series.map((line) => line.area && element("path", { class: `area ${line.style}` }, this.plot));
    this.lines = series.map((line) => element("path", { class: `series ${line.style}` }, this.plot));
    new ResizeObserver(() => this.measure()).observe(this.svg);
    this.measure();
  }

  measure() {
    const { width, height } = this.svg.getBoundingClientRect();
    Object.assign(this, { width: Math.max(width, 80), height: Math.max(height, 60) });
    for (const [key, value] of Object.entries({ x: LEFT, y: 0, width: this.width - LEFT - RIGHT, height: this.height })) this.clip.setAttribute(key, value);
    this.drawGrid();
    this.drawLines();
  }

  clear() {
    this.points = [];
    this.drawLines();
  }

  push(time, snapshot) {
    this.points.push([time, ...this.series.map((line) => line.of(snapshot))]);
    while (this.points.length > 2 && this.points[1][0] < time - this.seconds - 2) this.points.shift();
    const last = this.points.at(-1);
    this.values.forEach((text, i) => { text.textContent = this.format(last[i + 1]); });
    this.svg.setAttribute("aria-label", `${this.label}: ${this.series.map((line, i) => `${line.name} ${this.format(last[i + 1])}`).join(", ")}`);
    this.follow();
    this.drawLines();
  }

  /** Let the upper bound follow the data: up at once, down when half of it is unused. */
  follow() {
    if (this.maximum !== undefined) return;
    const highest = Math.max(1e-9, ...this.points.flatMap((point) => point.slice(1)).filter(Number.isFinite));
    const bound = roundUp(highest * 1.05);
    if (bound > this.top || highest < this.top * 0.4) {
      this.top = bound;
      this.drawGrid();
    }
  }

  y(value) {
    const share = (Math.min(value, this.top) - this.minimum) / (this.top - this.minimum);
    return TOP + (1 - Math.max(share, 0)) * (this.height - TOP - BOTTOM);
  }

  perSecond() { return (this.width - LEFT - RIGHT) / this.seconds; }

  drawGrid() {
    this.grid.replaceChildren();
    for (const share of [0, 0.5, 1]) {
      const value = this.minimum + share * (this.top - this.minimum), y = this.y(value);
      element("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }, this.grid);
      element("text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, this.grid).textContent = this.format(value);
    }
    for (const ago of [this.seconds, this.seconds / 2, 0]) {
      const x = this.width - RIGHT - ago * this.perSecond();
      const anchor = ago === 0 ? "end" : ago === this.seconds ? "start" : "middle";
      element("text", { x, y: this.height - 4, "text-anchor": anchor }, this.grid).textContent = ago === 0 ? "now" : `${ago} s ago`;
    }
  }

  /** Draw the lines with time 0 at the last point; `slide` moves them between two snapshots. */
  drawLines() {
    const last = this.points.at(-1)?.[0] ?? 0, right = this.width - RIGHT, scale = this.perSecond(), floor = this.y(this.minimum);
    this.series.forEach((line, i) => {
      let path = "", area = "", x = 0, open = false;
      for (const point of this.points) {
        const value = point[i + 1];
        if (!Number.isFinite(value)) { if (open) area += `L${x} ${floor}Z`; open = false; continue; }
        x = (right + (point[0] - last) * scale).toFixed(1);
        const y = this.y(value).toFixed(1);
        path += `${open ? "L" : "M"}${x} ${y}`;
        area += open ? `L${x} ${y}` : `M${x} ${floor}L${x} ${y}`;
        open = true;
      }
      this.lines[i].setAttribute("d", path);
      if (this.areas[i]) this.areas[i].setAttribute("d", open ? `${area}L${x} ${floor}Z` : area);
    });
    this.drawn = last;
  }

  slide(time) {
    const shift = Math.min(Math.max(time - this.drawn, 0), 1) * this.perSecond();
    this.plot.setAttribute("transform", `translate(${-shift.toFixed(2)} 0)`);
  }
}

/** Accuracy over steps (logarithmic), with the present number of steps marked on it. */
export class CurveChart {
  constructor(figure) {
    this.figure = figure;
    this.svg = figure.querySelector("svg");
    this.values = writeLegend(figure, [{ name: "accuracy at the steps of now", style: "second" }]);
    this.curve = [];
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  /** curve: [[steps, accuracy], ...] with ascending steps */
  show(curve) {
    this.curve = curve;
    this.draw();
  }

  mark(steps) {
    this.steps = steps;
    this.draw();
  }

  draw() {
    const { width, height } = this.svg.getBoundingClientRect();
    this.svg.replaceChildren();
    if (this.curve.length < 2 || width < 80) {
      this.svg.setAttribute("aria-label", "Anytime curve: unknown for this model");
      element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, this.svg).textContent = "no curve in this model: fit with --profile";
      return;
    }
    const shares = this.curve.map((point) => point[1]), low = Math.max(0, Math.floor(Math.min(...shares) * 10 - 0.2) / 10), high = Math.min(1, Math.ceil(Math.max(...shares) * 20) / 20);
    const last = Math.log1p(this.curve.at(-1)[0]);
    const x = (steps) => LEFT + (Math.log1p(Math.min(steps, this.curve.at(-1)[0])) / last) * (width - LEFT - RIGHT - 6);
    const y = (share) => TOP + (1 - (share - low) / Math.max(high - low, 1e-9)) * (height - TOP - BOTTOM);
    for (const share of [low, (low + high) / 2, high]) {
      element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(share), y2: y(share) }, this.svg);
      element("text", { x: LEFT - 7, y: y(share) + 4, "text-anchor": "end" }, this.svg).textContent = percent(share);
    }
    const end = this.curve.at(-1)[0];
    for (const steps of [0, 1, 3, 10, 30, 100, 300, 1000, 3000].filter((steps) => steps === 0 || x(steps) < x(end) - 70).concat(end)) {
      element("text", { x: x(steps), y: height - 4, "text-anchor": steps === end ? "end" : steps ? "middle" : "start" }, this.svg).textContent = steps === end ? `${short(end)} steps` : steps;
    }
    const path = this.curve.map(([steps, share], i) => `${i ? "L" : "M"}${x(steps).toFixed(1)} ${y(share).toFixed(1)}`).join("");
    element("path", { class: "area first", d: `${path}L${x(end)} ${y(low)}L${x(0)} ${y(low)}Z` }, this.svg);
    element("path", { class: "series first", d: path }, this.svg);
    if (!Number.isFinite(this.steps)) return;
    const share = this.accuracyAt(this.steps);
    element("line", { class: "drop", x1: x(this.steps), x2: x(this.steps), y1: y(share), y2: y(low) }, this.svg);
    element("circle", { class: "here", cx: x(this.steps), cy: y(share), r: 6 }, this.svg);
    this.values[0].textContent = percent(share);
    this.svg.setAttribute("aria-label", `Anytime curve: accuracy ${percent(shares[0])} before the first step, ${percent(share)} at ${short(this.steps)} steps now, ${percent(shares.at(-1))} at ${short(end)}`);
  }

  /** Accuracy at a number of steps, interpolated. */
  accuracyAt(steps) {
    const after = this.curve.findIndex((point) => point[0] >= steps);
    if (after < 0) return this.curve.at(-1)[1];
    if (after === 0) return this.curve[0][1];
    const [[s0, a0], [s1, a1]] = [this.curve[after - 1], this.curve[after]];
    return a0 + ((a1 - a0) * (steps - s0)) / (s1 - s0);
  }
}

/** Write a legend and return the elements that show the present values. */
function writeLegend(figure, series) {
  const legend = figure.querySelector(".legend");
  legend.replaceChildren();
  return series.map((line) => {
    const item = document.createElement("span"), key = document.createElement("i"), name = document.createElement("b"), value = document.createElement("strong");
    item.className = line.style;
    if (line.style === "limit") key.className = "dashed";
    name.textContent = line.name;
    item.append(key, name, value);
    legend.append(item);
    return value;
  });
}
