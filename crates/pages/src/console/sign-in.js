// The sign-in: with an account of the company, or with a token.

import { element, show } from "./elements.js";
import { field } from "./fields.js";
import { provider, renew, signIn as signInWithAccount, signOut, takeAnswer } from "./provider.js";
import { failure, rejectionMessage } from "./rejections.js";
import { call, Rejection } from "./requests.js";
import * as session from "./session.js";

const problem = (text) => element("div", { class: "message error", role: "alert" }, element("p", {}, text));

/** The form for a token; `done` is called after it. `isOther`: signing in with an account is the main way. */
function tokenForm(messages, done, isOther) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const token = field("token", "Token", input, { hint: "Your operator gives you a token. This tab keeps it until you sign out or close the tab." });
  const button = element("button", { type: "submit", class: !isOther && "primary" }, "Sign in");
  const signIn = async () => {
    const text = input.value.trim().replace(/^Bearer\s+/i, "");
    token.violate([]);
    messages.replaceChildren();
    // A header cannot carry these characters.
    if (!/^[!-~]+$/.test(text)) {
      token.violate([text === "" ? "Enter a token." : "This is not a token: a token has no spaces or special characters."]);
      input.focus();
      return;
    }
    try {
      await call("GET", "api/urls", { query: { per_page: 1 }, bearer: text });
      session.begin(text);
      done();
    } catch (rejection) {
      if (rejection.status === 401 || rejection instanceof session.SignInError) {
        token.violate([failure(rejection)]);
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

/** The controls that sign in with an account. `options` are those of the provider's `signIn`. */
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

/** The ways to sign in. `again` is called to try again if the service does not say which there are. */
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

/** The view to sign in; `reason` says why, and `done` is called after it. */
export async function signInView(reason, done, options) {
  const messages = element("div", {}, reason && problem(reason));
  const content = await ways(messages, done, () => signInView(reason, done, options), options);
  show("Sign in", messages, element("div", { class: "narrow panel" }, content));
}

/**
 * Signs in again over the page, which keeps what was typed. Resolves when the session goes on; throws a `SignInError` if the user does not
 * want to.
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
      else if (confirm("Leave without saving your changes?")) session.end();
    };
    const fill = async () => content.replaceChildren(...[await ways(messages, done, fill, options)].flat(2));
    const dialog = element("dialog", { class: "over", "aria-labelledby": "again", on: { cancel: refuse, close: () => {
      dialog.remove();
      reject(new session.SignInError(reason));
    } } }, element("h2", { id: "again" }, "Sign in to continue"), messages, element("p", {}, "The page keeps what you typed."), content,
    element("p", { class: "actions" }, element("button", { type: "button", on: { click: refuse } }, session.isLocked() ? "Leave without saving" : "Not now")));
    document.body.append(dialog);
    dialog.showModal();
    fill().catch(reject);
  });
}

/** Signs an account out at the provider as well. `signIn` shows the view to sign in. */
export async function signOutView(account, signIn) {
  show("Signing out", element("p", {}, "The console signs you out at the sign-in provider."));
  try {
    await signOut(account);
    signIn("You have signed out.");
  } catch (error) {
    signIn(`You have signed out of the console, but you may still be signed in at the sign-in provider. ${failure(error)}`);
  }
}

/** Continues a sign-in after the response of the provider. Returns whether to show the page. */
export async function resume(signIn) {
  try {
    const isShown = await takeAnswer();
    // The header shows the company. If it cannot be read, the views show the error.
    await provider().catch(() => {});
    return isShown;
  } catch (error) {
    signIn(failure(error));
    return false;
  }
}
