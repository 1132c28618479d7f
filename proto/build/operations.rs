//! Generates the operations with their options, and the item count of each request.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail};
use heck::ToShoutySnakeCase as _;
use prost_reflect::{
    Cardinality, DescriptorPool, MethodDescriptor, Value, prost_types::method_options::IdempotencyLevel,
};

use super::{messages::static_name, options};

/// Writes every operation, and an `Items` implementation for every request.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let (mut operations, mut requests) = (BTreeMap::new(), BTreeMap::new());
    for service in pool.services() {
        for method in service.methods() {
            let path = format!("/{}/{}", service.full_name(), method.name());
            let operation = operation(pool, &path, &method).with_context(|| method.full_name().to_owned())?;
            operations.insert(path, (method.name().to_shouty_snake_case(), operation));
            requests.insert(method.input().name().to_owned(), method.input());
        }
    }
    let mut code = String::new();
    writeln!(code, "impl Operation {{")?;
    for (path, (name, operation)) in &operations {
        writeln!(code, "/// `{path}`\npub const {name}: Self = {operation};")?;
    }
    let names: Vec<String> = operations.values().map(|(name, _)| format!("Self::{name}")).collect();
    // `Operation::at` searches this list by path, so it must be sorted.
    writeln!(code, "/// Every operation.\npub const ALL: &[Self] = &[{}];\n}}", names.join(", "))?;
    for (name, request) in requests {
        let lists = request.fields().filter(|field| field.cardinality() == Cardinality::Repeated);
        let items: Vec<String> = lists.map(|field| format!("self.{}.len()", field.name())).collect();
        let items = if items.is_empty() { "0".to_owned() } else { items.join(" + ") };
        writeln!(code, "impl Items for crate::v1::{name} {{ fn items(&self) -> usize {{ {items} }} }}")?;
    }
    Ok(code)
}

fn operation(pool: &DescriptorPool, path: &str, method: &MethodDescriptor) -> anyhow::Result<String> {
    let Value::Message(option) = options::value(pool, &method.parent_service().options(), "authorization")? else {
        bail!("the option authorization is not a message")
    };
    let scope = options::text(&option, "scope");
    let or_scope = options::value(pool, &method.options(), "or_scope")?;
    let or_scope = or_scope.as_str().context("the option or_scope is not a string")?;
    let scopes: Vec<&str> = [scope.as_str(), or_scope].into_iter().filter(|scope| !scope.is_empty()).collect();
    let authorization = match (options::flag(&option, "open"), &scopes[..]) {
        (true, []) => "Authorization::Open".to_owned(),
        (true, _) => bail!("an open operation cannot need a scope"),
        (false, []) => "Authorization::Token".to_owned(),
        (false, scopes) => format!("Authorization::Scope(&{scopes:?})"),
    };
    let work = options::value(pool, &method.options(), "work")?.as_enum_number().unwrap_or_default();
    let kinds = pool.get_enum_by_name("compliance.v1.Work").context("the enum Work is not declared")?;
    let work = options::variant_of(&kinds, work)?;
    let level = method.options().get_field_by_name("idempotency_level").and_then(|level| level.as_enum_number());
    Ok(format!(
        "Self {{ path: {path:?}, request: &crate::description::{}, streams: {}, streams_responses: {}, is_read: {}, authorization: {authorization}, work: Work::{work} }}",
        static_name(&method.input()),
        method.is_client_streaming(),
        method.is_server_streaming(),
        level == Some(IdempotencyLevel::NoSideEffects as i32),
    ))
}
