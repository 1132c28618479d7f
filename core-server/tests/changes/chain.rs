//! Tests the hash chain of the record of changes: the audit detects manual edits and reports the first affected position.

use core_server::audit::{Broken, Checkpoint, checkpoint, companies, compare, verify};
use futures::future::join_all;
use sqlx::{AssertSqlSafe, PgConnection};
use test_support::{TestCore, new_company};

async fn owner(core: &TestCore) -> sqlx::pool::PoolConnection<sqlx::Postgres> {
    core.pool.acquire().await.unwrap()
}

/// Adds an affiliate and seven URLs, in six rows: three URLs share a row.
async fn fill(core: &TestCore, company: i64) {
    let mut clients = core.company(company);
    clients.affiliate(&format!("A{}", rand::random::<u64>())).await;
    for urls in [1, 3, 1, 1, 1] {
        let url = |number| format!("https://a.example/{company}/{urls}/{number}/{}", rand::random::<u64>());
        clients.add_urls((0..urls).map(url)).await;
    }
}

async fn found(connection: &mut PgConnection, company: i64) -> Option<Broken> {
    verify(connection, company).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writes_keep_the_chain_valid() {
    let core = TestCore::start().await;
    let companies = [new_company(), new_company()];
    join_all((0..6).map(|number| fill(&core, companies[number % 2]))).await;
    let mut connection = owner(&core).await;
    for company in companies {
        assert_eq!(found(&mut connection, company).await, None);
        let end = checkpoint(&mut *connection, company).await.unwrap().unwrap();
        assert_eq!((end.company_id, end.position, end.hash.len()), (company, 24, 64));
    }
    assert_eq!(checkpoint(&mut *connection, new_company()).await.unwrap(), None);
    assert_eq!(found(&mut connection, new_company()).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_detects_manual_edits() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    let altered = |first, last| Some(Broken::Altered { first, last });
    let removed = |first, last| Some(Broken::Removed { first, last });
    // The rows end at positions 1, 2, 5, 6, 7 and 8.
    for (damage, expected) in [
        ("update changes set records[1] = replace(records[1], 'A', 'B') where position = 1", altered(1, 1)),
        ("update changes set ids[2] = ids[2] + 1 where position = 5", altered(3, 5)),
        ("update changes set changed_by = '[\"r\", \"somebody else\"]' where position = 6", altered(6, 6)),
        ("update changes set changed_at = '2001-01-01Z' where position = 6", altered(6, 6)),
        ("update changes set operation = 2 where position = 8", altered(8, 8)),
        ("update changes set hash = '' where position = 6", altered(6, 6)),
        ("update changes set parents = '{7}' where position = 6", altered(6, 6)),
        ("update changes set is_set_back = null where position = 6", altered(6, 6)),
        ("update changes set is_set_back = true where position = 6", altered(6, 6)),
        ("delete from changes where position = 1", removed(1, 1)),
        ("delete from changes where position in (5, 6)", removed(3, 6)),
        ("delete from changes where position >= 7", removed(7, 8)),
        ("delete from changes", removed(1, 8)),
        ("update changes set position = case position when 6 then 7 else 6 end where position in (6, 7)", altered(6, 6)),
        (
            "insert into changes select c.company_id, 9, c.changed_at, c.resource, c.columns, c.operation, c.ids, c.records, c.changed_by, c.hash, c.key
            from changes c where position = 8",
            altered(9, 9),
        ),
    ] {
        let company = new_company();
        fill(&core, company).await;
        let before: Checkpoint = checkpoint(&mut *connection, company).await.unwrap().unwrap();
        assert_eq!((found(&mut connection, company).await, compare(&mut connection, &before).await.unwrap()), (None, None));
        let join = if damage.contains("where") { "and" } else { "where" };
        let company_is = if damage.starts_with("insert") { "c.company_id" } else { "company_id" };
        let damage = format!("{damage} {join} {company_is} = {company}");
        sqlx::raw_sql(AssertSqlSafe(damage.clone())).execute(&mut *connection).await.unwrap();
        assert_eq!(found(&mut connection, company).await, expected, "{damage}");
    }

    // An attacker who recomputes only some hashes breaks the chain. Recomputing all of them contradicts the checkpoint.
    for (last, found_by_chain, found_by_checkpoint) in
        [(6, altered(7, 7), None), (8, None, Some(Broken::Rewritten { position: 8 }))]
    {
        let company = new_company();
        fill(&core, company).await;
        let before = checkpoint(&mut *connection, company).await.unwrap().unwrap();
        let rewritten = format!(
            "do $$
            declare
                previous bytea; r record;
            begin
                update changes set changed_by = null where company_id = {company} and position = 2;
                for r in select * from changes where company_id = {company} and position <= {last} order by position loop
                    previous := change_hash(previous, placed_digest(
                        change_digest(r.resource, r.columns, r.operation, r.ids, r.records, r.changed_by, r.key), r.company_id, r.parents),
                        r.position, r.changed_at);
                    update changes set hash = previous where company_id = {company} and position = r.position;
                end loop;
                update change_positions set hash = previous where company_id = {company} and position = {last};
            end
            $$"
        );
        sqlx::raw_sql(AssertSqlSafe(rewritten)).execute(&mut *connection).await.unwrap();
        assert_eq!(found(&mut connection, company).await, found_by_chain);
        assert_eq!(compare(&mut connection, &before).await.unwrap(), found_by_checkpoint);
    }
}

/// Copies all of a company's rows, so each row follows its predecessor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_detects_changes_copied_between_companies() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    for mark in ["is_set_back", "null"] {
        let (from, to) = (new_company(), new_company());
        fill(&core, from).await;
        let copy = format!(
            "insert into changes
                (company_id, position, changed_at, resource, columns, operation, ids, records, changed_by, hash, key, parents, is_set_back)
            select {to}, position, changed_at, resource, columns, operation, ids, records, changed_by, hash, key, parents, {mark}
            from changes where company_id = {from};
            insert into change_positions (company_id, position, changed_at, digest, hash)
            select {to}, position, changed_at, digest, hash from change_positions where company_id = {from}"
        );
        for statement in copy.split(";\n") {
            sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await.unwrap();
        }
        assert_eq!(found(&mut connection, from).await, None);
        assert_eq!(found(&mut connection, to).await, Some(Broken::Altered { first: 1, last: 1 }), "{mark}");
    }
}

