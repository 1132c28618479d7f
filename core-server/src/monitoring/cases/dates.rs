//! The dates that follow from a change, as SQL. `CaseInput` and docs/monitoring.md describe the rules.

use super::{CLOSED, NEW, OPEN, RESOLVED, fields::bit};

/// The moment of the change.
pub(super) const NOW: &str = "date_trunc('second', now())";

/// Each date and its new value, given the case before (`o`), the case after as far as it was asked for (`n`), the mask
/// of what was given, and whether anything changes.
pub(super) fn rules(mask: &str, changed: &str) -> Vec<(&'static str, String)> {
    let [first, last] = CLOSED;
    let closes = |alias: &str| format!("{alias}.case_status_id between {first} and {last}");
    let (was_closed, is_closed) = (closes("o"), closes("n"));
    let first_action = format!(
        "o.first_action_date is null and (
            (o.case_status_id = {NEW} and n.case_status_id <> {NEW})
            or (n.case_worker is not null and n.case_worker is distinct from o.case_worker)
            or (n.notice_status_id is not null and n.notice_status_id is distinct from o.notice_status_id)
        )"
    );
    let reviewed = format!(
        "o.reviewed_date is null and (
            (n.case_status_id <> o.case_status_id and n.case_status_id not in ({NEW}, {OPEN}))
            or (n.sub_status_id is not null and n.sub_status_id is distinct from o.sub_status_id)
        )"
    );
    let flagged = "o.flagged_date is null and n.risk_level_id in (3, 4)
        and n.risk_level_id is distinct from o.risk_level_id";
    let rules = [
        ("first_action_date", format!("when {first_action} then {NOW}")),
        ("reviewed_date", format!("when {reviewed} then {NOW}")),
        ("flagged_date", format!("when {flagged} then {NOW}")),
        (
            "resolved_date",
            format!(
                "when n.case_status_id = o.case_status_id then o.resolved_date
                when n.case_status_id = {RESOLVED} then {NOW}
                when not ({is_closed}) and (o.case_status_id = {RESOLVED} or {was_closed}) then null"
            ),
        ),
        (
            "closed_date",
            format!(
                "when {is_closed} and not ({was_closed}) then {NOW}
                when {was_closed} and not ({is_closed}) then null"
            ),
        ),
        ("last_updated_date", format!("when {changed} then {NOW}")),
    ];
    let value = |(column, rule): (&'static str, String)| {
        let bit = bit(column);
        (column, format!("case when {mask} & {bit} <> 0 then n.{column} {rule} else o.{column} end"))
    };
    rules.into_iter().map(value).collect()
}
