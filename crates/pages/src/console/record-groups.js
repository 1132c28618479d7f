// Shows a record's fields in read-only groups. Empty fields are hidden until the user asks for them.

import { copyButton } from "./copy.js";
import { element } from "./elements.js";
import { isLong, longText } from "./long-text.js";

/** Fields with a copy button: IDs and web addresses. */
const COPIED = new Set(["id", "case_id", "affiliate_id", "distributor_id", "client_affiliate_id", "url", "landing_page", "replicated_website"]);

const isEmpty = (content) => content === null || content === undefined || content === "" || (Array.isArray(content) && content.length === 0);

/**
 * Returns a node with the groups, which are pairs of a title and a list of names or a predicate. `fields` have `name`, `label` and `hint`.
 * `content` returns a field's value, and `shown` its node.
 */
export function recordGroups(groups, fields, content, shown) {
  const left = new Map(fields.map((field) => [field.name, field]));
  const empty = [];
  const panels = groups.map(([title, names]) => {
    const chosen = Array.isArray(names) ? names.filter((name) => left.has(name)) : [...left.keys()].filter(names);
    const nodes = chosen.map((name) => {
      const { label, hint } = left.get(name);
      const copy = COPIED.has(name) && copyButton(content(name), label);
      if (isLong(content(name))) return { isLong: true, node: [longText(label, content(name)), copy] };
      const node = element("div", {}, element("dt", { title: hint }, label), element("dd", {}, shown(name), copy && [" ", copy]));
      if (isEmpty(content(name))) empty.push(node);
      return { isLong: false, node };
    });
    for (const name of chosen) left.delete(name);
    if (chosen.length === 0) return null;
    const short = nodes.filter((one) => !one.isLong).map(({ node }) => node);
    const panel = element("section", { class: "panel" }, element("h2", {}, title),
      short.length > 0 && element("dl", {}, short), nodes.filter((one) => one.isLong).map(({ node }) => node));
    if (nodes.every(({ node }) => empty.includes(node))) empty.push(panel);
    return panel;
  });
  const count = empty.filter((node) => !node.matches(".panel")).length;
  const show = (areShown) => {
    for (const node of empty) node.hidden = !areShown;
    button.ariaExpanded = String(areShown);
    button.textContent = areShown ? "Hide empty fields" : count === 1 ? "Show 1 empty field" : `Show ${count} empty fields`;
  };
  const button = element("button", { type: "button", on: { click: () => show(button.ariaExpanded !== "true") } });
  show(false);
  return element("div", { class: "record" }, panels, count > 0 && element("p", {}, button));
}
