// Describes rejections to users.

import { counted, element } from "./elements.js";
import { Rejection } from "./requests.js";
import { refusal, SignInError } from "./session.js";

function wait(rejection) {
  return rejection.retryAfter === null ? "Try again later." : `Try again in ${counted(rejection.retryAfter, "second", "seconds")}.`;
}

/** Describes a rejection in sentences. */
export function sentence(rejection) {
  const unsure = rejection.isWrite ? " The change may have been saved: check the record before you try again." : "";
  const [, scope] = /the scope (\w+)/.exec(rejection.message) ?? [];
  switch (rejection.status) {
    case 0:
      if (rejection.cause === "timeout") return `The service did not respond in time.${unsure}`;
      if (rejection.cause === "broken") return `The connection was lost before the response was complete.${unsure}`;
      return `The service cannot be reached. Check the network.${unsure}`;
    case 401:
      return refusal(rejection);
    case 403:
      return `${rejection.isWrite ? "Nothing was saved: you don't have permission to do this" : "You don't have permission to see this"}. Ask your operator${scope ? ` for the scope ${scope}` : ""}.`;
    case 404:
      return rejection.message ?? "This record does not exist.";
    case 409:
    case 415:
      return `Nothing was saved. ${rejection.message ?? ""}`.trim();
    case 412:
      return "Nothing was saved: the record has changed since you opened it.";
    case 413:
      return "Nothing was saved: the request is too large. Send fewer records.";
    case 422:
      return rejection.isWrite ? "Nothing was saved. Some values are not valid." : "Some values are not valid.";
    case 429:
      return `Your company has reached its request limit. ${wait(rejection)}`;
    case 503:
      return `The service is temporarily unavailable. ${wait(rejection)}`;
    case 504:
      return `The service timed out.${unsure}`;
    default:
      return `The service returned an error (${rejection.status}). Report the request ID to your operator.${unsure}`;
  }
}

/** Returns a button that repeats the rejected request, and is disabled until the service allows a retry. */
function againButton(rejection, again) {
  const button = element("button", { type: "button", on: { click: () => button.ariaDisabled !== "true" && again() } }, "Try again");
  let seconds = Math.min(rejection.retryAfter ?? 0, 3600);
  if (seconds > 0) {
    button.ariaDisabled = "true";
    const label = () => {
      button.textContent = seconds > 0 ? `Try again (in ${seconds} s)` : "Try again";
    };
    label();
    const timer = setInterval(() => {
      seconds -= 1;
      label();
      if (seconds > 0 && button.isConnected) return;
      clearInterval(timer);
      button.ariaDisabled = "false";
    }, 1000);
  }
  return button;
}

/** Returns whether the same request can succeed later. */
const passes = ({ status }) => status === 0 || status === 401 || status === 429 || status >= 500;

/** Returns a message about a rejection. `again` repeats the request, if a retry can help. `done` says what succeeded before. */
export function rejectionMessage(rejection, again, done = null) {
  // Only the sentence is an alert, so screen readers do not announce the button's countdown.
  return element("div", { class: "message error" },
    element("p", { role: "alert" }, done && `${done} `, sentence(rejection)),
    rejection.requestId && element("p", { class: "hint" }, "Request ID: ", element("code", {}, rejection.requestId)),
    again && passes(rejection) && element("p", {}, againButton(rejection, again)));
}

/** Describes why a sign-in failed. Rethrows other errors. */
export function failure(error) {
  if (error instanceof SignInError) return error.message;
  if (error instanceof Rejection) return sentence(error);
  throw error;
}

/** Runs an action of a view, and returns its result. Passes a rejection to `onRejection`, and returns that result. */
export async function attempt(signal, action, onRejection) {
  try {
    return await action();
  } catch (error) {
    // The user has left the view.
    if (signal.aborted) return null;
    if (!(error instanceof Rejection)) throw error;
    return onRejection(error);
  }
}

/**
 * Shows a saved record again with the message `done`. If the record cannot be read, passes a message to `put` that says so. Trying again
 * discards what was typed since, so it asks `mayLeave`.
 */
export function showSaved(done, show, put, signal, mayLeave) {
  const again = () => mayLeave() && showSaved(done, show, put, signal, mayLeave);
  return attempt(signal, () => show(done), (rejection) => put(rejectionMessage(rejection, again, done)));
}
