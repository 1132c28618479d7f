/** Implements the shared parts of operations: reads, writes, pages and batch results. */

import { type Answer, Transport } from "./transport.js";

/** The result of a batch item. */
export interface Result {
  /** Whether the service saved the item. */
  ok: boolean;
  /** The result code, such as `1020` (saved) or `1023` (already exists). */
  code: string;
  /** The outcome, as a sentence. */
  message: string;
  /** The ID of the affiliate, URL or incident, if the result contains one. */
  id: number | undefined;
}

/** A condition for a change. */
export interface Condition {
  /** The record's etag when you read it. If the record has changed since, the call throws `Changed` and saves nothing. */
  ifMatch?: string;
}

/** The time at which to read a record. */
export interface Past {
  /** Reads the record as it was at the end of this second: `YYYY-MM-DD HH:MM:SS`, UTC. */
  asOf?: string;
}

export interface Paging {
  /** Records per request. The default and the maximum are 200. */
  perPage?: number;
}

interface Found<Data> {
  data: Data;
  meta: { last_page: number };
}

interface Item {
  code: string;
  detail: { msg: string; affiliate_id?: number; url_id?: number; incident_id?: number };
}

export class Calls {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Reads a path, and returns its data. */
  protected async get<Data>(path: string, query?: Record<string, unknown>): Promise<Data> {
    return ((await this.transport.call({ method: "GET", path, query })).json as Found<Data>).data;
  }

  /** Calls any other operation, and returns its data. */
  protected async send<Data>(method: string, path: string, body?: unknown, condition?: Condition): Promise<Data> {
    return ((await this.write(method, path, body, condition)).json as Found<Data>).data;
  }

  protected write(method: string, path: string, body?: unknown, { ifMatch }: Condition = {}): Promise<Answer> {
    return this.transport.call({ method, path, body, headers: ifMatch === undefined ? {} : { "If-Match": ifMatch } });
  }

  protected async withEtag<Data>(path: string): Promise<[Data, string]> {
    const { json, etag } = await this.transport.call({ method: "GET", path });
    return [(json as Found<Data>).data, etag];
  }

  protected async ifChanged<Data>(path: string, etag: string): Promise<[Data, string] | undefined> {
    const answer = await this.transport.call({ method: "GET", path, headers: { "If-None-Match": etag } });
    return answer.json === undefined ? undefined : [(answer.json as Found<Data>).data, answer.etag];
  }

  /** Throws `TypeError` if the filters contain parameters for a single page. */
  protected checkFilters(filters: object): void {
    const found = ["sort_by", "sort_dir", "per_page", "page"].filter((name) => name in filters);
    if (found.length > 0) {
      throw new TypeError(
        `this method reads the whole list by ascending ID, without ${found.join(", ")}. To read a single page, use ` +
          'call("GET", "/urls", { query: { sort_by: "last_seen", page: 1 } }), with the path of your list',
      );
    }
  }

  protected async *pages<Data>(path: string, { perPage = 200, ...filters }: Paging): AsyncGenerator<Data, void, undefined> {
    this.checkFilters(filters);
    for (let [number, last] = [1, 1]; number <= last; number += 1) {
      const query = { ...filters, sort_by: "id", sort_dir: "asc", per_page: perPage, page: number };
      const page = (await this.transport.call({ method: "GET", path, query })).json as Found<Data[]>;
      yield* page.data;
      last = page.meta.last_page;
    }
  }

  /** Returns one result per item. Sends no request for an empty list. */
  protected async batch(method: string, path: string, body: unknown, count: number): Promise<Result[]> {
    const items = count === 0 ? [] : ((await this.write(method, path, body)).json as Item[]);
    return items.map(({ code, detail }) => {
      return { ok: code === "1020", code, message: detail.msg, id: detail.affiliate_id ?? detail.url_id ?? detail.incident_id };
    });
  }
}
