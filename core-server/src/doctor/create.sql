-- A table for the differences between counts and records.
drop table if exists pg_temp.differences;
create temporary table differences (dimension count_dimension, bucket bigint, :split_by_types, :number_types,
    first_day integer, last_day integer)
