/** Implements the client, with every operation of the interface. */

import { type Condition, type Past, type Result } from "./calls.js";
import { type AffiliateFilters, CaseWork } from "./case_work.js";
import { Unavailable } from "./errors.js";
import type {
  Affiliate,
  AffiliateCreate,
  AffiliateRosterItem,
  AffiliateUpdate,
  AuditPage,
  Change,
  ChangePage,
  Erased,
  Overview,
  SyncedAffiliates,
  VocabularyNames,
} from "./records.js";
import type { paths } from "./schema.js";
import { events, records } from "./stream.js";
import { type Options, type Token, Transport } from "./transport.js";
import { Webhooks } from "./webhooks.js";

/** Options for a sync. */
export interface SyncOptions {
  /** Returns the affiliates that are missing from the list. */
  reportAbsent?: boolean;
  /** The status for affiliates that are missing from the list. */
  absentStatus?: string | null;
  /**
   * Maximum number of affiliates that receive `absentStatus`; by default a tenth of the affiliates with a different status, and at least 10. If
   * more would receive the status, nothing changes, and the call throws `Refused` (409).
   */
  maxAbsent?: number | null;
  /** Validates the list without saving anything. */
  validateOnly?: boolean;
}

export type AuditFilters = Omit<NonNullable<paths["/api/audit"]["get"]["parameters"]["query"]>, "before" | "limit">;

/**
 * A client for the token's company. `base` is the service's address, such as `http://127.0.0.1:8080`, with or without `/api`.
 *
 * If the service does not respond, or responds with 429 or 503, the client makes up to `tries` attempts. It obeys `Retry-After`. All
 * operations are safe to retry: if the response to a create was lost, the next attempt reports a duplicate.
 *
 * Throws `Invalid` for violations (422), `Changed` if the record has a different etag (412), `Refused` for every other service error,
 * and `Unavailable` if no response arrives. Throws `TypeError` for an invalid address or token.
 */
export class Client extends CaseWork {
  /** Manages webhooks, which receive the company's changes. */
  readonly webhooks: Webhooks;

  constructor(base: string, token: Token, options: Partial<Options> = {}) {
    super(new Transport(base, token, options));
    this.webhooks = new Webhooks(this.transport);
  }

  /**
   * Calls any operation, such as `call("GET", "/cases/1")`, and returns the response's JSON. The path can begin with `/api`. Sends a
   * `Uint8Array` as a CSV file or a workbook.
   */
  async call(method: string, path: string, options: { query?: Record<string, unknown>; body?: unknown } = {}, ...more: never[]): Promise<unknown> {
    const { query, body, ...unknown } = options;
    if (more.length + Object.keys(unknown).length > 0) {
      throw new TypeError('call takes one object with options: call("GET", "/urls", { query: { page: 1 } }) or call("POST", "/urls", { body })');
    }
    return (await this.transport.call({ method, path, query, body })).json;
  }

