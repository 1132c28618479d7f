//! What is wrong with the nodes of Citus.

use sqlx::{PgConnection, Row as _};

/// What the nodes are asked: their version, and functions and types of the schema that they lack, which the node that is asked first
/// names in the statement. A role that owns nothing is the service's, and needs a `lock_timeout`.
/// The functions of statements are left out: one whose parameter has a type that the node lacks cannot be asked for.
const NODES: &str = "
    select format('%s:%s', n.nodename, n.nodeport) as node, n.isactive and n.metadatasynced as active,
        r.success is true as responds, coalesce(r.result, 'no response') as result
    from pg_dist_node n
    left join run_command_on_all_nodes((
        select format(
            $$select concat_ws(E'\\n',
                format('Citus %%s on PostgreSQL %%s', extversion, current_setting('server_version')),
                (select string_agg(name, E'\\n') from unnest(%L::text[]) name where to_regprocedure(name) is null),
                (select string_agg(name, E'\\n') from unnest(%L::text[]) name where to_regtype(name) is null),
                (select format('a lock_timeout of %%s', current_user) from pg_class where oid = to_regclass('affiliates')
                    and current_setting('lock_timeout') = '0' and not pg_has_role(relowner, 'usage')))
            from pg_extension where extname = 'citus'$$,
            array(select format('%I.%s', current_schema(), p.oid::regprocedure) from pg_proc p
                where p.pronamespace = current_schema()::regnamespace and not starts_with(p.proname, 'call_') and not exists (
                    select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')),
            array(select format('%I.%s', current_schema(), t.oid::regtype) from pg_type t
                where t.typnamespace = current_schema()::regnamespace and t.typtype in ('c', 'e') and not exists (
                    select from pg_depend where classid = 'pg_type'::regclass and objid = t.oid and deptype in ('e', 'i'))))
    )) r on r.nodeid = n.nodeid
    where n.noderole = 'primary'
    order by n.nodeid";

/// The nodes, for people.
#[derive(Debug)]
pub struct Nodes {
    /// Their number and version.
    pub found: String,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Asks the nodes what they have. `None`: the database has no Citus.
pub async fn check_nodes(connection: &mut PgConnection) -> Result<Option<Nodes>, sqlx::Error> {
    let on_citus = "select exists (select from pg_extension where extname = 'citus')";
    if !sqlx::query_scalar(on_citus).fetch_one(&mut *connection).await? {
        return Ok(None);
    }
    let (mut versions, mut problems) = (Vec::<String>::new(), Vec::new());
    let rows = sqlx::raw_sql(NODES).fetch_all(connection).await?;
    if rows.is_empty() {
        problems.push("the coordinator has none (`citus_set_coordinator_host`, `citus_add_node`)".to_owned());
    }
    for row in &rows {
        let (node, result): (String, String) = (row.try_get("node")?, row.try_get("result")?);
        if !row.try_get::<bool, _>("active")? {
            problems.push(format!("{node} is not active (`citus_activate_node`)"));
        }
        if !row.try_get::<bool, _>("responds")? {
            problems.push(format!("{node}: {result}"));
            continue;
        }
        let mut lines = result.lines().map(str::to_owned);
        versions.extend(lines.next().filter(|version| !versions.contains(version)));
        problems.extend(lines.map(|missing| format!("{missing} is missing on {node}")));
    }
    if versions.len() > 1 {
        problems.push(format!("the nodes have different versions: {}", versions.join(", ")));
    }
    Ok(Some(Nodes { found: format!("{} nodes with {}", rows.len(), versions.join(", ")), problems }))
}
