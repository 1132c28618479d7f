// Adds affiliates or URLs from pasted text or a file. The service parses the bytes, and the page shows the result for each row.

import { ownerIn } from "./affiliate-form.js";
import { inLabels, rowError } from "./description.js";
import { append, count, counted, element, put, show, value } from "./elements.js";
import { field, select, showViolations } from "./fields.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";
import { backLink } from "./visited.js";

const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const KINDS = {
  affiliates: {
    title: "Add several affiliates", name: "Affiliates", one: "affiliate", many: "affiliates", id: "affiliate_id",
    hint: "Paste lines or cells. The first line contains column names, such as Your affiliate ID, Affiliate name, Country, E-mail 1.",
  },
  urls: {
    title: "Add URLs", name: "URLs", one: "URL", many: "URLs", id: "url_id",
    hint: "One URL per line, beginning with http:// or https://. Or paste cells whose first line contains column names, including URL.",
  },
};
/** Maximum length of a search text, in characters. */
const LONGEST = 256;
/** Minimum size of an upload with a progress bar, in bytes. */
const LARGE = 1_000_000;
const DATES = [["", "detect from the file"], ["dmy", "day first"], ["mdy", "month first"], ["ymd", "year first"]];
const ENCODINGS = [["", "UTF-8 or UTF-16"], ["windows-1252", "Windows-1252 (Excel on Windows)"], ["macintosh", "Mac Roman (Excel on a Mac)"]];

/** Returns the lines of a plain list of URLs, or null if the text begins with column names. The first URL can lack its scheme. */
export function plainLines(text) {
  return /^[\s\p{Cf}]*(?:https?:\/\/|[^\s,;"]+[./][^\s,;"]*\s*?(?:[\r\n]|$))/iu.test(text) ? text.split(/\r\n|\r|\n/) : null;
}

