//! Compiles `proto/` into messages, services, rule checks and the descriptor set, without `protoc`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
#[path = "proto/build/checks.rs"]
mod checks;
#[path = "proto/build/clients.rs"]
mod clients;
#[path = "proto/build/json.rs"]
mod json;
#[path = "proto/build/messages.rs"]
mod messages;
#[path = "proto/build/operations.rs"]
mod operations;
#[path = "proto/build/options.rs"]
mod options;
#[path = "proto/build/records.rs"]
mod records;

fn main() -> anyhow::Result<()> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("OUT_DIR is not set")?);
    println!("cargo:rustc-env=BUILD_PROFILE={}", profile(&out).context("OUT_DIR does not name a profile")?);

    let mut files: Vec<PathBuf> =
        fs::read_dir("proto/compliance/v1")?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).include_source_info(true).open_files(files)?;
    let pool = compiler.descriptor_pool();

    // The descriptor set keeps our options, so reflection shows the rules.
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
    fs::write(out.join("checks.rs"), checks::generate(&pool)?)?;
    fs::write(out.join("clients.rs"), clients::generate(&pool)?)?;
    fs::write(out.join("messages.rs"), messages::generate(&pool)?)?;
    fs::write(out.join("operations.rs"), operations::generate(&pool)?)?;
    fs::write(out.join("records.rs"), records::generate(&pool)?)?;

    // Boxed because records move through several queues before they reach this response.
    let messages = ["affiliate", "url", "case"].into_iter().fold(tonic_prost_build::configure(), |messages, field| {
        messages.boxed(format!(".compliance.v1.BatchReadResponse.result.{field}"))
    });
    // See `proto/src/secrets.rs`.
    let secret = ["CreateWebhookResponse", "RotateWebhookSecretResponse"];
    let messages = messages.skip_debug(secret.map(|message| format!(".compliance.v1.{message}")));
    json::attributes(messages, &pool).compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

/// Returns the build profile, from the folder name in `OUT_DIR` (`…/FOLDER/build/…`).
///
/// Cargo's variable `PROFILE` does not distinguish a custom profile from the profile it inherits.
fn profile(out: &Path) -> Option<&str> {
    let build = out.ancestors().find(|folder| folder.ends_with("build"))?;
    match build.parent()?.file_name()?.to_str()? {
        "debug" => Some("dev"),
        name => Some(name),
    }
}
