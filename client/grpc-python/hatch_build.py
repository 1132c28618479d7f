"""Compiles the contract during the package build. A checkout contains the contract in ../../proto, a source distribution in proto."""

import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ContractHook(BuildHookInterface):
    def initialize(self, version, build_data):
        root = Path(self.root)
        folders = [folder for folder in (root / "proto", root / "../../proto") if (folder / "compliance/v1").is_dir()]
        if not folders:
            raise RuntimeError(f"no contract found: {root} is neither client/grpc-python in a checkout nor a source distribution")
        contract = folders[0] / "compliance"
        self.generated = Path(tempfile.mkdtemp())
        if self.target_name == "sdist":
            build_data["force_include"][str(contract)] = "proto/compliance"
            return

        # The compiler is installed only during a package build.
        from grpc_tools import protoc

        out = self.generated
        sources = sorted(str(file) for file in contract.glob("v1/*.proto"))
        includes = [f"-I{folders[0]}", f"-I{files('grpc_tools') / '_proto'}"]
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        if protoc.main(["protoc", *includes, *outputs, *sources]) != 0:
            raise RuntimeError(f"protoc cannot compile the contract in {contract}")
        for file in ("__init__.py", "v1/__init__.py", "py.typed"):
            (out / "compliance" / file).touch()
        build_data["force_include"][str(out / "compliance")] = "compliance"

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.generated, ignore_errors=True)
