"""List PyTorch's own tests that minigrad does not pass, by reason: a line, then indented ones of `check check: entry entry`.

A check that passes has to leave the table, or the test of it fails.  Complex, sparse and quantized tensors are in no sample: of
those dtypes none are asked for.  Entries whose operation or module minigrad does not have are not compared.
"""

# Memory that was never written holds anything: shapes and dtypes are compared.
UNSET = "empty empty_like empty_strided new_empty new_empty_strided".split()

REASONS = """
it draws where an element is negative: examples do not share draws
    vmap: nn.functional.rrelu
not there: these have no in-place form, or no out=, here
    out: nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.linear
not there: sparse gradients
    float64 float32: nn.functional.embedding
    float64 float32 vmap: nn.functional.embedding_bag
any will do: the sign of an eigenvector, and which of equal elements is chosen
    float64 float32 jvp vmap out: linalg.eigh
    int64: kthvalue topk
PyTorch keeps the integer part of alpha and beta, which is refused here
    int64: addbmm addmv baddbmm
PyTorch's gradient is right behind log_softmax alone
    gradients: nn.CTCLoss
PyTorch's second derivative is NaN where it is 0, or there is none
    second_gradients: linalg.norm.subgradients_at_zero nn.functional.scaled_dot_product_attention
PyTorch's tangent has few digits: finite differences are nearer to the one here
    jvp: cholesky_inverse logcumsumexp
PyTorch sums weights of float32 in float32 beside numbers of float64
    jvp second_gradients: cov
PyTorch gives the tensor that is written to another size
    inplace: addbmm
PyTorch sums bools to integers where there is nothing to sum
    bools: sum_to_size
PyTorch limits bools, but not by numbers
    bools: clamp_min clamp_max
the size of the result, or a decision, depends on values, which differ between examples
    vmap: allclose argwhere equal item linspace.tensor_overload nonzero unique unique_consecutive
running statistics are the same for all examples: PyTorch's vmap refuses, too
    vmap: nn.functional.batch_norm nn.functional.instance_norm
it reads memory beside its tensor, which a batch does not have
    vmap: as_strided.partial_views resize_ resize_as_
the Function says that it has no rule for vmap, or no second derivative
    vmap second_gradients: NumpyCubeNotComposableAutogradFunction
numbers are taken where PyTorch takes tensors alone
    errors: __radd__ __rand__ __rmul__ __ror__ __rxor__ atan2 bitwise_and bitwise_or bitwise_xor
    errors: bitwise_left_shift bitwise_right_shift clamp_max clamp_min copysign eq ne ge gt le lt
    errors: float_power fmax fmin fmod remainder logical_and logical_or logical_xor maximum minimum pow xlogy
    errors: gcd heaviside lcm special.xlog1py special.zeta
its samples of errors have tensors without numbers, which cannot be converted
    errors: gradient
a result is whole before it is written to out=, which may share memory with the operands
    errors: cat index_select kthvalue masked_select take
a result is converted to the dtype of out=, as everywhere
    errors: aminmax gather multinomial
an error of another type: RuntimeError for ValueError, NotImplementedError for TypeError
    errors: arange nn.functional.adaptive_avg_pool2d nn.functional.adaptive_max_pool2d hypot logaddexp
    errors: nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool3d
    errors: nn.RNN nn.GRU nn.LSTM
the state of a recurrent cell may have more dimensions than two
    errors: nn.RNNCell nn.GRUCell nn.LSTMCell
"""
