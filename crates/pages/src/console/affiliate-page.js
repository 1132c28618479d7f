// One affiliate: a record to read, and a form to change it.

import { affiliateForm, GROUPS, READ_AS } from "./affiliate-form.js";
import { refresh } from "./affiliate-list.js";
import { badge, isBadge } from "./badges.js";
import { countryName } from "./countries.js";
import { affiliateFields } from "./description.js";
import { doneMessage, element, show, value } from "./elements.js";
import { history } from "./history.js";
import { openCase } from "./open-case.js";
import { recordGroups } from "./record-groups.js";
import { related } from "./related.js";
import { call } from "./requests.js";
import { backLink } from "./visited.js";

const ID = { name: "id", label: "Affiliate ID in this service", hint: "Assigned by the service." };

/** The fields of an affiliate, to read. */
function fieldsToRead(fields, record) {
  const content = (name) => record[READ_AS[name] ?? name] ?? null;
  const shown = (name) => {
    if (name === "country") return value(record.country === null ? null : countryName(record.country));
    return isBadge(name) ? badge(content(name)) : value(content(name));
  };
  const groups = GROUPS.map(([title, names], index) => [title, index === 0 ? ["id", ...names] : names ?? (() => true)]);
  return recordGroups(groups, [ID, ...fields], content, shown);
}

/** The view of one affiliate. */
export function affiliateView(id) {
  return async ({ signal, query }) => {
    const fields = await affiliateFields();
    let form = null;
    const render = async (message) => {
      // The tag of the shown affiliate protects later changes by others.
      let { record, tag } = await refresh(id, signal);
      const reread = async () => {
        ({ record, tag } = await refresh(id, signal));
        return record;
      };
      const edit = element("button", { type: "button", class: "primary", on: { click: () => open() } }, "Edit");
      const body = element("div", {});
      const read = () => {
        form = null;
        edit.hidden = false;
        body.replaceChildren(fieldsToRead(fields, record));
      };
      const save = async (changes) => {
        await call("PUT", `api/affiliates/${id}`, { body: { id: record.id, ...changes }, signal, ifMatch: tag });
        await render("Saved.");
      };
      const cancel = () => {
        if (form.hasChanges() && !confirm("Leave without saving your changes?")) return;
        read();
        edit.focus();
      };
      const open = () => {
        form = affiliateForm({ fields, title: `Affiliate ${record.id}`, record, signal, save, reread, cancel });
        edit.hidden = true;
        body.replaceChildren(form.node);
        form.node.querySelector("form").querySelector("input, select, textarea").focus();
      };
      const done = message && doneMessage(message);
      const opening = openCase({ affiliate_id: record.id }, [], signal);
      show(`Affiliate ${record.id}`,
        element("div", { class: "head" }, badge(record.distributor_status), element("span", {}, value(record.distributor_name))),
        element("p", { class: "actions" }, backLink("affiliates"),
          element("a", { href: `#/cases?distributor_id=${record.id}` }, "Cases of this affiliate"),
          element("a", { href: `#/urls?distributor_id=${record.id}` }, "URLs of this affiliate"), opening.button, edit),
        opening.messages, done, body, related(record.id, signal), history("affiliate", record.id, signal));
      read();
      done?.focus();
    };
    await render(query.has("created") ? "The affiliate was created." : null);
    return { hasChanges: () => form?.hasChanges() ?? false };
  };
}
