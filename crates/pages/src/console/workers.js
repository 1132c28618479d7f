// Suggests case workers.

import { element } from "./elements.js";
import { attempt } from "./rejections.js";
import { call } from "./requests.js";
import { claims } from "./session.js";

let lists = 0;

/** Returns a list that suggests the workers of the newest cases in a text field. It loads when the field first gets the focus. */
export function suggestWorkers(input, signal) {
  lists += 1;
  const list = element("datalist", { id: `workers-${lists}` });
  input.setAttribute("list", list.id);
  input.addEventListener("focus", () => attempt(signal, async () => {
    const { body } = await call("GET", "api/cases", { query: { assigned: "yes", per_page: 200 }, signal });
    const workers = new Set(body.data.map((record) => record.case_worker));
    list.replaceChildren(...[...workers].sort().map((value) => element("option", { value })));
  }, () => {}), { once: true });
  return list;
}

/** Returns the suggestions for a text field, and a button that enters the user's name, if it is known. `chosen` runs after the button. */
export function workerChoices(input, signal, chosen = () => {}) {
  const me = claims().subject;
  return [suggestWorkers(input, signal), me && element("button", { type: "button", on: { click: () => {
    input.value = me;
    chosen();
  } } }, "Me")];
}
