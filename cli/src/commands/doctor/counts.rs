//! Checks the stored data: list counts, ID sequences, and values that violate constraints.

use std::io::Write as _;

use core_server::{
    database::check_complete,
    doctor::{BehindSequence, Difference, ViolatingRow, check_counts, check_sequences, check_values},
};
use serde_json::{Value, json};
use sqlx::PgConnection;

/// Maximum number of rows to name per constraint.
const VIOLATING_ROWS: i64 = 20;

/// Prints problems, and repairs counts and sequences if `repair` is set. Returns true if no problem remains.
pub(super) async fn check(connection: &mut PgConnection, repair: bool, as_json: bool) -> anyhow::Result<bool> {
    let print =
        |json: Value, text: String| writeln!(std::io::stdout(), "{}", if as_json { json.to_string() } else { text });
    check_complete(&mut *connection).await?;
    let differences = check_counts(connection, repair).await?;
    let wrong: i64 = differences.iter().map(|difference| difference.counts).sum();
    let behind = check_sequences(connection, repair).await?;
    let violating = check_values(connection, VIOLATING_ROWS).await?;
    for Difference { company_id, list, counts } in &differences {
        let json = json!({ "company": company_id, "list": list, "counts": counts });
        print(json, format!("company {company_id}: {counts} counts of {list} differ from the records"))?;
    }
    for BehindSequence { sequence, table, last_id, greatest_id } in &behind {
        let json = json!({ "sequence": sequence, "table": table, "at": last_id, "greatest_id": greatest_id });
        let text = format!(
            "the sequence {sequence} is at {last_id}, but {table} contains ID {greatest_id}: new records would get IDs \
             that are already in use"
        );
        print(json, text)?;
    }
    for ViolatingRow { table, constraint, company_id, id } in &violating {
        let json = json!({ "company": company_id, "table": table, "id": id, "constraint": constraint });
        let id = id.map(|id| format!(", ID {id}")).unwrap_or_default();
        print(json, format!("company {company_id}: a row of {table}{id} violates {constraint}: correct it manually"))?;
    }
    let is_repaired = repair && (wrong > 0 || !behind.is_empty());
    let (sequences, rows) = (behind.len(), violating.len());
    let json = json!({ "wrong": wrong, "repaired": is_repaired, "sequences": sequences, "violating": rows });
    let text = match (wrong, sequences, rows) {
        (0, 0, 0) => "no problems found".to_owned(),
        (0, 0, _) => format!("{rows} rows contain out-of-range values"),
        _ if is_repaired => format!("repaired {wrong} counts and {sequences} sequences"),
        _ => format!("{wrong} counts and {sequences} sequences are wrong: run the command again with --repair"),
    };
    print(json, text)?;
    Ok((wrong == 0 && behind.is_empty() || is_repaired) && violating.is_empty())
}
