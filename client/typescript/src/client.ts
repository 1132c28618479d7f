/** The operations of the interface. */

import type { Affiliate, AffiliateCreate, AffiliateRosterItem, AffiliateUpdate, Change, ChangePage, ComplianceCase, ComplianceUrl, Overview, SyncedAffiliates, VocabularyNames } from "./records.js";
import type { paths } from "./schema.js";
import { Unavailable } from "./errors.js";
import { events, records } from "./stream.js";
import { type Options, type Token, Transport } from "./transport.js";

type Query<Path extends "/api/urls" | "/api/cases"> = NonNullable<paths[Path]["get"]["parameters"]["query"]>;
type Filters<Path extends "/api/urls" | "/api/cases"> = Omit<Query<Path>, "sort_by" | "sort_dir" | "per_page" | "page">;

/** What is done with a roster, besides. */
export interface SyncOptions {
  /** Lists the affiliates that the roster does not have. */
  reportAbsent?: boolean;
  /** Gives them this status. */
  absentStatus?: string | null;
  /**
   * How many may get it. If more would, nothing is changed: `Refused`, with the status 409. By default a tenth of those that have another
   * status, and at least 10.
   */
  maxAbsent?: number | null;
  /** Writes nothing. */
  validateOnly?: boolean;
}

export type UrlFilters = Filters<"/api/urls">;
export type CaseFilters = Filters<"/api/cases">;

export interface Paging {
  /** Records of a request; 200, the most there can be, by default. */
  perPage?: number;
}

/** What became of an item of a batch. */
export interface Result {
  /** Whether it was saved. */
  ok: boolean;
  /** The result code, such as `1020` (saved) or `1023` (exists already). */
  code: string;
  /** A sentence for people. */
  message: string;
  /** The ID of the affiliate or URL, if the result names it. */
  id: number | undefined;
}

interface Found<Data> {
  data: Data;
  meta: { last_page: number };
}

interface Item {
  code: string;
  detail: { msg: string; affiliate_id?: number; url_id?: number };
}

/**
 * The interface of a service at `base`, such as `http://127.0.0.1:8080`, with or without `/api`, for the company of a token.
 *
 * Requests that had no response, or that the service asks to repeat (429, 503), are repeated up to `tries` times in all; waits
 * follow `Retry-After`. All operations may be repeated: a creation whose response was lost is then reported as a duplicate.
 *
 * Throws `Invalid` for violations (422), `Changed` if a record has another etag (412), `Refused` for every other refusal, and
 * `Unavailable` if there was no response.
 */
export class Client {
  readonly #transport: Transport;

  constructor(base: string, token: Token, options: Partial<Options> = {}) {
    this.#transport = new Transport(base, token, options);
  }

