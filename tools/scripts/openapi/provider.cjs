// An OpenID Connect provider with company accounts, for officers-day.cjs: node provider.cjs CONSOLE, where CONSOLE is the console's address.
// Prints the issuer. Each account's password is its name. Only bea has an e-mail address, only noor receives refresh tokens, and guest
// belongs to no company.
"use strict";

const { generateKeyPairSync } = require("node:crypto");
const { createServer } = require("node:http");
const { pathToFileURL } = require("node:url");

const ACCOUNTS = { bea: { tenant: { id: "1" }, email: "bea@partner.example" }, noor: { tenant: { id: "1" } }, guest: {} };
const CLIENT = "console";
const RESOURCE = "urn:affiliate-compliance";
const HOUR = 3600;
const SCOPE = "openid cases audit";

const page = (title, body) => `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>${title}</title><h1>${title}</h1>${body}</html>`;

async function start(consoleAddress) {
  // The package is an ES module.
  const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
  const server = createServer();
  await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [{
      client_id: CLIENT, token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
      redirect_uris: [consoleAddress], post_logout_redirect_uris: [consoleAddress],
    }],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "a", use: "sig", alg: "RS256" }] },
    cookies: { keys: ["key of a short-lived test provider"] },
    scopes: SCOPE.split(" "),
    findAccount: (_, id) => (id in ACCOUNTS ? { accountId: id, claims: () => ({ sub: id }) } : undefined),
    extraTokenClaims: (_, token) => ACCOUNTS[token.accountId],
    issueRefreshToken: (_, client, { accountId }) => accountId === "noor",
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    // The officer's day moves page clocks forward.
    ttl: { IdToken: 24 * HOUR, Session: 24 * HOUR, Grant: 24 * HOUR, RefreshToken: 24 * HOUR, Interaction: HOUR },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: SCOPE, audience: "affiliate-compliance", accessTokenTTL: HOUR, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
      },
      rpInitiatedLogout: { logoutSource: (ctx, form) => {
        ctx.body = page("Sign out", `${form}<button form="op.logoutForm" name="logout" value="yes">Sign out everywhere</button>`);
      } },
    },
    // The company has consented for its officers.
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ accountId: ctx.oidc.session.accountId, clientId: CLIENT });
      grant.addOIDCScope(SCOPE);
      grant.addResourceScope(RESOURCE, SCOPE);
      await grant.save();
      return grant;
    },
    renderError: (ctx, out) => {
      ctx.body = page("Refused", `<pre>${JSON.stringify(out)}</pre>`);
    },
  });
  const others = provider.callback();
  server.on("request", (request, response) => {
    const { pathname, searchParams } = new URL(request.url, issuer);
    if (pathname.startsWith("/interaction/")) interact(provider, searchParams, request, response).catch((error) => response.destroy(error));
    else others(request, response);
  });
  console.log(issuer);
}

/** Serves the sign-in form, and handles its submission. */
async function interact(provider, typed, request, response) {
  if (typed.has("cancel")) {
    await provider.interactionFinished(request, response, { error: "access_denied", error_description: "the officer cancelled" }, { mergeWithLastSubmission: false });
    return;
  }
  const account = typed.get("account");
  if (account in ACCOUNTS && typed.get("password") === account) {
    await provider.interactionFinished(request, response, { login: { accountId: account } }, { mergeWithLastSubmission: false });
    return;
  }
  await provider.interactionDetails(request, response);
  response.setHeader("Content-Type", "text/html");
  response.end(page("Company accounts", `<form><label>Account <input name="account"></label><label>Password <input name="password" type="password"></label>
    <button>Continue</button><button name="cancel">Cancel</button></form>`));
}

start(process.argv[2]);
