/** The operations of the interface. */

import { type Condition, type Past, type Result } from "./calls.js";
import { CaseWork } from "./case_work.js";
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

export type AuditFilters = Omit<NonNullable<paths["/api/audit"]["get"]["parameters"]["query"]>, "before" | "limit">;

/**
 * The interface of a service at `base`, such as `http://127.0.0.1:8080`, with or without `/api`, for the company of a token.
 *
 * Requests that had no response, or that the service asks to repeat (429, 503), are repeated up to `tries` times in all; waits
 * follow `Retry-After`. All operations may be repeated: a creation whose response was lost is then reported as a duplicate.
 *
 * Throws `Invalid` for violations (422), `Changed` if a record has another etag (412), `Refused` for every other refusal, and
 * `Unavailable` if there was no response.
 */
export class Client extends CaseWork {
  /** Endpoints that receive the changes of the company. */
  readonly webhooks: Webhooks;

  constructor(base: string, token: Token, options: Partial<Options> = {}) {
    super(new Transport(base, token, options));
    this.webhooks = new Webhooks(this.transport);
  }

  /** Any operation, such as `call("GET", "/api/cases/1")`: the JSON of its response. */
  async call(method: string, path: string, { query, body }: { query?: Record<string, unknown>; body?: unknown } = {}): Promise<unknown> {
    return (await this.transport.call({ method, path, query, body })).json;
  }

  /** All affiliates by ID, while they arrive. If the connection breaks, the list goes on after the last affiliate. */
  async *affiliates(): AsyncGenerator<Affiliate, void, undefined> {
    const tries = this.transport.tries();
    let last = 0;
    for (;;) {
      try {
        const headers = { Accept: "application/x-ndjson" };
        const [response, parts] = await this.transport.open({ method: "GET", path: "/api/affiliates", headers });
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

  /** An affiliate, and the etag to change it with. */
  affiliateWithEtag(id: number): Promise<[Affiliate, string]> {
    return this.withEtag(`/api/affiliates/${id}`);
  }

  /** Undefined if the affiliate still has this etag. */
  affiliateIfChanged(id: number, etag: string): Promise<[Affiliate, string] | undefined> {
    return this.ifChanged(`/api/affiliates/${id}`, etag);
  }

  /** The first affiliates, by ID, whose name or client identifier contains a text: 20, or as many as `limit`, at most 50. */
  searchAffiliates(text: string, limit?: number): Promise<Affiliate[]> {
    return this.get("/api/affiliates:search", { q: text, limit });
  }

  /** Returns the ID of the new affiliate. A name that exists is refused with the code `1023`. */
  async createAffiliate(affiliate: AffiliateCreate): Promise<number> {
    const { json } = await this.write("POST", "/api/affiliates", affiliate);
    return (json as { detail: { affiliate_id: number } }).detail.affiliate_id;
  }

  /** One result for each. Names that exist (`1023`) and country codes that do not (`1024`) fail alone. */
  createAffiliates(affiliates: readonly AffiliateCreate[]): Promise<Result[]> {
    return this.batch("POST", "/api/affiliates", { affiliates }, affiliates.length);
  }

  /** Changes the fields that `change` has; null clears a field. Returns the affiliate's new etag. */
  async updateAffiliate(change: AffiliateUpdate, condition?: Condition): Promise<string> {
    return (await this.write("PUT", `/api/affiliates/${change.id}`, change, condition)).etag;
  }

  /**
   * One result for each, in their order. Unknown IDs (`1025`), names that are taken and country codes that do not exist (`1021`)
   * fail alone. The first ID must be known.
   */
  updateAffiliates(changes: readonly AffiliateUpdate[]): Promise<Result[]> {
    return this.batch("PUT", `/api/affiliates/${changes[0]?.id}`, { affiliates: changes }, changes.length);
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
    return this.send("POST", "/api/affiliates:sync", body);
  }

  /**
   * Removes an affiliate for good, with its URLs, its cases and its personal data. Returns how many records were erased besides it. The
   * token needs the scope `erase`. If the response was lost and the request repeated, the affiliate is unknown: `Refused`, with the status 404.
   */
  eraseAffiliate(id: number, condition?: Condition): Promise<Erased> {
    return this.send("DELETE", `/api/affiliates/${id}`, undefined, condition);
  }

  /** Figures of all records: what is open, overdue and new. */
  overview(): Promise<Overview> {
    return this.get("/api/overview");
  }

  /** The names that fields can have, with their IDs, which are those that filters take. */
  vocabularies(): Promise<VocabularyNames[]> {
    return this.get("/api/vocabularies");
  }

  /**
   * All changes after a position, as far as there are any: call it again with the position of the last one. Fails with Refused (410) if
   * changes that follow the position are no longer kept.
   */
  async *changes(after = 0, types: string[] = []): AsyncGenerator<Change, void, undefined> {
    for (let last = after + 1; after < last; ) {
      const query = { after, types: types.join(","), limit: 1000 };
      const page = await this.get<ChangePage>("/api/changes", query);
      yield* page.changes;
      [after, last] = [page.position, page.last_position];
    }
  }

  /** Who has changed what, newest first, as far back as changes are kept. The token needs the scope `audit`. */
  async *audit(filters: AuditFilters = {}): AsyncGenerator<Change, void, undefined> {
    for (let before: number | null | undefined; before !== null; ) {
      const page: AuditPage = await this.get("/api/audit", { ...filters, before, limit: 1000 });
      yield* page.changes;
      before = page.next;
    }
  }

  /**
   * Changes as they are made, after a position or from now on, without an end. If the connection breaks, they go on after the last one.
   * Fails with Refused (410) if changes that follow the position are no longer kept.
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
        throw new Unavailable("the events ended");
      } catch (error) {
        await tries.again(error);
      }
    }
  }
}
