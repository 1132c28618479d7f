// Shows an affiliate, with a form to edit it.

import { activity } from "./activity.js";
import { affiliateForm, GROUPS, READ_AS } from "./affiliate-form.js";
import { badge, isBadge } from "./badges.js";
import { countryName } from "./countries.js";
import { affiliateFields } from "./description.js";
import { copyButton } from "./copy.js";
import { confirmLeave, doneMessage, element, present, put, value } from "./elements.js";
import { openCase } from "./open-case.js";
import { recordGroups } from "./record-groups.js";
import { related } from "./related.js";
import { call } from "./requests.js";
import { backLink } from "./visited.js";

/** Returns an affiliate's read-only fields. */
function fieldsToRead(fields, record) {
  const content = (name) => record[READ_AS[name] ?? name] ?? null;
  const shown = (name) => {
    if (name === "country") return value(record.country === null ? null : countryName(record.country));
    return isBadge(name) ? badge(content(name)) : value(content(name));
  };
  return recordGroups(GROUPS.map(([title, names]) => [title, names ?? (() => true)]), fields, content, shown);
}

/** Reads an affiliate and its tag. */
async function read(id, signal) {
  const { body, tag } = await call("GET", `api/affiliates/${id}`, { signal });
  return { record: body.data, tag };
}

/** Returns the view of one affiliate. */
export function affiliateView(id) {
  return async ({ signal }) => {
    const fields = await affiliateFields();
    let form = null;
    const render = async (message) => {
      // The displayed version's tag keeps the form from overwriting other people's later changes.
      let { record, tag } = await read(id, signal);
      form = null;
      let isCurrent = true;
      const reread = async () => {
        ({ record, tag } = await read(id, signal));
        isCurrent = false;
        return record;
      };
      const save = async (changes) => {
        const answer = await call("PUT", `api/affiliates/${id}`, { body: { id: record.id, ...changes }, signal, ifMatch: tag });
        tag = answer.tag ?? tag;
        isCurrent = false;
      };
      const opening = openCase({ affiliate_id: record.id }, [], signal, () => form?.hasChanges() ?? false,
        { what: "affiliate", filter: { distributor_id: record.id } });
      const messages = element("div", {});
      const edit = element("button", { type: "button", class: "primary", on: { click: () => open() } }, "Edit");
      const desk = element("div", { class: "desk" },
        element("aside", { "aria-label": "Properties" }, fieldsToRead(fields, record)),
        element("div", { class: "found" }, related(record.id, signal)), activity("affiliate", record.id, signal));
      const open = () => {
        form = affiliateForm({ fields, title: `Affiliate ${record.id}`, record, signal, save, reload: render, reread, cancel });
        edit.hidden = true;
        desk.replaceWith(form.node);
        /** @type {HTMLElement} */ (form.node.querySelector("form :is(input, select, textarea)")).focus();
      };
      const cancel = () => {
        if (form.hasChanges() && !confirmLeave()) return;
        if (!isCurrent) {
          render(null);
          return;
        }
        form.node.replaceWith(desk);
        form = null;
        edit.hidden = false;
        edit.focus();
      };
      const heading = element("h1", { tabindex: "-1" }, value(record.distributor_name));
      present(`${record.distributor_name} · ${record.distributor_status ?? "Affiliate"}`, heading,
        element("p", { class: "crumbs" }, backLink("affiliates"), element("span", { class: "kind" }, element("span", {}, `Affiliate ${id}`), " ", copyButton(id, "ID")), element("span", { class: "actions" }, opening.button, edit)),
        element("div", { class: "title" }, heading),
        element("div", { class: "head" }, badge(record.distributor_status),
          element("a", { href: `#/cases?distributor_id=${record.id}` }, "Cases of this affiliate"),
          element("a", { href: `#/urls?distributor_id=${record.id}` }, "URLs of this affiliate")),
        opening.messages, messages, desk);
      if (message) put(messages, doneMessage(message));
    };
    await render(null);
    return { hasChanges: () => form?.hasChanges() ?? false };
  };
}
