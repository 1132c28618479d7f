-- Finds the page in the index of the sort key.
with counted as materialized (:total),
groups as materialized (:groups),
page as (
    select id, k from (:scans) u offset $3 limit $2
)
