/**
 * Helpers for the tests, which need a running service: `BASE=http://127.0.0.1:8080 TOKEN=… npm test`. The token needs the scopes `cases`,
 * `webhooks`, `audit` and `erase`.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { type AffiliateCreate, Client, Refused } from "affiliate-compliance";

export const { BASE = "", TOKEN = "" } = process.env;
export const client = new Client(BASE, TOKEN);

export function affiliate(fields: Partial<AffiliateCreate> = {}): AffiliateCreate {
  return { client_affiliate_id: "A-1", affiliate_name: randomUUID(), ...fields };
}

/** Returns the `Refused` that a call throws. */
export async function refusal(call: Promise<unknown>): Promise<Refused> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof Refused, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "the call did not throw Refused" });
}

export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) {
    found.push(one);
  }
  return found;
}
