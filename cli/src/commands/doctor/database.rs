//! A given database: its hosts, version and schema, its nodes if it is on Citus, how many connections it has, and its clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use core_server::{
    database::{
        self, DatabaseError, HostState, Nodes, ReadTarget, Target, check_migrated, check_nodes, replica_states,
    },
    doctor::{self, Months},
};
use runtime::describe;
use sqlx::{PgConnection, Row as _};
use tokio::time::timeout;

use super::checks::{Finding, State};

/// How long the database may take to respond.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How far two clocks may be apart, in seconds. Tokens are rejected before and after their time.
const CLOCK_TOLERANCE: f64 = 5.0;

/// Connections that are reserved or used by others than this service, and the limits of the server, the role and the database.
const CONNECTIONS: &str = "
    select current_setting('max_connections')::bigint,
        current_setting('superuser_reserved_connections')::bigint
            + coalesce(current_setting('reserved_connections', true)::bigint, 0),
        (select sum(numbackends)::bigint from pg_stat_database)
            - (select count(*) from pg_stat_activity
               where usename = current_user and application_name = current_setting('application_name')),
        (select nullif(rolconnlimit, -1)::bigint from pg_roles where rolname = current_user),
        (select nullif(datconnlimit, -1)::bigint from pg_database where datname = current_database())";

/// Checks a database for this number of cores with this number of connections each.
pub(super) async fn check(target: Target, replicas: Option<ReadTarget>, connections: u32, cores: u32) -> Vec<Finding> {
    let Ok(states) = timeout(TIMEOUT, target.states()).await else {
        let next_step = "check that host and port of --database-url are reached from here: firewalls drop silently";
        return vec![Finding::new("database", State::Problem, format!("no response within {TIMEOUT:?}"), next_step)];
    };
    let mut findings = Vec::from_iter(hosts(&states));
    if !states.iter().any(|(_, state)| matches!(state, HostState::TakesWrites)) {
        return findings;
    }
    if let Some(replicas) = &replicas {
        findings.extend(self::replicas(&target, replicas).await);
    }
    let asked = timeout(TIMEOUT, async {
        let pool = database::open(target, 1).await?.pool;
        let schema = check_migrated(&pool).await;
        let mut connection = pool.acquire().await?;
        let answers = ask(&mut connection, connections, cores).await?;
        let nodes = check_nodes(&mut connection).await?;
        let months = if schema.is_ok() { Some(doctor::months(&mut *connection).await?) } else { None };
        drop(connection);
        pool.close().await;
        anyhow::Ok((schema, answers, nodes, months))
    });
    let (schema, [version, limit, clock], nodes, months) = match asked.await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            let next_step = "connect to PostgreSQL itself, or see why it refuses these questions";
            findings.push(Finding::new("database", State::Problem, describe(&error), next_step));
            return findings;
        }
        Err(_) => {
            let next_step = "see whether the server is overloaded";
            findings.push(Finding::new(
                "database",
                State::Problem,
                format!("no response within {TIMEOUT:?}"),
                next_step,
            ));
            return findings;
        }
    };
    let next_step = match schema {
        Err(DatabaseError::Modified { .. }) => {
            "export with the program that made it and import with this one: Upgrading in docs/operations.md"
        }
        _ => "run `compliance migrate` as the role that owns the tables",
    };
    let found = "it is that of this version".to_owned();
    let schema = Finding::of("schema", schema.map(|()| found), State::Problem, next_step);
    findings.extend([version, schema]);
    findings.extend(nodes.map(self::nodes));
    findings.extend(months.map(self::months));
    findings.extend([limit, clock]);
    findings
}

/// Whether retention keeps up.
fn months(Months { days, missing, overdue }: Months) -> Finding {
    let next_step = "see whether a core runs and what its log says of the task `retention`: a session that keeps a lock of `changes` is \
                     named there";
    let listed = |what: &str, months: &[String]| {
        if months.is_empty() { String::new() } else { format!("; {what}: {}", months.join(", ")) }
    };
    let state = if missing.is_empty() && overdue.is_empty() { State::Ok } else { State::Problem };
    let found = format!(
        "changes are kept for {days} days{}{}",
        listed("months that were not made", &missing),
        listed("months that were not dropped", &overdue)
    );
    Finding::new("retention", state, found, next_step)
}

/// What is wrong with the nodes of Citus.
fn nodes(Nodes { found, problems }: Nodes) -> Finding {
    let next_step = "see pg_dist_node and the log of that node; \
                     `select start_metadata_sync_to_node(…)` on the coordinator makes missing functions and types again";
    match &problems[..] {
        [] => Finding::new("nodes", State::Ok, found, next_step),
        problems => Finding::new("nodes", State::Problem, format!("{found}; {}", problems.join("; ")), next_step),
    }
}

