//! Another company's ID is answered byte for byte like one that nobody has: every operation, every parameter that names a
//! record, in pairs of two calls.
//!
//! `COMPLIANCE_LONG_TESTS=1` makes more than 100,000 pairs.

use std::collections::{BTreeMap, BTreeSet};

use compliance_api::v1::{
    AffiliateInput, AffiliateUpdate, AttachIncidentsRequest, BatchOpenCasesRequest, BatchReadRequest,
    BatchUpdateAffiliatesRequest, CaseInput, DetachIncidentsRequest, IncidentInput, IncidentKey, IncidentType,
    InfractionInput, ObserveUrlsRequest, OpenCaseRequest, Read, RecordInfractionsRequest, UpdateAffiliateRequest,
    UpdateCaseRequest, UrlInfraction, UrlObservation, WithdrawInfractionsRequest,
};
use futures::{StreamExt as _, stream};
use prost::Message as _;
use prost_reflect::{DynamicMessage, Kind, MethodDescriptor, Value};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{RestClient, RestResponse, TestService, new_company, tests, token};
use tonic::Code;

use super::{
    calls::{Answer, Core},
    messages::{Path, clear, contract, name, operations, paths, set, shown},
};
use crate::isolation::{ROUTES, rows_of};

tests![another_companys_id_is_answered_like_an_unknown_one];

/// Operations without a parameter that names a record.
const WITHOUT_IDS: [&str; 3] =
    ["AccessService/CheckAccess", "AffiliateService/ListAffiliates", "MonitoringService/ListVocabularies"];
/// Texts that name a record, beside those whose names end in `_id`.
const NAMING_TEXTS: [&str; 7] =
    ["affiliate_name", "case_status", "incident_status", "name", "reference", "url", "infraction_name"];
/// The first ID of the owner's records, and of those that nobody has. Both have the same number of digits, and the same
/// number of bytes in a message.
const OWNED: i64 = 50_000_000;
const UNKNOWN: i64 = 70_000_000;
const CONCURRENT: usize = 16;

/// How many IDs of the owner each parameter gets.
fn ids() -> i64 {
    if std::env::var_os("COMPLIANCE_LONG_TESTS").is_some_and(|value| value == "1") { 2000 } else { 8 }
}

/// Gives a company records of each kind, with the IDs from [`OWNED`] on.
async fn fill(pool: &PgPool, company: i64, count: i64) {
    let statements = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select {company}, n, n || ' own', n || ' own' from generate_series({OWNED}, {OWNED} + {count} - 1) n;
        insert into vocabulary_entries (company_id, vocabulary, id, name)
            select {company}, v, n, n || ' own' from unnest(array[1, 2]) v,
                generate_series({OWNED}, {OWNED} + least({count}, 2000) - 1) n;
        insert into compliance_urls (company_id, id, url, url_hash, affiliate_id)
            select {company}, n, u, sha256(u::bytea), n
            from generate_series({OWNED}, {OWNED} + {count} - 1) n, lateral (select 'https://h.example/' || n || '-own') t (u);
        insert into compliance_cases (company_id, id, affiliate_id, request_id)
            select {company}, n, n, n || ' own' from generate_series({OWNED}, {OWNED} + {count} - 1) n;
        insert into incidents (company_id, id, case_id, incident_type, url_id)
            select {company}, n, n, 1, n from generate_series({OWNED}, {OWNED} + {count} - 1) n;
        insert into infractions (company_id, id, url_id, infraction_type_id, infraction_name_id)
            select {company}, n, n, 2, 8 from generate_series({OWNED}, {OWNED} + {count} - 1) n;"
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await.unwrap();
}

/// The stranger, with a record of its own of each kind that a request needs beside the parameter.
struct Stranger {
    company: i64,
    bearer: String,
    affiliate: i64,
    case: i64,
}

