//! The checks of the rules that stand beside the fields: one `Check` a message that a request holds.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail};
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, Value,
};

/// Requests without rules: what this one holds is checked by the operations that it names.
const UNCHECKED: &[&str] = &["BatchReadRequest"];

/// Writes an implementation of `Check` for every request and every message within one.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut within = BTreeMap::new();
    for message in pool.all_messages() {
        if message.package_name() == "compliance.v1"
            && message.name().ends_with("Request")
            && !UNCHECKED.contains(&message.name())
        {
            collect(&message, &mut within);
        }
    }
    let mut code = String::new();
    for message in within.values() {
        write_check(pool, message, &mut code).with_context(|| message.full_name().to_owned())?;
    }
    Ok(code)
}

fn collect(message: &MessageDescriptor, within: &mut BTreeMap<String, MessageDescriptor>) {
    if message.package_name() != "compliance.v1" || within.insert(message.name().to_owned(), message.clone()).is_some()
    {
        return;
    }
    for field in message.fields() {
        if let Kind::Message(inner) = field.kind() {
            collect(&inner, within);
        }
    }
}

fn write_check(pool: &DescriptorPool, message: &MessageDescriptor, code: &mut String) -> anyhow::Result<()> {
    let mut statements = String::new();
    let has_mask = message.fields().any(|field| field.name() == "update_mask");
    for field in message.fields() {
        write_field(pool, &field, has_mask, &mut statements)?;
    }
    let checker = if statements.is_empty() { "_" } else { "checker" };
    writeln!(
        code,
        "impl crate::rules::Check for {} {{\n\
         const NAMES: &'static [&'static str] = &{:?};\n\
         fn check(&self, {checker}: &mut crate::rules::Checker) {{\n{statements}}}\n}}",
        message.name(),
        message.fields().map(|field| field.name().to_owned()).collect::<Vec<_>>(),
    )?;
    Ok(())
}

fn write_field(
    pool: &DescriptorPool,
    field: &FieldDescriptor,
    has_mask: bool,
    code: &mut String,
) -> anyhow::Result<()> {
    let rules = Rules::of(pool, field)?;
    let (name, table) = (field.name(), rules.table(field));
    let list = field.cardinality() == Cardinality::Repeated;
    match field.kind() {
        Kind::String if list => writeln!(code, "checker.texts({table}, &self.{name});")?,
        Kind::String if field.supports_presence() => {
            writeln!(code, "checker.text({table}, self.{name}.as_deref());")?;
        }
        Kind::String => writeln!(code, "checker.text({table}, Some(self.{name}.as_str()));")?,
        Kind::Int64 if list => {}
        Kind::Int64 if field.supports_presence() => writeln!(code, "checker.number({table}, self.{name});")?,
        Kind::Int64 => writeln!(code, "checker.number({table}, Some(self.{name}));")?,
        Kind::Enum(kind) if field.supports_presence() => writeln!(
            code,
            "checker.choice({table}, self.{name}.is_some(), self.{name}.is_none_or({}::is_valid));",
            kind.name()
        )?,
        Kind::Enum(kind) if !list => {
            writeln!(code, "checker.choice({table}, self.{name} != 0, {}::is_valid(self.{name}));", kind.name())?;
        }
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
            writeln!(code, "checker.time({table}, self.{name}.as_ref());")?;
        }
        Kind::Message(inner) if inner.package_name() != "compliance.v1" => {}
        Kind::Message(_) if list => writeln!(code, "checker.list({table}, &self.{name});")?,
        Kind::Message(_) if has_mask => {
            writeln!(code, "checker.masked(self.update_mask.as_ref(), self.{name}.as_ref());")?;
        }
        Kind::Message(_) if rules.flatten => {
            writeln!(code, "checker.flat({}, self.{name}.as_ref());", rules.required)?;
        }
        Kind::Message(_) => writeln!(code, "checker.nested({table}, self.{name}.as_ref());")?,
        Kind::Bool if rules.required => {
            writeln!(code, "checker.choice({table}, self.{name}.is_some(), true);")?;
        }
        Kind::Bool => {}
        other => bail!("no check is known for the kind {other:?} of the field {name}"),
    }
    Ok(())
}

/// The rules of one field, as its options give them.
struct Rules {
    required: bool,
    flatten: bool,
    message: Option<DynamicMessage>,
}

impl Rules {
    fn of(pool: &DescriptorPool, field: &FieldDescriptor) -> anyhow::Result<Self> {
        let option = pool.get_extension_by_name("compliance.v1.rules").context("rules is declared")?;
        let options = field.options();
        if !options.has_extension(&option) {
            return Ok(Self { required: false, flatten: false, message: None });
        }
        let Value::Message(message) = options.get_extension(&option).into_owned() else {
            bail!("the rules of {} are no message", field.full_name());
        };
        let on = |name: &str| message.get_field_by_name(name).is_some_and(|value| value.as_bool() == Some(true));
        Ok(Self { required: on("required"), flatten: on("flatten"), message: Some(message) })
    }

    /// The rules as a constant of the generated code.
    fn table(&self, field: &FieldDescriptor) -> String {
        let mut table = format!("&crate::rules::FieldRules {{ name: {:?}, number: {},", field.name(), field.number());
        for (rule, value) in self.message.iter().flat_map(DynamicMessage::fields) {
            let value = match (value, rule.kind()) {
                (Value::Bool(value), _) => value.to_string(),
                (Value::U32(value), _) => format!("Some({value})"),
                (Value::I64(value), _) => format!("Some({value})"),
                (Value::EnumNumber(number), Kind::Enum(kind)) => {
                    let value = kind.get_value(*number).map(|value| value.name().to_owned()).unwrap_or_default();
                    format!("crate::rules::Format::{}", camel(value.trim_start_matches("FORMAT_")))
                }
                (Value::Message(codes), _) => {
                    let code = |name: &str| result_code(codes, name);
                    let (create, update) = (code("on_create"), code("on_update"));
                    format!("Some(crate::rules::ItemCodes {{ on_create: {create}, on_update: {update} }})")
                }
                (Value::List(values), _) => {
                    let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                    format!("&{values:?}")
                }
                (value, kind) => panic!("no rule is known of the kind {kind:?}: {value:?}"),
            };
            if rule.name() != "flatten" {
                table.extend([" ", rule.name(), ": ", value.as_str(), ","]);
            }
        }
        table.push_str(" ..crate::rules::FieldRules::NONE }");
        debug_assert!(self.message.as_ref().is_none_or(|message| message.descriptor().name() == "Rules"));
        table
    }
}

fn result_code(codes: &DynamicMessage, name: &str) -> String {
    let number = codes.get_field_by_name(name).and_then(|value| value.as_enum_number()).unwrap_or_default();
    let kind = codes.descriptor().get_field_by_name(name).map(|field| field.kind());
    let Some(Kind::Enum(kind)) = kind else { panic!("{name} is not a result code") };
    let value = kind.get_value(number).map(|value| value.name().to_owned()).unwrap_or_default();
    format!("ResultCode::{}", camel(value.trim_start_matches("RESULT_CODE_")))
}

fn camel(value: &str) -> String {
    let mut name = String::new();
    for word in value.split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(first);
        name.push_str(&rest.to_lowercase());
    }
    name
}
