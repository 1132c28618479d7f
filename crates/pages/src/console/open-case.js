// Opens a case for a URL or an affiliate.

import { pickAffiliate, typedAffiliate } from "./affiliate-lookup.js";
import { count, element, put, show, tell } from "./elements.js";
import { field } from "./fields.js";
import { random } from "./pkce.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { allows } from "./session.js";
import { backLink } from "./visited.js";

/** Maximum number of linked open cases. */
const MOST = 5;

/** Returns links to the newest open cases that match a filter, or null if there are none. */
async function openCasesWith(filter, signal) {
  const query = { ...filter, open: "yes" };
  const { body: { data, meta: { total } } } = await call("GET", "api/cases", { query: { ...query, per_page: MOST }, signal });
  if (total === 0) return null;
  const links = data.map(({ case_id: number }) => element("a", { href: `#/cases/${number}` }, `Case ${number}`));
  if (total > data.length) links.push(element("a", { href: `#/cases?${new URLSearchParams(query)}` }, `all ${count(total)}`));
  return links.flatMap((link) => [", ", link]).slice(1);
}

/**
 * Returns a button that opens a case with these fields and incidents, and the node for its messages. If open cases match `filter`, it asks first.
 * `what` is the record that they are about, `hasChanges` returns whether the page has unsaved input, which opening a case would discard, and
 * `done` is the message for success.
 */
export function openCase(fields, incidents, signal, hasChanges, { what, filter, done = "The case was opened." }) {
  const messages = element("div", {});
  // The idempotency key makes it safe to press the button again after a broken connection.
  const request = `console-${random()}`;
  let isBusy = false;
  const once = async (action) => {
    if (isBusy) return;
    isBusy = true;
    await action();
    isBusy = false;
  };
  const send = () => attempt(signal, async () => {
    const { body } = await call("POST", "api/cases", { body: { request_id: request, case: fields, incidents }, signal });
    const address = `#/cases/${body.detail.case_id}`;
    tell(address, done);
    location.hash = address;
  }, (rejection) => put(messages, rejectionMessage(rejection, send)));
  const open = () => once(async () => {
    if (hasChanges()) {
      put(messages, element("div", { class: "message", role: "status" }, element("p", {}, "Save your changes first. Then press Open a case again.")));
      return;
    }
    await attempt(signal, async () => {
      const existing = await openCasesWith(filter, signal);
      if (existing === null) await send();
      else put(messages, element("div", { class: "message", role: "status" }, element("p", {}, `This ${what} has open cases: `, existing),
        element("p", {}, element("button", { type: "button", on: { click: () => once(send) } }, "Open another case"))));
    }, (rejection) => put(messages, rejectionMessage(rejection, open)));
  });
  return { button: element("button", { type: "button", needs: "cases", on: { click: open } }, "Open a case"), messages, open };
}

/**
 * Shows the form that opens a case for the affiliate that the user chooses.
 * @param {any} view
 */
export function newCaseView({ signal }) {
  if (!allows("cases")) {
    show("Open a case", element("p", {}, "You don't have permission to open a case. Ask your operator for the scope cases."), backLink("cases"));
    return;
  }
  const input = element("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "Name or ID" });
  const { node, violate } = field("affiliate", "Affiliate", input, { isRequired: true });
  const box = element("div", {});
  let last = { id: null, opening: null };
  const submit = () => attempt(signal, async () => {
    box.replaceChildren();
    const text = input.value.trim();
    const { id, violation } = text === "" ? { violation: "Enter the affiliate's name or ID." } : await typedAffiliate(text, signal);
    violate(violation ? [violation] : []);
    if (violation) {
      input.focus();
      return;
    }
    // Keep the idempotency key of an attempt whose response was lost.
    if (last.id !== id) {
      last = { id, opening: openCase({ affiliate_id: Number(id) }, [], signal, () => false, { what: "affiliate", filter: { distributor_id: id } }) };
    }
    box.replaceChildren(last.opening.messages);
    await last.opening.open();
  }, (rejection) => put(box, rejectionMessage(rejection, submit)));
  show("Open a case", box, element("form", { class: "form short", "aria-label": "New case", novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    submit();
  } } }, node, element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Open the case"), backLink("cases"))));
  pickAffiliate(input, signal);
}
