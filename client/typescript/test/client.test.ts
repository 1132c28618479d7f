/** Tests affiliates, lists and retries against a running service (see support.ts). */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import dns from "node:dns";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { type Affiliate, type AffiliateCreate, Changed, Client, Invalid, Unavailable } from "affiliate-compliance";

import { events, records } from "../src/stream.js";
import { wait } from "../src/transport.js";
import { affiliate, all, BASE, client, refusal, TOKEN } from "./support.js";

test("affiliate is created, updated and listed", async () => {
  const created = affiliate({ status: "active", country: "us", email_one: "", start_date: "01/31/2026" });
  const id = await client.createAffiliate(created);
  await client.updateAffiliate({ id, status: "probation", start_date: null });
  const read: Affiliate = await client.affiliate(id);
  assert.deepEqual([read.distributor_name, read.country, read.email_one], [created.affiliate_name, 840, null]);
  assert.deepEqual([read.distributor_status, read.start_date], ["probation", null]);
  assert.deepEqual((await all(client.affiliates())).find((other) => other.id === id), read);
  assert.deepEqual(await all(client.affiliates({ q: `${read.distributor_name}`, country: "us" })), [read]);
});

test("ignored fields and parameters are reported", async () => {
  const heard: string[] = [];
  const client = new Client(BASE, TOKEN, { warn: (sentence) => heard.push(sentence.split("ignored ")[1] ?? "") });
  const id = await client.createAffiliate({ ...affiliate(), town: "Bern" } as AffiliateCreate);
  await client.call("PUT", `/api/affiliates/${id}`, { query: { "a b": 1 }, body: { id, distributor_name: "New" } });
  await refusal(client.createAffiliate({ town: "Bern" } as unknown as AffiliateCreate));
  await client.updateAffiliate({ id, city: "Bern" });
  assert.deepEqual(heard, ["these fields: town", "these fields: distributor_name", "these parameters: a b", "these fields: town"]);
});

test("batch returns one result per item", async () => {
  const [one, two] = [affiliate(), affiliate({ country: "ZZ" })];
  const results = await client.createAffiliates([one, one, two]);
  assert.deepEqual(results.map(({ ok, code }) => [ok, code]), [[true, "1020"], [false, "1023"], [false, "1024"]]);
  const id = results[0]?.id ?? 0;
  const updates = await client.updateAffiliates([{ id, city: "Bern" }, { id, country: "ZZ" }, { id: 2 ** 53 - 1 }]);
  assert.deepEqual(updates.map(({ code }) => code), ["1020", "1021", "1025"]);
  assert.deepEqual([await client.createAffiliates([]), await client.addUrls([])], [[], []]);
});

test("lists read every page", async () => {
  const name = randomUUID();
  const results = await client.addUrls(Array.from({ length: 25 }, (_, number) => `https://example.org/${name}/${number % 20}`));
  assert.deepEqual(results.map(({ code }) => code), [...Array(20).fill("1020"), ...Array(5).fill("1023")]);
  const listed = (await all(client.urls({ perPage: 7, disabled: "no" }))).map(({ id }) => id);
  assert.deepEqual(listed, [...new Set(listed)].sort((one, other) => one - other));
  assert.ok(results.slice(0, 20).every(({ id }) => listed.includes(id ?? 0)));
  assert.equal((await client.url(listed[0] ?? 0)).id, listed[0]);
  const cases = await all(client.cases({ perPage: 3 }));
  assert.deepEqual(cases, await all(client.cases()));
  assert.deepEqual(await client.case(cases[0]?.case_id ?? 0), cases[0]);
});

test("whole lists reject sorting and paging", async () => {
  const wrong: object = { sort_by: "id", page: 3 };
  for (const list of [client.affiliates(wrong), client.urls(wrong), client.cases(wrong)]) {
    await assert.rejects(all<unknown>(list), { name: "TypeError", message: /without sort_by, page\. To read a single page, use call/ });
  }
  const query = { sort_by: "discovery_dt", page: 2, per_page: 1 };
  const page = (await client.call("GET", "/urls", { query })) as { data: unknown[]; meta: { current_page: number } };
  assert.deepEqual([page.meta.current_page, page.data.length], [2, 1]);
});

test("query values have the form that the service reads", async () => {
  const query = { as_of: new Date(), status: null, country: undefined };
  const [first] = await all(client.affiliates());
  const read = (await client.call("GET", `/affiliates/${first?.id}`, { query })) as { data: Affiliate };
  assert.deepEqual(read.data.id, first?.id);
});

