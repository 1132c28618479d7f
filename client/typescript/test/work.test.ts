/** Tests case work, erasure, the audit and webhooks against a running service (see support.ts). */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { Changed, Invalid } from "affiliate-compliance";

import { affiliate, all, client, refusal } from "./support.js";

const INFRACTION = { infraction_type: "Health Claim", infraction_name: "weight loss" };

/** Opens a case for a new affiliate. */
async function openCase(): Promise<{ id: number; affiliateId: number; key: string }> {
  const [key, affiliateId] = [randomUUID(), await client.createAffiliate(affiliate())];
  const id = await client.openCase({ request_id: key, case: { affiliate_id: affiliateId, risk_level: "High" } });
  return { id, affiliateId, key };
}

test("request_id opens only one case", async () => {
  const { id, affiliateId, key } = await openCase();
  assert.equal(await client.openCase({ request_id: key, case: { affiliate_id: affiliateId, risk_level: "High" } }), id);
  const unknown = await refusal(client.openCase({ request_id: randomUUID(), case: { affiliate_id: 2 ** 53 - 1 } }));
  assert.deepEqual([unknown.status, unknown.code], [404, "1025"]);
});

test("case is updated, resolved, closed and reopened", async () => {
  const { id } = await openCase();
  const [read, etag] = await client.caseWithEtag(id);
  assert.deepEqual([read.case_status, read.risk_level], ["New", "High"]);
  const next = await client.updateCase(id, { case_worker: "Bea", tags: ["urgent"] }, { ifMatch: etag });
  const resolved = await client.resolveCase(id, {}, { ifMatch: next });
  assert.equal((await client.case(id)).case_status, "Resolved");
  const closed = await client.closeCase(id, { case_status: "Rejected" }, { ifMatch: resolved });
  assert.equal((await client.case(id)).case_status, "Rejected");
  await client.reopenCase(id, {}, { ifMatch: closed });
  const { case_status, case_worker, tags, closed_date } = await client.case(id);
  assert.deepEqual([case_status, case_worker, tags, closed_date], ["Open", "Bea", ["urgent"], null]);
});

test("stale etag rejects case actions", async () => {
  const { id } = await openCase();
  const [, ifMatch] = await client.caseWithEtag(id);
  await client.updateCase(id, { case_worker: "Bea" });
  for (const action of [client.updateCase, client.resolveCase, client.closeCase, client.reopenCase]) {
    assert.ok((await refusal(action.call(client, id, {}, { ifMatch }))) instanceof Changed);
  }
  assert.equal((await client.case(id)).case_status, "New");
});

test("incidents are attached and detached", async () => {
  const { id } = await openCase();
  const [added] = await client.addUrls([`https://example.org/${randomUUID()}`]);
  const results = await client.attachIncidents(id, [
    { incident_type: "url", url_id: added?.id ?? 0, ...INFRACTION },
    { incident_type: "display ad", reference: "ad 7" },
    { incident_type: "url", url_id: 2 ** 53 - 1 },
    { incident_type: "url", url_id: added?.id ?? 0, infraction_type: "no such type" },
  ]);
  assert.deepEqual(results.map(({ ok, code }) => [ok, code]), [[true, "1020"], [true, "1020"], [false, "1025"], [false, "1021"]]);
  const { incidents } = await client.case(id);
  assert.deepEqual(incidents.map((one) => one.incident_id), results.slice(0, 2).map((one) => one.id));
  const detached = await client.detachIncidents(id, [{ incident_id: results[0]?.id ?? 0 }, { incident_type: "display ad", reference: "ad 7" }]);
  assert.deepEqual(detached.map(({ ok }) => ok), [true, true]);
  assert.deepEqual((await client.case(id)).incidents, []);
  assert.deepEqual([await client.attachIncidents(id, []), await client.detachIncidents(id, [])], [[], []]);
});

