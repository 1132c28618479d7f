//! What is compared: how each is reached, and how each is asked for the same.

use serde::Serialize;

use crate::{peers::postgrest, target::Target};

/// One of the compared.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    /// The letter by which tables name it.
    pub(super) key: char,
    pub(super) name: &'static str,
    pub(super) way: Way,
    /// Its own processes; the database's are counted apart.
    pub(super) processes: Vec<i32>,
}

/// How it is reached.
#[derive(Clone, Debug)]
pub(super) enum Way {
    Http {
        target: Target,
        form: Form,
        token: Option<String>,
    },
    Grpc {
        target: Target,
        token: String,
    },
    /// `pgbench` asks the database itself.
    Pgbench,
}

/// How it is asked, and how its answers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Form {
    /// The documented paths and envelope.
    Documented,
    /// gRPC's methods as paths, messages as JSON.
    Transcoded,
    /// Tables as paths, conditions as parameters, bare rows.
    Tables,
}

impl Form {
    /// Headers beyond those that every request has.
    pub(super) fn headers(self) -> &'static str {
        // One row instead of a list of one.
        if self == Self::Tables { "accept: application/vnd.pgrst.object+json\r\n" } else { "" }
    }

    /// How one affiliate is asked for: method, path, body.
    pub(super) fn affiliate(self, company: i64, id: i64) -> (&'static str, String, String) {
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
