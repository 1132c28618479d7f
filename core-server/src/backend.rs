//! What the services of all resources work with.

use std::sync::Arc;

use compliance_api::v1::{Affiliate, ComplianceCase, ComplianceUrl};

use crate::{
    CoreSettings, affiliates, cases, database::Connections, lists::Source, reads::Reads, shares::Shares, urls,
    writes::Queues,
};

pub(crate) struct Backend {
    pub(crate) pool: Connections,
    pub(crate) shares: Shares,
    /// The queues of each company's writes.
    pub(crate) queues: Queues,
    pub(crate) affiliates: Reads<Affiliate>,
    pub(crate) urls: Reads<ComplianceUrl>,
    pub(crate) cases: Reads<ComplianceCase>,
    pub(crate) settings: CoreSettings,
}

impl Backend {
    pub(crate) fn new(pool: Connections, settings: &CoreSettings) -> Arc<Self> {
        let shares = Shares::new(settings, pool.most());
        Arc::new(Self {
            affiliates: affiliates::single(&pool, &shares.memory),
            urls: urls::single(&pool, &shares.memory),
            cases: cases::single(&pool, &shares.memory),
            queues: Queues::new(pool.most()),
            settings: settings.clone(),
            pool,
            shares,
        })
    }

    /// Where records of a company are read for one response.
    pub(crate) fn source(&self, company_id: i64) -> Source<'_> {
        let memory = self.shares.memory.reservation(Some(company_id));
        // The rest of the message is what its fields take beyond their values.
        Source { pool: &self.pool, company_id, memory, most: self.settings.message_limit / 2 }
    }
}
