// Shows an affiliate's newest cases and URLs, with links to all of them.

import { counted, element, table } from "./elements.js";
import { label } from "./description.js";
import { cell, LISTS } from "./list-columns.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";

const MOST = 5;
const COLUMNS = {
  cases: ["case_id", "case_status", "risk_level", "incidents", "follow_up_date", "created_date"],
  urls: ["id", "url", "incident_status", "infractions", "case_id", "discovery_date"],
};

function part(section, id, signal) {
  const { title, one, many, key } = LISTS[section];
  const columns = COLUMNS[section];
  const address = `#/${section}?distributor_id=${id}`;
  const content = element("div", { class: "results", "aria-busy": "true" });
  const fill = async () => {
    await attempt(signal, async () => {
      const { body } = await call("GET", `api/${section}`, { query: { distributor_id: id, per_page: MOST }, signal });
      const rows = body.data.map((record) => columns.map((name) => cell(section, name, record)));
      content.replaceChildren(
        rows.length > 0 ? table(`Newest ${many}`, columns.map(label), rows, { className: "list", href: (index) => `#/${section}/${body.data[index][key]}` })
          : element("p", {}, `The affiliate has no ${many}.`),
        body.meta.total > rows.length && element("p", {}, element("a", { href: address }, `All ${counted(body.meta.total, one, many)}`)) || "");
    }, (rejection) => content.append(rejectionMessage(rejection, fill)));
    content.removeAttribute("aria-busy");
  };
  fill();
  return element("section", {}, element("h2", {}, title), content);
}

/** Returns sections with an affiliate's cases and URLs, which load after the page is shown. */
export function related(id, signal) {
  return element("div", { class: "related" }, part("cases", id, signal), part("urls", id, signal));
}