  /** Any operation, such as `call("GET", "/api/cases/1")`: the JSON of its response. */
  async call(method: string, path: string, { query, body }: { query?: Record<string, unknown>; body?: unknown } = {}): Promise<unknown> {
    return (await this.#transport.call({ method, path, query, body })).json;
  }

  /** All affiliates by ID, while they arrive. If the connection breaks, the list goes on after the last affiliate. */
  async *affiliates(): AsyncGenerator<Affiliate, void, undefined> {
    const tries = this.#transport.tries();
    let last = 0;
    for (;;) {
      try {
        const headers = { Accept: "application/x-ndjson" };
        const [response, parts] = await this.#transport.open({ method: "GET", path: "/api/affiliates", headers });
        if (!response.headers.get("Content-Type")?.startsWith("application/x-ndjson")) {
          throw new SyntaxError("the response is not NDJSON");
        }
        for await (const record of records(parts)) {
          const affiliate = record as Affiliate;
          if (affiliate.id > last) {
            last = affiliate.id;
            yield affiliate;
          }
        }
        return;
      } catch (error) {
        await tries.again(error);
      }
    }
  }

  async affiliate(id: number): Promise<Affiliate> {
    return (await this.#get<Affiliate>(`/api/affiliates/${id}`)).data;
  }

  /** An affiliate, and the etag to change it with. */
  affiliateWithEtag(id: number): Promise<[Affiliate, string]> {
    return this.#withEtag(`/api/affiliates/${id}`);
  }

  /** Undefined if the affiliate still has this etag. */
  affiliateIfChanged(id: number, etag: string): Promise<[Affiliate, string] | undefined> {
    return this.#ifChanged(`/api/affiliates/${id}`, etag);
  }

  /** The first affiliates, by ID, whose name or client identifier contains a text: 20, or as many as `limit`, at most 50. */
  async searchAffiliates(text: string, limit?: number): Promise<Affiliate[]> {
    return (await this.#get<Affiliate[]>("/api/affiliates:search", { q: text, limit })).data;
  }

  /** Returns the ID of the new affiliate. A name that exists is refused with the code `1023`. */
  async createAffiliate(affiliate: AffiliateCreate): Promise<number> {
    const created = (await this.call("POST", "/api/affiliates", { body: affiliate })) as { detail: { affiliate_id: number } };
    return created.detail.affiliate_id;
  }

  /** One result for each. Names that exist (`1023`) and country codes that do not (`1024`) fail alone. */
  createAffiliates(affiliates: readonly AffiliateCreate[]): Promise<Result[]> {
    return this.#batch("POST", "/api/affiliates", { affiliates }, affiliates.length);
  }

  /**
   * Changes the fields that `change` has; null clears a field. Returns the affiliate's new etag.
   *
   * With the etag of the affiliate that was read as `ifMatch`, throws `Changed`, and saves nothing, if it has another one now.
   */
  async updateAffiliate(change: AffiliateUpdate, { ifMatch }: { ifMatch?: string } = {}): Promise<string> {
    const headers = ifMatch === undefined ? {} : { "If-Match": ifMatch };
    return (await this.#transport.call({ method: "PUT", path: `/api/affiliates/${change.id}`, body: change, headers })).etag;
  }

  /**
   * One result for each, in their order. Unknown IDs (`1025`), names that are taken and country codes that do not exist (`1021`)
   * fail alone. The first ID must be known.
   */
  updateAffiliates(changes: readonly AffiliateUpdate[]): Promise<Result[]> {
    return this.#batch("PUT", `/api/affiliates/${changes[0]?.id}`, { affiliates: changes }, changes.length);
  }

  /**
   * Brings the affiliates up to date with a roster, which identifies them by `client_affiliate_id`. Items that are refused are among the
   * results; they refuse no others. Null clears a field. With `validateOnly`, nothing is written.
   */
  async syncAffiliates(roster: readonly AffiliateRosterItem[], options: SyncOptions = {}): Promise<SyncedAffiliates> {
    const { reportAbsent = false, absentStatus = null, maxAbsent = null, validateOnly = false } = options;
    const body = {
      affiliates: roster,
      report_absent: reportAbsent,
      absent_status: absentStatus,
      max_absent: maxAbsent,
      validate_only: validateOnly,
    };
    return ((await this.call("POST", "/api/affiliates:sync", { body })) as { data: SyncedAffiliates }).data;
  }

  /** All URLs that match the filters, by ID ascending: those that are added meanwhile come last. */
  urls(filters: UrlFilters & Paging = {}): AsyncGenerator<ComplianceUrl, void, undefined> {
    return this.#pages("/api/urls", filters);
  }

  async url(id: number): Promise<ComplianceUrl> {
    return (await this.#get<ComplianceUrl>(`/api/urls/${id}`)).data;
  }

  /** The newest URLs that contain a text of at least three characters: 20, or as many as `limit`, at most 50. */
  async searchUrls(text: string, limit?: number): Promise<ComplianceUrl[]> {
    return (await this.#get<ComplianceUrl[]>("/api/urls:search", { q: text, limit })).data;
  }

  /** One result for each. A URL that exists is skipped (`1023`). */
  addUrls(urls: readonly string[]): Promise<Result[]> {
    return this.#batch("POST", "/api/urls", { urls: urls.map((url) => ({ url })) }, urls.length);
  }

  /** All cases that match the filters, by ID ascending: those that are added meanwhile come last. */
  cases(filters: CaseFilters & Paging = {}): AsyncGenerator<ComplianceCase, void, undefined> {
    return this.#pages("/api/cases", filters);
  }

  async case(id: number): Promise<ComplianceCase> {
    return (await this.#get<ComplianceCase>(`/api/cases/${id}`)).data;
  }

  /** A case, and the etag to compare it with later. */
  caseWithEtag(id: number): Promise<[ComplianceCase, string]> {
    return this.#withEtag(`/api/cases/${id}`);
  }

  /** Undefined if the case still has this etag. */
  caseIfChanged(id: number, etag: string): Promise<[ComplianceCase, string] | undefined> {
    return this.#ifChanged(`/api/cases/${id}`, etag);
  }

  /** Figures of all records: what is open, overdue and new. */
  async overview(): Promise<Overview> {
    return (await this.#get<Overview>("/api/overview")).data;
  }

  /** The names that fields can have, with their IDs, which are those that filters take. */
  async vocabularies(): Promise<VocabularyNames[]> {
    return (await this.#get<VocabularyNames[]>("/api/vocabularies")).data;
  }

  /**
   * All changes after a position, as far as there are any: call it again with the position of the last one. Fails with Refused (410) if
   * changes that follow the position are no longer kept.
   */
  async *changes(after = 0, types: string[] = []): AsyncGenerator<Change, void, undefined> {
    for (let last = after + 1; after < last; ) {
      const query = { after, types: types.join(","), limit: 1000 };
      const page = (await this.#get<ChangePage>("/api/changes", query)).data;
      yield* page.changes;
      [after, last] = [page.position, page.last_position];
    }
  }

  /**
   * Changes as they are made, after a position or from now on, without an end. If the connection breaks, they go on after the last one.
   * Fails with Refused (410) if changes that follow the position are no longer kept.
   */
  async *watchChanges(after?: number, types: string[] = []): AsyncGenerator<Change, void, undefined> {
    let [last, tries] = [after?.toString(), this.#transport.tries()];
    for (;;) {
      try {
        const headers = { Accept: "text/event-stream", ...(last === undefined ? {} : { "Last-Event-ID": last }) };
        const request = { method: "GET", path: "/api/changes", query: { types: types.join(",") }, headers };
        const [, parts] = await this.#transport.open(request);
        for await (const { id, data } of events(parts)) {
          [last, tries] = [id, this.#transport.tries()];
          yield* (data as ChangePage | undefined)?.changes ?? [];
        }
        throw new Unavailable("the events ended");
      } catch (error) {
        await tries.again(error);
      }
    }
  }

  async #get<Data>(path: string, query?: Record<string, unknown>): Promise<Found<Data>> {
    return (await this.#transport.call({ method: "GET", path, query })).json as Found<Data>;
  }

  async #withEtag<Data>(path: string): Promise<[Data, string]> {
    const { json, etag } = await this.#transport.call({ method: "GET", path });
    return [(json as Found<Data>).data, etag];
  }

  async #ifChanged<Data>(path: string, etag: string): Promise<[Data, string] | undefined> {
    const answer = await this.#transport.call({ method: "GET", path, headers: { "If-None-Match": etag } });
    return answer.json === undefined ? undefined : [(answer.json as Found<Data>).data, answer.etag];
  }

  async *#pages<Data>(path: string, { perPage = 200, ...filters }: Paging): AsyncGenerator<Data, void, undefined> {
    for (let [number, last] = [1, 1]; number <= last; number += 1) {
      const query = { ...filters, sort_by: "id", sort_dir: "asc", per_page: perPage, page: number };
      const page = await this.#get<Data[]>(path, query);
      yield* page.data;
      last = page.meta.last_page;
    }
  }

  async #batch(method: string, path: string, body: unknown, count: number): Promise<Result[]> {
    const items = count === 0 ? [] : ((await this.call(method, path, { body })) as Item[]);
    return items.map(({ code, detail }) => {
      return { ok: code === "1020", code, message: detail.msg, id: detail.affiliate_id ?? detail.url_id };
    });
  }
}
