-- Draws `count` consecutive IDs from each sequence, and returns the first of each.
create or replace function draw_ids(sequences text[], count bigint) returns bigint[] language plpgsql
set search_path = :schema, pg_temp as $$
declare
    ids bigint[]; first bigint; last bigint; sequence text;
begin
    foreach sequence in array sequences loop
        perform pg_advisory_xact_lock(hashtext('compliance draw_ids'), hashtext(sequence));
        loop
            select min(n.id), max(n.id) into first, last
            from (select nextval(sequence::regclass) as id from generate_series(1, count)) n;
            -- `COPY` draws IDs without the lock, so another session can draw an ID in between.
            exit when last - first = count - 1;
        end loop;
        ids := ids || first;
    end loop;
    return ids;
end
$$
