// Shows the affiliate, URL and case lists, with all API filters, sorting, paging, columns, export and bulk changes.

import { pickAffiliate, typedAffiliate } from "./affiliate-lookup.js";
import { chips } from "./chips.js";
import { chosenColumns, columnChooser } from "./columns.js";
import { myCases } from "./command-palette.js";
import { countries } from "./countries.js";
import { label, parameters, recordFields } from "./description.js";
import { announce, append, count, element, present, table } from "./elements.js";
import { exporter } from "./export.js";
import { haveValidDates, showViolations } from "./fields.js";
import { cell, LISTS } from "./list-columns.js";
import { choiceLabel, control, OTHER, PAGE_SIZE, SMALLEST_PAGE } from "./list-controls.js";
import { pager } from "./pager.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { savedFilters } from "./saved-filters.js";
import { severalBar } from "./several.js";
import { VOCABULARIES, vocabularies } from "./vocabularies.js";
import { workerChoices } from "./workers.js";

/** The sort parameters, set by clicking column headings. */
const SORTING = ["sort_by", "sort_dir"];
const ARRANGEMENT = new Set([...SORTING, "per_page", "page"]);
/** The filters that are always visible. */
const USUAL = {
  affiliates: ["q", "status", "country"],
  urls: ["incident_status_id", "has_case", "distributor_id", "disabled", "discovery_after", "discovery_before"],
  cases: ["open", "case_status_id", "risk_level_id", "overdue", "distributor_id"],
};

/** Columns that sort in ascending order first. */
const ASCENDING = ["distributor_name"];

/** Adds the names of a parameter's values: names from the company's vocabulary, or country names. */
function named(parameter, vocabulary) {
  if (parameter.name === "country") {
    const names = Object.fromEntries(countries(parameter.pattern));
    return { ...parameter, names, choices: Object.keys(names) };
  }
  const entries = vocabulary.get(VOCABULARIES[parameter.name]);
  return entries ? { ...parameter, names: Object.fromEntries(entries.map(({ id, name }) => [id, name])) } : parameter;
}

