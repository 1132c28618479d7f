// Sets a field on the cases or URLs selected in a list. The user can undo the change.

import { changeEach } from "./careful.js";
import { append, count, counted, element, value } from "./elements.js";
import { label } from "./description.js";
import { select } from "./fields.js";
import { attempt, sentence } from "./rejections.js";
import { resultTable } from "./results.js";
import { selection } from "./selection.js";
import { claims } from "./session.js";
import { vocabularies } from "./vocabularies.js";
import { choices, inputOf, SECTIONS, sent } from "./work.js";

/** Fields that cannot be set for several records, because they describe one record. */
const ALONE = new Set(["note", "tags", "infractions"]);
/** Dates that the service sets together with other case fields. Undo also restores them. */
const DATES = ["first_action_date", "reviewed_date", "flagged_date", "resolved_date", "closed_date"];

/** Returns the selection of a list of `cases` or `urls`, with a bar that sets a field. `reload` reloads the list. */
export function severalBar({ section, key, one, many, signal, reload }) {
  let known = null;
  let input = null;
  const names = SECTIONS[section].fields.filter((name) => !ALONE.has(name));
  const field = select([["", "Field…"], ...names.map((name) => [name, label(name)])]);
  field.setAttribute("aria-label", "Field to set");
  const control = element("span", {});
  const apply = element("button", { type: "button", class: "primary", on: { click: () => save() } }, "Set");
  const chosen = selection({ one, many, key, name: (record) => `${one} ${record[key]}`, controls: [field, control, apply] });
  const put = (...content) => chosen.put(element("div", { class: "message", role: "status" }, ...content));
  const refused = (rejection) => put(element("p", {}, sentence(rejection)));

  field.addEventListener("change", () => attempt(signal, async () => {
    known ??= await vocabularies(signal);
    input = field.value === "" ? null : inputOf(field.value, choices(section, field.value, known));
    control.replaceChildren();
    if (input === null) return;
    input.setAttribute("aria-label", label(field.value));
    const me = claims().subject;
    append(control, input, field.value === "case_worker" && me && element("button", { type: "button", on: { click: () => {
      input.value = me;
    } } }, "Me"), field.value === "follow_up_date" && element("span", { class: "hint" }, "UTC"));
  }, refused));

  /** Compares only the fields that officers change. Programs constantly change others, such as `last_seen`. */
  const isSame = (seen, now) => SECTIONS[section].fields.every((name) => JSON.stringify(seen[name]) === JSON.stringify(now[name]));
  const change = (items) => changeEach(items, {
    section, method: "PATCH", isSame, signal,
    onProgress: (done, all) => {
      apply.textContent = `Saving ${count(done)} of ${count(all)}…`;
    },
    onWait: (rejection) => {
      apply.textContent = sentence(rejection);
    },
  });
  const failures = (failed) => failed.length > 0 && resultTable("Not changed", ["ID", "Reason"], failed.map(({ id, why }) => (
    { isDone: false, cells: [element("a", { href: `#/${section}/${id}` }, id), value(why)] })));

  let isSaving = false;
  /** Changes records, reloads the list, and shows what `report` returns for the results. */
  async function run(items, report) {
    if (isSaving) return;
    isSaving = true;
    await attempt(signal, async () => {
      const results = await change(items);
      for (const { id } of results.done) chosen.chosen.delete(id);
      await reload();
      put(...report(results), failures(results.failed));
    }, refused);
    isSaving = false;
    apply.textContent = "Set";
  }

  async function save() {
    if (input === null) {
      field.focus();
      return;
    }
    const name = field.value;
    const body = { [name]: sent(name, input.value) };
    await run([...chosen.chosen].map(([id, seen]) => ({ id, seen, body })), ({ done, failed }) => [
      element("p", {}, `${label(name)} set for ${counted(done.length, one, many)}`, failed.length > 0 && `; ${failed.length} could not be changed`, ". ",
        done.length > 0 && element("button", { type: "button", on: { click: () => undo(name, done) } }, "Undo")),
    ]);
  }

  /** Restores the earlier values of a field, and of the dates that the service set with it. */
  async function undo(name, changed) {
    const restored = section === "cases" ? [name, ...DATES] : [name];
    const items = changed.map(({ id, before, tag }) => ({ id, tag, body: Object.fromEntries(restored.map((each) => [each, before[each]])) }));
    await run(items, ({ done }) => [element("p", {}, `Undone: ${label(name)} for ${counted(done.length, one, many)}.`)]);
  }

  return chosen;
}
