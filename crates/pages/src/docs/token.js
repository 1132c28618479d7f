// Stores the token, and handles its form in the header. `sessionStorage` keeps the token across reloads until the tab is closed. The console
// in the same tab uses the same token.

const KEY = "compliance-token";
/** Where the console stores the number of sign-outs before the token. */
const SIGN_OUTS = "compliance-sign-outs";

/** Returns the token, or null if there is none. */
export function token() {
  return sessionStorage.getItem(KEY);
}

/** Returns the claims as the console reads them, using the service's company claim. `changed` runs when a console tab changes the token. */
async function session(changed) {
  const settings = await fetch(new URL("../console/sign-in.json", import.meta.url), { credentials: "omit" });
  const read = await import("../console/session.js");
  read.listen({ ended: changed, changed, mayLeave: () => true });
  read.readClaims(await settings.json());
  return read.claims();
}

/** Describes the token's claims for display only. The service verifies the token on every request. */
async function describe(changed) {
  const { company, expiry } = await session(changed);
  if (expiry === null) return "The token does not look like a JSON Web Token.";
  const until = expiry.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const isValid = expiry > new Date();
  if (company === null) return `${isValid ? "Valid until" : "Expired at"} ${until}.`;
  return `Company ${company}, ${isValid ? "until" : "expired at"} ${until}.`;
}

/** Sets up the token form. */
export function startToken() {
  const box = document.getElementById("token");
  const [summary, form] = [box.querySelector("summary"), box.querySelector("form")];
  const [field, forget] = [document.getElementById("token-text"), document.getElementById("token-forget")];
  const state = document.getElementById("token-state");

  const show = () => {
    const text = token();
    summary.textContent = text ? "Token set" : "Set a token";
    state.textContent = "";
    forget.hidden = !text;
    // The description needs a console file. Without the file, the token still works.
    if (text) describe(show).then((description) => text === token() && (state.textContent = description), () => {});
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = field.value.trim().replace(/^Bearer\s+/i, "");
    if (text) {
      sessionStorage.setItem(KEY, text);
      sessionStorage.removeItem(SIGN_OUTS);
    }
    field.value = "";
    show();
  });
  forget.addEventListener("click", () => {
    sessionStorage.removeItem(KEY);
    show();
    field.focus();
  });
  box.addEventListener("toggle", () => {
    if (box.open) field.focus();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    box.open = false;
    summary.focus();
  });
  document.addEventListener("click", (event) => {
    if (!box.contains(event.target)) box.open = false;
  });
  box.hidden = false;
  show();
}

/** Opens the token form for a request that needs a token. */
export function askForToken() {
  document.getElementById("token").open = true;
  scrollTo({ top: scrollY });
}
