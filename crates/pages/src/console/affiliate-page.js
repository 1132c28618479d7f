// One affiliate: a record to read, and a form to change it.

import { affiliateForm, GROUPS, hasDraft, READ_AS } from "./affiliate-form.js";
import { refresh } from "./affiliate-list.js";
import { badge, isBadge } from "./badges.js";
import { countryName } from "./countries.js";
import { affiliateFields } from "./description.js";
import { doneMessage, element, show, value } from "./elements.js";
import { history } from "./history.js";
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
    const render = async (message, isEdited = false) => {
      // The tag of the shown affiliate protects later changes by others.
      const { record, tag } = await refresh(id, signal);
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
        form = affiliateForm({ fields, title: `Affiliate ${record.id}`, record, signal, save, cancel });
        edit.hidden = true;
        body.replaceChildren(form.node);
        form.begin();
      };
      const done = message && doneMessage(message);
      show(`Affiliate ${record.id}`,
        element("div", { class: "head" }, badge(record.distributor_status), element("span", {}, value(record.distributor_name))),
        element("p", { class: "actions" }, backLink("affiliates"),
          element("a", { href: `#/cases?distributor_id=${record.id}` }, "Cases of this affiliate"),
          element("a", { href: `#/urls?distributor_id=${record.id}` }, "URLs of this affiliate"), edit),
        done, body, related(record.id, signal), history("affiliate", record.id, signal));
      if (isEdited) open();
      else read();
      done?.focus();
    };
    await render(query.has("created") ? "The affiliate was created." : null, hasDraft());
    return { hasChanges: () => form?.hasChanges() ?? false };
  };
}
