//! Checks responses, so that a fast wrong response does not count.
//!
//! Every response must have the right status and beginning. One in [`EVERY`] is checked in full.

use anyhow::{Context as _, anyhow, ensure};
use compliance_api::v1::{
    AddComplianceUrlsResponse, Affiliate, BatchCreateAffiliatesResponse, BatchUpdateAffiliatesResponse,
    CreateAffiliateResponse, ListComplianceCasesResponse, ListComplianceUrlsResponse, PageMeta, ResultCode,
    UpdateAffiliateResponse,
};
use http::StatusCode;
use percent_encoding::percent_decode;
use prost::{Message as _, encoding::encode_varint};
use serde_json::Value;
use tonic::Code;

use crate::workload::{LoadRequest, Universe, rows_on};

/// One response in this many is checked in full, including the first of each worker.
pub const EVERY: u64 = 64;

/// Whether the response with this number is checked in full.
pub fn is_sampled(number: u64) -> bool {
    number.is_multiple_of(EVERY)
}

/// The error of a response that reports a failure. If a limit refused the request, it says what to do.
pub(crate) fn wrong_status(is_limit: bool, status: &str) -> anyhow::Error {
    if !is_limit {
        return anyhow!("{status}");
    }
    anyhow!(
        "{status} (a limit refused a request. The service delays rejections, so this run measures the delay. Start the service with \
         --rate-limit off. If it is off already, one company has used up its share of calls, streams or memory: use more \
         companies, with a token of each, or fewer --connections.)"
    )
}

/// Checks the status of a REST response.
pub fn rest_status(expected: u16, status: u16, body: &[u8]) -> anyhow::Result<()> {
    if status == expected {
        return Ok(());
    }
    let named = |status| StatusCode::from_u16(status).map_or_else(|_| status.to_string(), |status| status.to_string());
    let message = if body.is_empty() { String::new() } else { format!(": {}", shown(body)) };
    Err(wrong_status(status == 429, &format!("status {} instead of {expected}{message}", named(status))))
}

/// The error of a gRPC call whose status is not OK. `message` is percent-encoded.
pub(crate) fn grpc_status(status: Option<&[u8]>, message: &[u8]) -> anyhow::Error {
    let Some(status) = status else { return anyhow!("the call ended without a gRPC status") };
    let code = Code::from_bytes(status);
    let message = percent_decode(message).decode_utf8_lossy();
    wrong_status(code == Code::ResourceExhausted, &format!("gRPC status {} ({code:?}): {message}", code as i32))
}

/// Checks a REST response; `whole` checks it in full.
pub fn rest(request: &LoadRequest, universe: &Universe, status: u16, body: &[u8], whole: bool) -> anyhow::Result<()> {
    rest_status(request.status(), status, body)?;
    let start: &[u8] = match request {
        LoadRequest::BatchCreate(_) | LoadRequest::BatchUpdate { .. } | LoadRequest::AddUrls(_) => {
            b"[{\"code\":\"1020\""
        }
        LoadRequest::Create(_) | LoadRequest::Update { .. } => b"{\"code\":\"1020\"",
        _ => b"{\"code\":\"1026\"",
    };
    ensure!(body.starts_with(start), "the response has another beginning: {}", shown(body));
    if whole {
        read_whole(request, universe, body).with_context(|| format!("a wrong response: {}", shown(body)))?;
    }
    Ok(())
}

fn read_whole(request: &LoadRequest, universe: &Universe, body: &[u8]) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_slice(body).context("the response is not JSON")?;
    match request {
        LoadRequest::GetAffiliate(id) => affiliate(&answer["data"], universe.company, *id),
        // `AffiliateList` checks the list while it arrives.
        LoadRequest::ListAffiliates => Ok(()),
        LoadRequest::ListUrls { page: at, per_page } => rest_page(&answer, "id", *at, *per_page, universe.urls),
        LoadRequest::ListCases { page: at, per_page } => rest_page(&answer, "case_id", *at, *per_page, universe.cases),
        LoadRequest::Create(input) => {
            let detail = &answer["detail"];
            ensure!(detail["affiliate_id"].as_i64().is_some_and(|id| id > 0), "the response has no affiliate_id");
            ensure!(
                detail["client_affiliate_id"].as_str() == input.client_affiliate_id.as_deref(),
                "the response is about another affiliate"
            );
            Ok(())
        }
        LoadRequest::Update { id, .. } => {
            ensure!(answer["detail"]["affiliate_id"] == *id, "the response is about another affiliate");
            Ok(())
        }
        LoadRequest::BatchCreate(_) | LoadRequest::BatchUpdate { .. } | LoadRequest::AddUrls(_) => {
            let results = answer.as_array().context("the response is not an array")?;
            ensure!(results.len() as u64 == request.items(), "the response has {} results", results.len());
            ensure!(results.iter().all(|result| result["code"] == "1020"), "not every item was saved");
            Ok(())
        }
    }
}

