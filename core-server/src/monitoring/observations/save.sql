-- Saves observations of different URLs in hash order, which is the order sent.
--
-- Locks existing URLs before it inserts new ones, both in this order, so overlapping statements do not deadlock. Each step finds its rows
-- by key from the previous step. Existing URLs are written through insert conflicts. So no plan joins all URLs of the company, regardless
-- of statistics. Dates that no text can show become null or the nearest possible date. A new infraction increments the URL's revision.
--
-- Returns the hash of each URL, its ID, and whether it is new. The ID is null if the affiliate is unknown. A URL is missing if another
-- writer has just inserted it. The next run finds it.
with input as materialized (
    select i.*, a.id as found_affiliate_id, date_trunc('second', now()) as now,
        a.id is not null or (i.affiliate_id is null and i.client_affiliate_id is null) as valid,
        e.id as existing_id
    from unnest($2::url_observation_input[]) i
    cross join set_config('compliance.changed_by', $3, true)
    left join lateral (
        select u.id, u.affiliate_id from compliance_urls u
        where u.company_id = $1 and u.url_hash = i.url_hash
        limit 1
    ) e on true
    left join lateral (
        (select a.id from affiliates a where a.company_id = $1 and a.id = i.affiliate_id limit 1)
        union all
        -- If several affiliates have the identifier, and one of them is the URL's affiliate, the URL keeps it.
        (select a.id from affiliates a
            where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
            order by a.id is distinct from e.affiliate_id, a.id
            limit 1)
    ) a on true
), locked as materialized (
    select i.url_hash, i.infractions, i.now, i.has_values, u.id, u.url, u.revision,
        coalesce(i.incident_status_id, u.incident_status_id) as incident_status_id,
        coalesce(i.disabled, u.disabled) as disabled,
        new_value(i.cleared, 'false_positive', i.false_positive, u.false_positive) as false_positive,
        new_value(i.cleared, 'country', i.country, u.country) as country,
        coalesce(i.discovery_date, nearest_shown(u.discovery_date)) as discovery_date,
        new_value(i.cleared, 'last_review_date', i.last_review_date, shown(u.last_review_date)) as last_review_date,
        new_value(i.cleared, 'last_crawl_date', i.last_crawl_date, shown(u.last_crawl_date)) as last_crawl_date,
        new_value(i.cleared, 'last_seen', i.last_seen, shown(u.last_seen)) as last_seen,
        new_value(i.cleared, 'affiliate_id', i.found_affiliate_id, u.affiliate_id) as affiliate_id,
        new_value(i.cleared, 'sub_affiliate_id', i.sub_affiliate_id, u.sub_affiliate_id) as sub_affiliate_id,
        new_value(i.cleared, 'owner_email', i.owner_email, u.owner_email) as owner_email,
        new_value(i.cleared, 'social_one', i.social_one, u.social_one) as social_one,
        new_value(i.cleared, 'social_two', i.social_two, u.social_two) as social_two,
        new_value(i.cleared, 'social_three', i.social_three, u.social_three) as social_three,
        new_value(i.cleared, 'phone_one', i.phone_one, u.phone_one) as phone_one,
        new_value(i.cleared, 'phone_two', i.phone_two, u.phone_two) as phone_two,
        new_value(i.cleared, 'landing_page', i.landing_page, u.landing_page) as landing_page,
        new_value(i.cleared, 'note', i.note, u.note) as note,
        new_value(i.cleared, 'video_path', i.video_path, u.video_path) as video_path,
        new_value(i.cleared, 'transcription_text', i.transcription_text, u.transcription_text) as transcription_text,
        new_value(i.cleared, 'transcription_status_id', i.transcription_status_id, u.transcription_status_id) as transcription_status_id
    from input i
    cross join lateral (
        select u.* from compliance_urls u where u.company_id = $1 and u.id = i.existing_id for no key update
    ) u
    where i.valid
), fresh as materialized (
    select nextval('compliance_urls_id_seq') as id, i.*
    from (
        select i.* from input i
        where i.valid and i.existing_id is null and (select count(*) from locked) >= 0
        order by i.position
    ) i
), inserted as (
    insert into compliance_urls (
        company_id, id, url, url_hash, domain, incident_status_id, disabled, false_positive, country, discovery_date,
        last_review_date, last_crawl_date, last_seen, affiliate_id, sub_affiliate_id, owner_email, social_one,
        social_two, social_three, phone_one, phone_two, landing_page, note, video_path, transcription_text,
        transcription_status_id
    )
    select
        $1, i.id, i.url, i.url_hash, i.domain, coalesce(i.incident_status_id, 1), coalesce(i.disabled, false),
        i.false_positive, i.country, coalesce(i.discovery_date, i.now),
        i.last_review_date, i.last_crawl_date, i.last_seen, i.found_affiliate_id, i.sub_affiliate_id, i.owner_email,
        i.social_one, i.social_two, i.social_three, i.phone_one, i.phone_two, i.landing_page, i.note, i.video_path,
        i.transcription_text, i.transcription_status_id
    from fresh i
    order by i.url_hash
    on conflict (company_id, url_hash) where url_hash is not null do nothing
    returning id, url_hash
), recorded as (
    insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
    select $1, w.id, x.infraction_type_id, x.infraction_name_id, coalesce(x.created_date, w.now)
    from (
        select l.id, l.url_hash, l.now, l.infractions from locked l
        union all
        select f.id, f.url_hash, f.now, f.infractions from fresh f
        where (f.id in (select n.id from inserted n)) is true
    ) w
    cross join lateral unnest(w.infractions) with ordinality x
    order by w.url_hash, x.ordinality
    on conflict on constraint infractions_name_key do nothing
    returning url_id
), updated as (
    insert into compliance_urls (
        company_id, id, url, url_hash, incident_status_id, disabled, false_positive, country, discovery_date,
        last_review_date, last_crawl_date, last_seen, affiliate_id, sub_affiliate_id, owner_email, social_one,
        social_two, social_three, phone_one, phone_two, landing_page, note, video_path, transcription_text,
        transcription_status_id, revision
    )
    select
        $1, l.id, l.url, l.url_hash, l.incident_status_id, l.disabled, l.false_positive, l.country, l.discovery_date,
        l.last_review_date, l.last_crawl_date, l.last_seen, l.affiliate_id, l.sub_affiliate_id, l.owner_email,
        l.social_one, l.social_two, l.social_three, l.phone_one, l.phone_two, l.landing_page, l.note, l.video_path,
        l.transcription_text, l.transcription_status_id,
        l.revision + ((l.id in (select r.url_id from recorded r)) is true)::integer
    from locked l
    where l.has_values or (l.id in (select r.url_id from recorded r)) is true
    order by l.url_hash
    on conflict on constraint compliance_urls_pkey do update set
        incident_status_id = excluded.incident_status_id, disabled = excluded.disabled,
        false_positive = excluded.false_positive, country = excluded.country,
        discovery_date = excluded.discovery_date, last_review_date = excluded.last_review_date,
        last_crawl_date = excluded.last_crawl_date, last_seen = excluded.last_seen,
        affiliate_id = excluded.affiliate_id, sub_affiliate_id = excluded.sub_affiliate_id,
        owner_email = excluded.owner_email, social_one = excluded.social_one, social_two = excluded.social_two,
        social_three = excluded.social_three, phone_one = excluded.phone_one, phone_two = excluded.phone_two,
        landing_page = excluded.landing_page, note = excluded.note, video_path = excluded.video_path,
        transcription_text = excluded.transcription_text, transcription_status_id = excluded.transcription_status_id,
        revision = excluded.revision
)
select l.url_hash as "url_hash!", l.id as url_id, false as "created!" from locked l
union all
select n.url_hash, n.id, true from inserted n
union all
select i.url_hash, null, false from input i where not i.valid
