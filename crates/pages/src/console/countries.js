// Countries: records have the numeric code of ISO 3166-1, and forms the alpha-2 code. The browser knows both.

const names = new Intl.DisplayNames(["en"], { type: "region" });

/** The alpha-2 code of a numeric code, or an empty text if there is none. */
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
 * Returns the name of the country with a numeric code, and any other value unchanged. Names are cached, because lists need the same few
 * repeatedly.
 */
export function countryName(number) {
  if (!known.has(number)) {
    const code = alpha2(number);
    known.set(number, code === "" ? number : names.of(code));
  }
  return known.get(number);
}

/** The countries whose alpha-2 codes match a pattern: code and name, by name. */
export function countries(pattern) {
  const isCode = new RegExp(pattern, "u");
  const codes = new Set(Array.from({ length: 900 }, (_, number) => alpha2(number)).filter((code) => code !== "" && isCode.test(code)));
  return [...codes].map((code) => [code, names.of(code)]).sort(([, one], [, other]) => one.localeCompare(other, "en"));
}
