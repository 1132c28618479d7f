//! The messages of the crate for clients (`client/rust/src/v1.rs`), so that those who depend on it compile neither the rules of the
//! contract nor a compiler of protobuf. The test notices when the contract has changed.

use std::{env, fmt::Write as _, fs, path::Path};

use prost::Message as _;
use prost_reflect::{DescriptorPool, prost_types::FileDescriptorSet};

use crate::FILE_DESCRIPTOR_SET;

/// Set to rewrite the file instead of comparing with it: `tools/scripts/write-reference`.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";

const HEAD: &str = "// Generated from proto/compliance/v1 by tools/scripts/write-reference.\n\n";

/// The messages, the clients, and the operation of each request.
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

/// Which operation each request is of: the compiler refuses one that two operations have. A gateway's own service has a token for
/// each read; nobody else calls it.
fn requests(pool: &DescriptorPool) -> String {
    let mut code = String::new();
    let services = pool.services().filter(|service| service.name() != "ReadService");
    for method in services.flat_map(|service| service.methods().collect::<Vec<_>>()) {
        let (request, response, service) = (method.input(), method.output(), method.parent_service());
        let (request, response, service) = (request.name(), response.name(), service.full_name());
        // Reads of one record share the record; what is named a response is that of its operation alone.
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
        "client/rust/src/v1.rs is not what the contract says; tools/scripts/write-reference rewrites it"
    );
}
