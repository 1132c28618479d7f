// Sets the status of several affiliates that are chosen in the list.

import { capital } from "./badges.js";
import { changeEach } from "./careful.js";
import { announce, count, counted, element, value } from "./elements.js";
import { select } from "./fields.js";
import { attempt, rejectionMessage, sentence } from "./rejections.js";
import { resultTable } from "./results.js";
import { selection } from "./selection.js";

export const STATUSES = ["active", "inactive", "probation", "suspended", "terminated", "forgotten"].map((name) => [name, capital(name)]);

/**
 * The selection of the list, with a bar that sets a status. `matching` returns the affiliates that match the filters, `learn` takes an
 * affiliate that was read and returns it as the list shows it, and `render` shows the list again.
 */
export function statusBar({ signal, matching, learn, render }) {
  let isSaving = false;
  const status = select([["", "Status…"], ...STATUSES]);
  status.setAttribute("aria-label", "New status");
  const apply = element("button", { type: "button", class: "primary", on: { click: () => !isSaving && save() } }, "Set status");
  const affiliates = selection({ one: "affiliate", many: "affiliates", key: "id", name: (entry) => entry.distributor_name, controls: [status, apply], matching });
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
        isSame: (seen, record) => Object.entries(learn(record, false)).every(([name, content]) => content === seen[name]),
        onProgress: (number, all) => {
          apply.textContent = `Saving ${count(number)} of ${count(all)}…`;
        },
        onWait: (rejection) => {
          apply.textContent = sentence(rejection);
        },
      });
      for (const { id, before } of done) {
        learn({ ...before, distributor_status: wanted });
        chosen.delete(id);
      }
      // The list shows the current affiliates, so that the next attempt is about them.
      for (const { id, before } of failed) if (before !== null) chosen.set(id, learn(before));
      render();
      affiliates.put(element("div", { class: `message ${failed.length > 0 ? "error" : "done"}`, role: "status" },
        element("p", {}, `${counted(done.length, "affiliate has", "affiliates have")} the status “${capital(wanted)}”`,
          failed.length > 0 && `; ${failed.length} could not be changed`, "."),
        failed.length > 0 && resultTable("Not changed", ["ID", "Name", "Why"], failed.map(({ id, why }) => (
          { isDone: false, cells: [element("a", { href: `#/affiliates/${id}` }, id), value(names.get(id)), value(why)] })))));
    }, (rejection) => affiliates.put(rejectionMessage(rejection, save)));
    isSaving = false;
    apply.textContent = "Set status";
  }
  return affiliates;
}
