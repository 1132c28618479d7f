// The sign-in: with an account of the company, or with a token.

import { element, show } from "./elements.js";
import { field } from "./fields.js";
import { provider, signIn as signInWithAccount, signOut, takeAnswer } from "./provider.js";
import { rejectionMessage, sentence } from "./rejections.js";
import { call, Rejection } from "./requests.js";
import { failure } from "./session-end.js";
import * as session from "./session.js";

const problem = (text) => element("div", { class: "message error", role: "alert" }, element("p", {}, text));

/** The form for a token; `done` is called after it. `isOther`: signing in with an account is the main way. */
function tokenForm(messages, done, isOther) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const token = field("token", "Token", input, { hint: ["Your operator gives you a token, for example with ",
    element("code", {}, "compliance token --company 1"), ". This tab keeps it until you sign out or close the tab."] });
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
      if (rejection.status === 401) {
        token.violate([sentence(rejection)]);
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

/** The view to sign in; `reason` says why, and `done` is called after it. */
export async function signInView(reason, done, options) {
  const messages = element("div", {}, reason && problem(reason));
  let offered;
  try {
    offered = await provider();
  } catch (rejection) {
    if (!(rejection instanceof Rejection)) throw rejection;
    show("Sign in", messages, rejectionMessage(rejection, () => signInView(reason, done, options)));
    return;
  }
  const form = tokenForm(messages, done, offered !== null);
  const content = offered === null ? form
    : [accountPart(messages, done, options), element("details", {}, element("summary", {}, "Use a token instead"), form)];
  show("Sign in", messages, element("div", { class: "narrow panel" }, content));
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
