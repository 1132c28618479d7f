# Everyday commands. `just --list` shows them.

# Run the service with demo data.
run *args:
    tools/scripts/setup && cargo run --release -- {{args}}

# Run all tests, or only tests with a matching name: `just test isolation`.
test *args:
    tools/scripts/setup && cargo test --workspace {{args}}

# Run all end-to-end tests, or only tests with a matching name.
e2e *args:
    tools/scripts/setup && cargo test --test e2e -- {{args}}

# Kill and freeze processes and cut connections under load, then audit every acknowledged write.
soak *minutes:
    tools/scripts/soak {{minutes}}

# Format and lint.
lint:
    cargo fmt --all && (cd tools/bench && cargo fmt)
    cargo clippy --workspace --all-targets -- -D warnings
    cd tools/bench && cargo clippy --all-targets -- -D warnings

# Update the metadata of SQL that is checked at compile time.
sqlx:
    tools/scripts/sqlx-prepare

# Regenerate docs/openapi.json, docs/configuration.md and the tables in docs/reference.
reference:
    tools/scripts/write-reference

# Check pages and user-visible texts for broken links, long sentences and awkward constructions.
prose *files:
    tools/scripts/check-prose {{files}}

# Check the gRPC contract: lint, format, compatibility.
proto:
    tools/scripts/check-proto

# Run every CI check.
ci:
    .ci/run

# Benchmark the service against its peers, and write docs/performance.md.
bench *args:
    cd tools/bench && cargo run --profile dist -- {{args}}

# Build the binary for deployment and measurements.
dist:
    cargo build --profile dist --bin compliance
