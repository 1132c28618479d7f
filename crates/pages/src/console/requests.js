// Sends requests to the service: the public operations under `api`, and the OpenAPI document.

import * as session from "./session.js";

const TIMEOUT = 60_000;
// By default, the service spends at most 10 minutes on a whole list.
const LIST_TIMEOUT = 15 * 60_000;
/** Maximum number of attempts while the company is over its limit or the service is unavailable. */
const PATIENCE = 20;

/**
 * The details of a failed request. `status` is the HTTP status, or 0 if there was no complete response; `cause` says why. `code` and
 * `message` come from the error envelope, and `errors` (by path) and `violations` (by row) from a 422 response. `retryAfter` is in seconds.
 * `isWrite` says whether the request may have changed records.
 * @typedef {{status: number, cause?: "network" | "timeout" | "broken" | null, code?: string | null, message?: string | null,
 *   errors?: Record<string, string[]>, violations?: any[], retryAfter?: number | null, requestId?: string, isWrite?: boolean}} Details
 */

/** A failed request. */
export class Rejection extends Error {
  /** @param {Details} details */
  constructor({ status, cause = null, code = null, message = null, errors = {}, violations = [], retryAfter = null, requestId = null, isWrite = false }) {
    super(message ?? `status ${status}`, { cause });
    Object.assign(this, { message });
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.violations = violations;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
    this.isWrite = isWrite;
  }
}

/** Returns a request ID, so that requests without a response also have one. */
function newRequestId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Converts a `fetch` error to a rejection, unless the user has left the view. */
function asRejection(error, requestId, isWrite, signal) {
  if (error instanceof Rejection || signal?.aborted) return error;
  const cause = error.name === "TimeoutError" ? "timeout" : "network";
  return new Rejection({ status: 0, cause, requestId, isWrite });
}

/** Works like `fetch`, but reports upload progress: `onSent` receives the fraction sent, from 0 to 1. */
function upload(url, { method, headers, body, signal, onSent }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.responseType = "blob";
    for (const [name, text] of Object.entries(headers)) request.setRequestHeader(name, text);
    request.upload.addEventListener("progress", ({ loaded, total }) => onSent(loaded / total));
    request.addEventListener("load", () => resolve(new Response(request.response, {
      status: request.status, headers: Object.fromEntries(request.getAllResponseHeaders().trim().split("\r\n").map((line) => line.split(/: (.*)/, 2))),
    })));
    for (const failure of ["error", "abort"]) request.addEventListener(failure, () => reject(signal.reason ?? new TypeError(failure)));
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/** Sends a request once. `onSent` reports upload progress and extends the timeout. */
async function send(method, path, { query = {}, body, type = "application/json", accept = "application/json", signal, bearer, ifMatch = null, onSent,
  timeout = onSent ? LIST_TIMEOUT : TIMEOUT }) {
  const requestId = newRequestId();
  const url = new URL(path, document.baseURI);
  for (const [name, values] of Object.entries(query)) for (const value of [values].flat()) url.searchParams.append(name, value);
  const headers = { "X-Request-Id": requestId, Accept: accept };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers["Content-Type"] = type;
  if (ifMatch !== null) headers["If-Match"] = ifMatch;
  const limits = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  const request = onSent ? upload : fetch;
  const response = await request(url, {
    method,
    onSent,
    headers,
    // JSON cannot contain an unpaired surrogate, such as half an emoji.
    body: body === undefined || body instanceof Blob ? body : JSON.stringify(body, (_, content) => (typeof content === "string" ? content.toWellFormed() : content)),
    signal: AbortSignal.any(limits),
    cache: path.startsWith("api/") ? "no-store" : "default",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  }).catch((error) => {
    throw asRejection(error, requestId, method !== "GET", signal);
  });
  return { response, requestId: response.headers.get("X-Request-Id") ?? requestId };
}

/**
 * Sends a request, by default with the session's token. If the service rejects this token, waits until the user has signed in again,
 * and retries. Returns a successful response, or throws a `Rejection`.
 */
async function open(method, path, options) {
  for (let mayRenew = true; ; mayRenew = false) {
    const { bearer = session.token() } = options;
    const { response, requestId } = await send(method, path, { ...options, bearer });
    const isOfSession = options.bearer === undefined;
    if (response.ok) {
      if (isOfSession) session.accepted();
      return { response, requestId };
    }
    const rejection = await rejectionOf(response, requestId, method !== "GET");
    if (!isOfSession || response.status !== 401) throw rejection;
    await session.refused(bearer, session.refusal(rejection), mayRenew).catch(() => {
      throw rejection;
    });
  }
}

/** Returns the rejection that an error response describes. */
async function rejectionOf(response, requestId, isWrite) {
  const body = await response.json().catch(() => ({}));
  const after = response.headers.get("Retry-After") ?? "";
  // The header contains seconds or a date.
  const seconds = /^\d+$/.test(after) ? Number(after) : Math.max(0, Math.ceil((Date.parse(after) - Date.now()) / 1000));
  return new Rejection({
    status: response.status,
    code: body?.code ?? null,
    message: body?.detail?.msg ?? body?.message ?? null,
    errors: body?.errors ?? {},
    violations: body?.violations ?? [],
    requestId,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
    isWrite,
  });
}

/** Returns a response's tag, or null if it has none. Compressing proxies make tags weak, but `If-Match` needs strong tags. */
function tagOf(response) {
  return response.headers.get("ETag")?.replace(/^W\//, "") ?? null;
}

/** Sends a request, and returns the status, JSON body and tag of the response. Throws a `Rejection`. */
export async function call(method, path, options = {}) {
  const { response, requestId } = await open(method, path, options);
  const isWrite = method !== "GET";
  try {
    return { status: response.status, body: await response.json(), tag: tagOf(response), requestId };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Rejection({ status: 0, cause: "broken", requestId, isWrite });
  }
}

/** Caches the result of an async function, unless it fails. */
export function once(read) {
  let found = null;
  return () => {
    found ??= read().catch((error) => {
      found = null;
      throw error;
    });
    return found;
  };
}

/** Streams the text of a response to `onPiece`. Returns the request ID. Throws a `Rejection`, including when the response breaks off. */
export async function readText(path, options, onPiece, signal) {
  const { response, requestId } = await open("GET", path, { ...options, signal, timeout: LIST_TIMEOUT });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) onPiece(piece.value);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Rejection({ status: 0, cause: "broken", requestId });
  }
  return requestId;
}

/** Returns all records of a list that match the filters in `query`. Throws a `Rejection`. */
export async function readList(path, query, signal) {
  const records = [];
  let rest = "";
  const requestId = await readText(path, { query, accept: "application/x-ndjson" }, (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) records.push(JSON.parse(line));
  }, signal);
  if (rest !== "") throw new Rejection({ status: 0, cause: "broken", requestId });
  return records;
}

/** Waits for a number of seconds, or rejects when the signal aborts. */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

/** Retries a request after 429 and 503 responses, with the delays that the service requests. `onWait` receives the rejection. */
export async function patiently(send, signal, onWait) {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof Rejection) || ![429, 503].includes(error.status) || attempts === PATIENCE) throw error;
      onWait(error);
      await pause(Math.min(error.retryAfter ?? 1, 60), signal);
    }
  }
}
