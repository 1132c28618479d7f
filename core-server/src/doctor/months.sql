-- The current month and the next one if they are missing, and months whose changes could have been dropped more than a day ago.
select r.days,
    array(
        select m.part from (
            select to_char(date_trunc('month', now() at time zone 'UTC') + make_interval(months => n), '"changes_y"YYYY"m"MM') as part
            from generate_series(0, 1) n
        ) m
        where to_regclass(m.part) is null
        order by m.part
    ) as missing,
    array(
        select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'changes'::regclass and c.relname ~ '^changes_y[0-9]{4}m[0-9]{2}$'
            and (to_date(substr(c.relname, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC'
                <= now() - make_interval(days => r.days + 1)
        order by c.relname
    ) as overdue
from change_retention r
