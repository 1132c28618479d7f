// Refusals in sentences.

import { counted, element } from "./elements.js";
import { Refusal } from "./requests.js";
import { end } from "./session.js";

function wait(refusal) {
  return refusal.retryAfter === null ? "Try again later." : `Try again in ${counted(refusal.retryAfter, "second", "seconds")}.`;
}

/** What a refusal means, in sentences. */
export function sentence(refusal) {
  const unsure = refusal.isWrite ? " The change may have been saved: check the record before you try again." : "";
  switch (refusal.status) {
    case 0:
      if (refusal.cause === "timeout") return `The service did not respond in time.${unsure}`;
      if (refusal.cause === "broken") return `The connection broke before the response was complete.${unsure}`;
      return `The service cannot be reached. Check the network.${unsure}`;
    case 401:
      return `The service did not accept the token. ${refusal.message ?? ""}`.trim();
    case 403:
      return refusal.isWrite ? "Nothing was saved: you don't have permission to do this. Ask your operator." : "You don't have permission to see this. Ask your operator.";
    case 404:
      return refusal.message ?? "This record does not exist.";
    case 409:
      return `Nothing was saved. ${refusal.message ?? ""}`.trim();
    case 412:
      return "Nothing was saved: the record has changed since you opened it.";
    case 413:
      return "Nothing was saved: the request is larger than the service accepts. Send fewer records.";
    case 422:
      return refusal.isWrite ? "Nothing was saved. Some values are not valid." : "Some values are not valid.";
    case 429:
      return `Your company has reached its request limit. ${wait(refusal)}`;
    case 503:
      return `The service is temporarily unavailable. ${wait(refusal)}`;
    case 504:
      return `The service took too long.${unsure}`;
    default:
      return `The service had an error (${refusal.status}). Report the request ID to your operator.${unsure}`;
  }
}

/** A button that repeats what was refused, as soon as the service allows it. */
function againButton(refusal, again) {
  const button = element("button", { type: "button", on: { click: () => button.ariaDisabled !== "true" && again() } }, "Try again");
  let seconds = Math.min(refusal.retryAfter ?? 0, 3600);
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

/** Whether the same request may succeed later. */
const passes = ({ status }) => status === 0 || status === 429 || status >= 500;

/** A refusal as a message. `again` repeats the request, where that helps. */
export function refusalMessage(refusal, again) {
  // The button counts seconds, which nobody wants to hear: only the sentence is an alert.
  return element("div", { class: "message error" },
    element("p", { role: "alert" }, sentence(refusal)),
    refusal.requestId && element("p", { class: "hint" }, "Request ID: ", element("code", {}, refusal.requestId)),
    again && passes(refusal) && element("p", {}, againButton(refusal, again)));
}

/** Runs an action of a view. A rejected token ends the session. Any other refusal goes to `onRefusal`. */
export async function attempt(signal, action, onRefusal) {
  try {
    await action();
  } catch (error) {
    // The user has left the view.
    if (signal.aborted) return;
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401) end(sentence(error));
    else onRefusal(error);
  }
}
