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

  /** Whether the envelope has ended. A list that breaks off never does. */
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
    // What has been read and is not the beginning of a record, or of the end of a text, is dropped.
    const keep = this.#start >= 0 ? this.#start : Math.max(0, this.#position - (this.#inText ? 1 : 0));
    this.#buffer = this.#buffer.slice(keep);
    this.#position -= keep;
    if (this.#start >= 0) this.#start = 0;
  }

  /** Moves behind the end of the text; returns false if it has not arrived yet. */
  #skipText() {
    for (;;) {
      const quote = this.#buffer.indexOf('"', this.#position);
      const escape = this.#buffer.indexOf("\\", this.#position);
      if (escape >= 0 && (quote < 0 || escape < quote)) {
        // The character behind the backslash is part of the text.
        if (escape + 1 >= this.#buffer.length) {
          this.#position = escape;
          return false;
        }
        this.#position = escape + 2;
      } else if (quote < 0) {
        this.#position = this.#buffer.length;
        return false;
      } else {
        this.#position = quote + 1;
        this.#inText = false;
        return true;
      }
    }
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
