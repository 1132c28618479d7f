-- Whether to scan in sort order or to sort all matches. Neither if the page begins after the last record.
select total > $3 and scan <= sort as scans, total > $3 and scan > sort as sorts
from (
    select total * :sort::double precision as sort, total, least(($3 + $2) * :scans / total::double precision, 1) * :scanned as scan
    from counted
    where total > 0
) c
