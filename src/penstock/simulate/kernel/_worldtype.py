"""How compiled kernels see a `World`: as one pointer to a table of array addresses and lengths.

Handing a tuple of arrays from kernel to kernel would copy hundreds of words per call; this way a world costs a
register, and looking up one of its arrays is a load. The arrays are kept alive by the Python object.

`world.osc.dirty[o]` is one load at a known distance: an array of records is a pointer to its row of the table, a
field of it a pointer to the first element. numba's own record arrays would carry seven words, count references
and wrap negative indices; that took half of the time to compile. No kernel indexes with a negative number.
"""
# mypy: ignore-errors
# numba publishes no types for its extension interface.

from __future__ import annotations

import hashlib
import operator
from importlib import resources

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array

from penstock.simulate.kernel.records import TABLE_COLUMNS, World, blank_arrays

WORD = ir.IntType(64)
WORD_BYTES = 8
ARRAY_TYPES = {name: typeof(array) for name, array in blank_arrays().items()}
ROWS = {name: row for row, name in enumerate(ARRAY_TYPES)}


def _digest() -> str:
    """A mark of all sources of this package.

    numba notices when a kernel's own file changes, not when a kernel it calls or a record type does. With this mark
    in the type's name, machine code made from other sources is never taken for ours.
    """
    sources = sorted(resources.files("penstock.simulate.kernel").iterdir(), key=lambda file: file.name)
    mark = hashlib.sha256()
    for file in sources:
        if file.name.endswith(".py"):
            mark.update(file.read_bytes())
    return mark.hexdigest()[:16]


class RecordsType(types.Type):
    """An array of records: `world.osc`."""

    def __init__(self, array) -> None:
        super().__init__(name=f"PenstockRecords({array})")
        self.array = array


class FieldType(types.Type):
    """One field of all records, `world.osc.dirty`, or an array of plain numbers, `world.page_state`."""

    def __init__(self, array, field="") -> None:
        super().__init__(name=f"PenstockField({array}, {field})")
        items = ARRAY_TYPES[array].dtype
        if field:
            self.stored, self.offset, self.stride = items.typeof(field), items.offset(field), items.size
        else:
            self.stored, self.offset, self.stride = items, 0, items.bitwidth // 8
        #: What a kernel sees: integers are stored in as few bytes as they need and computed with in eight.
        self.dtype = types.int64 if isinstance(self.stored, types.Integer) else self.stored


class WorldType(types.Type):
    """The compiler's name for a world."""

    def __init__(self) -> None:
        super().__init__(name=f"PenstockWorld_{_digest()}")


WORLD = WorldType()


@typeof_impl.register(World)
def _typeof_world(value, context):
    return WORLD


@register_model(WorldType)
@register_model(RecordsType)
@register_model(FieldType)
class PointerModel(models.PrimitiveModel):
    """A pointer: to the table, to a row of it, to a first element."""

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
        kind = ARRAY_TYPES.get(attribute)
        if kind is None or kind.ndim > 1:
            return kind
        return RecordsType(attribute) if isinstance(kind.dtype, types.Record) else FieldType(attribute)


@infer_getattr
class RecordsAttributes(AttributeTemplate):
    """`world.osc.dirty` and its siblings, and `world.osc.shape`."""

    key = RecordsType

    def generic_resolve(self, typ, attribute):
        """The field's type, if there is such a field."""
        if attribute == "shape":
            return types.UniTuple(types.intp, 1)
        return FieldType(typ.array, attribute) if attribute in ARRAY_TYPES[typ.array].dtype.fields else None


@infer_global(operator.getitem)
class FieldGet(AbstractTemplate):
    """`field[i]`."""

    def generic(self, args, kws):
        if isinstance(args[0], FieldType) and isinstance(args[1], types.Integer):
            return signature(args[0].dtype, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class FieldSet(AbstractTemplate):
    """`field[i] = value`."""

    def generic(self, args, kws):
        """The value is converted to the element's type."""
        if isinstance(args[0], FieldType) and isinstance(args[1], types.Integer):
            return signature(types.none, args[0], types.int64, args[0].dtype)
        return None


@lower_getattr_generic(WorldType)
def _lower_attribute(context, builder, typ, pointer, attribute):
    row = builder.gep(pointer, [WORD(TABLE_COLUMNS * ROWS[attribute])])
    kind = ARRAY_TYPES[attribute]
    if isinstance(kind.dtype, types.Record):
        return row
    if kind.ndim == 1:
        return builder.inttoptr(_load_row(builder, row), WORD.as_pointer())
    array = make_array(kind)(context, builder)
    words = [_load_row(builder, builder.gep(row, [WORD(column)])) for column in range(TABLE_COLUMNS)]
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    populate_array(
        array,
        data=builder.inttoptr(words[0], array.data.type),
        shape=words[1:],
        strides=[builder.mul(words[2], itemsize), itemsize],
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


@lower_getattr_generic(RecordsType)
def _lower_field(context, builder, typ, row, attribute):
    if attribute == "shape":
        length = _load_row(builder, builder.gep(row, [WORD(1)]))
        return context.make_tuple(builder, types.UniTuple(types.intp, 1), [length])
    first = builder.add(_load_row(builder, row), WORD(FieldType(typ.array, attribute).offset))
    return builder.inttoptr(first, WORD.as_pointer())


def _load_row(builder, word):
    """A word of the table: it never changes, so the compiler need not read it again after a store."""
    value = builder.load(word)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _element(context, builder, field, first, index):
    stored = context.get_data_type(field.stored).as_pointer()
    start = builder.bitcast(first, ir.IntType(8).as_pointer())
    return builder.bitcast(
        builder.gep(start, [builder.mul(index, WORD(field.stride))], inbounds=True), stored
    )


@lower_builtin(operator.getitem, FieldType, types.int64)
def _lower_get(context, builder, sig, args):
    field = sig.args[0]
    value = builder.load(_element(context, builder, field, *args))
    return context.cast(builder, value, field.stored, field.dtype)


@lower_builtin(operator.setitem, FieldType, types.int64, types.Any)
def _lower_set(context, builder, sig, args):
    field = sig.args[0]
    first, index, value = args
    stored = context.cast(builder, value, field.dtype, field.stored)
    builder.store(stored, _element(context, builder, field, first, index))
    return context.get_dummy_value()


@intrinsic
def fetch_line(typingctx, items, index):
    """Begin to fetch the cache line of `field[i]` or `array[i]`, without waiting for it."""

    def lower(context, builder, sig, args):
        kind, (first, number) = sig.args[0], args
        if isinstance(kind, FieldType):
            element = _element(context, builder, kind, first, number)
        else:
            array = make_array(kind)(context, builder, first)
            element = builder.gep(array.data, [number])
        byte = ir.IntType(8).as_pointer()
        how = [ir.IntType(32)(word) for word in (0, 3, 1)]  # to read, to keep, data
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", (byte,), ir.FunctionType(ir.VoidType(), [byte, *(word.type for word in how)])
        )
        builder.call(function, [builder.bitcast(element, byte), *how])
        return context.get_dummy_value()

    return types.none(items, types.int64), lower
