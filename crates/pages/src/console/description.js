// Reads fields, filters and their values from the service's OpenAPI document, so new ones need no change here.

import { call, once } from "./requests.js";

const description = once(async () => (await call("GET", "openapi.json", { bearer: null })).body);

const WORDS = new Map(Object.entries({
  id: "ID", url: "URL", jv: "JV", zip: "ZIP or postal code", email: "e-mail", one: "1", two: "2", three: "3", dt: "date",
  pintrest: "Pinterest", youtube: "YouTube", tiktok: "TikTok", dir: "direction", distributor: "affiliate",
}));

const LABELS = {
  per_page: "Records per page", client_affiliate_id: "Your affiliate ID", affiliate_id: "Your affiliate ID",
  client_distributor_id: "Your affiliate ID", distributor_id: "Affiliate ID in this service", disabled: "Monitoring", q: "Search", open: "Still open",
  has_case: "In a case",
};
/** Values that are displayed differently. */
const CHOICES = { disabled: { no: "On", yes: "Off" } };

/** Returns a field's label, such as `E-mail 1` for `email_one`. */
export function label(name) {
  if (Object.hasOwn(LABELS, name)) return LABELS[name];
  const words = name.split("_").map((word) => WORDS.get(word) ?? word).join(" ").replace("follow up", "follow-up").replace("sub status", "sub-status").replace("sub affiliate", "sub-affiliate")
    .replace(/ after$/, " from").replace(/ before$/, " until");
  return words[0].toUpperCase() + words.slice(1);
}

/** Returns the words for a field value, such as `On` for `no` in `disabled`. */
export function words(name, content) {
  return CHOICES[name]?.[content] ?? content;
}

/** Returns the field in an error's path, such as `email_one` for `affiliates.0.email_one`. */
function fieldIn(path) {
  return path.split(".").findLast((part) => !/^\d+$/.test(part));
}

const labels = (names) => names.split(", ").map(label).join(", ");

/** Phrases in errors, and their words for officers. */
/** @type {[RegExp, (...found: string[]) => string][]} */
const PHRASES = [
  [/ is not a field: map it to a field or to nothing; the fields are (.*)\.$/s, (_, fields) => ` is unknown. Rename it, or enter it under Columns to ignore. Known columns: ${labels(fields)}.`],
  [/ are not fields: map each to a field or to nothing; the fields are (.*)\.$/s, (_, fields) => ` are unknown. Rename them, or enter them under Columns to ignore. Known columns: ${labels(fields)}.`],
  [/ is a field name: (.*); the fields are (.*)\.$/s, (_, found, fields) => ` is a known column: ${found}. Known columns: ${labels(fields)}.`],
  [/^No column contains the required field (\w+)/, (_, field) => `The required column ${label(field)} is missing`],
  [/ both map to the field (\w+)/, (_, field) => ` both contain ${label(field)}`],
  [/: map (".*") to nothing\.$/s, (_, heading) => `: enter ${heading} under Columns to ignore.`],
  [/dmy \(day first\) or mdy \(month first\)/, () => "day first or month first"],
  [/windows-1252 or macintosh/, () => "Windows-1252 or Mac Roman"],
  [/ must be a valid URL\.$/, () => " must be a valid URL that begins with http:// or https://."],
  [/an ISO 3166-1 alpha-2 code/, () => "a country name or two-letter code, such as DE"],
];

/** Rewrites an error about the field at a path with the words of the page: labels instead of field names. */
export function inLabels(path, message) {
  const name = label(fieldIn(path) || path || "value");
  const named = message.replace(/^The [^"]+? field /, `${name} `).replace(/^The selected [^"]+? is invalid\./, `${name} is not valid.`);
  return PHRASES.reduce((text, [phrase, spoken]) => text.replace(phrase, spoken), named);
}

/** Returns the column and reason of an error in a file's row. The column is the file's heading or, in a workbook, the label and the cell. */
export function rowError({ path, row, cell, column, message }) {
  const place = cell ? `, cell ${cell}` : column ? `, column ${column}` : "";
  const start = `Row ${row}${place}: `;
  const heading = column ?? (/\.\d+$/.test(path) ? null : label(fieldIn(path)));
  return {
    where: [heading, cell && `(${cell})`].filter(Boolean).join(" "),
    why: inLabels(path, message.startsWith(start) ? message.slice(start.length) : message),
  };
}

function resolve(document, schema) {
  if (schema.$ref) return resolve(document, document.components.schemas[schema.$ref.split("/").at(-1)]);
  if (!schema.anyOf) return schema;
  // The first schema is the actual type. The others allow null and the empty string.
  return { ...resolve(document, schema.anyOf[0]), ...schema };
}

/** Returns the query parameters of a list, such as `/api/urls`. */
export async function parameters(path) {
  const document = await description();
  // The console never requests whole lists, and `changed_after` works only with those.
  const inQuery = document.paths[path].get.parameters.filter((parameter) => parameter.in === "query" && parameter.name !== "changed_after");
  return inQuery.map((parameter) => {
    const schema = resolve(document, parameter.schema);
    return {
      name: parameter.name,
      label: label(schema["x-vocabulary"] ? parameter.name.replace(/_id$/, "") : parameter.name),
      hint: parameter.description,
      isDay: schema.format === "date",
      choices: schema.enum?.filter((choice) => choice !== null && choice !== "") ?? null,
      names: schema["x-vocabulary"] ?? null,
      pattern: schema.pattern ?? null,
      // 0 selects records without a value.
      takesNone: schema.minimum === 0,
      default: schema.default === undefined ? null : String(schema.default),
    };
  });
}

/** Returns an affiliate's writable fields. */
export async function affiliateFields() {
  const document = await description();
  const { required, properties } = document.components.schemas.AffiliateCreate;
  return Object.entries(properties).map(([name, property]) => {
    const schema = resolve(document, property);
    return {
      name,
      label: label(name),
      hint: property.description ?? "",
      isRequired: required.includes(name),
      maxLength: schema.maxLength ?? null,
      choices: schema.enum?.filter((choice) => choice !== null && choice !== "") ?? null,
      pattern: schema.pattern ?? null,
    };
  });
}

/** Returns the names and descriptions of a schema's fields, such as `ComplianceUrl` or `ComplianceCase`. */
export async function recordFields(name) {
  const document = await description();
  return Object.entries(document.components.schemas[name].properties).map(([field, { description: hint }]) => ({ name: field, hint }));
}
