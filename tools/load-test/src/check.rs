//! Checks responses, so fast but wrong responses do not count.
//!
//! Every response must have the right status and prefix. One response in `EVERY` is checked in full.

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use compliance_api::v1::{
    AddComplianceUrlsResponse, Affiliate, BatchCreateAffiliatesResponse, BatchUpdateAffiliatesResponse,
    CreateAffiliateResponse, ListAffiliatesResponse, ListComplianceCasesResponse, ListComplianceUrlsResponse, PageMeta,
    ResultCode, UpdateAffiliateResponse,
};
use http::StatusCode;
use prost::Message as _;
use serde_json::Value;

use crate::workload::{LoadRequest, Universe};

/// One response in this many is checked in full, including each worker's first response.
const EVERY: u64 = 64;

/// Returns whether to check the response with this number in full.
pub fn is_sampled(number: u64) -> bool {
    number.is_multiple_of(EVERY)
}

/// Content of a response from either layer.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// IDs of the records.
    pub(crate) ids: Vec<i64>,
    /// Company of the first affiliate.
    pub(crate) company: i64,
    /// A page's pagination metadata.
    pub(crate) meta: PageMeta,
    /// Number of saved items.
    saved: u64,
}

/// Checks a REST response; `whole` checks it in full.
pub fn rest(request: &LoadRequest, universe: &Universe, status: u16, body: &[u8], whole: bool) -> anyhow::Result<()> {
    rest_status(request.status(), status, body)?;
    let start = match request {
        LoadRequest::BatchCreate(_) | LoadRequest::BatchUpdate { .. } | LoadRequest::AddUrls(_) => {
            "[{\"code\":\"1020\""
        }
        LoadRequest::Create(_) | LoadRequest::Update { .. } => "{\"code\":\"1020\"",
        _ => "{\"code\":\"1026\"",
    };
    ensure!(body.starts_with(start.as_bytes()), "the response does not begin with {start}: {}", shown(body));
    if whole {
        let checked = read_rest(request, body).and_then(|content| content.check(request, universe));
        checked.with_context(|| format!("wrong response: {}", shown(body)))?;
    }
    Ok(())
}

/// Checks the messages of a successful gRPC response; `whole` checks them in full.
///
/// Writes are always checked in full, because only the message says whether the items were saved.
pub(crate) fn grpc(request: &LoadRequest, universe: &Universe, messages: &[Bytes], whole: bool) -> anyhow::Result<()> {
    ensure!(!messages.is_empty(), "the response contains no message");
    if whole || request.is_write() {
        let checked = read_grpc(request, messages).and_then(|content| content.check(request, universe));
        checked.context("wrong response")?;
    }
    Ok(())
}

/// Checks the status of a REST response.
pub(crate) fn rest_status(expected: u16, status: u16, body: &[u8]) -> anyhow::Result<()> {
    let named = StatusCode::from_u16(status)?;
    ensure!(status == expected, "status {named} instead of {expected}: {}", shown(body));
    Ok(())
}

/// Reads a REST response.
pub(crate) fn read_rest(request: &LoadRequest, body: &[u8]) -> anyhow::Result<Content> {
    let answer: Value = serde_json::from_slice(body).context("the response is not JSON")?;
    let records = match &answer["data"] {
        Value::Null => &[],
        Value::Array(records) => records.as_slice(),
        one => std::slice::from_ref(one),
    };
    let id = if matches!(request, LoadRequest::ListCases { .. }) { "case_id" } else { "id" };
    let ids: Option<_> = records.iter().map(|record| record[id].as_i64()).collect();
    let number = |name: &str| answer["meta"][name].as_i64().unwrap_or_default();
    let results = answer.as_array().map_or(std::slice::from_ref(&answer), Vec::as_slice);
    Ok(Content {
        ids: ids.context("a record contains no ID")?,
        company: records.first().and_then(|record| record["client_id"].as_i64()).unwrap_or_default(),
        meta: PageMeta {
            total: number("total"),
            per_page: number("per_page") as i32,
            current_page: number("current_page"),
            last_page: number("last_page"),
        },
        saved: results.iter().filter(|result| result["code"] == "1020").count() as u64,
    })
}

