//! Tests that the order of attributes in composite input types does not matter.

use core_server::database;
use test_support::{TestCore, fresh_database};

use super::{cases, incidents, infractions, observations, vocabularies};

/// Reverses the attributes of every monitoring input type. `affiliate_input` has its own test.
const REVERSE: &str = "
    do $$
    declare
        definition text;
        definitions text[];
        dependent text;
    begin
        -- Types that others contain come first.
        foreach dependent in array array['infraction_input', 'incident_input', 'url_observation_input', 'case_input',
            'incident_key_input', 'vocabulary_entry_input', 'url_review_input']
        loop
            select format('create type %I as (%s)', dependent,
                string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum desc))
            into strict definition
            from pg_attribute a where a.attrelid = dependent::regclass and a.attnum > 0;
            definitions := definitions || definition;
        end loop;
        drop type infraction_input, incident_input, url_observation_input, case_input, incident_key_input,
            vocabulary_entry_input, url_review_input;
        foreach definition in array definitions loop
            execute definition;
        end loop;
    end
    $$";

async fn reversed() -> TestCore {
    let database = fresh_database().await.options;
    let pool = database::connect(database.clone(), 2).await.unwrap();
    sqlx::raw_sql(REVERSE).execute(&pool).await.unwrap();
    let first = "select attname::text from pg_attribute where attrelid = 'case_input'::regclass and attnum = 1";
    let first: String = sqlx::query_scalar(first).fetch_one(&pool).await.unwrap();
    assert_eq!(first, "note");
    pool.close().await;
    TestCore::over(database, 8).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_type_attributes_are_matched_by_name() {
    observations::fields_are_read_as_observed(&reversed().await).await;
    cases::fields_are_read_as_opened(&reversed().await).await;
    infractions::record_and_withdraw(&reversed().await).await;
    incidents::detach_by_id_and_by_content(&reversed().await).await;
    vocabularies::add_and_use_names(&reversed().await).await;
}
