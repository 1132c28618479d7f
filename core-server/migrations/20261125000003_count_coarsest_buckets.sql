-- From here on, all writers count in the new dimension: those that began before have ended. The next steps count what was there before.
lock table compliance_urls, compliance_cases in share row exclusive mode;

create or replace function compliance_url_buckets(
    id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer
) returns table (dimension count_dimension, bucket bigint, by_id boolean) language sql immutable parallel safe as $$
    select b.dimension, b.bucket, b.by_id
    from (values
        ('all'::count_dimension, 0::bigint, false),
        ('id', id_bucket, true),
        ('id_coarse', id_bucket >> 5, true),
        ('id_coarsest', id_bucket >> 10, true),
        ('discovery_date', discovery_day::bigint, false),
        ('discovery_date_coarse', discovery_day::bigint >> 5, false),
        ('last_review_date', last_review_day::bigint, false),
        ('last_review_date_coarse', last_review_day::bigint >> 5, false),
        ('last_seen', last_seen_day::bigint, false),
        ('last_seen_coarse', last_seen_day::bigint >> 5, false)
    ) b (dimension, bucket, by_id)
    where b.bucket is not null
$$;

create or replace function compliance_case_buckets(id_bucket bigint, created_day integer)
    returns table (dimension count_dimension, bucket bigint) language sql immutable parallel safe as $$
    select b.dimension, b.bucket
    from (values
        ('all'::count_dimension, 0::bigint),
        ('id', id_bucket),
        ('id_coarse', id_bucket >> 5),
        ('id_coarsest', id_bucket >> 10),
        ('created_date', created_day::bigint),
        ('created_date_coarse', created_day::bigint >> 5)
    ) b (dimension, bucket)
$$;
