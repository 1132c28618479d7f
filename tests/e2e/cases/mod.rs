//! Table-driven cases: requests and their expected responses, over REST and gRPC.
//!
//! A case is written once, as REST calls. It runs three times: over REST with the core in the same process, over REST with a remote core,
//! and over gRPC. Each run has its own company.

mod affiliate_pages;
mod affiliates;
mod case_work;
mod changes;
mod dry_runs;
mod erasures;
mod expect;
mod fields;
mod lists;
mod order;
mod over_grpc;
mod overview;
mod parameters;
mod paths;
mod pattern;
mod reads;
pub(crate) mod records;
mod run;
mod search;
mod sides;
mod syncs;
mod thresholds;
mod updates;
mod url_infractions;
mod urls;
mod vocabularies;
mod webhooks;
mod worked_cases;

use expect::Expect;
pub(crate) use over_grpc::ask as ask_over_grpc;
use run::run_table;

/// A test case.
#[derive(Clone)]
pub(crate) struct Case {
    name: String,
    steps: Vec<Step>,
}

#[derive(Clone)]
enum Step {
    /// SQL statements that run one after another. The case stores the IDs that they return.
    Sql(String),
    Call(Call),
}

/// A request and its expected response. In all texts, `<company>` is the company ID, and `<1>`, `<2>`, … are the IDs that the case has
/// received, in order.
#[derive(Clone)]
struct Call {
    method: &'static str,
    path: String,
    body: Option<String>,
    expect: Expect,
    /// True if gRPC cannot express the request.
    only_rest: bool,
}

impl Case {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), steps: Vec::new() }
    }

    /// Runs SQL statements, for records that the API cannot create.
    fn sql(mut self, statement: &str) -> Self {
        self.steps.push(Step::Sql(statement.to_owned()));
        self
    }

    fn call(mut self, method: &'static str, path: &str, body: Option<String>, expect: Expect) -> Self {
        self.steps.push(Step::Call(Call { method, path: path.to_owned(), body, expect, only_rest: false }));
        self
    }

    fn get(self, path: &str, expect: Expect) -> Self {
        self.call("GET", path, None, expect)
    }

    fn post(self, path: &str, body: impl ToString, expect: Expect) -> Self {
        self.call("POST", path, Some(body.to_string()), expect)
    }

    fn put(self, path: &str, body: impl ToString, expect: Expect) -> Self {
        self.call("PUT", path, Some(body.to_string()), expect)
    }

    fn patch(self, path: &str, body: impl ToString, expect: Expect) -> Self {
        self.call("PATCH", path, Some(body.to_string()), expect)
    }

    fn delete(self, path: &str, expect: Expect) -> Self {
        self.call("DELETE", path, None, expect)
    }

    /// Adds an affiliate. Its ID becomes the case's next ID.
    fn given_affiliate(self, client_id: &str, name: &str) -> Self {
        let body = serde_json::json!({"client_affiliate_id": client_id, "affiliate_name": name});
        self.post("/affiliates", body, expect::created_one(client_id))
    }

    /// Adds URLs. Their IDs become the case's next IDs.
    fn given_urls(self, urls: &[&str]) -> Self {
        let body =
            serde_json::json!({"urls": urls.iter().map(|url| serde_json::json!({"url": url})).collect::<Vec<_>>()});
        self.post("/urls", body, expect::urls_added(&vec![true; urls.len()]))
    }

    /// Marks the last request as REST only, because gRPC cannot express it.
    fn only_rest(mut self) -> Self {
        match self.steps.last_mut() {
            Some(Step::Call(call)) => call.only_rest = true,
            _ => panic!("{}: the last step is not a request", self.name),
        }
        self
    }
}
