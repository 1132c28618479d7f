-- The hash of the company $1 at the position $2, and the position up to which changes were dropped.
select encode(coalesce(c.hash, d.hash, case when p.dropped_position = $2 then coalesce(p.dropped_hash, '') end), 'hex'), p.dropped_position
from (select dropped_position, dropped_hash from change_positions where company_id = $1) p
left join (select hash from changes where company_id = $1 and position = $2) c on true
left join (select hash from change_drops where company_id = $1 and position = $2) d on true
