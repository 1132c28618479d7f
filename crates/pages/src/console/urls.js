// Shortens monitored URLs.

const LONGEST = 48;

/** Returns the start of a URL without its scheme, such as `shop.example/2026/08…`. */
export function shortUrl(url) {
  const text = url.replace(/^https?:\/\/(?:www\.)?/i, "").replace(/\/$/, "");
  const characters = Array.from(text);
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : text;
}
