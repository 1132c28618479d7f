//! A gRPC client. Several workers share an HTTP/2 connection, as the tasks of an internal service do.

use std::time::Duration;

use anyhow::ensure;
use compliance_api::v1::{
    AddComplianceUrlsRequest, Affiliate, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
    BatchUpdateAffiliatesRequest, CreateAffiliateRequest, GetAffiliateRequest, ListAffiliatesRequest,
    ListComplianceCasesRequest, ListComplianceUrlsRequest, PageMeta, ResultCode, UpdateAffiliateRequest, UrlInput,
    affiliate_service_client::AffiliateServiceClient, compliance_case_service_client::ComplianceCaseServiceClient,
    compliance_url_service_client::ComplianceUrlServiceClient,
};
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
    transport::Endpoint,
};

pub use tonic::transport::Channel;

use crate::{
    check,
    target::Target,
    workload::{Operation, Universe},
};

/// Whole batches arrive in one message.
const MESSAGE_LIMIT: usize = 256 << 20;

/// Opens an HTTP/2 connection. Clones of the channel share it.
pub async fn connect(target: &Target) -> anyhow::Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", target.authority))?
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(8 << 20);
    Ok(endpoint.connect().await?)
}

/// The clients of all services, with the token of a company.
#[derive(Clone, Debug)]
pub struct Connection {
    affiliates: AffiliateServiceClient<Channel>,
    urls: ComplianceUrlServiceClient<Channel>,
    cases: ComplianceCaseServiceClient<Channel>,
    bearer: MetadataValue<Ascii>,
}

impl Connection {
    /// Connects to a target.
    pub async fn open(target: &Target, token: &str) -> anyhow::Result<Self> {
        Self::over(connect(target).await?, token)
    }

    /// Calls over a connection that others may use as well.
    pub fn over(channel: Channel, token: &str) -> anyhow::Result<Self> {
        Ok(Self {
            affiliates: AffiliateServiceClient::new(channel.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            urls: ComplianceUrlServiceClient::new(channel.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            cases: ComplianceCaseServiceClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT),
            bearer: format!("Bearer {token}").parse()?,
        })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.bearer.clone());
        request
    }

    /// Calls an operation, checks the response, and returns its number of records.
    pub async fn call(&mut self, operation: Operation, universe: &Universe) -> anyhow::Result<u64> {
        let items = operation.items();
        match operation {
            Operation::GetAffiliate(id) => {
                let request = self.request(GetAffiliateRequest { id });
                let affiliate = self.affiliates.get_affiliate(request).await?.into_inner();
                ensure!(
                    affiliate.id == id && affiliate.client_id == universe.company,
                    "the response is another affiliate"
                );
                ensure!(affiliate.distributor_name.is_some_and(|name| !name.is_empty()), "the affiliate has no name");
            }
            Operation::ListAffiliates => {
                let count = self.affiliates(u64::MAX, |_| {}).await?;
                check::affiliates(universe, count)?;
                return Ok(count);
            }
            Operation::ListUrls { page, per_page } => {
                let message = ListComplianceUrlsRequest {
                    page: Some(page as i64),
                    per_page: Some(per_page as i64),
                    ..ListComplianceUrlsRequest::default()
                };
                let response = self.urls.list_compliance_urls(self.request(message)).await?.into_inner();
                let ids: Vec<i64> = response.urls.iter().map(|url| url.id).collect();
                check::page(&ids, &response.meta.unwrap_or(NO_META), page, per_page, universe.urls)?;
            }
            Operation::ListCases { page, per_page } => {
                let message = ListComplianceCasesRequest {
                    page: Some(page as i64),
                    per_page: Some(per_page as i64),
                    ..ListComplianceCasesRequest::default()
                };
                let response = self.cases.list_compliance_cases(self.request(message)).await?.into_inner();
                let ids: Vec<i64> = response.cases.iter().map(|case| case.case_id).collect();
                check::page(&ids, &response.meta.unwrap_or(NO_META), page, per_page, universe.cases)?;
            }
            Operation::Create(input) => {
                let request = self.request(CreateAffiliateRequest { affiliate: Some(*input) });
                let response = self.affiliates.create_affiliate(request).await?.into_inner();
                ensure!(response.affiliate_id > 0, "the response has no ID");
            }
            Operation::BatchCreate(affiliates) => {
                let request = self.request(BatchCreateAffiliatesRequest { affiliates });
                let response = self.affiliates.batch_create_affiliates(request).await?.into_inner();
                saved(response.results.iter().map(|result| result.code), items)?;
            }
            Operation::Update { id, notes } => {
                let request = self.request(UpdateAffiliateRequest { update: updates(&[id], &notes).pop() });
                let response = self.affiliates.update_affiliate(request).await?.into_inner();
                ensure!(response.affiliate_id == id, "the response is about another affiliate");
            }
            Operation::BatchUpdate { ids, notes } => {
                let message = BatchUpdateAffiliatesRequest { affiliates: updates(&ids, &notes), anchor_id: None };
                let request = self.request(message);
                let response = self.affiliates.batch_update_affiliates(request).await?.into_inner();
                saved(response.results.iter().map(|result| result.code), items)?;
            }
            Operation::AddUrls(urls) => {
                let urls = urls.into_iter().map(|url| UrlInput { url: Some(url) }).collect();
                let request = self.request(AddComplianceUrlsRequest { urls });
                let response = self.urls.add_compliance_urls(request).await?.into_inner();
                saved(response.results.iter().map(|result| result.code), items)?;
            }
        }
        Ok(items)
    }