#[expect(clippy::unnecessary_wraps, reason = "every text of a message may be absent")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A valid request of an operation, to which a parameter is added. Other operations need nothing beside it.
fn template(parameter: &Parameter, stranger: &Stranger, id: i64) -> Vec<u8> {
    let (operation, new) = (parameter.operation.as_str(), format!("{} {id}", parameter.name()));
    let city = AffiliateInput { city: text("Elsewhere"), ..AffiliateInput::default() };
    let update = AffiliateUpdate { id: Some(stranger.affiliate), affiliate: Some(city), update_mask: None };
    let named =
        AffiliateInput { client_affiliate_id: text("S"), affiliate_name: text(&new), ..AffiliateInput::default() };
    let observation = UrlObservation {
        url: text(&format!("https://new.example/{new}")),
        note: text("x"),
        ..UrlObservation::default()
    };
    let infraction = InfractionInput {
        infraction_type: text("Health Claim"),
        infraction_name: text("weight loss"),
        created_date: None,
    };
    let on_url = UrlInfraction { infraction: Some(infraction), ..UrlInfraction::default() };
    let case = CaseInput { affiliate_id: Some(stranger.affiliate), case_worker: text("Eve"), ..CaseInput::default() };
    let incident = IncidentInput { incident_type: IncidentType::Url.into(), ..IncidentInput::default() };
    let incidents = if name(&parameter.path).contains("incidents") { vec![incident.clone()] } else { Vec::new() };
    let opening = OpenCaseRequest { request_id: text(&new), case: Some(case), incidents, ..OpenCaseRequest::default() };
    let worker = CaseInput { case_worker: text("Eve"), ..CaseInput::default() };
    let key = IncidentKey { incident_type: Some(IncidentType::Url.into()), ..IncidentKey::default() };
    match operation {
        "AffiliateService/CreateAffiliate" => {
            compliance_api::v1::CreateAffiliateRequest { affiliate: Some(named) }.encode_to_vec()
        }
        "AffiliateService/BatchCreateAffiliates" => {
            compliance_api::v1::BatchCreateAffiliatesRequest { affiliates: vec![named] }.encode_to_vec()
        }
        "AffiliateService/UpdateAffiliate" => UpdateAffiliateRequest { update: Some(update) }.encode_to_vec(),
        "AffiliateService/BatchUpdateAffiliates" => {
            BatchUpdateAffiliatesRequest { anchor_id: Some(stranger.affiliate), affiliates: vec![update] }
                .encode_to_vec()
        }
        "ReadService/BatchRead" => BatchReadRequest {
            authorizations: vec![stranger.bearer.clone()],
            reads: vec![Read { authorization: 0, request_id: None, operation: None, traceparent: None }],
        }
        .encode_to_vec(),
        "MonitoringService/ObserveUrls" | "MonitoringService/StreamUrlObservations" => {
            ObserveUrlsRequest { observations: vec![observation] }.encode_to_vec()
        }
        "MonitoringService/RecordInfractions" => RecordInfractionsRequest { infractions: vec![on_url] }.encode_to_vec(),
        "MonitoringService/WithdrawInfractions" => {
            WithdrawInfractionsRequest { infractions: vec![on_url] }.encode_to_vec()
        }
        "MonitoringService/OpenCase" => opening.encode_to_vec(),
        "MonitoringService/BatchOpenCases" => BatchOpenCasesRequest { cases: vec![opening] }.encode_to_vec(),
        "MonitoringService/UpdateCase" => {
            UpdateCaseRequest { id: stranger.case, case: Some(worker), update_mask: None }.encode_to_vec()
        }
        "MonitoringService/AttachIncidents" => {
            AttachIncidentsRequest { id: stranger.case, incidents: vec![incident] }.encode_to_vec()
        }
        "MonitoringService/DetachIncidents" => {
            DetachIncidentsRequest { id: stranger.case, incidents: vec![key] }.encode_to_vec()
        }
        _ => Vec::new(),
    }
}

/// What a request that has this parameter must not have beside it.
fn excluded(parameter: &str) -> Option<&'static str> {
    match parameter.rsplit('.').next().unwrap() {
        "client_affiliate_id" if parameter.contains("case") => Some("affiliate_id"),
        "incident_id" | "reference" => Some("incident_type"),
        _ => None,
    }
}

/// Whether a field names a record, and so takes an ID of another company.
fn names_a_record(path: &Path) -> bool {
    let field = path.last().unwrap();
    let is_id = |name: &str| name == "id" || name == "ids" || name.ends_with("_id");
    match field.kind() {
        Kind::Int64 | Kind::Int32 => is_id(field.name()),
        Kind::String => is_id(field.name()) || NAMING_TEXTS.contains(&field.name()),
        _ => false,
    }
}

/// A parameter of an operation.
struct Parameter {
    operation: String,
    method: MethodDescriptor,
    path: Path,
}

impl Parameter {
    fn name(&self) -> String {
        format!("{} {}", self.operation, name(&self.path))
    }

