//! Operations whose response is a stream of all records.

use std::future::Future;

use compliance_api::v1::{
    Affiliate, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest, ExportUrlsResponse, ListAffiliatesRequest,
    ListAffiliatesResponse, OpenCaseRequest, UrlObservation, affiliate_service_client::AffiliateServiceClient,
    monitoring_service_client::MonitoringServiceClient,
};
use tonic::{Request, Response, Status, Streaming, transport::Channel};

/// A request of an operation that streams all records of a kind, by ID ascending.
pub trait List: sealed::Sealed + Clone + Send + Sync + 'static {
    /// A record.
    type Record: Send + 'static;

    /// Some records.
    #[doc(hidden)]
    type Message: Send + 'static;

    /// Sends the request once.
    #[doc(hidden)]
    fn open(
        request: Request<Self>,
        channel: Channel,
        message_limit: usize,
    ) -> impl Future<Output = Result<Response<Streaming<Self::Message>>, Status>> + Send;

    /// Asks for the records after this ID only, as far as the operation can.
    #[doc(hidden)]
    fn resume_after(&mut self, last: i64);

    /// The records with a higher ID than `last`, which becomes that of the last of them.
    #[doc(hidden)]
    fn records(message: Self::Message, last: &mut i64) -> Vec<Self::Record>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! open {
    ($client:ident, $method:ident) => {
        async fn open(
            request: Request<Self>,
            channel: Channel,
            message_limit: usize,
        ) -> Result<Response<Streaming<Self::Message>>, Status> {
            $client::new(channel).max_decoding_message_size(message_limit).$method(request).await
        }
    };
}

impl sealed::Sealed for ListAffiliatesRequest {}

impl List for ListAffiliatesRequest {
    type Record = Affiliate;
    type Message = ListAffiliatesResponse;

    open!(AffiliateServiceClient, list_affiliates);

    // The operation always begins with the first affiliate; those that were received are skipped.
    fn resume_after(&mut self, _: i64) {}

    fn records(message: Self::Message, last: &mut i64) -> Vec<Affiliate> {
        let mut affiliates = message.affiliates;
        affiliates.retain(|affiliate| affiliate.id > *last);
        *last = affiliates.last().map_or(*last, |affiliate| affiliate.id);
        affiliates
    }
}

impl sealed::Sealed for ExportUrlsRequest {}

impl List for ExportUrlsRequest {
    type Record = UrlObservation;
    type Message = ExportUrlsResponse;

    open!(MonitoringServiceClient, export_urls);

    fn resume_after(&mut self, last: i64) {
        self.after_url_id = Some(last);
    }

    fn records(message: Self::Message, last: &mut i64) -> Vec<UrlObservation> {
        *last = message.last_url_id;
        message.observations
    }
}

impl sealed::Sealed for ExportCasesRequest {}

impl List for ExportCasesRequest {
    type Record = OpenCaseRequest;
    type Message = ExportCasesResponse;

    open!(MonitoringServiceClient, export_cases);

    fn resume_after(&mut self, last: i64) {
        self.after_case_id = Some(last);
    }

    fn records(message: Self::Message, last: &mut i64) -> Vec<OpenCaseRequest> {
        *last = message.last_case_id;
        message.cases
    }
}