/// What is wrong with the hosts, or what they are if there are several.
fn hosts(states: &[(String, HostState)]) -> Option<Finding> {
    let shown: Vec<String> = states
        .iter()
        .map(|(name, state)| match state {
            HostState::TakesWrites => format!("{name} takes writes"),
            HostState::TakesNoWrites => format!("{name} is a standby, or takes no writes for another reason"),
            HostState::Unreachable(error) => format!("{name}: {error}"),
        })
        .collect();
    let count = |matches: fn(&HostState) -> bool| states.iter().filter(|(_, state)| matches(state)).count();
    let (check, state, next_step) = match count(|state| matches!(state, HostState::TakesWrites)) {
        0 if count(|state| matches!(state, HostState::TakesNoWrites)) > 0 => {
            ("database", State::Problem, "name the primary in --database-url, or promote a standby")
        }
        0 => (
            "database",
            State::Problem,
            "check host, port, database, role and password of --database-url, and pg_hba.conf of the server",
        ),
        1 if states.len() == 1 => return None,
        1 if count(|state| matches!(state, HostState::Unreachable(_))) > 0 => {
            ("hosts", State::Warning, "see why; if the primary fails, it cannot take over")
        }
        1 => ("hosts", State::Ok, ""),
        _ => ("hosts", State::Problem, "only one may take writes: the others must follow it, or belong elsewhere"),
    };
    Some(Finding::new(check, state, shown.join("; "), next_step))
}

/// One finding for each replica.
async fn replicas(primary: &Target, replicas: &ReadTarget) -> Vec<Finding> {
    let next_step = "see reads from replicas in docs/operations.md; until it serves, the others and the primary do";
    let problem = |found: String| Finding::new("replica", State::Problem, found, next_step);
    match timeout(TIMEOUT, replica_states(primary, replicas)).await {
        Ok(Ok(states)) => states
            .into_iter()
            .map(|(name, reason)| match reason {
                None => Finding::new("replica", State::Ok, format!("{name} has what the primary has written"), ""),
                Some(reason) => problem(format!("{name}: {reason}")),
            })
            .collect(),
        Ok(Err(error)) => vec![problem(error.to_string())],
        Err(_) => vec![problem(format!("no response within {TIMEOUT:?}"))],
    }
}

async fn ask(connection: &mut PgConnection, connections: u32, cores: u32) -> Result<[Finding; 3], sqlx::Error> {
    let question = "select current_setting('server_version'), current_setting('server_version_num')::int";
    let (version, number) = sqlx::query_as::<_, (String, i32)>(question).fetch_one(&mut *connection).await?;
    let state = if number >= 150_000 { State::Ok } else { State::Problem };
    let next_step = "upgrade to PostgreSQL 15 or newer";
    let version = Finding::new("database", state, format!("PostgreSQL {version} responds"), next_step);
    let (most, reserved, others, role, database) =
        sqlx::query_as::<_, (i64, i64, i64, Option<i64>, Option<i64>)>(CONNECTIONS).fetch_one(&mut *connection).await?;
    let others = others.max(0);
    let free = [Some(most - reserved - others), role, database].into_iter().flatten().min().unwrap_or_default();
    let limits = format!("max_connections = {most}, {reserved} reserved, {others} of others");
    let limit = room(connections, cores, free, &limits);
    // Connected before, so that the times are those of one round trip.
    let before = SystemTime::now();
    let row = sqlx::raw_sql("select extract(epoch from clock_timestamp())::float8").fetch_one(connection).await?;
    let took = before.elapsed().unwrap_or_default();
    let here = (before + took / 2).duration_since(UNIX_EPOCH).unwrap_or_default();
    let clock = clock("that of the database", row.try_get(0)?, here, took);
    Ok([version, limit, clock])
}

/// Whether the cores find their connections.
fn room(connections: u32, cores: u32, free: i64, limits: &str) -> Finding {
    let needed = i64::from(connections) * i64::from(cores);
    let state = match free - needed {
        ..0 => State::Problem,
        left if left < i64::from(connections) => State::Warning,
        _ => State::Ok,
    };
    let found = format!("{cores} × {connections} connections of cores, and room for {free} ({limits})");
    let next_step =
        "raise max_connections, or lower --database-connections; a rolling restart needs those of one more core";
    Finding::new("connections", state, found, next_step)
}

/// Compares a clock with this machine's. `took` is how long the question took, in the middle of which `here` is.
pub(super) fn clock(whose: &str, there: f64, here: Duration, took: Duration) -> Finding {
    let apart = there - here.as_secs_f64();
    // It may have been read at any time of the round trip.
    let least = (apart.abs() - took.as_secs_f64() / 2.0).max(0.0);
    let state = if least <= CLOCK_TOLERANCE { State::Ok } else { State::Problem };
    let next_step = "synchronise both machines (NTP): tokens are rejected before and after their time";
    Finding::new("clock", state, format!("{whose} differs by {apart:.1} s"), next_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_found_whatever_the_connection_takes() {
        let here = Duration::from_hours(24);
        for (there, took, expected) in [
            (0.0, 0, State::Ok),
            (4.0, 0, State::Ok),
            (-6.0, 0, State::Problem),
            (6.0, 1, State::Problem),
            // Nothing is known: it took longer than what the clocks differ by.
            (6.0, 4, State::Ok),
            (3600.0, 4, State::Problem),
        ] {
            let found = clock("its", here.as_secs_f64() + there, here, Duration::from_secs(took));
            assert_eq!(found.state, expected, "{there} in {took} s: {}", found.found);
        }
    }

    #[test]
    fn cores_and_one_more_must_find_their_connections() {
        for (cores, free, expected) in [
            (2, 97, State::Ok),
            (6, 96, State::Warning),
            (7, 97, State::Problem),
            (1, 15, State::Problem),
            (1, 31, State::Warning),
        ] {
            assert_eq!(room(16, cores, free, "").state, expected, "{cores} cores, {free} free");
        }
    }
}