/// Rows in the format of earlier releases are valid only before the first row in the new format, even if their hashes match.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_from_earlier_releases_stay_valid() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    for (before, expected) in [("position <= 5", None), ("position = 6", Some(Broken::Altered { first: 6, last: 6 }))] {
        let company = new_company();
        fill(&core, company).await;
        let rewritten = format!(
            "do $$
            declare
                previous bytea; placed bytea; r record;
            begin
                update changes set is_set_back = null where company_id = {company} and {before};
                for r in select * from changes where company_id = {company} order by position loop
                    placed := change_digest(r.resource, r.columns, r.operation, r.ids, r.records, r.changed_by, r.key);
                    if r.is_set_back is not null then
                        placed := placed_digest(placed, r.company_id, r.parents);
                    end if;
                    previous := change_hash(previous, placed, r.position, r.changed_at);
                    update changes set hash = previous where company_id = {company} and position = r.position;
                end loop;
                update change_positions set hash = previous where company_id = {company};
            end
            $$"
        );
        sqlx::raw_sql(AssertSqlSafe(rewritten)).execute(&mut *connection).await.unwrap();
        assert_eq!(found(&mut connection, company).await, expected, "{before}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_keeps_the_chain_valid() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    let company = new_company();
    fill(&core, company).await;
    let before = checkpoint(&mut *connection, company).await.unwrap().unwrap();
    // Moves the first rows to an old month's partition.
    let old = [
        "create table changes_y2020m01 (like changes)".to_owned(),
        format!(
            "insert into changes_y2020m01
            select company_id, position, '2020-01-05Z', resource, columns, operation, ids, records, changed_by, hash, key
            from changes where company_id = {company} and position <= 5"
        ),
        format!("delete from changes where company_id = {company} and position <= 5"),
        "alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z')"
            .to_owned(),
        "select keep_changes(90)".to_owned(),
    ];
    for statement in old {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await.unwrap();
    }
    let kept: i64 = sqlx::query_scalar("select count(*) from changes where company_id = $1")
        .bind(company)
        .fetch_one(&mut *connection)
        .await
        .unwrap();
    assert_eq!(kept, 3);
    assert_eq!((found(&mut connection, company).await, compare(&mut connection, &before).await.unwrap()), (None, None));
    let early = Checkpoint { position: 2, ..before };
    assert_eq!(compare(&mut connection, &early).await.unwrap(), Some(Broken::NotRetained { position: 2 }));
    let remove = format!("delete from changes where company_id = {company} and position = 6");
    sqlx::raw_sql(AssertSqlSafe(remove)).execute(&mut *connection).await.unwrap();
    assert_eq!(found(&mut connection, company).await, Some(Broken::Removed { first: 6, last: 6 }));
}

