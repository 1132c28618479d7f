// Renews the session with the account's refresh token, or warns the user before it ends.

import { announce, element } from "./elements.js";
import { renew } from "./provider.js";
import { failure } from "./rejections.js";
import * as session from "./session.js";
import { localTime } from "./timestamps.js";

const WARNING = 2 * 60_000;
const CHECK = 5_000;
/** Time between a failed renewal and the next attempt, in milliseconds. */
const RETRY = 20_000;

/** Watches the session, and returns a function that checks it immediately. `signInAgain` signs in again without leaving the page. */
export function watchSession(signInAgain) {
  const box = document.getElementById("session-end");
  /** The token and state of the shown warning. */
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
    const [, time] = localTime(expiry).split(" ");
    const messages = element("div", {});
    const text = hasEnded ? "Your sign-in has ended. Sign in again to save your work." : `Your sign-in ends at ${time}. Stay signed in to keep working.`;
    box.replaceChildren(element("div", { class: "message warning" }, element("p", { role: "alert" }, text), messages,
      element("p", {}, element("button", { type: "button", on: { click: () => stay(messages) } }, hasEnded ? "Sign in again" : "Stay signed in"))));
    box.hidden = false;
  }

  /** Renews the session. After a final rejection, discards the refresh token. */
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
    // A token's lifetime can be shorter than the warning period.
    if (session.token() !== null && left() < Math.min(WARNING, lifetime / 4)) warn(session.claims().expiry, left() <= 0);
    else hide();
  }

  setInterval(check, CHECK);
  // Timers run late in background tabs and on sleeping machines.
  document.addEventListener("visibilitychange", () => document.hidden || check());
  return check;
}
