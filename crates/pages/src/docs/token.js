// The token, in the form of the header. It is kept in `sessionStorage`: only this tab has it. It survives a reload, and is gone
// when the tab is closed. The console in the same tab uses the same token.

const KEY = "compliance-token";

/** The token, or null. */
export function token() {
  return sessionStorage.getItem(KEY);
}

/** The session as the console reads it, which knows the claim that names the company. */
async function session() {
  const settings = await fetch(new URL("../console/sign-in.json", import.meta.url), { credentials: "omit" });
  const read = await import("../console/session.js");
  read.readClaims(await settings.json());
  return read.claims();
}

/** What the token says about itself. It is shown only: the service verifies the token at each request. */
async function describe() {
  const { company, expiry } = await session();
  if (expiry === null) return "The token does not look like a JSON Web Token.";
  const until = expiry.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const isValid = expiry > new Date();
  if (company === null) return `${isValid ? "Valid until" : "Expired at"} ${until}.`;
  return `Company ${company}, ${isValid ? "until" : "expired at"} ${until}.`;
}

/** Shows the form, and keeps what is entered. */
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
    // The token also works without the files of the console.
    if (text) describe().then((description) => text === token() && (state.textContent = description), () => {});
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = field.value.trim().replace(/^Bearer\s+/i, "");
    if (text) sessionStorage.setItem(KEY, text);
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

/** Opens the form, for a request that needs a token. */
export function askForToken() {
  document.getElementById("token").open = true;
  scrollTo({ top: scrollY });
}
