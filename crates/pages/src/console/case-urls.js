// The URLs of a case: those of its affiliate that name the case. The interface has no filter for that, so the newest ones are searched.

import { affiliateNamed } from "./affiliate-lookup.js";
import { badge } from "./badges.js";
import { count, element, table } from "./elements.js";
import { cell } from "./list-columns.js";
import { refusalMessage } from "./refusals.js";
import { call, Refusal } from "./requests.js";

const PAGES = 5;
const PAGE_SIZE = 200;

async function find(record, signal) {
  const affiliate = record.affiliate_name ? await affiliateNamed(record.affiliate_name, signal) : null;
  if (affiliate === null) return { urls: [], read: 0, total: 0 };
  const urls = [];
  let read = 0;
  for (let page = 1; ; page += 1) {
    const query = { distributor_id: affiliate.id, per_page: PAGE_SIZE, page };
    const { body } = await call("GET", "api/urls", { query, signal });
    urls.push(...body.data.filter((url) => url.case_id === record.case_id));
    read += body.data.length;
    if (page === PAGES || page >= body.meta.last_page) return { urls, read, total: body.meta.total };
  }
}

/** A section with the URLs of a case, which is filled when they have been read. */
export function caseUrls(record, signal) {
  const content = element("div", { class: "results", "aria-busy": "true" });
  const fill = async () => {
    try {
      const { urls, read, total } = await find(record, signal);
      const part = read < total && element("p", { class: "hint" }, `Among the newest ${count(read)} of ${count(total)} URLs of the affiliate.`);
      content.replaceChildren(urls.length === 0 ? element("p", {}, "None of the affiliate's URLs belongs to this case.")
        : table("URLs of the case", ["ID", "URL", "Incident status", "Infractions"], urls.map((url) => [
          cell("urls", "id", url), cell("urls", "url", url), badge(url.incident_status), cell("urls", "infractions", url),
        ]), { className: "list", href: (index) => `#/urls/${urls[index].id}` }));
      if (part) content.append(part);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      content.replaceChildren(refusalMessage(error, fill));
    }
    content.removeAttribute("aria-busy");
  };
  fill();
  return element("section", {}, element("h2", {}, "URLs of the case"), content);
}
