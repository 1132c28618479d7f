// Random texts, and the proof that the same client requests and redeems a code (RFC 7636).

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** A text that nobody can guess. */
export function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Whether the browser can make a challenge: only pages over HTTPS or from this machine can. */
export function canChallenge() {
  return crypto.subtle !== undefined;
}

/** What is shown of a verifier before it is used (S256). */
export async function challenge(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}
