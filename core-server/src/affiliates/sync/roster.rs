//! The state of a roster during a sync and the affiliates absent from it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use admission::{LimitReached, Reservation};
use compliance_api::{
    error::Error,
    record::FieldSet,
    v1::{AbsentAffiliate, AffiliateInput, AffiliateSyncResult, SyncAffiliatesRequest},
};
use storage::{
    database::{self, Connections},
    error::from_database,
};

use super::{
    item::{self, IDENTIFIER, Item},
    names::{Digest, Names},
};
use crate::{
    affiliates::{in_order::Applied, input::Input, update::update_known},
    backend::Backend,
};

/// Memory reserved per identifier or name during a sync, in bytes.
const ROSTER_IDENTIFIER: usize = 56;

/// Number of affiliates per statement when looking for absent affiliates.
const ABSENT_PAGE: i64 = 1000;
/// Number of affiliates per statement when counting absent affiliates.
const ABSENT_COUNTED: i64 = 10_000;
/// By default, a sync fails if more than a tenth of the affiliates are absent and would get a status.
const MIN_PRESENT_PER_ABSENT: i64 = 10;
/// Lower bound of the default limit, because a tenth of a few affiliates is less than one.
const MIN_ABSENT: i64 = 10;

/// Reads up to `$3` affiliates of company `$1` with IDs above `$2`.
pub(in crate::affiliates) const PAGE: &str = "
    select a.id as affiliate_id, a.client_affiliate_id, a.status, a.revision from affiliates a
    where a.company_id = $1 and a.id > $2 order by a.id limit $3";

#[derive(sqlx::FromRow)]
struct Row {
    affiliate_id: i64,
    client_affiliate_id: String,
    status: Option<String>,
    revision: i64,
}

pub(super) struct Roster {
    pub(super) backend: Arc<Backend>,
    pub(super) company_id: i64,
    /// The last message, without its items. Clients set the options for absent affiliates there, so an interrupted stream changes none of
    /// them.
    pub(super) options: SyncAffiliatesRequest,
    /// The value from the first message.
    pub(super) validate_only: Option<bool>,
    /// Each identifier's position in the roster.
    identifiers: HashMap<Digest, i64>,
    pub(super) names: Names,
    /// The affiliates that hold the names of refused items. A refused item may be the same affiliate with a different identifier.
    pub(super) holders: HashSet<i64>,
    /// Whether every item so far has a valid identifier.
    is_identified: bool,
    /// The position of the current batch's first item.
    pub(super) first: i64,
    /// The ID up to which absent affiliates have been reported.
    after: i64,
    /// Whether the number of absent affiliates has been checked.
    is_absent_checked: bool,
    /// Whether the first batch is the whole roster. Such a roster writes nothing if too many affiliates are absent.
    pub(super) is_one_batch: bool,
    /// The memory reserved for identifiers and names.
    memory: Reservation,
}

impl Roster {
    pub(super) fn new(backend: &Arc<Backend>, company_id: i64) -> Self {
        Self {
            backend: Arc::clone(backend),
            company_id,
            options: SyncAffiliatesRequest::default(),
            validate_only: None,
            identifiers: HashMap::new(),
            names: Names::default(),
            holders: HashSet::new(),
            is_identified: true,
            first: 0,
            after: 0,
            is_absent_checked: false,
            is_one_batch: false,
            memory: backend.quotas.memory.reservation(Some(company_id)),
        }
    }

    /// Reserves memory for this number of identifiers or names.
    pub(super) fn reserve(&mut self, texts: usize) -> Result<(), LimitReached> {
        self.memory.grow(texts * ROSTER_IDENTIFIER)
    }

    pub(super) fn wants_absent(&self) -> bool {
        self.options.report_absent || !self.options.absent_status().is_empty()
    }

    /// Returns the status that absent affiliates get.
    ///
    /// Returns `None` for an empty list, or if an item lacks a valid identifier and could therefore be any absent affiliate.
    fn absent_status(&self) -> Option<&str> {
        let is_known = self.is_identified && !self.identifiers.is_empty();
        Some(self.options.absent_status()).filter(|status| is_known && !status.is_empty())
    }

    fn has(&self, identifier: &str) -> bool {
        self.identifiers.contains_key(&self.names.digest(identifier))
    }

