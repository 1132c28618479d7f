// The session of the signed-in user: the token, and what a sign-in provider returned with it. It is kept in `sessionStorage`:
// only this tab and its duplicates have it, and it is gone when they are closed. Tabs tell each other about new tokens and sign-outs.

const KEY = "compliance-token";
const ACCOUNT = "compliance-account";

const tabs = new BroadcastChannel("compliance-session");

let listeners = {};
let companyClaim = "company_id";
let personClaim = "sub";
/** Whether the service has accepted a token of this session, so the page shows records of its company. */
let isAccepted = false;
/** The token of a page that stays open with unsaved changes after another tab has signed out. */
let locked = null;
/** The sign-in that refused requests wait for. */
let again = null;

/** Why a sign-in failed, as a sentence. `isFinal`: another attempt would fail as well. */
export class SignInError extends Error {
  constructor(message, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Sets the claims that name the company and the person: their names, or the names of nested claims, separated by dots. */
export function readClaims({ company_claim: company, person_claim: person }) {
  [companyClaim, personClaim] = [company, person];
}

/**
 * Sets what the page does: `ended(reason, account)` when the session ends, `changed()` when it has another token, `ask(reason, mayRenew)`
 * to sign in again over the page, and `mayLeave(isAsked)`, whether the page may lose what was typed, which can ask the user.
 */
export function listen(found) {
  listeners = found;
}

/** The token, or null. */
export function token() {
  return sessionStorage.getItem(KEY);
}

function store(text, account) {
  sessionStorage.setItem(KEY, text);
  if (account) sessionStorage.setItem(ACCOUNT, JSON.stringify({ ...account, token: text }));
  else sessionStorage.removeItem(ACCOUNT);
  listeners.changed();
}

/**
 * Begins a session, or continues it with another token of the same company: the page has records and texts of this company. `account` is
 * what the provider returned: `subject`, `expires` and `lifetime` in milliseconds, `idToken`, and `refreshToken` or null. A pasted token has
 * none. Throws a `SignInError`.
 */
export function begin(text, account = null) {
  const before = token() ?? locked;
  const [shown, { company }] = [claims(before), claims(text)];
  if (isAccepted && before !== null && shown.company !== company) {
    throw new SignInError(`You signed in for company ${company}, but this page belongs to company ${shown.company}. Nothing was saved. `
      + `Sign in for company ${shown.company}. To change companies, sign out first.`, true);
  }
  if (before === null) isAccepted = false;
  locked = null;
  store(text, account);
  if (before !== null) tabs.postMessage({ before, text, account });
}

/** What the provider returned with the token, or null: the documentation in the same tab may have replaced the token. */
export function account() {
  const kept = JSON.parse(sessionStorage.getItem(ACCOUNT));
  return kept !== null && kept.token === token() ? kept : null;
}

function forget() {
  for (const key of [KEY, ACCOUNT]) sessionStorage.removeItem(key);
}

/** Ends the session of this tab. */
export function end(reason) {
  const last = account();
  forget();
  locked = null;
  listeners.ended(reason, last);
}

/** Signs out in all tabs, unless the user wants to save changes first. */
export function signOut() {
  if (!listeners.mayLeave(true)) return;
  tabs.postMessage({ isSignedOut: true });
  end();
}

/** Whether another tab has signed out, but this page has unsaved changes. */
export function isLocked() {
  return locked !== null;
}

/** Notes that the service has accepted the token. */
export function accepted() {
  isAccepted = true;
}

/**
 * Waits for another token after the service refused `used`. All requests wait for the same sign-in. Throws a `SignInError` if there is no
 * other token.
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
  if (!isSignedOut) {
    // A duplicate of this tab has renewed the session that both have.
    if (before === token()) store(text, renewed);
  } else if (listeners.mayLeave(false)) {
    end("You have signed out in another tab.");
  } else {
    locked = token();
    forget();
    listeners.changed();
    refused(null, "You have signed out in another tab. This page has changes that are not saved.", false).catch(() => {});
  }
});

/** The claims of a JSON Web Token, or null. They are not verified. */
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

/** The value of a claim, looked up first by the whole name, because names can be URLs. */
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
 * What a token says about itself. It is shown only: the service verifies the token at each request. `subject` names the person in records, or
 * is null. `earlier` is the token's `sub` if it differs. `person` is the name or e-mail address of who is signed in, which the provider's ID
 * token may have, or else the subject.
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
  // The clock of this machine may be wrong: a provider says how long its token lasts.
  const expires = of?.expires ?? (Number.isFinite(expiry) ? expiry * 1000 : null);
  return {
    company: Number.isSafeInteger(company) ? company : null,
    expiry: expires === null ? null : new Date(expires),
    subject,
    earlier: isName(sub) && sub !== subject ? sub : null,
    person: [found.name, about.name, found.email, about.email, subject].find(isName) ?? null,
  };
}
