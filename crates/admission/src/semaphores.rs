//! One semaphore per active company.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// The semaphores of all companies. Clones share them.
#[derive(Clone, Debug)]
pub struct CompanySemaphores {
    permits: usize,
    /// Numbers of permits that override the default.
    companies: Arc<HashMap<i64, usize>>,
    /// A semaphore exists while someone holds or awaits one of its permits.
    semaphores: Arc<Mutex<HashMap<i64, Weak<Semaphore>>>>,
}

impl CompanySemaphores {
    /// Creates semaphores with `permits` permits per company.
    pub fn new(permits: usize) -> Self {
        Self::with_companies(permits, HashMap::new())
    }

    /// Creates semaphores with individual numbers of permits for some companies.
    pub(crate) fn with_companies(permits: usize, companies: HashMap<i64, usize>) -> Self {
        Self { permits, companies: Arc::new(companies), semaphores: Arc::default() }
    }

    /// Returns a company's semaphore.
    pub fn of(&self, company: i64) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock();
        if let Some(semaphore) = semaphores.get(&company).and_then(Weak::upgrade) {
            return semaphore;
        }
        // Cleans up whenever the map doubles in size, so new companies rarely pay for the cleanup.
        if semaphores.len().is_power_of_two() {
            semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        }
        let permits = self.companies.get(&company).copied().unwrap_or(self.permits);
        let semaphore = Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        semaphores.insert(company, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use super::CompanySemaphores;

    #[tokio::test]
    async fn unused_semaphores_are_dropped() {
        let semaphores = CompanySemaphores::new(2);
        // All semaphores exist at the same time before they are dropped.
        drop((1..=1_000).map(|company| semaphores.of(company)).collect::<Vec<_>>());
        let permit = semaphores.of(0).acquire_many_owned(2).await.unwrap();
        {
            // This caller is cancelled while it waits for a permit.
            let waiting = semaphores.of(0).acquire_owned();
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        for company in 1..=10_000 {
            drop(semaphores.of(company));
        }
        assert_eq!(semaphores.semaphores.lock().len(), 2);
        assert_eq!(semaphores.of(0).available_permits(), 0, "its permits are still in use");
        drop(permit);
        assert_eq!(semaphores.of(0).available_permits(), 2);
    }
}
