// The header: sections, search, and the account.

import { element } from "./elements.js";
import { searchForm } from "./search.js";
import * as session from "./session.js";

const SECTIONS = [["overview", "Overview"], ["affiliates", "Affiliates"], ["urls", "URLs"], ["cases", "Cases"], ["charts", "Charts"]];
const PARTS = ["navigation", "finder", "account"];

/** Shows the header of a signed-in user, with the section of a path, and the text that is searched for, if one is. */
export function showHeader(path, searched) {
  const section = path.split("/")[0];
  const [navigation, finder, account] = PARTS.map((id) => document.getElementById(id));
  navigation.replaceChildren(element("ul", {}, SECTIONS.map(([name, text]) =>
    element("li", {}, element("a", { href: `#/${name}`, "aria-current": name === section && "page" }, text)))));
  if (finder.childElementCount === 0) finder.replaceChildren(searchForm());
  showSearched(searched);
  showAccount();
  for (const part of [navigation, finder, account]) part.hidden = false;
}

/** Shows the company and the end of the session, which a renewal moves. */
export function showAccount() {
  const account = document.getElementById("account");
  const { company, expiry } = session.claims();
  const until = expiry?.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  account.replaceChildren(
    element("span", { title: until && `Signed in until ${until}` }, company === null ? "Signed in" : `Company ${company}`,
      until && element("span", { class: "until" }, ` until ${until}`)),
    element("button", { type: "button", on: { click: () => session.end() } }, "Sign out"));
}

/** Shows the text that is searched for; none if it is null. */
export function showSearched(text) {
  document.getElementById("finder").querySelector("input").value = text ?? "";
}

/** Removes from the header what belongs to a user. */
export function clearHeader() {
  for (const part of PARTS.map((id) => document.getElementById(id))) {
    part.hidden = true;
    part.replaceChildren();
  }
}
