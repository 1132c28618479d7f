// The names that fields can have, with their IDs: those of every company, and those that the company has added.

import { call } from "./requests.js";

/** The entries of each vocabulary, by its name. */
export async function vocabularies(signal) {
  const { body } = await call("GET", "api/vocabularies", { signal });
  return new Map(body.data.map(({ vocabulary, entries }) => [vocabulary, entries]));
}
