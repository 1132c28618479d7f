/** Against a running service: `BASE=http://127.0.0.1:8080 TOKEN=… npm test`. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { createAffiliate, createAffiliates, listAffiliates, type NewAffiliate } from "../src/affiliates.js";
import { connect, Refusal } from "../src/service.js";

const { BASE = "", TOKEN = "" } = process.env;
const service = connect(BASE, TOKEN);

function affiliate(fields: Partial<NewAffiliate> = {}): NewAffiliate {
  return { client_affiliate_id: "A-1", affiliate_name: randomUUID(), ...fields };
}

/** The refusal that a call ends with. */
async function refusal(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "the call was not refused" });
}

test("an affiliate that is created is listed", async () => {
  const created = affiliate({ status: "probation", country: "us", email_one: "", start_date: "01/31/2026" });
  const id = await createAffiliate(service, created);
  const listed = (await listAffiliates(service)).find((other) => other.id === id);
  assert.equal(listed?.distributor_name, created.affiliate_name);
  assert.deepEqual([listed?.distributor_status, listed?.country, listed?.email_one], ["probation", 840, null]);
});

test("each item of a batch has its own result", async () => {
  const [one, two] = [affiliate(), affiliate({ country: "ZZ" })];
  const outcomes = await createAffiliates(service, [one, one, two]);
  assert.deepEqual(outcomes.map(({ kind }) => kind), ["created", "exists", "invalid country"]);
  // All of them are created: the status is 201.
  assert.equal((await createAffiliates(service, [affiliate()]))[0]?.kind, "created");
});

test("a violation of the rules is reported by path, and nothing is saved", async () => {
  const good = affiliate();
  const refused = await refusal(createAffiliates(service, [good, affiliate({ email_one: "nobody", zip: "8".repeat(17) })]));
  assert.equal(refused.status, 422);
  assert.deepEqual(Object.keys(refused.errors), ["affiliates.1.email_one", "affiliates.1.zip"]);
  assert.equal(refused.code, undefined);
  assert.ok((await listAffiliates(service)).every(({ distributor_name: name }) => name !== good.affiliate_name));
});

test("a name that exists, and a token that is not valid, are refused by code", async () => {
  const one = affiliate();
  await createAffiliate(service, one);
  const taken = await refusal(createAffiliate(service, one));
  assert.deepEqual([taken.status, taken.code], [409, "1023"]);
  assert.ok(taken.requestId);
  const unknown = await refusal(listAffiliates(connect(BASE, "nonsense")));
  assert.deepEqual([unknown.status, unknown.code, unknown.message], [401, "401", "401: The bearer token is invalid."]);
});

test("wrong fields do not compile", () => {
  // @ts-expect-error: no such status
  affiliate({ status: "unknown" });
  // @ts-expect-error: the name is required
  const nameless: NewAffiliate = { client_affiliate_id: "A-1" };
  assert.ok(nameless);
});

type Failure = 429 | 503 | "lost" | "silent";

/** The address of a proxy of the service that does these things first, and what it has seen. */
async function failing(context: TestContext, failures: Failure[]): Promise<[string, string[]]> {
  const seen: string[] = [];
  const proxy = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const failure = failures.shift();
    seen.push(`${request.method} ${failure ?? "passes"}`);
    if (failure === "lost") {
      request.socket.destroy();
    } else if (typeof failure === "number") {
      const body = JSON.stringify({ code: String(failure), status: "error", detail: { msg: "Please wait." } });
      response.writeHead(failure, { "Retry-After": "1", "Content-Type": "application/json" }).end(body);
    } else if (failure === undefined) {
      const { method = "GET", headers } = request;
      const passed = await fetch(BASE + request.url, {
        method,
        headers: { Authorization: headers.authorization ?? "", "Content-Type": headers["content-type"] ?? "" },
        ...(method === "GET" ? {} : { body: Buffer.concat(chunks) }),
      });
      response.writeHead(passed.status, { "Content-Type": "application/json" }).end(await passed.text());
    }
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  context.after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return [`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, seen];
}

test("a request is repeated until the service answers, after the time that it asks for", async (context) => {
  const [address, seen] = await failing(context, [429, "lost", 503, "silent"]);
  const start = performance.now();
  const one = affiliate();
  assert.ok(await createAffiliate(connect(address, TOKEN, { timeout: 1000 }), one));
  assert.deepEqual(seen, ["POST 429", "POST lost", "POST 503", "POST silent", "POST passes"]);
  assert.ok(performance.now() - start > 3000, "two waits of a second, and a timeout");
});

test("after the last try the refusal is reported", async (context) => {
  const [address, seen] = await failing(context, [429, 429]);
  const refused = await refusal(listAffiliates(connect(address, TOKEN, { tries: 2 })));
  assert.deepEqual([refused.status, refused.code, seen.length], [429, "429", 2]);
});

test("the program creates the affiliates of a file", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "affiliates-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [one, two] = [affiliate(), affiliate({ country: "ZZ" })];
  const file = join(folder, "affiliates.json");
  const run = (affiliates: NewAffiliate[]) => {
    writeFileSync(file, JSON.stringify(affiliates));
    const program = new URL("../src/main.js", import.meta.url).pathname;
    return spawnSync(process.execPath, [program, file], { encoding: "utf8", timeout: 60_000 });
  };
  const first = run([one, two]);
  assert.equal(first.stderr, `${two.affiliate_name}: ZZ is no ISO 3166-1 alpha-2 country code.\n`);
  assert.match(first.stdout, /: created as \d+\naffiliates by status: /);
  assert.equal(first.status, 1);
  const second = run([one]);
  assert.match(second.stdout, /: exists\n/);
  assert.deepEqual([second.status, second.stderr], [0, ""]);
  const third = run([affiliate({ email_one: "nobody" })]);
  assert.equal(third.status, 2);
  assert.match(third.stderr, /\n {2}affiliates\.0\.email_one: /);
});
