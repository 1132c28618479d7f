/** The operations of the interface. */

import type { Affiliate, AffiliateCreate, AffiliateUpdate, ComplianceCase, ComplianceUrl } from "./records.js";
import type { paths } from "./schema.js";
import { records } from "./stream.js";
import { type Options, type Token, Transport } from "./transport.js";

type Query<Path extends "/api/urls" | "/api/cases"> = NonNullable<paths[Path]["get"]["parameters"]["query"]>;
type Filters<Path extends "/api/urls" | "/api/cases"> = Omit<Query<Path>, "sort_by" | "sort_dir" | "per_page" | "page">;

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

interface Item {
  code: string;
  detail: { msg: string; affiliate_id?: number; url_id?: number };
}

/**
 * The interface of a service at `base`, such as `http://127.0.0.1:8080`, for the company of a token.
 *
 * Requests that had no response, or that the service asks to repeat (429, 503), are repeated up to `tries` times in all; waits
 * follow `Retry-After`. All operations may be repeated: a creation whose response was lost is then reported as a duplicate.
 *
 * Throws `Invalid` for violations (422), `Refused` for every other refusal, and `Unavailable` if there was no response.
 */
export class Client {
  readonly #transport: Transport;

  constructor(base: string, token: Token, options: Partial<Options> = {}) {
    this.#transport = new Transport(base, token, options);
  }

  /** Any operation, such as `call("GET", "/api/cases/1")`: the JSON of its response. */
  call(method: string, path: string, { query, body }: { query?: Record<string, unknown>; body?: unknown } = {}): Promise<unknown> {
    return this.#transport.call({ method, path, query, body });
  }

  /** All affiliates by ID, while they arrive. If the connection breaks, the list goes on after the last affiliate. */
  async *affiliates(): AsyncGenerator<Affiliate, void, undefined> {
    const tries = this.#transport.tries();
    let last = 0;
    for (;;) {
      try {
        for await (const record of records(await this.#transport.parts({ method: "GET", path: "/api/affiliates" }))) {
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

  /** Returns the ID of the new affiliate. A name that exists is refused with the code `1023`. */
  async createAffiliate(affiliate: AffiliateCreate): Promise<number> {
    const created = (await this.call("POST", "/api/affiliates", { body: affiliate })) as { detail: { affiliate_id: number } };
    return created.detail.affiliate_id;
  }

  /** One result for each. Names that exist (`1023`) and country codes that do not (`1024`) fail alone. */
  createAffiliates(affiliates: readonly AffiliateCreate[]): Promise<Result[]> {
    return this.#batch("POST", "/api/affiliates", { affiliates }, affiliates.length);
  }

  /** Changes the fields that `change` has; null clears a field. */
  async updateAffiliate(change: AffiliateUpdate): Promise<void> {
    await this.call("PUT", `/api/affiliates/${change.id}`, { body: change });
  }

  /**
   * One result for each, in their order. Unknown IDs (`1025`), names that are taken and country codes that do not exist (`1021`)
   * fail alone. The first ID must be known.
   */
  updateAffiliates(changes: readonly AffiliateUpdate[]): Promise<Result[]> {
    return this.#batch("PUT", `/api/affiliates/${changes[0]?.id}`, { affiliates: changes }, changes.length);
  }

  /** All URLs that match the filters, by ID ascending: those that are added meanwhile come last. */
  urls(filters: UrlFilters & Paging = {}): AsyncGenerator<ComplianceUrl, void, undefined> {
    return this.#pages("/api/urls", filters);
  }

  async url(id: number): Promise<ComplianceUrl> {
    return (await this.#get<ComplianceUrl>(`/api/urls/${id}`)).data;
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

  async #get<Data>(path: string, query?: Record<string, unknown>): Promise<{ data: Data; meta: { last_page: number } }> {
    return (await this.#transport.call({ method: "GET", path, query })) as { data: Data; meta: { last_page: number } };
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
