//! Single reads, gathered: while calls are under way, further reads wait, and those of one token go to the core as one
//! call. The core counts each of them against the company's limit.

use std::{collections::HashMap, sync::Arc, time::Duration};

use batcher::{Fetch, Gather, Limits, Refused};
use compliance_api::{
    error::{Error, REQUEST_COUNT, Reason},
    in_process::Slot,
    v1::{
        Affiliate, BatchGetAffiliatesRequest, BatchGetAffiliatesResponse, BatchGetComplianceCasesRequest,
        BatchGetComplianceCasesResponse, BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse, ComplianceCase,
        ComplianceUrl, affiliate_service_client::AffiliateServiceClient,
        compliance_case_service_client::ComplianceCaseServiceClient,
        compliance_url_service_client::ComplianceUrlServiceClient,
    },
};
use futures::future::join_all;
use http::{Extensions, HeaderMap, HeaderValue, header::AUTHORIZATION};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use crate::{context::SLACK, error::Refusal, gateway::Calls, observe::REQUEST_ID, rate_limit::RateLimit};

/// Fetches under way when those do not come back.
const UNDER_WAY_AT_MOST: usize = 64;
/// Reads that wait.
const WAITING: usize = 16_384;

/// Reads records of one kind by ID. Clones share the queue.
pub(crate) type Reads<C> = Gather<Batches<C>>;

/// A client that reads many records of one kind in one call.
pub(crate) trait Records: Clone + Send + Sync + 'static {
    /// The record.
    type Record: Send + Sync + 'static;

    /// The records of the caller's company among `ids`.
    fn read(
        &mut self,
        request: Request<Vec<i64>>,
    ) -> impl Future<Output = Result<Response<Vec<Self::Record>>, Status>> + Send;

    /// The ID of a record.
    fn id(record: &Self::Record) -> i64;
}

/// How records of one kind are read.
pub(crate) struct Batches<C> {
    client: C,
    timeout: Duration,
}

/// One read.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) authorization: HeaderValue,
    /// Goes with a read that goes alone; a call that stands for many has none.
    pub(crate) request_id: Option<HeaderValue>,
    pub(crate) id: i64,
}

/// A record, unless the company has none, and how the company stands.
type Answer<R> = Result<(Option<Arc<R>>, RateLimit), Refusal>;

/// What a call found, by ID.
struct Found<R>(Vec<(i64, Arc<R>)>);

impl<R> Found<R> {
    fn get(&self, id: i64) -> Option<Arc<R>> {
        let place = self.0.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(Arc::clone(&self.0[place].1))
    }
}

/// A reader over a client of the core.
pub(crate) fn reads<C: Records>(client: C, timeout: Duration) -> Reads<C> {
    Gather::new(Batches { client, timeout }, Limits::for_this_machine(UNDER_WAY_AT_MOST, WAITING))
}

/// The record, or the error that says that there is none.
pub(crate) async fn read<C: Records>(
    reads: &Reads<C>,
    wanted: Wanted,
    not_found: impl FnOnce(i64) -> Error,
) -> Result<(Arc<C::Record>, RateLimit), Refusal> {
    let id = wanted.id;
    let (record, rate) = reads.get(wanted).await.unwrap_or_else(|refused| {
        Err(match refused {
            Refused::Full => Error::overloaded().into(),
            Refused::Lost => Refusal::internal(),
        })
    })?;
    match record {
        Some(record) => Ok((record, rate)),
        None => Err(Refusal { error: not_found(id), rate_limit: rate }),
    }
}

impl<C: Records> Fetch for Batches<C> {
    type Key = Wanted;
    type Answer = Answer<C::Record>;

