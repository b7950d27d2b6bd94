"""Forward mode and backward together: forward over reverse, reverse over forward, tangents that require grad."""

from tests.parity.harness import gives, leaf
from tests.parity.makers import parts_of


@gives([64.0, [4.0, 6.0]])
def dual_of_a_leaf_keeps_backward(torch):
    fw = torch.autograd.forward_ad
    x = leaf(torch, [2.0, 3.0])
    with fw.dual_level():
        dual = fw.make_dual(x, torch.tensor([1.0, 10.0]))
        y = (dual**2).sum()
        tangent = fw.unpack_dual(y).tangent
        y.backward()
    return tangent, x.grad


@gives([[9.0, 15.0, 29.0], [4.0, 2.0, -16.0]])
def hessian_vector_product_forward_over_reverse(torch):
    fw = torch.autograd.forward_ad
    x, v = leaf(torch, [1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, -1.0])
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        y = (dual**3).sum() + dual[0] * dual[1] * dual[2]
        (g,) = torch.autograd.grad(y, dual, create_graph=True)
        return parts_of(torch, g)


def hessian_vector_product_without_create_graph(torch):
    fw = torch.autograd.forward_ad
    x, v = leaf(torch, [1.0, 2.0]), torch.tensor([1.0, -1.0])
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        (g,) = torch.autograd.grad((dual.sin() * dual).sum(), dual)
        return parts_of(torch, g)


def forward_over_reverse_through_softmax_and_matmul(torch):
    fw = torch.autograd.forward_ad
    w = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    x = torch.tensor([1.0, -1.0], dtype=torch.float64)
    with fw.dual_level():
        dual = fw.make_dual(w, v)
        loss = -(dual @ x).log_softmax(0)[0]
        (g,) = torch.autograd.grad(loss, dual)
        return parts_of(torch, g), parts_of(torch, loss)


@gives([6.0, [72.0, 0.0]])
def gradient_penalty_in_forward_mode(torch):
    fw = torch.autograd.forward_ad
    w = leaf(torch, [1.0, 2.0])
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.0]))
        slope = fw.unpack_dual((w * x * x).sum()).tangent
        (slope**2).backward()
    return slope, w.grad
