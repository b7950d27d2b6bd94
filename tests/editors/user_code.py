"""A user's program with mistakes: each comment after `#!` is the rule and the first line of pyright's message for the line."""
# ruff: noqa

import minigrad as torch
import minigrad.nn.functional as F
from minigrad import Tensor, nn
from minigrad.autograd.function import FunctionCtx

x = torch.ones(2, 3, requires_grad=True)
y: Tensor = torch.exp(x) + 2 * x.sum(dim=0, keepdim=True) - x.T.mT[0]
best: int = x.max(dim=1).indices.size(0) + x.shape[-1] + len(x.tolist())
q, r = torch.linalg.qr(x)
biggest: Tensor = F.relu(torch.max(x), inplace=True).mul_(2.5).to(torch.float64)
pooled, places = F.max_pool2d(torch.rand(1, 1, 4, 4), 2, return_indices=True)
x.nosuchmethod()  #! reportAttributeAccessIssue: Cannot access attribute "nosuchmethod" for class "Tensor"
x.sum(dims=0)  #! reportCallIssue: No parameter named "dims"
torch.exp("a")  #! reportArgumentType: Argument of type "Literal['a']" cannot be assigned to parameter "input" of type "Tensor" in function "exp"
torch.exponential(x)  #! reportAttributeAccessIssue: "exponential" is not a known attribute of module "minigrad"
F.softmax(x, dmi=1)  #! reportCallIssue: No parameter named "dmi"
x.shape.sum()  #! reportAttributeAccessIssue: Cannot access attribute "sum" for class "Size"
torch.max(x, dim=0).sum()  #! reportAttributeAccessIssue: Cannot access attribute "sum" for class "Selected"
x.backward(retain_grpah=True)  #! reportCallIssue: No parameter named "retain_grpah"
wrong: int = x.mean()  #! reportAssignmentType: Type "Tensor" is not assignable to declared type "int"


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, n: int = 2) -> Tensor:
        ctx.save_for_backward(x)
        ctx.n = n
        ctx.save_for_backwards(x)  #! reportCallIssue: Object of type "NoSuchName" is not callable
        ctx.mark_dirty("x")  #! reportArgumentType: Argument of type "Literal['x']" cannot be assigned to parameter "tensors" of type "Tensor" in function "mark_dirty"
        return x**n

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor):
        (x,) = ctx.saved_tensors
        x.nosuchmethod()  #! reportAttributeAccessIssue: Cannot access attribute "nosuchmethod" for class "Tensor"
        (x,) = ctx.saved_tensor  #! reportGeneralTypeIssues: "NoSuchName" is not iterable
        return grad * ctx.n * x ** (ctx.n - 1), None


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.saev_for_backward(*inputs)
        ctx.save_for_backward(1)  #! reportArgumentType: Argument of type "Literal[1]" cannot be assigned to parameter "tensors" of type "Tensor | None" in function "save_for_backward"

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * tangent

    @staticmethod
    def vmap(info, in_dims, x):
        return Twice.apply(x), in_dims[0]


Power.apply(x, 3).sum().backward()
Power.apply(x, "3")  #! reportCallIssue: No overloads for "apply" match the provided arguments #! reportArgumentType: Argument of type "Literal['3']" cannot be assigned to parameter "n" of type "int" in function "apply"
Twice.apply(x).nosuchmethod()  #! reportAttributeAccessIssue: Cannot access attribute "nosuchmethod" for class "Tensor"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4, bais=False)  #! reportCallIssue: No parameter named "bais"
        self.norm, self.p = nn.LayerNorm(4), nn.Parameter(torch.zeros(4))

    def forward(self, x: Tensor, scale: float = 1.0):
        return self.norm(self.first(x)).relu() * scale + self.p


net = Net()
loss = nn.MSELoss()(net(x, scale=2.0), torch.zeros(2, 4))
net(x, scael=2.0)  #! reportCallIssue: No parameter named "scael"
nn.Linear(3, 4)(3)  #! reportArgumentType: Argument of type "Literal[3]" cannot be assigned to parameter "input" of type "Tensor" in function "__call__"
net(x).nosuchmethod()  #! reportAttributeAccessIssue: Cannot access attribute "nosuchmethod" for class "Tensor"
with torch.no_grad():
    torch.optim.SGD(net.parameters(), lr=0.1).stpe()  #! reportAttributeAccessIssue: Cannot access attribute "stpe" for class "SGD"
torch.optim.Adam(net.parameters(), learning_rate=0.1)  #! reportCallIssue: No parameter named "learning_rate"
