/** Operations on URLs and cases. All changes except adding URLs need the `cases` scope. */

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

  /** Returns the URL and its etag, or undefined if the URL still has this etag. */
  urlIfChanged(id: number, etag: string): Promise<[ComplianceUrl, string] | undefined> {
    return this.ifChanged(`/api/urls/${id}`, etag);
  }

  /** Returns the newest URLs that contain a text of at least three characters. `limit` is 20 by default, and at most 50. */
  searchUrls(text: string, limit?: number): Promise<ComplianceUrl[]> {
    return this.get("/api/urls:search", { q: text, limit });
  }

  /** Adds URLs, and returns one result per URL. A URL is a string, or an object with `url`. The service skips existing URLs (`1023`). */
  async addUrls(urls: readonly (string | UrlInput)[]): Promise<Result[]> {
    if (!Array.isArray(urls)) {
      throw new TypeError("addUrls takes a list of URLs");
    }
    const items = urls.map((url: unknown, index) => {
      if (typeof url !== "string" && (typeof url !== "object" || url === null)) {
        throw new TypeError(`addUrls takes strings, or objects with url, but item ${index} is ${url === null ? "null" : typeof url}`);
      }
      return typeof url === "string" ? { url } : url;
    });
    return this.batch("POST", "/api/urls", { urls: items }, items.length);
  }

  /** Saves a review: changes the fields in `review`. `infractions` replaces all of the URL's infractions. Returns the URL's new etag. */
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

  /** Returns the case and its etag, or undefined if the case still has this etag. */
  caseIfChanged(id: number, etag: string): Promise<[ComplianceCase, string] | undefined> {
    return this.ifChanged(`/api/cases/${id}`, etag);
  }

  /** Opens a case, and returns its ID. A call with the same `request_id` returns the same case. */
  async openCase(opening: CaseOpen): Promise<number> {
    const { json } = await this.write("POST", "/api/cases", opening);
    return (json as { detail: { case_id: number } }).detail.case_id;
  }

  /** Changes the fields in `change`; null clears a field. Returns the case's new etag. */
  updateCase(id: number, change: CaseUpdate, condition?: Condition): Promise<string> {
    return this.#move("PATCH", id, "", change, condition);
  }

  /** Sets the status Resolved. Returns the case's etag. */
  resolveCase(id: number, fields: CaseResolve = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/resolve", fields, condition);
  }

  /** Sets the status Closed, or another final status. Returns the case's etag. */
  closeCase(id: number, fields: CaseClose = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/close", fields, condition);
  }

  /** Sets the status Open, or another status that is not final. Returns the case's etag. */
  reopenCase(id: number, fields: CaseReopen = {}, condition?: Condition): Promise<string> {
    return this.#move("POST", id, "/reopen", fields, condition);
  }

  /** Returns one result per incident. Invalid incidents (`1021`) and unknown URLs (`1025`) do not affect other incidents. */
  attachIncidents(id: number, incidents: readonly IncidentItem[]): Promise<Result[]> {
    return this.batch("POST", `/api/cases/${id}/incidents`, { incidents }, incidents.length);
  }

  /** Returns one result per incident. Incidents that were not attached count as detached. */
  detachIncidents(id: number, incidents: readonly IncidentKey[]): Promise<Result[]> {
    return this.batch("POST", `/api/cases/${id}/incidents:detach`, { incidents }, incidents.length);
  }

  async #move(method: string, id: number, action: string, fields: object, condition?: Condition): Promise<string> {
    return (await this.write(method, `/api/cases/${id}${action}`, fields, condition)).etag;
  }
}
