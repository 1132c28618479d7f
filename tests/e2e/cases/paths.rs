//! Invalid IDs in paths.

use super::{
    Case,
    expect::{affiliate_unknown, case_unknown, url_unknown},
    run_table,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_path_ids_return_404() {
    let sayable = ["0", "-1", "9007199254740992", "9223372036854775807", "-9223372036854775808"];
    let unsayable = [
        "abc",
        "1.0",
        "1e3",
        "+1",
        "0x1",
        "1%20",
        "%201",
        "1,2",
        "9223372036854775808",
        "1000000000000000000000000000000",
        "%00",
        "é",
        "null",
        "1%2F2",
        "%C3%28",
    ];
    let mut cases = Vec::new();
    for id in sayable.iter().chain(&unsayable) {
        // The ID after percent-decoding.
        let provided = match *id {
            "1%20" => "1 ",
            "%201" => " 1",
            "%00" => "\0",
            "1%2F2" => "1/2",
            "%C3%28" => "\u{fffd}(",
            other => other,
        };
        for (resource, expected) in
            [("affiliates", affiliate_unknown(provided)), ("urls", url_unknown()), ("cases", case_unknown())]
        {
            let case = Case::new(format!("/{resource}/{id}")).get(&format!("/{resource}/{id}"), expected);
            cases.push(if unsayable.contains(id) { case.only_rest() } else { case });
        }
    }
    run_table(cases).await;
}
