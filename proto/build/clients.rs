//! The clients of the partner services, and what a service needs to stand behind one.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use prost_reflect::{DescriptorPool, Kind, MessageDescriptor, MethodDescriptor, ServiceDescriptor};

/// The services that have a client. `MonitoringService` takes streams, which exist on a network alone.
const SERVICES: &[&str] = &["AccessService", "AffiliateService", "ComplianceUrlService", "ComplianceCaseService"];

/// Writes, for every service with a client: the client, the service over a channel, the service behind a middleware.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut code = String::new();
    let reads = Reads::new(pool)?;
    for name in SERVICES {
        let service = pool.get_service_by_name(&format!("compliance.v1.{name}")).context("the service is declared")?;
        Service::new(&service, &reads)?.write(&mut code)?;
    }
    Ok(code)
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

    /// The variants that hold the request and the response of an operation, if it is such a read.
    fn variants(&self, method: &MethodDescriptor) -> Option<(String, String)> {
        let request = variant(&self.request, "operation", &method.input())?;
        Some((request, variant(&self.response, "result", &method.output())?))
    }
}

/// The variant of a oneof that holds a message.
fn variant(message: &MessageDescriptor, oneof: &str, content: &MessageDescriptor) -> Option<String> {
    let oneof = message.oneofs().find(|declared| declared.name() == oneof)?;
    let field = oneof.fields().find(|field| field.kind() == Kind::Message(content.clone()))?;
    Some(field.name().to_upper_camel_case())
}

struct Service {
    /// `AffiliateService`
    name: String,
    /// `AffiliateClient`
    client: String,
    /// The generated trait with its module.
    path: String,
    /// The generated network client with its module.
    network_client: String,
    operations: Vec<Operation>,
}

struct Operation {
    /// `GetAffiliate`
    name: String,
    /// `get_affiliate`
    method: String,
    /// `/compliance.v1.AffiliateService/GetAffiliate`
    path: String,
    request: String,
    response: String,
    is_stream: bool,
    /// See [`Reads::variants`].
    read: Option<(String, String)>,
}

impl Service {
    fn new(service: &ServiceDescriptor, reads: &Reads) -> anyhow::Result<Self> {
        let name = service.name().to_owned();
        let module = name.to_snake_case();
        let stem = name.strip_suffix("Service").context("a service is named …Service")?;
        Ok(Self {
            client: format!("{stem}Client"),
            path: format!("crate::v1::{module}_server::{name}"),
            network_client: format!("crate::v1::{module}_client::{name}Client"),
            operations: service
                .methods()
                .map(|method| Operation::new(&method, reads))
                .collect::<anyhow::Result<_>>()?,
            name,
        })
    }

    fn write(&self, code: &mut String) -> anyhow::Result<()> {
        self.write_client(code)?;
        let streams = |stream: fn(&Operation) -> String| self.write_stream_types(stream);
        self.write_service(
            code,
            &format!("<C: Channel> {} for Remote<{}<C>>", self.path, self.network_client),
            &streams(|operation| format!("BoxStream<{}>", operation.response))?,
            |Operation { method, is_stream, read, .. }| {
                if let Some((request, response)) = read {
                    return format!(
                        "let (metadata, outcome, extensions) =\n\
                         self.reads.read(request.map(Operation::{request})).await?.into_parts();\n\
                         match outcome {{\n\
                         Outcome::{response}(record) => Ok(Response::from_parts(metadata, record, extensions)),\n\
                         _ => Err(Error::internal().into()),\n}}"
                    );
                }
                let boxed = if *is_stream { ".map(|response| response.map(boxed))" } else { "" };
                format!("self.client.clone().{method}(request).await{boxed}")
            },
        )?;
        self.write_service(
            code,
            &format!("<S: {}, M: Middleware> {} for WithMiddleware<S, M>", self.path, self.path),
            &streams(|operation| format!("S::{}Stream", operation.name))?,
            |Operation { method, path, .. }| {
                format!("self.middleware.call({path:?}, request, |request| self.service.{method}(request)).await")
            },
        )
    }

