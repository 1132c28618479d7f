// The lists of URLs and cases: every filter that the interface has, sorting and pages.

import { label, parameters } from "./description.js";
import { announce, append, count, counted, element, show, table, value } from "./elements.js";
import { field, select, showViolations } from "./fields.js";
import { pager } from "./pager.js";
import { attempt, refusalMessage } from "./refusals.js";
import { call } from "./requests.js";

const PAGE_SIZE = "20";
const PAGE_SIZES = ["10", "20", "50", "100", "200"];
const OTHER = "other";

const open = (section, id) => id !== null && element("a", { href: `#/${section}/${id}` }, id);

/** A cell of a record. */
function cell({ name, show: shown }, record) {
  if (shown) return shown(record);
  const isTimestamp = name.endsWith("_date") || name === "last_seen";
  return isTimestamp ? element("span", { class: "timestamp" }, value(record[name])) : value(record[name]);
}

/** Each list: its columns with the name that sorts by them. */
const KINDS = {
  urls: {
    title: "URLs", one: "URL", many: "URLs",
    columns: [
      { name: "id", sort: "id", show: (record) => open("urls", record.id) },
      { name: "url", show: (record) => element("span", { class: "long" }, value(record.url)) },
      { name: "incident_status" },
      { name: "disabled" },
      { name: "affiliate_name" },
      { name: "infractions", show: (record) => record.infractions.length },
      { name: "case_id", show: (record) => open("cases", record.case_id) || value(null) },
      { name: "discovery_date", sort: "discovery_dt" },
      { name: "last_review_date", sort: "last_review_dt" },
      { name: "last_seen", sort: "last_seen" },
    ],
  },
  cases: {
    title: "Cases", one: "case", many: "cases",
    columns: [
      { name: "case_id", sort: "id", show: (record) => open("cases", record.case_id) },
      { name: "case_status" },
      { name: "risk_level" },
      { name: "affiliate_name" },
      { name: "incidents", show: (record) => record.incidents.length },
      { name: "case_worker" },
      { name: "created_date", sort: "created_dt" },
      { name: "last_updated_date" },
    ],
  },
};

/** The control of a parameter: its field, and reading and setting its value. */
function control(parameter) {
  const { name, names, choices, isDay } = parameter;
  let input;
  let other = null;
  if (names) {
    input = select([["", "any"], ...Object.entries(names), [OTHER, "another ID"]]);
    other = element("input", { type: "text", inputmode: "numeric", "aria-label": `ID of another ${parameter.label.toLowerCase()}`, hidden: true });
    input.addEventListener("change", () => {
      other.hidden = input.value !== OTHER;
    });
  } else if (name === "per_page") {
    input = select(PAGE_SIZES);
  } else if (choices) {
    const all = choices.map((choice) => [choice, { asc: "ascending", desc: "descending" }[choice] ?? label(choice)]);
    input = select(parameter.default === null ? [["", "any"], ...all] : all);
  } else {
    input = element("input", isDay ? { type: "date" } : { type: "text", inputmode: "numeric" });
  }
  const made = field(name, parameter.label, input, { hint: input instanceof HTMLSelectElement ? null : parameter.hint, extra: other });
  return {
    ...made,
    get: () => (input.value === OTHER ? other.value : input.value).trim(),
    set: (text) => {
      const wanted = text || (name === "per_page" ? PAGE_SIZE : parameter.default) || "";
      if (name === "per_page" && !PAGE_SIZES.includes(wanted)) input.append(element("option", { value: wanted }, wanted));
      const isOther = other !== null && wanted !== "" && !(wanted in names);
      input.value = isOther ? OTHER : wanted;
      if (other !== null) {
        other.hidden = !isOther;
        other.value = isOther ? wanted : "";
      }
    },
  };
}

