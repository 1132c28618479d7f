//! Builds requests for REST and gRPC.

use bytes::{BufMut as _, Bytes, BytesMut};
use compliance_api::{
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
        BatchUpdateAffiliatesRequest, CreateAffiliateRequest, GetAffiliateRequest, ListAffiliatesRequest,
        ListComplianceCasesRequest, ListComplianceUrlsRequest, UpdateAffiliateRequest, UrlInput,
    },
    wire::Operation,
};
use prost::Message;
use serde_json::json;

use super::bodies::affiliate_json;

/// A load request.
#[derive(Clone, Debug)]
pub enum LoadRequest {
    /// Reads one affiliate.
    GetAffiliate(i64),
    /// Reads the whole affiliate list.
    ListAffiliates,
    /// Reads a page of URLs.
    ListUrls {
        /// The page, from 1.
        page: u64,
        /// Records per page.
        per_page: u64,
    },
    /// Reads a page of cases.
    ListCases {
        /// The page, from 1.
        page: u64,
        /// Records per page.
        per_page: u64,
    },
    /// Creates one affiliate.
    Create(Box<AffiliateInput>),
    /// Creates several affiliates.
    BatchCreate(Vec<AffiliateInput>),
    /// Sets an affiliate's notes.
    Update {
        /// The affiliate's ID.
        id: i64,
        /// The new notes.
        notes: String,
    },
    /// Sets several affiliates' notes.
    BatchUpdate {
        /// The affiliates' IDs.
        ids: Vec<i64>,
        /// The new notes.
        notes: String,
    },
    /// Adds URLs.
    AddUrls(Vec<String>),
}

impl LoadRequest {
    /// Returns the method, the path with its query, and the body, which can be empty.
    pub fn rest(&self) -> (&'static str, String, Vec<u8>) {
        let get = |path| ("GET", path, Vec::new());
        let post = |path: &str, body: serde_json::Value| ("POST", path.to_owned(), body.to_string().into_bytes());
        match self {
            Self::GetAffiliate(id) => get(format!("/api/affiliates/{id}")),
            Self::ListAffiliates => get("/api/affiliates".to_owned()),
            Self::ListUrls { page, per_page } => get(format!("/api/urls?per_page={per_page}&page={page}")),
            Self::ListCases { page, per_page } => get(format!("/api/cases?per_page={per_page}&page={page}")),
            Self::Create(input) => post("/api/affiliates", affiliate_json(input)),
            Self::BatchCreate(inputs) => {
                let inputs: Vec<_> = inputs.iter().map(affiliate_json).collect();
                post("/api/affiliates", json!({ "affiliates": inputs }))
            }
            Self::Update { id, notes } => {
                let body = json!({ "id": id, "notes": notes });
                ("PUT", format!("/api/affiliates/{id}"), body.to_string().into_bytes())
            }
            Self::BatchUpdate { ids, notes } => {
                let updates: Vec<_> = ids.iter().map(|id| json!({ "id": id, "notes": notes })).collect();
                let path = format!("/api/affiliates/{}", ids.first().copied().unwrap_or(1));
                ("PUT", path, json!({ "affiliates": updates }).to_string().into_bytes())
            }
            Self::AddUrls(urls) => {
                let urls: Vec<_> = urls.iter().map(|url| json!({ "url": url })).collect();
                post("/api/urls", json!({ "urls": urls }))
            }
        }
    }

    /// Returns the gRPC path, and the message with its prefix.
    pub fn grpc(&self) -> (&'static str, Bytes) {
        let page_of = |page: &u64, per_page: &u64| (Some(*page as i64), Some(*per_page as i64));
        match self {
            Self::GetAffiliate(id) => encoded(&Operation::GET_AFFILIATE, &GetAffiliateRequest { id: *id, as_of: None }),
            Self::ListAffiliates => encoded(&Operation::LIST_AFFILIATES, &ListAffiliatesRequest::default()),
            Self::ListUrls { page, per_page } => {
                let (page, per_page) = page_of(page, per_page);
                encoded(
                    &Operation::LIST_COMPLIANCE_URLS,
                    &ListComplianceUrlsRequest { page, per_page, ..ListComplianceUrlsRequest::default() },
                )
            }
            Self::ListCases { page, per_page } => {
                let (page, per_page) = page_of(page, per_page);
                encoded(
                    &Operation::LIST_COMPLIANCE_CASES,
                    &ListComplianceCasesRequest { page, per_page, ..ListComplianceCasesRequest::default() },
                )
            }
            Self::Create(input) => encoded(
                &Operation::CREATE_AFFILIATE,
                &CreateAffiliateRequest { affiliate: Some(input.as_ref().clone()) },
            ),
            Self::BatchCreate(inputs) => encoded(
                &Operation::BATCH_CREATE_AFFILIATES,
                &BatchCreateAffiliatesRequest { affiliates: inputs.clone(), validate_only: false },
            ),
            Self::Update { id, notes } => {
                encoded(&Operation::UPDATE_AFFILIATE, &UpdateAffiliateRequest { update: Some(update(*id, notes)) })
            }
            Self::BatchUpdate { ids, notes } => {
                let affiliates = ids.iter().map(|id| update(*id, notes)).collect();
                encoded(
                    &Operation::BATCH_UPDATE_AFFILIATES,
                    &BatchUpdateAffiliatesRequest { affiliates, anchor_id: None, validate_only: false },
                )
            }
            Self::AddUrls(urls) => {
                let urls = urls.iter().map(|url| UrlInput { url: Some(url.clone()) }).collect();
                encoded(&Operation::ADD_COMPLIANCE_URLS, &AddComplianceUrlsRequest { urls, validate_only: false })
            }
        }
    }

    /// Returns the expected HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Create(_) | Self::BatchCreate(_) | Self::AddUrls(_) => 201,
            _ => 200,
        }
    }

    /// Returns whether the request changes records.
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self, Self::GetAffiliate(_) | Self::ListAffiliates | Self::ListUrls { .. } | Self::ListCases { .. })
    }

    /// Returns the number of items in a write, each with its own result.
    pub fn items(&self) -> u64 {
        match self {
            Self::BatchCreate(inputs) => inputs.len() as u64,
            Self::BatchUpdate { ids, .. } => ids.len() as u64,
            Self::AddUrls(urls) => urls.len() as u64,
            _ => 1,
        }
    }
}

/// Returns the operation's path, and the message with its prefix: a flag for no compression, and the length.
fn encoded(operation: &Operation, message: &impl Message) -> (&'static str, Bytes) {
    let length = message.encoded_len();
    let mut out = BytesMut::with_capacity(5 + length);
    out.put_u8(0);
    out.put_u32(length as u32);
    message.encode_raw(&mut out);
    (operation.path, out.freeze())
}

fn update(id: i64, notes: &str) -> AffiliateUpdate {
    AffiliateUpdate {
        id: Some(id),
        affiliate: Some(AffiliateInput { notes: Some(notes.to_owned()), ..AffiliateInput::default() }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["notes".to_owned()] }),
        etag: String::new(),
    }
}