    fn write_client(&self, code: &mut String) -> anyhow::Result<()> {
        let Self { name, client, path, network_client, .. } = self;
        let streams: Vec<String> = self
            .operations
            .iter()
            .filter(|operation| operation.is_stream)
            .map(|operation| format!("{}Stream = BoxStream<{}>", operation.name, operation.response))
            .collect();
        let streams = if streams.is_empty() { String::new() } else { format!("<{}>", streams.join(", ")) };
        writeln!(
            code,
            "/// A client of `{name}`, in this process or across a network. A clone is cheap.\n\
             #[derive(Clone)]\n\
             pub struct {client}(Arc<dyn {path}{streams}>);\n\
             impl {client} {{\n\
             /// Calls a service in this process.\n\
             pub fn local(service: Arc<dyn {path}{streams}>) -> Self {{ Self(service) }}\n\
             /// Calls a service over a channel, with messages of up to `max_message_size` bytes. `reads` makes the reads\n\
             /// of single records.\n\
             pub fn remote(channel: impl Channel, max_message_size: usize, reads: Arc<dyn ReadRecords>) -> Self {{\n\
             let client = {network_client}::new(channel)\n\
             .max_decoding_message_size(max_message_size).max_encoding_message_size(max_message_size);\n\
             Self(Arc::new(Remote {{ client, reads }}))\n}}"
        )?;
        for Operation { name, method, request, response, is_stream, .. } in &self.operations {
            let response = if *is_stream { format!("BoxStream<{response}>") } else { response.clone() };
            writeln!(
                code,
                "/// Calls `{name}`.\n\
                 pub async fn {method}(&self, request: Request<{request}>) -> Result<Response<{response}>, Status> {{\n\
                 self.0.{method}(request).await\n}}"
            )?;
        }
        writeln!(
            code,
            "}}\n\
             impl std::fmt::Debug for {client} {{\n\
             fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n\
             f.debug_struct({client:?}).finish_non_exhaustive()\n}}\n}}"
        )?;
        Ok(())
    }

    fn write_stream_types(&self, stream: impl Fn(&Operation) -> String) -> anyhow::Result<String> {
        let mut types = String::new();
        for operation in self.operations.iter().filter(|operation| operation.is_stream) {
            writeln!(types, "type {}Stream = {};", operation.name, stream(operation))?;
        }
        Ok(types)
    }

    fn write_service(
        &self,
        code: &mut String,
        header: &str,
        stream_types: &str,
        body: impl Fn(&Operation) -> String,
    ) -> anyhow::Result<()> {
        writeln!(code, "#[tonic::async_trait]\nimpl{header} {{\n{stream_types}")?;
        for operation in &self.operations {
            let Operation { name, method, request, response, is_stream, .. } = operation;
            let response = if *is_stream { format!("Self::{name}Stream") } else { response.clone() };
            writeln!(
                code,
                "async fn {method}(&self, request: Request<{request}>) -> Result<Response<{response}>, Status> {{\n\
                 {}\n}}",
                body(operation)
            )?;
        }
        writeln!(code, "}}")?;
        Ok(())
    }
}

impl Operation {
    fn new(method: &MethodDescriptor, reads: &Reads) -> anyhow::Result<Self> {
        ensure!(!method.is_client_streaming(), "{} takes a stream, which has no local form", method.full_name());
        Ok(Self {
            name: method.name().to_owned(),
            method: method.name().to_snake_case(),
            path: format!("/{}/{}", method.parent_service().full_name(), method.name()),
            request: message(&method.input())?,
            response: message(&method.output())?,
            is_stream: method.is_server_streaming(),
            read: reads.variants(method),
        })
    }
}

fn message(message: &MessageDescriptor) -> anyhow::Result<String> {
    ensure!(message.package_name() == "compliance.v1", "{} is of another package", message.full_name());
    Ok(format!("crate::v1::{}", message.name()))
}
