//! The task that updates the cores: the addresses of their names, and which cores serve.

use std::sync::{Arc, Weak};

use futures::future::join_all;
use metrics::{describe_gauge, gauge};
use telemetry::{
    background::Task,
    metrics::{is_installed, on_render},
};
use tokio::time::{Instant, sleep, timeout};

use super::{address::Address, cores::Cores, unreachable};
use crate::limits::{CORE_CHECK_INTERVAL, FIRST_CORE_CHECK, RESOLVE_INTERVAL};

/// Updates the cores until they are dropped.
pub(super) async fn keep_up_to_date(weak: Weak<Cores>, addresses: Vec<Address>, task: Arc<Task>) {
    let has_names = addresses.iter().any(Address::is_name);
    let (mut resolved, mut interval) = (None::<Instant>, CORE_CHECK_INTERVAL);
    loop {
        let Some(cores) = weak.upgrade() else { return };
        if has_names && resolved.is_none_or(|resolved| resolved.elapsed() >= RESOLVE_INTERVAL) {
            resolve(&cores, &addresses).await;
            resolved = Some(Instant::now());
        }
        let all_serve = check(&cores).await;
        let failure = Arc::clone(&cores.failure);
        drop(cores);
        // Another metric shows which cores serve.
        task.succeeded();
        // Limits the checks when many calls fail.
        sleep(FIRST_CORE_CHECK).await;
        let has_failed = timeout(interval, failure.notified()).await.is_ok();
        interval = match (has_failed, all_serve) {
            (true, _) => FIRST_CORE_CHECK,
            (false, true) => CORE_CHECK_INTERVAL,
            (false, false) => (interval * 2).min(CORE_CHECK_INTERVAL),
        };
    }
}

/// Reports how many addresses of each core serve.
pub(super) fn report(cores: &Weak<Cores>, addresses: &[Address]) {
    let name = "compliance_gateway_core_addresses";
    describe_gauge!(name, "Addresses of each core in --core-url, by whether they serve.");
    for url in addresses.iter().map(Address::name) {
        for (state, serving) in [("serving", true), ("not_serving", false)] {
            let (cores, url) = (Weak::clone(cores), url.clone());
            let gauge = gauge!(name, "core" => url.clone(), "state" => state);
            on_render(gauge, move || {
                let all = cores.upgrade()?.all();
                Some(all.iter().filter(|core| core.is_at(&url) && core.serves() == serving).count() as f64)
            });
        }
    }
}

/// Asks each core for its health, and returns whether all serve.
///
/// A single core gets all calls anyway, so its health is for metrics only.
async fn check(cores: &Cores) -> bool {
    let all = cores.all();
    if all.len() == 1 && !is_installed() {
        return true;
    }
    let served = all.iter().map(|core| async { (core.serves(), core.check().await) });
    for (core, (before, now)) in all.iter().zip(join_all(served).await) {
        match (before, now) {
            (true, false) => tracing::warn!(core = core.name, "a core does not serve"),
            (false, true) => tracing::info!(core = core.name, "a core serves again"),
            _ => {}
        }
    }
    all.iter().all(|core| core.serves())
}

/// Replaces each name by its addresses. A name that cannot be resolved keeps its addresses.
async fn resolve(cores: &Cores, addresses: &[Address]) {
    let mut found = Vec::new();
    for address in addresses {
        let name = address.name();
        if !address.is_name() {
            found.push((name, address.clone()));
            continue;
        }
        match address.resolve().await {
            Ok(resolved) => {
                found.extend(resolved.into_iter().filter_map(|at| Some((format!("{name}({at})"), address.at(at)?))));
            }
            Err(error) => {
                unreachable::report(&name, unreachable::NOT_RESOLVED, &error);
                let known = cores.all();
                let known = known.iter().filter(|core| core.is_at(&name));
                found.extend(known.map(|core| (core.name.clone(), address.clone())));
            }
        }
    }
    cores.replace(found);
}
