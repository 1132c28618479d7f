// The end of a session: it is renewed with the refresh token of an account, or there is a warning before the end.

import { announce, element } from "./elements.js";
import { renew } from "./provider.js";
import { failure } from "./rejections.js";
import * as session from "./session.js";

const WARNING = 2 * 60_000;
const CHECK = 5_000;
/** The pause after a renewal that failed. */
const RETRY = 20_000;

/** Watches the session. `signInAgain` signs in again over the page. Returns a function that checks the session now. */
export function watchSession(signInAgain) {
  const box = document.getElementById("session-end");
  /** The token and the state that the box shows. */
  let shown = null;
  let retryAt = 0;
  let isRenewing = false;

  const hide = () => {
    shown = null;
    box.hidden = true;
    box.replaceChildren();
  };

  async function stay(messages) {
    messages.replaceChildren();
    try {
      await signInAgain();
    } catch (error) {
      messages.replaceChildren(element("p", { role: "alert" }, failure(error)));
      return;
    }
    announce("You stay signed in.");
    document.getElementById("content").focus();
  }

  function warn(expiry, hasEnded) {
    const state = `${session.token()} ${hasEnded}`;
    if (shown === state) return;
    shown = state;
    const time = expiry.toLocaleTimeString(undefined, { timeStyle: "short" });
    const messages = element("div", {});
    const text = hasEnded ? "Your sign-in has ended. Sign in again to save your work." : `Your sign-in ends at ${time}. Stay signed in to keep working.`;
    box.replaceChildren(element("div", { class: "message warning" }, element("p", { role: "alert" }, text), messages,
      element("p", {}, element("button", { type: "button", on: { click: () => stay(messages) } }, hasEnded ? "Sign in again" : "Stay signed in"))));
    box.hidden = false;
  }

  /** Renews the session. After a rejection, the console does not ask the provider again. */
  async function extend(account) {
    isRenewing = true;
    try {
      await renew();
    } catch (error) {
      failure(error);
      retryAt = Date.now() + RETRY;
      const current = session.account();
      if (error.isFinal && current?.token === account.token) session.begin(current.token, { ...current, refreshToken: null });
    } finally {
      isRenewing = false;
    }
  }

  async function check() {
    const account = session.account();
    const { expiry } = session.claims();
    if (session.token() === null || expiry === null) {
      hide();
      return;
    }
    const left = () => session.claims().expiry.getTime() - Date.now();
    const lifetime = account?.lifetime ?? Infinity;
    if (isRenewing) return;
    if (account?.refreshToken && left() < Math.min(2 * WARNING, lifetime / 2) && Date.now() >= retryAt) await extend(account);
    // Tokens may last for less than the warning.
    if (session.token() !== null && left() < Math.min(WARNING, lifetime / 4)) warn(session.claims().expiry, left() <= 0);
    else hide();
  }

  setInterval(check, CHECK);
  // Timers of a tab in the background, and of a machine that sleeps, are late.
  document.addEventListener("visibilitychange", () => document.hidden || check());
  return check;
}
