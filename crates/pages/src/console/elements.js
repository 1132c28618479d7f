// Elements of the page. Data of records becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(node, children);
  return node;
}

/** Appends texts, numbers, nodes and lists of them; leaves out what is null, undefined or false. */
export function append(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/**
 * An element with these attributes; `on` holds listeners by event.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} properties
 * @param {any[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** The message of an action that has succeeded. */
export function doneMessage(text) {
  return element("div", { class: "message done", role: "status", tabindex: "-1" }, element("p", {}, text));
}

/** Shows a message in a box, with the focus and a button that removes it. */
export function put(box, message) {
  message.tabIndex = -1;
  message.prepend(element("button", { type: "button", class: "dismiss", "aria-label": "Dismiss this message", on: { click: () => {
    box.replaceChildren();
    document.getElementById("content").focus();
  } } }, "×"));
  box.replaceChildren(message);
  message.focus();
}

/** Removes the messages of earlier actions, because they could contradict the result of the next one. */
export function removeDone() {
  for (const message of document.querySelectorAll(".message.done")) message.remove();
}

/** An element of SVG. */
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

/** A text from a record, with its own text direction, because others wrote it. Without a value, a dash. */
export function value(text) {
  if (text === null || text === undefined || text === "") {
    return element("span", { class: "none" }, element("span", { "aria-hidden": "true" }, "–"),
      element("span", { class: "hidden-text" }, "no value"));
  }
  return element("bdi", { class: "value" }, text);
}

/**
 * Lets a box scroll sideways, with a note, while it has more columns than fit. Only a box that does not scroll keeps its head in sight by
 * style alone, so here the head moves.
 */
function swipeHint(box) {
  const hint = element("p", { class: "hint swipe", hidden: true }, "Swipe sideways for more columns.");
  const follow = () => {
    if (!box.isConnected) document.removeEventListener("scroll", follow);
    const [top, most] = [-box.getBoundingClientRect().top, box.offsetHeight - 80];
    box.querySelector("thead").style.transform = hint.hidden || top <= 0 || most <= 0 ? "" : `translateY(${Math.min(top, most)}px)`;
  };
  new ResizeObserver(() => {
    hint.hidden = box.scrollWidth <= box.clientWidth;
    box.classList.toggle("wide", !hint.hidden);
    follow();
  }).observe(box);
  document.addEventListener("scroll", follow, { passive: true });
  return hint;
}

/**
 * A table that scrolls with the page, below its head. `headings` and cells are nodes or texts. `href` returns the address of a
 * row by its index: a click anywhere in the row opens it, besides the links that it has.
 * @param {string} caption
 * @param {any[]} headings
 * @param {any[][]} rows
 * @param {{href?: (index: number) => string, className?: string}} options
 */
export function table(caption, headings, rows, { href, className = "" } = {}) {
  const row = (cells, number) => {
    const node = element("tr", { class: href && "opens" }, cells.map((cell, index) =>
      index === 0 ? element("th", { scope: "row" }, cell) : element("td", {}, cell)));
    if (href) {
      node.addEventListener("click", (event) => {
        // A click on selected text, or on an element with its own action, does not open the row.
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
  return element("div", {}, swipeHint(box), box);
}

/** Has screen readers say this, without moving the focus. */
export function announce(text) {
  document.getElementById("announcements").textContent = text;
}

/** The result of an action, and the address of the page that shows it, once. */
let result = null;

/** Shows that an action has succeeded on the next page, if it has this address. */
export function tell(hash, text) {
  result = { hash, text };
}

/** Shows a view whose content has its own `heading`, which gets the focus. */
export function present(title, heading, ...content) {
  const message = result?.hash === location.hash && doneMessage(result.text);
  result = null;
  document.title = `${title} – Compliance console`;
  const main = document.getElementById("content");
  main.replaceChildren();
  append(main, message, ...content);
  window.scrollTo(0, 0);
  (message || heading).focus({ preventScroll: true });
}

/** Shows a view: its heading and its content. */
export function show(title, ...content) {
  const heading = element("h1", { tabindex: "-1" }, title);
  present(title, heading, heading, ...content);
}

/** A number with separators, such as 12,345. */
export function count(number) {
  return number.toLocaleString("en");
}

/** A number of things: `1 case`, `12 cases`. */
export function counted(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