/** Returns the number of the first line with several cells or URLs, or 0 if there is none. */
export function crowdedLine(lines) {
  return lines.findIndex((line) => /\S\s*\t\s*\S|\S[\s,;|]+https?:\/\//i.test(line)) + 1;
}

/** Returns a plain list as a CSV column. Quotes keep the separators in a URL from splitting it. */
export function urlColumn(lines) {
  return ["URL", ...lines.map((line) => `"${line.replaceAll('"', '""')}"`)].join("\n");
}

/** Returns a result's row. In a plain list, line 1 is row 2 of the column that the service reads. */
const rowOf = ({ row }, plain) => (plain ? row - 1 : row);

/** Returns what a result's number counts. */
const unitOf = (plain) => (plain ? "Line" : "Row");

/** Moves errors about columns that the user cannot correct under *Columns to ignore* to the file itself. */
export function byOption({ columns = [], ...others }) {
  const isIgnorable = (message) => inLabels("columns", message).includes("Columns to ignore");
  const [ignorable, file] = [columns.filter(isIgnorable), columns.filter((message) => !isIgnorable(message))];
  return { ...others, ...(ignorable.length > 0 && { columns: ignorable }), ...(file.length > 0 && { file }) };
}

/** Returns the view that adds `affiliates` or `urls`. */
export function addingView(section) {
  const { title, name, one, many, id, hint } = KINDS[section];
  return ({ signal }) => {
    const input = element("textarea", { rows: 10, spellcheck: "false", autocomplete: "off" });
    const file = element("input", { type: "file", accept: ".csv,.tsv,.txt,.xlsx" });
    const [dates, encoding] = [select(DATES), select(ENCODINGS)];
    const sheet = element("input", { type: "text", autocomplete: "off" });
    const ignored = element("textarea", { rows: 2, spellcheck: "false" });
    const lines = field("lines", name, input, { hint });
    const controls = new Map([
      ["dates", field("dates", "In dates such as 1/5/2026", dates)],
      ["encoding", field("encoding", "CSV encoding", encoding, { hint: "Only for a CSV file." })],
      ["columns", field("columns", "Columns to ignore", ignored, { hint: "One per line, named as in the first line." })],
      ["sheet", field("sheet", "Workbook sheet", sheet, { hint: "Only for an Excel file. If empty, the service reads the first visible sheet." })],
    ]);
    const options = element("details", {}, element("summary", {}, "Options"),
      element("div", { class: "grid" }, Array.from(controls.values(), ({ node }) => node)));
    const messages = element("div", {});
    let isSending = false;
    /** The text or file that the service has saved. */
    /** @type {string | File} */
    let sent = "";
    const given = () => file.files[0] ?? input.value;

    const isWorkbook = () => file.files.length > 0 && file.files[0].name.toLowerCase().endsWith(".xlsx");
    const choose = () => {
      lines.node.hidden = file.files.length > 0;
      remove.hidden = file.files.length === 0;
      // The service rejects options that have no effect.
      encoding.disabled = file.files.length === 0 || isWorkbook();
      sheet.disabled = !isWorkbook();
    };
    const remove = element("button", { type: "button", hidden: true, on: { click: () => {
      file.value = "";
      choose();
      input.focus();
    } } }, "Remove file");
    file.addEventListener("change", choose);
    choose();

    /** Returns the request. `plain` contains the lines if the input is a plain list of URLs. */
    const requestOf = (plain, isCheck) => {
      const [chosen] = file.files;
      if (plain) return { body: new Blob([urlColumn(plain)]), type: "text/csv", query: isCheck ? { validate_only: "true" } : {} };
      const columns = ignored.value.split("\n").filter((name) => name.trim() !== "").map((name) => `${name}=`);
      const query = Object.fromEntries(Object.entries({
        dates: dates.value, encoding: !encoding.disabled && encoding.value, sheet: !sheet.disabled && sheet.value.trim(), columns,
        validate_only: isCheck && "true",
      }).filter(([, given]) => given));
      return { body: chosen ?? new Blob([input.value]), type: isWorkbook() ? WORKBOOK : "text/csv", query };
    };

    /** Returns a link to the record that prevents adding a row's record, or null. The service names the IDs of affiliates only. */
    function existing({ row, detail: { msg } }, plain) {
      const owner = ownerIn(msg);
      if (owner) return element("div", {}, element("a", { href: `#/affiliates/${owner}` }, `Open affiliate ${owner}`));
      if (!plain || !msg.includes("already exists")) return null;
      const q = Array.from(plain[row - 2].trim()).slice(0, LONGEST).join("");
      return element("div", {}, element("a", { href: `#/search?${new URLSearchParams({ q })}` }, "Find it"));
    }

    function showResults(results, plain, isCheck) {
      const done = results.filter(({ status }) => status === "ok").length;
      // For URLs, the response contains only rows.
      const names = section === "affiliates" ? ["Your affiliate ID"] : plain ? ["URL"] : [];
      const rows = results.map((result) => ({ isDone: result.status === "ok", cells: [
        count(rowOf(result, plain)),
        ...names.map(() => element("span", { class: "cut" }, value(plain ? plain[result.row - 2].trim().slice(0, 300) : result.detail.client_affiliate_id))),
        result.status === "ok" && result.detail[id] ? element("a", { href: `#/${section}/${result.detail[id]}` }, `added as ${one} ${result.detail[id]}`)
          : isCheck && result.status === "ok" ? "can be added" : [result.detail.msg, existing(result, plain)],
      ] }));
      const others = results.length - done;
      put(messages, element("div", { class: `message ${others === 0 ? "done" : done > 0 ? "warning" : "error"}`, role: "status" },
        element("p", {}, isCheck ? `${counted(done, `${one} can`, `${many} can`)} be added` : `${counted(done, `${one} was`, `${many} were`)} added`,
          others > 0 && `, ${count(others)} ${isCheck ? "cannot" : others === 1 ? "was not" : "were not"}`, "."),
        (results[0]?.notes ?? []).map((note) => element("p", {}, `Note: ${note}.`)),
        resultTable("Results", [unitOf(plain), ...names, "Result"], rows)));
    }

    function showRejection(rejection, again, plain) {
      const message = rejectionMessage(rejection, again);
      const { violations } = rejection;
      const unit = unitOf(plain);
      // If no row has violations, the service rejected the file itself, and a different option can help.
      const errors = byOption(rejection.errors);
      const links = violations.length > 0 ? [] : showViolations(controls, errors);
      options.open ||= Object.keys(errors).some((name) => controls.has(name));
      append(message, links.length > 0 && element("ul", {}, links),
        violations.length > 0 && resultTable(`${unit}s to correct`, [unit, "Column", "Reason"], violations.map((violation) => {
          const { where, why } = rowError(violation);
          return { isDone: false, cells: [value(rowOf(violation, plain)), value(where), value(why)] };
        })));
      put(messages, message);
    }

    const send = async (isCheck) => {
      if (isSending) return;
      messages.replaceChildren();
      for (const { violate } of [lines, ...controls.values()]) violate([]);
      if (file.files.length === 0 && input.value.trim() === "") {
        lines.violate([`Enter at least one ${one}, or choose a file.`]);
        input.focus();
        return;
      }
      const plain = section === "urls" && file.files.length === 0 ? plainLines(input.value) : null;
      const crowded = crowdedLine(plain ?? []);
      if (crowded > 0) {
        lines.violate([`Line ${crowded} contains several cells or URLs. Enter one URL per line, or paste cells with column names in the first line.`]);
        input.focus();
        return;
      }
      const request = requestOf(plain, isCheck);
      const sending = given();
      const meter = element("progress", { max: 1, value: 0, "aria-label": "Upload" });
      const progress = element("span", {}, "Sending…");
      isSending = true;
      add.textContent = isCheck ? "Checking…" : "Adding…";
      const { body } = request;
      if (body instanceof Blob && body.size > LARGE) {
        request.onSent = (part) => {
          meter.value = part;
          progress.textContent = part < 1 ? `${count(Math.floor(part * 100))}% of ${count(Math.ceil(body.size / LARGE))} MB sent` : "Sent. Processing the rows…";
        };
        messages.replaceChildren(element("p", { class: "actions" }, meter, progress));
      }
      await attempt(signal, async () => {
        const { body: answer } = await call("POST", `api/${section}`, { ...request, signal });
        if (!isCheck) sent = sending;
        showResults(answer, plain, isCheck);
      }, (rejection) => showRejection(rejection, () => send(isCheck), plain));
      isSending = false;
      add.textContent = "Add";
    };
    const add = element("button", { type: "submit", class: "primary" }, "Add");
    show(title, messages, element("form", { class: "form", novalidate: true, on: { submit: (event) => {
      event.preventDefault();
      send(false);
    } } }, lines.node, field("file", "Or choose a file", file, { hint: "CSV or Excel (.xlsx).", extra: remove }).node, options,
    element("p", { class: "actions" }, add, element("button", { type: "button", on: { click: () => send(true) } }, "Check only"), backLink(section))));
    return { hasChanges: () => given() !== "" && given() !== sent };
  };
}