/** The view of a list: `urls` or `cases`. */
export function listView(section) {
  const { title, one, many, columns } = KINDS[section];
  return async ({ query: first, signal }) => {
    const known = await parameters(`/api/${section}`);
    const controls = new Map(known.filter(({ name }) => name !== "page").map((parameter) => [parameter.name, control(parameter)]));
    const address = (values) => `#/${section}${values.size > 0 ? `?${values}` : ""}`;
    const messages = element("div", {});
    const results = element("section", { "aria-label": "Results" });
    let asked = 0;

    const headings = (query) => columns.map(({ name, sort }) => {
      if (!sort) return label(name);
      const isSorted = (query.get("sort_by") || "id") === sort;
      const isAscending = query.get("sort_dir") === "asc";
      const next = new URLSearchParams(query);
      next.delete("page");
      next.set("sort_by", sort);
      next.set("sort_dir", isSorted && !isAscending ? "asc" : "desc");
      const arrow = isSorted && element("span", { "aria-hidden": "true" }, isAscending ? " ▲" : " ▼");
      return element("th", { scope: "col", "aria-sort": isSorted && (isAscending ? "ascending" : "descending") },
        element("a", { href: address(next) }, label(name), arrow));
    });

    const render = (body, query) => {
      const { total, per_page: size, current_page: page, last_page: last } = body.meta;
      const start = (page - 1) * size;
      const range = body.data.length > 0 ? `${title} ${count(start + 1)}–${count(start + body.data.length)} of ${count(total)}`
        : `None of ${counted(total, one, many)} on this page`;
      const summary = element("h2", { tabindex: "-1" }, total === 0 ? `No ${many} match these filters` : range);
      const rows = body.data.map((record) => columns.map((column) => cell(column, record)));
      results.replaceChildren(summary);
      append(results, rows.length > 0 && table(title, headings(query), rows), total > 0 && pager(page, last, (number) => {
        const next = new URLSearchParams(query);
        next.set("page", number);
        return address(next);
      }));
      return summary;
    };

    const update = async (query, isFirst = false) => {
      asked += 1;
      const turn = asked;
      for (const [name, { set, violate }] of controls) {
        set(query.get(name));
        violate([]);
      }
      const sent = { per_page: PAGE_SIZE };
      for (const { name } of known) if (query.get(name)) sent[name] = query.get(name);
      announce("Loading…");
      results.setAttribute("aria-busy", "true");
      await attempt(signal, async () => {
        const { body } = await call("GET", `api/${section}`, { query: sent, signal });
        // A later question has been asked meanwhile.
        if (turn !== asked) return;
        messages.replaceChildren();
        const summary = render(body, query);
        if (isFirst) announce(summary.textContent);
        else summary.focus();
      }, (refusal) => {
        if (turn !== asked) return;
        results.replaceChildren();
        const message = refusalMessage(refusal, refusal.status === 422 ? null : () => update(query));
        const links = showViolations(controls, refusal.errors);
        if (links.length > 0) message.append(element("ul", {}, links));
        messages.replaceChildren(message);
      });
      if (turn === asked) results.removeAttribute("aria-busy");
    };

    const form = element("form", { class: "filters", "aria-label": "Filters", novalidate: true, on: { submit: (event) => {
      event.preventDefault();
      const query = new URLSearchParams();
      for (const [name, { get }] of controls) {
        const isDefault = name === "per_page" ? get() === PAGE_SIZE : get() === known.find((other) => other.name === name).default;
        if (get() !== "" && !isDefault) query.set(name, get());
      }
      if (address(query) === location.hash) update(query);
      else location.hash = address(query);
    } } },
    element("div", { class: "grid" }, Array.from(controls.values(), ({ node }) => node)),
    element("p", { class: "actions" },
      element("button", { type: "submit", class: "primary" }, "Apply"),
      element("a", { href: `#/${section}` }, "Clear all")));
    show(title, element("details", { open: window.innerWidth > 700 || first.size > 0 }, element("summary", {}, "Filters, sorting and page size"), form), messages, results);
    await update(first, true);
    return { update };
  };
}
