//! State that all services share.

use std::fmt;

use compliance_api::{
    error::Error,
    v1::{Affiliate, ComplianceCase, ComplianceUrl},
};
use storage::{database::Connections, reads::Reads, writes::Queues};

use crate::{
    CoreSettings,
    lists::Source,
    quotas::{DatabaseWork, Quotas},
};

pub(crate) struct Backend {
    pub(crate) pool: Connections,
    pub(crate) quotas: Quotas,
    /// Per-company write queues.
    pub(crate) queues: Queues,
    /// Coalesces single reads into shared statements.
    pub(crate) affiliates: Reads<Affiliate>,
    pub(crate) urls: Reads<ComplianceUrl>,
    pub(crate) cases: Reads<ComplianceCase>,
    pub(crate) settings: CoreSettings,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Backend {
    /// Runs a potentially slow read while holding a permit for its company.
    pub(crate) async fn with_permit<T>(
        &self,
        company_id: i64,
        work: DatabaseWork,
        reading: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let _permit = self.quotas.enter(company_id, work).await?;
        reading.await
    }

    /// Returns the source of a company's records for one response.
    pub(crate) fn source(&self, company_id: i64) -> Source {
        let memory = self.quotas.memory.reservation(Some(company_id));
        // The other half of the message is reserved for field encoding.
        Source { pool: self.pool.of_company(company_id), company_id, memory, most: self.settings.message_limit / 2 }
    }
}