test("call rejects misplaced options", async () => {
  const reason = { name: "TypeError", message: /^call takes one object with options/ };
  await assert.rejects(client.call("GET", "/urls", { page: 2 } as never), reason);
  await assert.rejects(client.call("POST", "/urls", undefined, { urls: [] } as never), reason);
});

test("violations are reported by path without saving", async () => {
  const good = affiliate();
  const refused = await refusal(client.createAffiliates([good, affiliate({ email_one: "nobody", zip: "8".repeat(17) })]));
  assert.ok(refused instanceof Invalid);
  assert.deepEqual(Object.keys(refused.violations), ["affiliates.1.email_one", "affiliates.1.zip"]);
  assert.deepEqual([refused.status, refused.code], [422, undefined]);
  assert.ok((await all(client.affiliates())).every(({ distributor_name: name }) => name !== good.affiliate_name));
});

test("duplicate name and invalid token return their code", async () => {
  const one = affiliate();
  await client.createAffiliate(one);
  const taken = await refusal(client.createAffiliate(one));
  assert.deepEqual([taken.status, taken.code, taken.detail.client_affiliate_id], [409, "1023", "A-1"]);
  assert.ok(taken.requestId);
  const unknown = await refusal(new Client(BASE, "nonsense").case(1));
  assert.deepEqual([unknown.status, unknown.code, unknown.message], [401, "401", "401: The bearer token is invalid."]);
});

test("update with a stale etag is rejected", async () => {
  const id = await client.createAffiliate(affiliate());
  const [read, etag] = await client.affiliateWithEtag(id);
  assert.deepEqual([read, await client.affiliateIfChanged(id, etag)], [await client.affiliate(id), undefined]);
  const next = await client.updateAffiliate({ id, city: "Bern" }, { ifMatch: etag });
  const refused = await refusal(client.updateAffiliate({ id, city: "Genf" }, { ifMatch: etag }));
  assert.ok(refused instanceof Changed);
  assert.deepEqual([refused.name, refused.status, refused.code], ["Changed", 412, "412"]);
  assert.deepEqual(await client.affiliateIfChanged(id, etag), [{ ...read, city: "Bern" }, next]);
  assert.notEqual(await client.updateAffiliate({ id, city: "Genf" }, { ifMatch: next }), next);
  const empty = await refusal(client.updateAffiliate({ id }, { ifMatch: "" }));
  assert.ok(empty instanceof Invalid && "If-Match" in empty.violations);
});

test("retry after a lost response throws Changed", async (context) => {
  const id = await client.createAffiliate(affiliate());
  const [, etag] = await client.affiliateWithEtag(id);
  const [address, seen] = await failing(context, ["lost", 503, "lost after"]);
  const refused = await refusal(new Client(address, TOKEN).updateAffiliate({ id, city: "Bern" }, { ifMatch: etag }));
  assert.ok(refused instanceof Changed);
  assert.deepEqual(seen, ["PUT lost", "PUT 503", "PUT lost after", "PUT passes"]);
  assert.equal((await client.affiliate(id)).city, "Bern");
});

test("caseIfChanged compares etags", async () => {
  const id = (await client.cases().next()).value?.case_id ?? 0;
  const [read, etag] = await client.caseWithEtag(id);
  assert.deepEqual([read, await client.caseIfChanged(id, etag)], [await client.case(id), undefined]);
  assert.deepEqual(await client.caseIfChanged(id, '"another"'), [read, etag]);
});

test("search matches substrings", async () => {
  const name = randomUUID();
  const ids: number[] = [];
  for (const number of [0, 1, 2]) {
    ids.push(await client.createAffiliate(affiliate({ affiliate_name: `${name} É & ${number}%` })));
  }
  const found = async (text: string, limit?: number) => (await client.searchAffiliates(text, limit)).map(({ id }) => id);
  assert.deepEqual(await found(`${name.toUpperCase()} é &`), ids);
  assert.deepEqual([await found(name, 2), await found(`${name} é & 1%`)], [ids.slice(0, 2), ids.slice(1, 2)]);
  const urls = await client.addUrls([0, 1, 2].map((number) => `https://example.org/${name}?a=${number}`));
  assert.deepEqual((await client.searchUrls(`${name}?A=`)).map(({ id }) => id), urls.map(({ id }) => id).reverse());
  assert.equal((await client.searchUrls(name, 1)).length, 1);
  const invalid = await refusal(client.searchUrls("ab"));
  assert.ok(invalid instanceof Invalid && "q" in invalid.violations);
});