    /// The request in which the parameter has an ID.
    fn request(&self, stranger: &Stranger, id: i64) -> Vec<u8> {
        let template = template(self, stranger, id);
        let mut message = DynamicMessage::decode(self.method.input(), &template[..]).unwrap();
        let field = self.path.last().unwrap();
        let value = match field.kind() {
            Kind::Int64 => Value::I64(id),
            Kind::Int32 => Value::I32(id as i32),
            _ if field.name() == "url" => Value::String(format!("https://h.example/{id}-own")),
            _ => Value::String(format!("{id} own")),
        };
        set(&mut message, &self.path, value);
        if let Some(other) = excluded(&name(&self.path)) {
            let holder = self.path[self.path.len() - 2].kind();
            let other = holder.as_message().unwrap().get_field_by_name(other).unwrap();
            let path = [&self.path[..self.path.len() - 1], &[other]].concat();
            if path.last().unwrap().name() == "incident_type" && name(&self.path).ends_with("reference") {
                set(&mut message, &path, Value::EnumNumber(IncidentType::Form.into()));
            } else {
                clear(&mut message, &path);
            }
        }
        message.encode_to_vec()
    }

    /// Whether the parameter may create a record of the stranger's own, whose ID is in the response.
    fn creates(&self) -> bool {
        matches!(self.path.last().unwrap().kind(), Kind::String)
    }
}

/// Every occurrence of an ID becomes that of another, in decimal digits and as a number of a message.
fn replaced(bytes: &[u8], id: i64, by: i64) -> Vec<u8> {
    let mut replaced = bytes.to_vec();
    let varint = |id: i64| {
        let mut bytes = Vec::new();
        prost::encoding::encode_varint(id as u64, &mut bytes);
        bytes
    };
    for (from, to) in [(id.to_string().into_bytes(), by.to_string().into_bytes()), (varint(id), varint(by))] {
        assert_eq!(from.len(), to.len());
        let mut start = 0;
        while let Some(found) = replaced[start..].windows(from.len()).position(|window| window == from) {
            replaced[start + found..start + found + from.len()].copy_from_slice(&to);
            start += found + from.len();
        }
    }
    replaced
}

/// A response as one text of bytes: headers, messages and error.
fn bytes_of(answer: &Answer, id: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend(replaced(part, id, UNKNOWN));
    };
    let mut headers: Vec<String> = answer.headers.as_ref().iter().map(|header| format!("{header:?}")).collect();
    headers.retain(|header| !header.starts_with("(\"date\""));
    headers.sort();
    add(headers.join("\n").as_bytes());
    for message in &answer.messages {
        add(message);
    }
    if let Some(status) = &answer.error {
        add(format!("{:?} {}", status.code(), status.message()).as_bytes());
        add(status.details());
    }
    bytes
}

/// The same, for an operation that creates records: their IDs are new at each call.
fn shape_of(parameter: &Parameter, answer: &Answer, id: i64) -> Vec<u8> {
    let messages: Vec<_> = (answer.messages.iter())
        .map(|message| shown(&DynamicMessage::decode(parameter.method.output(), &message[..]).unwrap()))
        .collect();
    let error = answer.error.as_ref();
    let error = error.map(|status| (status.code(), status.message(), String::from_utf8_lossy(status.details())));
    let shape = format!("{messages:?} {error:?}");
    let shape = shape.replace(&id.to_string(), "ID");
    let mut without_numbers = String::new();
    let mut in_number = false;
    for character in shape.chars() {
        if !character.is_ascii_digit() {
            without_numbers.push(character);
        } else if !in_number {
            without_numbers.push('#');
        }
        in_number = character.is_ascii_digit();
    }
    without_numbers.into_bytes()
}

/// Whether a request failed before anything was looked up: then the pair would show nothing.
fn is_invalid(parameter: &Parameter, answer: &Answer) -> bool {
    let of_items = answer.messages.iter().any(|message| {
        let message = DynamicMessage::decode(parameter.method.output(), &message[..]).unwrap();
        // 1021 with violations; a name that no vocabulary has is one of them.
        shown(&message).contains("EnumNumber(1021)")
    });
    answer.error.as_ref().is_some_and(|status| status.code() == Code::InvalidArgument) || of_items
}

