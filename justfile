# Everyday commands; `just --list` shows them.

# Run the service with demo data.
run *args:
    tools/scripts/setup && cargo run --release -- {{args}}

# Run every test, or those whose name contains a word: `just test isolation`.
test *args:
    tools/scripts/setup && cargo test --workspace {{args}}

# Run the end-to-end tests, or those whose name contains a word.
e2e *args:
    tools/scripts/setup && cargo test --test e2e -- {{args}}

# Kill, freeze and cut under load for some minutes, then audit every acknowledged write.
soak *minutes:
    tools/scripts/soak {{minutes}}

# Format and lint.
lint:
    cargo fmt --all && (cd tools/bench && cargo fmt)
    cargo clippy --workspace --all-targets -- -D warnings
    cd tools/bench && cargo clippy --all-targets -- -D warnings

# Rewrite the descriptions of the SQL that is checked at compile time.
sqlx:
    tools/scripts/sqlx-prepare

# Rewrite docs/openapi.json, docs/configuration.md and the tables of docs/reference.
reference:
    tools/scripts/write-reference

# Check the pages and the program's texts: links, long sentences, awkward constructions.
prose *files:
    tools/scripts/check-prose {{files}}

# Check the gRPC contract: lint, format, compatibility.
proto:
    tools/scripts/check-proto

# Everything that CI checks.
ci:
    .ci/run

# Measure the service next to peers, and write docs/performance.md.
bench *args:
    cd tools/bench && cargo run --profile dist -- {{args}}

# Build the binary that is deployed and measured.
dist:
    cargo build --profile dist --bin compliance
