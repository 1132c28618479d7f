//! Batched reads: each read has its own token, rate limit and result.

use std::{net::SocketAddr, time::Instant};

use compliance_api::{
    batch_read::MAX_READS,
    token::{Claims, Secret, issue},
    v1::{
        BatchReadRequest, BatchReadResponse, GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest,
        Read, batch_read_response::Result as Outcome, read::Operation, read_service_client::ReadServiceClient,
    },
};
use futures::future::join_all;
use tonic::{Code, Response, Status, Streaming, transport::Channel};

use test_support::{
    LockedTable, Options, TestService, forged_token, invalid_tokens, new_company, now, reason_of, token,
};

use crate::described::calls::Core;

/// Builds a `BatchReadRequest`, with a token for each read.
#[derive(Default)]
pub(crate) struct Batch(BatchReadRequest);

impl Batch {
    /// Adds a read. Equal tokens share an entry, as in the gateway's requests.
    pub(crate) fn read(mut self, token: Option<&str>, operation: Operation) -> Self {
        let value = token.map(|token| format!("Bearer {token}")).unwrap_or_default();
        let tokens = &mut self.0.authorizations;
        let index = tokens.iter().position(|known| *known == value).unwrap_or_else(|| {
            tokens.push(value);
            tokens.len() - 1
        });
        let read = Read {
            authorization: index as u32,
            request_id: Some(format!("read-{}", self.0.reads.len())),
            operation: Some(operation),
            traceparent: None,
        };
        self.0.reads.push(read);
        self
    }

    pub(crate) fn into_request(self) -> BatchReadRequest {
        self.0
    }

    async fn send(self, core: &Channel) -> Streaming<BatchReadResponse> {
        ReadServiceClient::new(core.clone())
            .max_decoding_message_size(64 << 20)
            .batch_read(self.0)
            .await
            .unwrap()
            .into_inner()
    }

    /// Sends the batch and returns the results in read order.
    pub(crate) async fn results(self, core: &Channel) -> Vec<Result<Response<Outcome>, Status>> {
        let mut results: Vec<_> = self.0.reads.iter().map(|_| None).collect();
        let mut responses = self.send(core).await;
        while let Some(response) = responses.message().await.unwrap() {
            let result = &mut results[response.read as usize];
            assert!(result.is_none(), "received two responses to one read");
            *result = Some(response.into_result());
        }
        results.into_iter().map(|result| result.expect("every read has a response")).collect()
    }
}

/// Connects to the core.
pub(crate) async fn connect(core: SocketAddr) -> Channel {
    Core::connect(core).await.0
}

pub(crate) fn affiliate(id: i64) -> Operation {
    Operation::Affiliate(GetAffiliateRequest { id, as_of: None })
}

pub(crate) fn url(id: i64) -> Operation {
    Operation::Url(GetComplianceUrlRequest { id, as_of: None })
}

pub(crate) fn case(case_id: i64) -> Operation {
    Operation::Case(GetComplianceCaseRequest { id: case_id, as_of: None })
}

/// Returns the affiliate's name, or the reason for the error.
fn shown(result: &Result<Response<Outcome>, Status>) -> String {
    match result {
        Ok(response) => match response.get_ref() {
            Outcome::Affiliate(affiliate) => affiliate.distributor_name().to_owned(),
            other => panic!("expected an affiliate, got {other:?}"),
        },
        Err(status) => reason_of(status),
    }
}

fn remaining(result: &Result<Response<Outcome>, Status>) -> Option<&str> {
    let metadata = match result {
        Ok(response) => response.metadata(),
        Err(status) => status.metadata(),
    };
    metadata.get("x-ratelimit-remaining").map(|value| value.to_str().unwrap())
}

