// Sets one field of several cases or URLs that are chosen in a list. The user can undo this.

import { append, counted, element, value } from "./elements.js";
import { label } from "./description.js";
import { select } from "./fields.js";
import { attempt, sentence } from "./rejections.js";
import { call, Rejection } from "./requests.js";
import { resultTable } from "./results.js";
import { claims } from "./session.js";
import { vocabularies } from "./vocabularies.js";
import { choices, inputOf, SECTIONS, sent, text } from "./work.js";

/** Fields that can be set for several records. Texts about one record are not among them. */
const ALONE = new Set(["note", "tags"]);
/** Maximum number of concurrent requests. */
const TOGETHER = 4;

/**
 * The bar over a list of `cases` or `urls`. `key` is the field of a record's ID; `reload` reads the list again.
 * @returns {{node: HTMLElement, pageBox: HTMLElement, box: (record: object) => HTMLElement, shown: (records: object[]) => void}}
 */
export function severalBar({ section, key, one, many, signal, reload }) {
  const chosen = new Map();
  const boxes = new Map();
  let page = [];
  let known = null;
  let input = null;
  const status = element("span", { role: "status" });
  const names = SECTIONS[section].fields.filter((name) => !ALONE.has(name));
  const field = select([["", "Field…"], ...names.map((name) => [name, label(name)])]);
  field.setAttribute("aria-label", "Field to set");
  const control = element("span", {});
  const apply = element("button", { type: "button", class: "primary", on: { click: () => save() } }, "Set");
  const none = element("button", { type: "button", on: { click: () => {
    chosen.clear();
    changed();
    pageBox.focus();
  } } }, "Select none");
  const bar = element("div", { class: "selection", hidden: true }, status, field, control, apply, none);
  const messages = element("div", {});
  const node = element("div", {}, messages, bar);
  const pageBox = element("input", { type: "checkbox", "aria-label": "Select all on this page", on: { change: () => {
    for (const record of page) if (pageBox.checked) chosen.set(record[key], record); else chosen.delete(record[key]);
    changed();
  } } });

  function changed() {
    for (const [id, box] of boxes) box.checked = chosen.has(id);
    const onPage = page.filter((record) => chosen.has(record[key])).length;
    pageBox.checked = page.length > 0 && onPage === page.length;
    pageBox.indeterminate = onPage > 0 && onPage < page.length;
    bar.hidden = chosen.size === 0;
    status.textContent = `${counted(chosen.size, one, many)} selected`;
  }

  const put = (...content) => {
    const message = element("div", { class: "message", role: "status", tabindex: "-1" }, ...content);
    messages.replaceChildren(message);
    message.focus();
    return message;
  };

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
  }, (rejection) => put(element("p", {}, sentence(rejection)))));

  /** Changes records, each with its own body. Returns the IDs of changed records, and pairs of ID and reason for the others. */
  async function change(bodies) {
    const waiting = [...bodies];
    const [done, failed] = [[], []];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [id, body] = next;
        try {
          await call("PATCH", `api/${section}/${id}`, { body, signal });
          done.push(id);
        } catch (error) {
          if (!(error instanceof Rejection) || error.status === 401) throw error;
          failed.push([id, error.errors[Object.keys(body)[0]]?.join(" ") ?? error.message ?? sentence(error)]);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, work));
    return { done, failed };
  }

  const failures = (failed) => failed.length > 0 && resultTable("Not changed", ["ID", "Why"], failed.map(([id, why]) => ({ isDone: false, cells: [id, value(why)] })));

  let isSaving = false;
  async function save() {
    if (input === null || isSaving) {
      if (input === null) field.focus();
      return;
    }
    const [name, typed] = [field.value, input.value];
    const before = new Map(chosen);
    isSaving = true;
    apply.textContent = "Saving…";
    await attempt(signal, async () => {
      const { done, failed } = await change([...before.keys()].map((id) => [id, { [name]: sent(name, typed) }]));
      for (const id of done) chosen.delete(id);
      await reload();
      const undo = element("button", { type: "button", on: { click: () => undoAll(name, done, before) } }, "Undo");
      put(element("p", {}, `${label(name)} set for ${counted(done.length, one, many)}`, failed.length > 0 && `; ${failed.length} could not be changed`, ". ",
        done.length > 0 && undo), failures(failed));
    }, (rejection) => put(element("p", {}, sentence(rejection))));
    isSaving = false;
    apply.textContent = "Set";
  }

  /** Restores the earlier value of a field of records. */
  async function undoAll(name, ids, before) {
    await attempt(signal, async () => {
      const { done, failed } = await change(ids.map((id) => [id, { [name]: sent(name, text(before.get(id), name)) }]));
      await reload();
      put(element("p", {}, `Undone: ${label(name)} of ${counted(done.length, one, many)}.`), failures(failed));
    }, (rejection) => put(element("p", {}, sentence(rejection))));
  }

  return {
    node,
    pageBox,
    /** The check box of a record. */
    box: (record) => {
      const id = record[key];
      const box = element("input", { type: "checkbox", "aria-label": `Select ${one} ${id}`, on: { change: () => {
        if (box.checked) chosen.set(id, record); else chosen.delete(id);
        changed();
      } } });
      boxes.set(id, box);
      return box;
    },
    /** The records on the page that is shown. */
    shown: (records) => {
      page = records;
      const ids = new Set(records.map((record) => record[key]));
      for (const id of boxes.keys()) if (!ids.has(id)) boxes.delete(id);
      changed();
    },
  };
}