  /** Yields all affiliates that match the filters as they arrive, by ascending ID. Resumes after a lost connection. */
  async *affiliates(filters: AffiliateFilters = {}): AsyncGenerator<Affiliate, void, undefined> {
    this.checkFilters(filters);
    const tries = this.transport.tries();
    let last = 0;
    for (;;) {
      try {
        const headers = { Accept: "application/x-ndjson" };
        const [response, parts] = await this.transport.open({ method: "GET", path: "/api/affiliates", query: filters, headers });
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

  affiliate(id: number, { asOf }: Past = {}): Promise<Affiliate> {
    return this.get(`/api/affiliates/${id}`, { as_of: asOf });
  }

  /** Returns an affiliate and its etag. */
  affiliateWithEtag(id: number): Promise<[Affiliate, string]> {
    return this.withEtag(`/api/affiliates/${id}`);
  }

  /** Returns the affiliate and its etag, or undefined if the affiliate still has this etag. */
  affiliateIfChanged(id: number, etag: string): Promise<[Affiliate, string] | undefined> {
    return this.ifChanged(`/api/affiliates/${id}`, etag);
  }

  /** Returns affiliates whose name or client identifier contains a text, by ascending ID. `limit` is 20 by default, and at most 50. */
  searchAffiliates(text: string, limit?: number): Promise<Affiliate[]> {
    return this.get("/api/affiliates:search", { q: text, limit });
  }

  /** Creates an affiliate, and returns its ID. An existing name throws `Refused` with the code `1023`. */
  async createAffiliate(affiliate: AffiliateCreate): Promise<number> {
    const { json } = await this.write("POST", "/api/affiliates", affiliate);
    return (json as { detail: { affiliate_id: number } }).detail.affiliate_id;
  }

  /** Returns one result per item. Existing names (`1023`) and unknown country codes (`1024`) do not affect other items. */
  createAffiliates(affiliates: readonly AffiliateCreate[]): Promise<Result[]> {
    return this.batch("POST", "/api/affiliates", { affiliates }, affiliates.length);
  }

  /** Changes the fields in `change`; null clears a field. Returns the affiliate's new etag. */
  async updateAffiliate(change: AffiliateUpdate, condition?: Condition): Promise<string> {
    return (await this.write("PUT", `/api/affiliates/${change.id}`, change, condition)).etag;
  }

  /**
   * Returns one result per item, in order. Unknown IDs (`1025`), taken names and unknown country codes (`1021`) do not affect other
   * items. The first ID must exist.
   */
  updateAffiliates(changes: readonly AffiliateUpdate[]): Promise<Result[]> {
    return this.batch("PUT", `/api/affiliates/${changes[0]?.id}`, { affiliates: changes }, changes.length);
  }

  /**
   * Updates the affiliates from a list, which identifies them by `client_affiliate_id`. Refused items appear in the results, and do not
   * affect others. Null clears a field. With `validateOnly`, the service saves nothing.
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
    return this.send("POST", "/api/affiliates:sync", body);
  }

  /**
   * Erases an affiliate with its URLs, cases and personal data, and returns how many other records the service erased. The token needs the scope
   * `erase`. If the first response was lost, the next attempt throws `Refused` (404).
   */
  eraseAffiliate(id: number, condition?: Condition): Promise<Erased> {
    return this.send("DELETE", `/api/affiliates/${id}`, undefined, condition);
  }

  /** Returns the counts of open, overdue and new records. */
  overview(): Promise<Overview> {
    return this.get("/api/overview");
  }

  /** Returns the allowed names for fields, with their IDs for filters. */
  vocabularies(): Promise<VocabularyNames[]> {
    return this.get("/api/vocabularies");
  }

  /**
   * Yields all changes after a position. To continue later, pass the position of the last change. Throws `Refused` (410) if the service
   * no longer keeps the changes after the position.
   */
  async *changes(after = 0, types: string[] = []): AsyncGenerator<Change, void, undefined> {
    for (let last = after + 1; after < last; ) {
      const query = { after, types: types.join(","), limit: 1000 };
      const page = await this.get<ChangePage>("/api/changes", query);
      yield* page.changes;
      [after, last] = [page.position, page.last_position];
    }
  }

  /** Yields changes with their authors, newest first, as far back as the service keeps changes. The token needs the `audit` scope. */
  async *audit(filters: AuditFilters = {}): AsyncGenerator<Change, void, undefined> {
    for (let before: number | null | undefined; before !== null; ) {
      const page: AuditPage = await this.get("/api/audit", { ...filters, before, limit: 1000 });
      yield* page.changes;
      before = page.next;
    }
  }

  /**
   * Yields changes as they happen, after a position or from now on. Never ends, and resumes after a lost connection. Throws `Refused`
   * (410) if the service no longer keeps the changes after the position.
   */
  async *watchChanges(after?: number, types: string[] = []): AsyncGenerator<Change, void, undefined> {
    let [last, tries] = [after?.toString(), this.transport.tries()];
    for (;;) {
      try {
        const headers = { Accept: "text/event-stream", ...(last === undefined ? {} : { "Last-Event-ID": last }) };
        const request = { method: "GET", path: "/api/changes", query: { types: types.join(",") }, headers };
        const [, parts] = await this.transport.open(request);
        for await (const { id, data } of events(parts)) {
          [last, tries] = [id, this.transport.tries()];
          yield* (data as ChangePage | undefined)?.changes ?? [];
        }
        throw new Unavailable("the event stream ended");
      } catch (error) {
        await tries.again(error);
      }
    }
  }
}
