// Clustering: one or two networks on the same points, EM beside them, attention, checkpoints, and changes of the list.

import { ask, Live } from "./api.js";
import { $, Changes, element, fillModels, fixed, LayerChoice, radios, redrawn, seed } from "./parts.js";
import { LIMIT, Plane } from "./plane.js";

const state = { points: [], labels: null, truth: null, tool: "point", selected: new Set(), em: "none" };
const KEYS = matchMedia("(pointer: coarse)").matches ? "" : " Arrow keys move the cross, Enter adds a point.";
const views = [], FIRST = 7; // the seed of the first set
let models = [], choice, changes, hovered = null, playing = null;

/** One network and its picture. */
class View {
  constructor(i, actions) {
    this.i = i;
    this.figure = $(`view-${i}`);
    this.caption = this.figure.querySelector("figcaption");
    this.plane = new Plane(this.figure.querySelector("canvas"), state, actions);
    this.answer = null;
    this.live = new Live("clustering", `clustering-${i}`, (answer, message) => this.show(answer, message));
    redrawn(this.plane.canvas, () => this.draw());
  }

  get model() {
    return i0(this) ? current() : models.find((m) => m.name === $("model-1").value);
  }

  get shown() {
    return Boolean(this.model);
  }

  update() {
    if (!this.shown) return;
    if (!state.points.length) {
      this.answer = null;
      this.caption.textContent = this.model.label;
      if (i0(this)) scores();
      return this.draw();
    }
    const message = { model: this.model.name, points: state.points, em: state.em, ...changes.message() };
    if (state.truth) message.truth = state.truth;
    if (i0(this)) {
      Object.assign(message, choice.message());
      if (choice.current?.kind === "between elements") message.focus = hovered;
      if (this.model.steps.length > 1) message.step = this.model.steps[$("step").value];
    }
    this.live.send(message);
  }

  show(answer, message) {
    if (message.model !== this.model?.name) return;
    this.answer = state.points.length ? answer : null; // points may have come or gone since it was asked for
    if (!this.answer) return;
    this.caption.replaceChildren(
      element("b", { textContent: this.model.label + (this.model.position ? ", with positions" : "") }),
      ` log-likelihood ${fixed(answer.mixture.LL)}`,
    );
    if (i0(this)) {
      scores();
      changes.report(answer.change);
    }
    this.draw();
  }

  draw() {
    const weights = i0(this) && this.answer?.attention, q = choice?.query;
    let lit = null, pair = null;
    if (weights?.weights && q != null && weights.weights[q]) lit = weights.weights[q];
    if (weights?.to && hovered != null) [lit, pair] = [weights.from, weights.to];
    const first = views[0]?.answer;
    const names = i0(this) ? this.answer?.mixture.rows.map((_, j) => j) ?? [] : matched(this.answer, first);
    const truth = $("truth").checked ? state.truth : null;
    this.plane.draw({ answer: this.answer, names, weights: lit, pair, truth, hovered });
    this.figure.dataset.lit = lit ? lit.filter((w) => w > 1).length : 0;
    this.figure.dataset.rows = JSON.stringify(this.answer?.mixture.rows ?? []);
  }
}

const i0 = (view) => view.i === 0;

function current() {
  const name = $("break").checked ? models.find((m) => m.position)?.name : $("model-0").value;
  return models.find((m) => m.name === name);
}

/** The components of the second network take the colors of the nearest ones of the first. */
function matched(answer, first) {
  if (!answer) return [];
  if (!first) return answer.mixture.rows.map((_, j) => j);
  const free = new Set(first.mixture.rows.map((_, j) => j));
  return answer.mixture.rows.map(([, x, y], j) => {
    const best = [...free].sort((a, b) => distance(first, a, x, y) - distance(first, b, x, y))[0];
    free.delete(best);
    return best ?? j;
  });
}

const distance = (answer, j, x, y) => Math.hypot(answer.mixture.rows[j][1] - x, answer.mixture.rows[j][2] - y);

function scores() {
  const { answer } = views[0], rows = [ // always three, so that nothing moves under the pointer
    ["", "the network", answer?.mixture.LL],
    ["em", state.em === "step" ? "one EM step further" : "EM to convergence", answer?.em?.LL],
    ["true", "the true mixture", answer?.truth],
  ];
  $("scores").tBodies[0].replaceChildren(
    ...rows.map(([kind, name, LL]) =>
      element("tr", {}, element("td", {}, element("span", { className: `swatch ${kind}` }), name), element("td", { textContent: LL === undefined ? "–" : fixed(LL) })),
    ),
  );
}

