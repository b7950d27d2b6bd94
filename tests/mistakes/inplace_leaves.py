"""In-place operations on leaves."""

import minigrad as torch

from . import mistake


@mistake("sub_", "leaf", "(2,)", remedy="with torch.no_grad():")
def update_outside_no_grad():
    """A parameter is updated while minigrad records operations.

    The update would become part of the graph, and the parameter a result of it, which no longer gets a `.grad`.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w -= 0.1 * w.grad  # - <-
    # + with torch.no_grad():
    # +     w -= 0.1 * w.grad


@mistake("add_", "leaf", "()", remedy="x = x + ...")
def loss_that_starts_as_a_leaf():
    """The sum of the losses starts as a tensor with `requires_grad=True`, and `+=` writes to it.

    A leaf is an end of the graph, so it cannot become the result of an addition.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = torch.tensor(0.0, requires_grad=True)  # - <=
    # + loss = torch.tensor(0.0)
    for i in range(2):
        loss += w[i] ** 2  # <-
    loss.backward()


@mistake("copy_", "leaf", "(2,)", remedy="with torch.no_grad():")
def element_of_a_leaf():
    """An element of a parameter is assigned.

    The assignment is an in-place operation like any other.
    """
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w[0] = 5.0  # - <-
    # + with torch.no_grad():
    # +     w[0] = 5.0


@mistake("masked_fill_", "leaf", "(3,)", remedy="torch.where")
def masked_assignment_to_a_leaf():
    """`w[w < 0] = 0` sets the negative entries of a parameter to 0.

    This writes to a leaf. Make a new tensor to cut the entries off in the forward pass and differentiate it.
    """
    w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    w[w < 0] = 0.0  # - <-
    w.sum().backward()  # -
    # + torch.where(w < 0, 0.0, w).sum().backward()


@mistake("mul_", "view", "leaf", "(2, 2)", remedy="with torch.no_grad():")
def row_of_a_leaf():
    """A row of a parameter is modified through a view.

    The view shares the parameter's memory, so the parameter changes as well.
    """
    w = torch.ones(2, 2, requires_grad=True)
    row = w[0]  # -
    row.mul_(2)  # - <-
    # + with torch.no_grad():
    # +     w[0].mul_(2)


@mistake("normal_", "leaf", "(2, 3)", remedy="with torch.no_grad():")
def initial_values_of_a_leaf():
    """A parameter gets its initial values while minigrad records operations.

    Drawing random numbers into a leaf writes to it. The functions of `nn.init` switch recording off themselves.
    """
    w = torch.empty(2, 3, requires_grad=True)
    w.normal_(0, 0.01)  # - <-
    # + torch.nn.init.normal_(w, 0, 0.01)


@mistake("copy_", "leaf", "(3,)", remedy="with torch.no_grad():")
def load_into_a_leaf():
    """Pretrained values are copied into a parameter while minigrad records operations.

    `copy_` writes to the leaf, and would make it the result of the copy.
    """
    w = torch.zeros(3, requires_grad=True)
    w.copy_(torch.ones(3))  # - <-
    # + with torch.no_grad():
    # +     w.copy_(torch.ones(3))


@mistake("t_", "leaf", "(2, 3)", remedy="x.t()")
def transpose_of_a_leaf_in_place():
    """A parameter is transposed in place.

    Methods that end in an underscore change the tensor itself, even those that only change its shape.
    """
    w = torch.ones(2, 3, requires_grad=True)
    w.t_()  # - <-
    # + return w.t()


@mistake("add", "out", remedy="without out=")
def out_of_tracked():
    """The result of an operation on tracked tensors is written into `out=`.

    minigrad does not record such a write, so the gradient would end there.
    """
    w = torch.ones(3, requires_grad=True)
    y = torch.empty(3)
    torch.add(w, 1.0, out=y)  # - <-
    # + with torch.no_grad():
    # +     torch.add(w, 1.0, out=y)
    # + return torch.add(w, 1.0)