/// Reads the messages of a gRPC response.
pub(crate) fn read_grpc(request: &LoadRequest, messages: &[Bytes]) -> anyhow::Result<Content> {
    let mut content = Content::default();
    for message in messages.iter().cloned() {
        match request {
            LoadRequest::GetAffiliate(_) => content.add_affiliates(&[Affiliate::decode(message)?]),
            LoadRequest::ListAffiliates => content.add_affiliates(&ListAffiliatesResponse::decode(message)?.affiliates),
            LoadRequest::ListUrls { .. } => {
                let page = ListComplianceUrlsResponse::decode(message)?;
                content.ids.extend(page.urls.iter().map(|url| url.id));
                content.meta = page.meta.context("the page contains no meta")?;
            }
            LoadRequest::ListCases { .. } => {
                let page = ListComplianceCasesResponse::decode(message)?;
                content.ids.extend(page.cases.iter().map(|case| case.case_id));
                content.meta = page.meta.context("the page contains no meta")?;
            }
            LoadRequest::Create(_) => {
                content.saved += u64::from(CreateAffiliateResponse::decode(message)?.affiliate_id > 0);
            }
            LoadRequest::Update { id, .. } => {
                content.saved += u64::from(UpdateAffiliateResponse::decode(message)?.affiliate_id == *id);
            }
            LoadRequest::BatchCreate(_) => {
                let results = BatchCreateAffiliatesResponse::decode(message)?.results;
                content.add_results(results.iter().map(|result| result.code));
            }
            LoadRequest::BatchUpdate { .. } => {
                let results = BatchUpdateAffiliatesResponse::decode(message)?.results;
                content.add_results(results.iter().map(|result| result.code));
            }
            LoadRequest::AddUrls(_) => {
                let results = AddComplianceUrlsResponse::decode(message)?.results;
                content.add_results(results.iter().map(|result| result.code));
            }
        }
    }
    Ok(content)
}

impl Content {
    fn add_affiliates(&mut self, affiliates: &[Affiliate]) {
        self.company = affiliates.first().map_or(self.company, |affiliate| affiliate.client_id);
        self.ids.extend(affiliates.iter().map(|affiliate| affiliate.id));
    }

    fn add_results(&mut self, codes: impl Iterator<Item = i32>) {
        self.saved += codes.filter(|code| *code == i32::from(ResultCode::Saved)).count() as u64;
    }

    fn check(&self, request: &LoadRequest, universe: &Universe) -> anyhow::Result<()> {
        match request {
            LoadRequest::GetAffiliate(id) => {
                ensure!(self.ids == [*id], "the response contains an affiliate other than {id}");
                ensure!(self.company == universe.company, "the affiliate belongs to a different company");
            }
            LoadRequest::ListAffiliates => {
                let (count, least) = (self.ids.len(), universe.affiliates.len());
                ensure!(count >= least, "the list contains {count} affiliates, but at least {least} exist");
                ensure!(self.ids.is_sorted(), "the affiliates are not sorted by ascending ID");
            }
            LoadRequest::ListUrls { page, per_page } => self.check_page(*page, *per_page, universe.urls)?,
            LoadRequest::ListCases { page, per_page } => self.check_page(*page, *per_page, universe.cases)?,
            _ => ensure!(self.saved == request.items(), "only {} of {} items were saved", self.saved, request.items()),
        }
        Ok(())
    }

    /// Checks a page in the default order. The load may add records, so the total is at least `least`.
    fn check_page(&self, page: u64, per_page: u64, least: u64) -> anyhow::Result<()> {
        let (meta, total) = (&self.meta, self.meta.total as u64);
        ensure!(total >= least, "the total is {total}, but at least {least} exist");
        let requested = meta.current_page as u64 == page && meta.per_page as u64 == per_page;
        ensure!(requested, "the response contains a different page");
        ensure!(meta.last_page as u64 == total.div_ceil(per_page).max(1), "`last_page` is wrong");
        let expected = total.saturating_sub((page - 1) * per_page).min(per_page);
        ensure!(self.ids.len() as u64 == expected, "the page contains {} of {total} records", self.ids.len());
        ensure!(self.ids.is_sorted_by(|one, next| one > next), "the records are not sorted by descending ID");
        Ok(())
    }
}

