// Sets the status of the affiliates selected in the list.

import { capital } from "./badges.js";
import { changeEach } from "./careful.js";
import { announce, count, counted, element, value } from "./elements.js";
import { select } from "./fields.js";
import { attempt, rejectionMessage, sentence } from "./rejections.js";
import { readList } from "./requests.js";
import { resultTable } from "./results.js";
import { selection } from "./selection.js";

const STATUSES = ["active", "inactive", "probation", "suspended", "terminated", "forgotten"].map((name) => [name, capital(name)]);

/** Returns the list selection with a bar that sets a status. `filters` returns the current filters, and `reload` reloads the list. */
export function statusBar({ signal, filters, reload }) {
  let isSaving = false;
  const status = select([["", "Status…"], ...STATUSES]);
  status.setAttribute("aria-label", "New status");
  const apply = element("button", { type: "button", class: "primary", on: { click: () => !isSaving && save() } }, "Set status");
  const matching = async () => {
    let found = [];
    await attempt(signal, async () => {
      found = await readList("api/affiliates", filters(), signal);
    }, (rejection) => affiliates.put(rejectionMessage(rejection, null)));
    return found;
  };
  const affiliates = selection({ one: "affiliate", many: "affiliates", key: "id", name: (record) => record.distributor_name, controls: [status, apply], matching });
  const { chosen } = affiliates;

  async function save() {
    const wanted = status.value;
    if (wanted === "") {
      status.focus();
      announce("Choose a status.");
      return;
    }
    if (!confirm(`Set the status of ${counted(chosen.size, "affiliate", "affiliates")} to “${capital(wanted)}”?`)) return;
    isSaving = true;
    const names = new Map([...chosen].map(([id, { distributor_name: name }]) => [id, name]));
    await attempt(signal, async () => {
      const items = [...chosen].map(([id, seen]) => ({ id, seen, body: { id, status: wanted } }));
      const { done, failed } = await changeEach(items, {
        section: "affiliates", method: "PUT", signal,
        isSame: (seen, record) => Object.entries(seen).every(([name, content]) => content === record[name]),
        onProgress: (number, all) => {
          apply.textContent = `Saving ${count(number)} of ${count(all)}…`;
        },
        onWait: (rejection) => {
          apply.textContent = sentence(rejection);
        },
      });
      for (const { id } of done) chosen.delete(id);
      // The next attempt compares with the current records.
      for (const { id, before } of failed) if (before !== null) chosen.set(id, before);
      await reload();
      affiliates.put(element("div", { class: `message ${failed.length > 0 ? "error" : "done"}`, role: "status" },
        element("p", {}, `${counted(done.length, "affiliate has", "affiliates have")} the status “${capital(wanted)}”`,
          failed.length > 0 && `; ${failed.length} could not be changed`, "."),
        failed.length > 0 && resultTable("Not changed", ["ID", "Name", "Reason"], failed.map(({ id, why }) => (
          { isDone: false, cells: [element("a", { href: `#/affiliates/${id}` }, id), value(names.get(id)), value(why)] })))));
    }, (rejection) => affiliates.put(rejectionMessage(rejection, save)));
    isSaving = false;
    apply.textContent = "Set status";
  }
  return affiliates;
}