test("overview counts new URLs", async () => {
  const before = await client.overview();
  await client.addUrls([`https://example.org/${randomUUID()}`]);
  const { cases, urls, weeks } = await client.overview();
  assert.equal(urls.total, before.urls.total + 1);
  assert.deepEqual([weeks.length, (weeks[0]?.from ?? "") < (weeks[11]?.from ?? "")], [12, true]);
  assert.ok((weeks[11]?.new_urls ?? 0) > 0);
  assert.equal(cases.by_risk.reduce((sum, { open }) => sum + open, 0), cases.open);
});

test("expired token is replaced", async () => {
  const tokens = ["expired", TOKEN];
  assert.ok(await new Client(BASE, () => tokens.shift() ?? "").createAffiliate(affiliate()));
  assert.equal(tokens.length, 0);
});

test("tokens are stripped and never shown in errors", async () => {
  for (const token of [`${TOKEN}\n`, `\t ${TOKEN}\r\n`]) {
    assert.equal((await new Client(BASE, token).overview()).weeks.length, 12);
    assert.equal((await new Client(BASE, async () => token).overview()).weeks.length, 12);
  }
  const isUnseen = (error: unknown) => error instanceof TypeError && error.message.startsWith("the token is ") && !error.message.includes("secr");
  for (const token of ["", "\n", "secret\nsecret", "secret secret", "Bearer secret", "secret\0", "secrét", '"secret"']) {
    assert.throws(() => new Client(BASE, token), isUnseen);
    await assert.rejects(new Client(BASE, () => token).overview(), isUnseen);
  }
});

test("Bearer prefix of a token is rejected", () => {
  assert.throws(() => new Client(BASE, `Bearer ${TOKEN}`), { message: "the token is invalid: remove the prefix Bearer" });
});

test("missing tokens are rejected", async () => {
  const nothing = undefined as unknown as string;
  const reason = { name: "TypeError", message: /^the token is undefined, not a string/ };
  assert.throws(() => new Client(BASE, nothing), reason);
  await assert.rejects(new Client(BASE, () => nothing).overview(), reason);
});

test("base and paths accept the /api prefix", async () => {
  for (const base of [`${BASE}/`, `${BASE}/api`, `${BASE}/api/`, ` ${BASE}\n`]) {
    const client = new Client(base, TOKEN);
    for (const path of ["/api/overview", "/overview", "overview"]) {
      assert.deepEqual(((await client.call("GET", path)) as { data: unknown }).data, await client.overview());
    }
  }
});

test("invalid addresses are rejected", () => {
  const isUnseen = ({ message }: Error) => message.includes("is not a valid service URL, such as https:") && !message.includes("secret");
  const secrets = ["secret", "http://secret@host", "http://user:secret@host", "http://:secret@host", "http://user:secret"];
  for (const base of ["localhost:8080", "/api", "", "ftp://localhost", "http://", `${BASE}/api?x=1`, `${BASE}/#a`, ...secrets]) {
    assert.throws(() => new Client(base, TOKEN), isUnseen);
  }
});

test("requests bypass the response cache", async (context) => {
  const modes: unknown[] = [];
  const original = globalThis.fetch;
  context.after(() => (globalThis.fetch = original));
  globalThis.fetch = (url, options) => {
    modes.push(options?.cache);
    return original(url, options);
  };
  await client.overview();
  await all(client.affiliates());
  assert.deepEqual(modes, ["no-store", "no-store"]);
});

test("bytes are sent as a CSV file", async () => {
  const name = randomUUID();
  const file = new TextEncoder().encode(`client_affiliate_id,affiliate_name,Fax,Telex\n${name},${name},1,2\n`);
  const query = { columns: ["Fax=", "Telex="], validate_only: true };
  const { data } = (await client.call("POST", "/affiliates:sync", { query, body: file })) as { data: { results: { outcome: string; row: number }[] } };
  assert.deepEqual(data.results.map(({ outcome, row }) => [outcome, row]), [["created", 2]]);
});

test("addUrls accepts strings and objects", async () => {
  const name = randomUUID();
  const [one, two] = [`https://example.org/${name}/1`, `https://example.org/${name}/2`];
  assert.deepEqual((await client.addUrls([one, { url: two }, one])).map(({ code }) => code), ["1020", "1020", "1023"]);
  for (const [wrong, reason] of [[one, /a list of URLs/], [{ url: one }, /a list of URLs/], [[one, 5], /item 1 is number/], [[null], /item 0 is null/]] as const) {
    await assert.rejects(client.addUrls(wrong as never), (error: unknown) => error instanceof TypeError && reason.test(error.message));
  }
});

