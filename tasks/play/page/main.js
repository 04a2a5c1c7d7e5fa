// The frame: which page is shown, light or dark, and the networks that there are.

import { ask, report, ServerError } from "./api.js";
import { $ } from "./parts.js";
import * as clustering from "./clustering.js";
import * as maximum from "./maximum.js";
import * as characters from "./characters.js";
import * as clouds from "./clouds.js";
import * as tape from "./tape.js";

const pages = { clustering, maximum, characters, clouds, tape };
const started = new Set();
let models = [];

function route() {
  const name = location.hash.slice(1) in pages ? location.hash.slice(1) : "clustering";
  for (const id of Object.keys(pages)) $(`page-${id}`).hidden = id !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!started.has(name)) {
    started.add(name);
    pages[name].start(models.filter((m) => m.page === name));
  }
  window.scrollTo(0, 0);
  pages[name].shown?.();
}

$("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  window.dispatchEvent(new Event("theme"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("theme")));

window.addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof ServerError)) return; // a defect stays in the browser's console
  event.preventDefault();
  report(event.reason.message);
});

try {
  models = (await ask("models")).models;
  window.addEventListener("hashchange", route);
  route();
} catch (error) {
  report(error.message);
}
