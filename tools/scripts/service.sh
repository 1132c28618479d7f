# Shell functions for the checks. Source this file from the root of the checkout.

target=${CARGO_TARGET_DIR:-target}
[[ $target = /* ]] || target=$PWD/$target

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# Installs missing programs and files: need PROGRAM:PACKAGE | /PATH:PACKAGE …
need() {
    local missing=() program
    for program in "$@"; do
        command -v "${program%:*}" >/dev/null || [ -e "${program%:*}" ] || missing+=("${program#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    local install="apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends install ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # Concurrent checks wait for each other, because apt does not.
    mkdir -p "$target"
    (flock 9 && { $install || { apt-get -q update && $install; }; }) 9>"$target/apt.lock" >&2 ||
        { say "please install ${missing[*]}"; exit 1; }
}

# Builds and starts the service with demo data on free ports, and stops it at exit. Sets `base` (http://host:port for REST), `grpc`
# (host:port) and `token` (for company 1).
start_service() {
    # Reuses the tests' build.
    cargo test --quiet --locked --workspace --no-run
    start_folder
    start_demo data --rate-limit 100000/s
    base=$(greeted data 'REST  \(.*\)/api')
    grpc=$(greeted data 'gRPC  \(.*\)')
    token=$(greeted data 'TOKEN=\(.*\)')
}

# Creates a folder for the services. At exit, stops the services and removes the folder.
start_folder() {
    folder=$(mktemp -d)
    # When root starts the service, its database runs as another user, who needs access to this folder.
    chmod 755 "$folder"
    services=()
    trap stop_services EXIT
}

# Starts a second service, which accepts six requests per minute. Sets `limited` (like `base`) and `limited_token`.
start_limited_service() {
    start_demo limited --rate-limit 6/m
    limited=$(greeted limited 'REST  \(.*\)/api')
    limited_token=$(greeted limited 'TOKEN=\(.*\)')
}

# Starts a gateway that accepts the first service's tokens but cannot reach a core. Sets `coreless` (like `base`).
start_gateway_without_core() {
    COMPLIANCE_JWT_SECRET_FILE=$folder/data/jwt-secret "$target/debug/compliance" gateway --core-url http://127.0.0.1:9 \
        --rest-addr 127.0.0.1:0 --log info 2>"$folder/coreless.log" &
    services+=($!)
    await ' ready ' "$folder/coreless.log"
    coreless=http://$(sed -n 's,.* ready .*rest="\?\([0-9.:]*\).*,\1,p' "$folder/coreless.log")
}

# Starts an OpenID Connect provider, and a service that accepts its tokens: start_service_with_accounts NODE_TOOLS. Sets `provider` (the
# issuer) and `accounts` (like `base`).
start_service_with_accounts() {
    # The provider and the service need each other's addresses, so choose the service's port first.
    local rest
    rest=$(node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => {
        console.log(`127.0.0.1:${server.address().port}`); server.close(); })')
    NODE_PATH=$1/node_modules node tools/scripts/openapi/provider.cjs "http://$rest/console" >"$folder/provider" 2>"$folder/provider.log" &
    services+=($!)
    await http "$folder/provider"
    provider=$(cat "$folder/provider")
    rest_addr=$rest start_demo accounts --rate-limit 100000/s --jwks-url "$provider/jwks" --jwt-issuer "$provider" --jwt-company-claim tenant.id \
        --jwt-person-claim email --console-oidc-issuer "$provider" --console-oidc-client-id console --console-oidc-scope 'openid cases audit'
    accounts=$(greeted accounts 'REST  \(.*\)/api')
}

# Starts a service with demo data, on a free port unless `rest_addr` is set: start_demo NAME [ARGUMENT…].
start_demo() {
    "$target/debug/compliance" serve --demo --data-dir "$folder/$1" --rest-addr "${rest_addr:-127.0.0.1:0}" --grpc-addr 127.0.0.1:0 \
        --log warn "${@:2}" >"$folder/$1.greeting" &
    services+=($!)
    await 'Ctrl-C' "$folder/$1.greeting"
}

# Waits for a line in a file that the newest service writes: await PATTERN FILE.
await() {
    local attempt
    for attempt in $(seq 600); do
        ! grep -q "$1" "$2" || return 0
        kill -0 "${services[-1]}" || { say "the service exited before it wrote '$1' to $2"; exit 1; }
        sleep 0.2
    done
    say "the service did not write '$1' to $2 within two minutes"
    exit 1
}

# Prints a part of a service's greeting: greeted NAME PATTERN.
greeted() {
    local found
    found=$(sed -n "s,^  $2\$,\\1,p" "$folder/$1.greeting")
    [ -n "$found" ] || { say "the greeting of service $1 contains no line that matches '$2'"; exit 1; }
    echo "$found"
}

# Prints a token: token_of [--data-dir FOLDER] --company N [ARGUMENT…].
token_of() {
    [[ $1 = --data-dir ]] || set -- --data-dir "$folder/data" "$@"
    "$target/debug/compliance" token "$@"
}

# Creates company 2 with 1,200 affiliates, 300 URLs and 450 cases. Prints a token for it.
large_company() {
    "$target/debug/compliance" demo-data --data-dir "$folder/data" --company 2 --affiliates 1200 --urls 300 --cases 450 >&2
    token_of --company 2
}

stop_services() {
    # Stops all services at the same time, because each waits several seconds before it closes its port.
    [ ${#services[@]} -eq 0 ] || kill -TERM "${services[@]}" 2>/dev/null || true
    wait "${services[@]}" 2>/dev/null || true
    rm -rf "$folder"
}
