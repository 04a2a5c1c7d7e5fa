// Maximum regression: numbers on a line, the answer, and its gradient as arrows.

import { Live } from "./api.js";
import { $, Changes, color, element, fillModels, fixed } from "./parts.js";

const SVG = "http://www.w3.org/2000/svg", MOST = 20, MARGIN = 34;
let models = [], numbers = [12, 37.5, 58, 81], answer = null, changes, live, others, dragged = null;

function current() {
  return $("max-break").checked ? models.find((m) => m.position) : models.find((m) => m.name === $("max-model").value);
}

function update() {
  draw();
  if (!numbers.length) return;
  live.send({ model: current().name, numbers, ...changes.message() });
  others.forEach(([name, lane]) => lane.send({ model: name, numbers }));
}

// ---- the line ----

const svg = () => $("line");
const width = () => svg().clientWidth;
const toX = (v) => MARGIN + (v / 100) * (width() - 2 * MARGIN);
const toValue = (x) => Math.max(0, Math.min(100, Math.round((10 * 100 * (x - MARGIN)) / (width() - 2 * MARGIN)) / 10));

function make(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text != null) made.textContent = text;
  return made;
}

function draw() {
  const focused = document.activeElement?.dataset?.number, h = svg().clientHeight, base = Math.round(h * 0.62), parts = [];
  parts.push(make("line", { x1: toX(0), x2: toX(100), y1: base, y2: base, stroke: color("faint"), "stroke-width": 3, "stroke-linecap": "round" }));
  for (let v = 0; v <= 100; v += 20) {
    parts.push(make("line", { x1: toX(v), x2: toX(v), y1: base + 14, y2: base + 20, stroke: color("faint") }));
    parts.push(make("text", { x: toX(v), y: base + 36, class: "soft" }, v));
  }
  if (answer) {
    const y = Math.max(-10, Math.min(110, answer.y)), x = toX(y);
    parts.push(make("path", { d: `M${x} ${base + 42}l-9 16h18z`, fill: color("accent") }));
    parts.push(make("text", { x: Math.max(70, Math.min(width() - 70, x)), y: base + 76, "font-weight": 650 }, `answer ${fixed(answer.y)}`));
  }
  numbers.forEach((v, i) => parts.push(number(v, i, base)));
  svg().replaceChildren(...parts);
  if (focused != null) svg().querySelector(`[data-number="${focused}"]`)?.focus();
}

function number(v, i, base) {
  const g = make("g", { class: "number", role: "slider", tabindex: 0, "data-number": i, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": v, "aria-label": `number ${i + 1}` });
  const x = toX(v), slope = answer?.gradient[i] ?? 0, length = Math.max(-70, Math.min(110, 90 * slope));
  if (Math.abs(length) > 1) {
    const end = base - 16 - length, tip = length > 0 ? 1 : -1, paint = length > 0 ? color("good") : color("bad");
    g.append(make("path", { d: `M${x} ${base - 14}V${end}m-6 ${8 * tip}l6 ${-8 * tip}l6 ${8 * tip}`, stroke: paint, "stroke-width": 3.5, fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" }));
    if (Math.abs(slope) > 0.03) g.append(make("text", { x, y: Math.min(end, base - 16) - 10, fill: paint }, fixed(slope)));
  }
  g.append(make("circle", { cx: x, cy: base, r: 12, fill: color("c0"), stroke: color("plane"), "stroke-width": 3 }));
  g.append(make("title", {}, `${v}: gradient ${fixed(slope, 3)}`));
  g.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    event.stopPropagation();
    dragged = i;
    svg().setPointerCapture(event.pointerId);
    svg().querySelector(`[data-number="${i}"]`).focus({ preventScroll: true });
  });
  g.addEventListener("keydown", (event) => key(event, i));
  return g;
}

function key(event, i) {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
  if (step) numbers[i] = Math.max(0, Math.min(100, Math.round(10 * (numbers[i] + step)) / 10));
  else if (event.key === "Home" || event.key === "End") numbers[i] = event.key === "End" ? 100 : 0;
  else if ((event.key === "Delete" || event.key === "Backspace") && numbers.length > 1) numbers.splice(i, 1);
  else return;
  event.preventDefault();
  update();
}

// ---- the rest ----

function show(found, message) {
  if (message.model !== current().name || found.gradient.length !== numbers.length) return;
  answer = found;
  const off = Math.abs(found.y - found.true);
  $("max-answer").replaceChildren(fixed(found.y), element("small", { textContent: `   true ${fixed(found.true, 1)}, off by ${fixed(off)}` }));
  $("max-about").textContent = current().about;
  changes.report(found.change);
  draw();
}

function row(model, found) {
  const line = $(`max-row-${model.name}`);
  line.cells[1].textContent = fixed(found.y);
  line.cells[2].textContent = `off by ${fixed(Math.abs(found.y - found.true))}`;
}

export function start(found) {
  models = found;
  const usual = models.filter((m) => !m.position);
  fillModels($("max-model"), usual);
  live = new Live("maximum", "maximum", show);
  others = usual.slice(0, 8).map((m) => [m.name, new Live("maximum", `maximum-${m.name}`, (a) => row(m, a))]);
  $("max-table").tBodies[0].replaceChildren(
    ...usual.slice(0, 8).map((m) => element("tr", { id: `max-row-${m.name}` }, element("td", { textContent: m.label }), element("td"), element("td"))),
  );
  changes = new Changes($("max-changes"), $("max-difference"), update);
  changes.report(null);
  $("max-model").addEventListener("change", update);
  $("max-break").addEventListener("change", () => {
    $("max-model").disabled = $("max-break").checked;
    update();
  });
  $("max-add").addEventListener("click", () => add(Math.round(1000 * Math.random()) / 10));
  $("max-remove").addEventListener("click", () => {
    if (numbers.length > 1) numbers.pop();
    update();
  });
  $("max-sample").addEventListener("click", () => {
    numbers = Array.from({ length: 3 + Math.floor(6 * Math.random()) }, () => Math.round(1000 * Math.random()) / 10);
    update();
  });
  svg().addEventListener("pointerdown", (event) => {
    event.preventDefault();
    add(toValue(event.clientX - svg().getBoundingClientRect().left));
  });
  svg().addEventListener("pointermove", (event) => {
    if (dragged == null) return;
    numbers[dragged] = toValue(event.clientX - svg().getBoundingClientRect().left);
    update();
  });
  for (const end of ["pointerup", "pointercancel"]) svg().addEventListener(end, () => (dragged = null));
  new ResizeObserver(draw).observe(svg());
  window.addEventListener("theme", draw);
  update();
}

function add(value) {
  if (numbers.length < MOST) numbers.push(value);
  update();
}

export function message() {
  return models.length ? { model: current().name, numbers } : null;
}

