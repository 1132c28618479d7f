/** URLs and cases: lists, records, and the work on them. Changes need the scope `cases`, except new URLs. */

import { Calls, type Condition, type Paging, type Past, type Result } from "./calls.js";
import type {
  CaseClose,
  CaseOpen,
  CaseReopen,
  CaseResolve,
  CaseUpdate,
  ComplianceCase,
  ComplianceUrl,
  IncidentItem,
  IncidentKey,
  UrlInput,
  UrlReview,
} from "./records.js";
import type { paths } from "./schema.js";

type List = "/api/affiliates" | "/api/urls" | "/api/cases";
type Query<Path extends List> = NonNullable<paths[Path]["get"]["parameters"]["query"]>;
type Filters<Path extends List> = Omit<Query<Path>, "sort_by" | "sort_dir" | "per_page" | "page">;

export type AffiliateFilters = Filters<"/api/affiliates">;
export type UrlFilters = Filters<"/api/urls">;
export type CaseFilters = Filters<"/api/cases">;

export class CaseWork extends Calls {
  /** Yields all URLs that match the filters, by ascending ID. URLs added during the call come last. */
  urls(filters: UrlFilters & Paging = {}): AsyncGenerator<ComplianceUrl, void, undefined> {
    return this.pages("/api/urls", filters);
  }

  url(id: number, { asOf }: Past = {}): Promise<ComplianceUrl> {
    return this.get(`/api/urls/${id}`, { as_of: asOf });
  }

  /** Returns a URL and its etag. */
  urlWithEtag(id: number): Promise<[ComplianceUrl, string]> {
    return this.withEtag(`/api/urls/${id}`);
  }

  /** Returns undefined if the URL still has this etag. */
  urlIfChanged(id: number, etag: string): Promise<[ComplianceUrl, string] | undefined> {
    return this.ifChanged(`/api/urls/${id}`, etag);
  }

  /** Returns the newest URLs that contain a text of at least three characters: 20, or `limit`, at most 50. */
  searchUrls(text: string, limit?: number): Promise<ComplianceUrl[]> {
    return this.get("/api/urls:search", { q: text, limit });
  }

  /** Returns one result per URL. A URL is a text, or an object with `url`. An existing URL is skipped (`1023`). */
  async addUrls(urls: readonly (string | UrlInput)[]): Promise<Result[]> {
    if (!Array.isArray(urls)) {
      throw new TypeError("addUrls takes a list of URLs");
    }
    const items = urls.map((url: unknown, index) => {
      if (typeof url !== "string" && (typeof url !== "object" || url === null)) {
        throw new TypeError(`addUrls takes URLs as texts, or as objects with url; item ${index} is ${url === null ? "null" : typeof url}`);
      }
      return typeof url === "string" ? { url } : url;
    });
    return this.batch("POST", "/api/urls", { urls: items }, items.length);
  }

  /**
   * Writes a verdict on a URL: changes the fields that `review` has. `infractions` replaces all infractions of the URL. Returns the URL's
   * new etag.
   */
  async reviewUrl(id: number, review: UrlReview, condition?: Condition): Promise<string> {
    return (await this.write("PATCH", `/api/urls/${id}`, review, condition)).etag;
  }

  /** Yields all cases that match the filters, by ascending ID. Cases opened during the call come last. */
  cases(filters: CaseFilters & Paging = {}): AsyncGenerator<ComplianceCase, void, undefined> {
    return this.pages("/api/cases", filters);
  }

  case(id: number, { asOf }: Past = {}): Promise<ComplianceCase> {
    return this.get(`/api/cases/${id}`, { as_of: asOf });
  }

  /** Returns a case and its etag. */
  caseWithEtag(id: number): Promise<[ComplianceCase, string]> {
    return this.withEtag(`/api/cases/${id}`);
  }

  /** Returns undefined if the case still has this etag. */
  caseIfChanged(id: number, etag: string): Promise<[ComplianceCase, string] | undefined> {
    return this.ifChanged(`/api/cases/${id}`, etag);
  }

  /** Returns the ID of the new case. `request_id` is your key: a repeated key returns the case that it opened. */
  async openCase(opening: CaseOpen): Promise<number> {
    const { json } = await this.write("POST", "/api/cases", opening);
    return (json as { detail: { case_id: number } }).detail.case_id;
  }

  /** Changes the fields that `change` has; null clears a field. Returns the case's new etag. */
  updateCase(id: number, change: CaseUpdate, condition?: Condition): Promise<string> {
    return this.#move("PATCH", id, "", change, condition);
  }

  /** Sets the status Resolved. Returns the case's etag. */
  resolveCase(id: number, fields: CaseResolve = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/resolve", fields, condition);
  }

  /** Sets the status Closed, or another that ends a case. Returns the case's etag. */
  closeCase(id: number, fields: CaseClose = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/close", fields, condition);
  }

  /** Sets the status Open, or another that does not end a case. Returns the case's etag. */
  reopenCase(id: number, fields: CaseReopen = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/reopen", fields, condition);
  }

  /** Returns one result per incident. Invalid incidents (`1021`) and URLs that the company does not have (`1025`) fail alone. */
  attachIncidents(id: number, incidents: readonly IncidentItem[]): Promise<Result[]> {
    return this.batch("POST", `/api/cases/${id}/incidents`, { incidents }, incidents.length);
  }

  /** Returns one result per incident. An incident that the case lacks counts as detached. */
  detachIncidents(id: number, incidents: readonly IncidentKey[]): Promise<Result[]> {
    return this.batch("POST", `/api/cases/${id}/incidents:detach`, { incidents }, incidents.length);
  }

  async #move(method: string, id: number, action: string, fields: object, condition?: Condition): Promise<string> {
    return (await this.write(method, `/api/cases/${id}${action}`, fields, condition)).etag;
  }
}