/// Deletes the first rows and moves the start of the record, as retention does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_detects_deletion_of_the_oldest_changes() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    let remove = "
        update change_positions p set dropped_position = c.position, dropped_hash = c.hash
            from changes c where p.company_id = {company} and c.company_id = {company} and c.position = {last};
        delete from changes where company_id = {company} and position <= {last};";
    let recorded = "insert into change_drops (company_id, position, after, hash, changed_at, part, days, dropped_at)
        select company_id, position, {after}, hash, {changed_at}, 'changes_default', 90, now()
        from changes where company_id = {company} and position = {last};";
    let early = recorded.replace("{changed_at}", "changed_at");
    let due = recorded.replace("{changed_at}", "now() - interval '91 days'");
    let removed = |first, last| Some(Broken::Removed { first, last });
    for (damage, expected) in [
        (remove.replace("{last}", "5"), removed(1, 5)),
        // No row remains.
        (remove.replace("{last}", "8"), removed(1, 8)),
        // The rows are not due yet.
        ((early + remove).replace("{last}", "5").replace("{after}", "0"), removed(1, 5)),
        // The next row is also missing, without a recorded drop.
        (
            (due.clone() + remove).replace("{last}", "5").replace("{after}", "0") + &remove.replace("{last}", "6"),
            removed(6, 6),
        ),
        // The recorded drop begins after position 2.
        ((due.clone() + remove).replace("{last}", "5").replace("{after}", "2"), removed(1, 2)),
        (
            (due.clone() + remove).replace("{last}", "5").replace("{after}", "0")
                + "delete from change_drops where company_id = {company}",
            removed(1, 5),
        ),
        (
            (due.clone() + remove).replace("{last}", "5").replace("{after}", "0")
                + "update change_drops set hash = '' where company_id = {company}",
            removed(1, 5),
        ),
        // A valid drop.
        ((due.clone() + remove).replace("{last}", "5").replace("{after}", "0"), None),
    ] {
        let company = new_company();
        fill(&core, company).await;
        let before = checkpoint_at(&mut connection, company, 2).await;
        let end = checkpoint_at(&mut connection, company, 8).await;
        let damage = damage.replace("{company}", &company.to_string());
        sqlx::raw_sql(AssertSqlSafe(damage.clone())).execute(&mut *connection).await.unwrap();
        assert_eq!(found(&mut connection, company).await, expected, "{damage}");
        // The checkpoint at the end still matches, and the earlier checkpoint's row is gone.
        assert_eq!(compare(&mut connection, &end).await.unwrap(), None, "{damage}");
        assert_eq!(
            compare(&mut connection, &before).await.unwrap(),
            Some(Broken::NotRetained { position: 2 }),
            "{damage}"
        );
    }
}

/// Remaining records or recorded drops show that the company had changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_detects_deletion_of_all_changes() {
    let core = TestCore::start().await;
    let mut connection = owner(&core).await;
    let all =
        "delete from changes where company_id = {company}; delete from change_drops where company_id = {company};";
    let no_position = "delete from change_positions where company_id = {company};";
    let dropped = "insert into change_drops (company_id, position, after, dropped_at) values ({company}, 1, 0, now());";
    let begin = |position: i64| {
        format!(
            "update change_positions set position = {position}, digest = '', hash = '', dropped_position = {position}, dropped_hash = null
            where company_id = {{company}};"
        )
    };
    let no_records = "delete from compliance_urls where company_id = {company}; delete from affiliates where company_id = {company};";
    let removed = Some(Broken::RemovedAll);
    for (damage, is_known, expected) in [
        (all.to_owned() + no_position, true, removed),
        (all.to_owned() + &begin(0), true, removed),
        (all.to_owned() + &begin(1), true, Some(Broken::Removed { first: 1, last: 1 })),
        (no_records.to_owned() + all + no_position, false, None),
        (no_records.to_owned() + all + no_position + dropped, true, removed),
        // Indistinguishable from a company whose records predate the record of changes.
        (all.to_owned() + &begin(1) + dropped, true, None),
    ] {
        let company = new_company();
        fill(&core, company).await;
        let damage = damage.replace("{company}", &company.to_string());
        sqlx::raw_sql(AssertSqlSafe(damage.clone())).execute(&mut *connection).await.unwrap();
        assert_eq!(found(&mut connection, company).await, expected, "{damage}");
        let is_listed = companies(&mut connection).await.unwrap().contains(&company);
        assert_eq!(is_listed, is_known, "{damage}");
    }
}

async fn checkpoint_at(connection: &mut PgConnection, company_id: i64, position: i64) -> Checkpoint {
    let hash = "select encode(hash, 'hex') from changes where company_id = $1 and position = $2";
    let hash = sqlx::query_scalar(hash).bind(company_id).bind(position).fetch_one(connection).await.unwrap();
    Checkpoint { company_id, position, hash }
}
