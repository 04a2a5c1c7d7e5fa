// Point clouds: a shape to turn, the probabilities of the classes, and where a layer looks.

import { ask, Live } from "./api.js";
import { $, Changes, color, context, element, fill, fillModels, glow, LayerChoice, redrawn, seed } from "./parts.js";

let models = [], points = [], label = null, names = [], answer = null, turn = identity(), changes, choice, live, spinning = false, last = null;

function identity() {
  return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
}

const times = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
const about = (axis, angle) => {
  const [i, j] = [[1, 2], [2, 0], [0, 1]][axis], R = identity();
  R[i][i] = R[j][j] = Math.cos(angle);
  R[j][i] = Math.sin(angle);
  R[i][j] = -R[j][i];
  return R;
};
const applied = (R, p) => R.map((row) => row[0] * p[0] + row[1] * p[1] + row[2] * p[2]);

// The camera looks along +y, from a little above: x to the right, z up.
const CAMERA = about(0, 0.32);
const turned = () => points.map((p) => applied(turn, p).map((v) => Math.round(1000 * v) / 1000));

function rotate(right, down) {
  turn = times(about(0, down), times(about(2, right), turn));
  update();
}

function update() {
  draw();
  if (points.length) live.send({ model: $("cloud-model").value, points: turned(), ...choice.message(), ...changes.message() });
}

function draw() {
  const canvas = $("cloud"), c = context(canvas), { clientWidth: w, clientHeight: h } = canvas, reach = Math.max(1, ...points.map((p) => Math.hypot(...p))), scale = (0.43 * Math.min(w, h)) / reach;
  const rows = answer?.attention?.weights, lit = rows?.[choice.query ?? 0]?.length === points.length ? rows[choice.query ?? 0] : null;
  const top = lit ? Math.max(1.5, [...lit].sort((a, b) => a - b)[Math.floor(0.96 * lit.length)]) : 1; // a few points may have most of it
  const seen = turned().map((p, i) => [applied(CAMERA, p), lit ? lit[i] / top : null]);
  seen.sort((a, b) => b[0][1] - a[0][1]);
  for (const [[x, y, z], weight] of seen) {
    const near = 1 - y / reach / 6, size = 2.4 * near * (weight == null ? 1.3 : 0.85 + 1.8 * Math.sqrt(Math.min(1, weight)));
    c.globalAlpha = Math.max(0.25, Math.min(1, 0.8 - (0.35 * y) / reach)) * (weight == null ? 1 : 0.6 + 0.4 * Math.min(1, weight));
    c.fillStyle = weight == null ? color("c0") : glow(weight, "soft");
    c.beginPath();
    c.arc(w / 2 + x * scale * near, h / 2 - z * scale * near, size, 0, 2 * Math.PI);
    c.fill();
  }
  c.globalAlpha = 1;
  canvas.dataset.turned = turn.flat().map((v) => v.toFixed(3)).join(" ");
}

function show(found, message) {
  if (message.points.length !== points.length) return;
  answer = found;
  names = found.names;
  const order = found.probabilities.map((p, i) => [p, i]).sort((a, b) => b[0] - a[0]).slice(0, 6);
  $("bars").replaceChildren(
    ...order.map(([p, i]) => {
      const bar = element("i");
      bar.style.setProperty("--w", `${100 * p}%`);
      return element("div", { className: i === label ? "true" : "" }, element("span", { textContent: names[i] }), bar, element("span", { textContent: `${(100 * p).toFixed(0)}%` }));
    }),
  );
  changes.report(found.change);
  draw();
}

async function sample() {
  const message = { model: $("cloud-model").value, n: Number($("cloud-points").value), seed: seed() };
  if ($("shape").value !== "") message.label = Number($("shape").value);
  const found = await ask("clouds/sample", message, "sample");
  if (!found) return;
  ({ points, label, names } = found);
  if ($("shape").options.length !== names.length + 1) fill($("shape"), [["", "any"], ...names.map((name, i) => [i, name])], "");
  turn = identity();
  update();
}

function spin(time) {
  if (!spinning || $("page-clouds").hidden) return;
  rotate(Math.min(50, time - (last ?? time)) * 0.0008, 0);
  last = time;
  requestAnimationFrame(spin);
}

async function chosen() {
  $("cloud-about").textContent = models.find((m) => m.name === $("cloud-model").value).about + " The class of the shape is in bold.";
  await choice.load("clouds", $("cloud-model").value);
  await sample();
}

export async function start(found) {
  models = found;
  fillModels($("cloud-model"), models);
  changes = new Changes($("cloud-changes"), $("cloud-difference"), update);
  changes.report(null);
  choice = new LayerChoice({ layer: $("cloud-layer"), head: $("cloud-head"), chips: $("cloud-queries"), changed: update, lit: draw });
  live = new Live("clouds", "clouds", show);
  const canvas = $("cloud");
  redrawn(canvas, draw);
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    rotate((event.clientX - from[0]) * 0.01, (event.clientY - from[1]) * 0.01);
    from = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (from = null));
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!way) return;
    event.preventDefault();
    rotate(...way);
  });
  $("cloud-sample").addEventListener("click", sample);
  $("shape").addEventListener("change", sample);
  $("cloud-model").addEventListener("change", chosen);
  const shown = () => ($("cloud-points-shown").textContent = $("cloud-points").value);
  $("cloud-points").addEventListener("input", shown);
  $("cloud-points").addEventListener("change", sample);
  shown();
  $("upright").addEventListener("click", () => {
    turn = identity();
    update();
  });
  $("spin").addEventListener("click", () => {
    spinning = !spinning;
    last = null;
    $("spin").setAttribute("aria-pressed", spinning);
    requestAnimationFrame(spin);
  });
  await chosen();
}
