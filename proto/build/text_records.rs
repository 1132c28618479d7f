//! Access by position to the texts of messages that are records of texts.

use std::fmt::Write as _;

use anyhow::Context as _;
use prost_reflect::{DescriptorPool, Kind, Value};

/// Writes an implementation of `TextRecord` for every message with the option `text_record`.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let option = pool.get_extension_by_name("compliance.v1.text_record").context("text_record is declared")?;
    let mut code = String::new();
    for message in pool.all_messages().filter(|message| message.package_name() == "compliance.v1") {
        if message.options().get_extension(&option).as_ref() != &Value::Bool(true) {
            continue;
        }
        let names: Vec<String> = message
            .fields()
            .filter(|field| field.kind() == Kind::String && field.supports_presence())
            .map(|field| field.name().to_owned())
            .collect();
        let (mut get, mut set) = (String::new(), String::new());
        for (position, name) in names.iter().enumerate() {
            writeln!(get, "{position} => self.{name}.as_deref(),")?;
            writeln!(set, "{position} => self.{name} = value,")?;
        }
        writeln!(
            code,
            "impl crate::text_record::TextRecord for {} {{\n\
             const FIELDS: &'static [&'static str] = &{names:?};\n\
             fn text(&self, position: usize) -> Option<&str> {{ match position {{ {get} _ => None }} }}\n\
             fn set_text(&mut self, position: usize, value: Option<String>) {{ match position {{ {set} _ => {{}} }} }}\n\
             }}",
            message.name()
        )?;
    }
    Ok(code)
}
