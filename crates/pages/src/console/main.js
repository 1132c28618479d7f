// Starts the console: sign-in, sections and routing. The URL fragment contains the view and its filters, but never the token.

import { addingView } from "./adding.js";
import { newAffiliateView } from "./affiliate-form.js";
import { namedAffiliateView } from "./affiliate-lookup.js";
import { affiliateView } from "./affiliate-page.js";
import { chartsView } from "./charts.js";
import { confirmLeave, element, show } from "./elements.js";
import { clearHeader, showAccount, showCurrent, showHeader, showSearched } from "./header.js";
import { listView } from "./lists.js";
import { newCaseView } from "./open-case.js";
import { overviewView } from "./overview.js";
import { recordView } from "./records.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { searchView } from "./search.js";
import { watchSession } from "./session-end.js";
import * as session from "./session.js";
import { listenToKeys } from "./shortcuts.js";
import { signIn as signInWithAccount } from "./provider.js";
import { resume, signInAgain, signInView, signOutView } from "./sign-in.js";
import { forgetVisited, remember } from "./visited.js";

const ID = /^[1-9][0-9]{0,15}$/;

/** The current view: its path, the controller that aborts its requests, the result of its function, and its fragment. */
let current = { path: null, abort: new AbortController(), view: null, hash: "" };
/** The token of the current view. The documentation in the same tab can replace it. */
let shownFor = null;

function parts() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, query: new URLSearchParams(query) };
}

/** The views with fixed paths. */
const VIEWS = new Map(Object.entries({
  overview: overviewView, search: searchView, charts: chartsView,
  affiliates: listView("affiliates"), urls: listView("urls"), cases: listView("cases"),
  "affiliates/new": newAffiliateView, "affiliates/batch": addingView("affiliates"), "affiliates/named": namedAffiliateView,
  "urls/new": addingView("urls"), "cases/new": newCaseView,
}));

/** Returns the view function for a path, or null if there is none. */
function viewOf(path) {
  const [section, id] = path.split("/");
  if (VIEWS.has(path)) return VIEWS.get(path);
  if (!ID.test(id ?? "")) return null;
  if (section === "affiliates") return affiliateView(id);
  return section === "urls" || section === "cases" ? recordView(section, id) : null;
}

/** Returns whether unsaved input can be discarded. With `isAsked`, asks the user. */
function mayLeave(isAsked = true) {
  return !current.view?.hasChanges?.() || (isAsked && confirmLeave());
}

function signIn(reason, options) {
  clearHeader();
  checkSession();
  document.getElementById("content").removeAttribute("aria-busy");
  signInView(reason, route, options);
}

async function route() {
  const { path, query } = parts();
  const isSameView = !session.isLocked() && current.path === path && Boolean(current.view?.update);
  if (location.hash !== current.hash && !isSameView && !mayLeave()) {
    history.pushState(null, "", current.hash || "#");
    return;
  }
  if (session.isLocked()) {
    session.end();
    return;
  }
  if (session.token() === null) {
    leave();
    signIn();
    return;
  }
  if (path === "") {
    history.replaceState(null, "", "#/overview");
    await route();
    return;
  }
  shownFor = session.token();
  remember(location.hash);
  if (isSameView) {
    current.hash = location.hash;
    showCurrent();
    if (path === "search") showSearched(query.get("q"));
    current.view.update(query);
    return;
  }
  leave();
  current = { path, abort: new AbortController(), view: null, hash: location.hash };
  showHeader(path === "search" ? query.get("q") : null);
  const { signal } = current.abort;
  const view = viewOf(path);
  if (view === null) {
    show("Not found", element("p", {}, "The console has no page at this address."), element("p", {}, element("a", { href: "#/overview" }, "Go to the overview")));
    return;
  }
  const main = document.getElementById("content");
  main.setAttribute("aria-busy", "true");
  const entered = current;
  await attempt(signal, async () => {
    // A view can take the next query before it has loaded.
    entered.view = (await view({ query, signal, ready: (early) => { entered.view = early; } })) ?? null;
  }, (rejection) => {
    show(rejection.status === 404 ? "Not found" : "Not available", rejectionMessage(rejection, () => {
      current.path = null;
      route();
    }), element("p", {}, element("a", { href: "#/overview" }, "Go to the overview")));
  });
  if (!signal.aborted) main.removeAttribute("aria-busy");
}

function leave() {
  current.abort.abort();
  current = { path: null, abort: new AbortController(), view: null, hash: "" };
}

const checkSession = watchSession(() => (session.account() === null ? signInAgain("Your token is about to expire, or has expired.") : signInWithAccount({ inWindow: true })));
session.listen({
  ended: (reason, account) => {
    document.body.classList.remove("locked");
    leave();
    forgetVisited();
    clearHeader();
    // If the token has not expired, the service rejected it or another tab signed out, so offer a sign-in with a different account.
    const prompt = account?.expires > Date.now() ? "login" : undefined;
    if (reason !== undefined || account === null) signIn(reason ?? "You have signed out.", { prompt });
    else signOutView(account, signIn);
  },
  changed: () => {
    document.body.classList.toggle("locked", session.isLocked());
    showAccount();
    checkSession();
  },
  ask: signInAgain,
  mayLeave,
});
listenToKeys();
window.addEventListener("hashchange", route);
// The browser can restore an old page from its cache, with another company's records.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !session.checkSignOut() && session.token() !== shownFor) location.reload();
});
window.addEventListener("beforeunload", (event) => {
  if (!mayLeave(false)) event.preventDefault();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content").focus();
});
if (await resume(signIn)) route();
