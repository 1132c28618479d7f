/** Reads lists and events as they arrive, without buffering them. */

/** Yields the parsed lines of an NDJSON response. Throws if the last line is incomplete. */
export async function* records(parts: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of lines(parts)) {
    yield JSON.parse(line);
  }
}

/** Yields the ID of each server-sent event, with its parsed data or undefined. */
export async function* events(parts: AsyncIterable<Uint8Array>): AsyncGenerator<{ id: string | undefined; data: unknown }> {
  let fields = new Map<string, string>();
  for await (const line of lines(parts)) {
    if (line !== "") {
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      fields.set(name, value);
      continue;
    }
    const data = fields.get("data");
    yield { id: fields.get("id"), data: data === undefined ? undefined : JSON.parse(data) };
    fields = new Map();
  }
}

async function* lines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for await (const part of parts) {
    // JSON can contain other unescaped line breaks, such as U+2028. A \r at the end may be the first half of \r\n.
    const lines = (text + decoder.decode(part, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    text = lines.pop() ?? "";
    yield* lines;
  }
  if (text !== "") {
    yield text;
  }
}