test("wrong fields do not compile", () => {
  // @ts-expect-error: unknown status
  affiliate({ status: "unknown" });
  // @ts-expect-error: the name is required
  const nameless: AffiliateCreate = { client_affiliate_id: "A-1" };
  assert.ok(nameless);
  // @ts-expect-error: unknown filter
  client.urls({ disbled: "no" });
});

async function* parts(bytes: Uint8Array, size: number, end = bytes.length): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < end; start += size) {
    yield bytes.subarray(start, Math.min(start + size, end));
  }
}

test("list is parsed from parts of any size", async () => {
  const bytes = Buffer.from('{"a": "}],\\"ł\u2028"}\n{"a": [1, {}]}\n');
  for (let size = 1; size < bytes.length - 1; size += 1) {
    assert.deepEqual(await all(records(parts(bytes, size))), [{ a: '}],"ł\u2028' }, { a: [1, {}] }]);
  }
  for (let end = bytes.indexOf("\n") + 2; end < bytes.length - 1; end += 1) {
    await assert.rejects(all(records(parts(bytes, bytes.length, end))), SyntaxError);
  }
});

test("events are parsed from parts of any size", async () => {
  const texts = ["a: b", "\u2028: \u2029", "\u0085ł\v"];
  const sent = texts.flatMap((text, id) => [`id:${id}`, "event: changes", `data: ${JSON.stringify([text])}`, ""]);
  const received = [{ id: "7", data: undefined }, ...texts.map((text, id) => ({ id: `${id}`, data: [text] }))];
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = Buffer.from(["retry: 1000", ": nothing new", "id: 7", "", ...sent, ": not complete"].join(end));
    for (let size = 1; size < bytes.length; size += 1) {
      assert.deepEqual(await all(events(parts(bytes, size))), received);
    }
  }
});

type Failure = Date | 429 | 503 | "lost" | "lost after" | "silent" | "half";

const accepted = ({ headers }: IncomingMessage) => ({ Authorization: headers.authorization ?? "", Accept: headers.accept ?? "" });

