//! Accesses message fields by path, through the contract's descriptors.

use std::sync::LazyLock;

use compliance_api::FILE_DESCRIPTOR_SET;
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, Value,
};

/// Returns the contract's descriptors.
pub(crate) fn contract() -> DescriptorPool {
    static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap());
    CONTRACT.clone()
}

/// Returns every operation as `Service/Method`, with its descriptor.
pub(crate) fn operations(contract: &DescriptorPool) -> Vec<(String, MethodDescriptor)> {
    let services: Vec<_> = contract.services().collect();
    let methods = services.iter().flat_map(|service| service.methods().collect::<Vec<_>>());
    methods.map(|method| (format!("{}/{}", method.parent_service().name(), method.name()), method)).collect()
}

/// Returns an operation's descriptor.
pub(crate) fn method(operation: &str) -> MethodDescriptor {
    let known = operations(&contract()).into_iter().find(|(name, _)| name == operation);
    known.unwrap_or_else(|| panic!("no operation {operation}")).1
}

/// The path to a field within a message.
pub(crate) type Path = Vec<FieldDescriptor>;

/// Returns the paths of all fields in a message and its nested messages.
pub(crate) fn paths(message: &MessageDescriptor) -> Vec<Path> {
    let mut paths = Vec::new();
    for field in message.fields() {
        paths.push(vec![field.clone()]);
        if let Kind::Message(inner) = field.kind()
            && inner.full_name().starts_with("compliance.v1.")
        {
            paths.extend(self::paths(&inner).into_iter().map(|rest| [vec![field.clone()], rest].concat()));
        }
    }
    paths
}

/// Returns a path's field names, joined with dots.
pub(crate) fn name(path: &Path) -> String {
    path.iter().map(FieldDescriptor::name).collect::<Vec<_>>().join(".")
}

/// Sets the field at a path, in the first element of each list. If the field is a list, the value becomes its only element.
pub(crate) fn set(message: &mut DynamicMessage, path: &[FieldDescriptor], value: Value) {
    let (field, rest) = path.split_first().unwrap();
    let is_list = field.cardinality() == Cardinality::Repeated;
    if rest.is_empty() {
        let is_element = is_list && !matches!(value, Value::List(_));
        return message.set_field(field, if is_element { Value::List(vec![value]) } else { value });
    }
    let Kind::Message(inner) = field.kind() else { panic!("{} is not a message", field.full_name()) };
    let within = message.get_field_mut(field);
    if is_list {
        let list = within.as_list_mut().unwrap();
        if list.is_empty() {
            list.push(Value::Message(DynamicMessage::new(inner)));
        }
        set(list[0].as_message_mut().unwrap(), rest, value);
    } else {
        set(within.as_message_mut().unwrap(), rest, value);
    }
}

/// Returns the names and values in a message as text.
pub(crate) fn shown(message: &DynamicMessage) -> String {
    let fields: Vec<String> =
        message.fields().map(|(field, value)| format!("{}: {}", field.name(), shown_value(value))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::Message(message) => shown(message),
        Value::List(list) => format!("[{}]", list.iter().map(shown_value).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// Clears the field at a path, and creates the messages on the path.
pub(crate) fn clear(message: &mut DynamicMessage, path: &[FieldDescriptor]) {
    let field = path.last().unwrap();
    let default = match field.kind() {
        _ if field.is_list() => Value::List(Vec::new()),
        Kind::Message(inner) => Value::Message(DynamicMessage::new(inner)),
        kind => Value::default_value(&kind),
    };
    set(message, path, default);
    holder(message, path).clear_field(field);
}

fn holder<'a>(message: &'a mut DynamicMessage, path: &[FieldDescriptor]) -> &'a mut DynamicMessage {
    let (field, rest) = path.split_first().unwrap();
    if rest.is_empty() {
        return message;
    }
    let within = message.get_field_mut(field);
    let inner = match within {
        Value::List(list) => list[0].as_message_mut().unwrap(),
        other => other.as_message_mut().unwrap(),
    };
    holder(inner, rest)
}