/// Returns the start of a body, for error messages.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use compliance_api::v1::{AddComplianceUrlsResponse, Affiliate, ResultCode, UrlResult};
    use prost::Message as _;

    use crate::workload::{LoadRequest, Universe};

    fn universe() -> Universe {
        Universe { company: 1, affiliates: [3, 7].into(), urls: 3, cases: 0 }
    }

    fn is_right(request: &LoadRequest, status: u16, body: &str) -> bool {
        super::rest(request, &universe(), status, body.as_bytes(), true).is_ok()
    }

    #[test]
    fn check_rejects_wrong_records() {
        let body = |id: &str, company: i64| format!(r#"{{"code":"1026","data":{{"id":{id},"client_id":{company}}}}}"#);
        let read = LoadRequest::GetAffiliate(7);
        assert!(is_right(&read, 200, &body("7", 1)) && !is_right(&read, 200, &body("\"7\"", 1)));
        assert!(!is_right(&read, 200, &body("8", 1)) && !is_right(&read, 200, &body("7", 2)));
        assert!(!is_right(&read, 404, &body("7", 1)) && !is_right(&read, 200, "{\"code\":\"1025\"}"));
    }

    #[test]
    fn check_rejects_inconsistent_pages() {
        let body = |data: &str, total: i64| {
            format!(
                r#"{{"code":"1026","data":{data},"meta":{{"total":{total},"per_page":2,"current_page":2,"last_page":2}}}}"#
            )
        };
        let read = LoadRequest::ListUrls { page: 2, per_page: 2 };
        assert!(is_right(&read, 200, &body(r#"[{"id":1}]"#, 3)));
        assert!(is_right(&read, 200, &body(r#"[{"id":2},{"id":1}]"#, 4)));
        assert!(!is_right(&read, 200, &body(r#"[{"id":1},{"id":2}]"#, 4)));
        assert!(!is_right(&read, 200, &body("[]", 3)) && !is_right(&read, 200, &body("[]", 2)));
    }

    #[test]
    fn check_rejects_incomplete_lists() {
        let list = |ids: &str| format!(r#"{{"code":"1026","data":[{ids}]}}"#);
        assert!(is_right(&LoadRequest::ListAffiliates, 200, &list(r#"{"id":3},{"id":7}"#)));
        assert!(!is_right(&LoadRequest::ListAffiliates, 200, &list(r#"{"id":3}"#)));
        assert!(!is_right(&LoadRequest::ListAffiliates, 200, r#"{"code":"1026","data":[{"id":3}"#));
    }

    #[test]
    fn check_rejects_batches_with_unsaved_items() {
        let add = LoadRequest::AddUrls(vec![String::new(), String::new()]);
        assert!(is_right(&add, 201, r#"[{"code":"1020"},{"code":"1020"}]"#));
        assert!(!is_right(&add, 201, r#"[{"code":"1020"},{"code":"1023"}]"#));
        assert!(!is_right(&add, 201, r#"[{"code":"1020"}]"#));
    }

    #[test]
    fn check_rejects_wrong_grpc_messages() {
        let is_right = |request: &LoadRequest, message: Vec<u8>, whole| {
            super::grpc(request, &universe(), &[Bytes::from(message)], whole).is_ok()
        };
        let affiliate = |id, client_id| Affiliate { id, client_id, ..Affiliate::default() }.encode_to_vec();
        let read = LoadRequest::GetAffiliate(7);
        assert!(is_right(&read, affiliate(7, 1), true) && is_right(&read, affiliate(8, 1), false));
        assert!(!is_right(&read, affiliate(8, 1), true) && !is_right(&read, affiliate(7, 2), true));
        let add = LoadRequest::AddUrls(vec![String::new()]);
        let added = |codes: &[ResultCode]| {
            let result = |code: &ResultCode| UrlResult { code: (*code).into(), ..UrlResult::default() };
            AddComplianceUrlsResponse { results: codes.iter().map(result).collect() }.encode_to_vec()
        };
        assert!(is_right(&add, added(&[ResultCode::Saved]), false));
        assert!(!is_right(&add, added(&[ResultCode::Duplicate]), false) && !is_right(&add, added(&[]), false));
    }
}
