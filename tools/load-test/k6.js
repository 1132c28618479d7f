// Generates REST load with k6 (https://grafana.com/docs/k6), for the companies in a file with one token per line:
//
//     k6 run -e TOKENS=$PWD/target/tokens tools/load-test/k6.js
//
// Settings, each with -e NAME=value: SCENARIO (read, page or add), CONNECTIONS, DURATION, BASE, and RATE (requests per second;
// without a rate, each connection sends its next request after a response).

import { check } from "k6";
import exec from "k6/execution";
import http from "k6/http";

const BASE = (__ENV.BASE || "http://127.0.0.1:8080").replace(/\/+$/, "").replace(/\/api$/, "");
const CONNECTIONS = Number(__ENV.CONNECTIONS || 64);
const DURATION = __ENV.DURATION || "10s";
if (!__ENV.TOKENS) throw new Error("Set TOKENS to a file with one token per line.");
const TOKENS = open(__ENV.TOKENS).split("\n").filter((line) => line !== "");
// Without this check, every connection would fail before its first request, and the run would succeed.
if (TOKENS.length === 0) throw new Error(`The file ${__ENV.TOKENS} contains no token.`);

const requests = {
  // Reads an affiliate by ID.
  read: (headers, ids) =>
    http.get(`${BASE}/api/affiliates/${ids[Math.floor(Math.random() * ids.length)]}`, {
      headers,
      tags: { name: "GET /api/affiliates/{id}" },
    }),
  // Reads the first page of URLs.
  page: (headers) => http.get(`${BASE}/api/urls?per_page=100`, { headers, tags: { name: "GET /api/urls" } }),
  // Adds a URL.
  add: (headers) => {
    const url = `https://load.example.com/${Date.now()}/${exec.vu.idInTest}/${exec.vu.iterationInInstance}`;
    const json = { ...headers, "Content-Type": "application/json" };
    return http.post(`${BASE}/api/urls`, JSON.stringify({ urls: [{ url }] }), { headers: json });
  },
};
const request = requests[__ENV.SCENARIO || "read"];
// Without this check, no request would be sent, and the run would succeed.
if (!request) throw new Error(`SCENARIO must be one of: ${Object.keys(requests).join(", ")}.`);

export const options = {
  scenarios: {
    load: __ENV.RATE
      ? {
          executor: "constant-arrival-rate",
          rate: Number(__ENV.RATE),
          timeUnit: "1s",
          duration: DURATION,
          preAllocatedVUs: CONNECTIONS,
        }
      : { executor: "constant-vus", vus: CONNECTIONS, duration: DURATION },
  },
  thresholds: {
    // A wrong response invalidates the run, so stop.
    checks: [{ threshold: "rate==1", abortOnFail: true }],
    // k6 drops requests if all connections are in use. The run then had a lower rate.
    dropped_iterations: ["count==0"],
  },
  summaryTrendStats: ["med", "p(90)", "p(99)", "max"],
  discardResponseBodies: true,
};

function authorization(token) {
  return { Authorization: `Bearer ${token}` };
}

// Returns each company's affiliate IDs.
export function setup() {
  return TOKENS.map((token, index) => {
    const response = http.get(`${BASE}/api/affiliates`, { headers: authorization(token), responseType: "text" });
    if (response.status !== 200) {
      exec.test.abort(`GET /api/affiliates: status ${response.status}: ${response.body}`);
    }
    const { data } = JSON.parse(String(response.body));
    if (data.length === 0 && request === requests.read) {
      exec.test.abort(`The company of token ${index + 1} has no affiliates to read. Create some, for example with compliance demo-data.`);
    }
    return data.slice(0, 1000).map(({ id }) => id);
  });
}

export default function (ids) {
  const company = (exec.vu.idInTest - 1) % TOKENS.length;
  const { status } = request(authorization(TOKENS[company]), ids[company]);
  check(status, {
    "within the rate limit (otherwise, start the service with --rate-limit off)": () => status !== 429,
    "success": () => status === 200 || status === 201,
  });
}