    /// Streams the affiliates until `enough` have arrived, and returns their number.
    pub async fn affiliates(&mut self, enough: u64, mut each: impl FnMut(&Affiliate)) -> anyhow::Result<u64> {
        let request = self.request(ListAffiliatesRequest {});
        let mut stream = self.affiliates.list_affiliates(request).await?.into_inner();
        let (mut count, mut last) = (0, 0);
        while let Some(message) = stream.message().await? {
            for affiliate in &message.affiliates {
                ensure!(affiliate.id > last, "the affiliates do not ascend");
                last = affiliate.id;
                each(affiliate);
            }
            count += message.affiliates.len() as u64;
            if count >= enough {
                break;
            }
        }
        Ok(count)
    }

    /// Numbers of URLs and cases of the company.
    pub async fn totals(&mut self) -> anyhow::Result<(u64, u64)> {
        let urls = ListComplianceUrlsRequest { per_page: Some(1), ..ListComplianceUrlsRequest::default() };
        let urls = self.urls.list_compliance_urls(self.request(urls)).await?.into_inner();
        let cases = ListComplianceCasesRequest { per_page: Some(1), ..ListComplianceCasesRequest::default() };
        let cases = self.cases.list_compliance_cases(self.request(cases)).await?.into_inner();
        Ok((urls.meta.unwrap_or(NO_META).total as u64, cases.meta.unwrap_or(NO_META).total as u64))
    }
}

/// The metadata of a page that has none.
const NO_META: PageMeta = PageMeta { total: 0, per_page: 0, current_page: 0, last_page: 0 };

fn updates(ids: &[i64], notes: &str) -> Vec<AffiliateUpdate> {
    let update = |id: &i64| AffiliateUpdate {
        id: Some(*id),
        affiliate: Some(AffiliateInput { notes: Some(notes.to_owned()), ..AffiliateInput::default() }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["notes".to_owned()] }),
    };
    ids.iter().map(update).collect()
}

fn saved(codes: impl ExactSizeIterator<Item = i32>, items: u64) -> anyhow::Result<()> {
    ensure!(codes.len() as u64 == items, "there are {} results", codes.len());
    let mut codes = codes;
    ensure!(codes.all(|code| code == i32::from(ResultCode::Saved)), "not every item was saved");
    Ok(())
}
