"""Generates the wire code from the proto. Run it with the packages of requirements.txt: `make generate`.

The rules that the gateway checks (buf.validate) are options of the proto's fields, the roles of callers those of its methods.
They are taken off first, so that the package needs no code for them and cannot clash with another copy of it in the same process.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

PROTOS = ["toolsandbox/agent/v1/agent.proto", "toolsandbox/tools/v1/tools.proto"]


def main() -> int:
    buf, root, out = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    image = subprocess.run([buf, "build", "--as-file-descriptor-set", "-o", "-#format=bin"], cwd=root, check=True, capture_output=True).stdout
    plain = descriptor_pb2.FileDescriptorSet()
    for file in descriptor_pb2.FileDescriptorSet.FromString(image).file:
        if file.name in PROTOS:
            plain.file.append(without_rules(file))
    with tempfile.NamedTemporaryFile(suffix=".binpb") as described:
        described.write(plain.SerializeToString())
        described.flush()
        arguments = ["protoc", f"--descriptor_set_in={described.name}", f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}", *PROTOS]
        if failed := protoc.main(arguments):
            return int(failed)
    return max(public(pathlib.Path(out) / proto.replace(".proto", "_pb2_grpc.py")) for proto in PROTOS)


def public(generated: pathlib.Path) -> int:
    """Takes out the check of grpcio's version, which pyproject.toml states: it needs a private module of grpcio."""
    text, found = re.subn(r"import warnings\n|GRPC_GENERATED_VERSION = (?s:.*?)\n    \)\n\n\n", "", generated.read_text())
    if found != 2:
        print(f"{generated}: expected one import of warnings and one check of the version", file=sys.stderr)
        return 1
    generated.write_text(text)
    return 0


def without_rules(file: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    del file.dependency[:]
    file.ClearField("options")
    for message in file.message_type:
        for field in message.field:
            field.ClearField("options")
        for oneof in message.oneof_decl:
            oneof.ClearField("options")
    for service in file.service:
        for method in service.method:
            method.ClearField("options")
    return file


if __name__ == "__main__":
    sys.exit(main())
