use compliance_api::{rules::check, v1::ResultCode};

use super::*;

fn observation(url: &str) -> UrlObservation {
    UrlObservation { url: Some(url.to_owned()), ..UrlObservation::default() }
}

#[test]
fn observations_are_merged_by_url() {
    let with = |affiliate: Option<i64>, note: Option<&str>| UrlObservation {
        affiliate_id: affiliate,
        note: note.map(str::to_owned),
        ..observation("https://example.org/a")
    };
    let items = vec![
        with(None, Some("1")),
        observation("https://example.org/b"),
        UrlObservation { url: Some("HTTPS://EXAMPLE.org:443/a".into()), ..with(None, Some("2")) },
        with(Some(5), None),
        with(Some(6), Some("3")),
        with(None, Some("4")),
        observation("nothing"),
    ];
    let (rows, checked) = read(&CompanyNames::default(), items);
    assert!(has_several_affiliates(&rows) && !has_several_affiliates(&rows[..3]));
    let found = HashSet::from([("affiliate_id", "5".to_owned())]);
    let chunk = Chunk::merge(rows, checked, Some(&found));
    let merged: Vec<&[usize]> = chunk.rows.iter().map(|row| row.items.as_slice()).collect();
    assert_eq!(merged, [&[0, 2, 3, 5][..], &[1]]);
    let record = &chunk.rows[0].observation.record;
    assert_eq!((record.affiliate_id, record.note.as_deref()), (Some(5), Some("4")));
    assert_eq!(chunk.outcomes[4].code, ResultCode::NotFound);
    let renamed = UrlObservation { client_affiliate_id: Some("C".into()), ..with(None, None) };
    let cleared = UrlObservation { clear: vec!["affiliate_id".to_owned()], ..with(None, None) };
    for (later, affiliate, cleared) in [(renamed, Some("C"), &[][..]), (cleared, None, &["affiliate_id"][..])] {
        let (rows, checked) = read(&CompanyNames::default(), vec![with(Some(5), None), later]);
        let observation = &Chunk::merge(rows, checked, None).rows[0].observation;
        assert_eq!(observation.record.affiliate_id, None);
        assert_eq!((observation.record.client_affiliate_id.as_deref(), &*observation.cleared), (affiliate, cleared));
    }
    let outcomes: Vec<Outcome> = chunk.checked.join(vec![Outcome::default(); 6]).unwrap();
    assert_eq!(outcomes[6].violations.iter().next().unwrap().path, "url");
}

#[test]
fn clearing_a_field_clears_its_column() {
    let fields = UrlObservation::FIELDS.iter().filter(|field| field.name != URL);
    for field in fields {
        let observation = UrlObservation {
            url: Some("https://example.org".to_owned()),
            clear: vec![field.name.to_owned()],
            ..UrlObservation::default()
        };
        let mut violations = check(&observation);
        let row = Row::new(&CompanyNames::default(), &mut violations, observation);
        if violations.is_empty() {
            let column = if is_affiliate(field.name) { "affiliate_id" } else { field.column.name };
            assert_eq!(row.observation.cleared, [column]);
        } else {
            let names = ["incident_status", "disabled", "discovery_date"];
            assert!(names.contains(&field.name), "{violations:?}");
        }
    }
}
