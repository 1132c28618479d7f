// Generates random strings, and implements Proof Key for Code Exchange (RFC 7636).

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns an unguessable random string. */
export function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Returns whether the browser can compute challenges, which requires HTTPS or localhost. */
export function canChallenge() {
  return crypto.subtle !== undefined;
}

/** Returns the S256 code challenge for a verifier. */
export async function challenge(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}
