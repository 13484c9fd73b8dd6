#!/usr/bin/env python3
"""Writes src/ops/opaque_operators.cc: operators that the table does not have, and that a Program may hold as
PyTorch's calls all the same (docs/recording.md). Needs PyTorch, whose schemas it reads.

    scripts/opaque_operators.py            rewrite it
    scripts/opaque_operators.py --check    fail when PyTorch or the table says otherwise

The list is that of one version of PyTorch. With another one, --check looks only at the operators that it has.
"""

import functools
import re
import sys
from pathlib import Path

import torch

VERSION = "2.13"
ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "src/ops/opaque_operators.cc"
sys.path.insert(0, str(ROOT / "scripts"))
from operators_doc import rows  # noqa: E402

ARGUMENTS = {"Tensor", "int", "SymInt", "float", "bool", "number", "str", "ScalarType", "Layout", "Device",
             "MemoryFormat", "Generator"}
# Results or effects of operators with these are no matter of dtypes and shapes alone.
OTHER_TAGS = {torch.Tag.inplace_view, torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape,
              torch.Tag.data_dependent_output}
# Parts of names: operators on other layouts, of other devices' libraries, of PyTorch's own tests and transformations;
# random ones without a tag; and those that give a tensor other memory.
OTHER_NAMES = ("sparse", "_coo", "_csr", "_nested", "_jagged", "mkldnn", "miopen", "mps_", "fbgemm", "quantize",
               "::_test_", "::_foobar", "::_functional_", "_dual", "::_fw_primal", "_philox_", "resize", "_copy_from",
               "pin_memory", "::_lazy_clone", "::set")
COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


def plain(kind):
    """A type without what makes it optional or a list."""
    while kind.startswith(("Optional[", "List[")):
        kind = kind[kind.index("[") + 1:-1]
    return kind


def hides_a_write(argument):
    """Running statistics are written in training, which most schemas do not say."""
    return argument.name.startswith("running_") and not (argument.alias_info and argument.alias_info.is_write)


def may_be_opaque(func):
    """Whether fake tensors say all about the results, and the schema all about the effects. Composite operators are
    taken apart, so a Program never holds them."""
    schema = func._schema
    kinds = [plain(str(argument.type)) for argument in schema.arguments]
    return (not OTHER_TAGS & set(func.tags) and not any(part in schema.name for part in OTHER_NAMES)
            and bool(schema.returns) and all(str(returned.type) == "Tensor" for returned in schema.returns)
            and set(kinds) <= ARGUMENTS and "Tensor" in kinds
            and not any(argument.is_out or hides_a_write(argument) for argument in schema.arguments)
            and not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), COMPOSITE))


@functools.cache
def all_operators():
    """Name such as "aten.histc.default" -> the operator. TorchScript's own are none: only its interpreter runs them."""
    packets = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()
               if schema.name.startswith("aten::")}
    found = [getattr(packet, overload) for packet in (getattr(torch.ops.aten, name) for name in packets)
             for overload in packet.overloads()]
    return {str(func): func for func in found if torch._C._dispatch_has_kernel(func.name())}


@functools.cache
def opaque_operators():
    known = {row["name"] for row in rows()}
    return sorted(name for name, func in all_operators().items() if name not in known and may_be_opaque(func))


def text():
    names = opaque_operators()
    return "\n".join([
        "// Written by scripts/opaque_operators.py. Operators of PyTorch outside of the table that a Program",
        "// may call.", "#include <algorithm>", "#include <array>", "", '#include "ops/operator.h"', "", "namespace kw {",
        "namespace {", "", "// clang-format off",
        "constexpr std::array<std::string_view, %d> kOpaque = {{" % len(names), *('    "%s",' % name for name in names),
        "}};", "// clang-format on", "", "}  // namespace", "",
        "std::span<const std::string_view> opaque_operators() { return kOpaque; }", "",
        "bool is_opaque_operator(std::string_view name) { return std::ranges::binary_search(kOpaque, name); }", "", "}  // namespace kw", ""])


def main():
    if "--check" not in sys.argv[1:]:
        LIST.write_text(text())
        return
    listed = set(re.findall(r'"(aten[.][\w.]+)"', LIST.read_text()))
    if torch.__version__.startswith(VERSION + "."):
        wrong = listed ^ set(opaque_operators())
    else:
        wrong = {name for name in listed & set(all_operators()) if name not in opaque_operators()}
    if wrong:
        sys.exit("%s is wrong about %s: run scripts/opaque_operators.py" % (LIST.relative_to(ROOT), ", ".join(sorted(wrong))))


if __name__ == "__main__":
    main()
