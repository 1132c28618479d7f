// Opens a case for a URL or an affiliate.

import { element, put, tell } from "./elements.js";
import { random } from "./pkce.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";

/**
 * Returns a button that opens a case with these fields and incidents, and the node for its messages. `hasChanges` returns whether the page has
 * unsaved input, which opening a case would discard. `existing` is the ID of a case about the same URL, and `done` the message for success.
 */
export function openCase(fields, incidents, signal, hasChanges, { existing = null, done = "The case was opened." } = {}) {
  const messages = element("div", {});
  // The idempotency key makes it safe to press the button again after a broken connection.
  const request = `console-${random()}`;
  let isOpening = false;
  const send = () => attempt(signal, async () => {
    const { body } = await call("POST", "api/cases", { body: { request_id: request, case: fields, incidents }, signal });
    const address = `#/cases/${body.detail.case_id}`;
    tell(address, done);
    location.hash = address;
  }, (rejection) => put(messages, rejectionMessage(rejection, send)));
  const open = async () => {
    if (isOpening) return;
    if (hasChanges()) {
      put(messages, element("div", { class: "message", role: "status" }, element("p", {}, "Save your changes first. Then press Open a case again.")));
      return;
    }
    if (existing !== null && !confirm(`Case ${existing} already covers this URL. Open another case?`)) return;
    isOpening = true;
    await send();
    isOpening = false;
  };
  return { button: element("button", { type: "button", on: { click: open } }, "Open a case"), messages };
}
