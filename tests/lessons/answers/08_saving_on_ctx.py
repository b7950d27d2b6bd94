# %% values saved_contributions
10.0  # right
torch.tensor(10.0)  # right
0.0  # not right
20.0  # that is the sum of both
5.0  # that is x itself
25.0  # that is the square
6.0  # that is the contribution at 3


# %% right SavedDecay
class SavedDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        ctx.saved_data["rate"] = rate
        ctx.save_for_backward(y := torch.exp(-rate * x))
        return y

    @staticmethod
    def vjp(ctx, g):
        return g * ctx.saved_tensors[0] * -ctx.saved_data["rate"], None


# %% wrong SavedDecay: only takes tensors
class SavedDecay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        ctx.result = (-rate * x).exp()
        ctx.save_for_backward(rate)
        return ctx.result

    @staticmethod
    def backward(ctx, grad_output):
        (rate,) = ctx.saved_tensors
        return grad_output * -rate * ctx.result, None


# %% wrong SavedDecay: save_for_backward saves no tensor
# -         ctx.result = (-rate * x).exp()
# -         ctx.save_for_backward(rate)
# +         ctx.result, ctx.rate = (-rate * x).exp(), rate
# -         (rate,) = ctx.saved_tensors
# -         return grad_output * -rate * ctx.result, None
# +         return grad_output * -ctx.rate * ctx.result, None


# %% wrong SavedDecay: the gradient
class SavedDecay(SavedDecay):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result, None


# %% changes SavedDecay
# ctx.rate = rate -> ctx.slope = lambda result: -rate * result
#   drop (result,) = ctx.saved_tensors
#   return grad_output * -ctx.rate * result, None -> return grad_output * ctx.slope(*ctx.saved_tensors), None  # right
# ctx.rate = rate -> ctx.kept = [result, rate]
#   (result,) = ctx.saved_tensors -> result, rate = ctx.kept
#   return grad_output * -ctx.rate * result, None -> return grad_output * -rate * result, None  # stays in memory
# ctx.result, ctx.rate = (-rate * x).exp(), rate -> result = (-rate * x).exp()
#   return ctx.result -> ctx.save_for_backward(result, torch.tensor(rate)); return result
#   return grad_output * -ctx.rate * ctx.result, None
#   -> result, rate = ctx.saved_tensors; return grad_output * -rate * result, None  # 2 tensors are saved


# %% right SavedPower
class SavedPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.saved_data["n"] = n
        ctx.save_for_backward(x)
        ctx.save_for_forward(n * x ** (n - 1))
        return torch.pow(x, n)

    @staticmethod
    def vjp(ctx, grad_output):
        x, n = ctx.saved_tensors[0], ctx.saved_data["n"]
        return grad_output * n * torch.pow(x, n - 1), None

    @staticmethod
    def jvp(ctx, x_t, _):
        (derivative,) = ctx.saved_tensors
        return derivative * x_t


# %% wrong SavedPower: the gradient
class SavedPower(SavedPower):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x ** (ctx.n - 1), None


# %% wrong SavedPower: save_for_backward
class SavedPower(SavedPower):
    @staticmethod
    def forward(ctx, x, n):
        ctx.x, ctx.n = x, n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.n * ctx.x ** (ctx.n - 1), None


# %% wrong SavedPower: only takes tensors
class SavedPower(SavedPower):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x, n)
        return x**n


# %% wrong SavedPower: the tangent
class SavedPower(SavedPower):
    @staticmethod
    def jvp(ctx, x_t, n_t):
        return x_t * ctx.n


# %% changes SavedPower
# return grad_output * x ** (ctx.n - 1), None -> return grad_output * ctx.n * x ** (ctx.n - 1)  # returns 1 gradient
# class SavedPower(SavedPower): -> class SavedPower(torch.autograd.Function):
#   ctx.x, ctx.n = x, n -> ctx.save_for_backward(x); ctx.n = n
#   return grad_output * ctx.n * ctx.x -> (x,) = ctx.saved_tensors; return grad_output * ctx.n * x  # implement the jvp


# %% right bytes_saved
def bytes_saved(f, *args):
    if not any(a.requires_grad for a in args):
        return 0
    ops = torch.record(f, *args).to_dict()["ops"]
    return sum(entry["bytes"] for op in ops for entry in op["saved"])


# %% wrong bytes_saved: is there a return
def bytes_saved(f, *args):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        f(*args)


# %% wrong bytes_saved: returns 32
def bytes_saved(f, *args):
    seen = {}

    def pack(t):
        seen[t.data_ptr()] = t.nbytes
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(seen.values())


# %% wrong bytes_saved: returns 12
def bytes_saved(f, *args):
    total = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: total.append(t.numel()) or t, lambda t: t):
        f(*args)
    return sum(total)


# %% values bytes_saved
lambda f, *args: f(*args).nbytes  # returns 16
