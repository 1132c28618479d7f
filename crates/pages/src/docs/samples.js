// Shows all code samples in the chosen language, even after a reload.

import { element } from "../console/elements.js";
import { copyButton } from "./copy.js";

const KEY = "docs-language";
/** The base URL in the documents. */
const DOCUMENTED = "http://127.0.0.1:8080";
let count = 0;

/** Replaces the documented base URL with this service's URL. */
function nameService() {
  const own = new URL(`${document.documentElement.dataset.root}.`, location.href).href.replace(/\/$/, "");
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(DOCUMENTED, own);
}

export function startSamples() {
  nameService();
  for (const group of document.querySelectorAll(".samples")) {
    const samples = [...group.querySelectorAll(".sample")];
    for (const sample of samples) {
      const code = sample.querySelector("code");
      sample.append(copyButton(() => code.textContent, sample.dataset.name ?? "the example"));
    }
    if (samples.length > 1) tabs(group, samples);
  }
  select(sessionStorage.getItem(KEY));
}

/** Adds tabs above a group's samples. */
function tabs(group, samples) {
  const list = element("div", { role: "tablist", "aria-label": "Language" });
  for (const sample of samples) {
    const id = `sample-${(count += 1)}`;
    sample.id = id;
    sample.setAttribute("role", "tabpanel");
    sample.setAttribute("aria-label", sample.dataset.name);
    sample.querySelector(".sample-name")?.setAttribute("hidden", "");
    list.append(element("button", {
      type: "button",
      role: "tab",
      "aria-controls": id,
      "data-name": sample.dataset.name,
      on: { click: ({ target }) => choose(target) },
    }, sample.dataset.name));
  }
  list.addEventListener("keydown", (event) => {
    const all = [...list.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    choose(next);
    next.focus();
  });
  group.prepend(list);
  show(list, list.firstChild.dataset.name);
}

/** Selects a language in all samples, without moving the clicked tab on the screen. */
function choose(tab) {
  const before = tab.getBoundingClientRect().top;
  sessionStorage.setItem(KEY, tab.dataset.name);
  select(tab.dataset.name);
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" });
}

function select(name) {
  for (const list of document.querySelectorAll("[role=tablist]")) show(list, name);
}

function show(list, name) {
  const all = [...list.children];
  if (!all.some((tab) => tab.dataset.name === name)) return;
  for (const tab of all) {
    const isShown = tab.dataset.name === name;
    tab.setAttribute("aria-selected", isShown);
    tab.tabIndex = isShown ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !isShown;
  }
}
