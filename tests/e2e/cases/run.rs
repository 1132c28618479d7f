//! Runs cases over every layer and reports all failures together.

use futures::StreamExt as _;
use sqlx::{AssertSqlSafe, Row as _};
use test_support::{GrpcClients, Layer, RestClient, RestResponse, TestService, new_company, reason_of};

use super::{Call, Case, Expect, Step, over_grpc, pattern};

/// Maximum number of cases in flight.
const AT_ONCE: usize = 12;

/// Runs a table of cases against the shared service. Panics with all failures.
pub(super) async fn run_table(cases: Vec<Case>) {
    run_table_on(&TestService::shared().await, cases).await;
}

/// Runs a table of cases against this service. Panics with all failures.
pub(super) async fn run_table_on(service: &TestService, cases: Vec<Case>) {
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "two cases have the same name");

    let runs = cases.iter().flat_map(|case| [Layer::Rest, Layer::RestRemote, Layer::Grpc].map(|layer| (case, layer)));
    let failures: Vec<String> = futures::stream::iter(runs)
        .map(async |(case, layer)| {
            let failed = run(service, case, layer).await.err();
            failed.map(|failed| format!("{} ({layer:?}): {failed}", case.name))
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(futures::future::ready)
        .collect()
        .await;
    assert!(failures.is_empty(), "{} of {} cases fail:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

enum Client {
    Rest(RestClient),
    Grpc(Box<GrpcClients>),
}

async fn run(service: &TestService, case: &Case, layer: Layer) -> Result<(), String> {
    let company = new_company();
    let client = match layer {
        Layer::Rest => Client::Rest(service.rest(company)),
        Layer::RestRemote => Client::Rest(service.rest_remote(company)),
        Layer::Grpc => Client::Grpc(Box::new(service.grpc(company).await)),
    };
    let mut ids = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        let done = match step {
            Step::Sql(statements) => {
                for statement in statements.split(";\n") {
                    let statement = pattern::filled(statement, company, &ids);
                    let rows = sqlx::query(AssertSqlSafe(statement)).fetch_all(&service.pool).await;
                    let rows = rows.map_err(|error| format!("step {}: {error}", number + 1))?;
                    ids.extend(rows.iter().filter_map(|row| row.try_get::<i64, _>(0).ok()));
                }
                Ok(())
            }
            // A case ends at a request that gRPC cannot express, because later steps depend on it.
            Step::Call(call) if call.only_rest && layer == Layer::Grpc => return Ok(()),
            Step::Call(call) => {
                let asked = ask(&client, call, company, &mut ids).await;
                asked.map_err(|error| format!("{} {}: {error}", call.method, call.path))
            }
        };
        done.map_err(|error| format!("step {}: {error}", number + 1))?;
    }
    Ok(())
}

async fn ask(client: &Client, call: &Call, company: i64, ids: &mut Vec<i64>) -> Result<(), String> {
    let (path, expected) =
        (pattern::filled(&call.path, company, ids), pattern::filled(&call.expect.body, company, ids));
    let body = call.body.as_deref().map(|body| pattern::filled(body, company, ids));
    let (body_got, outcome) = match client {
        Client::Rest(rest) => {
            let mut request = rest.request(call.method, &path);
            if let Some(body) = body {
                request = request.header("Content-Type", "application/json").body(body);
            }
            let answer = RestResponse::of(request).await;
            let outcome = format!("status {}", answer.status);
            if answer.header("content-type") != Some("application/json") {
                return Err(format!("Content-Type is {:?}", answer.header("content-type")));
            }
            if answer.status != call.expect.http {
                return Err(format!("expected {}, got {}: {}", call.expect.http, answer.status, answer.text));
            }
            (answer.text, outcome)
        }
        Client::Grpc(grpc) => {
            let answer = over_grpc::ask(grpc, call.method, &path, body.as_deref()).await;
            let (code, reason, text) = match answer {
                Ok(text) => (tonic::Code::Ok, None, text),
                Err(status) => (status.code(), Some(reason_of(&status)), over_grpc::rest_form_of(&status, &expected)),
            };
            if (code, reason.as_deref()) != (call.expect.grpc, call.expect.reason) {
                let Expect { grpc, reason: expected_reason, .. } = &call.expect;
                return Err(format!("expected {grpc:?} {expected_reason:?}, got {code:?} {reason:?}: {text}"));
            }
            (text, format!("{code:?}"))
        }
    };
    pattern::matches(&expected, &body_got, ids).map_err(|error| format!("{outcome}: {error}"))
}
