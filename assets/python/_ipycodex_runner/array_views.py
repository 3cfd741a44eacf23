"""Arrays of numpy's that show memory of other arrays, as slices do.

In: arrays that go to another process or are there already. Out: of those whose memory another one shows, too, what
makes the view there. Invariant: arrays that shared memory share it afterwards. Absent on purpose: arrays of objects,
subclasses, and memory that no array owns.
"""

import sys


def find_owner(value):
    """The array whose memory an array shows; None for anything else."""
    numpy = sys.modules.get("numpy")
    kind = getattr(numpy, "ndarray", None)
    if type(value) is not kind or value.dtype.hasobject:
        return None
    return value.base if type(value.base) is kind and not value.base.dtype.hasobject else value


def find_references(known, carried):
    """{address of an owner: array that stands for its memory}: one that is at the prompt already, or, where several
    arrays go that show it, the owner."""
    references, seen = {}, set()
    for value in carried:
        owner = find_owner(value)
        if owner is not None and value.size:
            if id(owner) in seen and is_whole(owner, owner):
                references[id(owner)] = owner
            seen.add(id(owner))
    for value in known:
        owner = find_owner(value)
        if owner is not None and is_whole(value, owner):
            references[id(owner)] = value
    return references


def is_whole(value, owner):
    return value.nbytes == owner.nbytes and (value.flags.c_contiguous or value.flags.f_contiguous)


def reduce_view(value, references):
    """How the array is made of another's memory; None where it is not."""
    owner = find_owner(value)
    reference = None if owner is None else references.get(id(owner))
    if reference is None or reference is value:
        return None
    offset = get_address(value) - get_address(reference)
    return make_view, (reference, value.dtype, value.shape, value.strides, offset, value.flags.writeable)


def get_address(value):
    return value.__array_interface__["data"][0]


def make_view(reference, dtype, shape, strides, offset, writeable):
    kind = type(reference)
    made = kind(shape, dtype, reference if reference.flags.c_contiguous else reference.T, offset, strides)
    if not writeable:
        made.flags.writeable = False
    return made
