// Countries: records contain ISO 3166-1 numeric codes, and forms use alpha-2 codes. The browser converts between them.

const names = new Intl.DisplayNames(["en"], { type: "region" });

/** Returns the alpha-2 code for a numeric code, or an empty string. */
export function alpha2(number) {
  if (number === null) return "";
  try {
    const { region } = new Intl.Locale(`und-${String(number).padStart(3, "0")}`);
    return /^[A-Z]{2}$/.test(region ?? "") ? region : "";
  } catch {
    return "";
  }
}

const known = new Map();

/**
 * Returns the country name for a numeric code, and any other value unchanged. Names are cached, because lists repeat the same few
 * countries.
 */
export function countryName(number) {
  if (!known.has(number)) {
    const code = alpha2(number);
    known.set(number, code === "" ? number : names.of(code));
  }
  return known.get(number);
}

/** Returns the countries whose alpha-2 codes match a pattern, as pairs of code and name, sorted by name. */
export function countries(pattern) {
  const isCode = new RegExp(pattern, "u");
  const codes = new Set(Array.from({ length: 900 }, (_, number) => alpha2(number)).filter((code) => code !== "" && isCode.test(code)));
  return [...codes].map((code) => [code, names.of(code)]).sort(([, one], [, other]) => one.localeCompare(other, "en"));
}