/// Inserts an affiliate with this ID. Its name contains the company ID.
async fn insert(service: &TestService, company: i64, id: i64) {
    let insert = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
        values ($1, $2, 'A', 'Of company ' || $1)";
    sqlx::query(insert).bind(company).bind(id).execute(&service.pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_get_only_their_own_records() {
    let service = TestService::with(Options { rate_limit: "3/m".parse().unwrap(), ..Options::default() }).await;
    let (one, other, limited, none) = (new_company(), new_company(), new_company(), new_company());
    for company in [one, other, limited] {
        insert(&service, company, 1_000_001).await;
    }
    for _ in 0..3 {
        assert_eq!(service.rest(limited).get("/affiliates/1000001").await.status, 200);
    }
    let tokens = [one, other, limited, none].map(token);
    let invalid = invalid_tokens(one);
    let mut batch = Batch::default();
    let mut expected = Vec::new();
    // Each caller reads the same ID three times, interleaved with reads with invalid tokens.
    for round in 0..3 {
        for (company, token) in [one, other, limited, none].into_iter().zip(&tokens) {
            batch = batch.read(Some(token), affiliate(1_000_001));
            let left = (2 - round).to_string();
            expected.push(match company {
                company if company == limited => ("RATE_LIMITED".to_owned(), Some("0".to_owned())),
                company if company == none => ("AFFILIATE_NOT_FOUND".to_owned(), Some(left)),
                company => (format!("Of company {company}"), Some(left)),
            });
            let (_, token, reason) = &invalid[(round + expected.len()) % invalid.len()];
            batch = batch.read(token.as_deref(), affiliate(1_000_001));
            expected.push(((*reason).to_owned(), None));
        }
    }
    // One read exceeds its company's limit. The core rejects only that read.
    batch = batch.read(Some(&tokens[0]), affiliate(1_000_001));
    expected.push(("RATE_LIMITED".to_owned(), Some("0".to_owned())));

    let results = batch.results(&connect(service.grpc).await).await;
    let seen: Vec<_> = results.iter().map(|result| (shown(result), remaining(result).map(str::to_owned))).collect();
    assert_eq!(seen, expected);
}

/// Case reads wait for a lock. Affiliate reads in the same message do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reads_do_not_delay_other_reads() {
    let service = TestService::start().await;
    let (slow, quick) = (new_company(), new_company());
    insert(&service, quick, 1_000_001).await;
    let locked = LockedTable::new(&service.pool, "compliance_cases", "access exclusive").await;

    let (slow_token, quick_token) = (token(slow), token(quick));
    let mut batch = Batch::default();
    for _ in 0..10 {
        batch = batch.read(Some(&slow_token), case(1)).read(Some(&quick_token), affiliate(1_000_001));
    }
    batch = batch.read(Some(&forged_token(quick)), case(1));
    let mut responses = batch.send(&connect(service.grpc).await).await;
    for _ in 0..11 {
        let response = responses.message().await.unwrap().unwrap();
        let is_forged = response.read == 20;
        assert!(is_forged || response.read % 2 == 1, "a blocked read finished first");
        let expected = if is_forged { "TOKEN_INVALID".to_owned() } else { format!("Of company {quick}") };
        assert_eq!(shown(&response.into_result()), expected);
    }
    locked.release().await;
    for _ in 0..10 {
        let result = responses.message().await.unwrap().unwrap().into_result();
        assert_eq!(reason_of(&result.unwrap_err()), "CASE_NOT_FOUND");
    }
    assert!(responses.message().await.unwrap().is_none());
}

/// A caller that immediately retries rejected messages receives about ten responses per second, as for other rejected calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejections_of_batch_reads_are_delayed() {
    const CALLERS: usize = 4;
    const MESSAGES: usize = 100;
    let service = TestService::start().await;
    let core = connect(service.grpc).await;
    let started = Instant::now();
    let calls = (0..CALLERS).map(|_| async {
        for _ in 0..MESSAGES {
            let refused = Batch::default().read(Some(&forged_token(1)), url(1)).results(&core).await;
            assert_eq!(reason_of(refused[0].as_ref().unwrap_err()), "TOKEN_INVALID");
        }
    });
    join_all(calls).await;
    // The core sends ten rejections per 0.1 s immediately. Each additional rejection takes at least 50 ms.
    let (sent, elapsed) = ((CALLERS * MESSAGES) as f64, started.elapsed().as_secs_f64());
    let most = 10.0 * (elapsed / 0.1 + 1.0) + CALLERS as f64 * elapsed / 0.05;
    assert!(sent <= most, "{sent} rejected messages in {elapsed} s");
}

/// Each read has its own result, even if most tokens in its message are invalid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valid_reads_succeed_among_invalid_tokens() {
    let service = TestService::shared().await;
    let companies: Vec<i64> = (0..40).map(|_| new_company()).collect();
    let (mut batch, mut expected) = (Batch::default(), Vec::new());
    for company in &companies {
        insert(&service, *company, 1_000_001).await;
        for invalid in 0..3 {
            let claims = Claims::new(*company, now() + invalid, 3600);
            let forged = issue(&Secret::new([7; 32]).unwrap(), &claims).unwrap();
            batch = batch.read(Some(&forged), affiliate(1_000_001));
            expected.push("TOKEN_INVALID".to_owned());
        }
        batch = batch.read(Some(&token(*company)), affiliate(1_000_001));
        expected.push(format!("Of company {company}"));
    }
    let results = batch.results(&connect(service.grpc).await).await;
    assert_eq!(results.iter().map(shown).collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_limits_are_enforced() {
    let service = TestService::shared().await;
    let token = token(new_company());
    assert!(Batch::default().results(&connect(service.grpc).await).await.is_empty());

    let mut batch = Batch::default();
    for id in 0..MAX_READS as i64 {
        batch = batch.read(Some(&token), url(id));
    }
    let results = Batch(batch.0.clone()).results(&connect(service.grpc).await).await;
    assert!(results.into_iter().all(|result| reason_of(&result.unwrap_err()) == "URL_NOT_FOUND"));

    batch = batch.read(Some(&token), url(0));
    let status = ReadServiceClient::new(connect(service.grpc).await).batch_read(batch.0).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);

    // The core verifies every token, so the same limit applies to tokens and reads.
    let tokens = |count| BatchReadRequest { authorizations: vec!["Bearer a.b.c".to_owned(); count], reads: Vec::new() };
    assert!(Batch(tokens(MAX_READS)).results(&connect(service.grpc).await).await.is_empty());
    let status =
        ReadServiceClient::new(connect(service.grpc).await).batch_read(tokens(MAX_READS + 1)).await.unwrap_err();
    assert_eq!(status.message(), format!("The authorizations field must not have more than {MAX_READS} items."));

    // A read without a token, and a read without an operation.
    let read = |operation| Read { authorization: 7, request_id: None, operation, traceparent: None };
    let reads = vec![read(Some(affiliate(1))), read(None)];
    let reasons: Vec<_> = Batch(BatchReadRequest { authorizations: Vec::new(), reads })
        .results(&connect(service.grpc).await)
        .await
        .into_iter()
        .map(|result| reason_of(&result.unwrap_err()))
        .collect();
    assert_eq!(reasons, ["TOKEN_MISSING", "INVALID_FIELDS"]);
}
