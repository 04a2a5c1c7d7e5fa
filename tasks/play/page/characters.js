// Counting characters: cells to draw in, the count, and which drawing attends to which.

import { ask, Live } from "./api.js";
import { $, color, context, element, fillModels, fixed, redrawn, seed } from "./parts.js";

const CELLS = 10, PEN = 1 / 28;
let models = [], cells = [], live, answer = null, shownCells = [], truth = null, lit = null;

class Cell {
  constructor(i) {
    Object.assign(this, { i, strokes: [], pixels: null, pen: [0.5, 0.5], keys: false, line: null });
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `drawing ${i + 1}`);
    this.copy = element("button", { className: "copy", textContent: "copy", title: "Copy this drawing to a free cell" });
    this.erase = element("button", { className: "empty", textContent: "×", title: "Empty this cell" });
    this.erase.setAttribute("aria-label", `Empty drawing ${i + 1}`);
    this.copy.setAttribute("aria-label", `Copy drawing ${i + 1}`);
    this.box = element("div", { className: "cell" }, this.canvas, this.copy, this.erase);
    this.copy.addEventListener("click", () => copy(this));
    this.erase.addEventListener("click", () => this.set([], null));
    this.canvas.addEventListener("pointerdown", (e) => this.down(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (this.line = null));
    this.canvas.addEventListener("pointerenter", () => light(this.i));
    this.canvas.addEventListener("pointerleave", () => light(null));
    this.canvas.addEventListener("focus", () => light(this.i));
    this.canvas.addEventListener("blur", () => { this.keys = false; this.line = null; light(null); this.draw(); });
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    redrawn(this.canvas, () => this.draw());
  }

  get used() {
    return Boolean(this.pixels || this.strokes.length);
  }

  get message() {
    return this.pixels ? { pixels: this.pixels } : { strokes: this.strokes };
  }

  set(strokes, pixels) {
    Object.assign(this, { strokes, pixels, line: null });
    truth = null;
    this.draw();
    update();
  }

  place(event) {
    return [event.offsetX / this.canvas.clientWidth, event.offsetY / this.canvas.clientHeight].map((v) => Math.round(1000 * Math.max(0, Math.min(1, v))) / 1000);
  }

  down(event) {
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.begin(this.place(event));
  }

  begin(place) {
    this.pixels = null;
    truth = null;
    this.line = [place];
    if (this.strokes.length < 40) this.strokes.push(this.line);
    this.draw();
    update();
  }

  move(event) {
    if (this.line && this.line.length < 400) this.extend(this.place(event));
  }

  extend(place) {
    const [x, y] = this.line.at(-1);
    if (Math.hypot(place[0] - x, place[1] - y) < 0.01) return;
    this.line.push(place);
    this.draw();
    update();
  }

  key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way) {
      this.pen = this.pen.map((v, i) => Math.max(0.04, Math.min(0.96, v + way[i] / 16)));
      if (this.line) this.extend([...this.pen]);
    } else if (event.key === " ") {
      if (this.line) this.line = null;
      else this.begin([...this.pen]);
    } else if (event.key === "Delete" || event.key === "Backspace") this.set([], null);
    else return;
    event.preventDefault();
    this.keys = true;
    this.draw();
  }

  draw() {
    const c = context(this.canvas), w = this.canvas.clientWidth;
    this.copy.hidden = this.erase.hidden = !this.used;
    if (this.pixels) paint(c, this.pixels, w);
    c.strokeStyle = color("ink");
    c.lineWidth = 1.5 * PEN * w;
    c.lineCap = c.lineJoin = "round";
    for (const stroke of this.strokes) {
      c.beginPath();
      stroke.forEach(([x, y]) => c.lineTo(x * w, y * w));
      if (stroke.length === 1) c.lineTo(stroke[0][0] * w + 0.1, stroke[0][1] * w);
      c.stroke();
    }
    if (this.keys) {
      c.fillStyle = color(this.line ? "glow" : "accent");
      c.beginPath();
      c.arc(this.pen[0] * w, this.pen[1] * w, 5, 0, 2 * Math.PI);
      c.fill();
    }
  }
}

function paint(c, pixels, w) {
  const side = w / 28;
  c.fillStyle = color("ink");
  pixels.forEach((p, i) => {
    if (!p) return;
    c.globalAlpha = p / 255;
    c.fillRect((i % 28) * side, Math.floor(i / 28) * side, side + 0.5, side + 0.5);
  });
  c.globalAlpha = 1;
}

function copy(cell) {
  const free = cells.find((other) => !other.used);
  if (free) free.set(cell.strokes.map((s) => s.map((p) => [...p])), cell.pixels);
}

function update() {
  const used = cells.filter((cell) => cell.used);
  if (!used.length) {
    answer = null;
    $("char-answer").textContent = "–";
    $("char-detail").textContent = "Draw something, or sample drawings.";
    $("seen").replaceChildren();
    return;
  }
  live.send({ model: $("char-model").value, drawings: used.map((cell) => cell.message), cells: used.map((cell) => cell.i) });
}

function show(found, message) {
  answer = found;
  shownCells = message.cells;
  $("char-answer").replaceChildren(`${found.nearest} different`, element("small", { textContent: ` of ${message.drawings.length}` }));
  $("char-detail").textContent =
    `The output is λ = ${fixed(found.rate)}, the rate of a Poisson distribution; shown is the nearest whole number (its mode is ${found.floor}).` +
    (truth ? ` The true count of these is ${truth}.` : "");
  $("seen").replaceChildren(
    ...found.pixels.map((pixels) => {
      const canvas = element("canvas", { width: 28, height: 28 }), c = canvas.getContext("2d");
      paint(c, pixels, 28);
      return canvas;
    }),
  );
  light(lit);
}

/** Show whom a drawing attends to: the others, brighter the more weight. */
function light(i) {
  lit = i;
  const at = shownCells.indexOf(i), weights = at >= 0 ? answer?.attention?.[at] : null, top = weights ? Math.max(...weights) : 1;
  cells.forEach((cell) => {
    const w = weights?.[shownCells.indexOf(cell.i)] ?? 0;
    cell.box.classList.toggle("lit", Boolean(weights) && w > 0.5 * top);
    cell.canvas.style.background = weights && w ? `color-mix(in srgb, ${color("glow")} ${Math.round((45 * w) / top)}%, ${color("plane")})` : "";
  });
}

export function start(found) {
  models = found;
  fillModels($("char-model"), models);
  live = new Live("characters", "characters", show);
  cells = Array.from({ length: CELLS }, (_, i) => new Cell(i));
  $("cells").replaceChildren(...cells.map((cell) => cell.box));
  $("char-model").addEventListener("change", chosen);
  $("char-clear").addEventListener("click", () => cells.forEach((cell) => cell.set([], null)));
  $("char-sample").addEventListener("click", async () => {
    const sampled = await ask("characters/sample", { n: 6, seed: seed() }, "sample");
    if (!sampled) return;
    cells.forEach((cell, i) => cell.set([], sampled.drawings[i]?.pixels ?? null));
    truth = sampled.different;
  });
  window.addEventListener("theme", () => answer && update());
  chosen();
}

function chosen() {
  $("char-about").textContent = models.find((m) => m.name === $("char-model").value).about;
  update();
}
