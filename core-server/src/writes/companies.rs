//! Permits of companies: each company has so many.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of all companies. They are handed out in the order in which they are requested.
#[derive(Clone)]
pub(super) struct Companies {
    /// The permits of a company.
    most: u32,
    semaphores: Arc<Mutex<HashMap<i64, Arc<Semaphore>>>>,
}

/// Permits of a company, until this is dropped.
pub(super) struct CompanyPermit {
    companies: Companies,
    company: i64,
    permit: Option<OwnedSemaphorePermit>,
}

impl Companies {
    pub(super) fn new(most: u32) -> Self {
        Self { most, semaphores: Arc::default() }
    }

    /// Waits for one permit of the company.
    pub(super) async fn one(&self, company: i64) -> Result<CompanyPermit, Error> {
        self.acquire(company, 1).await
    }

    /// Waits for all permits of the company.
    pub(super) async fn all(&self, company: i64) -> Result<CompanyPermit, Error> {
        self.acquire(company, self.most).await
    }

    /// The same, unless it would have to wait.
    pub(super) fn try_all(&self, company: i64) -> Option<CompanyPermit> {
        let mut permit = self.permit(company);
        permit.permit = Some(self.semaphore(company).try_acquire_many_owned(self.most).ok()?);
        Some(permit)
    }

    async fn acquire(&self, company: i64, permits: u32) -> Result<CompanyPermit, Error> {
        // Dropped if the caller goes away while it waits.
        let mut permit = self.permit(company);
        let semaphore = self.semaphore(company);
        permit.permit = Some(if let Ok(acquired) = Arc::clone(&semaphore).try_acquire_many_owned(permits) {
            acquired
        } else {
            // What waits for its own company is in nobody else's way.
            let acquired = admission::waiting(semaphore.acquire_many_owned(permits)).await;
            acquired.map_err(|_| Error::internal())?
        });
        Ok(permit)
    }

    fn permit(&self, company: i64) -> CompanyPermit {
        CompanyPermit { companies: self.clone(), company, permit: None }
    }

    fn semaphore(&self, company: i64) -> Arc<Semaphore> {
        let semaphore = || Arc::new(Semaphore::new(self.most as usize));
        Arc::clone(self.semaphores().entry(company).or_insert_with(semaphore))
    }

    fn semaphores(&self) -> MutexGuard<'_, HashMap<i64, Arc<Semaphore>>> {
        self.semaphores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CompanyPermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut semaphores = self.companies.semaphores();
        // Only the map has it: the company has no other permit, and waits for none.
        if semaphores.get(&self.company).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            semaphores.remove(&self.company);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_permits_wait_for_those_of_their_company_alone() {
        let companies = Companies::new(2);
        let permits = [companies.one(1).await.unwrap(), companies.one(1).await.unwrap()];
        assert!(companies.try_all(1).is_none() && companies.try_all(2).is_some());
        let waiting = companies.all(1);
        tokio::pin!(waiting);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        // One that comes later waits behind.
        let later = companies.one(1);
        tokio::pin!(later);
        drop(permits);
        assert!(futures::poll!(later.as_mut()).is_pending());
        drop(waiting.await);
        later.await.unwrap();
    }

    #[tokio::test]
    async fn companies_are_forgotten() {
        let companies = Companies::new(2);
        let permit = companies.all(1).await.unwrap();
        {
            // A caller that goes away while it waits.
            let waiting = companies.one(1);
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        drop(permit);
        drop(companies.try_all(2));
        assert!(companies.semaphores().is_empty());
    }
}
