//! Maps request types to operations.

use crate::v1::{
    Affiliate, ComplianceCase, ComplianceUrl, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest,
    ExportUrlsResponse, ListAffiliatesRequest, ListAffiliatesResponse, ListAllComplianceCasesRequest,
    ListAllComplianceCasesResponse, ListAllComplianceUrlsRequest, ListAllComplianceUrlsResponse, ListChangesResponse,
    OpenCaseRequest, UrlObservation, WatchChangesRequest, WatchChangesResponse,
};

/// A request for an operation.
///
/// The type selects the operation: `GetAffiliateRequest` calls `AffiliateService.GetAffiliate`.
pub trait Request: prost::Message + Clone + 'static {
    /// The response, or a message of the response stream.
    type Response: prost::Message + Default + 'static;
    /// `/package.Service/Operation`.
    const PATH: &'static str;
}

/// A request for an operation with a single response.
pub trait UnaryRequest: Request {}

/// A request for a stream of all records, by ascending ID.
pub trait List: Request {
    /// The type of the records.
    type Record: Send + 'static;

    /// Requests only records after this ID, if the operation supports it.
    #[doc(hidden)]
    fn resume_after(&mut self, last: i64);

    /// Returns the records with IDs above `last`, and sets `last` to the ID of the last record.
    #[doc(hidden)]
    fn records(message: Self::Response, last: &mut i64) -> Vec<Self::Record>;
}

impl List for ListAffiliatesRequest {
    type Record = Affiliate;

    // The operation always starts at the first affiliate. `records` skips received affiliates.
    fn resume_after(&mut self, _: i64) {}

    fn records(message: ListAffiliatesResponse, last: &mut i64) -> Vec<Affiliate> {
        let mut affiliates = message.affiliates;
        affiliates.retain(|affiliate| affiliate.id > *last);
        *last = affiliates.last().map_or(*last, |affiliate| affiliate.id);
        affiliates
    }
}

impl List for ListAllComplianceUrlsRequest {
    type Record = ComplianceUrl;

    fn resume_after(&mut self, last: i64) {
        self.after_id = Some(last);
    }

    fn records(message: ListAllComplianceUrlsResponse, last: &mut i64) -> Vec<ComplianceUrl> {
        *last = message.urls.last().map_or(*last, |url| url.id);
        message.urls
    }
}

impl List for ListAllComplianceCasesRequest {
    type Record = ComplianceCase;

    fn resume_after(&mut self, last: i64) {
        self.after_id = Some(last);
    }

    fn records(message: ListAllComplianceCasesResponse, last: &mut i64) -> Vec<ComplianceCase> {
        *last = message.cases.last().map_or(*last, |case| case.case_id);
        message.cases
    }
}

impl List for ExportUrlsRequest {
    type Record = UrlObservation;

    fn resume_after(&mut self, last: i64) {
        self.after_url_id = Some(last);
    }

    fn records(message: ExportUrlsResponse, last: &mut i64) -> Vec<UrlObservation> {
        *last = message.last_url_id;
        message.observations
    }
}

impl List for ExportCasesRequest {
    type Record = OpenCaseRequest;

    fn resume_after(&mut self, last: i64) {
        self.after_case_id = Some(last);
    }

    fn records(message: ExportCasesResponse, last: &mut i64) -> Vec<OpenCaseRequest> {
        *last = message.last_case_id;
        message.cases
    }
}

/// Each record is a page of changes, or only a position. The list never ends.
impl List for WatchChangesRequest {
    type Record = ListChangesResponse;

    fn resume_after(&mut self, last: i64) {
        self.after = Some(last);
    }

    fn records(message: WatchChangesResponse, last: &mut i64) -> Vec<ListChangesResponse> {
        let page = message.page.unwrap_or_default();
        *last = page.position;
        vec![page]
    }
}
