// The token of the signed-in user. It is kept in `sessionStorage`: only this tab has it, and it is gone when the tab is
// closed.

const KEY = "compliance-token";

let ended = () => {};

/** Sets what happens when the session ends: it receives the reason, a sentence or nothing. */
export function whenEnded(listener) {
  ended = listener;
}

/** The token, or null. */
export function token() {
  return sessionStorage.getItem(KEY);
}

export function begin(text) {
  sessionStorage.setItem(KEY, text);
}

/** Forgets the token. */
export function end(reason) {
  sessionStorage.removeItem(KEY);
  ended(reason);
}

/** What a token says about itself. It is shown only: the service verifies the token at each request. */
export function claims(text = token()) {
  try {
    const part = text.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    const { company_id: company, exp: expiry, sub: subject } = JSON.parse(new TextDecoder().decode(bytes));
    return {
      company: Number.isSafeInteger(company) ? company : null,
      expiry: Number.isFinite(expiry) ? new Date(expiry * 1000) : null,
      subject: typeof subject === "string" ? subject : null,
    };
  } catch {
    return { company: null, expiry: null, subject: null };
  }
}
