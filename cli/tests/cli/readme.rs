//! The README's table of settings: every one that there is.

use crate::common::{DataDir, compliance, output};

const README: &str = include_str!("../../../README.md");

#[test]
fn every_setting_is_in_the_readme() {
    let data = DataDir::new();
    let mut seen = 0;
    for command in ["serve", "core", "gateway", "token", "migrate"] {
        let (status, help, _) = output(compliance(&data).args(["help", command]));
        assert!(status.success());
        for line in help.lines().map(str::trim) {
            let flag = line.strip_prefix("--").map(|rest| format!("--{}", rest.split([' ', '=']).next().unwrap()));
            let variable = line.strip_prefix("[env: ").map(|rest| rest.split(['=', ']']).next().unwrap().to_owned());
            for name in flag.into_iter().chain(variable) {
                // In the table, or among the flags of a command.
                assert!(
                    README.contains(&format!("`{name}`")) || README.contains(&format!("{name} ")),
                    "{command}: {name}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "the help was not understood: {seen}");
}
