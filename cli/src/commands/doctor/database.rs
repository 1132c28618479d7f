//! A given database: hosts, version, schema, rights, Citus nodes, connections and clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use core_server::{
    SchemaError,
    database::{
        self, DatabaseError, HostState, Nodes, ReadTarget, Target, check_migrated, check_nodes, missing_rights,
        replica_states,
    },
    doctor::{self, Months},
};
use sqlx::{PgConnection, Row as _};
use tokio::time::timeout;

use super::finding::{Finding, State, finding, of_result, ok, problem};
use crate::program::describe;

/// How long the database may take to respond.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// Missing rights that a finding names.
const NAMED_RIGHTS: usize = 5;
/// Maximum difference of two clocks, in seconds. A token is valid only for a period of time.
const CLOCK_TOLERANCE: f64 = 5.0;

/// Reads the connection limits of the server, the role and the database, and the number of connections that others use.
const CONNECTIONS: &str = "
    select current_setting('max_connections')::bigint,
        current_setting('superuser_reserved_connections')::bigint
            + coalesce(current_setting('reserved_connections', true)::bigint, 0),
        (select sum(numbackends)::bigint from pg_stat_database)
            - (select count(*) from pg_stat_activity
               where usename = current_user and application_name = current_setting('application_name')),
        (select nullif(rolconnlimit, -1)::bigint from pg_roles where rolname = current_user),
        (select nullif(datconnlimit, -1)::bigint from pg_database where datname = current_database())";

/// Checks a database for a number of cores. Each has `connections` connections, and keeps changes for `retention` days.
pub(super) async fn check(
    target: Target,
    replicas: Option<ReadTarget>,
    connections: u32,
    cores: u32,
    retention: Option<i32>,
) -> Vec<Finding> {
    let Ok(states) = timeout(TIMEOUT, target.states()).await else {
        let next_step = "check that this machine can reach the host and port of --database-url; a firewall may drop connections without an error";
        return vec![no_response(next_step)];
    };
    let mut findings = Vec::from_iter(hosts(&states));
    if !states.iter().any(|(_, state)| matches!(state, HostState::TakesWrites)) {
        return findings;
    }
    if let Some(replicas) = &replicas {
        findings.extend(self::replicas(&target, replicas).await);
    }
    findings.extend(match timeout(TIMEOUT, ask(target, connections, cores, retention)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => vec![problem(
            "database",
            describe(&error),
            "connect to PostgreSQL directly and not through a pooler, or read its log",
        )],
        Err(_) => vec![no_response("check whether the database server is overloaded")],
    });
    findings
}

