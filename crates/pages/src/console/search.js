// Implements the global search, which finds records by number, and affiliates and URLs by text.

import { affiliateTable, searchAffiliates } from "./affiliate-lookup.js";
import { announce, append, counted, element, show, table, value } from "./elements.js";
import { cell } from "./list-columns.js";
import { label } from "./description.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call, Rejection } from "./requests.js";

const LIMIT = 50;
/** Maximum length of a displayed URL. */
const LONGEST = 200;
const SHORTEST_URL = 3;
/** Matches a record number, such as `494`, `#494` or `case 494`. */
export const NUMBER = /^(?:(case|url|affiliate)\s*)?#?([1-9][0-9]{0,15})$/i;
const COLUMNS = ["id", "url", "incident_status", "affiliate_name", "case_id", "discovery_date"];

/** Returns the header's search form. */
export function searchForm() {
  const input = element("input", { type: "search", "aria-label": "Search cases, affiliates and URLs", placeholder: "Case number, affiliate or URL",
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

/** Returns a link to the record with this ID, or null if it does not exist. */
async function numbered(path, id, signal, shown) {
  try {
    const { body } = await call("GET", `api/${path}/${id}`, { signal });
    return element("li", {}, element("a", { href: `#/${path}/${id}` }, shown(body.data)));
  } catch (error) {
    if (error instanceof Rejection && error.status === 404) return null;
    throw error;
  }
}

/** Returns links to the case, URL and affiliate with the number in the text. */
async function recordsNumbered(text, signal) {
  const [, kind, id] = NUMBER.exec(text) ?? [];
  if (!id) return [];
  const asked = (name) => !kind || kind.toLowerCase() === name;
  const read = await Promise.all([
    asked("case") && numbered("cases", id, signal, (record) => [`Case ${id}: `, value(record.case_status), " · ", value(record.affiliate_name)]),
    asked("url") && numbered("urls", id, signal, (record) => [`URL ${id}: `, value(record.url.slice(0, LONGEST))]),
    asked("affiliate") && numbered("affiliates", id, signal, (record) => [`Affiliate ${id}: `, value(record.distributor_name)]),
  ]);
  return read.filter(Boolean);
}

function found(records, one, many, made) {
  const heading = records.length === 0 ? `No ${many}` : records.length === LIMIT ? `The first ${LIMIT} ${many}` : counted(records.length, one, many);
  return element("section", {}, element("h2", {}, heading), records.length > 0 ? made : null);
}

export async function searchView({ query: first, signal, ready }) {
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
      const [affiliates, urls, numbers] = await Promise.all([
        text === "" ? [] : searchAffiliates(text, signal, LIMIT), isLong ? urlsWith(text, signal) : [], recordsNumbered(text, signal)]);
      // Ignore outdated responses.
      if (own !== asked) return;
      show(`Results for “${text}”`, results);
      results.replaceChildren();
      append(results,
        affiliates.length + urls.length + numbers.length === 0 && element("p", {}, "The search looks in the names, IDs, e-mail addresses and cities of affiliates, in URLs, and in the IDs of cases."),
        numbers.length > 0 && element("section", {}, element("h2", {}, `Records with the ID ${NUMBER.exec(text)[2]}`), element("ul", {}, numbers)),
        found(affiliates, "affiliate", "affiliates", affiliateTable(affiliates)),
        found(urls, "URL", "URLs", table("URLs", COLUMNS.map(label), urls.map((record) => COLUMNS.map((name) => cell("urls", name, record))),
          { className: "list", href: (index) => `#/urls/${urls[index].id}` })));
      if (!isLong) results.append(element("p", { class: "hint" }, `To find URLs, type at least ${SHORTEST_URL} characters.`));
      announce(`${counted(affiliates.length, "affiliate", "affiliates")}, ${counted(urls.length, "URL", "URLs")}`);
    }, (rejection) => {
      if (own !== asked) return;
      show("Search", results);
      results.replaceChildren(rejectionMessage(rejection, () => update(query)));
    });
    if (own === asked) results.removeAttribute("aria-busy");
  };
  ready({ update });
  await update(first);
  return { update };
}
