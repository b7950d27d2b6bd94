"""Arguments and results of vmap."""

import minigrad as torch
from minigrad import vmap

from . import mistake


@mistake("vmap", "input 0 has 5", "input 1 has 3", remedy="in_dims=(0, None)", says=ValueError)
def mapped_sizes_differ():
    """Two inputs have different numbers of examples.

    vmap takes one example of each input at a time, so all inputs need the same number. Use `None` in `in_dims` for an input
    that all examples share.
    """
    return vmap(torch.matmul)(torch.ones(5, 3), torch.ones(3))  # - <-
    # + return vmap(torch.matmul, in_dims=(0, None))(torch.ones(5, 3), torch.ones(3))


@mistake("vmap", "in_dims=(0,)", "2 arguments", remedy="in_dims=(0, 0)", says=ValueError)
def in_dims_structure():
    """in_dims has a different number of entries than the function has arguments.

    It has one entry for each argument: the dimension that holds the examples.
    """
    return vmap(torch.mul, in_dims=(0,))(torch.ones(3), torch.ones(3))  # - <-
    # + return vmap(torch.mul, in_dims=(0, 0))(torch.ones(3), torch.ones(3))


@mistake("vmap", "in_dims=[0, None]", "list", remedy="in_dims=(0, None)", says=ValueError)
def in_dims_list():
    """in_dims is a list.

    A list stands for an argument that is a list; use a tuple for the dimensions of several arguments.
    """
    return vmap(torch.mul, in_dims=[0, None])(torch.ones(3), torch.ones(3))  # - <-
    # + return vmap(torch.mul, in_dims=(0, None))(torch.ones(3), torch.ones(3))


@mistake("vmap", "in_dim=2", "input 0", "(3, 4)", remedy="0, 1 or None", says=ValueError)
def in_dim_out_of_range():
    """in_dims names a dimension that the input does not have.

    Dimensions are counted from 0.
    """
    return vmap(torch.sum, in_dims=2)(torch.ones(3, 4))  # - <-
    # + return vmap(torch.sum, in_dims=1)(torch.ones(3, 4))


@mistake("vmap", "in_dims", "None", remedy="in_dims=0", says=ValueError)
def all_in_dims_none():
    """No input has a batch dimension.

    Nothing then determines the number of examples.
    """
    return vmap(torch.sum, in_dims=None)(torch.ones(3, 4))  # - <-
    # + return vmap(torch.sum, in_dims=0)(torch.ones(3, 4))


@mistake("vmap", "input 1", "float", remedy="in_dims=(0, None)", says=ValueError)
def number_mapped():
    """A Python number is an argument of a mapped function.

    vmap maps over a dimension of every argument, and a number has none.
    """
    return vmap(torch.mul)(torch.ones(3), 2.0)  # - <-
    # + return vmap(torch.mul, in_dims=(0, None))(torch.ones(3), 2.0)


@mistake("vmap", "input 0", "0 dimensions", remedy="stack", says=ValueError)
def list_in_place_of_batch():
    """The examples are passed as a list of tensors.

    vmap maps over a dimension of tensors. It treats a list as one argument of several tensors, each with a batch dimension.
    """
    examples = [torch.tensor(1.0), torch.tensor(2.0)]
    return vmap(torch.sin)(examples)  # - <-
    # + return vmap(torch.sin)(torch.stack(examples))


@mistake("vmap", "out_dims=None", "output 0", "3 examples", remedy="out_dims=0", says=ValueError)
def out_dims_none():
    """out_dims=None for an output that differs between the examples.

    None means that all examples have the same output. Here they differ.
    """
    return vmap(torch.sin, out_dims=None)(torch.ones(3))  # - <-
    # + return vmap(torch.sin, out_dims=0)(torch.ones(3))


@mistake("vmap", "out_dims=(0, 1)", "one output", remedy="out_dims=0", says=ValueError)
def out_dims_structure():
    """out_dims has two entries, but the function returns one tensor.

    out_dims has one entry for each output: the position of its batch dimension.
    """
    return vmap(torch.sin, out_dims=(0, 1))(torch.ones(3))  # - <-
    # + return vmap(torch.sin, out_dims=0)(torch.ones(3))


@mistake("vmap", "out_dim 1", "1 dimension", "output 0", remedy="out_dims=0", says=IndexError)
def out_dim_out_of_range():
    """out_dims names a dimension that the output does not have.

    One number per example gives an output with a single dimension, the batch.
    """
    return vmap(torch.sum, out_dims=1)(torch.ones(3, 4))  # - <-
    # + return vmap(torch.sum, out_dims=0)(torch.ones(3, 4))


@mistake("vmap", "output 1", "int", remedy="out_dims=(0, None)", says=ValueError)
def mapped_returns_number():
    """A mapped function returns a Python number.

    It has no dimension that could hold the examples.
    """
    return vmap(lambda x: (x.sum(), x.shape[0]))(torch.ones(3, 4))  # - <-
    # + return vmap(lambda x: (x.sum(), x.shape[0]), out_dims=(0, None))(torch.ones(3, 4))


@mistake("vmap", "NoneType", "double", remedy="return", says=ValueError)
def mapped_returns_nothing():
    """A mapped function has no `return`.

    Python then returns None.
    """

    def double(x):  # <=
        x * 2  # -
        # + return x * 2

    return vmap(double)(torch.ones(3))  # <-


@mistake("vmap", "chunk_size", "0", remedy="chunk_size=None", says=ValueError)
def chunk_size_zero():
    """chunk_size is 0.

    It is the number of examples that vmap computes at once.
    """
    return vmap(torch.sin, chunk_size=0)(torch.ones(3))  # - <-
    # + return vmap(torch.sin, chunk_size=None)(torch.ones(3))


@mistake("vmap", "a tensor of shape (3,)", remedy="vmap(f)(x)", says=TypeError)
def vmap_of_a_value():
    """vmap gets the value of the function instead of the function.

    It runs the function itself, on all examples at once.
    """
    x = torch.ones(3)
    return vmap(torch.sin(x))(x)  # - <-
    # + return vmap(torch.sin)(x)