    /// Remembers the items' identifiers. Returns the results of invalid items and of items that share an identifier.
    pub(super) fn identify(&mut self, items: &[Item]) -> Result<Vec<Option<AffiliateSyncResult>>, LimitReached> {
        self.reserve(items.len())?;
        let mut repeated: HashMap<i64, Vec<i64>> = HashMap::new();
        for (position, item) in (self.first..).zip(items) {
            self.is_identified &= !item.violations.names(IDENTIFIER);
            let Some(identifier) = item.input.fields.client_affiliate_id.as_deref() else { continue };
            let first = *self.identifiers.entry(self.names.digest(identifier)).or_insert(position);
            if first == position {
                continue;
            }
            repeated.insert(position, vec![first, position]);
            // Items from earlier batches have already been synced.
            if first >= self.first {
                repeated.entry(first).or_insert_with(|| vec![first]).push(position);
            }
        }
        let result = |(position, item): (i64, &Item)| {
            if !item.violations.is_empty() {
                return Some(item::invalid(&item.input, item.violations.clone()));
            }
            repeated.remove(&position).map(|positions| item::repeated(&item.input, positions))
        };
        Ok((self.first..).zip(items).map(result).collect())
    }

    /// Rejects the roster if too many affiliates would get the requested status, which suggests a truncated file.
    pub(super) async fn check_absent(&mut self) -> Result<(), Error> {
        let Some(status) = self.absent_status().map(str::to_owned).filter(|_| !self.is_absent_checked) else {
            return Ok(());
        };
        let (mut others, mut absent, mut after) = (0, 0, 0);
        loop {
            let rows = self.page(after, ABSENT_COUNTED).await?;
            let Some(last) = rows.last() else { break };
            after = last.affiliate_id;
            for row in rows.iter().filter(|row| row.status.as_deref() != Some(&*status)) {
                others += 1;
                absent += i64::from(!self.has(&row.client_affiliate_id));
            }
        }
        let max_absent = self.options.max_absent.unwrap_or_else(|| MIN_ABSENT.max(others / MIN_PRESENT_PER_ABSENT));
        if absent > max_absent {
            return Err(Error::too_many_absent(absent, max_absent, &status));
        }
        self.is_absent_checked = true;
        Ok(())
    }

    async fn page(&self, after: i64, limit: i64) -> Result<Vec<Row>, Error> {
        let company_id = self.company_id;
        let read = async |pool: Connections| {
            sqlx::query_as(PAGE).bind(company_id).bind(after).bind(limit).fetch_all(&pool).await
        };
        database::read(&self.backend.pool, read).await.map_err(from_database)
    }

    /// Sets the requested status on the next absent affiliates, and returns these affiliates. Returns an empty list at the end.
    pub(super) async fn next_absent(&mut self) -> Result<Vec<AbsentAffiliate>, Error> {
        self.check_absent().await?;
        loop {
            let mut rows = self.page(self.after, ABSENT_PAGE).await?;
            let Some(last) = rows.last() else { return Ok(Vec::new()) };
            self.after = last.affiliate_id;
            rows.retain(|row| !self.has(&row.client_affiliate_id) && !self.holders.contains(&row.affiliate_id));
            if !rows.is_empty() {
                return self.with_status(rows).await;
            }
        }
    }

    async fn with_status(&self, rows: Vec<Row>) -> Result<Vec<AbsentAffiliate>, Error> {
        let status = self.absent_status();
        let differs = |row: &Row| status.is_some() && row.status.as_deref() != status;
        let fields = AffiliateInput { status: status.map(str::to_owned), ..AffiliateInput::default() };
        // An affiliate that has changed since the read may now have an identifier in the roster.
        let update = |row: &Row| Input {
            revisions: Some(vec![row.revision]),
            ..Input::new(self.company_id, row.affiliate_id, fields.clone(), FieldSet::given(&fields))
        };
        let updates: Vec<Input> = rows.iter().filter(|row| differs(row)).map(update).collect();
        let applied = if self.options.validate_only {
            vec![Applied::Saved(None); updates.len()]
        } else {
            update_known(&self.backend, self.company_id, &updates).await?
        };
        let mut applied = applied.into_iter();
        let absent = rows.into_iter().map(|row| {
            let changed = differs(&row) && matches!(applied.next(), Some(Applied::Saved(_)));
            let Row { affiliate_id, client_affiliate_id, status, .. } = row;
            AbsentAffiliate { affiliate_id, client_affiliate_id, status, changed }
        });
        Ok(absent.collect())
    }
}
