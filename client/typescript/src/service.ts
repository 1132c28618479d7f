/** The client: types of the OpenAPI document, a token, and requests that are repeated. */

import { setTimeout as sleep } from "node:timers/promises";

import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type Service = Client<paths>;

/** How long, and how often, requests are tried. */
export interface Limits {
  /** Tries of a request, the first one included. */
  tries: number;
  /** Milliseconds that a try may take, the body of the response included. */
  timeout: number;
  /** Milliseconds before the second try; doubled with each further one, and varied at random. */
  firstWait: number;
}

const LIMITS: Limits = { tries: 5, timeout: 60_000, firstWait: 250 };

/** After these the same request may succeed: the limit is used up, the service is busy, the response took too long. */
const AGAIN = [429, 503, 504];

/** A client of the service at `base`, such as `http://127.0.0.1:8080`. */
export function connect(base: string, token: string, limits: Partial<Limits> = {}): Service {
  const all = { ...LIMITS, ...limits };
  return createClient<paths>({
    baseUrl: base,
    headers: { Authorization: `Bearer ${token}` },
    fetch: (request) => fetchAgain(request, all),
  });
}

/**
 * Sends a request, and sends it again when the service asks for it or did not respond. All requests may be repeated: a creation
 * whose response was lost is then reported as a duplicate.
 */
async function fetchAgain(request: Request, limits: Limits): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= limits.tries;
    let wait = limits.firstWait * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    try {
      const response = await fetch(request.clone(), { signal: AbortSignal.timeout(limits.timeout) });
      if (isLast || !AGAIN.includes(response.status)) {
        return response;
      }
      await response.body?.cancel();
      wait += 1000 * Number(response.headers.get("Retry-After") ?? 0);
    } catch (error) {
      if (isLast) {
        throw error;
      }
    }
    await sleep(wait);
  }
}

/** The service refused a request. */
export class Refusal extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The result code; none for a violation of the rules. */
  readonly code: string | undefined;
  /** Messages by path, of a request that violates the rules (422). */
  readonly errors: Record<string, string[]>;
  /** Names the request in the service's logs. */
  readonly requestId: string | null;

  constructor(response: Response, body: Schemas["Error"] | Schemas["ValidationFailure"] | undefined) {
    const isInvalid = body !== undefined && "errors" in body;
    const sentence = isInvalid ? body.message : body?.detail?.msg;
    super(`${response.status}: ${sentence ?? response.statusText}`);
    this.name = "Refusal";
    this.status = response.status;
    this.code = isInvalid ? undefined : body?.code;
    this.errors = isInvalid ? body.errors : {};
    this.requestId = response.headers.get("X-Request-Id");
  }
}
