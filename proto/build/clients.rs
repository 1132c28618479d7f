//! Generates implementations of the services that a gateway calls: remote clients, middleware wrappers, and stubs for fakes.

use std::fmt::Write as _;

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use prost_reflect::{DescriptorPool, Kind, MethodDescriptor, ServiceDescriptor};

/// Services that are only called over the network.
const WITHOUT_CLIENT: [&str; 2] = ["AffiliateRosterService", "ReadService"];

/// Returns the services that a gateway calls on behalf of partners.
pub(crate) fn services(pool: &DescriptorPool) -> impl Iterator<Item = ServiceDescriptor> {
    pool.services().filter(|service| !WITHOUT_CLIENT.contains(&service.name()))
}

/// Writes three implementations of each service: a remote client, a middleware wrapper and stubs.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut code = String::new();
    for service in services(pool) {
        let name = service.name();
        let module = name.to_snake_case();
        let service_trait = format!("crate::v1::{module}_server::{name}");
        let client = format!("crate::v1::{module}_client::{name}Client");
        write_service(
            &mut code,
            &service,
            &format!("<C: Channel> {service_trait} for Remote<{client}<C>>"),
            |method| format!("BoxStream<crate::v1::{}>", method.output().name()),
            |method| coalesced(pool, method).unwrap_or_else(|| call_over_channel(method)),
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
        write_stubs(&mut code, &service, &service_trait)?;
    }
    Ok(code)
}

/// Writes a trait whose methods return `UNIMPLEMENTED` by default, and implements the service for it.
///
/// The service's own trait has no default methods, so the compiler reports operations that a core does not implement.
fn write_stubs(code: &mut String, service: &ServiceDescriptor, service_trait: &str) -> anyhow::Result<()> {
    let stream = |method: &MethodDescriptor| format!("BoxStream<crate::v1::{}>", method.output().name());
    let stubs = format!("{}Stubs", service.name());
    writeln!(code, "/// Stubs of `{}`, for fakes.", service.name())?;
    writeln!(code, "#[tonic::async_trait]\npub trait {stubs}: Send + Sync + 'static {{")?;
    for method in service.methods() {
        let (path, mut response) = (method.full_name(), format!("crate::v1::{}", method.output().name()));
        if method.is_server_streaming() {
            response = stream(&method);
        }
        writeln!(
            code,
            "/// `{path}`\nasync fn {}(&self, request: Request<{}>) -> Result<Response<{response}>, Status> {{\n{}\n}}",
            method.name().to_snake_case(),
            request_type(&method),
            unimplemented(&method),
        )?;
    }
    writeln!(code, "}}")?;
    let call = |method: &MethodDescriptor| format!("{stubs}::{}(self, request).await", method.name().to_snake_case());
    write_service(code, service, &format!("<T: {stubs}> {service_trait} for T"), stream, call)
}

/// Writes an implementation of a service trait. `stream` returns a method's stream type, and `body` returns its body.
fn write_service(
    code: &mut String,
    service: &ServiceDescriptor,
    header: &str,
    stream: impl Fn(&MethodDescriptor) -> String,
    body: impl Fn(&MethodDescriptor) -> String,
) -> anyhow::Result<()> {
    writeln!(code, "#[tonic::async_trait]\nimpl{header} {{")?;
    for method in service.methods() {
        let (name, request) = (method.name(), request_type(&method));
        let mut response = format!("crate::v1::{}", method.output().name());
        if method.is_server_streaming() {
            writeln!(code, "type {name}Stream = {};", stream(&method))?;
            response = format!("Self::{name}Stream");
        }
        writeln!(
            code,
            "async fn {}(&self, request: Request<{request}>) -> Result<Response<{response}>, Status> {{\n{}\n}}",
            name.to_snake_case(),
            if method.is_client_streaming() { unimplemented(&method) } else { body(&method) },
        )?;
    }
    writeln!(code, "}}")?;
    Ok(())
}

/// Returns a method's request type. Client streams exist only over the network.
fn request_type(method: &MethodDescriptor) -> String {
    let request = format!("crate::v1::{}", method.input().name());
    if method.is_client_streaming() { format!("tonic::Streaming<{request}>") } else { request }
}

fn unimplemented(method: &MethodDescriptor) -> String {
    format!("let _ = request;\nErr(Status::unimplemented({:?}))", method.full_name())
}

fn call_over_channel(method: &MethodDescriptor) -> String {
    let boxed = if method.is_server_streaming() { ".map(|response| response.map(boxed))" } else { "" };
    format!("self.client.clone().{}(request).await{boxed}", method.name().to_snake_case())
}

/// Returns the body of a coalesced read, or `None` if `Read` cannot carry the request.
///
/// Reads of past states and reads without concurrent reads are ordinary calls.
fn coalesced(pool: &DescriptorPool, method: &MethodDescriptor) -> Option<String> {
    let read = pool.get_message_by_name("compliance.v1.Read")?;
    let field = read.fields().find(|field| field.kind() == Kind::Message(method.input()))?;
    let variant = field.name().to_upper_camel_case();
    Some(format!(
        "let reading = self.reads.begin();\n\
         if request.get_ref().as_of.is_some() || reading.is_alone() {{\n\
         return {};\n}}\n\
         let (metadata, outcome, extensions) =\n\
         self.reads.read(request.map(Operation::{variant})).await?.into_parts();\n\
         match outcome {{\n\
         Outcome::{variant}(record) => Ok(Response::from_parts(metadata, *record, extensions)),\n\
         _ => Err(Error::internal().into()),\n}}",
        call_over_channel(method)
    ))
}