/// Checks the message of a gRPC response whose statuses report success.
///
/// The message says whether a write succeeded, so each message of a write is checked in full. `whole` matters for reads only.
pub fn grpc(request: &LoadRequest, universe: &Universe, message: &[u8], whole: bool) -> anyhow::Result<()> {
    match request {
        LoadRequest::GetAffiliate(id) if !whole => {
            let mut start = [0x08].to_vec();
            encode_varint(*id as u64, &mut start);
            ensure!(message.starts_with(&start), "the response is not affiliate {id}");
        }
        LoadRequest::ListUrls { .. } | LoadRequest::ListCases { .. } if !whole => {
            ensure!(!message.is_empty(), "the response is empty");
        }
        _ => decode_whole(request, universe, message).context("a wrong response")?,
    }
    Ok(())
}

fn decode_whole(request: &LoadRequest, universe: &Universe, message: &[u8]) -> anyhow::Result<()> {
    match request {
        LoadRequest::GetAffiliate(id) => {
            let affiliate = Affiliate::decode(message)?;
            ensure!(affiliate.id == *id, "the affiliate is not {id}");
            let company = universe.company;
            ensure!(affiliate.client_id == company, "the affiliate is not of company {company}");
            ensure!(affiliate.distributor_name.is_some_and(|name| !name.is_empty()), "the affiliate has no name");
            Ok(())
        }
        // The client checks the list while it arrives.
        LoadRequest::ListAffiliates => Ok(()),
        LoadRequest::ListUrls { page: at, per_page } => {
            let response = ListComplianceUrlsResponse::decode(message)?;
            let ids: Vec<i64> = response.urls.iter().map(|url| url.id).collect();
            page(&ids, &response.meta.context("the page has no meta")?, *at, *per_page, universe.urls)
        }
        LoadRequest::ListCases { page: at, per_page } => {
            let response = ListComplianceCasesResponse::decode(message)?;
            let ids: Vec<i64> = response.cases.iter().map(|case| case.case_id).collect();
            page(&ids, &response.meta.context("the page has no meta")?, *at, *per_page, universe.cases)
        }
        LoadRequest::Create(input) => {
            let response = CreateAffiliateResponse::decode(message)?;
            ensure!(response.affiliate_id > 0, "the response has no ID");
            let name = input.client_affiliate_id.as_deref().unwrap_or_default();
            ensure!(response.client_affiliate_id == name, "the response is about another affiliate");
            Ok(())
        }
        LoadRequest::Update { id, .. } => {
            let response = UpdateAffiliateResponse::decode(message)?;
            ensure!(response.affiliate_id == *id, "the response is about another affiliate");
            Ok(())
        }
        LoadRequest::BatchCreate(_) => {
            let results = BatchCreateAffiliatesResponse::decode(message)?.results;
            saved(results.iter().map(|result| result.code), request.items())
        }
        LoadRequest::BatchUpdate { .. } => {
            let results = BatchUpdateAffiliatesResponse::decode(message)?.results;
            saved(results.iter().map(|result| result.code), request.items())
        }
        LoadRequest::AddUrls(_) => {
            let results = AddComplianceUrlsResponse::decode(message)?.results;
            saved(results.iter().map(|result| result.code), request.items())
        }
    }
}

fn saved(mut codes: impl ExactSizeIterator<Item = i32>, items: u64) -> anyhow::Result<()> {
    ensure!(codes.len() as u64 == items, "there are {} results", codes.len());
    ensure!(codes.all(|code| code == i32::from(ResultCode::Saved)), "not every item was saved");
    Ok(())
}

/// Checks the JSON record of a point read.
pub fn affiliate(record: &Value, company: i64, id: i64) -> anyhow::Result<()> {
    ensure!(record["id"] == id, "the affiliate is not {id}");
    ensure!(record["client_id"] == company, "the affiliate is not of company {company}");
    ensure!(record["distributor_name"].as_str().is_some_and(|name| !name.is_empty()), "the affiliate has no name");
    Ok(())
}

/// Checks the number of affiliates in a whole list.
pub fn affiliates(universe: &Universe, count: u64) -> anyhow::Result<()> {
    match universe.affiliates_total {
        Some(total) => ensure!(count == total, "the list has {count} affiliates instead of {total}"),
        None => ensure!(count > 0, "the list is empty"),
    }
    Ok(())
}

fn rest_page(answer: &Value, id: &str, at: u64, per_page: u64, least: u64) -> anyhow::Result<()> {
    let records = answer["data"].as_array().context("the response has no data")?;
    let ids: Option<Vec<i64>> = records.iter().map(|record| record[id].as_i64()).collect();
    let meta = &answer["meta"];
    let number = |name: &str| meta[name].as_i64().with_context(|| format!("meta has no {name}"));
    let meta = PageMeta {
        total: number("total")?,
        per_page: number("per_page")? as i32,
        current_page: number("current_page")?,
        last_page: number("last_page")?,
    };
    page(&ids.context("a record has no ID")?, &meta, at, per_page, least)
}

