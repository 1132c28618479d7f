-- The buckets of a level, all or those within one of the level above, and how many records of each match.
select :alias.bucket, coalesce(:n, 0)::bigint as n
from :counts :alias
where :alias.company_id = $1 and :alias.dimension = ':dimension' :within :in_range :equal
group by :alias.bucket
