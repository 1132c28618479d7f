// Signs in with a company account through OpenID Connect, with the authorization code flow and PKCE. The page is a public client, so the
// settings contain no client secret.

import { element, show } from "./elements.js";
import { canChallenge, challenge, random } from "./pkce.js";
import { call, once } from "./requests.js";
import * as session from "./session.js";
import { SignInError } from "./session.js";
import { store, stored } from "./storage.js";

/** Storage key of the request to the provider, kept until the browser returns. */
const ASKED = "compliance-sign-in";
/** The channel on which a sign-in window forwards the provider's response. */
const CHANNEL = "compliance-sign-in";
const IN_WINDOW = "window.";
const TIMEOUT = 30_000;
/** Time a tab waits for a message from the previous lock holder, in milliseconds. */
const HANDOVER = 250;
/** Storage key of the digests of used refresh tokens, and their maximum number. */
const USED = "compliance-used";
const MOST_USED = 50;
/** Maximum clock skew of this machine, in seconds. */
const SKEW = 300;

/** Returns the service's provider settings, or null if there are none. Throws a `Rejection`. */
export const provider = once(async () => {
  const { body } = await call("GET", "console/sign-in.json");
  session.readClaims(body);
  return body.openid_connect;
});

/** Requests JSON from the provider. Sends `form` in a POST, if given. */
async function ask(url, form, keepalive = false) {
  /** @type {RequestInit} */
  const options = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store", keepalive, signal: AbortSignal.timeout(TIMEOUT) };
  const response = await fetch(url, form ? { ...options, method: "POST", body: new URLSearchParams(form) } : options).catch(() => {
    throw new SignInError(`The sign-in provider at ${new URL(url).origin} cannot be reached.`);
  });
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null && typeof body === "object") return body;
  throw refused(body?.error, body?.error_description, response.status < 500);
}

function refused(error, description, isFinal = true) {
  if (!error) return new SignInError("The sign-in provider returned an error.", isFinal);
  return new SignInError(`The sign-in provider refused the sign-in: ${description ? `${description} (${error})` : error}`, isFinal);
}