async fn another_companys_id_is_answered_like_an_unknown_one() {
    let service = TestService::start().await;
    let (owner, company, count) = (new_company(), new_company(), ids());
    fill(&service.pool, owner, count).await;
    let mut grpc = service.grpc(company).await;
    let affiliate = grpc.affiliate("Stranger").await;
    let case = CaseInput { affiliate_id: Some(affiliate), ..CaseInput::default() };
    let opening = OpenCaseRequest { request_id: text("own"), case: Some(case), ..OpenCaseRequest::default() };
    let case = grpc.open(opening).await;
    let stranger = Stranger { company, bearer: format!("Bearer {}", token(company)), affiliate, case };
    let before = rows_of(&service.pool, owner).await;
    let mut pairs = over_grpc(&service, &stranger, count).await;
    for (name, rest) in [("REST", service.rest(company)), ("REST over two tiers", service.rest_remote(company))] {
        pairs.insert(name.to_owned(), over_rest(&rest, &stranger, count).await);
    }
    assert_eq!(rows_of(&service.pool, owner).await, before, "the records of the owner have changed");
    let total: i64 = pairs.values().sum();
    println!("{total} pairs over {} parameters and routes; {pairs:#?}", pairs.len());
    assert!(total >= if count > 100 { 100_000 } else { 800 }, "{total} pairs");
}

/// Makes the pairs of every operation over gRPC. Returns their number by parameter.
async fn over_grpc(service: &TestService, stranger: &Stranger, count: i64) -> BTreeMap<String, i64> {
    let core = Core::connect(service.grpc).await;
    let contract = contract();
    let mut parameters = Vec::new();
    let mut without = BTreeSet::new();
    for (operation, method) in operations(&contract) {
        let taking: Vec<Path> = paths(&method.input()).into_iter().filter(names_a_record).collect();
        if taking.is_empty() {
            without.insert(operation.clone());
        }
        parameters.extend(taking.into_iter().map(|path| Parameter {
            operation: operation.clone(),
            method: method.clone(),
            path,
        }));
    }
    assert_eq!(without, WITHOUT_IDS.iter().map(ToString::to_string).collect(), "operations without an ID");
    let (mut pairs, mut failures) = (BTreeMap::new(), Vec::new());
    for parameter in &parameters {
        // Texts may create records, and the statement that finds none is the same for each of them.
        let count = if parameter.creates() { count.min(100) } else { count };
        let made = stream::iter(0..count).map(|number| {
            let core = core.clone();
            async move {
                let (owned, unknown) = (OWNED + number, UNKNOWN + number);
                let call = async |id| {
                    core.call(&parameter.operation, &[&stranger.bearer], parameter.request(stranger, id)).await
                };
                let (foreign, nobodys) = (call(owned).await, call(unknown).await);
                let [one, other] = [(&foreign, owned), (&nobodys, unknown)].map(|(answer, id)| {
                    if parameter.creates() { shape_of(parameter, answer, id) } else { bytes_of(answer, id) }
                });
                let text = String::from_utf8_lossy;
                if one != other {
                    return Some(format!("{}: {} and {}", parameter.name(), text(&one), text(&other)));
                }
                let shows_nothing = !parameter.creates() && is_invalid(parameter, &nobodys);
                shows_nothing
                    .then(|| format!("{}: refused before anything is looked up: {nobodys:?}", parameter.name()))
            }
        });
        let failed: Vec<String> = made.buffer_unordered(CONCURRENT).filter_map(async |failure| failure).collect().await;
        failures.extend(failed.into_iter().take(1));
        pairs.insert(parameter.name(), count);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    pairs
}

/// Makes the pairs of every route with an ID. Returns their number.
async fn over_rest(rest: &RestClient, stranger: &Stranger, count: i64) -> i64 {
    let mut pairs = 0;
    for (method, path, body, _) in ROUTES {
        let filled = |text: &str, id: i64| {
            let own = text.replace("<s>", &stranger.affiliate.to_string());
            ["<a>", "<u>", "<c>"].iter().fold(own, |text, name| text.replace(name, &id.to_string()))
        };
        if filled(path, 0) == filled(path, 1) && filled(body, 0) == filled(body, 1) {
            continue;
        }
        let made = stream::iter(0..count).map(|number| async move {
            let call = async |id: i64| {
                let answer = RestResponse::of(rest.request(method, &filled(path, id)).body(filled(body, id))).await;
                let headers: BTreeSet<String> = (answer.headers.iter())
                    .filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()))
                    .map(|header| format!("{header:?}"))
                    .collect();
                let text = format!("{} {headers:?} {}", answer.status, answer.text);
                String::from_utf8(replaced(text.as_bytes(), id, UNKNOWN)).unwrap()
            };
            let (foreign, nobodys) = (call(OWNED + number).await, call(UNKNOWN + number).await);
            assert_eq!(foreign, nobodys, "{method} {path} of {}", stranger.company);
        });
        made.buffer_unordered(CONCURRENT).for_each(async |()| ()).await;
        pairs += count;
    }
    pairs
}
