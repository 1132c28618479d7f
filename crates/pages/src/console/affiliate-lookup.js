// Looks up affiliates by name. URLs and cases contain the affiliate's name, but lists filter by its ID, so links to lists look up the name.

import { element, show, table, value } from "./elements.js";
import { badge } from "./badges.js";
import { call } from "./requests.js";

const LIMIT = 50;
const MOST = 128;

/** Returns the affiliates whose name or client identifier contains the text. */
export async function searchAffiliates(text, signal, limit = LIMIT) {
  // The limit counts characters, not code units.
  const q = Array.from(text).slice(0, MOST).join("");
  const { body } = await call("GET", "api/affiliates:search", { query: { q, limit }, signal });
  return body.data;
}

/**
 * Returns the address of a record's affiliate, or of the affiliate's `urls` or `cases`. URLs and overview entries contain only the
 * affiliate's name.
 */
export function affiliateAddress({ distributor_id: id, affiliate_name: name }, to) {
  if (id) return to ? `#/${to}?distributor_id=${id}` : `#/affiliates/${id}`;
  return `#/affiliates/named?${new URLSearchParams(to ? { name, to } : { name })}`;
}

/** Returns a link to a record's affiliate, with its name. */
export function affiliateLink(record) {
  return record.affiliate_name ? element("a", { href: affiliateAddress(record) }, value(record.affiliate_name)) : value(null);
}

/** Returns a table of affiliates. */
export function affiliateTable(records) {
  return table("Affiliates", ["ID", "Name", "Your affiliate ID", "Status"], records.map((record) => [
    element("a", { href: `#/affiliates/${record.id}` }, record.id), element("a", { href: `#/affiliates/${record.id}` }, value(record.distributor_name)),
    value(record.client_distributor_id), badge(record.distributor_status),
  ]), { href: (index) => `#/affiliates/${records[index].id}` });
}

/** Redirects to the affiliate with this exact name, or shows similar names. */
export async function namedAffiliateView({ query, signal }) {
  const name = query.get("name") ?? "";
  const found = name === "" ? [] : await searchAffiliates(name, signal);
  const record = found.find((other) => other.distributor_name === name);
  if (record) {
    const to = query.get("to");
    location.replace(to === "urls" || to === "cases" ? `#/${to}?distributor_id=${record.id}` : `#/affiliates/${record.id}`);
    return;
  }
  show("No such affiliate", element("p", {}, "No affiliate is named exactly ", value(name), "."),
    found.length > 0 && [element("h2", {}, "Similar names"), affiliateTable(found)],
    element("p", {}, element("a", { href: "#/affiliates" }, "All affiliates")));
}

/** Suggests affiliates while the user types a name into an affiliate ID field. */
export function pickAffiliate(input, signal) {
  const list = element("datalist", { id: `${input.id}-choices` });
  const known = new Map();
  let timer;
  let asked = 0;
  input.setAttribute("list", list.id);
  input.after(list);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    const text = input.value.trim();
    if (text === "" || /^\d+$/.test(text)) return;
    timer = setTimeout(async () => {
      asked += 1;
      const own = asked;
      // If the lookup fails, the user can still type the ID.
      const found = await searchAffiliates(text, signal, 20).catch(() => []);
      if (own !== asked) return;
      list.replaceChildren(...found.map((record) => {
        known.set(String(record.id), record.distributor_name);
        return element("option", { value: record.id, label: `${record.distributor_name} (${record.client_distributor_id})` });
      }));
    }, 250);
  });
}

/**
 * Returns the affiliate ID for typed text that is a number or matches exactly one affiliate. Otherwise, returns an error message in
 * `violation`.
 */
export async function typedAffiliate(text, signal) {
  if (text === "" || /^\d+$/.test(text)) return { id: text };
  const found = await searchAffiliates(text, signal);
  const equal = (form) => found.filter((record) => [record.distributor_name, record.client_distributor_id].some((name) => form(name) === form(text)));
  // IDs can differ in case only.
  const chosen = [equal((name) => name), equal((name) => name?.toLowerCase())].find(({ length }) => length === 1) ?? found;
  if (chosen.length === 1) return { id: String(chosen[0].id) };
  return { violation: found.length === 0 ? "No affiliate name or ID contains this text."
    : "Several affiliate names or IDs contain this text. Type more, or choose an affiliate." };
}