/** Returns the provider's endpoints (OpenID Connect Discovery 1.0, section 4). */
const endpoints = once(async () => {
  const { issuer } = await provider();
  const found = await ask(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (found.issuer !== issuer) throw new SignInError(`The sign-in provider identifies itself as ${found.issuer}, but the service expects ${issuer}.`);
  return found;
});

/** Returns the redirect URI. */
const home = () => new URL("console", document.baseURI).href;

async function request(state, prompt) {
  if (!canChallenge()) throw new SignInError("Signing in with an account requires HTTPS. Open the console at an https address.");
  const [{ client_id: client, scope }, { authorization_endpoint: endpoint }] = await Promise.all([provider(), endpoints()]);
  const asked = { state, nonce: random(), verifier: random(), hash: location.hash };
  const address = new URL(endpoint);
  const query = {
    response_type: "code", client_id: client, redirect_uri: home(), scope, state: asked.state, nonce: asked.nonce,
    code_challenge: await challenge(asked.verifier), code_challenge_method: "S256", ...(prompt && { prompt }),
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return { asked, address: address.href };
}

/** The open sign-in window and the channel for its response. */
let attempt = null;

/** Opens a sign-in window. Its copy of this tab's `sessionStorage` contains the state, so the window can recognize its response. */
function openWindow(state) {
  sessionStorage.setItem(ASKED, JSON.stringify({ state }));
  const opened = window.open("", "_blank", "popup,width=560,height=720");
  sessionStorage.removeItem(ASKED);
  if (opened === null) throw new SignInError("The browser blocked the sign-in window. Allow pop-up windows for this page, and try again.");
  return opened;
}

/**
 * Signs in, which leaves this page. With `inWindow`, a separate window signs in, so the page keeps unsaved input, and the promise resolves
 * when the session starts. Throws a `SignInError` or a `Rejection`.
 */
export async function signIn({ inWindow = false, prompt = undefined } = {}) {
  attempt?.channel.close();
  attempt?.opened.close();
  attempt = null;
  // Browsers block windows that are not opened directly by a click, so open the window before any request.
  const state = (inWindow ? IN_WINDOW : "") + random();
  const opened = inWindow ? openWindow(state) : null;
  let prepared;
  try {
    prepared = await request(state, prompt);
  } catch (error) {
    opened?.close();
    throw error;
  }
  const { asked, address } = prepared;
  if (!opened) {
    sessionStorage.setItem(ASKED, JSON.stringify(asked));
    location.assign(address);
    await new Promise(() => {});
  }
  const channel = new BroadcastChannel(CHANNEL);
  attempt = { channel, opened };
  const answer = await new Promise((resolve) => {
    channel.addEventListener("message", ({ data }) => {
      const found = new URLSearchParams(data);
      if (found.get("state") === asked.state) resolve(found);
    });
    opened.opener = null;
    opened.location.replace(address);
  });
  channel.close();
  opened.close();
  attempt = null;
  await finish(answer, asked);
}

/** Handles the provider's response in this page's address, if there is one. Returns whether to show this page. Throws like `signIn`. */
export async function takeAnswer() {
  const answer = new URLSearchParams(location.search);
  const asked = JSON.parse(sessionStorage.getItem(ASKED));
  sessionStorage.removeItem(ASKED);
  const state = answer.get("state");
  if (state === null || !(answer.has("code") || answer.has("error"))) return true;
  const isOurs = state === asked?.state;
  history.replaceState(null, "", location.pathname + (isOurs ? asked.hash ?? "" : location.hash));
  // Anyone can craft a link with a response, which must not end the session.
  if (!isOurs && session.token() !== null) return true;
  if (isOurs && state.startsWith(IN_WINDOW)) {
    new BroadcastChannel(CHANNEL).postMessage(answer.toString());
    // This window only has a copy of the opening tab's storage.
    sessionStorage.clear();
    show("Back to the console", element("p", {}, "You can close this window."));
    window.close();
    return false;
  }
  if (!isOurs) throw new SignInError("This sign-in did not start in this tab. Sign in again.");
  show("Signing in", element("p", {}, "Completing your sign-in…"));
  await finish(answer, asked);
  return true;
}

/** Redeems the code in a response. */
async function finish(answer, asked) {
  const [{ issuer, client_id: client }, found] = await Promise.all([provider(), endpoints()]);
  // RFC 9207: the response must come from the provider that received the request.
  const names = answer.get("iss");
  if (names !== null ? names !== issuer : found.authorization_response_iss_parameter_supported === true) {
    throw new SignInError("The response came from a different sign-in provider. Sign in again.", true);
  }
  if (answer.has("error")) throw refused(answer.get("error"), answer.get("error_description"));
  const tokens = await ask(found.token_endpoint, {
    grant_type: "authorization_code", code: answer.get("code"), redirect_uri: home(), client_id: client, code_verifier: asked.verifier,
  });
  if (!tokens.id_token) throw new SignInError("The sign-in provider sent no ID token. Report this to your operator.", true);
  await keep(tokens, asked.nonce, session.account());
}

/**
 * Renews the session with its refresh token. Duplicated tabs share a refresh token that the provider can accept only once, so one tab renews
 * the session and notifies the others. A tab that showed another site misses this message, and must not use the token again: the provider
 * would end the sign-in of all tabs. Throws like `signIn`.
 */
export async function renew() {
  const before = session.account();
  const isCurrent = () => session.account()?.token === before.token;
  await navigator.locks.request("compliance-renewal", async () => {
    await new Promise((wake) => {
      setTimeout(wake, HANDOVER);
    });
    if (!isCurrent()) return;
    const [digest, used] = [await challenge(before.refreshToken), stored(USED) ?? []];
    if (used.includes(digest)) throw new SignInError("Another tab has renewed your sign-in. Sign in again.", true);
    const [{ client_id: client }, { token_endpoint: endpoint }] = await Promise.all([provider(), endpoints()]);
    const tokens = await ask(endpoint, { grant_type: "refresh_token", refresh_token: before.refreshToken, client_id: client });
    if (tokens.refresh_token && tokens.refresh_token !== before.refreshToken) store(USED, [...used, digest].slice(-MOST_USED));
    // The session may have ended or been replaced during the request.
    if (isCurrent()) await keep(tokens, null, before);
  });
}

/** Starts a session with the provider's tokens, or continues the session `before`. */
async function keep(tokens, nonce, before) {
  const { token: kind } = await provider();
  const about = tokens.id_token ? await checked(tokens.id_token, nonce) : null;
  if (before && about && about.sub !== before.subject) {
    throw new SignInError("You signed in with a different account. To switch accounts, sign out first.", true);
  }
  const text = kind === "id" ? tokens.id_token : tokens.access_token;
  if (typeof text !== "string") throw new SignInError(`The sign-in provider sent no ${kind === "id" ? "ID" : "access"} token. Report this to your operator.`, true);
  const { exp: end, iat: start } = session.decoded(text) ?? {};
  const seconds = kind === "access" && Number.isFinite(tokens.expires_in) ? tokens.expires_in : end - (start ?? Date.now() / 1000);
  const lifetime = Number.isFinite(seconds) ? seconds * 1000 : null;
  session.begin(text, {
    subject: about?.sub ?? before.subject,
    expires: lifetime === null ? null : Date.now() + lifetime,
    lifetime,
    idToken: tokens.id_token ?? before.idToken,
    refreshToken: tokens.refresh_token ?? (nonce === null ? before.refreshToken : null),
  });
}

/**
 * Validates an ID token (OpenID Connect Core 1.0, section 3.1.3.7) and returns its claims. The token comes directly from the provider over
 * TLS, so its signature need not be verified. The service verifies the signature of the token that it receives.
 */
async function checked(text, nonce) {
  const { issuer, client_id: client } = await provider();
  const about = session.decoded(text);
  const isOurs = about?.iss === issuer && [about.aud].flat().includes(client) && (about.azp ?? client) === client && typeof about.sub === "string";
  if (!isOurs || (nonce !== null && about.nonce !== nonce)) throw new SignInError("The ID token is not for this sign-in. Sign in again.", true);
  if (!(about.exp > Date.now() / 1000 - SKEW)) throw new SignInError("The ID token has expired. Check this machine's clock.", true);
  return about;
}

/** Signs out at the provider, which leaves this page if the provider has a sign-out page. Throws like `signIn`. */
export async function signOut(account) {
  const [{ client_id: client }, found] = await Promise.all([provider(), endpoints()]);
  if (account.refreshToken && found.revocation_endpoint) {
    // Ignore the outcome, because the browser leaves the page. The response has no body (RFC 7009, section 2.2).
    ask(found.revocation_endpoint, { token: account.refreshToken, token_type_hint: "refresh_token", client_id: client }, true).catch(() => {});
  }
  if (!found.end_session_endpoint) return;
  const address = new URL(found.end_session_endpoint);
  const query = { id_token_hint: account.idToken, post_logout_redirect_uri: home(), client_id: client };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address.href);
}
