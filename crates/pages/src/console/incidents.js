// Adds incidents to a case, and removes them. The service accepts no tag here, because each request changes only its own incident.

import { confirmLeave, doneMessage, element, put as show, removeDone } from "./elements.js";
import { field } from "./fields.js";
import { infractionText } from "./infractions.js";
import { attempt, rejectionMessage, showSaved } from "./rejections.js";
import { call, Rejection } from "./requests.js";

/** Maximum number of suggested URLs. */
const MOST = 200;
/** Maximum length of a search text, in characters. */
const LONGEST = 256;

/** Returns an incident about a URL. A case has one incident for each URL, with one infraction. */
export function incidentAbout({ id, infractions: [infraction] }) {
  return { incident_type: "url", url_id: id, infraction_type: infraction?.infraction_type, infraction_name: infraction?.infraction_name };
}

/** Says which infraction of a URL the case contains, or returns null if the URL has at most one. */
export function leftInfractions({ infractions }) {
  return infractions.length > 1 ? `with the first of ${infractions.length} infractions: ${infractionText(infractions[0])}` : null;
}

/** Says why a URL may not belong in a case. */
function doubtsAbout({ id, affiliate_name: name, infractions, incident_status: status }, record) {
  return [
    name !== null && name !== record.affiliate_name && `URL ${id} belongs to ${name}.`,
    infractions.length === 0 && `URL ${id} has no infraction${status ? ` and the status ${status}` : ""}.`,
  ].filter(Boolean);
}

/** Returns the company's URL with this address or ID, or null. */
async function urlNamed(text, signal) {
  if (/^[1-9][0-9]{0,15}$/.test(text)) {
    try {
      const { body } = await call("GET", `api/urls/${text}`, { signal });
      return body.data;
    } catch (error) {
      if (error instanceof Rejection && error.status === 404) return null;
      throw error;
    }
  }
  if (!/^https?:\/\//i.test(text)) return null;
  const q = Array.from(text).slice(0, LONGEST).join("");
  const { body } = await call("GET", "api/urls:search", { query: { q, limit: 50 }, signal });
  return body.data.find(({ url }) => url === text) ?? null;
}

/**
 * Returns the form that adds a URL to a case, and a function that returns the button that removes an incident. `hasChanges` returns whether
 * the page has unsaved input. `reload` shows the case again, with the same form.
 */
export function incidentControls(id, signal, { hasChanges, reload }) {
  const messages = element("div", {});
  const put = (message) => show(messages, message);
  let isRunning = false;
  const mayLeave = () => !hasChanges() || confirmLeave();

  /** Runs an action that returns its success message, or null if nothing was saved. */
  async function run(action) {
    if (isRunning) return;
    // The page then reloads, which would discard unsaved input.
    if (hasChanges()) {
      put(element("div", { class: "message", role: "status" }, element("p", {}, "Save your changes first. Then try again.")));
      return;
    }
    isRunning = true;
    // The case then contains other URLs.
    isAsked = false;
    removeDone();
    messages.replaceChildren();
    violate([]);
    await attempt(signal, async () => {
      const done = await action();
      if (done === null) return;
      await showSaved(done.text, async () => {
        await reload();
        put(doneMessage(done.undo ? [done.text, " ", done.undo] : done.text));
      }, put, signal, mayLeave);
    }, (rejection) => put(rejectionMessage(rejection, () => run(action))));
    isRunning = false;
  }

  const refused = (why) => {
    put(element("div", { class: "message error", role: "alert" }, element("p", {}, `Nothing was saved. ${why}`)));
    return false;
  };

  /** Sends an incident, and returns whether it was saved. */
  async function send(operation, incident) {
    const { body: [{ status, detail }] } = await call("POST", `api/cases/${id}/incidents${operation}`, { body: { incidents: [incident] }, signal });
    return status === "ok" || refused(detail.msg);
  }

  const readCase = async () => (await call("GET", `api/cases/${id}`, { signal })).body.data;
  const contains = (record, urlId) => record.incidents.some((incident) => incident.url_id === urlId);
  /** Says that the case already contains a URL, or returns null. If a colleague has added it, adding it again would replace its infraction. */
  const alreadyAdded = (record, urlId) => (urlId !== null && contains(record, urlId) ? `The case already contains URL ${urlId}.` : null);

  const list = element("datalist", { id: "case-urls" });
  const input = element("input", { type: "text", autocomplete: "off", spellcheck: "false", list: list.id, placeholder: "Address or ID", on: { focus: () => suggest() } });
  const { node, violate } = field("incident", "Add a URL to this case", input, { extra: list });
  let isAsked = false;
  /** Suggests the affiliate's newest URLs, except those in the case. If they cannot be read, the user can still type an address or ID. */
  async function suggest() {
    if (isAsked) return;
    isAsked = true;
    await attempt(signal, async () => {
      const record = await readCase();
      const { body } = await call("GET", "api/urls", { query: { distributor_id: record.distributor_id, per_page: MOST }, signal });
      list.replaceChildren(...body.data.filter((url) => !contains(record, url.id)).map((url) => element("option", { value: url.id, label: url.url })));
    }, () => {});
  }

  const add = async () => {
    const text = input.value.trim();
    const refuse = (why) => {
      violate([why]);
      input.focus();
      return null;
    };
    if (text === "") return refuse("Enter the address or ID of a URL.");
    const url = await urlNamed(text, signal);
    if (url === null) return refuse("No URL with this address or ID was found. Enter its ID or its whole address, or add the URL under URLs first.");
    const record = await readCase();
    const already = alreadyAdded(record, url.id);
    if (already) return refuse(already);
    const doubts = doubtsAbout(url, record);
    if (doubts.length > 0 && !confirm([...doubts, "Add it anyway?"].join(" "))) return null;
    if (!(await send("", incidentAbout(url)))) return null;
    input.value = "";
    const left = leftInfractions(url);
    return { text: `URL ${url.id}${url.affiliate_name ? ` of ${url.affiliate_name}` : ""} was added${left ? `, ${left}` : ""}.` };
  };

  const restore = ({ incident_type, url_id, reference, infraction_type, infraction_name }) => async () => {
    const already = alreadyAdded(await readCase(), url_id);
    const isSaved = already ? refused(already) : await send("", { incident_type, url_id, reference, infraction_type, infraction_name });
    return isSaved ? { text: "The change was undone." } : null;
  };
  const remove = (incident) => {
    const name = incident.url_id === null ? incident.reference : `URL ${incident.url_id}`;
    const undo = element("button", { type: "button", on: { click: () => run(restore(incident)) } }, "Undo");
    return element("button", { type: "button", class: "copy", needs: "cases", "aria-label": `Remove ${name} from the case`, on: { click: () => run(async () => (
      await send(":detach", { incident_id: incident.incident_id }) ? { text: `${name} was removed from the case.`, undo } : null)) } }, "Remove");
  };

  return {
    remove,
    add: element("form", { class: "next-incident", needs: "cases", "aria-label": "Add an incident", novalidate: true, on: { submit: (event) => {
      event.preventDefault();
      run(add);
    } } }, messages, node, element("button", { type: "submit" }, "Add the URL")),
  };
}
