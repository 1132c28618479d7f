// The sign-in with a token.

import { element, show } from "./elements.js";
import { field } from "./fields.js";
import { refusalMessage, sentence } from "./refusals.js";
import { call } from "./requests.js";
import * as session from "./session.js";

/** The view to sign in; `reason` says why, and `done` is called after it. */
export function signInView(reason, done) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const token = field("token", "Token", input, { hint: ["The operator of the service gives you one, such as with ",
    element("code", {}, "compliance token --company 1"), ". This tab keeps it until you sign out or close the tab."] });
  const button = element("button", { type: "submit", class: "primary" }, "Sign in");
  const messages = element("div", {});
  if (reason) messages.append(element("div", { class: "message error", role: "alert" }, element("p", {}, reason)));
  const signIn = async () => {
    const text = input.value.trim().replace(/^Bearer\s+/i, "");
    token.violate([]);
    messages.replaceChildren();
    // What is no token could not be sent as a header.
    if (!/^[!-~]+$/.test(text)) {
      token.violate([text === "" ? "Enter a token." : "This is no token: it has spaces or other characters."]);
      input.focus();
      return;
    }
    try {
      await call("GET", "api/urls", { query: { per_page: 1 }, bearer: text });
      session.begin(text);
      done();
    } catch (refusal) {
      if (refusal.status === 401) {
        token.violate([sentence(refusal)]);
        input.focus();
      } else {
        messages.replaceChildren(refusalMessage(refusal, signIn));
      }
    }
  };
  const form = element("form", { class: "narrow panel", novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    signIn();
  } } }, token.node, button);
  show("Sign in", messages, form);
}
