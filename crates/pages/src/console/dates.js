// Days as spreadsheets write them. The console never guesses an ambiguous date.

const FIRST = { dmy: "day", mdy: "month" };
/** The year first, or last. A time may follow. */
const ISO = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T\s]\s*(.*))?$/;
const OTHER = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[T\s]\s*(.*))?$/;
const MIDNIGHT = /^(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)?\s*AM)?\s*(?:Z|UTC|[+-]\d\d:?\d\d)?$/i;

/** The order of day and month that a date itself shows, and whether it is another date in the other order. */
function orderOfDay(text) {
  const found = OTHER.exec(text);
  if (found === null || found[4].length === 2) return { order: null, isAmbiguous: false };
  const [first, second] = [Number(found[1]), Number(found[3])];
  const isMonth = (number) => number >= 1 && number <= 12;
  const isLater = (number) => number > 12 && number <= 31;
  const order = isLater(first) && isMonth(second) ? "dmy" : isMonth(first) && isLater(second) ? "mdy" : null;
  return { order, isAmbiguous: order === null && first !== second && Math.max(first, second) <= 12 };
}

/** The order of the dates of a text, each with its line: `dmy` or `mdy`, or a problem. `isOpen` says that a choice solves it. */
export function orderOf(days) {
  let settled = null;
  let open = null;
  for (const { line, text } of days) {
    const { order, isAmbiguous } = orderOfDay(text);
    if (order !== null && settled !== null && order !== settled.order) {
      return { problem: `${settled.text} on line ${settled.line} has the ${FIRST[settled.order]} first, and ${text} on line ${line} the ${FIRST[order]}: write the dates as YYYY-MM-DD.` };
    }
    if (order !== null) settled ??= { order, line, text };
    else if (isAmbiguous) open ??= { line, text };
  }
  if (settled !== null || open === null) return { order: settled?.order ?? "mdy" };
  return { isOpen: true, problem: `${open.text} on line ${open.line} can be two dates. Choose whether the day or the month is first.` };
}

/**
 * A day, `YYYY-MM-DD`. Removes a midnight after the day. Any other text is returned unchanged. Throws the reason if the text is refused.
 */
export function day(text, order) {
  let [, year, , first, second, time] = ISO.exec(text) ?? [];
  if (year === undefined) {
    [, first, , second, year, time] = OTHER.exec(text) ?? [];
    if (year === undefined) return text;
    if (year.length === 2) throw new RangeError(`The year of ${text} has two digits; write the date as YYYY-MM-DD.`);
    if ((orderOfDay(text).order ?? order) !== order) throw new RangeError(`${text} is not a date with the ${FIRST[order]} first; write the date as YYYY-MM-DD.`);
    if (order === "dmy") [first, second] = [second, first];
  }
  return MIDNIGHT.test(time ?? "") ? `${year}-${first.padStart(2, "0")}-${second.padStart(2, "0")}` : text;
}
