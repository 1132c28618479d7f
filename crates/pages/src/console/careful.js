// Changes records in bulk. Skips and reports records that someone else has changed since the list showed them.

import { count } from "./elements.js";
import { inLabels } from "./description.js";
import { latestAuthor } from "./history-words.js";
import { sentence } from "./rejections.js";
import { call, patiently, Rejection } from "./requests.js";

/** Maximum number of concurrent requests. */
const TOGETHER = 4;
const ATTEMPTS = 3;

/**
 * @param {any} item
 * @param {any} options
 */
async function change({ id, seen, tag: known, wanted, body }, { section, method, isSame, signal, button }) {
  const onWait = (rejection) => {
    button.textContent = sentence(rejection);
  };
  const address = `api/${section}/${id}`;
  let before = null;
  try {
    for (let attempts = 1; attempts <= ATTEMPTS; attempts += 1) {
      let tag = known;
      if (known === undefined || attempts > 1) {
        const read = await patiently(() => call("GET", address, { signal }), signal, onWait);
        [before, tag] = [read.body.data, read.tag];
        if (known !== undefined || !isSame(seen, before)) {
          // The response to an earlier attempt may have been lost.
          if (isSame(wanted, before)) return { id, before: seen, tag, why: null };
          break;
        }
      }
      try {
        const { tag: after } = await patiently(() => call(method, address, { body, signal, ifMatch: tag }), signal, onWait);
        return { id, before, tag: after, why: null };
      } catch (error) {
        if (error.status !== 412) throw error;
        // A crawler or other program may have changed other fields, so read the record again and compare.
      }
    }
    return { id, before, why: `${await latestAuthor(section, id, signal) ?? "Someone else"} has changed this record since you loaded it.`, isChanged: true };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const reasons = Object.entries(error.errors).flatMap(([path, texts]) => texts.map((text) => inLabels(path, text))).join(" ");
    return { id, before, why: reasons || (error.status !== 401 && error.message) || sentence(error), isSignedOut: error.status === 401 };
  }
}

/**
 * Changes records individually. An item contains an `id`, the `body` to send, the record as `wanted` after the change, and either `seen`,
 * the record as the list showed it, or the `tag` that it must still have. `isSame` compares two states of a record. `button` shows the
 * progress. Returns the results as `done` and `failed`, and whether the user `isSignedOut`. A result contains the record `before` the change,
 * the new `tag`, and `why` the change failed. `isChanged` means that someone else has changed the record.
 */
export async function changeEach(items, options) {
  const waiting = [...items];
  const results = [];
  let isSignedOut = false;
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const result = isSignedOut ? { id: next.id, before: null, why: "You are not signed in." } : await change(next, options);
      isSignedOut ||= result.isSignedOut ?? false;
      results.push(result);
      options.button.textContent = `Saving ${count(results.length)} of ${count(items.length)}…`;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
  return { done: results.filter(({ why }) => why === null), failed: results.filter(({ why }) => why !== null), isSignedOut };
}
