// Sets a field on the records selected in a list. The user can undo the change.

import { READ_AS } from "./affiliate-form.js";
import { capital } from "./badges.js";
import { changeEach } from "./careful.js";
import { append, counted, element, value } from "./elements.js";
import { label, words } from "./description.js";
import { dateViolation, select } from "./fields.js";
import { CASE_DATES } from "./history-words.js";
import { attempt, sentence } from "./rejections.js";
import { readList } from "./requests.js";
import { resultTable } from "./results.js";
import { selection } from "./selection.js";
import { vocabularies } from "./vocabularies.js";
import { changedFields, choices, inputOf, REQUIRED, SECTIONS, sent } from "./work.js";
import { workerChoices } from "./workers.js";

/** Fields that cannot be set for several records, because they describe one record. */
const ALONE = new Set(["note", "tags", "infractions"]);
const STATUSES = ["active", "inactive", "probation", "suspended", "terminated", "forgotten"].map((name) => [name, capital(name)]);

/** Returns the selection of a list, with a bar that sets a field. `filters` returns the current filters, and `reload` reloads the list. */
export function severalBar({ section, key, one, many, signal, filters, reload }) {
  let known = null;
  let input = null;
  const isAffiliates = section === "affiliates";
  const names = isAffiliates ? ["status"] : SECTIONS[section].fields.filter((name) => !ALONE.has(name));
  const field = select([["", "Field…"], ...names.map((name) => [name, label(name)])]);
  field.setAttribute("aria-label", "Field to set");
  const control = element("span", {});
  const apply = element("button", { type: "button", class: "primary", on: { click: () => isComplete() && save(input.value) } }, "Set");
  const remove = element("button", { type: "button", hidden: true, on: { click: () => save("") } });
  const matching = async () => await attempt(signal, () => readList(`api/${section}`, filters(), signal), refused) ?? [];
  const chosen = selection({
    one, many, key, name: (record) => record.distributor_name ?? `${one} ${record[key]}`, controls: [field, control, apply, remove],
    needs: isAffiliates ? null : "cases",
    matching: isAffiliates ? matching : null,
  });
  const put = (kind, ...content) => chosen.put(element("div", { class: `message ${kind}`, role: "status" }, ...content));
  const refused = (rejection) => put("error", element("p", {}, sentence(rejection)));

  const showControl = () => attempt(signal, async () => {
    const name = field.value;
    if (!isAffiliates) known ??= await vocabularies(signal);
    const offered = isAffiliates ? STATUSES : choices(section, name, known);
    input = name === "" ? null : offered ? select([["", "Choose…"], ...offered]) : inputOf(name, null);
    control.replaceChildren();
    remove.hidden = input === null || REQUIRED.includes(name);
    if (input === null) return;
    remove.textContent = `Remove ${label(name).toLowerCase()}`;
    input.setAttribute("aria-label", label(name));
    append(control, input, name === "case_worker" && workerChoices(input, signal), name === "follow_up_date" && element("span", { class: "hint" }, "UTC"));
  }, refused);
  field.addEventListener("change", showControl);
  if (isAffiliates) {
    field.value = "status";
    field.hidden = true;
    showControl();
  }

  /** Returns whether nobody has changed fields that officers work with. */
  const isSame = (seen, now) => (isAffiliates ? JSON.stringify(seen) === JSON.stringify(now) : changedFields(section, seen, now).length === 0);
  const storedAs = (name) => (isAffiliates ? READ_AS[name] : name);
  const failures = (failed) => failed.length > 0 && resultTable("Not changed", ["ID", "Reason"], failed.map(({ id, why }) => (
    { isDone: false, cells: [element("a", { href: `#/${section}/${id}` }, id), value(why)] })));

  let isSaving = false;
  /** Changes records, reloads the list, and shows what `report` returns for the results. */
  async function run(items, report) {
    if (isSaving) return;
    isSaving = true;
    await attempt(signal, async () => {
      const { done, failed, isSignedOut } = await changeEach(items, { section, method: isAffiliates ? "PUT" : "PATCH", isSame, signal, button: apply });
      for (const { id } of done) chosen.chosen.delete(id);
      // The next attempt compares with the current records.
      for (const { id, before } of failed) if (before && chosen.chosen.has(id)) chosen.chosen.set(id, before);
      // The reload would ask the user to sign in again.
      if (!isSignedOut) await reload();
      put(failed.length === 0 ? "done" : done.length > 0 ? "warning" : "error", ...report(done, failed), failures(failed));
    }, refused);
    isSaving = false;
    apply.textContent = "Set";
  }

  /** Says what is missing. Returns whether nothing is missing. */
  function isComplete() {
    if (input === null) return chosen.refuse(field, "Choose a field.");
    const violation = dateViolation(input);
    if (violation) return chosen.refuse(input, violation);
    return input.value.trim() !== "" || chosen.refuse(input, "Enter or choose a value.");
  }

  /** Returns a request body. Affiliates need their ID in the body. */
  const bodyOf = (id, fields) => (isAffiliates ? { id, ...fields } : fields);

  /** Sets the field to a value, or removes its values if the text is empty. */
  async function save(text) {
    const name = field.value;
    const change = text === "" ? " removed from " : [" set to ", value(isAffiliates ? capital(text) : words(name, text)), " for "];
    if (isAffiliates && !confirm(`${text === "" ? "Remove the status" : `Set the status to ${capital(text)}`} for ${counted(chosen.chosen.size, one, many)}?`)) return;
    const content = sent(name, text);
    const items = [...chosen.chosen].map(([id, seen]) => ({ id, seen, wanted: { ...seen, [storedAs(name)]: content }, body: bodyOf(id, { [name]: content }) }));
    await run(items, (done, failed) => [
      element("p", {}, label(name), change, counted(done.length, one, many), failed.length > 0 && `; ${failed.length} could not be changed`, ". ",
        undoButton(name, done)),
    ]);
  }

  const undoButton = (name, changed) => changed.length > 0 && element("button", { type: "button", on: { click: () => undo(name, changed) } }, "Undo");

  /** Restores the earlier values of a field, and of a case's dates that the service set with it. */
  async function undo(name, changed) {
    const restored = section === "cases" ? [name, ...CASE_DATES] : [name];
    const items = changed.map(({ id, before, tag }) => (
      { id, tag, wanted: before, body: bodyOf(id, Object.fromEntries(restored.map((each) => [each, before[storedAs(each)]]))) }));
    await run(items, (done, failed) => {
      const left = failed.filter(({ isChanged }) => !isChanged).map(({ id }) => changed.find((other) => other.id === id));
      return [element("p", {}, `Undone: ${label(name)} for ${counted(done.length, one, many)}${failed.length > 0 ? `; ${failed.length} could not be undone` : ""}. `, undoButton(name, left))];
    });
  }

  return { ...chosen, hasChanges: () => isSaving };
}
