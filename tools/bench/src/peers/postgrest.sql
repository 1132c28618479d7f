create schema if not exists peer;
create table if not exists peer.names (vocabulary smallint, id integer, name text not null, primary key (vocabulary, id));
create table if not exists peer.countries (code smallint primary key, name text not null);

create or replace view peer.urls as
select u.company_id as client_id, u.id, u.url, u.domain, status.name as incident_status,
    case when u.disabled then 'yes' else 'no' end as disabled,
    case when u.false_positive then 'yes' when not u.false_positive then 'no' end as false_positive,
    countries.name as country,
    to_char(u.discovery_date, 'YYYY-MM-DD HH24:MI:SS') as discovery_date,
    to_char(u.last_review_date, 'YYYY-MM-DD HH24:MI:SS') as last_review_date,
    to_char(u.last_crawl_date, 'YYYY-MM-DD HH24:MI:SS') as last_crawl_date,
    to_char(u.last_seen, 'YYYY-MM-DD HH24:MI:SS') as last_seen,
    a.affiliate_name, a.client_affiliate_id as affiliate_id, u.sub_affiliate_id, u.owner_email, u.social_one,
    u.social_two, u.social_three, u.phone_one, u.phone_two, u.landing_page, u.case_id, u.note, u.video_path,
    u.transcription_text, transcription.name as transcription_status
from compliance_urls u
left join affiliates a on a.company_id = u.company_id and a.id = u.affiliate_id
left join peer.names status on status.vocabulary = 5 and status.id = u.incident_status_id
left join peer.names transcription on transcription.vocabulary = 6 and transcription.id = u.transcription_status_id
left join peer.countries on countries.code = u.country;

create or replace view peer.infractions as
select i.company_id as client_id, i.url_id, i.id, type.name as infraction_type, name.name as infraction_name,
    to_char(i.created_date, 'YYYY-MM-DD HH24:MI:SS') as created_date
from infractions i
left join peer.names type on type.vocabulary = 7 and type.id = i.infraction_type_id
left join peer.names name on name.vocabulary = 8 and name.id = i.infraction_name_id
