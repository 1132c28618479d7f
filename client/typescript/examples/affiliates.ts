/**
 * Counts a company's affiliates by status. If you pass a JSON file, first creates the affiliates in its list:
 *
 *     BASE=http://127.0.0.1:8080 TOKEN=… npm start -- affiliates.json
 *
 * Exit status: 0 if all affiliates in the list now exist, 1 if the service rejected some (the program prints each with the reason), 2 if
 * the program could not continue.
 */

import { readFile } from "node:fs/promises";

import { type AffiliateCreate, Client, Invalid } from "affiliate-compliance";

async function main(): Promise<number> {
  const { BASE = "http://127.0.0.1:8080", TOKEN } = process.env;
  if (!TOKEN) {
    console.error("set TOKEN to a service token");
    return 2;
  }
  const client = new Client(BASE, TOKEN);
  const [, , path] = process.argv;
  const refused = path === undefined ? 0 : await create(client, JSON.parse(await readFile(path, "utf8")));

  const counts = new Map<string, number>();
  for await (const { distributor_status: status } of client.affiliates()) {
    counts.set(status ?? "none", (counts.get(status ?? "none") ?? 0) + 1);
  }
  console.log("affiliates by status:", Object.fromEntries(counts));
  return refused > 0 ? 1 : 0;
}

/** Creates affiliates, and returns how many the service rejected. */
async function create(client: Client, affiliates: AffiliateCreate[]): Promise<number> {
  let refused = 0;
  for (const [index, result] of (await client.createAffiliates(affiliates)).entries()) {
    const name = affiliates[index]?.affiliate_name;
    if (result.ok || result.code === "1023") {
      console.log(`${name}: ${result.ok ? `created as ${result.id}` : "exists"}`);
    } else {
      refused += 1;
      console.error(`${name}: ${result.message}`);
    }
  }
  return refused;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  for (const [path, sentences] of error instanceof Invalid ? Object.entries(error.violations) : []) {
    console.error(`  ${path}: ${sentences.join(" ")}`);
  }
  process.exitCode = 2;
}