const actions = {
  add(points) {
    state.points.push(...points.slice(0, LIMIT - state.points.length));
    changed();
  },
  remove(which) {
    state.points = state.points.filter((_, i) => !which.has(i));
    state.selected = new Set();
    hovered = null;
    changed();
  },
  moveBy(which, dx, dy) {
    for (const i of which) state.points[i] = [state.points[i][0] + dx, state.points[i][1] + dy].map((v) => Math.max(-900, Math.min(900, Math.round(v * 1000) / 1000)));
    changed();
  },
  hover(i) {
    if (i === hovered) return;
    hovered = i;
    if (choice?.current?.kind === "between elements") views[0].update();
    choice?.levels(views[0].answer?.attention?.weights, i);
    actions.draw();
  },
  draw: () => views.forEach((view) => view.shown && view.draw()),
};

function changed() {
  const n = state.points.length;
  $("clustering-status").textContent = n
    ? `${n.toLocaleString("en")} points${n === LIMIT ? ", the most there can be" : ""}.${KEYS}`
    : "No points yet: click the plane, spray some, or sample a mixture.";
  update();
}

function update() {
  views.forEach((view) => view.update());
}

async function chooseModel() {
  const model = current(), trained = model.steps.length > 1;
  $("steps-label").hidden = !trained;
  if (trained) {
    $("step").max = model.steps.length - 1;
    $("step").value = model.steps.length - 1;
    stepShown();
  }
  $("model-about").textContent = model.about;
  $("model-0").disabled = $("break").checked;
  await choice.load("clustering", model.name);
}

function stepShown() {
  $("step-shown").textContent = `after ${current().steps[$("step").value].toLocaleString("en")} training steps`;
  $("step").setAttribute("aria-valuetext", $("step-shown").textContent);
}

function learn() {
  clearInterval(playing);
  $("step").value = 0;
  const tick = () => {
    stepShown();
    update();
    if ($("step").value === $("step").max) clearInterval(playing);
    else $("step").value = Number($("step").value) + 1;
  };
  tick();
  playing = setInterval(tick, 650);
}

async function sample(which = seed()) {
  const found = await ask("clustering/sample", { n: Number($("sample-size").value), k: 4, seed: which }, "sample");
  if (!found) return;
  Object.assign(state, { points: found.points, truth: found.truth, selected: new Set() });
  hovered = null;
  changed();
}

export async function start(found) {
  models = found;
  const usual = models.filter((m) => !m.position);
  fillModels($("model-0"), usual);
  fillModels($("model-1"), usual, [["", "none"]]);
  changes = new Changes($("changes"), $("difference"), update);
  changes.report(null);
  choice = new LayerChoice({ layer: $("layer"), head: $("head"), chips: $("queries"), changed: chosen, lit: actions.draw });
  views.push(new View(0, actions), new View(1, actions));
  radios([...document.querySelectorAll("[data-tool]")], (button) => {
    state.tool = button.dataset.tool;
    state.selected = new Set();
    actions.draw();
  });
  radios([...document.querySelectorAll("[data-em]")], (button) => {
    state.em = button.dataset.em;
    update();
  });
  $("truth").addEventListener("change", actions.draw);
  $("sample").addEventListener("click", () => sample());
  $("clear").addEventListener("click", () => {
    Object.assign(state, { points: [], truth: null, selected: new Set() });
    hovered = null;
    changed();
  });
  $("model-0").addEventListener("change", chooseModel);
  $("break").addEventListener("change", chooseModel);
  $("model-1").addEventListener("change", () => {
    $("view-1").hidden = !$("model-1").value;
    document.querySelector(".planes").classList.toggle("two", Boolean($("model-1").value));
    update();
  });
  $("step").addEventListener("input", () => {
    clearInterval(playing);
    stepShown();
    update();
  });
  $("learn").addEventListener("click", learn);
  await chooseModel();
  await sample(FIRST);
}

function chosen() {
  const kind = choice.current?.kind, texts = {
    "to elements": "Hover a number to light up the points it attends to; hover a point to see who attends to it.",
    "from elements": "Hover a number to light up the points that attend to it; hover a point to see whom it attends to.",
    "between elements": "Hover a point: lines lead to the points it attends to, and those that attend to it light up.",
  };
  $("attention-note").textContent = texts[kind] ?? "";
  update();
}

/** What the tape draws: the last forward. */
export function message() {
  if (!models.length) return null; // the page was not opened yet
  const model = current();
  const about = { model: model.name, points: state.points.slice(0, 500) };
  return model.steps.length > 1 ? { ...about, step: model.steps[$("step").value] } : about;
}
