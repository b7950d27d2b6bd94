# %% values conv_norm_bytes
460800  # right
torch.tensor(460800)  # right
115200  # number of elements
921600  # not 8
524288  # becomes one of 30
492032  # not 31
57600  # one example
28800  # 16 channels
9216  # the weight
460.8  # is not right
"lots"  # expected a number
[460800, 0]  # expected a number

# %% changes FusedRelu
# grad_c = grad_output * (F.conv2d(x, weight) > 0)
#   -> c = F.conv2d(x, weight); grad_c = torch.where(c > 0, grad_output, torch.zeros_like(c))  # right
# grad_c = grad_output * (F.conv2d(x, weight) > 0) -> grad_c = F.conv2d(x, weight).relu().sign() * grad_output  # right
# ctx.save_for_backward(*inputs) -> ctx.save_for_backward(*inputs, output)
#   x, weight = ctx.saved_tensors -> x, weight, y = ctx.saved_tensors
#   grad_c = grad_output * (F.conv2d(x, weight) > 0) -> grad_c = grad_output * (y > 0)  # bytes
# grad_c = grad_output * (F.conv2d(x, weight) > 0) -> grad_c = grad_output  # the gradient of
# grad_c = grad_output * (F.conv2d(x, weight) > 0) -> grad_c = 1.0 * (F.conv2d(x, weight) > 0)  # the gradient of
# grad_c = grad_output * (F.conv2d(x, weight) > 0) -> grad_c = grad_output * F.conv2d(x, weight)  # the gradient of
# F.conv2d(x, weight) > 0 -> F.conv2d(x, weight) < 0  # the gradient of
# return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
#   -> return conv2d_weight(x, weight.shape, grad_c), conv2d_input(x.shape, weight, grad_c)  # your code raises
# return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
#   -> return conv2d_input(x.shape, weight, grad_c)  # expected 2, got 1
# weight.shape, grad_c -> weight.shape, grad_output  # the gradient of
# F.conv2d(x, weight) > 0 -> F.conv2d(x, weight) >= 0  # where the convolution is 0
# conv2d_input(x.shape, weight, grad_c) -> None  # is None
# return F.conv2d(x, weight).relu() -> return F.conv2d(x, weight)  # result
# conv2d_input(x.shape, weight, grad_c) -> conv2d_input(x.shape, weight, grad_c) / 2  # the gradient of

# %% changes folded
# s = (var + eps).sqrt() -> s = torch.sqrt(var + eps)
#   return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight / s[:, None, None, None], -mean / s  # right
# s = (var + eps).sqrt() -> scale = (var + eps) ** -0.5
#   return weight / s.reshape(-1, 1, 1, 1), -mean / s
#   -> return [(weight.movedim(0, -1) * scale).movedim(-1, 0), -scale * mean]  # right
# s = (var + eps).sqrt() -> s = var + eps  # the weight for eps
# s = (var + eps).sqrt() -> s = var.sqrt()  # the weight for eps = 0.5
# s = (var + eps).sqrt() -> s = var.sqrt() + eps  # the weight for eps = 0.5
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight / s.reshape(-1, 1, 1, 1), mean / s  # the bias
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight / s.reshape(-1, 1, 1, 1), -mean  # the bias
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight * s.reshape(-1, 1, 1, 1), -mean / s  # the weight
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight / s, -mean / s  # your code raises
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight / s.reshape(-1, 1, 1, 1)  # expected two tensors
# s.reshape(-1, 1, 1, 1), -mean / s -> s.reshape(-1, 1, 1, 1), (-mean / s).reshape(-1, 1, 1, 1)  # shape (4, 1, 1, 1)
# return weight / s.reshape(-1, 1, 1, 1), -mean / s -> return weight, -mean / s  # the weight
# s.reshape(-1, 1, 1, 1) -> s.reshape(1, -1, 1, 1)  # your code raises
