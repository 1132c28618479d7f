// Splits the text of a list into its records as it arrives: a list of 100,000 affiliates has 165 MB, and the page keeps a
// few fields of each.

/** Takes the JSON of an envelope in pieces and passes on each record of its `data`. */
export class RecordStream {
  #onRecord;
  #buffer = "";
  #position = 0;
  #start = -1;
  #depth = 0;
  #inText = false;
  #inList = false;
  #isComplete = false;

  constructor(onRecord) {
    this.#onRecord = onRecord;
  }

  /** Whether the envelope has ended. An interrupted list never ends. */
  get isComplete() {
    return this.#isComplete;
  }

  push(piece) {
    this.#buffer += piece;
    while (this.#position < this.#buffer.length) {
      if (this.#inText) {
        if (!this.#skipText()) break;
      } else {
        this.#read(this.#buffer[this.#position]);
        this.#position += 1;
      }
    }
    // Text that was read is dropped, except the beginning of a record.
    const keep = this.#start >= 0 ? this.#start : this.#position;
    this.#buffer = this.#buffer.slice(keep);
    this.#position -= keep;
    if (this.#start >= 0) this.#start = 0;
  }

  /** Moves past the end of the text. Returns false if the end has not arrived yet. */
  #skipText() {
    const start = this.#position;
    // How many backslashes are before this position: a quotation mark after an odd number is part of the text.
    const backslashes = (position) => {
      let first = position;
      while (first > start && this.#buffer[first - 1] === "\\") first -= 1;
      return position - first;
    };
    let quote = this.#buffer.indexOf('"', start);
    while (quote >= 0 && backslashes(quote) % 2 === 1) quote = this.#buffer.indexOf('"', quote + 1);
    if (quote < 0) {
      // Backslashes at the end are counted again with what follows.
      this.#position = this.#buffer.length - backslashes(this.#buffer.length);
      return false;
    }
    this.#position = quote + 1;
    this.#inText = false;
    return true;
  }

  #read(character) {
    switch (character) {
      case '"':
        this.#inText = true;
        break;
      case "{":
        if (this.#depth === 2 && this.#inList) this.#start = this.#position;
        this.#depth += 1;
        break;
      case "[":
        if (this.#depth === 1) this.#inList = true;
        this.#depth += 1;
        break;
      case "}":
      case "]":
        this.#depth -= 1;
        if (this.#depth === 2 && this.#start >= 0) {
          this.#onRecord(JSON.parse(this.#buffer.slice(this.#start, this.#position + 1)));
          this.#start = -1;
        } else if (this.#depth === 1) {
          this.#inList = false;
        } else if (this.#depth === 0) {
          this.#isComplete = true;
        }
        break;
      default:
    }
  }
}
