// Builds the header: sections, search and account.

import { myCases, openPalette } from "./command-palette.js";
import { element } from "./elements.js";
import { searchForm } from "./search.js";
import * as session from "./session.js";
import { localTime } from "./timestamps.js";

const SECTIONS = [["overview", "Overview"], ["affiliates", "Affiliates"], ["urls", "URLs"], ["cases", "Cases"], ["charts", "Charts"]];
const PARTS = ["navigation", "finder", "account"];

/** Returns the header links: pairs of address and text. */
function links() {
  const mine = myCases();
  return SECTIONS.flatMap(([name, text]) => [[`#/${name}`, text], ...(name === "cases" && mine ? [[mine, "My cases"]] : [])]);
}

/** Highlights the link to the current view: the officer's own cases, or the section. */
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

/** Shows the header for a signed-in user, with the current search text. */
export function showHeader(searched) {
  const [navigation, finder, account] = PARTS.map((id) => document.getElementById(id));
  navigation.replaceChildren(element("ul", {}, links().map(([href, text]) => element("li", {}, element("a", { href }, text)))));
  if (finder.childElementCount === 0) finder.replaceChildren(searchForm());
  showSearched(searched);
  showAccount();
  for (const part of [navigation, finder, account]) part.hidden = false;
  showCurrent();
}

/** Shows the signed-in person and the company, and in the tooltip when the session ends. Runs again after each renewal. */
export function showAccount() {
  const account = document.getElementById("account");
  const { company, expiry, person } = session.claims();
  const until = expiry && localTime(expiry);
  account.replaceChildren(
    element("span", { title: [person, until && `Signed in until ${until}`].filter(Boolean).join(" · ") }, person && element("bdi", { class: "person" }, person), person && " · ",
      company === null ? "Signed in" : `Company ${company}`),
    element("button", { type: "button", "aria-keyshortcuts": "Control+K Meta+K", title: "Commands (Ctrl+K)", on: { click: openPalette } }, "Commands"),
    element("button", { type: "button", on: { click: () => session.signOut() } }, "Sign out"));
}

/** Shows the search text. Null clears the field. */
export function showSearched(text) {
  document.getElementById("finder").querySelector("input").value = text ?? "";
}

/** Removes the user's data from the header. */
export function clearHeader() {
  /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog[open]"))?.close();
  for (const part of PARTS.map((id) => document.getElementById(id))) {
    part.hidden = true;
    part.replaceChildren();
  }
}