/** Starts a proxy that fails the first requests in these ways. Returns its address and the requests that it has seen. */
async function failing(context: TestContext, failures: Failure[]): Promise<[string, string[]]> {
  const seen: string[] = [];
  const proxy = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const failure = failures.shift();
    seen.push(`${request.method} ${failure instanceof Date ? "date" : (failure ?? "passes")}`);
    if (failure === "lost") {
      request.socket.destroy();
    } else if (failure instanceof Date) {
      response.writeHead(503, { "Retry-After": failure.toUTCString() }).end();
    } else if (typeof failure === "number") {
      const body = JSON.stringify({ code: String(failure), status: "error", detail: { msg: "Please wait." } });
      response.writeHead(failure, { "Retry-After": "1", "Content-Type": "application/json" }).end(body);
    } else if (failure === undefined || failure === "lost after") {
      const { method = "GET", headers } = request;
      const ifMatch = headers["if-match"];
      const passed = await fetch(BASE + request.url, {
        method,
        headers: { ...accepted(request), "Content-Type": headers["content-type"] ?? "", ...(ifMatch && { "If-Match": ifMatch }) },
        ...(method === "GET" ? {} : { body: Buffer.concat(chunks) }),
      });
      const body = await passed.text();
      if (failure === "lost after") {
        request.socket.destroy();
      } else {
        response.writeHead(passed.status, { "Content-Type": passed.headers.get("Content-Type") ?? "" }).end(body);
      }
    } else if (failure === "half") {
      const passed = await fetch(BASE + request.url, { headers: accepted(request) });
      const body = Buffer.from(await passed.arrayBuffer());
      response.writeHead(200, { "Content-Length": body.length, "Content-Type": passed.headers.get("Content-Type") ?? "" });
      response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
    }
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  context.after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return [`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, seen];
}

test("requests are retried, and obey Retry-After", async (context) => {
  const [address, seen] = await failing(context, [429, "lost", 503, "silent"]);
  const start = performance.now();
  assert.ok(await new Client(address, TOKEN, { timeout: 5000 }).createAffiliate(affiliate()));
  assert.deepEqual(seen, ["POST 429", "POST lost", "POST 503", "POST silent", "POST passes"]);
  assert.ok(performance.now() - start > 7000, "expected two waits of a second and one timeout");
});

test("Retry-After accepts a date", async (context) => {
  const start = performance.now();
  const [soon, seen] = await failing(context, [new Date(Date.now() + 3000)]);
  await new Client(soon, TOKEN).overview();
  assert.ok(performance.now() - start > 1000);
  assert.deepEqual(seen, ["GET date", "GET passes"]);
  const [late, once] = await failing(context, [new Date(Date.now() + 600_000)]);
  assert.equal((await refusal(new Client(late, TOKEN).overview())).status, 503);
  assert.deepEqual(once, ["GET date"]);
});

test("Retry-After dates without a time zone are UTC", (context) => {
  const { TZ = "" } = process.env;
  context.after(() => (process.env.TZ = TZ));
  const date = new Date(Date.now() + 100_000).toUTCString();
  const [day, number, month, year, time] = date.replace(",", "").split(" ");
  for (const zone of ["America/New_York", "Asia/Tokyo"]) {
    process.env.TZ = zone;
    for (const shown of [date, `${day} ${month} ${number?.replace(/^0/, " ")} ${time} ${year}`]) {
      assert.ok(wait(shown) > 90_000 && wait(shown) <= 100_000, `${shown} in ${zone}`);
    }
  }
});

test("list resumes after a broken connection", async (context) => {
  const [address, seen] = await failing(context, ["half", "half"]);
  assert.deepEqual(await all(new Client(address, TOKEN).affiliates()), await all(client.affiliates()));
  assert.deepEqual(seen, ["GET half", "GET half", "GET passes"]);
});

test("last attempt's error is thrown", async (context) => {
  const [address, seen] = await failing(context, [429, 429, "lost", "lost"]);
  const impatient = new Client(address, TOKEN, { tries: 2 });
  const refused = await refusal(all(impatient.affiliates()));
  assert.deepEqual([refused.status, refused.code, seen.length], [429, "429", 2]);
  await assert.rejects(impatient.case(1), Unavailable);
});

test("connection errors name the address, and TLS errors are final", async (context) => {
  const lookup = context.mock.method(dns, "lookup", (_: string, __: unknown, done: (error: Error) => void) =>
    done(Object.assign(new Error("unknown host"), { code: "ENOTFOUND" })),
  );
  const secure = BASE.replace("http:", "https:");
  for (const [base, reason] of [["http://typo.example", "unknown host"], [secure, "the port seems to use http, not https"]] as const) {
    const start = performance.now();
    await assert.rejects(new Client(base, TOKEN, { tries: base === secure ? 8 : 2 }).overview(), { message: `no complete response from ${base}: ${reason}` });
    assert.ok(performance.now() - start < 5_000);
  }
  // Some networks drop the names of services that restart.
  assert.equal(lookup.mock.callCount(), 2);
});

test("example creates affiliates from a file", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "affiliates-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [one, two] = [affiliate(), affiliate({ country: "ZZ" })];
  const file = join(folder, "affiliates.json");
  const run = (affiliates: AffiliateCreate[]) => {
    writeFileSync(file, JSON.stringify(affiliates));
    const program = new URL("../examples/affiliates.js", import.meta.url).pathname;
    return spawnSync(process.execPath, [program, file], { encoding: "utf8", timeout: 60_000 });
  };
  const first = run([one, two]);
  assert.equal(first.stderr, `${two.affiliate_name}: ZZ is not a valid ISO 3166-1 alpha-2 country code.\n`);
  assert.match(first.stdout, /: created as \d+\naffiliates by status: /);
  assert.equal(first.status, 1);
  const second = run([one]);
  assert.match(second.stdout, /: exists\n/);
  assert.deepEqual([second.status, second.stderr], [0, ""]);
  const third = run([affiliate({ email_one: "nobody" })]);
  assert.equal(third.status, 2);
  assert.match(third.stderr, /\n {2}affiliates\.0\.email_one: /);
});

test("watch resumes over broken connections", async (context) => {
  const page = (await client.call("GET", "/api/changes")) as { data: { last_position: number } };
  const ids = [await client.createAffiliate(affiliate())];
  let connections = 0;
  // The first two connections end after one chunk.
  const proxy = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    connections += 1;
    const { authorization = "", accept = "", "last-event-id": last = "" } = request.headers;
    const headers = { Authorization: authorization, Accept: accept, "Last-Event-ID": String(last) };
    const reader = (await fetch(`${BASE}${request.url}`, { headers })).body?.getReader();
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      response.write(part.value);
      if (connections < 3) {
        break;
      }
    }
    await reader?.cancel();
    response.end();
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  context.after(() => proxy.closeAllConnections());
  context.after(() => proxy.close());
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const watch = new Client(address, TOKEN).watchChanges(page.data.last_position, ["affiliate"]);
  const seen = [(await watch.next()).value?.id];
  ids.push(await client.createAffiliate(affiliate()));
  seen.push((await watch.next()).value?.id);
  assert.deepEqual(seen, ids);
});
