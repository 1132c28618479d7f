// Requests to the service: the public operations under `api`, and the description of the interface.

import { RecordStream } from "./record-stream.js";
import { token } from "./session.js";

const TIMEOUT = 60_000;
// The service takes at most 10 minutes for the list of all affiliates, unless its operator has changed that.
const LIST_TIMEOUT = 15 * 60_000;

/** A request that did not succeed. */
export class Rejection extends Error {
  /**
   * @param {object} details `status`: of HTTP, or 0 if there was no (whole) response; `cause`: `network`, `timeout` or
   *   `broken` if so; `code` and `message` of the envelope; `errors` by path of a 422; `requestId`; `retryAfter` in seconds;
   *   `isWrite`: whether records may have changed.
   */
  constructor(details) {
    super(details.message ?? `status ${details.status}`);
    Object.assign(this, { code: null, cause: null, errors: {}, retryAfter: null, isWrite: false }, details);
  }
}

/** An ID from this page, so that a request without a response also has one. */
function newRequestId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The error of `fetch` as a rejection; the error of a view that was left stays unchanged. */
function asRejection(error, requestId, isWrite, signal) {
  if (error instanceof Rejection || signal?.aborted) return error;
  const cause = error.name === "TimeoutError" ? "timeout" : "network";
  return new Rejection({ status: 0, cause, requestId, isWrite });
}

async function open(method, path, { query = {}, body, signal, timeout = TIMEOUT, bearer = token(), ifMatch = null }) {
  const requestId = newRequestId();
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = { "X-Request-Id": requestId, Accept: "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (ifMatch !== null) headers["If-Match"] = ifMatch;
  const limits = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  const response = await fetch(url, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
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

/** Throws the error in the response, if it is not a success. */
async function refuse(response, requestId, isWrite) {
  if (response.ok) return;
  const body = await response.json().catch(() => ({}));
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new Rejection({
    status: response.status,
    code: body?.code ?? null,
    message: body?.detail?.msg ?? body?.message ?? null,
    errors: body?.errors ?? {},
    requestId,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
    isWrite,
  });
}

/** The tag of a response, or null. A proxy that compresses makes the tag weak, and changes cannot use weak tags. */
function tagOf(response) {
  return response.headers.get("ETag")?.replace(/^W\//, "") ?? null;
}

/** Sends a request; returns the status, the JSON and the tag of the response. Throws a `Rejection`. */
export async function call(method, path, options = {}) {
  const { response, requestId } = await open(method, path, options);
  const isWrite = method !== "GET";
  await refuse(response, requestId, isWrite);
  try {
    return { status: response.status, body: await response.json(), tag: tagOf(response), requestId };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Rejection({ status: 0, cause: "broken", requestId, isWrite });
  }
}

/**
 * Reads a list, each record as it arrives, until it ends or `isEnough`. Returns whether it has ended. Throws a `Rejection`, including if the
 * list breaks off.
 */
export async function readList(path, onRecord, signal, isEnough = () => false) {
  const { response, requestId } = await open("GET", path, { signal, timeout: LIST_TIMEOUT });
  await refuse(response, requestId, false);
  const records = new RecordStream(onRecord);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      records.push(piece.value);
      if (isEnough()) {
        await reader.cancel();
        return false;
      }
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Rejection({ status: 0, cause: "broken", requestId });
  }
  if (!records.isComplete) throw new Rejection({ status: 0, cause: "broken", requestId });
  return true;
}
