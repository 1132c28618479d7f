// Sets the status of several affiliates that are chosen in the list.

import { announce, append, counted, element, value } from "./elements.js";
import { select } from "./fields.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";

export const STATUSES = ["active", "inactive", "probation", "suspended", "terminated", "forgotten"];
/** Maximum number of changes in one request to the service. */
const MOST = 100_000;

/**
 * The bar over the list. `matching` returns the IDs that match the filters, and `nameOf` the name of an ID. `saved` receives the IDs whose
 * status was set, and `render` shows the list again.
 */
export function statusBar({ signal, nameOf, matching, saved, render }) {
  const chosen = new Set();
  const boxes = new Map();
  let page = [];
  let total = 0;
  let isSaving = false;
  const text = element("span", { role: "status" });
  const status = select([["", "Status…"], ...STATUSES]);
  status.setAttribute("aria-label", "New status");
  const apply = element("button", { type: "button", class: "primary", on: { click: () => !isSaving && save() } }, "Set status");
  const all = element("button", { type: "button", on: { click: () => {
    for (const id of matching()) chosen.add(id);
    changed();
  } } });
  const none = element("button", { type: "button", on: { click: () => {
    chosen.clear();
    changed();
    pageBox.focus();
  } } }, "Select none");
  const bar = element("div", { class: "selection", hidden: true }, text, status, apply, all, none);
  const messages = element("div", {});
  const pageBox = element("input", { type: "checkbox", "aria-label": "Select all on this page", on: { change: () => {
    for (const id of page) if (pageBox.checked) chosen.add(id); else chosen.delete(id);
    changed();
  } } });

  function changed() {
    for (const [id, box] of boxes) box.checked = chosen.has(id);
    const onPage = page.filter((id) => chosen.has(id)).length;
    pageBox.checked = page.length > 0 && onPage === page.length;
    pageBox.indeterminate = onPage > 0 && onPage < page.length;
    bar.hidden = chosen.size === 0;
    text.textContent = `${counted(chosen.size, "affiliate", "affiliates")} selected`;
    all.textContent = `Select all ${total.toLocaleString("en")} that match`;
    all.hidden = onPage < page.length || chosen.size >= total;
  }

  const put = (node) => {
    node.tabIndex = -1;
    messages.replaceChildren(node);
    node.focus();
  };

  async function save() {
    const wanted = status.value;
    if (wanted === "") {
      status.focus();
      announce("Choose a status.");
      return;
    }
    const ids = [...chosen].slice(0, MOST);
    if (!confirm(`Set the status of ${counted(ids.length, "affiliate", "affiliates")} to “${wanted}”?`)) return;
    isSaving = true;
    apply.textContent = "Saving…";
    await attempt(signal, async () => {
      const body = { affiliates: ids.map((id) => ({ id, status: wanted })) };
      const { body: answer } = await call("PUT", `api/affiliates/${ids[0]}`, { body, signal });
      const done = ids.filter((_, index) => answer[index].status === "ok");
      const failed = ids.map((id, index) => [id, answer[index]]).filter(([, result]) => result.status !== "ok");
      saved(done, wanted);
      for (const id of done) chosen.delete(id);
      render();
      put(element("div", { class: `message ${failed.length > 0 ? "error" : "done"}`, role: "status" },
        element("p", {}, `${counted(done.length, "affiliate has", "affiliates have")} the status “${wanted}”`,
          failed.length > 0 && `; ${failed.length} could not be changed`, "."),
        failed.length > 0 && resultTable("Not changed", ["ID", "Name", "Why"], failed.map(([id, result]) => (
          { isDone: false, cells: [id, value(nameOf(id)), result.detail.msg] })))));
    }, (rejection) => put(rejectionMessage(rejection, save)));
    isSaving = false;
    apply.textContent = "Set status";
  }

  const node = element("div", {});
  append(node, messages, bar);
  return {
    node,
    pageBox,
    /** The check box of an affiliate. */
    box: (id, name) => {
      const box = element("input", { type: "checkbox", "aria-label": `Select ${name}`, on: { change: () => {
        if (box.checked) chosen.add(id); else chosen.delete(id);
        changed();
      } } });
      boxes.set(id, box);
      return box;
    },
    /** The IDs on the page that is shown, and how many match. */
    shown: (ids, matches) => {
      page = ids;
      total = matches;
      for (const id of boxes.keys()) if (!ids.includes(id)) boxes.delete(id);
      changed();
    },
  };
}
