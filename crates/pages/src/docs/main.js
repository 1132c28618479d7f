// Starts the interactive parts of the pages: mobile navigation, search, operation filter, links into collapsed sections, samples, token
// and forms.

import { startSamples } from "./samples.js";
import { startSearch } from "./search.js";
import { startToken } from "./token.js";
import { startForms } from "./try.js";

/** Sets up the navigation menu for narrow windows, initially closed. */
function startMenu() {
  const [button, side] = [document.getElementById("menu"), document.getElementById("side")];
  const set = (isOpen) => {
    button.setAttribute("aria-expanded", isOpen);
    side.classList.toggle("is-closed", !isOpen);
  };
  button.addEventListener("click", () => set(button.getAttribute("aria-expanded") !== "true"));
  side.addEventListener("click", ({ target }) => {
    if (target.closest("a")) set(false);
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    set(false);
    button.focus();
  });
  button.hidden = false;
  set(false);
}

function startFilter() {
  const field = document.getElementById("filter");
  if (!field) return;
  field.closest("p").hidden = false;
  const links = [...document.querySelectorAll(".contents li")];
  const groups = [...document.querySelectorAll(".contents .group")];
  const count = document.getElementById("filtered");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const link of links) {
      const text = link.textContent.toLowerCase();
      link.hidden = !words.every((word) => text.includes(word));
    }
    for (const group of groups) group.hidden = !group.querySelector("li:not([hidden])");
    const found = links.filter((link) => !link.hidden).length;
    count.textContent = words.length ? `${found} found` : "";
  });
}

/** Returns the decoded URL fragment, or the raw fragment if its percent-encoding is invalid. */
function named() {
  const name = location.hash.slice(1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Scrolls to the element that the URL fragment names, and opens every collapsed section around it. */
function openTarget() {
  const target = document.getElementById(named());
  if (!target) return;
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  target.scrollIntoView();
}

/** Highlights the current section in the navigation. */
function startMarks() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let marked;
  const mark = () => {
    const line = innerHeight / 4;
    const next = links.get(targets.findLast((target) => target.getBoundingClientRect().top < line)?.id);
    if (next === marked) return;
    marked?.removeAttribute("aria-current");
    next?.setAttribute("aria-current", "true");
    marked = next;
    const side = document.getElementById("side");
    if (!next || side.scrollHeight <= side.clientHeight) return;
    const [box, own] = [side.getBoundingClientRect(), next.getBoundingClientRect()];
    if (own.top < box.top || own.bottom > box.bottom) side.scrollTop += own.top - box.top - box.height / 2;
  };
  let isPlanned = false;
  addEventListener("scroll", () => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      mark();
    });
  }, { passive: true });
  mark();
}

startMenu();
startFilter();
startSearch();
startSamples();
startToken();
startForms();
startMarks();
addEventListener("hashchange", openTarget);
openTarget();
document.documentElement.dataset.ready = "yes";
