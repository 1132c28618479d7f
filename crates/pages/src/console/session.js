// The session of the signed-in user: the token, and what a sign-in provider returned with it. It is kept in `sessionStorage`:
// only this tab has it, and it is gone when the tab is closed.

const KEY = "compliance-token";
const ACCOUNT = "compliance-account";

let ended = () => {};
let companyClaim = "company_id";

/** Sets the claim that names the company: its name, or the names of nested claims, separated by dots. */
export function readCompanyFrom(name) {
  companyClaim = name;
}

/** Sets what happens when the session ends: it receives the reason, a sentence or nothing, and the account, or null. */
export function whenEnded(listener) {
  ended = listener;
}

/** The token, or null. */
export function token() {
  return sessionStorage.getItem(KEY);
}

/**
 * Begins or continues a session. `account` is what the provider returned: `subject`, `expires` and `lifetime` in milliseconds, `idToken`,
 * and `refreshToken` or null. A pasted token has none.
 */
export function begin(text, account = null) {
  sessionStorage.setItem(KEY, text);
  if (account) sessionStorage.setItem(ACCOUNT, JSON.stringify({ ...account, token: text }));
  else sessionStorage.removeItem(ACCOUNT);
}

/** What the provider returned with the token, or null: the documentation in the same tab may have replaced the token. */
export function account() {
  const kept = JSON.parse(sessionStorage.getItem(ACCOUNT));
  return kept !== null && kept.token === token() ? kept : null;
}

/** Forgets the token. */
export function end(reason) {
  const last = account();
  for (const key of [KEY, ACCOUNT]) sessionStorage.removeItem(key);
  ended(reason, last);
}

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

/** What a token says about itself. It is shown only: the service verifies the token at each request. */
export function claims() {
  const found = decoded(token()) ?? {};
  const { exp: expiry, sub: subject } = found;
  const named = lookUp(found, companyClaim);
  const company = typeof named === "string" && /^[0-9]+$/.test(named) ? Number(named) : named;
  // The clock of this machine may be wrong: a provider says how long its token lasts.
  const expires = account()?.expires ?? (Number.isFinite(expiry) ? expiry * 1000 : null);
  return {
    company: Number.isSafeInteger(company) ? company : null,
    expiry: expires === null ? null : new Date(expires),
    subject: typeof subject === "string" ? subject : null,
  };
}
