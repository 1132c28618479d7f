# Functions for checks. Source this file in the root of the checkout.

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
    # One check at a time, because apt does not wait.
    mkdir -p "$target"
    (flock 9 && { $install || { apt-get -q update && $install; }; }) 9>"$target/apt.lock" >&2 ||
        { say "please install ${missing[*]}"; exit 1; }
}

# Builds and starts the service with demo data on free ports, and stops it at exit. Sets `base` (http://host:port of REST), `grpc`
# (host:port) and `token` (of company 1).
start_service() {
    # The build of the tests.
    cargo test --quiet --locked --workspace --no-run
    start_folder
    start_demo data --rate-limit 100000/s
    base=$(greeted data 'REST  \(.*\)/api')
    grpc=$(greeted data 'gRPC  \(.*\)')
    token=$(greeted data 'TOKEN=\(.*\)')
}

# Creates the folder of the services. At exit, stops the services and removes it.
start_folder() {
    folder=$(mktemp -d)
    # A service that root starts runs its database as another user, who must reach this folder.
    chmod 755 "$folder"
    services=()
    trap stop_services EXIT
}

# Starts another service that accepts six requests a minute. Sets `limited` (like `base`) and `limited_token`.
start_limited_service() {
    start_demo limited --rate-limit 6/m
    limited=$(greeted limited 'REST  \(.*\)/api')
    limited_token=$(greeted limited 'TOKEN=\(.*\)')
}

# Starts a gateway that accepts tokens of the first service and cannot reach a core. Sets `coreless` (like `base`).
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
    # The provider needs the address of the console, and the service needs the address of the provider.
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

# Waits for a line in the output of the newest service: await PATTERN FILE.
await() {
    local attempt
    for attempt in $(seq 600); do
        ! grep -q "$1" "$2" || return 0
        kill -0 "${services[-1]}" || { say 'the service has ended'; exit 1; }
        sleep 0.2
    done
    say 'the service did not start in time'
    exit 1
}

# Prints a part of the greeting of a service: greeted NAME PATTERN.
greeted() {
    local found
    found=$(sed -n "s,^  $2\$,\\1,p" "$folder/$1.greeting")
    [ -n "$found" ] || { say "the greeting has no line $2"; exit 1; }
    echo "$found"
}

# Prints a token: token_of [--data-dir FOLDER] --company N [ARGUMENT…].
token_of() {
    [[ $1 = --data-dir ]] || set -- --data-dir "$folder/data" "$@"
    "$target/debug/compliance" token "$@"
}

# Creates company 2 with 1,200 affiliates, 300 URLs and 450 cases. Prints a token.
large_company() {
    "$target/debug/compliance" demo-data --data-dir "$folder/data" --company 2 --affiliates 1200 --urls 300 --cases 450 >&2
    token_of --company 2
}

stop_services() {
    # In reverse order, since a process may need earlier ones.
    local index
    for ((index = ${#services[@]} - 1; index >= 0; index--)); do
        kill -TERM "${services[index]}" 2>/dev/null && wait "${services[index]}" || true
    done
    rm -rf "$folder"
}
