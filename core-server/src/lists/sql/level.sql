-- The buckets of a level, or of one bucket of the level above, and the number of matches in each.
select :alias.bucket, coalesce(:n, 0)::bigint as n
from :counts :alias
where :alias.company_id = $1 and :alias.dimension = ':dimension' :within :in_range :equal
group by :alias.bucket