/// Checks a database that responds.
async fn ask(target: Target, connections: u32, cores: u32, retention: Option<i32>) -> anyhow::Result<Vec<Finding>> {
    let pool = database::open(target, 1).await?.pool;
    let found = match check_migrated(&pool).await {
        Ok(()) => doctor::check_schema(&pool).await.map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    let is_current = found.is_ok();
    let missing = if is_current { Some(missing_rights(&pool).await?) } else { None };
    let mut connection = pool.acquire().await?;
    let [version, limit, clock] = measure(&mut connection, connections, cores).await?;
    let mut findings = vec![version, schema(found.map(|()| CURRENT))];
    findings.extend(missing.map(rights));
    findings.extend(check_nodes(&mut connection).await?.map(nodes));
    if is_current {
        findings.push(months(doctor::months(&mut *connection).await?, retention));
    }
    findings.extend([limit, clock]);
    drop(connection);
    pool.close().await;
    Ok(findings)
}

fn no_response(next_step: &'static str) -> Finding {
    problem("database", format!("no response within {TIMEOUT:?}"), next_step)
}

/// The findings for a schema that is up to date.
pub(super) const CURRENT: &str = "the schema is up to date";

/// Reports the schema, or how it differs.
pub(super) fn schema(found: anyhow::Result<&str>) -> Finding {
    let next_step = match &found {
        Err(error) if matches!(error.downcast_ref(), Some(DatabaseError::Modified { .. })) => {
            "export with the version that created it, and import with this one: see docs/operations/upgrade.md"
        }
        Err(error) if matches!(error.downcast_ref(), Some(SchemaError::Differs(_))) => {
            "undo the manual changes: only migrations may change the schema"
        }
        _ => "run `compliance migrate` as the role that owns the tables",
    };
    of_result("schema", found.map(str::to_owned), next_step)
}

/// Checks whether the role has the rights that the service needs.
fn rights(missing: Vec<String>) -> Finding {
    let count = missing.len();
    if count == 0 {
        return ok("rights", "the role has all rights that the service needs");
    }
    let first = missing.into_iter().take(NAMED_RIGHTS).collect::<Vec<_>>().join(", ");
    let next_step = "run `compliance migrate --service-role ROLE` as the role that owns the tables";
    problem("rights", format!("the role lacks {count}: {first}"), next_step)
}

/// Checks whether retention creates and drops months in time.
fn months(Months { days, missing, overdue }: Months, retention: Option<i32>) -> Finding {
    if let Some(expected) = retention.filter(|expected| *expected > days) {
        let found =
            format!("the database keeps changes for {days} days; cores that require {expected} days do not start");
        let next_step = "run `compliance migrate --change-retention DAYS` as the owner, or lower --change-retention";
        return problem("retention", found, next_step);
    }
    let next_step = "check that a core runs; for the task `retention`, its log names the sessions that lock `changes`";
    let listed = |what: &str, months: &[String]| {
        if months.is_empty() { String::new() } else { format!("; {what}: {}", months.join(", ")) }
    };
    let state = if missing.is_empty() && overdue.is_empty() { State::Ok } else { State::Problem };
    let (missing, overdue) = (listed("missing months", &missing), listed("overdue months", &overdue));
    finding("retention", state, format!("the database keeps changes for {days} days{missing}{overdue}"), next_step)
}

/// Reports problems of the Citus nodes.
fn nodes(Nodes { found, problems }: Nodes) -> Finding {
    if problems.is_empty() {
        return ok("nodes", found);
    }
    let next_step = "see pg_dist_node and the log of that node; \
                     `select start_metadata_sync_to_node(…)` on the coordinator restores missing functions and types";
    problem("nodes", format!("{found}; {}", problems.join("; ")), next_step)
}

/// Reports the hosts; `None` if there is only one, and it takes writes.
fn hosts(states: &[(String, HostState)]) -> Option<Finding> {
    let shown: Vec<String> = states
        .iter()
        .map(|(name, state)| match state {
            HostState::TakesWrites => format!("{name} takes writes"),
            HostState::TakesNoWrites => format!("{name} takes no writes: it is a standby or read-only"),
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
            ("hosts", State::Warning, "find out why: this host cannot take over if the primary fails")
        }
        1 => ("hosts", State::Ok, ""),
        _ => (
            "hosts",
            State::Problem,
            "only one host may take writes: make the others its standbys, or remove them from the URL",
        ),
    };
    Some(finding(check, state, shown.join("; "), next_step))
}

/// Returns a finding for each replica.
async fn replicas(primary: &Target, replicas: &ReadTarget) -> Vec<Finding> {
    let next_step = "see docs/operations/scale-out.md, Read from replicas; until then, the other replicas and the primary serve reads";
    let problem = |found: String| problem("replica", found, next_step);
    match timeout(TIMEOUT, replica_states(primary, replicas)).await {
        Ok(Ok(states)) => states
            .into_iter()
            .map(|(name, reason)| match reason {
                None => ok("replica", format!("{name} has all changes of the primary")),
                Some(reason) => problem(format!("{name}: {reason}")),
            })
            .collect(),
        Ok(Err(error)) => vec![problem(error.to_string())],
        Err(_) => vec![problem(format!("no response within {TIMEOUT:?}"))],
    }
}

/// Checks the version, the number of connections and the clock.
async fn measure(connection: &mut PgConnection, connections: u32, cores: u32) -> Result<[Finding; 3], sqlx::Error> {
    let question = "select current_setting('server_version'), current_setting('server_version_num')::int";
    let (version, number) = sqlx::query_as::<_, (String, i32)>(question).fetch_one(&mut *connection).await?;
    let state = if number >= 150_000 { State::Ok } else { State::Problem };
    let next_step = "upgrade to PostgreSQL 15 or newer";
    let version = finding("database", state, format!("PostgreSQL {version} responds"), next_step);
    let (most, reserved, others, role, database) =
        sqlx::query_as::<_, (i64, i64, i64, Option<i64>, Option<i64>)>(CONNECTIONS).fetch_one(&mut *connection).await?;
    let others = others.max(0);
    let free = [Some(most - reserved - others), role, database].into_iter().flatten().min().unwrap_or_default();
    let limits = format!("max_connections = {most}, {reserved} reserved, {others} used by others");
    let limit = room(connections, cores, free, &limits);
    // The connection exists already, so this takes one round trip.
    let before = SystemTime::now();
    let row = sqlx::raw_sql("select extract(epoch from clock_timestamp())::float8").fetch_one(connection).await?;
    let took = before.elapsed().unwrap_or_default();
    let here = (before + took / 2).duration_since(UNIX_EPOCH).unwrap_or_default();
    let clock = clock("the clock of the database", row.try_get(0)?, here, took);
    Ok([version, limit, clock])
}

/// Checks whether there are enough connections for the cores.
fn room(connections: u32, cores: u32, free: i64, limits: &str) -> Finding {
    let needed = i64::from(connections) * i64::from(cores);
    let state = match free - needed {
        ..0 => State::Problem,
        left if left < i64::from(connections) => State::Warning,
        _ => State::Ok,
    };
    let found = format!("{cores} cores × {connections} connections; the server has {free} left ({limits})");
    let next_step =
        "raise max_connections, or lower --database-connections; a rolling restart needs connections for one more core";
    finding("connections", state, found, next_step)
}

/// Compares a clock with this machine's. `took` is the duration of the round trip, and `here` the time at its middle.
pub(super) fn clock(whose: &str, there: f64, here: Duration, took: Duration) -> Finding {
    let difference = there - here.as_secs_f64();
    // The other side has read its clock at any time of the round trip.
    let least = (difference.abs() - took.as_secs_f64() / 2.0).max(0.0);
    let state = if least <= CLOCK_TOLERANCE { State::Ok } else { State::Problem };
    let next_step =
        "synchronize both machines (NTP): the service rejects tokens before and after their period of validity";
    finding("clock", state, format!("{whose} differs by {difference:.1} s"), next_step)
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
            // Nothing is known: the round trip took longer than the difference.
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
