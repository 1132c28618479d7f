// Signs in with a company account or a token.

import { confirmLeave, element, show } from "./elements.js";
import { field } from "./fields.js";
import { provider, renew, signIn as signInWithAccount, signOut, takeAnswer } from "./provider.js";
import { failure, rejectionMessage } from "./rejections.js";
import { call, Rejection } from "./requests.js";
import * as session from "./session.js";

const problem = (text) => element("div", { class: "message error", role: "alert" }, element("p", {}, text));

/** Returns the token form, which calls `done` after the sign-in. `isOther` means that users normally sign in with an account. */
function tokenForm(messages, done, isOther) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const token = field("token", "Token", input, { hint: "Get a token from your operator. This tab keeps it until you sign out or close the tab." });
  const button = element("button", { type: "submit", class: !isOther && "primary" }, "Sign in");
  const signIn = async () => {
    const text = input.value.trim().replace(/^Bearer\s+/i, "");
    token.violate([]);
    messages.replaceChildren();
    // A header cannot contain other characters.
    if (!/^[!-~]+$/.test(text)) {
      token.violate([text === "" ? "Enter a token." : "This is not a token: tokens contain no spaces or special characters."]);
      input.focus();
      return;
    }
    try {
      await call("GET", "api/urls", { query: { per_page: 1 }, bearer: text });
      session.begin(text);
      done();
    } catch (rejection) {
      if (rejection.status === 401 || rejection instanceof session.SignInError) {
        const why = rejection.message?.includes("expired") ? "has expired. Ask" : "is not valid. Check that you pasted all of it, or ask";
        token.violate([rejection.status === 401 ? `This token ${why} your operator for a new one.` : failure(rejection)]);
        input.focus();
      } else {
        messages.replaceChildren(rejectionMessage(rejection, signIn));
      }
    }
  };
  return element("form", { novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    signIn();
  } } }, token.node, button);
}

/** Returns the controls for signing in with an account. `options` are passed to `signIn` in `provider.js`. */
function accountPart(messages, done, options) {
  const button = element("button", { type: "button", class: "primary", on: { click: async () => {
    messages.replaceChildren();
    try {
      await signInWithAccount(options);
    } catch (error) {
      messages.replaceChildren(problem(failure(error)));
      return;
    }
    done();
  } } }, "Sign in with your company account");
  return [element("p", {}, button), element("p", { class: "hint" }, "This tab keeps the sign-in until you sign out or close the tab.")];
}

/** Returns controls for the available sign-in methods, or an error message whose button calls `again`. */
async function ways(messages, done, again, options) {
  let offered;
  try {
    offered = await provider();
  } catch (rejection) {
    if (!(rejection instanceof Rejection)) throw rejection;
    return rejectionMessage(rejection, again);
  }
  const form = tokenForm(messages, done, offered !== null);
  return offered === null ? form
    : [accountPart(messages, done, options), element("details", {}, element("summary", {}, "Use a token instead"), form)];
}

/** Focuses the first control for signing in. */
const focusFirst = (node) => /** @type {HTMLElement | null} */ (node.querySelector("input, button"))?.focus();

/** Shows the sign-in view with a `reason`, and calls `done` after the sign-in. */
export async function signInView(reason, done, options) {
  const messages = element("div", {}, reason && problem(reason));
  const content = await ways(messages, done, () => signInView(reason, done, options), options);
  show("Sign in", messages, element("div", { class: "narrow panel" }, content));
  focusFirst(document.getElementById("content"));
}

/**
 * Signs in again in a dialog over the page, which keeps unsaved input. Resolves when the session continues. Throws a `SignInError` if the
 * user cancels.
 */
export async function signInAgain(reason, mayRenew = false) {
  const account = session.account();
  if (mayRenew && account?.refreshToken) {
    try {
      await renew();
      return;
    } catch (error) {
      failure(error);
    }
  }
  const options = { inWindow: true, prompt: account?.expires > Date.now() ? "login" : undefined };
  await new Promise((resolve, reject) => {
    const messages = element("div", {}, problem(reason));
    const content = element("div", {});
    const done = () => {
      resolve();
      dialog.close();
    };
    const refuse = (event) => {
      event.preventDefault();
      if (!session.isLocked()) dialog.close();
      else if (confirmLeave()) session.end();
    };
    const fill = async () => content.replaceChildren(...[await ways(messages, done, fill, options)].flat(2));
    const dialog = element("dialog", { class: "over", "aria-labelledby": "again", on: { cancel: refuse, close: () => {
      // Browsers close a dialog on the second Escape, whatever the page does. Without the dialog, the user could not reach a locked page.
      if (session.isLocked()) {
        dialog.showModal();
        return;
      }
      dialog.remove();
      reject(new session.SignInError(reason));
    } } }, element("h2", { id: "again" }, "Sign in to continue"), messages, element("p", {}, "The page keeps what you typed."), content,
    element("p", { class: "actions" }, element("button", { type: "button", on: { click: refuse } }, session.isLocked() ? "Leave without saving" : "Not now")));
    document.body.append(dialog);
    dialog.showModal();
    fill().then(() => focusFirst(content), reject);
  });
}

/** Signs out at the provider. `signIn` shows the sign-in view. */
export async function signOutView(account, signIn) {
  show("Signing out", element("p", {}, "Signing you out at the sign-in provider…"));
  try {
    await signOut(account);
    signIn("You have signed out.");
  } catch (error) {
    signIn(`You have signed out of the console, but you may still be signed in at the sign-in provider. ${failure(error)}`);
  }
}

/** Completes a sign-in after the provider's response. Returns whether to show the page. */
export async function resume(signIn) {
  try {
    const isShown = await takeAnswer();
    // The header needs the name of the company claim. If the settings cannot be read, the views show the error.
    await provider().catch(() => {});
    return isShown;
  } catch (error) {
    signIn(failure(error));
    return false;
  }
}
