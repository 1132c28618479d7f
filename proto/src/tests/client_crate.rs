//! Generates the messages of the client crate, `client/rust/src/v1.rs`.
//!
//! They are committed, so that other repositories compile neither the contract's rules nor a protobuf compiler.

use std::{env, fmt::Write as _, fs, path::Path};

use prost::Message as _;
use prost_reflect::{DescriptorPool, prost_types::FileDescriptorSet};

use crate::FILE_DESCRIPTOR_SET;

/// Rewrites the file instead of comparing it. `tools/scripts/write-reference` sets it.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";

const HEAD: &str = "// Generated from proto/compliance/v1 by tools/scripts/write-reference.\n\n";

/// Returns the messages, the clients, and the operation of each request.
fn generate() -> String {
    let out = env::temp_dir().join(format!("compliance-client-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let builder = tonic_prost_build::configure().build_server(false).build_transport(false).out_dir(&out);
    builder.compile_fds(FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap()).unwrap();
    let messages = fs::read_to_string(out.join("compliance.v1.rs")).unwrap();
    fs::remove_dir_all(out).unwrap();
    let requests = requests(&DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap());
    format!("{HEAD}{messages}{requests}")
}

/// Returns the operation of each request. The compiler rejects a request of two operations.
///
/// It leaves out `ReadService`, which only gateways call.
fn requests(pool: &DescriptorPool) -> String {
    let mut code = String::new();
    let services = pool.services().filter(|service| service.name() != "ReadService");
    for method in services.flat_map(|service| service.methods().collect::<Vec<_>>()) {
        let (request, response, service) = (method.input(), method.output(), method.parent_service());
        let (request, response, service) = (request.name(), response.name(), service.full_name());
        // Reads of one record return the record. Every other response belongs to one operation.
        assert!(
            !response.ends_with("Response") || response == format!("{}Response", method.name()),
            "{} returns {response}",
            method.full_name()
        );
        if !method.is_client_streaming() {
            let path = format!("/{service}/{}", method.name());
            writeln!(code, "impl crate::Request for {request} {{").unwrap();
            writeln!(code, "    type Response = {response};\n    const PATH: &'static str = {path:?};\n}}").unwrap();
            if !method.is_server_streaming() {
                writeln!(code, "impl crate::UnaryRequest for {request} {{}}").unwrap();
            }
        }
    }
    code
}

#[test]
fn the_committed_messages_of_the_client_are_those_of_the_contract() {
    let (file, generated) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("client/rust/src/v1.rs"), generate());
    if env::var_os(WRITE).is_some() {
        return fs::write(file, generated).unwrap();
    }
    let committed = fs::read_to_string(file).unwrap();
    assert!(
        committed == generated,
        "client/rust/src/v1.rs does not match the contract; tools/scripts/write-reference rewrites it"
    );
}
