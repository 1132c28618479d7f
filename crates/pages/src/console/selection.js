// Tracks a list's selected records, and shows the bar that changes them.

import { count, counted, element, put } from "./elements.js";

/**
 * Returns a list's check boxes and bar. `key` is the record's ID field, and `name` returns the label of a record's check box.
 * `controls` change the selected records, which requires the scope `needs`. `matching` reads all records that match the filters, and lets users select records on other pages.
 * `chosen` in the result contains the selected records by ID, as the list showed them.
 */
export function selection({ one, many, key, name, controls, needs = null, matching = null }) {
  const chosen = new Map();
  const boxes = new Map();
  let page = [];
  let total = 0;
  /** Number of filter changes. Records that arrive after a change match the earlier filters. */
  let changes = 0;
  const choose = (records, isChosen = true) => {
    for (const record of records) if (isChosen) chosen.set(record[key], record); else chosen.delete(record[key]);
    changed();
  };
  const clear = () => {
    changes += 1;
    chosen.clear();
    messages.replaceChildren();
    changed();
  };
  const status = element("span", { role: "status" });
  const all = element("button", { type: "button", on: { click: async () => {
    const before = changes;
    const records = await matching();
    if (before === changes) choose(records);
  } } });
  const none = element("button", { type: "button", on: { click: () => {
    choose([...chosen.values()], false);
    pageBox.focus();
  } } }, "Select none");
  const problem = element("p", { class: "field-error", role: "alert" });
  const bar = element("div", { class: "selection", hidden: true, on: { input: () => problem.replaceChildren() } }, status, controls, matching && all, none, problem);
  const messages = element("div", {});
  const pageBox = element("input", { type: "checkbox", "aria-label": "Select all on this page", on: { change: () => choose(page, pageBox.checked) } });

  function changed() {
    for (const [id, box] of boxes) box.checked = chosen.has(id);
    const onPage = page.filter((record) => chosen.has(record[key])).length;
    pageBox.checked = page.length > 0 && onPage === page.length;
    pageBox.indeterminate = onPage > 0 && onPage < page.length;
    bar.hidden = chosen.size === 0;
    problem.replaceChildren();
    status.textContent = `${counted(chosen.size, one, many)} selected`;
    all.textContent = `Select all ${count(total)} that match`;
    all.hidden = onPage < page.length || chosen.size >= total;
  }

  return {
    bar,
    messages,
    chosen,
    pageBox: element("label", { class: "check", needs }, pageBox),
    /** Clears the selection and its messages. */
    clear,
    /** Shows a message above the bar. */
    put: (message) => put(messages, message),
    /** Says in the bar why nothing is changed, and focuses the control to correct. Returns false. */
    refuse: (control, text) => {
      problem.textContent = text;
      control.focus();
      return false;
    },
    /** Returns the check box of a record. */
    box: (record) => {
      const box = element("input", { type: "checkbox", "aria-label": `Select ${name(record)}`, on: { change: () => choose([record], box.checked) } });
      boxes.set(record[key], box);
      return element("label", { class: "check", needs }, box);
    },
    /** Sets the records on the page and the number of matches. Without `matching`, deselects records that are no longer on the page. */
    shown: (records, matches = 0) => {
      page = records;
      total = matches;
      const current = new Map(records.map((record) => [record[key], record]));
      for (const id of boxes.keys()) if (!current.has(id)) boxes.delete(id);
      for (const id of chosen.keys()) {
        if (current.has(id)) chosen.set(id, current.get(id));
        else if (matching === null) chosen.delete(id);
      }
      changed();
    },
  };
}
