// Creates filter controls from a list's parameter descriptions.

import { label, words } from "./description.js";
import { element } from "./elements.js";
import { field, select } from "./fields.js";

export const PAGE_SIZE = "20";
export const SMALLEST_PAGE = 10;
const PAGE_SIZES = [String(SMALLEST_PAGE), "20", "50", "100", "200"];
export const OTHER = "other";
/** Short hints that replace parameter descriptions written for developers. */
const HINTS = { q: "Names, IDs, e-mail addresses, cities" };

/** Returns the text for a parameter value. */
export function choiceLabel({ name, names, choices, takesNone }, choice) {
  const shown = (takesNone && choice === "0" ? "none" : names?.[choice]) ?? words(name, choice);
  if (!names && !choices) return shown;
  return /^[a-z_]+$/.test(shown) && shown !== "none" ? label(shown) : shown;
}

/** Returns a parameter's field, with `get` and `set` for its value. */
export function control(parameter) {
  const { name, names, choices, isDay } = parameter;
  let input;
  let other = null;
  if (choices) {
    const all = choices.map((choice) => [choice, choiceLabel(parameter, choice)]);
    input = select(parameter.default === null ? [["", "any"], ...all] : all);
  } else if (names) {
    const none = parameter.takesNone ? [["0", "none"]] : [];
    input = select([["", "any"], ...none, ...Object.entries(names), [OTHER, "another ID"]]);
    other = element("input", { type: "text", inputmode: "numeric", "aria-label": `ID of another ${parameter.label.toLowerCase()}`, hidden: true });
    input.addEventListener("change", () => {
      other.hidden = input.value !== OTHER;
    });
  } else if (name === "per_page") {
    input = select(PAGE_SIZES);
  } else {
    input = element("input", isDay ? { type: "date" } : { type: "text", autocomplete: "off" });
  }
  const isAffiliate = name === "distributor_id";
  if (isAffiliate) input.setAttribute("placeholder", "Name or ID");
  const hint = isAffiliate || input instanceof HTMLSelectElement || isDay ? null : HINTS[name] ?? parameter.hint;
  const made = field(name, isAffiliate ? "Affiliate" : parameter.label, input, { hint, extra: other });
  return {
    ...made,
    get: () => (input.value === OTHER ? other.value : input.value).trim(),
    set: (text) => {
      const wanted = text || (name === "per_page" ? PAGE_SIZE : parameter.default) || "";
      if (name === "per_page" && !PAGE_SIZES.includes(wanted)) input.append(element("option", { value: wanted }, wanted));
      const isOther = other !== null && wanted !== "" && !(wanted in names) && !(parameter.takesNone && wanted === "0");
      input.value = isOther ? OTHER : wanted;
      if (other !== null) {
        other.hidden = !isOther;
        other.value = isOther ? wanted : "";
      }
    },
  };
}