/// Checks a page in the default order: its metadata, the number of records, and their descending IDs.
///
/// The load may add records, so the total is at least `least`.
fn page(ids: &[i64], meta: &PageMeta, at: u64, per_page: u64, least: u64) -> anyhow::Result<()> {
    let total = meta.total as u64;
    ensure!(total >= least, "the total is {total}, but there are at least {least}");
    ensure!(meta.current_page as u64 == at && meta.per_page as u64 == per_page, "the response is another page");
    ensure!(meta.last_page as u64 == total.div_ceil(per_page).max(1), "the last page is wrong");
    ensure!(ids.len() as u64 == rows_on(at, per_page, total), "the page has {} records of {total}", ids.len());
    ensure!(ids.windows(2).all(|pair| pair[0] > pair[1]), "the records do not descend");
    Ok(())
}

/// The beginning of a body, for error messages.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned()
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::{AddComplianceUrlsResponse, Affiliate, ResultCode, UrlResult};
    use prost::Message as _;

    use super::rest;
    use crate::workload::{Ids, LoadRequest, Universe};

    fn universe() -> Universe {
        Universe { company: 1, affiliates: Ids::Range(1..=9), affiliates_total: Some(9), urls: 3, cases: 0 }
    }

    fn verdict(request: &LoadRequest, status: u16, body: &str) -> bool {
        rest(request, &universe(), status, body.as_bytes(), true).is_ok()
    }

    #[test]
    fn a_record_must_be_the_requested_one() {
        let body = |id: &str, company: i64| {
            format!(r#"{{"code":"1026","data":{{"id":{id},"client_id":{company},"distributor_name":"A"}}}}"#)
        };
        let read = LoadRequest::GetAffiliate(7);
        assert!(verdict(&read, 200, &body("7", 1)) && !verdict(&read, 200, &body("\"7\"", 1)));
        assert!(!verdict(&read, 200, &body("8", 1)) && !verdict(&read, 200, &body("7", 2)));
        assert!(!verdict(&read, 404, &body("7", 1)) && !verdict(&read, 200, "{\"code\":\"1025\"}"));
    }

    #[test]
    fn a_page_must_be_consistent() {
        let body = |data: &str, total: i64| {
            format!(
                r#"{{"code":"1026","data":{data},"meta":{{"total":{total},"per_page":2,"current_page":2,"last_page":2}}}}"#
            )
        };
        let read = LoadRequest::ListUrls { page: 2, per_page: 2 };
        assert!(verdict(&read, 200, &body(r#"[{"id":1}]"#, 3)));
        assert!(verdict(&read, 200, &body(r#"[{"id":2},{"id":1}]"#, 4)));
        assert!(!verdict(&read, 200, &body(r#"[{"id":1},{"id":2}]"#, 4)));
        assert!(!verdict(&read, 200, &body("[]", 3)) && !verdict(&read, 200, &body("[]", 2)));
    }

    #[test]
    fn every_item_of_a_batch_must_be_saved() {
        let add = LoadRequest::AddUrls(vec![String::new(), String::new()]);
        assert!(verdict(&add, 201, r#"[{"code":"1020"},{"code":"1020"}]"#));
        assert!(!verdict(&add, 201, r#"[{"code":"1020"},{"code":"1023"}]"#));
        assert!(!verdict(&add, 201, r#"[{"code":"1020"}]"#));
    }

    #[test]
    fn a_message_must_be_the_requested_one() {
        let verdict =
            |request: &LoadRequest, message: &[u8], whole| super::grpc(request, &universe(), message, whole).is_ok();
        let affiliate = |id, client_id| {
            let distributor_name = Some("A".to_owned());
            Affiliate { id, client_id, distributor_name, ..Affiliate::default() }.encode_to_vec()
        };
        let read = LoadRequest::GetAffiliate(700);
        assert!([false, true].into_iter().all(|whole| verdict(&read, &affiliate(700, 1), whole)));
        assert!([false, true].into_iter().all(|whole| !verdict(&read, &affiliate(701, 1), whole)));
        assert!(!verdict(&read, &affiliate(700, 2), true) && !verdict(&read, b"", false));
        let add = LoadRequest::AddUrls(vec![String::new()]);
        let added = |codes: &[ResultCode]| {
            let result = |code: &ResultCode| UrlResult { code: (*code).into(), ..UrlResult::default() };
            AddComplianceUrlsResponse { results: codes.iter().map(result).collect() }.encode_to_vec()
        };
        assert!(verdict(&add, &added(&[ResultCode::Saved]), false));
        assert!(!verdict(&add, &added(&[ResultCode::Duplicate]), false) && !verdict(&add, &added(&[]), false));
    }

    #[test]
    fn the_first_response_and_one_in_every_are_checked_in_full() {
        assert!(super::is_sampled(0) && super::is_sampled(super::EVERY) && !super::is_sampled(1));
    }
}
