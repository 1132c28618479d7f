// Suggests case workers.

import { element } from "./elements.js";
import { attempt } from "./rejections.js";
import { call } from "./requests.js";

/** Returns a list that suggests the workers of the newest cases in a text field. It loads when the field first gets the focus. */
export function suggestWorkers(input, signal) {
  const list = element("datalist", { id: "workers" });
  input.setAttribute("list", list.id);
  input.addEventListener("focus", () => attempt(signal, async () => {
    const { body } = await call("GET", "api/cases", { query: { assigned: "yes", per_page: 200 }, signal });
    const workers = new Set(body.data.map((record) => record.case_worker));
    list.replaceChildren(...[...workers].sort().map((value) => element("option", { value })));
  }, () => {}), { once: true });
  return list;
}
