// Parts that several pages share: colors, canvases, radio groups, the choice of a layer, the buttons that change a set.

import { ask } from "./api.js";

export const $ = (id) => document.getElementById(id);
const colors = new Map(); // asking the style for each point would take longer than drawing it
export const color = (name) => {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colors.get(name);
};
window.addEventListener("theme", () => colors.clear());
export const componentColor = (i) => color(`c${i % 8}`);
export const seed = () => 1 + Math.floor(Math.random() * 2 ** 30);
export const fixed = (x, digits = 2) => (x == null ? "−∞" : x.toFixed(digits).replace("-", "−"));

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The 2D context of a canvas whose units are CSS pixels, sharp on any screen; cleared. */
export function context(canvas) {
  const ratio = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, w, h);
  return c;
}

/** Draw again when the size or the colors change. */
export function redrawn(canvas, draw) {
  new ResizeObserver(draw).observe(canvas);
  window.addEventListener("theme", draw);
}

export function radios(buttons, choose) {
  buttons.forEach((button, i) => {
    const take = () => {
      buttons.forEach((other) => {
        other.setAttribute("aria-checked", other === button);
        other.tabIndex = other === button ? 0 : -1;
      });
      choose(button);
    };
    button.tabIndex = button.getAttribute("aria-checked") === "true" ? 0 : -1;
    button.addEventListener("click", take);
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = buttons[(i + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    });
  });
}

export function fill(select, options, value) {
  select.replaceChildren(...options.map(([v, text]) => element("option", { value: v, textContent: text })));
  if (value != null) select.value = value;
}

/** All networks of a page, for a <select>. */
export function fillModels(select, models, first = []) {
  fill(select, [...first, ...models.map((m) => [m.name, m.own ? `${m.label} (your run ${m.name.slice(4)})` : m.label])]);
}

/** The choice of an attention layer and a head, and a chip for each query. */
export class LayerChoice {
  constructor({ layer, head, chips, changed, lit }) {
    Object.assign(this, { layer, head, chips, changed, lit, layers: [], pinned: null, hovered: null });
    layer.addEventListener("change", () => this.chosen());
    head.addEventListener("change", () => changed());
  }

  async load(page, model, preferred = "PMA") {
    const { layers } = (await ask("layers", { page, model }, `layers-${page}`)) ?? { layers: [] };
    this.layers = layers;
    fill(this.layer, layers.length ? layers.map((l) => [l.name, l.title]) : [["", "none: this network pools without attention"]]);
    const found = layers.find((l) => l.title.startsWith(preferred)) ?? layers[0];
    if (found) this.layer.value = found.name;
    this.chosen();
  }

  get current() {
    return this.layers.find((l) => l.name === this.layer.value);
  }

  get query() {
    return this.hovered ?? this.pinned;
  }

  message() {
    return this.current ? { layer: this.current.name, head: this.head.value === "" ? null : Number(this.head.value) } : {};
  }

  chosen() {
    const { queries = 0, heads = 0, title = "" } = this.current ?? {};
    fill(this.head, [["", "mean"], ...Array.from({ length: heads }, (_, i) => [i, `${i + 1} of ${heads}`])]);
    this.pinned = this.hovered = null;
    const kind = title.startsWith("PMA") ? "seed" : "inducing point";
    this.chips.replaceChildren(...Array.from({ length: queries }, (_, i) => this.chip(i, kind)));
    this.changed();
  }

  chip(i, kind) {
    const button = element("button", { textContent: i + 1, title: `${kind} ${i + 1}` });
    button.setAttribute("aria-label", `${kind} ${i + 1}`);
    button.setAttribute("aria-pressed", "false");
    const hover = (value) => () => {
      this.hovered = value;
      this.lit();
    };
    button.addEventListener("pointerenter", hover(i));
    button.addEventListener("pointerleave", hover(null));
    button.addEventListener("focus", hover(i));
    button.addEventListener("blur", hover(null));
    button.addEventListener("click", () => {
      this.pin(this.pinned === i ? null : i);
      this.hovered = null;
      this.lit();
    });
    return button;
  }

  pin(i) {
    this.pinned = i;
    [...this.chips.children].forEach((chip, j) => chip.setAttribute("aria-pressed", i === j));
  }

  /** How much weight each query gives to one element, as a level in its chip. */
  levels(weights, point) {
    const top = weights && point != null ? Math.max(...weights.map((row) => row[point])) : 0;
    [...this.chips.children].forEach((chip, j) => {
      const w = top > 0 ? weights[j]?.[point] ?? 0 : 0;
      chip.style.setProperty("--w", `${top > 0 ? (100 * w) / Math.max(top, 1) : 0}%`);
    });
  }
}

/** The buttons Shuffle, Duplicate and Pad, and the sentence on what changed. */
export class Changes {
  constructor(place, result, changed) {
    Object.assign(this, { result, changed, shuffle: 0, duplicate: false, pad: false });
    const make = (text, title, act) => {
      const button = element("button", { textContent: text, title });
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        act();
        this.show();
        changed();
      });
      place.append(button);
      return button;
    };
    this.buttons = {
      shuffle: make("Shuffle", "List the elements in another order", () => (this.shuffle = seed())),
      duplicate: make("Duplicate", "List every element twice", () => (this.duplicate = !this.duplicate)),
      pad: make("Pad nan", "Add elements that are nan, and masked out", () => (this.pad = !this.pad)),
      undo: make("Undo", "The set as it was", () => Object.assign(this, { shuffle: 0, duplicate: false, pad: false })),
    };
    this.show();
  }

  show() {
    for (const name of ["shuffle", "duplicate", "pad"]) this.buttons[name].setAttribute("aria-pressed", Boolean(this[name]));
    this.buttons.undo.removeAttribute("aria-pressed");
    this.buttons.undo.disabled = !this.active;
  }

  get active() {
    return Boolean(this.shuffle || this.duplicate || this.pad);
  }

  message() {
    return this.active ? { change: { shuffle: this.shuffle, duplicate: this.duplicate, pad: this.pad } } : {};
  }

  report(change) {
    this.result.replaceChildren();
    if (!change) {
      this.result.append("Change the list, not the set, and see what the answer does.");
      return;
    }
    const largest = change.largest === 0 ? "exactly 0" : change.largest < 0.001 ? change.largest.toExponential(1) : fixed(change.largest, 3);
    const verdict = element("b", { textContent: change.zero ? `${largest}: zero to rounding` : `${largest}: not the same answer`, className: change.zero ? "good" : "bad" });
    this.result.append(`Listed ${change.what}. Largest change of an output: `, verdict, ".");
  }
}

/** A color between two, for a weight from 0 to 1. */
export function glow(t, from = "faint") {
  return `color-mix(in oklab, ${color("glow")} ${Math.round(100 * Math.min(1, t))}%, ${color(from)})`;
}
