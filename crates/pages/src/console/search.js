// The search from everywhere: affiliates by name or identifier, and URLs by any part of them.

import { affiliateTable, searchAffiliates } from "./affiliate-lookup.js";
import { announce, counted, element, show, table } from "./elements.js";
import { cell } from "./list-columns.js";
import { label } from "./description.js";
import { attempt, refusalMessage } from "./refusals.js";
import { call } from "./requests.js";

const LIMIT = 50;
const SHORTEST_URL = 3;
const COLUMNS = ["id", "url", "incident_status", "affiliate_name", "case_id", "discovery_date"];

/** The search field of the header. */
export function searchForm() {
  const input = element("input", { type: "search", "aria-label": "Search affiliates and URLs", placeholder: "Search affiliates and URLs",
    autocomplete: "off", spellcheck: "false", maxlength: 256 });
  return element("form", { role: "search", "aria-label": "Everything", class: "search", on: { submit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text !== "") location.hash = `#/search?${new URLSearchParams({ q: text })}`;
  } } }, input);
}

async function urlsWith(text, signal) {
  const { body } = await call("GET", "api/urls:search", { query: { q: text, limit: LIMIT }, signal });
  return body.data;
}

function found(records, one, many, made) {
  const heading = records.length === 0 ? `No ${many}` : records.length === LIMIT ? `The first ${LIMIT} ${many}` : counted(records.length, one, many);
  return element("section", {}, element("h2", {}, heading), records.length > 0 ? made : null);
}

export async function searchView({ query: first, signal }) {
  const results = element("div", { class: "results" });
  let asked = 0;
  const update = async (query) => {
    asked += 1;
    const own = asked;
    const text = (query.get("q") ?? "").trim();
    results.setAttribute("aria-busy", "true");
    announce("Loading…");
    await attempt(signal, async () => {
      const isLong = Array.from(text).length >= SHORTEST_URL;
      const [affiliates, urls] = await Promise.all([text === "" ? [] : searchAffiliates(text, signal, LIMIT), isLong ? urlsWith(text, signal) : []]);
      // Another text has been searched for meanwhile.
      if (own !== asked) return;
      show(`Results for “${text}”`, results);
      results.replaceChildren(
        found(affiliates, "affiliate", "affiliates", affiliateTable(affiliates)),
        found(urls, "URL", "URLs", table("URLs", COLUMNS.map(label), urls.map((record) => COLUMNS.map((name) => cell("urls", name, record))),
          { className: "list", href: (index) => `#/urls/${urls[index].id}` })));
      if (!isLong) results.append(element("p", { class: "hint" }, `URLs are searched for ${SHORTEST_URL} characters or more.`));
      announce(`${counted(affiliates.length, "affiliate", "affiliates")}, ${counted(urls.length, "URL", "URLs")}`);
    }, (refusal) => {
      if (own !== asked) return;
      show("Search", results);
      results.replaceChildren(refusalMessage(refusal, () => update(query)));
    });
    if (own === asked) results.removeAttribute("aria-busy");
  };
  await update(first);
  return { update };
}
