"""Builds the file system of the image as deploy/Dockerfile says, without a container, and runs the image's commands in it.

`image.py FOLDER TARGET`: leaves it in FOLDER/root, and compiles in the folder TARGET.
"""

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from docker.utils.build import exclude_paths

from dockerfile import Stage
from machine import PAGE, Machine, blocks, fail, wait_until, writes_and_reads

FOLDER, TARGET = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
CODENAME = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)[1]
# The program is compiled on this machine, so the image has its C library; and with the profile that is compiled sooner.
ARGUMENTS = {"PROFILE": "release", "DEBIAN_VERSION": CODENAME}
BUILD, IMAGE = Stage(1, ARGUMENTS), Stage(2, ARGUMENTS)


def copy_context(folder):
    """Copies what Docker would send to a build. Times are kept, so that what was compiled from the same is not compiled again."""
    lines = (line.strip() for line in Path(".dockerignore").read_text().splitlines())
    sent = exclude_paths(".", [line for line in lines if line and not line.startswith("#")])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(sent):
        copy = folder / path
        if Path(path).is_dir() and not Path(path).is_symlink():
            copy.mkdir(parents=True, exist_ok=True)
        elif not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            shutil.copystat(path.relative_to(folder), path)
    return len(sent)


def build(context):
    """Checks that the context has all that is compiled, and runs what the first stage runs.

    It runs in the checkout, where the program of this profile is compiled already; in another folder cargo would compile it again.
    """
    if any(context.glob("rust-toolchain*")):
        fail("the context has a file rust-toolchain: rustup would download that version instead of using the image's")
    version = BUILD.values["RUST_VERSION"]
    oldest = re.search(r'^rust-version = "(.*)"', Path("Cargo.toml").read_text(), re.MULTILINE)[1]
    if version != oldest:
        fail(f"the image has Rust {version}, and Cargo.toml asks for {oldest}")
    # The checkout knows its commit.
    environment = {name: value for name, value in (os.environ | BUILD.environment | BUILD.values).items() if name != "COMPLIANCE_COMMIT"}
    (context / "target").symlink_to(TARGET)
    run("cargo check --quiet --locked --package compliance", context, environment)
    for command in BUILD.all("RUN"):
        run(command.replace("-o compliance", f"-o {context}/compliance").replace('"target/', f'"{TARGET}/'), Path.cwd(), environment)


def run(command, folder, environment):
    """Runs a command of a stage."""
    print(f"image.py: in {folder}, with PROFILE={ARGUMENTS['PROFILE']}: {' '.join(command.split())}", file=sys.stderr)
    if subprocess.run(["/bin/sh", "-ec", command], cwd=folder, env=environment | {"CARGO_TARGET_DIR": str(TARGET)}).returncode != 0:
        fail("the image cannot be built")


def file_system(root, context):
    """Makes the second stage: Debian, what the stage runs, and what it copies."""
    made = hashlib.sha256(repr([CODENAME, IMAGE.all("RUN")]).encode()).hexdigest()
    stamp = FOLDER / "root.made"
    if not stamp.exists() or stamp.read_text() != made:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        print(f"image.py: a file system of Debian {CODENAME}", file=sys.stderr)
        debian = ["mmdebstrap", "--quiet", "--variant=apt", CODENAME, str(root)]
        subprocess.run(debian, check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", root / "etc")
        for command in IMAGE.all("RUN"):
            if subprocess.run(["chroot", root, "/bin/sh", "-ec", command], stdout=subprocess.DEVNULL).returncode != 0:
                fail(f"fails in the image: {command}")
        stamp.write_text(made)
    workdir = BUILD.one("WORKDIR")
    for copied in IMAGE.all("COPY"):
        source, destination = copied.removeprefix("--from=build ").split()
        source = context / source.removeprefix(f"{workdir}/")
        if not source.exists():
            fail(f"there is no {source.relative_to(context)} after the build: COPY {copied}")
        shutil.copy2(source, root / destination.lstrip("/"))


def without_settings(machine):
    """The image's own command says what it needs."""
    result = machine.run([*IMAGE.command("ENTRYPOINT"), *IMAGE.command("CMD")], IMAGE.environment, machine.address())
    if result.returncode != 2 or "--database-url" not in result.stderr:
        fail(f"without settings the image ends with {result.returncode}: {result.stderr}")


def docker_run(machine, line, folder):
    """Mounts what a line of `docker run` mounts, and returns the command, the environment and the address of what it starts."""
    options = argparse.ArgumentParser()
    options.add_argument("-e", dest="environment", action="append", default=[])
    options.add_argument("-v", dest="mounts", action="append", default=[])
    # How long it may take to stop, and what other machines reach, are not of this machine.
    options.add_argument("--rm", action="store_true")
    options.add_argument("-p", "--stop-timeout", dest="ignored")
    options.add_argument("image")
    options.add_argument("command", nargs=argparse.REMAINDER)
    run = options.parse_args(shlex.split(line.replace("$PWD", str(folder)))[2:])
    if f"-t {run.image} " not in blocks(PAGE, "Image")[0]:
        fail(f"the page runs {run.image} and builds: {blocks(PAGE, 'Image')[0]}")
    machine.clear()
    for mount in run.mounts:
        source, path, _ = mount.split(":")
        machine.mount(path, Path(source).read_bytes(), mode=Path(source).stat().st_mode)
    environment = IMAGE.environment | dict(pair.split("=", 1) for pair in run.environment)
    return [*IMAGE.command("ENTRYPOINT"), *run.command], environment, machine.address()


def page(machine):
    """The section of the image: migrates, serves, is healthy, takes a request, and stops."""
    folder = machine.set_up_database()
    migrate, serve = filter(None, blocks(PAGE, "Image")[1].replace("\\\n", " ").splitlines())
    machine.succeed(*docker_run(machine, migrate, folder))
    command, environment, address = docker_run(machine, serve, folder)
    process = machine.start("serve", command, environment, address)
    health = IMAGE.command("HEALTHCHECK")
    wait_until("the health check succeeds", lambda: machine.run(health, environment, address).returncode == 0, process)
    token = machine.succeed(["compliance", "token", "--company", "1"], environment).strip()
    writes_and_reads(address, token, "image")
    machine.stop()
    if machine.run(health, environment, address).returncode == 0:
        fail("the health check succeeds although nothing runs")


def main():
    context, root = FOLDER / "context", FOLDER / "root"
    print(f"image.py: {copy_context(context)} files and folders in the context")
    build(context)
    file_system(root, context)
    with Machine(root) as machine:
        without_settings(machine)
        page(machine)


main()
