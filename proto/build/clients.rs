//! The services that a gateway calls: over a channel, and behind a middleware.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use prost_reflect::{DescriptorPool, Kind, MessageDescriptor, MethodDescriptor, ServiceDescriptor};

/// The services that have a client. `MonitoringService` takes streams, which exist on a network alone.
const SERVICES: &[&str] = &["AccessService", "AffiliateService", "ComplianceUrlService", "ComplianceCaseService"];

/// Writes, for every service with a client, the service over a channel and the service behind a middleware.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut code = String::new();
    let reads = Reads::new(pool)?;
    for name in SERVICES {
        let service = pool.get_service_by_name(&format!("compliance.v1.{name}")).context("the service is declared")?;
        let module = name.to_snake_case();
        let service_trait = format!("crate::v1::{module}_server::{name}");
        let client = format!("crate::v1::{module}_client::{name}Client");
        write_service(
            &mut code,
            &service,
            &format!("<C: Channel> {service_trait} for Remote<{client}<C>>"),
            |method| format!("BoxStream<crate::v1::{}>", method.output().name()),
            |method| reads.call(method).unwrap_or_else(|| call_over_channel(method)),
        )?;
        write_service(
            &mut code,
            &service,
            &format!("<S: {service_trait}, M: Middleware> {service_trait} for WithMiddleware<S, M>"),
            |method| format!("S::{}Stream", method.name()),
            |method| {
                let (path, name) =
                    (format!("/{}/{}", service.full_name(), method.name()), method.name().to_snake_case());
                format!("self.middleware.call({path:?}, request, |request| self.service.{name}(request)).await")
            },
        )?;
    }
    Ok(code)
}

/// Writes an implementation of a service's trait. `stream` is the type of an operation's stream, `body` makes the call.
fn write_service(
    code: &mut String,
    service: &ServiceDescriptor,
    header: &str,
    stream: impl Fn(&MethodDescriptor) -> String,
    body: impl Fn(&MethodDescriptor) -> String,
) -> anyhow::Result<()> {
    writeln!(code, "#[tonic::async_trait]\nimpl{header} {{")?;
    for method in service.methods() {
        ensure!(!method.is_client_streaming(), "{} takes a stream, which has no local form", method.full_name());
        let (name, request) = (method.name(), method.input());
        let mut response = format!("crate::v1::{}", method.output().name());
        if method.is_server_streaming() {
            writeln!(code, "type {name}Stream = {};", stream(&method))?;
            response = format!("Self::{name}Stream");
        }
        writeln!(
            code,
            "async fn {}(&self, request: Request<crate::v1::{}>) -> Result<Response<{response}>, Status> {{\n{}\n}}",
            name.to_snake_case(),
            request.name(),
            body(&method),
        )?;
    }
    writeln!(code, "}}")?;
    Ok(())
}

fn call_over_channel(method: &MethodDescriptor) -> String {
    let boxed = if method.is_server_streaming() { ".map(|response| response.map(boxed))" } else { "" };
    format!("self.client.clone().{}(request).await{boxed}", method.name().to_snake_case())
}

/// The operations that a remote client makes through `ReadService`.
struct Reads {
    request: MessageDescriptor,
    response: MessageDescriptor,
}

impl Reads {
    fn new(pool: &DescriptorPool) -> anyhow::Result<Self> {
        let message = |name: &str| pool.get_message_by_name(name).with_context(|| format!("{name} is declared"));
        Ok(Self { request: message("compliance.v1.Read")?, response: message("compliance.v1.BatchReadResponse")? })
    }

    /// The call of an operation, if it is such a read.
    fn call(&self, method: &MethodDescriptor) -> Option<String> {
        let request = variant(&self.request, "operation", &method.input())?;
        let response = variant(&self.response, "result", &method.output())?;
        Some(format!(
            "let (metadata, outcome, extensions) =\n\
             self.reads.read(request.map(Operation::{request})).await?.into_parts();\n\
             match outcome {{\n\
             Outcome::{response}(record) => Ok(Response::from_parts(metadata, *record, extensions)),\n\
             _ => Err(Error::internal().into()),\n}}"
        ))
    }
}

/// The variant of a oneof that holds a message.
fn variant(message: &MessageDescriptor, oneof: &str, content: &MessageDescriptor) -> Option<String> {
    let oneof = message.oneofs().find(|declared| declared.name() == oneof)?;
    let field = oneof.fields().find(|field| field.kind() == Kind::Message(content.clone()))?;
    Some(field.name().to_upper_camel_case())
}
