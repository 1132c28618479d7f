// Sends requests from forms. Responses can be large, and never become markup.

import { element } from "../console/elements.js";
import { copyButton } from "./copy.js";
import { askForToken, token } from "./token.js";

/** Maximum length of a displayed response, in characters. */
const SHOWN = 200_000;

export function startForms() {
  for (const box of document.querySelectorAll("details.try")) {
    box.hidden = false;
    const form = box.querySelector("form");
    box.addEventListener("toggle", () => box.open && void fillId(box, form));
    const example = form.querySelector("select.example");
    example?.addEventListener("change", () => (form.querySelector(".body").value = example.value));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send(box, form);
    });
  }
}

/** Fills in the ID of the company's first record, unless the user has typed an ID. If the company has none, keeps the example ID. */
async function fillId(box, form) {
  const [, list] = /^\/api\/(affiliates|urls|cases)\/\{id\}/.exec(box.dataset.path) ?? [];
  const field = form.querySelector('[data-in="path"][name="id"]');
  if (!list || !field || !token() || field.value !== field.defaultValue) return;
  try {
    const url = new URL(`${document.documentElement.dataset.root}api/${list}?sort_dir=asc&per_page=1`, location.href);
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token()}` }, cache: "no-store", credentials: "omit" });
    const [record] = (await response.json()).data;
    if (field.value === field.defaultValue) field.value = list === "cases" ? record.case_id : record.id;
  } catch {
    // Keep the example ID. The form works without the list.
  }
}

/** Returns the request that a form describes. */
function requestOf(box, form) {
  const { method, path } = box.dataset;
  const headers = {};
  const query = new URLSearchParams();
  let filled = path;
  for (const field of form.querySelectorAll("[data-in]")) {
    const { name, value } = field;
    if (field.dataset.in === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === "") continue;
    else if (field.dataset.in === "query") query.append(name, value);
    else if (field.dataset.in === "header") headers[name] = value;
  }
  const body = form.querySelector(".body")?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (box.dataset.token === "yes" && token()) headers.Authorization = `Bearer ${token()}`;
  const text = query.size ? `${filled}?${query}` : filled;
  return { method, headers, body, url: new URL(document.documentElement.dataset.root + text.slice(1), location.href) };
}

/** Returns a curl command for the request. The token is a variable, so users can share the command. */
function command({ method, headers, body, url }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl -i"];
  if (method !== "GET") parts.push(`-X ${method}`);
  parts.push(quoted(url.href));
  for (const [name, value] of Object.entries(headers)) {
    parts.push(name === "Authorization" ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (body !== undefined) parts.push(`-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** Reads the start of a response, and returns whether it is the whole response. */
async function textOf(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return { text, isWhole: true };
    text += value;
    if (text.length > SHOWN) {
      await reader.cancel();
      return { text: text.slice(0, SHOWN), isWhole: false };
    }
  }
}

async function send(box, form) {
  const button = form.querySelector("button");
  if (button.getAttribute("aria-disabled") === "true") return;
  const hint = form.querySelector(".hint");
  const result = box.querySelector(".result");
  const request = requestOf(box, form);
  hint.textContent = "Sending …";
  button.setAttribute("aria-disabled", "true");
  const began = performance.now();
  try {
    const { method, headers, body } = request;
    const response = await fetch(request.url, { method, headers, body, cache: "no-store", credentials: "omit" });
    const { text, isWhole } = await textOf(response);
    show(result, request, response, text, isWhole, Math.round(performance.now() - began));
    if (response.status === 401 && !token()) askForToken();
  } catch (error) {
    result.replaceChildren(element("p", { class: "failed" }, `No response: ${error.message}.`));
  } finally {
    hint.textContent = "";
    button.removeAttribute("aria-disabled");
  }
}

function show(result, request, response, text, isWhole, duration) {
  let pretty = text;
  if (isWhole && (response.headers.get("content-type") ?? "").includes("json")) {
    try {
      pretty = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Show invalid JSON unchanged.
    }
  }
  const block = (content, name) =>
    element("div", { class: "sample" },
      element("pre", { tabindex: "0", "aria-label": name, role: "group", class: name === "Body" ? "response-body" : "" },
        element("code", {}, content)),
      copyButton(() => content, name.toLowerCase()));
  const more = (name, content) =>
    element("details", { class: "more" }, element("summary", {}, name), block(content, name));
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  result.replaceChildren(
    element("p", { class: "outcome" },
      element("span", { class: `status of-${String(response.status)[0]}` }, String(response.status)),
      ` ${response.statusText} in ${duration} ms`),
    ...(pretty === "" ? [] : [block(pretty, "Body")]),
    ...(isWhole ? [] : [element("p", { class: "hint" }, "Only the start of the response is shown. Run the command to see all of it.")]),
    more("Headers", headers),
    more("Command", command(request)),
  );
}
