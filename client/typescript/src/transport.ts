/** Sends requests, with a token, timeouts, retries and typed errors. */

import { Changed, Invalid, Refused, Unavailable } from "./errors.js";

/** A token, or a function that returns a valid token. The client calls the function for each request. */
export type Token = string | (() => string | Promise<string>);

/** Settings for attempts, timeouts and warnings. */
export interface Options {
  /** Maximum number of attempts per request, including the first. */
  tries: number;
  /** Maximum wait for a response to start, and maximum pause within it, in milliseconds. */
  timeout: number;
  /** Receives a warning if the service ignores fields or parameters, such as typos. */
  warn: (sentence: string) => void;
}

const OPTIONS: Options = { tries: 8, timeout: 60_000, warn: (sentence) => console.warn(sentence) };
/** Status codes that the client retries. Only proxies send 502. */
const AGAIN = [429, 502, 503, 504];
/** Codes of a port without TLS, and of an invalid certificate. The client does not retry after these. */
const PERMANENT = /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_TLS_CERT_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** Milliseconds before the second attempt. The wait doubles with each attempt, up to LONGEST_WAIT, with random jitter. */
const FIRST_WAIT = 250;
const LONGEST_WAIT = 30_000;
/** Longest `Retry-After` to obey, in milliseconds. If the service asks for a longer wait, the client throws the error. */
const LONGEST_RETRY_AFTER = 300_000;
/** Maximum characters of a proxy's response to show in an error. */
const SHOWN = 200;

export interface Request {
  method: string;
  path: string;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answer {
  /** Undefined if the record has not changed (304). */
  json: unknown;
  /** The `ETag` header, or an empty string. */
  etag: string;
}

export class Transport {
  readonly #base: string;
  readonly #token: Token;
  readonly #options: Options;

  constructor(base: string, token: Token, options: Partial<Options>) {
    this.#base = checkedBase(base);
    this.#token = typeof token === "function" ? token : checkedToken(token);
    this.#options = { ...OPTIONS, ...options };
  }

  /** Returns the whole response. */
  async call(request: Request): Promise<Answer> {
    const tries = this.tries();
    for (;;) {
      try {
        const [response, parts] = await this.open(request);
        const body = await text(parts);
        return { json: response.status === 304 ? undefined : JSON.parse(body), etag: response.headers.get("ETag") ?? "" };
      } catch (error) {
        await tries.again(error);
      }
    }
  }

  tries(): Tries {
    return new Tries(this.#options.tries);
  }

  /** Returns a successful response, and its parts as they arrive. */
  async open(request: Request): Promise<[Response, AsyncIterable<Uint8Array>]> {
    let [response, parts] = await this.#send(request);
    if (response.status === 401 && typeof this.#token === "function") {
      // The token may have expired in transit.
      await text(parts);
      [response, parts] = await this.#send(request);
    }
    if ([200, 201, 207, 304].includes(response.status)) {
      return [response, parts];
    }
    const refused = refusal(response, await text(parts));
    throw AGAIN.includes(response.status) ? new Busy(refused, wait(response.headers.get("Retry-After"))) : refused;
  }

  async #send({ method, path, query, body, headers: more }: Request): Promise<[Response, AsyncIterable<Uint8Array>]> {
    const url = new URL(this.#base + pathOf(path));
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) {
          url.searchParams.append(name, one instanceof Date ? one.toISOString() : String(one));
        }
      }
    }
    const token = typeof this.#token === "string" ? this.#token : checkedToken(await this.#token());
    const headers = { Authorization: `Bearer ${token}`, Accept: "application/json", ...more };
    const abort = new AbortController();
    const response = await within(this.#base, this.#options.timeout, abort, () =>
      fetch(url, {
        method,
        // Some frameworks cache responses by default.
        cache: "no-store",
        // A redirect would turn a PUT into a GET.
        redirect: "manual",
        signal: abort.signal,
        ...(body === undefined ? { headers } : { headers: { ...headers, "Content-Type": kindOf(body) }, body: bytesOf(body) }),
      }),
    );
    for (const what of ["Fields", "Parameters"]) {
      const names = response.headers.get(`X-Ignored-${what}`);
      if (names !== null) {
        const decoded = decodeURIComponent(names.replaceAll("+", " "));
        this.#options.warn(`${method} ${path}: the service ignored these ${what.toLowerCase()}: ${decoded}`);
      }
    }
    return [response, bodyOf(this.#base, response, this.#options.timeout, abort)];
  }
}

/** Counts a request's attempts, and waits between them. */
export class Tries {
  #left: number;
  #wait = FIRST_WAIT;

  constructor(tries: number) {
    this.#left = tries;
  }