/** Returns the list view of `affiliates`, `urls` or `cases`. */
export function listView(section) {
  const { title, one, many, schema, key, sorts, initial } = LISTS[section];
  return async ({ query: first, signal, ready }) => {
    // If the vocabularies cannot be read, the filters offer only the default names.
    const [described, fields, vocabulary] = await Promise.all([
      parameters(`/api/${section}`), recordFields(schema), vocabularies(signal).catch((error) => {
        if (signal.aborted) throw error;
        return new Map();
      }),
    ]);
    const known = described.map((parameter) => named(parameter, vocabulary));
    const names = [...new Set([...initial, ...fields.map(({ name }) => name)])];
    const controls = new Map(known.filter(({ name }) => name !== "page" && !SORTING.includes(name)).map((parameter) => [parameter.name, control(parameter)]));
    const affiliate = controls.get("distributor_id");
    const address = (values) => `#/${section}${values.size > 0 ? `?${values}` : ""}`;
    const heading = element("h1", { tabindex: "-1" });
    const sizes = controls.get("per_page").node;
    const titleOf = () => (location.hash === myCases() ? "My cases" : title);
    const messages = element("div", {});
    const applied = element("div", {});
    const results = element("section", { "aria-label": "Results", class: "results" });
    let columns = chosenColumns(section, names, initial);
    let shown = null;
    let asked = 0;
    let wanted = first;

    const without = (query, name) => {
      const next = new URLSearchParams(query);
      for (const left of [name, "page"]) next.delete(left);
      return next;
    };
    const headings = (query) => columns.map((name) => {
      const sort = sorts[name];
      const box = name === key && several.pageBox;
      if (!sort) return element("th", { scope: "col" }, box, label(name));
      const isSorted = (query.get("sort_by") || "id") === sort;
      const isAscending = query.get("sort_dir") === "asc";
      const next = without(query);
      next.set("sort_by", sort);
      next.set("sort_dir", (isSorted ? !isAscending : ASCENDING.includes(name)) ? "asc" : "desc");
      return element("th", { scope: "col", "aria-sort": isSorted && (isAscending ? "ascending" : "descending") },
        box, element("a", { href: address(next) }, label(name)));
    });

    const filtersOf = (query) => known.filter(({ name }) => !ARRANGEMENT.has(name) && query.get(name));
    const renderChips = (query) => {
      const filters = filtersOf(query);
      const render = (name) => {
        const all = chips(filters.map((parameter) => ({
          text: parameter.name === "distributor_id" ? `Affiliate: ${name ?? query.get("distributor_id")}` : `${parameter.label}: ${choiceLabel(parameter, query.get(parameter.name))}`,
          href: address(without(query, parameter.name)),
        })));
        applied.replaceChildren(...(all ? [all] : []));
      };
      render(null);
      const id = query.get("distributor_id");
      if (!/^[1-9][0-9]{0,15}$/.test(id ?? "")) return;
      const own = asked;
      // If the name cannot be read, the chip keeps showing the ID.
      call("GET", `api/affiliates/${id}`, { signal }).then(({ body }) => own === asked && render(body.data.distributor_name), () => {});
    };

    const render = () => {
      const { body, query } = shown;
      const { total, per_page: size, current_page: page, last_page: last } = body.meta;
      const start = (page - 1) * size;
      const range = body.data.length > 0 ? `${title} ${count(start + 1)}–${count(start + body.data.length)} of ${count(total)}`
        : `No ${many} on this page (${count(total)} in total)`;
      const none = location.hash === myCases() ? "No open cases are assigned to you" : filtersOf(query).length > 0 ? `No ${many} match these filters` : `No ${many} yet`;
      const summary = element("h2", { tabindex: "-1" }, total === 0 ? none : range);
      const rows = body.data.map((record) => columns.map((name) => [name === key && several.box(record), cell(section, name, record)]));
      several.shown(body.data, total);
      results.replaceChildren(summary);
      append(results, rows.length > 0 && table(title, headings(query), rows, {
        className: "list", href: (index) => `#/${section}/${body.data[index][key]}`,
      }), element("div", { class: "toolbar" }, (last > 1 || page > 1) && pager(page, last, (number) => {
        const next = new URLSearchParams(query);
        next.set("page", number);
        return address(next);
      }), total > SMALLEST_PAGE && sizes));
      return summary;
    };

    const update = async (query, isFirst = false) => {
      asked += 1;
      const own = asked;
      const focused = document.activeElement;
      if (String(query) !== String(wanted)) several.clear();
      wanted = query;
      heading.textContent = titleOf();
      for (const [name, { set, violate }] of controls) {
        set(query.get(name));
        violate([]);
      }
      renderChips(query);
      const sent = { per_page: PAGE_SIZE };
      for (const { name } of known) if (query.get(name)) sent[name] = query.get(name);
      announce("Loading…");
      results.setAttribute("aria-busy", "true");
      // Disable the earlier results, whose links lack the new filters.
      for (const child of /** @type {Iterable<HTMLElement>} */ (results.children)) child.inert = true;
      await attempt(signal, async () => {
        const { body } = await call("GET", `api/${section}`, { query: sent, signal });
        // Ignore outdated responses.
        if (own !== asked) return;
        messages.replaceChildren();
        shown = { body, query };
        const summary = render();
        // The user may already be typing in another filter.
        const isTyping = document.activeElement !== focused && form.contains(document.activeElement);
        if (isFirst || isTyping) announce(summary.textContent);
        else summary.focus();
      }, (rejection) => {
        if (own !== asked) return;
        results.replaceChildren(...(rejection.errors.per_page ? [sizes] : []));
        const message = rejectionMessage(rejection, rejection.status === 422 ? null : () => update(query));
        const links = showViolations(controls, rejection.errors);
        if (Object.keys(rejection.errors).some((name) => ![...USUAL[section], "per_page"].includes(name))) openMore(true);
        if (links.length > 0) message.append(element("ul", {}, links));
        messages.replaceChildren(message);
      });
      if (own === asked) results.removeAttribute("aria-busy");
    };

    const apply = () => attempt(signal, async () => {
      if (others.querySelector(":invalid")) openMore(true);
      if (!haveValidDates([...controls.values()])) return;
      const { id, violation } = await typedAffiliate(affiliate?.get() ?? "", signal);
      affiliate?.violate(violation ? [violation] : []);
      if (violation) {
        affiliate.input.focus();
        return;
      }
      const query = new URLSearchParams(SORTING.filter((name) => wanted.get(name)).map((name) => [name, wanted.get(name)]));
      for (const [name, { get }] of controls) {
        const text = name === "distributor_id" ? id : get();
        const isDefault = name === "per_page" ? text === PAGE_SIZE : text === known.find((other) => other.name === name).default;
        if (text !== "" && !isDefault) query.set(name, text);
      }
      if (address(query) === location.hash) await update(query);
      else location.hash = address(query);
    }, (rejection) => messages.replaceChildren(rejectionMessage(rejection, apply)));

    const usual = USUAL[section].map((name) => controls.get(name).node);
    const others = element("div", { class: "grid", id: "more", hidden: true }, Array.from(controls.values(), ({ node }) => node).filter((node) => node !== sizes && !usual.includes(node)));
    const opener = element("button", { type: "button", "aria-expanded": "false", "aria-controls": "more", on: { click: () => openMore(others.hidden) } }, "More filters");
    const openMore = (isOpen) => {
      others.hidden = !isOpen;
      opener.ariaExpanded = String(isOpen);
      opener.textContent = isOpen ? "Fewer filters" : "More filters";
    };
    // Choices apply immediately. Typed text applies when the form is submitted.
    const choose = ({ target }) => target instanceof HTMLSelectElement && target.value !== OTHER && apply();
    const form = element("form", { class: "filters", id: "filters", "aria-label": "Filters", novalidate: true, on: { submit: (event) => {
      event.preventDefault();
      apply();
    } } },
    element("div", { class: "grid", on: { change: choose } }, usual), others);
    if (affiliate) pickAffiliate(affiliate.input, signal);
    const worker = controls.get("case_worker");
    worker?.input.after(...workerChoices(worker.input, signal, apply).filter(Boolean));
    const filters = () => Object.fromEntries(filtersOf(wanted).map(({ name }) => [name, wanted.get(name)]));
    const { button, report } = exporter(section, () => ({
      query: filters(),
      total: shown?.query === wanted ? shown.body.meta.total : null,
      columns,
    }), signal);
    const reload = () => update(wanted);
    const several = severalBar({ section, key, one, many, signal, filters, reload });
    const chooser = columnChooser(section, names.map((name) => [name, label(name)]), initial, (chosen) => {
      columns = chosen;
      if (shown !== null) render();
    });
    sizes.addEventListener("change", choose);
    // On a phone, a menu contains these controls.
    const [tools, narrow] = [element("details", { class: "tools" }, element("summary", { class: "button" }, "More"),
      element("div", { class: "toolbar" }, chooser, savedFilters(section), button)), window.matchMedia("(max-width: 45rem)")];
    const fold = () => {
      tools.open = !narrow.matches || tools.contains(document.activeElement);
    };
    narrow.addEventListener("change", fold, { signal });
    fold();
    present(titleOf(), heading, element("div", { class: "title" }, heading, element("span", { class: "actions" },
      section === "cases" && element("a", { href: "#/cases/new", class: "button primary", needs: "cases" }, "Open a case"),
      section === "urls" && element("a", { href: "#/urls/new", class: "button primary" }, "Add URLs"),
      section === "affiliates" && [element("a", { href: "#/affiliates/batch", class: "button" }, "Add several"),
        element("a", { href: "#/affiliates/new", class: "button primary" }, "New affiliate")])), form,
      element("div", { class: "toolbar" },
        element("button", { type: "submit", form: form.id }, "Apply"), opener, element("a", { href: `#/${section}` }, "Clear all"), tools),
      report, applied, messages, several.messages, results, several.bar);
    const view = { update, hasChanges: several.hasChanges };
    ready(view);
    await update(first, true);
    return view;
  };
}
