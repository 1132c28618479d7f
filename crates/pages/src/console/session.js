// Manages the signed-in user's session: the token, and what the sign-in provider returned with it. `sessionStorage` keeps the session until
// the tab is closed, and only duplicated tabs share it. Tabs notify each other of new tokens and sign-outs.

import { store as keep, stored } from "./storage.js";

const KEY = "compliance-token";
const ACCOUNT = "compliance-account";
/** The number of sign-outs in this browser. In `sessionStorage`, the number when the session began. */
const SIGN_OUTS = "compliance-sign-outs";

const tabs = new BroadcastChannel("compliance-session");

/** @type {Record<string, (...found: any[]) => any>} */
let listeners = { ended: () => {}, changed: () => {}, ask: null, mayLeave: () => true };
let companyClaim = "company_id";
let personClaim = "sub";
/** Whether the service has accepted a token in this session. From then on, the page shows its company's records. */
let isAccepted = false;
/** The last token, if the page has unsaved changes and another tab has signed out. */
let locked = null;
/** The sign-in that rejected requests wait for. */
let again = null;

/** A failed sign-in. The message is a sentence for the user. `isFinal` means that a retry would fail again. */
export class SignInError extends Error {
  constructor(message, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Sets the names of the company and person claims. Dots separate the names of nested claims. */
export function readClaims({ company_claim: company, person_claim: person }) {
  [companyClaim, personClaim] = [company, person];
}

/**
 * Sets the page's callbacks. `ended(reason, account)` runs when the session ends, and `changed()` when its token changes.
 * `ask(reason, mayRenew)` signs in again without leaving the page. `mayLeave(isAsked)` returns whether unsaved input can be discarded.
 */
export function listen(found) {
  listeners = found;
  if (isOver()) {
    forget();
    listeners.changed();
  } else if (token() !== null) {
    // The documentation stores a token without the number of sign-outs, so store it here.
    storeSignOuts();
  }
}

const signOuts = () => stored(SIGN_OUTS) ?? 0;

/** Returns whether another tab has signed out since the session began. */
const isOver = () => Number(sessionStorage.getItem(SIGN_OUTS) ?? Infinity) < signOuts();

/** Ends the session if another tab has signed out while the browser showed other pages in this tab. Returns whether the session ended. */
export function checkSignOut() {
  if (!isOver()) return false;
  endElsewhere();
  return true;
}

/** Returns the token, or null if there is none. */
export function token() {
  return sessionStorage.getItem(KEY);
}

function store(text, account) {
  sessionStorage.setItem(KEY, text);
  if (account) sessionStorage.setItem(ACCOUNT, JSON.stringify({ ...account, token: text }));
  else sessionStorage.removeItem(ACCOUNT);
  storeSignOuts();
  listeners.changed();
}

function storeSignOuts() {
  sessionStorage.setItem(SIGN_OUTS, String(signOuts()));
}

/**
 * Starts a session, or continues it with a new token for the same person and company, whose records the page shows. `account` is what the provider
 * returned: `subject`, `expires` and `lifetime` in milliseconds, `idToken`, and `refreshToken` or null. Pasted tokens have no account.
 * Throws a `SignInError`.
 */
export function begin(text, account = null) {
  const before = token() ?? locked;
  const [shown, { company, subject, earlier }] = [claims(before), claims(text)];
  if (isAccepted && before !== null && shown.company !== company) {
    throw new SignInError(`You signed in for company ${company}, but this page shows company ${shown.company}. Nothing was saved. `
      + `Sign in for company ${shown.company}. To change companies, sign out first.`, true);
  }
  if (isAccepted && before !== null && shown.subject !== null && (shown.earlier ?? shown.subject) !== (earlier ?? subject)) {
    throw new SignInError(`This page belongs to ${shown.subject}, but you signed in as ${subject ?? "a different person"}. Nothing was saved. `
      + `Sign in as ${shown.subject}. To change accounts, sign out first.`, true);
  }
  if (before === null) isAccepted = false;
  locked = null;
  store(text, account);
  if (before !== null) tabs.postMessage({ before, text, account });
}

/** Says why the service rejected a sign-in, and what to do. */
export function refusal({ message }) {
  return message?.includes("expired") ? "Your sign-in has expired. Sign in again."
    : "The service did not accept your sign-in. Sign in again. If that does not help, ask your operator.";
}

/** Returns what the provider returned with the current token, or null. The documentation in the same tab may have replaced the token. */
export function account() {
  const kept = JSON.parse(sessionStorage.getItem(ACCOUNT));
  return kept !== null && kept.token === token() ? kept : null;
}

function forget() {
  for (const key of [KEY, ACCOUNT, SIGN_OUTS]) sessionStorage.removeItem(key);
}

/** Ends this tab's session. */
export function end(reason) {
  const last = account();
  forget();
  locked = null;
  listeners.ended(reason, last);
}

/** Signs out in all tabs, unless the user chooses to keep unsaved changes. */
export function signOut() {
  if (!listeners.mayLeave(true)) return;
  keep(SIGN_OUTS, signOuts() + 1);
  tabs.postMessage({ isSignedOut: true });
  end();
}

/** Returns whether another tab has signed out while this page has unsaved changes. */
export function isLocked() {
  return locked !== null;
}

/** Records that the service has accepted the token. */
export function accepted() {
  isAccepted = true;
}

/**
 * Waits for a new token after the service rejected `used`. All requests wait for the same sign-in. Throws a `SignInError` if it fails.
 */
export async function refused(used, reason, mayRenew) {
  if (token() !== null && token() !== used) return;
  if (!isAccepted) {
    if (token() !== null) end(reason);
    throw new SignInError(reason, true);
  }
  again ??= listeners.ask(reason, mayRenew).finally(() => {
    again = null;
  });
  await again;
}

tabs.addEventListener("message", ({ data: { isSignedOut, before, text, account: renewed } }) => {
  if (token() === null) return;
  if (isSignedOut) endElsewhere();
  // A duplicate of this tab has renewed the shared session.
  else if (before === token()) store(text, renewed);
});

/** Ends this tab's session after another tab has signed out. Hides a page with unsaved changes until the next sign-in. */
function endElsewhere() {
  if (listeners.mayLeave(false)) {
    end("You have signed out in another tab.");
    return;
  }
  locked = token();
  forget();
  listeners.changed();
  refused(null, "You have signed out in another tab. This page has unsaved changes.", false).catch(() => {});
}

/** Returns the unverified claims of a JSON Web Token, or null. */
export function decoded(text) {
  try {
    const part = text.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(bytes));
    return typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

/**
 * Returns whether a token can have a scope. The service can also grant scopes to roles and does not say which, so a token with roles, or one
 * that this page cannot read, can have every scope.
 */
export function allows(scope, text = token()) {
  const found = decoded(text);
  if (found === null || ["roles", "realm_access", "realm_access.roles"].some((name) => name in found)) return true;
  return [found.scope, found.scp].flat().filter((one) => typeof one === "string").join(" ").split(/\s+/).includes(scope);
}

/** Looks up a claim, first by its whole name, because names can be URLs with dots. */
function lookUp(found, name) {
  if (typeof found !== "object" || found === null) return undefined;
  if (Object.hasOwn(found, name)) return found[name];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const outer = name.slice(0, dot);
    const inner = Object.hasOwn(found, outer) ? lookUp(found[outer], name.slice(dot + 1)) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/**
 * Returns the claims of a token, for display only. The service verifies the token on every request. `subject` names the person in records,
 * or is null. `earlier` is the token's `sub` if it differs. `person` is the user's name or e-mail address from the token or the ID token, or
 * else the subject.
 */
export function claims(text = token()) {
  const found = decoded(text) ?? {};
  const { exp: expiry, sub } = found;
  const named = lookUp(found, companyClaim);
  const isName = (text) => typeof text === "string" && text.trim() !== "";
  const subject = [lookUp(found, personClaim), sub].find(isName) ?? null;
  const company = typeof named === "string" && /^[0-9]+$/.test(named) ? Number(named) : named;
  const of = text === token() ? account() : null;
  const about = decoded(of?.idToken) ?? {};
  // This machine's clock can be wrong, so prefer the expiry computed from the token's lifetime.
  const expires = of?.expires ?? (Number.isFinite(expiry) ? expiry * 1000 : null);
  return {
    company: Number.isSafeInteger(company) ? company : null,
    expiry: expires === null ? null : new Date(expires),
    subject,
    earlier: isName(sub) && sub !== subject ? sub : null,
    person: [found.name, about.name, found.email, about.email, subject].find(isName) ?? null,
  };
}
