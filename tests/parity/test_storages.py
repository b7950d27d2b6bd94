"""Storages, tensors made of them, and nodes that are called, beside PyTorch."""

import pytest
import torch

import minigrad

from .test_shape_inplace import run

C = "c = torch.arange(6.).reshape(2, 3); "
STORAGES = [
    "d = torch.Tensor(c.storage()); d[0] = 100.; e = d.tolist(); d = 0",
    "d = torch.FloatTensor(c.storage()); d[0] = 100.; d = 0",
    "d = torch.DoubleTensor(c.storage())",
    "d = torch.Tensor(c.long().storage())",
    "d = c.new(c.storage()).tolist()",
    "d = torch.tensor(c.storage()).tolist(); e = torch.as_tensor(c.storage())",
    "d = c.storage().data_ptr() == c.data_ptr(); e = c.untyped_storage().data_ptr() == c[1].storage().data_ptr()",
    "d = c.storage().size(); e = len(c.untyped_storage()); f = c.untyped_storage().nbytes(); g = c[1].untyped_storage().size()",
    "s = c.storage(); s[0] = 7.; d = s[1]; e = s.tolist(); f = list(s)",
    "d = str(c.storage().dtype).partition('.')[2]; e = str(c.storage().device); f = c.storage().element_size()",
    "c.storage().fill_(3.)",
    "c.storage().copy_(torch.ones(6).storage())",
    "s = c.storage().clone(); s[0] = 3.",
    "d = c.storage().is_cuda; e = c.storage().is_shared(); f = c.storage().is_pinned()",
    "d = isinstance(c.storage(), torch.TypedStorage); e = isinstance(c.untyped_storage(), torch.UntypedStorage)",
    "d = torch.is_storage(c.storage()); e = torch.is_storage(c.untyped_storage()); f = torch.is_storage(c)",
    "d = torch.tensor([]).set_(c.storage()); d[0] = 4.",
    "d = torch.empty(0).set_(c.storage(), 2, (2, 2), (2, 1)); d[0] = 4.",
    "d = torch.empty(0).set_(c.storage(), 2, (2, 2)); d[0] = 4.",
    "d = torch.empty(0).set_(c.untyped_storage())",
    "d = torch.empty(0, dtype=torch.int64).set_(c.storage())",
    "d = torch.empty(0).set_(c, 1, (2,), (1,)); d[0] = 4.",
]


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("program", STORAGES)
def test_a_storage_does_what_it_does_in_pytorch(program):
    assert run(minigrad, C + program) == run(torch, C + program)


def test_sizes_beyond_a_storage_are_refused():
    with pytest.raises(RuntimeError, match="out of bounds for storage of 6"):
        minigrad.empty(0).set_(minigrad.arange(6.0).storage(), 2, (9, 2), (2, 1))


FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, k, x):
        ctx.save_for_backward(w, x)
        ctx.k = k
        return w * x * k, w + x
    @staticmethod
    def backward(ctx, g, h):
        w, x = ctx.saved_tensors
        return g * x * ctx.k + h, None, g * w * ctx.k + h
w, x = (torch.tensor([v], requires_grad=True) for v in (2., 3.))
y, z = F.apply(w, 4, x)
"""


@pytest.mark.parametrize(
    "program",
    [
        "d = [t and t.tolist() for t in y.grad_fn.apply(torch.ones(1), torch.ones(1))]",
        "d = [t and t.requires_grad for t in z.grad_fn.apply(torch.ones(1), torch.ones(1))]",
        "y.sum().backward(); z.sum().backward(); d = y.grad_fn.apply(torch.ones(1), torch.ones(1))",
        "d = y.grad_fn.apply(torch.ones(1))",
        "d = y.grad_fn is z.grad_fn; e = [f[0].variable is t for f, t in zip(y.grad_fn.next_functions, (w, x))]",
    ],
)
def test_the_ctx_of_a_function_applies_its_backward(program):
    assert run(minigrad, FUNCTION + program) == run(torch, FUNCTION + program)
