// The names that fields can have, with their IDs: default names and the company's own names.

import { call } from "./requests.js";

/** The entries of each vocabulary, by its name. */
export async function vocabularies(signal) {
  const { body } = await call("GET", "api/vocabularies", { signal });
  return new Map(body.data.map(({ vocabulary, entries }) => [vocabulary, entries]));
}
