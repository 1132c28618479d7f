/** Reads a list while it arrives, so that it does not have to fit into memory. */

/** The elements of `data` of an envelope, which are objects. Throws if the envelope is incomplete. */
export async function* records(parts: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  // `start` is where the element or key that is being read begins.
  let [text, start, depth, key] = ["", -1, 0, ""];
  let [isText, isEscaped, isData, isComplete] = [false, false, false, false];
  for await (const part of parts) {
    const known = text.length;
    text += decoder.decode(part, { stream: true });
    for (let at = known; at < text.length; at += 1) {
      const character = text[at];
      if (isText) {
        if (isEscaped) {
          isEscaped = false;
        } else if (character === "\\") {
          isEscaped = true;
        } else if (character === '"') {
          isText = false;
          if (depth === 1) {
            key = JSON.parse(text.slice(start, at + 1));
            start = -1;
          }
        }
      } else if (character === '"') {
        isText = true;
        start = depth === 1 ? at : start;
      } else if (character === "{" || character === "[") {
        isData = depth === 1 ? character === "[" && key === "data" : isData;
        start = depth === 2 && isData ? at : start;
        depth += 1;
      } else if (character === "}" || character === "]") {
        depth -= 1;
        isComplete = depth === 0;
        if (depth === 2 && isData) {
          yield JSON.parse(text.slice(start, at + 1));
          start = -1;
        }
      }
    }
    text = start < 0 ? "" : text.slice(start);
    start = start < 0 ? -1 : 0;
  }
  if (!isComplete) {
    throw new SyntaxError("the response ended too early");
  }
}

/** Server-sent events: the ID, and the JSON of the data; undefined if there is none. */
export async function* events(parts: AsyncIterable<Uint8Array>): AsyncGenerator<{ id: string | undefined; data: unknown }> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, fields] = ["", new Map<string, string>()];
  for await (const part of parts) {
    // JSON may have other line breaks unescaped, such as U+2028. What follows a \r at the end is not known yet.
    const lines = (text + decoder.decode(part, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    text = lines.pop() ?? "";
    for (const line of lines) {
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
}
