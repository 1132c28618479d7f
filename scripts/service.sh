# For checks that need a running service; sourced from the root of the checkout.

target=${CARGO_TARGET_DIR:-target}
[[ $target = /* ]] || target=$PWD/$target

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# Installs the programs that are missing, each given as PROGRAM:PACKAGE.
need() {
    local missing=() program
    for program in "$@"; do
        command -v "${program%:*}" >/dev/null || missing+=("${program#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    local install="apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends install ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    ($install || { apt-get -q update && $install; }) >&2 || { say "please install ${missing[*]}"; exit 1; }
}

# Builds and starts the service with demo data, on free ports, and stops it at exit. Sets `base` (http://host:port of REST),
# `grpc` (host:port) and `token` (of company 1).
start_service() {
    # As the tests build it.
    cargo test --quiet --locked --workspace --no-run
    folder=$(mktemp -d)
    # The database of a service that root starts belongs to another user, who must reach its folder.
    chmod 755 "$folder"
    "$target/debug/compliance" serve --demo --data-dir "$folder/data" --rest-addr 127.0.0.1:0 --grpc-addr 127.0.0.1:0 \
        --rate-limit 100000/s --log warn >"$folder/greeting" &
    service=$!
    trap stop_service EXIT
    local attempt
    for attempt in $(seq 300); do
        grep -q 'Ctrl-C' "$folder/greeting" && break
        kill -0 "$service" || { say 'the service has ended'; exit 1; }
        sleep 0.2
    done
    base=$(sed -n 's,^  REST  \(.*\)/api$,\1,p' "$folder/greeting")
    grpc=$(sed -n 's,^  gRPC  ,,p' "$folder/greeting")
    token=$(sed -n 's,^  TOKEN=,,p' "$folder/greeting")
    [[ -n $base && -n $grpc && -n $token ]] || { say 'the service did not start in time'; exit 1; }
}

# Prints a token: token_of --company N [ARGUMENT…].
token_of() {
    "$target/debug/compliance" token --data-dir "$folder/data" "$@"
}

stop_service() {
    kill -TERM "$service" 2>/dev/null && wait "$service" || true
    rm -rf "$folder"
}
