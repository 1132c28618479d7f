//! Writes random records to the database.
//!
//! The module inserts some records with different values and then updates them. It also inserts and deletes extra records, so counts that
//! only grow would be wrong.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Dice, query::FILTERS};

/// Writes rows in several statements: inserts, updates to the final values, and deletions of extra rows.
pub(super) async fn write(dice: &mut Dice, pool: &PgPool, table: &str, company: i64, rows: &[&Value]) {
    let dates = ["discovery_date", "created_date", "last_review_date", "last_seen"];
    let filtered = FILTERS.iter().map(|(_, column, _)| *column);
    let changing: Vec<&str> =
        filtered.chain(dates).filter(|column| rows.iter().any(|row| row.get(column).is_some())).collect();
    for chunk in rows.chunks(200) {
        let mut first: Vec<Value> = chunk.iter().copied().cloned().collect();
        for row in &mut first {
            if dice.once_in(3) {
                let other = dice.pick(rows);
                for column in &changing {
                    row[*column] = other[*column].clone();
                }
            }
        }
        // The extra rows' IDs are above or far below the other rows' IDs.
        let mut gone: Vec<Value> = chunk.iter().step_by(7).copied().cloned().collect();
        for row in &mut gone {
            let id = row["id"].as_i64().unwrap();
            let other = if dice.once_in(2) { id + 5_000_000 } else { id - company * 10_000_000 };
            row["id"] = json!(other);
            if row.get("url_hash").is_some() {
                row["url_hash"] = json!(format!("\\xff{other:016x}"));
            }
        }
        insert(pool, table, &first).await;
        insert(pool, table, &gone).await;
        update(pool, table, chunk, &changing).await;
        let ids: Vec<i64> = gone.iter().map(|row| row["id"].as_i64().unwrap()).collect();
        let statement = format!("delete from {table} where company_id = $1 and id = any($2)");
        sqlx::query(sqlx::AssertSqlSafe(statement)).bind(company).bind(ids).execute(pool).await.unwrap();
    }
}

/// Inserts rows, which all have the same columns.
pub(super) async fn insert(pool: &PgPool, table: &str, rows: &[Value]) {
    let Some(first) = rows.first() else { return };
    let columns: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    let columns = columns.join(", ");
    let statement =
        format!("insert into {table} ({columns}) select {columns} from jsonb_populate_recordset(null::{table}, $1)");
    sqlx::query(sqlx::AssertSqlSafe(statement)).bind(json!(rows)).execute(pool).await.unwrap();
}

async fn update(pool: &PgPool, table: &str, rows: &[&Value], changing: &[&str]) {
    let set: Vec<String> = changing.iter().map(|column| format!("{column} = n.{column}")).collect();
    let statement = format!(
        "update {table} t set {} from jsonb_populate_recordset(null::{table}, $1) n
        where t.company_id = n.company_id and t.id = n.id",
        set.join(", ")
    );
    sqlx::query(sqlx::AssertSqlSafe(statement)).bind(json!(rows)).execute(pool).await.unwrap();
}
