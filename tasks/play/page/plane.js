// A plane of points on a canvas: drawing points, ellipses and attention, and the tools that change the points.

import { color, componentColor, context, fixed, glow } from "./parts.js";

export const LIMIT = 10000;
const HALF = 5.4; // the plane shows at least from −HALF to HALF
const NEAR = 9; // pixels within which a point is hit

export class Plane {
  constructor(canvas, state, actions) {
    Object.assign(this, { canvas, state, actions, cursor: [0, 0], keys: false, stroke: null });
    canvas.addEventListener("pointerdown", (e) => this.down(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => this.up());
    canvas.addEventListener("pointerleave", () => actions.hover(null));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("blur", () => { this.keys = false; actions.hover(null); actions.draw(); });
  }

  get scale() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) / 2 / HALF;
  }

  toScreen([x, y]) {
    return [this.canvas.clientWidth / 2 + x * this.scale, this.canvas.clientHeight / 2 - y * this.scale];
  }

  toPlane(x, y) {
    const place = [(x - this.canvas.clientWidth / 2) / this.scale, (this.canvas.clientHeight / 2 - y) / this.scale];
    return place.map((v) => Math.round(v * 1000) / 1000);
  }

  nearest([x, y], within = NEAR) {
    let best = null, least = (within / this.scale) ** 2;
    this.state.points.forEach((p, i) => {
      const d = (p[0] - x) ** 2 + (p[1] - y) ** 2;
      if (d < least) [best, least] = [i, d];
    });
    return best;
  }

  // ---- the pointer ----

  place(event) {
    return this.toPlane(event.offsetX, event.offsetY);
  }

  down(event) {
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.keys = false;
    this.canvas.setPointerCapture(event.pointerId);
    const p = this.place(event), { state } = this, hit = this.nearest(p, event.pointerType === "touch" ? 22 : NEAR);
    this.stroke = { from: p, at: p };
    if (state.tool === "point") {
      if (hit == null) this.actions.add([p]);
      this.stroke.dragged = new Set([hit ?? state.points.length - 1]);
    } else if (state.tool === "lasso") {
      if (state.selected.size && hit != null && state.selected.has(hit)) this.stroke.dragged = state.selected;
      else { this.stroke.line = [p]; state.selected = new Set(); }
    } else this.apply(p);
    this.actions.draw();
  }

  move(event) {
    const p = this.place(event);
    if (!this.stroke) return this.actions.hover(this.nearest(p));
    const { stroke, state } = this;
    if (stroke.dragged) this.actions.moveBy(stroke.dragged, p[0] - stroke.at[0], p[1] - stroke.at[1]);
    else if (stroke.line) stroke.line.push(p);
    else this.apply(p);
    stroke.at = p;
    if (state.tool === "point") this.actions.hover([...stroke.dragged][0]);
    this.actions.draw();
  }

  up() {
    if (this.stroke?.line) {
      const { line } = this.stroke;
      this.state.points.forEach((p, i) => inside(p, line) && this.state.selected.add(i));
    }
    this.stroke = null;
    this.actions.draw();
  }

  apply([x, y]) {
    if (this.state.tool === "spray") {
      const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
      this.actions.add(Array.from({ length: 3 }, () => [x + 0.3 * normal(), y + 0.3 * normal()].map((v) => Math.round(v * 1000) / 1000)));
    } else if (this.state.tool === "erase") {
      const near = new Set();
      this.state.points.forEach((p, i) => Math.hypot(p[0] - x, p[1] - y) < 18 / this.scale && near.add(i));
      if (near.size) this.actions.remove(near);
    }
  }

  // ---- the keyboard ----

  key(event) {
    const step = event.shiftKey ? 1 : 0.1, { state, actions } = this;
    const way = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
    if (way) {
      if (state.selected.size) actions.moveBy(state.selected, ...way);
      else this.cursor = this.cursor.map((v, i) => Math.max(-HALF, Math.min(HALF, Math.round((v + way[i]) * 1000) / 1000)));
    } else if (event.key === "Enter") actions.add([[...this.cursor]]);
    else if (event.key === "Delete" || event.key === "Backspace") {
      const hit = this.nearest(this.cursor, 40);
      if (state.selected.size) actions.remove(state.selected);
      else if (hit != null) actions.remove(new Set([hit]));
    } else if (event.key === "Escape") state.selected = new Set();
    else return;
    event.preventDefault();
    this.keys = true;
    actions.hover(this.nearest(this.cursor));
    actions.draw();
  }

  // ---- drawing ----

  draw({ answer, names, weights, pair, truth, hovered }) {
    const c = context(this.canvas), { state, scale } = this;
    this.grid(c);
    const colorOf = (i) => componentColor(names[answer?.assigned[i]] ?? 0);
    if (pair) this.threads(c, pair, hovered);
    const top = weights ? Math.max(2, ...weights) : 1;
    const size = state.points.length > 3000 ? 1.6 : state.points.length > 800 ? 2.4 : 3.6;
    state.points.forEach((p, i) => {
      const [x, y] = this.toScreen(p), w = weights?.[i] ?? 0, known = answer?.assigned[i] != null;
      c.beginPath();
      c.globalAlpha = weights ? 0.35 + 0.65 * Math.min(1, w / top) : 0.85;
      c.fillStyle = weights ? glow(w / top) : known ? colorOf(i) : color("soft");
      c.arc(x, y, weights ? size * (0.6 + 1.5 * Math.sqrt(Math.min(1, w / top))) : size, 0, 2 * Math.PI);
      c.fill();
      c.globalAlpha = 1;
      if (state.selected.has(i) || i === hovered) this.ring(c, x, y, size + 4);
    });
    if (truth) truth.forEach((row) => this.ellipse(c, row, color("soft"), [2, 5], 2));
    if (answer?.change?.before) answer.change.before.forEach((row) => this.ellipse(c, row, color("faint"), [2, 4], 2));
    answer?.mixture.rows.forEach((row, j) => this.ellipse(c, row, componentColor(names[j]), [], 2.5, true));
    answer?.em?.rows.forEach((row, j) => this.ellipse(c, row, componentColor(names[j]), [7, 5], 2));
    if (this.stroke?.line) this.lasso(c, this.stroke.line);
    if (this.keys) this.cross(c);
  }

  grid(c) {
    c.strokeStyle = color("grid");
    c.lineWidth = 1;
    const { clientWidth: w, clientHeight: h } = this.canvas, across = Math.ceil(w / 2 / this.scale);
    c.beginPath();
    for (let k = -across; k <= across; k++) {
      const [x, y] = this.toScreen([k, k]);
      c.moveTo(Math.round(x) + 0.5, 0); c.lineTo(Math.round(x) + 0.5, h);
      c.moveTo(0, Math.round(y) + 0.5); c.lineTo(w, Math.round(y) + 0.5);
    }
    c.stroke();
  }

  ellipse(c, [pi, x, y, sx, sy], stroke, dash, width, labeled = false) {
    const [u, v] = this.toScreen([x, y]);
    c.save();
    c.globalAlpha = pi < 0.01 ? 0.2 : 0.55 + 0.45 * Math.min(1, 2 * pi);
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.beginPath();
    c.ellipse(u, v, Math.max(2, 2 * sx * this.scale), Math.max(2, 2 * sy * this.scale), 0, 0, 2 * Math.PI);
    c.stroke();
    if (labeled && pi >= 0.01) {
      c.globalAlpha *= 0.12; c.fillStyle = stroke; c.fill();
      const text = `${Math.round(100 * pi)}%`, above = v - 2 * sy * this.scale - 8;
      c.globalAlpha = 1; c.font = "600 13px system-ui, sans-serif"; c.textAlign = "center";
      c.lineWidth = 4; c.setLineDash([]); c.strokeStyle = color("plane");
      const at = Math.max(14, above);
      c.strokeText(text, u, at); c.fillText(text, u, at);
    }
    c.restore();
  }

  threads(c, pair, hovered) {
    const [x, y] = this.toScreen(this.state.points[hovered]), top = Math.max(...pair);
    c.save();
    c.strokeStyle = color("glow");
    pair.forEach((w, i) => {
      if (w < 0.15 * top || i === hovered || i >= this.state.points.length) return;
      c.globalAlpha = 0.5 * (w / top);
      c.beginPath(); c.moveTo(x, y); c.lineTo(...this.toScreen(this.state.points[i])); c.stroke();
    });
    c.restore();
  }

  ring(c, x, y, r) {
    c.strokeStyle = color("ink"); c.lineWidth = 1.5;
    c.beginPath(); c.arc(x, y, r, 0, 2 * Math.PI); c.stroke();
  }

  lasso(c, line) {
    c.strokeStyle = color("accent"); c.lineWidth = 2; c.setLineDash([4, 4]);
    c.beginPath(); line.forEach((p) => c.lineTo(...this.toScreen(p))); c.closePath(); c.stroke(); c.setLineDash([]);
  }

  cross(c) {
    const [x, y] = this.toScreen(this.cursor);
    c.strokeStyle = color("accent"); c.lineWidth = 2;
    c.beginPath(); c.moveTo(x - 10, y); c.lineTo(x + 10, y); c.moveTo(x, y - 10); c.lineTo(x, y + 10); c.stroke();
    c.fillStyle = color("soft"); c.font = "12px system-ui, sans-serif"; c.textAlign = "left";
    c.fillText(`${fixed(this.cursor[0], 1)}, ${fixed(this.cursor[1], 1)}`, x + 12, y - 8);
  }
}

function inside([x, y], line) {
  let odd = false;
  line.forEach(([x1, y1], i) => {
    const [x2, y2] = line[(i + 1) % line.length];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) odd = !odd;
  });
  return odd;
}
