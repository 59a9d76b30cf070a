"""How compiled kernels see a `World`: as one pointer to a table of array addresses and lengths.

Handing a tuple of arrays from kernel to kernel would copy hundreds of words per call; this way a world costs a
register, and looking up one of its arrays is a load. The arrays are kept alive by the Python object.
"""
# mypy: ignore-errors
# numba publishes no types for its extension interface.

from __future__ import annotations

import hashlib
from importlib import resources

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array

from penstock.simulate.layout import TABLE_COLUMNS, World, blank_arrays

WORD = ir.IntType(64)
ARRAY_TYPES = {name: typeof(array) for name, array in blank_arrays().items()}
ROWS = {name: row for row, name in enumerate(ARRAY_TYPES)}


def _digest() -> str:
    """A mark of the layout and of all kernels.

    numba notices when a kernel's own file changes, not when a kernel it calls or the layout does. With this mark
    in the type's name, machine code made from other sources is never taken for ours.
    """
    sources = sorted(resources.files("penstock.simulate").iterdir(), key=lambda file: file.name)
    mark = hashlib.sha256()
    for file in sources:
        text = file.read_bytes() if file.name.endswith(".py") else b""
        if b"@kernel\n" in text or b"@entry\n" in text or file.name in ("layout.py", "states.py"):
            mark.update(text)
    return mark.hexdigest()[:16]


class WorldType(types.Type):
    """The compiler's name for a world."""

    def __init__(self) -> None:
        super().__init__(name=f"PenstockWorld_{_digest()}")


WORLD = WorldType()


@typeof_impl.register(World)
def _typeof_world(value, context):
    return WORLD


@register_model(WorldType)
class WorldModel(models.PrimitiveModel):
    """A pointer to the table."""

    def __init__(self, manager, frontend_type):
        super().__init__(manager, frontend_type, WORD.as_pointer())


@unbox(WorldType)
def _unbox_world(typ, world, context):
    number = context.pyapi.object_getattr_string(world, "address")
    address = context.pyapi.long_as_longlong(number)
    context.pyapi.decref(number)
    pointer = context.builder.inttoptr(address, WORD.as_pointer())
    failed = cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    return NativeValue(pointer, is_error=failed)


@infer_getattr
class WorldAttributes(AttributeTemplate):
    """`world.osc` and its siblings are arrays."""

    key = WorldType

    def generic_resolve(self, typ, attribute):
        """The array's type."""
        return ARRAY_TYPES.get(attribute)


@lower_getattr_generic(WorldType)
def _lower_attribute(context, builder, typ, pointer, attribute):
    kind = ARRAY_TYPES[attribute]
    array = make_array(kind)(context, builder)
    words = [
        builder.load(builder.gep(pointer, [WORD(TABLE_COLUMNS * ROWS[attribute] + column)]))
        for column in range(TABLE_COLUMNS)
    ]
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = words[1 : 1 + kind.ndim]
    strides = [itemsize] if kind.ndim == 1 else [builder.mul(shape[1], itemsize), itemsize]
    populate_array(
        array,
        data=builder.inttoptr(words[0], array.data.type),
        shape=shape,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()
