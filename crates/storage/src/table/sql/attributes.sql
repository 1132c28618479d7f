-- The columns of tables and the attributes of types, in the database's order.
select w.name as relation, t.oid as type_oid, t.typarray as array_oid, a.attname::text as attribute,
    a.atttypid as attribute_oid, format_type(a.atttypid, a.atttypmod) as sql_type
from unnest($1::text[]) as w (name)
join pg_class c on c.oid = to_regclass(w.name)
join pg_type t on t.oid = c.reltype
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
order by w.name, a.attnum
