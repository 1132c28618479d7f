// Builds DOM nodes. Record data becomes text nodes and attributes, never markup.

import { allows } from "./session.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "needs") {
      node.hidden = !allows(value);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(node, children);
  return node;
}

/** Appends strings, numbers, nodes and nested lists of them. Skips null, undefined and false. */
export function append(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Returns an element with these attributes. `on` contains event listeners by event name. If the token lacks the scope `needs`, the element is
 * hidden.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} properties
 * @param {any[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** Asks whether to discard unsaved changes. */
export function confirmLeave() {
  return confirm("Leave without saving your changes?");
}

/** Returns a success message. */
export function doneMessage(text) {
  return element("div", { class: "message done", role: "status", tabindex: "-1" }, element("p", {}, text));
}

/** Shows and focuses a message in a box, with a button that dismisses it. */
export function put(box, message) {
  message.tabIndex = -1;
  message.prepend(element("button", { type: "button", class: "dismiss", "aria-label": "Dismiss this message", on: { click: () => {
    box.replaceChildren();
    document.getElementById("content").focus();
  } } }, "×"));
  box.replaceChildren(message);
  message.focus();
}

/** Removes earlier success messages, which could contradict the result of the next action. */
export function removeDone() {
  for (const message of document.querySelectorAll(".message.done")) message.remove();
}

/** Returns an SVG element. */
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

/** Returns a record's text with its own text direction, or a dash for an empty value. E-mail addresses break only between their parts. */
export function value(text) {
  if (text === null || text === undefined || text === "") {
    return element("span", { class: "none" }, element("span", { "aria-hidden": "true" }, "–"),
      element("span", { class: "hidden-text" }, "no value"));
  }
  const parts = /^[^\s/@]+@[^\s/@]+$/.test(text) ? text.split(/(?<=[@.])/).flatMap((part) => [part, element("wbr")]) : text;
  return element("bdi", { class: "value" }, parts);
}

/** Makes a table scroll sideways while its columns do not fit. A script moves the header, because sticky headers fail in a scrolling box. */
function fitSideways(box) {
  const follow = () => {
    if (!box.isConnected) document.removeEventListener("scroll", follow);
    const [top, most] = [-box.getBoundingClientRect().top, box.offsetHeight - 80];
    const isFixed = box.classList.contains("wide") && top > 0 && most > 0;
    box.classList.toggle("more", box.classList.contains("wide") && box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
    box.querySelector("thead").style.transform = isFixed ? `translateY(${Math.min(top, most)}px)` : "";
  };
  new ResizeObserver(() => {
    box.classList.toggle("wide", box.scrollWidth > box.clientWidth);
    follow();
  }).observe(box);
  box.addEventListener("scroll", follow, { passive: true });
  document.addEventListener("scroll", follow, { passive: true });
}

/**
 * Returns a table with a sticky header. On a phone, each row is a card that repeats the headings. `headings` and cells are nodes or strings. `href` returns the address that a click on a row opens,
 * by row index. Links in the row keep working.
 * @param {string} caption
 * @param {any[]} headings
 * @param {any[][]} rows
 * @param {{href?: (index: number) => string, className?: string}} options
 */
export function table(caption, headings, rows, { href, className = "" } = {}) {
  const labels = headings.map((heading) => (heading instanceof Node ? heading.textContent : heading));
  const row = (cells, number) => {
    const node = element("tr", { class: href && "opens" }, cells.map((cell, index) =>
      element(index === 0 ? "th" : "td", { scope: index === 0 && "row", "data-label": labels[index] }, cell)));
    if (href) {
      node.addEventListener("click", (event) => {
        // Clicks that select text, and clicks on interactive elements, do not open the row.
        if (/** @type {Element} */ (event.target).closest("a, button, input, label") || !window.getSelection().isCollapsed) return;
        location.hash = href(number);
      });
    }
    return node;
  };
  const box = element("div", { class: `scroll ${className}`.trim(), role: "region", tabindex: "0", "aria-label": caption },
    element("table", {},
      element("caption", { class: "hidden-text" }, caption),
      element("thead", {}, element("tr", {}, headings.map((heading) =>
        heading instanceof HTMLTableCellElement ? heading : element("th", { scope: "col" }, heading)))),
      element("tbody", {}, rows.map(row))));
  fitSideways(box);
  return box;
}

/** Announces text to screen readers without moving the focus. */
export function announce(text) {
  document.getElementById("announcements").textContent = text;
}

/** A success message, and the address of the page that shows it once. */
let result = null;

/** Shows a success message on the next page if it has this address. */
export function tell(hash, text) {
  result = { hash, text };
}

/** Shows a view whose content includes its own `heading`, and focuses the heading. */
export function present(title, heading, ...content) {
  const message = result?.hash === location.hash && doneMessage(result.text);
  const box = element("div", {});
  result = null;
  document.title = `${title} – Compliance console`;
  const main = document.getElementById("content");
  main.replaceChildren();
  append(main, message && box, ...content);
  window.scrollTo(0, 0);
  if (message) put(box, message);
  else heading.focus({ preventScroll: true });
}

/** Shows a view with this title as its heading. */
export function show(title, ...content) {
  const heading = element("h1", { tabindex: "-1" }, title);
  present(title, heading, heading, ...content);
}

/** Formats a number with separators, such as 12,345. */
export function count(number) {
  return number.toLocaleString("en");
}

/** Formats a count, such as `1 case` or `12 cases`. */
export function counted(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
