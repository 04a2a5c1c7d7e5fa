// The tape: the graph of the last forward, to be walked node by node.

import { ask, Live, report } from "./api.js";
import { $, color, element, fixed } from "./parts.js";
import * as clustering from "./clustering.js";
import * as maximum from "./maximum.js";

const sources = { clustering, maximum };
let nodes = [], here = null, zoom = 0.8, asked = null, detail, models = {};

const uses = (i) => nodes.flatMap((node, j) => (node.inputs.includes(i) ? [j] : []));

async function message(page) {
  const found = sources[page].message?.();
  if (found?.model && (found.points ?? found.numbers).length) return { page, ...found };
  models = models.models ? models : await ask("models"); // the page was not visited yet
  const model = models.models.find((m) => m.page === page).name;
  if (page === "maximum") return { page, model, numbers: [12, 37.5, 58, 81] };
  return { page, model, points: (await ask("clustering/sample", { n: 100, k: 4, seed: 1 }, "sample")).points };
}

export function start() {
  detail = new Live("tape/node", "tape-node", showNode);
  $("tape-page").addEventListener("change", shown);
  $("fast").addEventListener("change", shown);
  $("tape-in").addEventListener("click", () => scale(zoom * 1.25));
  $("tape-out").addEventListener("click", () => scale(zoom / 1.25));
  $("node-previous").addEventListener("click", () => go(Math.max(0, here - 1)));
  $("node-next").addEventListener("click", () => go(Math.min(nodes.length - 1, here + 1)));
  $("graph").addEventListener("click", (event) => {
    const box = event.target.closest("[data-value]");
    if (box) go(Number(box.dataset.value));
  });
  $("graph").addEventListener("keydown", (event) => {
    const next = { ArrowUp: nodes[here]?.inputs.at(-1), ArrowDown: uses(here)[0], ArrowLeft: here - 1, ArrowRight: here + 1 }[event.key];
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (next >= 0 && next < nodes.length) go(next);
  });
  window.addEventListener("theme", () => here != null && go(here));
}

/** Draw the graph of the last forward, whenever the page is opened. */
export async function shown() {
  try {
    asked = { ...(await message($("tape-page").value)), fast: $("fast").checked };
    const found = await ask("tape", asked, "tape");
    if (!found) return;
    nodes = found.nodes;
    const svg = new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement;
    svg.dataset.width = svg.getAttribute("width");
    svg.dataset.height = svg.getAttribute("height");
    $("graph").replaceChildren(document.importNode(svg, true));
    for (const box of $("graph").querySelectorAll("[data-value]")) box.classList.toggle("leaf", nodes[box.dataset.value].op === "leaf");
    const leaves = nodes.filter((node) => node.op === "leaf").length;
    $("tape-count").textContent = `${nodes.length - leaves} ops, ${leaves} leaves`;
    scale(zoom);
    go(nodes.length - 1);
    report(null);
  } catch (error) {
    report(error.message);
  }
}

function scale(factor) {
  zoom = Math.max(0.15, Math.min(2.5, factor));
  const svg = $("graph").querySelector("svg");
  if (!svg) return;
  svg.setAttribute("width", svg.dataset.width * zoom);
  svg.setAttribute("height", svg.dataset.height * zoom);
  center();
}

function center() {
  const box = $("graph").querySelector(`[data-value="${here}"]`), frame = $("graph").getBoundingClientRect();
  if (!box) return;
  const place = box.getBoundingClientRect();
  $("graph").scrollBy(place.left + place.width / 2 - frame.left - frame.width / 2, place.top + place.height / 2 - frame.top - frame.height / 2);
}

function go(i) {
  here = i;
  const inputs = new Set(nodes[i].inputs), users = new Set(uses(i));
  for (const box of $("graph").querySelectorAll("[data-value]")) {
    const j = Number(box.dataset.value);
    box.classList.toggle("here", j === i);
    box.classList.toggle("near", inputs.has(j) || users.has(j));
  }
  for (const path of $("graph").querySelectorAll("path[data-to]")) path.classList.toggle("near", Number(path.dataset.to) === i || Number(path.dataset.from) === i);
  center();
  const node = nodes[i];
  $("node-name").textContent = node.op === "leaf" ? node.name : node.label;
  $("node-shape").textContent = `${node.op === "leaf" ? "a leaf" : `op ${node.op}`}, shape ${node.shape}`;
  links("node-inputs", node.inputs);
  links("node-uses", [...users]);
  detail.send({ ...asked, node: i });
}

function links(id, which) {
  $(id).replaceChildren(
    ...which.map((j) => {
      const button = element("button", { textContent: nodes[j].op === "leaf" ? nodes[j].name : nodes[j].label });
      button.addEventListener("click", () => go(j));
      return button;
    }),
  );
  if (!which.length) $(id).textContent = id === "node-uses" ? "nothing: this is the loss" : "none";
}

function showNode(found, message) {
  if (message.node !== here) return;
  $("node-formula").textContent = found.formula ?? "";
  heat("value", found.value);
  heat("gradient", found.gradient);
}

function heat(id, array) {
  const canvas = $(id);
  canvas.hidden = !array;
  if (!array) {
    $(`${id}-about`).textContent = "none";
    return;
  }
  const { matrix, rows, columns, low, mean, high, shape } = array, h = matrix.length, w = matrix[0].length;
  const part = h < rows || w < columns ? `; shown are ${h} of ${rows} rows and ${w} of ${columns} columns` : "";
  const number = (x) => (x !== 0 && Math.abs(x) < 0.001 ? x.toExponential(1) : fixed(x, 3));
  $(`${id}-about`).textContent = shape.length ? `from ${number(low)} to ${number(high)}, mean ${number(mean)}${part}` : number(low);
  const side = Math.max(1, Math.floor(Math.min(300 / w, 150 / h, 24)));
  Object.assign(canvas, { width: w * side, height: h * side });
  Object.assign(canvas.style, { width: `${w * side}px`, height: `${h * side}px` });
  const c = canvas.getContext("2d"), top = Math.max(Math.abs(low), Math.abs(high)) || 1, up = color("c3"), down = color("c0");
  matrix.forEach((row, y) =>
    row.forEach((x, k) => {
      c.globalAlpha = Math.min(1, Math.abs(x) / top);
      c.fillStyle = x > 0 ? up : down;
      c.fillRect(k * side, y * side, side, side);
    }),
  );
}
