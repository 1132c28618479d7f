// The list of affiliates. The interface returns all affiliates in one response, so the page reads them one by one, keeps the
// fields that the list shows, and searches these fields. It stops after the first affiliates until the user searches, sorts or
// goes to a later page.

import { STATUSES, statusBar } from "./affiliate-status.js";
import { badge, capital } from "./badges.js";
import { chips } from "./chips.js";
import { chosenColumns, columnChooser } from "./columns.js";
import { countryName } from "./countries.js";
import { announce, append, count, counted, element, show, table, value } from "./elements.js";
import { exporter } from "./export.js";
import { field, select } from "./fields.js";
import { pager } from "./pager.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call, readList } from "./requests.js";
import { savedFilters } from "./saved-filters.js";
import { claims } from "./session.js";
import { remember } from "./visited.js";

const PAGE_SIZE = 50;
/** Number of affiliates that are read first. A list that is not longer is then complete. */
const FIRST = 200;
/** Interval at which the list is shown again while it is read, in milliseconds. */
const PAUSE = 500;
const SEARCHED = ["id", "client_distributor_id", "distributor_name", "first_name", "last_name", "company_name", "email_one", "email_two", "city"];
/** What the page keeps of each affiliate, and can show as columns. */
const COLUMNS = [
  ["id", "ID"], ["client_distributor_id", "Your affiliate ID"], ["distributor_name", "Name"], ["email_one", "E-mail"],
  ["city", "City"], ["distributor_status", "Status"], ["country", "Country"], ["company_name", "Company"], ["first_name", "First name"],
  ["last_name", "Last name"], ["phone_one", "Phone"], ["start_date", "Start date"],
];
const INITIAL = ["id", "client_distributor_id", "distributor_name", "email_one", "city", "distributor_status"];
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * A text without accents, in one case, so that `linnea` and `LINNÉA` find the same affiliates. Upper case comes first, because it turns `ı`
 * into `I`.
 */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** An empty list. `hasMore`: the page stopped reading after the first affiliates. */
const nothing = (company) => ({ company, entries: [], byId: new Map(), isComplete: false, hasMore: false });

/** The affiliates that were read for a company. They are kept while the tab shows other views. */
let kept = nothing(null);

function entryOf(record) {
  const entry = { text: folded(SEARCHED.map((name) => record[name] ?? "").join("\n")) };
  for (const [name] of COLUMNS) entry[name] = name === "country" ? countryName(record.country) : record[name];
  return entry;
}

function matcher({ search, status }) {
  const words = folded(search).split(/\s+/).filter(Boolean);
  return (entry) => (status === "" || entry.distributor_status === status) && words.every((word) => entry.text.includes(word));
}

function cell(name, entry) {
  if (name === "distributor_status") return badge(entry[name]);
  const content = value(entry[name]);
  return name === "id" || name === "distributor_name" ? element("a", { href: `#/affiliates/${entry.id}` }, content) : content;
}

/** Updates the kept list with an affiliate that was read. Returns its entry. */
function learn(record) {
  const entry = entryOf(record);
  if (kept.isComplete || kept.byId.has(entry.id)) {
    const position = kept.byId.get(entry.id) ?? kept.entries.length;
    kept.byId.set(entry.id, position);
    kept.entries[position] = entry;
  }
  return entry;
}

/** Reads a new or changed affiliate again, and updates the kept list. Returns the affiliate with its tag. */
export async function refresh(id, signal) {
  const { body, tag } = await call("GET", `api/affiliates/${id}`, { signal });
  if (kept.company === claims().company) learn(body.data);
  return { record: body.data, tag };
}

/** Forgets the list, so that it is read again. */
export function forget() {
  kept = nothing(null);
}

/** Whether a view needs more than the first affiliates in the order of the service. */
function needsAll({ search, status, sort, isDescending, page }) {
  return search !== "" || status !== "" || sort !== "id" || isDescending || page > 1;
}

/** The entries that match, sorted. */
function matching({ search, status, sort, isDescending }) {
  const found = kept.entries.filter(matcher({ search, status }));
  if (sort !== "id") {
    // Missing values come last in both directions, as in the lists of the service.
    const direction = isDescending ? -1 : 1;
    found.sort((one, other) => {
      const [a, b] = [one[sort], other[sort]];
      if (a === null || b === null) return Number(a === null) - Number(b === null) || one.id - other.id;
      return direction * (collator.compare(a, b) || one.id - other.id);
    });
  } else if (isDescending) {
    found.reverse();
  }
  return found;
}

