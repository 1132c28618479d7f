//! A certificate of a port.

use super::{
    finding::{Finding, State},
    needs::CertificateNeed,
};
use crate::program::describe;

/// A certificate that ends sooner is mentioned, in days.
const SOON_DAYS: i64 = 14;
const DAY: i64 = 86_400;

/// Whether it can be used with its key, is valid now, and is for the hosts that gateways of the same configuration connect to.
pub(super) fn check(need: CertificateNeed, hosts: &[String], now: i64) -> Finding {
    let CertificateNeed { check, found, is_core } = need;
    let certificate = match found {
        Ok(certificate) => certificate,
        Err(error) => {
            let next_step = "give a PEM file with the certificate, its intermediate certificates and its key";
            return Finding::new(check, State::Problem, describe(&error), next_step);
        }
    };
    let (days, names) = ((certificate.not_after - now).div_euclid(DAY), certificate.names.join(", "));
    let replace = "replace it: programs take changed files without a restart";
    if now < certificate.not_before {
        let found = "it is not valid yet";
        return Finding::new(check, State::Problem, found, "see whether the clock is right, or replace it");
    }
    if certificate.not_after < now {
        return Finding::new(check, State::Problem, format!("it expired {} days ago", -days), replace);
    }
    if is_core && let Some(host) = hosts.iter().find(|host| !certificate.is_for(host)) {
        let found = format!("it is for {names}, and gateways connect to {host} (--core-url)");
        return Finding::new(check, State::Problem, found, "issue it for that name, or connect to one that it has");
    }
    let state = if days < SOON_DAYS { State::Warning } else { State::Ok };
    Finding::new(check, state, format!("it is valid for {days} days, for {names}"), replace)
}