    async fn fetch(&self, keys: Vec<Wanted>) -> Vec<Self::Answer> {
        if let [only] = keys.as_slice() {
            let told = self.call(&only.authorization, only.request_id.clone(), &[only.id]).await;
            return vec![told.map(|(found, rate)| (found.get(only.id), rate))];
        }
        if let [first, others @ ..] = keys.as_slice()
            && others.iter().all(|other| other.authorization == first.authorization)
        {
            let ids: Vec<i64> = keys.iter().map(|wanted| wanted.id).collect();
            return self.read_of_one_token(&first.authorization, &ids).await;
        }
        // Places of the reads of each token, so that no company's read goes out with another's token.
        let mut tokens: HashMap<&HeaderValue, Vec<usize>> = HashMap::new();
        for (place, wanted) in keys.iter().enumerate() {
            tokens.entry(&wanted.authorization).or_default().push(place);
        }
        let calls = tokens.into_iter().map(|(authorization, places)| {
            let ids: Vec<i64> = places.iter().map(|place| keys[*place].id).collect();
            async move { (places, self.read_of_one_token(authorization, &ids).await) }
        });
        let mut answers: Vec<Option<Self::Answer>> = keys.iter().map(|_| None).collect();
        for (places, told) in join_all(calls).await {
            for (place, answer) in places.into_iter().zip(told) {
                answers[place] = Some(answer);
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(Refusal::internal()))).collect()
    }
}

impl<C: Records> Batches<C> {
    async fn read_of_one_token(&self, authorization: &HeaderValue, ids: &[i64]) -> Vec<Answer<C::Record>> {
        let told = self.call(authorization, None, ids).await;
        match told {
            Err(refusal) if refusal.error.reason == Reason::RateLimited && ids.len() > 1 => {
                // Together they are too many; some of them may not be.
                let calls = ids.iter().map(|id| async { self.call(authorization, None, &[*id]).await });
                let told = join_all(calls).await;
                ids.iter().zip(told).map(|(id, told)| told.map(|(found, rate)| (found.get(*id), rate))).collect()
            }
            Err(refusal) => vec![Err(refusal); ids.len()],
            Ok((found, rate)) => ids.iter().map(|id| Ok((found.get(*id), rate.clone()))).collect(),
        }
    }

    /// One call, bounded in time.
    async fn call(
        &self,
        authorization: &HeaderValue,
        request_id: Option<HeaderValue>,
        ids: &[i64],
    ) -> Result<(Found<C::Record>, RateLimit), Refusal> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(AUTHORIZATION, authorization.clone());
        if let Some(id) = request_id {
            headers.insert(REQUEST_ID, id);
        }
        if ids.len() > 1 {
            headers.insert(REQUEST_COUNT, HeaderValue::from(ids.len()));
        }
        let mut request = Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), ids.to_vec());
        request.set_timeout(self.timeout);
        let mut client = self.client.clone();
        let answer = tokio::time::timeout(self.timeout + SLACK, client.read(request)).await;
        let (metadata, records, _) = answer.map_err(|_| Error::deadline_exceeded())??.into_parts();
        let mut found: Vec<_> = records.into_iter().map(|record| (C::id(&record), Arc::new(record))).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        Ok((Found(found), metadata.into()))
    }
}

/// Implements [`Records`] with a batch method of a client.
macro_rules! records {
    ($client:ty, $method:ident, $request:ident -> $response:ty, $record:ty, $records:ident, $id:ident) => {
        impl Records for $client {
            type Record = $record;

            async fn read(&mut self, mut request: Request<Vec<i64>>) -> Result<Response<Vec<$record>>, Status> {
                let slot = Slot::<$response>::beside(&mut request);
                let answer = self.$method(request.map(|ids| $request { ids })).await?;
                Ok(answer.map(|message| slot.or_sent(message).$records))
            }

            fn id(record: &$record) -> i64 {
                record.$id
            }
        }
    };
}

records!(
    AffiliateServiceClient<Calls>,
    batch_get_affiliates,
    BatchGetAffiliatesRequest -> BatchGetAffiliatesResponse,
    Affiliate,
    affiliates,
    id
);
records!(
    ComplianceUrlServiceClient<Calls>,
    batch_get_compliance_urls,
    BatchGetComplianceUrlsRequest -> BatchGetComplianceUrlsResponse,
    ComplianceUrl,
    urls,
    id
);
records!(
    ComplianceCaseServiceClient<Calls>,
    batch_get_compliance_cases,
    BatchGetComplianceCasesRequest -> BatchGetComplianceCasesResponse,
    ComplianceCase,
    cases,
    case_id
);
