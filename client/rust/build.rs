//! Compiles the contract in `proto/` into messages and plain clients, without `protoc`.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use protox::prost_reflect::DescriptorPool;

/// Only gateways call this service.
const GATEWAY_SERVICE: &str = "ReadService";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    println!("cargo:rerun-if-changed=build.rs");
    let files = fs::read_dir(proto.join("compliance/v1"))?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    let mut compiler = protox::Compiler::new([proto])?;
    compiler.include_imports(true).include_source_info(true).open_files(files)?;
    let builder = tonic_prost_build::configure().build_server(false).build_transport(false);
    builder.compile_fds(compiler.file_descriptor_set())?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(out.join("requests.rs"), requests(&compiler.descriptor_pool())?)?;
    Ok(())
}

/// Returns an implementation of `Request` for each request message. If two operations share a message, the generated code does not compile.
fn requests(pool: &DescriptorPool) -> Result<String, Box<dyn std::error::Error>> {
    let mut code = String::new();
    let services = pool.services().filter(|service| service.name() != GATEWAY_SERVICE);
    for method in services.flat_map(|service| service.methods().collect::<Vec<_>>()) {
        let (request, response, service) = (method.input(), method.output(), method.parent_service());
        let (request, response, service) = (request.name(), response.name(), service.full_name());
        // Only single-record reads share a response message: the record itself.
        if response.ends_with("Response") && response != format!("{}Response", method.name()) {
            return Err(format!("{} returns {response}", method.full_name()).into());
        }
        if !method.is_client_streaming() {
            let path = format!("/{service}/{}", method.name());
            writeln!(code, "impl crate::Request for {request} {{")?;
            writeln!(code, "    type Response = {response};\n    const PATH: &'static str = {path:?};\n}}")?;
            if !method.is_server_streaming() {
                writeln!(code, "impl crate::UnaryRequest for {request} {{}}")?;
            }
        }
    }
    Ok(code)
}
