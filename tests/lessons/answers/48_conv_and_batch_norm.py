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

# %% right FusedRelu
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         c = F.conv2d(x, weight)
# +         grad_c = torch.where(c > 0, grad_output, torch.zeros_like(c))

# %% right FusedRelu
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = F.conv2d(x, weight).relu().sign() * grad_output

# %% wrong FusedRelu: bytes
# -     def setup_context(ctx, inputs, output):
# -         ctx.save_for_backward(*inputs)
# +     def setup_context(ctx, inputs, output):
# +         ctx.save_for_backward(*inputs, output)
# -         x, weight = ctx.saved_tensors
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         x, weight, y = ctx.saved_tensors
# +         grad_c = grad_output * (y > 0)

# %% wrong FusedRelu: the gradient of
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = grad_output

# %% wrong FusedRelu: the gradient of
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = 1.0 * (F.conv2d(x, weight) > 0)

# %% wrong FusedRelu: the gradient of
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = grad_output * F.conv2d(x, weight)

# %% wrong FusedRelu: the gradient of
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = grad_output * (F.conv2d(x, weight) < 0)

# %% wrong FusedRelu: your code raises
# -         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
# +         return conv2d_weight(x, weight.shape, grad_c), conv2d_input(x.shape, weight, grad_c)

# %% wrong FusedRelu: expected 2, got 1
# -         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
# +         return conv2d_input(x.shape, weight, grad_c)

# %% wrong FusedRelu: the gradient of
# -         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
# +         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_output)

# %% wrong FusedRelu: where the convolution is 0
# -         grad_c = grad_output * (F.conv2d(x, weight) > 0)
# +         grad_c = grad_output * (F.conv2d(x, weight) >= 0)

# %% wrong FusedRelu: is None
# -         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
# +         return None, conv2d_weight(x, weight.shape, grad_c)

# %% wrong FusedRelu: result
# -         return F.conv2d(x, weight).relu()
# +         return F.conv2d(x, weight)

# %% wrong FusedRelu: the gradient of
# -         return conv2d_input(x.shape, weight, grad_c), conv2d_weight(x, weight.shape, grad_c)
# +         return conv2d_input(x.shape, weight, grad_c) / 2, conv2d_weight(x, weight.shape, grad_c)


# %% right folded
def folded(weight, mean, var, eps):
    s = torch.sqrt(var + eps)
    return weight / s[:, None, None, None], -mean / s


# %% right folded
def folded(weight, mean, var, eps):
    scale = (var + eps) ** -0.5
    return [(weight.movedim(0, -1) * scale).movedim(-1, 0), -scale * mean]


# %% wrong folded: the weight for eps
# -     s = (var + eps).sqrt()
# +     s = var + eps

# %% wrong folded: the weight for eps = 0.5
# -     s = (var + eps).sqrt()
# +     s = var.sqrt()

# %% wrong folded: the weight for eps = 0.5
# -     s = (var + eps).sqrt()
# +     s = var.sqrt() + eps

# %% wrong folded: the bias
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s.reshape(-1, 1, 1, 1), mean / s

# %% wrong folded: the bias
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s.reshape(-1, 1, 1, 1), -mean

# %% wrong folded: the weight
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight * s.reshape(-1, 1, 1, 1), -mean / s

# %% wrong folded: your code raises
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s, -mean / s

# %% wrong folded: expected two tensors
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s.reshape(-1, 1, 1, 1)

# %% wrong folded: shape (4, 1, 1, 1)
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s.reshape(-1, 1, 1, 1), (-mean / s).reshape(-1, 1, 1, 1)

# %% wrong folded: the weight
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight, -mean / s

# %% wrong folded: your code raises
# -     return weight / s.reshape(-1, 1, 1, 1), -mean / s
# +     return weight / s.reshape(1, -1, 1, 1), -mean / s
