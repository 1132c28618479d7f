// Opens a case for a URL or an affiliate.

import { element, put, tell } from "./elements.js";
import { random } from "./pkce.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";

/** Returns a button that opens a case with these fields and incidents, and the node for its messages. */
export function openCase(fields, incidents, signal) {
  const messages = element("div", {});
  // The idempotency key makes it safe to press the button again after a broken connection.
  const request = `console-${random()}`;
  const open = () => attempt(signal, async () => {
    const { body } = await call("POST", "api/cases", { body: { request_id: request, case: fields, incidents }, signal });
    const address = `#/cases/${body.detail.case_id}`;
    tell(address, "The case was opened.");
    location.hash = address;
  }, (rejection) => put(messages, rejectionMessage(rejection, open)));
  return { button: element("button", { type: "button", on: { click: open } }, "Open a case"), messages };
}
