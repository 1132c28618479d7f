//! The integer constants of the product, read from its sources. Tests run at the values at which an operation changes its
//! way, and follow when such a value changes.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Integer types, as the sources write them.
const INTEGERS: [&str; 12] =
    ["usize", "u64", "u32", "u16", "u8", "isize", "i64", "i32", "i16", "i8", "NonZeroUsize", "NonZeroU32"];

/// An integer constant of the product.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Constant {
    /// The file that has it, from the root of the repository.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Its value, as it is written.
    value: String,
}

impl Constant {
    fn of_line(file: &str, line: &str) -> Option<Self> {
        let line = line.trim_start();
        let public = line.strip_prefix("pub").map(|rest| rest.trim_start_matches(|char| char != ' ').trim_start());
        let (name, rest) = public.unwrap_or(line).strip_prefix("const ")?.split_once(": ")?;
        let (integer, value) = rest.split_once(" = ")?;
        let constant =
            Self { file: file.to_owned(), name: name.to_owned(), value: value.split(';').next()?.to_owned() };
        INTEGERS.contains(&integer).then_some(constant)
    }

    /// Its value: a number, a product, or a number that is shifted to the left.
    fn value(&self) -> usize {
        let number = |text: &str| text.trim().replace('_', "").parse::<usize>().ok();
        let pair = |by: &str| self.value.split_once(by).and_then(|(one, other)| Some((number(one)?, number(other)?)));
        let value = number(&self.value).or_else(|| pair("<<").map(|(one, by)| one << by));
        let value = value.or_else(|| pair("*").map(|(one, other)| one * other));
        value.unwrap_or_else(|| panic!("{}: {} is {}", self.file, self.name, self.value))
    }
}

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The text of a file, from the root of the repository.
pub fn source(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A source file without its unit tests.
fn product_source(file: &str) -> String {
    let text = source(file);
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

/// The source files of the product in a folder, tests left out, from the root of the repository.
pub fn product_files(folder: &str) -> Vec<String> {
    let (mut folders, mut files): (Vec<PathBuf>, _) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
                files.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// The integer constants of a file of the product.
pub fn constants(file: &str) -> Vec<Constant> {
    product_source(file).lines().filter_map(|line| Constant::of_line(file, line)).collect()
}

/// The value of an integer constant of the product.
pub fn constant(file: &str, name: &str) -> usize {
    let constants = constants(file);
    let constant = constants.iter().find(|constant| constant.name == name);
    constant.unwrap_or_else(|| panic!("{file} has no constant {name}")).value()
}

/// The lines of a file of the product that compare a length with a number without a name.
pub fn unnamed_limits(file: &str) -> Vec<String> {
    let compares = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.match_indices("len() ").any(|(at, found)| {
            let rest = code[at + found.len()..].trim_start_matches(['<', '>', '=']);
            let digits = rest.trim_start().chars().take_while(|char| char.is_ascii_digit() || *char == '_').count();
            digits > 1 && !code[at + found.len()..].starts_with("==")
        })
    };
    product_source(file).lines().filter(|line| compares(line)).map(|line| format!("{file}: {}", line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::{Constant, constant, constants, product_files};

    #[test]
    fn constants_are_read_from_lines() {
        let value = |line| Constant::of_line("a.rs", line).map(|constant| (constant.name.clone(), constant.value()));
        let named = |name: &str, value| Some((name.to_owned(), value));
        assert_eq!(value("const FEW: usize = 8;"), named("FEW", 8));
        assert_eq!(value("    pub(super) const PART: u64 = 4 << 20; // bytes"), named("PART", 4 << 20));
        assert_eq!(value("pub const MAX: i64 = 10_000 * 2;"), named("MAX", 20_000));
        assert_eq!(value("const TEXT: &str = \"5\";"), None);
        assert_eq!(value("const ELEMENT: usize;"), None);
        assert_eq!(value("const fn of(value: usize) -> usize { 5 }"), None);
    }

    #[test]
    fn unit_tests_are_no_part_of_the_product() {
        let this = "tools/test-support/src/constants.rs";
        assert!(product_files("tools/test-support/src").iter().any(|file| file == this) && constants(this).is_empty());
        assert!(constant("core-server/src/limits.rs", "FEW_URLS") > 0);
    }
}
