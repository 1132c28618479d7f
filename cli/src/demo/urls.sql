insert into compliance_urls (
    company_id, url, url_hash, domain, incident_status_id, disabled, false_positive, country, discovery_date,
    last_review_date, last_crawl_date, last_seen, affiliate_id, sub_affiliate_id, owner_email, social_one, social_two,
    social_three, phone_one, phone_two, landing_page, case_id, note, video_path, transcription_text,
    transcription_status_id
)
select
    -- The addresses of the demo are in their normalised form already.
    $1, r.url, sha256(convert_to(r.url, 'UTF8')), substring(r.url from '^https?://([^/:?#]+)'), r.incident_status_id,
    coalesce(r.disabled, false), r.false_positive, r.country, r.discovery_date, r.last_review_date, r.last_crawl_date,
    r.last_seen, a.id, r.sub_affiliate_id, r.owner_email, r.social_one, r.social_two, r.social_three, r.phone_one,
    r.phone_two, r.landing_page, c.id, r.note, r.video_path, r.transcription_text, r.transcription_status_id
from jsonb_array_elements($2::text::jsonb) with ordinality e (fields, position)
cross join lateral jsonb_populate_record(null::compliance_urls, e.fields) r
left join affiliates a on a.company_id = $1 and a.client_affiliate_id = e.fields ->> 'affiliate'
left join compliance_cases c on c.company_id = $1 and c.request_id = e.fields ->> 'case'
order by e.position
