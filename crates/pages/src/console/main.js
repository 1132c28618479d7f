// The console: sign-in, sections, and which view an address shows. The address after `#` holds the view and its filters, never
// the token.

import { affiliateBatchView } from "./affiliate-batch.js";
import { affiliateView, newAffiliateView } from "./affiliate-form.js";
import { affiliatesView, forget } from "./affiliate-list.js";
import { chartsView } from "./charts.js";
import { element, show } from "./elements.js";
import { field } from "./fields.js";
import { listView } from "./lists.js";
import { recordView } from "./records.js";
import { attempt, refusalMessage, sentence } from "./refusals.js";
import { call } from "./requests.js";
import * as session from "./session.js";

const SECTIONS = [["affiliates", "Affiliates"], ["urls", "URLs"], ["cases", "Cases"], ["charts", "Charts"]];
const ID = /^[1-9][0-9]{0,15}$/;

/** The view that is shown: its path, what aborts its requests, and what it returned. */
let current = { path: null, abort: new AbortController(), view: null, hash: "" };

function parts() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, query: new URLSearchParams(query) };
}

/** The view of a path: a function of its context. */
function viewOf(path) {
  const [section, id] = path.split("/");
  switch (path) {
    case "affiliates":
      return affiliatesView;
    case "affiliates/new":
      return newAffiliateView;
    case "affiliates/batch":
      return affiliateBatchView;
    case "urls":
    case "cases":
      return listView(path);
    case "charts":
      return chartsView;
    default:
  }
  if (!ID.test(id ?? "")) return null;
  if (section === "affiliates") return affiliateView(id);
  return section === "urls" || section === "cases" ? recordView(section, id) : null;
}

function showSections(path) {
  const navigation = document.getElementById("navigation");
  const section = path.split("/")[0];
  navigation.hidden = false;
  navigation.replaceChildren(element("ul", {}, SECTIONS.map(([name, text]) =>
    element("li", {}, element("a", { href: `#/${name}`, "aria-current": name === section && "page" }, text)))));
  const { company, expiry } = session.claims();
  const account = document.getElementById("account");
  account.hidden = false;
  account.replaceChildren(
    element("span", {}, company === null ? "Signed in" : `Company ${company}`,
      expiry && `, until ${expiry.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}`),
    element("button", { type: "button", on: { click: () => session.end() } }, "Sign out"));
}

function signInView(reason) {
  document.getElementById("navigation").hidden = true;
  document.getElementById("account").hidden = true;
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const token = field("token", "Token", input, { hint: "The operator of the service gives you one, such as with: compliance token --company 1. This tab keeps it until you sign out or close the tab." });
  const button = element("button", { type: "submit", class: "primary" }, "Sign in");
  const messages = element("div", {});
  if (reason) messages.append(element("div", { class: "message error", role: "alert" }, element("p", {}, reason)));
  const signIn = async () => {
    const text = input.value.trim().replace(/^Bearer\s+/i, "");
    token.violate([]);
    messages.replaceChildren();
    // What is no token could not be sent as a header.
    if (!/^[!-~]+$/.test(text)) {
      token.violate([text === "" ? "Enter a token." : "This is no token: it has spaces or other characters."]);
      input.focus();
      return;
    }
    try {
      await call("GET", "api/urls", { query: { per_page: 1 }, bearer: text });
      session.begin(text);
      route();
    } catch (refusal) {
      if (refusal.status === 401) {
        token.violate([sentence(refusal)]);
        input.focus();
      } else {
        messages.replaceChildren(refusalMessage(refusal, signIn));
      }
    }
  };
  const form = element("form", { class: "narrow", novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    signIn();
  } } }, token.node, button);
  show("Sign in", messages, form);
}

async function route() {
  const { path, query } = parts();
  if (location.hash !== current.hash && current.view?.hasChanges?.() && !confirm("Leave without saving your changes?")) {
    history.pushState(null, "", current.hash || "#");
    return;
  }
  if (session.token() === null) {
    leave();
    signInView();
    return;
  }
  if (path === "") {
    history.replaceState(null, "", "#/affiliates");
    await route();
    return;
  }
  if (current.path === path && current.view?.update) {
    current.hash = location.hash;
    current.view.update(query);
    return;
  }
  leave();
  current = { path, abort: new AbortController(), view: null, hash: location.hash };
  showSections(path);
  const { signal } = current.abort;
  const view = viewOf(path);
  if (view === null) {
    show("Not found", element("p", {}, "The console has no such page."), element("p", {}, element("a", { href: "#/affiliates" }, "To the affiliates")));
    return;
  }
  const main = document.getElementById("content");
  main.setAttribute("aria-busy", "true");
  const entered = current;
  await attempt(signal, async () => {
    entered.view = (await view({ query, signal })) ?? null;
  }, (refusal) => {
    show(refusal.status === 404 ? "Not found" : "Not available", refusalMessage(refusal, () => {
      current.path = null;
      route();
    }));
  });
  if (!signal.aborted) main.removeAttribute("aria-busy");
}

function leave() {
  current.abort.abort();
  current = { path: null, abort: new AbortController(), view: null, hash: "" };
}

session.whenEnded((reason) => {
  leave();
  forget();
  signInView(reason ?? "You have signed out.");
});
window.addEventListener("hashchange", route);
window.addEventListener("beforeunload", (event) => {
  if (current.view?.hasChanges?.()) event.preventDefault();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content").focus();
});
route();