  /** Waits before the next attempt, or throws this error. */
  async again(error: unknown): Promise<void> {
    this.#left -= 1;
    // A truncated body is not valid JSON.
    const problem = error instanceof SyntaxError ? new Unavailable(error.message, { cause: error }) : error;
    const retryAfter = problem instanceof Busy ? problem.retryAfter : 0;
    const mayRepeat = problem instanceof Busy || (problem instanceof Unavailable && !PERMANENT.test(codeOf(problem.cause)));
    if (!mayRepeat || this.#left <= 0 || retryAfter > LONGEST_RETRY_AFTER) {
      throw problem instanceof Busy ? problem.refused : problem;
    }
    const wait = Math.max(retryAfter, this.#wait * (0.5 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** The service is busy, and the client can retry the request. */
class Busy extends Error {
  constructor(
    readonly refused: Refused,
    readonly retryAfter: number,
  ) {
    super(refused.message);
  }
}

/** Aborts `wait` after `timeout` milliseconds. */
async function within<T>(base: string, timeout: number, abort: AbortController, wait: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => abort.abort(new Error(`no response within ${timeout / 1000} s`)), timeout);
  try {
    return await wait();
  } catch (error) {
    const { message, cause } = error as Error;
    const code = codeOf(error);
    const why = code === "ERR_SSL_WRONG_VERSION_NUMBER" ? "the port seems to use http, not https" : (cause instanceof Error && cause.message) || code || message;
    throw new Unavailable(`no complete response from ${base}: ${why}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the code of an error's cause, such as `ENOTFOUND`, or an empty string. */
function codeOf(error: unknown): string {
  const cause = (error as Error | undefined)?.cause as { code?: string } | undefined;
  return cause?.code ?? "";
}

async function* bodyOf(base: string, response: Response, timeout: number, abort: AbortController): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    while (reader) {
      const part = await within(base, timeout, abort, () => reader.read());
      if (part.done) {
        return;
      }
      yield part.value;
    }
  } finally {
    // Discards the rest of the body.
    abort.abort();
  }
}

async function text(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  for await (const part of parts) {
    texts.push(decoder.decode(part, { stream: true }));
  }
  return texts.join("") + decoder.decode();
}

function refusal(response: Response, body: string): Refused {
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const Kind = response.status === 412 ? Changed : Refused;
  try {
    const { code, detail, message, errors } = JSON.parse(body);
    if (response.status === 422 && errors) {
      return new Invalid(message, errors, requestId);
    }
    return new Kind(response.status, code, detail.msg, requestId, detail);
  } catch {
    return new Kind(response.status, undefined, body.slice(0, SHOWN) || response.statusText, requestId);
  }
}

/** Returns the service's address without `/api`, which `pathOf` adds. Errors never contain the address, because it can be a misplaced token. */
function checkedBase(base: string): string {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username + url.password + url.search + url.hash !== "") {
    throw new TypeError("the address is not a valid service URL, such as https://compliance.example. It must not contain a user name, query or fragment");
  }
  return url.href.replace(/\/+$/, "").replace(/\/api$/, "").replace(/\/+$/, "");
}

/** Returns the path with the prefix `/api`, which callers can omit. */
function pathOf(path: string): string {
  const rooted = `/${path.replace(/^\/+/, "")}`;
  return rooted.startsWith("/api/") ? rooted : `/api${rooted}`;
}

/** Returns the content type of a body: a file, or JSON. */
function kindOf(body: unknown): string {
  if (!(body instanceof Uint8Array)) {
    return "application/json";
  }
  return body[0] === 0x50 && body[1] === 0x4b ? "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" : "text/csv";
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> | string {
  return body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
}

/** Returns the token without surrounding whitespace, such as a trailing newline. Errors never contain the token. */
function checkedToken(text: string): string {
  if (typeof text !== "string") {
    throw new TypeError(`the token is ${text}, not a string or a function`);
  }
  const token = text.trim();
  if (/^bearer /i.test(token)) {
    throw new TypeError("the token is invalid: remove the prefix Bearer");
  }
  // RFC 6750
  if (!/^[\w.~+/-]+=*$/.test(token)) {
    const reason = "the token is invalid: it contains a space, a line break or another invalid character";
    throw new TypeError(token === "" ? "the token is empty" : reason);
  }
  return token;
}

/** Returns the wait from a `Retry-After` header, in milliseconds. Returns 0 if the header contains neither seconds nor a date. */
export function wait(retryAfter: string | null): number {
  // The oldest format of HTTP dates ends with the year. It is UTC, but JavaScript reads it as local time.
  const text = (retryAfter ?? "").replace(/ \d{4}$/, "$& GMT");
  const wait = /^\d+$/.test(text) ? 1000 * Number(text) : Date.parse(text) - Date.now();
  return wait > 0 ? wait : 0;
}
