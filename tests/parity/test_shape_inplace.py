"""Methods that change a tensor's shape or memory in place, beside PyTorch: values, strides, versions, views and gradients.

Each line is a program; "\\n" in it is the end of a line.
"""

import warnings

import pytest
import torch

import minigrad

# fmt: off
# ruff: noqa: E501
PROGRAMS = r"""
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); b = a.transpose_(0,1); f[1] = 9.
a = torch.arange(6.).reshape(2, 3); f = a.t(); a.t_(); f[0] = 7.
a = torch.arange(6.).reshape(2, 3); f = a[0]; a.unsqueeze_(0); f += 1
a = torch.arange(6.).reshape(1,2,3); f = a.detach(); a.squeeze_(0); f[0,0,0] = 8.
a = torch.arange(6.).reshape(1,2,3); f = a[0]; f.squeeze_(); a *= 2
a = torch.arange(6.).reshape(2, 3); f = a[1]; f.unsqueeze_(1); f += 1
b = torch.arange(12.).reshape(3,4); a = b[1]; a.resize_(2,2); a[0,0] = 9.
b = torch.arange(12.).reshape(3,4); a = b[1]; a.resize_(2, 3)
b = torch.arange(12.).reshape(3,4); a = b[1]; a.resize_(1)
b = torch.arange(12.).reshape(3,4); a = b.t(); a.resize_(4,3); a[0] = 0.
b = torch.arange(12.).reshape(3,4); a = b.t(); a.resize_(2,6); a[0] = 0.
b = torch.arange(12.); f = b.view(3,4); b.resize_(4,3); f[0] = -1.
b = torch.arange(12.); f = b.view(3,4); b.resize_(3); f[0] = -1.
b = torch.arange(4.); f = b.view(2,2); b.resize_(2,2); b[0] = 5.
b = torch.arange(4.); c = torch.ones(2,2); b.resize_as_(c)
b = torch.arange(4.); f = b.detach(); b.resize_as_(torch.ones(2,2)); f[0] = 3.
import numpy as np; n = np.arange(4.); a = torch.from_numpy(n); a.resize_(2,2); a[0,0] = 7.; d = n.tolist()
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.swapaxes_(0,1); a[0] = 5.
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.swapdims_(0,1); a[0] = 5.
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.as_strided_((3,2),(1,3)); a[0] = 5.
a = torch.arange(6.).reshape(2, 3); f = a[0]; f.as_strided_((2,),(3,)); f.mul_(10)
a = torch.arange(6.).reshape(2, 3); f = a[1]; f.as_strided_((2,),(1,),0); f.mul_(10)
a = torch.arange(6.); b = torch.ones(2,2); f = b[0]; a.set_(b); a.t_(); f += 3
a = torch.arange(6.); a.set_(a.storage(), 1, (2,2), (2,1)); a[0] = 9.
a = torch.arange(6.); b = torch.zeros(2); a.set_(b.untyped_storage(), 0, (2,), (1,)); a[0] = 9.
a = torch.arange(6.); b = torch.zeros(2); a.set_(b.storage()); a[0] = 9.
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.t_()
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.transpose_(0,1)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.unsqueeze_(0)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.squeeze_()
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.resize_(3,2)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.as_strided_((3,2),(2,1))
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.set_(torch.ones(2))
x = torch.arange(6.).reshape(2, 3).requires_grad_(); f = x[0]; f.unsqueeze_(0)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); f = x.view(-1); f.resize_(2, 3)
x = torch.arange(6.).reshape(2, 3).requires_grad_();\nwith torch.no_grad(): x.t_()\n(x*torch.arange(6.).reshape(3,2)).sum().backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_();\nwith torch.no_grad(): x.unsqueeze_(0)\n(x*x).sum().backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_();\nwith torch.no_grad(): x.resize_(3,2)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.detach().resize_(3,2)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); x.data.resize_(3,2); x.data.t_()
x = torch.arange(6.).reshape(2, 3).requires_grad_(); d = x.detach(); d.t_(); d[0] = 5.; (x*2).sum().backward(); g=x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.view(-1); y.t_(); f2 = f*2; z = (y*torch.arange(6.).reshape(3,2)).sum() + (f2*f).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.view(-1); y.t_(); f[1] = 9.; z = (y*torch.arange(6.).reshape(3,2)).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.view(-1); y.t_(); f.mul_(3); z = (y*torch.arange(6.).reshape(3,2)).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.view(-1); y.t_(); y.mul_(3); z = (f*f).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y[0]; f.unsqueeze_(1); f.mul_(3); z = (y*y).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.t(); f.t_(); f.mul_(3); z = (y*y).sum() + f.sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.t(); f.t_(); y.mul_(3); z = (y*y).sum() + f.sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y.t(); f.unsqueeze_(0); y.mul_(3); z = (f*f).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; y.t_(); f = y[0]; f.mul_(5); z = (y*y).sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f0 = y[0]; y.t_(); f = y[0]; f.mul_(5); f0.add_(1); z = (y*y).sum() + f0.sum() + f.sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f0 = y[0]; y.t_(); y.unsqueeze_(0); f = y[0,0]; f.mul_(5); f0.add_(1); z = (y*y).sum() + f0.sum() + f.sum(); z.backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; z = y*y; y.t_(); z.sum().backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; d = y.detach(); z = y*y; d.t_(); z.sum().backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y[0]; y.resize_(3,2)
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y[0]; y.as_strided_((3,2),(2,1)); (y*torch.arange(6.).reshape(3,2)).sum().backward(); g = x.grad
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y[0]; y.squeeze_(); y.unsqueeze_(-1); f.zero_(); (y*y).sum().backward(); g = x.grad
w = torch.ones(3, requires_grad=True); x = torch.arange(3.).requires_grad_(); m = torch.tensor([1.,0.,1.]); y = w*x; w.data = w.data*m; z = y + w*x*x; z.sum().backward(); g = w.grad; d = x.grad
w = torch.ones(3, requires_grad=True); x = torch.arange(3.).requires_grad_(); y = w*x; w.data = torch.ones(4); y.sum().backward()
w = torch.ones(3, requires_grad=True); x = torch.arange(3.).requires_grad_(); y = w*2; w.data = torch.ones(4); y.sum().backward(); g = w.grad; w = 0
w = torch.ones(3, requires_grad=True); x = torch.arange(3.).requires_grad_(); y = w*x; w.data = torch.ones(3, dtype=torch.float64); y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w*2; w.data = torch.ones(3, dtype=torch.float64)*3; y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); w.data = torch.ones(3, dtype=torch.int64)
w = torch.ones(3, requires_grad=True); y = w*2; y.sum().backward(); w.data = torch.ones(4); (w*2).sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = (w*2).sum(); y.backward(); w.data = w.data.double(); (w*3).sum().backward(); g = w.grad
w = torch.ones(2,3, requires_grad=True); x = torch.ones(1,2); y = x@w; w.data = w.data*torch.tensor([0.,1.,1.]); (y.sum()+(x@w*w).sum()).backward(); g = w.grad
w = torch.ones(2,3, requires_grad=True); v = w[0]; w.data = torch.zeros(2, 3); (v*2).sum().backward(); g = w.grad; d = v
w = torch.ones(3, requires_grad=True); u = w*1; y = u*u; u.data = torch.zeros(3); y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); w.data = 3
w = torch.ones(3, requires_grad=True); w.data = None
w = torch.ones(3, requires_grad=True); w.data = w; (w*2).sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); z = torch.zeros(3); w.data = z; z += 1; a = w
w = torch.ones(3, requires_grad=True); z = torch.zeros(3, requires_grad=True); w.data = z; (w*2).sum().backward(); g = w.grad; d = z.grad
w = torch.ones(3, requires_grad=True); y = w*w; w.data = w.data+1; w.data.add_(1); y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w*w; w.data.add_(1); y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w*w; w.data = w.data+1;\nwith torch.no_grad(): w.add_(1)\ny.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w.pow(3); w.data = w.data*2; (g,) = torch.autograd.grad(y.sum(), w, create_graph=True); g.sum().backward(); d = w.grad
l = torch.nn.Linear(3,2); l.weight.data = torch.arange(6.).reshape(2, 3); l.bias.data.zero_(); x = torch.ones(1,3,requires_grad=True); y = l(x); l.weight.data = l.weight.data*2; y.sum().backward(); g = x.grad; d = l.weight.grad
c = torch.arange(6.).reshape(2, 3); a = c.expand(4,2,3); a.transpose_(0,2)
c = torch.arange(6.).reshape(2, 3); a = c.expand(4,2,3); a.resize_(6)
a = torch.arange(6); f = a.view(2, 3); a.unsqueeze_(0)
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.t_(); a.t_(); f[0] = 4.
a = torch.arange(6.).reshape(2, 3); v = a._version; f = a.view(-1); a.t_(); a.unsqueeze_(0); d = a._version - v; e = f._version
a = torch.arange(6.).reshape(2, 3); v = a._version; f = a.view(-1); a.resize_(3,2); d = a._version - v; e = f._version
a = torch.arange(6.).reshape(2, 3); v = a._version; f = a.view(-1); a.set_(torch.ones(2)); d = a._version - v; e = f._version
a = torch.arange(6.).reshape(2, 3); f = a[0]; f.t_(); d = f._base is a
a = torch.arange(6.).reshape(2, 3); f = a[0]; a.t_(); d = f._base is a; e = a._is_view()
x = torch.arange(6.).reshape(2, 3).requires_grad_(); y = x*2; f = y[0]; f.unsqueeze_(0); d = f._is_view(); f*=2; y.sum().backward(); g=x.grad
a = torch.arange(6.).reshape(2, 3); a.squeeze_(0); a.transpose_(0,5)
a = torch.arange(24.).reshape(2,3,4); f = a[0]; a.t_()
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.resize_(-1)
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.resize_((3,2)); f[0]=1.
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.resize_(torch.Size([3,2])); f[0]=1.
x = torch.ones(2,3,requires_grad=True); d = torch.func.grad(lambda x: (x*1).t_()[0].sum())(x.detach())
x = torch.ones(2, 3); d = torch.func.vmap(lambda x: (x*1).unsqueeze_(0))(x)
def f(x):\n y = x*2; z = y[0]; y.t_(); z.mul_(3); return (y*y).sum()\nd = torch.func.jvp(f, (torch.arange(6.).reshape(2, 3),), (torch.ones(2, 3),))[1]
def f(x):\n y = x*2; z = y[0]; y.t_(); z.mul_(3); return (y*y)\nd = torch.func.vmap(f)(torch.arange(12.).reshape(2,2,3))
class F(torch.autograd.Function):\n  @staticmethod\n  def forward(ctx, x):\n    y = x.clone(); z = y[0]; y.t_(); z.mul_(2); ctx.save_for_backward(y); return y*3\n  @staticmethod\n  def backward(ctx, g):\n    (y,) = ctx.saved_tensors; h = g*1; k = h[0]; h.t_(); return h*y.t()\nx = torch.arange(6.).reshape(2, 3).requires_grad_(); F.apply(x).sum().backward(); g = x.grad
g1 = torch.arange(6.).reshape(2, 3); x = torch.ones(2,3,requires_grad=True); (x*g1).sum().backward(); v = x.grad.view(-1); x.grad.transpose_(0,1); d = x.grad; v[0] = 5.
x = torch.ones(2,3,requires_grad=True); (x*2).sum().backward(); x.grad.t_(); (x*2).sum().backward()
a = torch.arange(6.).reshape(2, 3); f = a.view(-1); a.squeeze_(); a.resize_(1); f[0] = 3.
a = torch.arange(6.).reshape(2, 3); f = a.narrow(0,1,1); f.resize_(3); f[0] = -3.
a = torch.zeros(0); a.resize_(2,2).fill_(1.)
a = torch.arange(6.).reshape(2, 3); a.resize_(2,2); b = a.clone(); a.resize_(2, 3)
a = torch.arange(6.).reshape(2, 3); a.unsqueeze_(0).unsqueeze_(0).squeeze_()
a = torch.arange(6.).reshape(2, 3); p = [a.data_ptr()]; f = a[0]; a.t_().unsqueeze_(0); d = [a.data_ptr()] == p; p = 0; e = a.is_contiguous(); h = a.storage_offset()
y = torch.ones(2, 3); x = y.requires_grad_(); z = x.detach(); z.resize_(6); z[0] = 4.; (x*x).sum().backward(); g = x.grad
l = torch.nn.Linear(3,2); x = torch.ones(1,3,requires_grad=True); l.weight.data = torch.arange(6.).reshape(2, 3); l.bias.data.zero_(); y = l(x); l.weight.data = l.weight.data*2; (y*y).sum().backward(); g = x.grad; d = l.weight.grad; e = l.weight
l = torch.nn.Linear(3,2); x = torch.ones(1,3,requires_grad=True); l.weight.data = torch.arange(6.).reshape(2, 3); l.bias.data.zero_(); y = l(x); l.weight.data = l.weight.data*2; y2 = l(y*0+1 if 0 else x); (y*y2).sum().backward(); g = x.grad; d = l.weight.grad
l = torch.nn.Linear(3,2); x = torch.ones(1,3,requires_grad=True); l.weight.data = torch.arange(6.).reshape(2, 3); l.bias.data.zero_(); y = (l(x)**2).sum(); l.weight.data = l.weight.data*2; (h,) = torch.autograd.grad(y, x, create_graph=True); (h*h).sum().backward(); g = x.grad; d = l.weight.grad; b = h
l = torch.nn.Linear(3,2); x = torch.ones(4,1,3,requires_grad=True); l.weight.data = torch.arange(6.).reshape(2, 3); l.bias.data.zero_(); y = (l(x)**2).sum(); l.weight.data = l.weight.data*2; y.backward(); g = x.grad
l = torch.nn.Linear(3,2,bias=False); x = torch.ones(1,3,requires_grad=True); l.weight.data = torch.arange(6.).reshape(2, 3); y = (l(x)**2).sum(); l.weight.data = l.weight.data*2; y.backward(); g = x.grad
c = torch.nn.Conv1d(1,1,2,bias=False); x = torch.ones(1,1,3,requires_grad=True); c.weight.data = torch.arange(2.).reshape(1,1,2); y = (c(x)**2).sum(); c.weight.data = c.weight.data*2+1; y.backward(); g = x.grad
l = torch.nn.Linear(3,2); x = torch.ones(1,3,requires_grad=True); y = (l(x)**2).sum(); l.weight.data = l.weight.data*2;\nwith torch.no_grad(): l.weight.add_(1)\ny.backward()
l = torch.nn.LayerNorm(3); x = torch.arange(3.).reshape(1,3).requires_grad_(); y = (l(x)**2).sum(); l.weight.data = l.weight.data*2; y.backward(); g = (x.grad*1000).round(); d = l.weight.grad
w = torch.ones(3, requires_grad=True); x = torch.arange(3.).requires_grad_(); y = w.sqrt()*x; w.data = torch.ones(4); y.sum().backward(); g = w.grad; w = 0
w = torch.ones(3, requires_grad=True); u = w.sqrt(); y = u*2; u.data = torch.zeros(3); y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w.reciprocal(); w.data = w.data*4; y.sum().backward(); g = w.grad
w = torch.ones(3, requires_grad=True); y = w**2; w.data = w.data*4; y.sum().backward(); g = w.grad
""".strip().split("\n")
# fmt: on


def shown(library, value):
    if not isinstance(value, library.Tensor):
        return value if isinstance(value, (int, float, str, bool, tuple, list)) else None
    return {
        "dtype": str(value.dtype).rpartition(".")[2],
        "shape": tuple(value.shape),
        "stride": tuple(value.stride()),
        "values": value.tolist(),
        "requires_grad": value.requires_grad,
        "version": value._version,
    }


def run(library, program):
    """Return what a program leaves in its variables, or the type of its error; of gradients without their versions."""
    names = {"torch": library}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(program.replace("\\n", "\n"), names)
    except Exception as e:
        return type(e).__name__
    found = {k: shown(library, v) for k, v in names.items() if len(k) == 1 and not callable(v)}
    gradients = [t.grad for t in names.values() if isinstance(t, library.Tensor) and t.is_leaf]
    for name, value in found.items():
        if isinstance(value, dict) and any(names[name] is g for g in gradients):
            value.pop("version")
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_pytorch(program):
    assert run(minigrad, program) == run(torch, program)
