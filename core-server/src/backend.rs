//! What the services of all resources work with.

use std::{fmt, sync::Arc};

use compliance_api::{
    error::Error,
    v1::{Affiliate, ComplianceCase, ComplianceUrl},
};
use storage::{database::Connections, reads::Reads, writes::Queues};

use crate::{
    CoreSettings, affiliates, cases,
    lists::Source,
    shares::{QueueClass, Shares},
    urls,
};

pub(crate) struct Backend {
    /// For writes, and for reads that belong to one.
    pub(crate) pool: Connections,
    /// For reads: the same, or with replicas.
    pub(crate) reads: Connections,
    pub(crate) shares: Shares,
    /// The queues of each company's writes.
    pub(crate) queues: Queues,
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
    pub(crate) fn new(pool: Connections, reads: Connections, settings: &CoreSettings) -> Arc<Self> {
        let shares = Shares::new(settings, pool.most());
        Arc::new(Self {
            affiliates: affiliates::single(&reads, &shares.memory),
            urls: urls::single(&reads, &shares.memory),
            cases: cases::single(&reads, &shares.memory),
            queues: Queues::new(pool.most(), shares.on_wait()),
            settings: settings.clone(),
            pool,
            reads,
            shares,
        })
    }

    /// Runs a read that may take long in a slot of its company for that kind of work.
    pub(crate) async fn in_slot<T>(
        &self,
        company_id: i64,
        work: QueueClass,
        reading: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let _permit = self.shares.enter(company_id, work).await?;
        reading.await
    }

    /// Where records of a company are read for one response.
    pub(crate) fn source(&self, company_id: i64) -> Source {
        let memory = self.shares.memory.reservation(Some(company_id));
        // The rest of the message is what its fields take beyond their values.
        Source { pool: self.reads.of_company(company_id), company_id, memory, most: self.settings.message_limit / 2 }
    }
}