export function affiliatesView({ query: first, signal }) {
  /** @type {{search: string, status: string, sort: string, isDescending: boolean, page: number}} */
  let state;
  const names = COLUMNS.map(([name]) => name);
  let columns = chosenColumns("affiliates", names, INITIAL);
  const search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const statuses = select([["", "any"], ...STATUSES]);
  const searchField = field("search", "Search", search, { hint: "Searches IDs, names, companies, e-mail addresses and cities. It finds affiliates that contain all the words." });
  const statusField = field("status", "Status", statuses);
  const progress = element("p", { class: "progress" });
  const messages = element("div", {});
  const applied = element("div", {});
  const results = element("section", { "aria-label": "Results", class: "results" });

  const read = (query) => {
    state = {
      search: query.get("search") ?? "",
      status: query.get("status") ?? "",
      sort: names.includes(query.get("sort")) ? query.get("sort") : "id",
      isDescending: query.get("direction") === "desc",
      page: Math.max(1, Number.parseInt(query.get("page") ?? "1", 10) || 1),
    };
  };
  const address = (changes) => {
    const next = { ...state, page: 1, ...changes };
    const query = new URLSearchParams();
    if (next.search) query.set("search", next.search);
    if (next.status) query.set("status", next.status);
    if (next.sort !== "id") query.set("sort", next.sort);
    if (next.isDescending) query.set("direction", "desc");
    if (next.page > 1) query.set("page", next.page);
    return `#/affiliates${query.size > 0 ? `?${query}` : ""}`;
  };
  const selection = statusBar({
    signal,
    matching: () => matching(state),
    learn: (record, isKept = true) => (isKept ? learn(record) : entryOf(record)),
    render: () => render(),
  });
  const heading = (name) => {
    const isSorted = state.sort === name;
    const arrow = isSorted && element("span", { "aria-hidden": "true" }, state.isDescending ? " ▼" : " ▲");
    return element("th", { scope: "col", "aria-sort": isSorted && (state.isDescending ? "descending" : "ascending") },
      name === "id" && selection.pageBox,
      element("a", { href: address({ sort: name, isDescending: isSorted && !state.isDescending }) }, COLUMNS.find(([other]) => other === name)[1], arrow));
  };
  const more = () => element("nav", { class: "pager", "aria-label": "Pages" }, element("ul", {},
    element("li", {}, "There are more affiliates. They load when you search, sort or go to the next page."),
    element("li", {}, element("a", { href: address({ page: 2 }) }, "Next")),
    element("li", {}, element("button", { type: "button", on: { click: () => load(true) } }, "Load all"))));
  const render = () => {
    const found = matching(state);
    const last = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
    const page = Math.min(state.page, last);
    const shown = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    const all = kept.entries.length;
    const soFar = kept.isComplete ? "" : " so far";
    const read = kept.hasMore ? `The first ${counted(all, "affiliate", "affiliates")}` : `${counted(all, "affiliate", "affiliates")}${soFar}`;
    const summary = element("h2", { tabindex: "-1" }, found.length === all ? read
      : `${count(found.length)} of ${counted(all, "affiliate", "affiliates")}${soFar}`);
    const rows = shown.map((entry) => columns.map((name) =>
      (name === "id" ? [selection.box(entry), cell(name, entry)] : cell(name, entry))));
    // The user can choose all matches only after all affiliates are read.
    selection.shown(shown, kept.isComplete ? found.length : 0);
    const filters = chips([
      state.search && { text: `Search: ${state.search}`, href: address({ search: "" }) },
      state.status && { text: `Status: ${capital(state.status)}`, href: address({ status: "" }) },
    ].filter(Boolean), address({ search: "", status: "" }));
    applied.replaceChildren(...(filters ? [filters] : []));
    results.replaceChildren(summary);
    append(results, selection.node,
      rows.length > 0 && table("Affiliates", columns.map(heading), rows, { className: "list", href: (index) => `#/affiliates/${shown[index].id}` }),
      kept.hasMore ? more() : last > 1 && pager(page, last, (number) => address({ page: number })));
    return summary;
  };
  /** Shows affiliates that were read since. The focus and the place in the table stay. */
  const renderMore = () => {
    const active = /** @type {any} */ (document.activeElement);
    const attribute = ["href", "aria-label"].find((name) => active.hasAttribute(name));
    const isInside = results.contains(active);
    const isChoosing = selection.node.contains(active);
    const summary = render();
    if (!isInside) return summary;
    /** @type {any} */
    const same = isChoosing ? active : attribute && [...results.querySelectorAll(`[${attribute}]`)].find((node) => node.getAttribute(attribute) === active.getAttribute(attribute));
    if (same?.type === "number") same.value = active.value;
    (same ?? summary).focus({ preventScroll: true });
    return summary;
  };
  const typed = () => {
    state = { ...state, search: search.value.trim(), status: statuses.value, page: 1 };
    selection.clear();
    history.replaceState(null, "", address({}));
    remember(address({}));
    announce(`${render().textContent}${kept.isComplete ? "" : ". The list is still loading."}`);
    readRest();
  };
  /** Continues reading if the view needs all affiliates and the page stopped after the first. */
  const readRest = () => kept.hasMore && needsAll(state) && load(true);
  let timer;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(typed, 150);
  });
  statuses.addEventListener("change", typed);

  /** Whether the user is typing a page number or choosing a status, which a new table would interrupt. */
  const isFilledIn = () => results.contains(document.activeElement) && document.activeElement.matches("input[type=number], select");
  const load = (isWhole) => attempt(signal, async () => {
    const mine = nothing(claims().company);
    kept = mine;
    selection.clear();
    messages.replaceChildren();
    progress.textContent = "Loading…";
    let next = 0;
    mine.isComplete = await readList("api/affiliates", (record) => {
      mine.hasMore = !isWhole && mine.entries.length >= FIRST && !needsAll(state);
      if (mine.hasMore) return;
      mine.byId.set(record.id, mine.entries.length);
      mine.entries.push(entryOf(record));
      if (mine.entries.length < PAGE_SIZE || performance.now() < next || isFilledIn()) return;
      const start = performance.now();
      renderMore();
      progress.textContent = "Loading the rest. Until then, you see results among the affiliates loaded so far.";
      // A large list takes long to sort, so most of the time is left for reading.
      next = performance.now() + Math.max(PAUSE, 10 * (performance.now() - start));
    }, signal, () => mine.hasMore);
    progress.textContent = "";
    announce(renderMore().textContent);
  }, (rejection) => {
    const read = kept.entries.length;
    progress.textContent = read > 0 ? `The list is incomplete: loading stopped after ${counted(read, "affiliate", "affiliates")}.` : "";
    messages.replaceChildren(rejectionMessage(rejection, () => load(isWhole)));
    if (read > 0) renderMore();
  });
  const { button: exportButton, report } = exporter("affiliates", async (own) => {
    if (state.search === "" && state.status === "") return { query: {}, total: kept.isComplete ? kept.entries.length : null };
    const ids = new Set();
    const matches = matcher(state);
    await readList("api/affiliates", (record) => matches(entryOf(record)) && ids.add(record.id), own);
    return { query: {}, total: ids.size, ids };
  }, signal);
  const chooser = columnChooser("affiliates", COLUMNS, INITIAL, (chosen) => {
    columns = chosen;
    if (kept.entries.length > 0) render();
  });

  read(first);
  search.value = state.search;
  statuses.value = state.status;
  show("Affiliates",
    element("form", { class: "filters", role: "search", "aria-label": "Affiliates", novalidate: true, on: { submit: (event) => {
      event.preventDefault();
      clearTimeout(timer);
      typed();
    } } }, element("div", { class: "grid" }, searchField.node, statusField.node)),
    element("div", { class: "toolbar" },
      element("a", { href: "#/affiliates/new", class: "button primary" }, "New affiliate"),
      element("a", { href: "#/affiliates/batch", class: "button" }, "Add several"),
      element("button", { type: "button", on: { click: () => load(kept.isComplete) } }, "Reload"),
      chooser, savedFilters("affiliates"), exportButton),
    report, applied, progress, messages, results);
  if (kept.company === claims().company && (kept.isComplete || (kept.hasMore && !needsAll(state)))) announce(render().textContent);
  else load(false);
  return {
    update: (query) => {
      read(query);
      search.value = state.search;
      statuses.value = state.status;
      selection.clear();
      render().focus();
      readRest();
    },
  };
}
