// Builds form fields: a label, an input, a hint, and the violations that the service reports.

import { inLabels } from "./description.js";
import { element } from "./elements.js";

/** First and last follow-up date that officers can enter. Dates outside are typing errors, such as the year 0202. */
export const WORK_DATES = { min: "2000-01-01", max: "2099-12-31" };

/** Returns the violation of a date input, or null. The browser treats an unfinished or impossible date as empty. */
export function dateViolation({ validity, min, max }) {
  if (validity.badInput) return "This date is incomplete or does not exist. Correct it, or clear it.";
  return validity.rangeUnderflow || validity.rangeOverflow ? `This date must be between ${min} and ${max}.` : null;
}

/**
 * Returns a form field. `extra` and violations appear below `input`.
 * @param {string} name
 * @param {string} text
 * @param {HTMLElement} input
 * @param {{hint?: string, isRequired?: boolean, extra?: any}} options
 * @returns {{node: HTMLElement, input: any, violate: (messages: string[]) => void}}
 */
export function field(name, text, input, { hint, isRequired, extra } = {}) {
  const id = `field-${name}`;
  const describedBy = [hint && `${id}-hint`, `${id}-error`].filter(Boolean).join(" ");
  input.id = id;
  input.setAttribute("aria-describedby", describedBy);
  const error = element("p", { class: "field-error", id: `${id}-error` });
  const node = element("div", { class: "field" },
    element("label", { for: id }, text, isRequired && element("span", { class: "required" }, " (required)")),
    input, extra,
    hint && element("p", { class: "hint", id: `${id}-hint` }, hint),
    error);
  const violate = (messages) => {
    error.textContent = messages.join(" ");
    if (messages.length > 0) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  // The message is about the earlier text.
  input.addEventListener("input", () => violate([]));
  return { node, input, violate };
}

/** Returns a `<select>`. Each choice is a string, or a pair of value and text. */
export function select(choices, selected = "") {
  return element("select", {}, choices.map((choice) => {
    const [value, text] = Array.isArray(choice) ? choice : [choice, choice];
    return element("option", { value, selected: String(value) === String(selected) }, text);
  }));
}

/** Says at their fields which dates are wrong, and focuses the first one. Returns whether there are none. */
export function haveValidDates(fields) {
  const wrong = fields.filter(({ input, violate }) => {
    const violation = dateViolation(input);
    violate(violation ? [violation] : []);
    return violation;
  });
  wrong[0]?.input.focus();
  return wrong.length === 0;
}

/**
 * Shows a 422 response's violations next to their fields. Returns list items with links to these fields, and messages about other fields.
 * @param {Map<string, {input: HTMLElement, violate: (messages: string[]) => void}>} fields by path
 * @param {Record<string, string[]>} errors
 */
export function showViolations(fields, errors) {
  for (const { violate } of fields.values()) violate([]);
  // A list field can have several violations, such as of `tags.0` and `tags.3`.
  const found = new Map();
  return Object.entries(errors).map(([path, messages]) => {
    const named = fields.get(path) ?? fields.get(path.split(".")[0]);
    const texts = messages.map((message) => inLabels(path, message));
    if (!named) return element("li", {}, texts.join(" "));
    found.set(named, [...(found.get(named) ?? []), ...texts]);
    named.violate(found.get(named));
    const link = element("a", { href: `#${named.input.id}`, on: { click: (event) => {
      event.preventDefault();
      named.input.focus();
    } } }, texts.join(" "));
    return element("li", {}, link);
  });
}
