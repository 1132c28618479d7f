//! The contenders, and how each is called.

use serde::Serialize;

use load_test::target::Target;

use crate::peers::postgrest;

/// One contender.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// Its letter in tables.
    pub(crate) key: char,
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    /// Its own processes. Those of the database are counted apart.
    pub(crate) processes: Vec<i32>,
}

/// How a contender is called.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Http {
        target: Target,
        form: Form,
        token: Option<String>,
    },
    Grpc {
        target: Target,
        token: String,
    },
    /// `pgbench` queries the database itself.
    Pgbench,
}

/// The form of requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Form {
    /// The documented paths and envelope.
    Documented,
    /// gRPC's methods as paths, messages as JSON.
    Transcoded,
    /// Tables as paths, conditions as parameters, bare rows.
    Tables,
}

impl Form {
    /// Headers beyond those that every request has.
    pub(crate) fn headers(self) -> &'static str {
        // One row instead of a list of one.
        if self == Self::Tables { "accept: application/vnd.pgrst.object+json\r\n" } else { "" }
    }

    /// The request for one affiliate: method, path and body.
    pub(crate) fn affiliate(self, company: i64, id: i64) -> (&'static str, String, String) {
        match self {
            Self::Documented => ("GET", format!("/api/affiliates/{id}"), String::new()),
            Self::Transcoded => {
                let path = "/compliance.v1.AffiliateService/GetAffiliate".to_owned();
                ("POST", path, format!("{{\"id\":{id}}}"))
            }
            Self::Tables => ("GET", postgrest::affiliate(company, id), String::new()),
        }
    }
}
