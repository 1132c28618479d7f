// The header: sections, search, and the account.

import { myCases, openPalette } from "./command-palette.js";
import { element } from "./elements.js";
import { searchForm } from "./search.js";
import * as session from "./session.js";

const SECTIONS = [["overview", "Overview"], ["affiliates", "Affiliates"], ["urls", "URLs"], ["cases", "Cases"], ["charts", "Charts"]];
const PARTS = ["navigation", "finder", "account"];

/** The links of the header: address and text. */
function links() {
  const mine = myCases();
  return SECTIONS.flatMap(([name, text]) => [[`#/${name}`, text], ...(name === "cases" && mine ? [[mine, "My cases"]] : [])]);
}

/** Marks the link to the current view: the officer's own cases, or the section. */
export function showCurrent() {
  const mine = myCases();
  const shown = mine !== null && location.hash === mine ? mine : `#/${location.hash.split(/[/?]/)[1]}`;
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#navigation a"))) {
    if (link.getAttribute("href") === shown) {
      link.setAttribute("aria-current", "page");
      // On a phone, the links scroll sideways.
      link.closest("nav").scrollLeft = link.offsetLeft - 100;
    } else link.removeAttribute("aria-current");
  }
}

/** Shows the header of a signed-in user, and the search text, if there is one. */
export function showHeader(searched) {
  const [navigation, finder, account] = PARTS.map((id) => document.getElementById(id));
  navigation.replaceChildren(element("ul", {}, links().map(([href, text]) => element("li", {}, element("a", { href }, text)))));
  if (finder.childElementCount === 0) finder.replaceChildren(searchForm());
  showSearched(searched);
  showAccount();
  for (const part of [navigation, finder, account]) part.hidden = false;
  showCurrent();
}

/** Shows who is signed in, the company, and the end of the session, which a renewal moves. */
export function showAccount() {
  const account = document.getElementById("account");
  const { company, expiry, person } = session.claims();
  const until = expiry?.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  account.replaceChildren(
    element("span", { title: until && `Signed in until ${until}` }, person && element("bdi", { class: "person" }, person), person && " · ",
      company === null ? "Signed in" : `Company ${company}`, until && element("span", { class: "until" }, ` until ${until}`)),
    element("button", { type: "button", "aria-keyshortcuts": "Control+K Meta+K", title: "Commands (Ctrl+K)", on: { click: openPalette } }, "Commands"),
    element("button", { type: "button", on: { click: () => session.signOut() } }, "Sign out"));
}

/** Shows the search text; none if it is null. */
export function showSearched(text) {
  document.getElementById("finder").querySelector("input").value = text ?? "";
}

/** Removes from the header what belongs to a user. */
export function clearHeader() {
  /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog[open]"))?.close();
  for (const part of PARTS.map((id) => document.getElementById(id))) {
    part.hidden = true;
    part.replaceChildren();
  }
}