test("URL review is saved", async () => {
  const [added] = await client.addUrls([`https://example.org/${randomUUID()}`]);
  const id = added?.id ?? 0;
  await client.reviewUrl(id, { incident_status: "In Violation", disabled: "yes", infractions: [INFRACTION] });
  const url = await client.url(id);
  assert.deepEqual([url.incident_status, url.disabled, url.infractions[0]?.infraction_name], ["In Violation", "yes", "weight loss"]);
  assert.notEqual(url.last_review_date, null);
  const refused = await refusal(client.reviewUrl(id, { incident_status: "no such status" }));
  assert.ok(refused instanceof Invalid && "incident_status" in refused.violations);
});

test("stale etag rejects a URL review", async () => {
  const id = (await client.addUrls([`https://example.org/${randomUUID()}`]))[0]?.id ?? 0;
  const [, etag] = await client.urlWithEtag(id);
  assert.equal(await client.urlIfChanged(id, etag), undefined);
  const next = await client.reviewUrl(id, { note: "mine" }, { ifMatch: etag });
  assert.ok((await refusal(client.reviewUrl(id, { note: "theirs" }, { ifMatch: etag }))) instanceof Changed);
  assert.ok(await client.urlIfChanged(id, etag));
  assert.equal((await client.url(id)).note, "mine");
  await client.reviewUrl(id, { note: "mine again" }, { ifMatch: next });
});

test("asOf and the audit show past values", async () => {
  const { id, affiliateId } = await openCase();
  const [opened] = await all(client.audit({ resource: "case", id }));
  const asOf = opened?.time ?? "";
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await client.updateCase(id, { risk_level: "Low" });
  assert.equal((await client.case(id)).risk_level, "Low");
  assert.deepEqual([(await client.case(id, { asOf })).risk_level, (await client.affiliate(affiliateId, { asOf })).id], ["High", affiliateId]);
  const changes = await all(client.audit({ resource: "case", id, from: asOf }));
  assert.deepEqual(changes.map(({ operation }) => operation), ["updated", "created"]);
  const changed = changes[0]?.fields.find(({ field }) => field.startsWith("risk_level"));
  assert.ok(changed, JSON.stringify(changes[0]?.fields));
  const before = await refusal(client.case(id, { asOf: "2020-01-01 00:00:00" }));
  assert.ok([404, 410].includes(before.status), before.message);
});

test("erasure deletes the affiliate with its cases", async () => {
  const { id, affiliateId } = await openCase();
  const [, etag] = await client.affiliateWithEtag(affiliateId);
  await client.updateAffiliate({ id: affiliateId, city: "Bern" });
  assert.ok((await refusal(client.eraseAffiliate(affiliateId, { ifMatch: etag }))) instanceof Changed);
  const { cases, urls } = await client.eraseAffiliate(affiliateId);
  assert.deepEqual([cases, urls], [1, 0]);
  assert.deepEqual([(await refusal(client.case(id))).status, (await refusal(client.eraseAffiliate(affiliateId))).status], [404, 404]);
});

test("webhook is created, updated, tested and deleted", async () => {
  const { webhooks } = client;
  // Names under `.invalid` never resolve (RFC 6761), so the service sends nothing.
  const url = `https://hooks.invalid/${randomUUID()}`;
  const { webhook, secret } = await webhooks.create({ url, types: ["case"] });
  assert.deepEqual([webhook.url, webhook.types, secret.startsWith("whsec_")], [url, ["case"], true]);
  assert.notEqual((await webhooks.rotateSecret(webhook.id)).secret, secret);
  const tested = await webhooks.test(webhook.id);
  assert.deepEqual([tested.http_status, typeof tested.error], [null, "string"]);
  const updated = await webhooks.update(webhook.id, { status: "disabled", description: "Leads" });
  assert.deepEqual([updated.status, updated.description], ["disabled", "Leads"]);
  assert.deepEqual((await webhooks.read(webhook.id)).description, "Leads");
  assert.ok(Array.isArray(await webhooks.deliveries(webhook.id, 5)));
  assert.ok((await webhooks.list()).some(({ id }) => id === webhook.id));
  await webhooks.delete(webhook.id);
  assert.equal((await refusal(webhooks.read(webhook.id))).status, 404);
});
