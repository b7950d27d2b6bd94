"""Modules say what they cannot be built from, given or called with."""

from tests.refusals import each


def lend(module, given):
    """Modules with a mistake, and programs of more than one statement."""
    T, nn = given["T"], given["nn"]

    class WithoutInit(nn.Module):
        def __init__(self, what):
            if what == "module":
                self.lin = nn.Linear(2, 3)
            elif what == "parameter":
                self.w = nn.Parameter(module.ones(3))
            else:
                self.register_buffer("b", module.ones(3))

    class HalfState(nn.Module):
        def get_extra_state(self):
            return 3

    class Undecided((nn.lazy if hasattr(nn, "lazy") else nn.modules.lazy).LazyModuleMixin, nn.Module):
        pass

    def pre_hook_that_gives(x):
        lin = nn.Linear(2, 3)
        lin.register_forward_pre_hook(lambda *a: x, with_kwargs=True)
        lin(T(2))

    def backward_hook_with_two_gradients():
        lin = nn.Linear(2, 3)
        lin.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
        lin(T(1, 2).requires_grad_()).sum().backward()

    def assign(m, name, value):
        setattr(m, name, value)

    def load_half_state():
        HalfState().load_state_dict(HalfState().state_dict())

    def clip_nan():
        p = nn.Parameter(T(3))
        p.grad = T(3) * float("nan")
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)

    found = (
        Undecided,
        WithoutInit,
        pre_hook_that_gives,
        backward_hook_with_two_gradients,
        assign,
        load_half_state,
        clip_nan,
    )
    return {f.__name__: f for f in found}


# fmt: off
CASES = [
    ('nn.Softmax2d()(T(2, 3))', 'Softmax2d', 'expected a 3D or 4D input, got shape (2, 3)', 'write input.unsqueeze(0) for'),
    ('nn.ReLU(3, 4, 5)', 'ReLU', 'too many positional arguments', 'pass the settings (inplace=False)'),
    ('nn.MultiheadAttention(5, 2)', 'MultiheadAttention', 'embed_dim=5 must be divisible by', 'choose embed_dim as a'),
    ('nn.MultiheadAttention(4, 0)', 'MultiheadAttention', 'embed_dim=4 must be divisible by', 'choose embed_dim as a'),
    ('nn.MultiheadAttention(4, 2)(T(3, 2, 4), T(3, 2, 4), T(3, 2, 4), is_causal=True)',
     'MultiheadAttention', 'need attn_mask if', 'pass'),
    ('nn.Sequential(nn.ReLU())[1]', 'Sequential', 'index 1 is out of range for 1 modules', 'use an index from -1 to 0'),
    ('nn.Sequential().extend(3)', 'Sequential', 'extend needs an iterable of modules, but', 'write extend([module, ...])'),
    ('nn.Sequential(nn.ReLU()) * 0', 'Sequential', 'number of times, got 0', 'multiply by an int of at'),
    ('nn.Conv2d(3, 4, 3, groups=2)', 'Conv2d', 'in_channels=3 and out_channels=4 must be', 'choose both as multiples of'),
    ("nn.Conv2d(4, 4, 3, padding_mode='mirror')", 'Conv2d', "padding_mode='mirror' is not", "use 'zeros', 'reflect',"),
    ("nn.Conv2d(4, 4, 3, padding='full')", 'Conv2d', "invalid padding string 'full'", "use 'same', 'valid' or"),
    ("nn.Conv2d(4, 4, 3, padding='same', stride=2)", 'Conv2d', 'convolutions (stride=2)', 'use stride=1, or'),
    ('pre_hook_that_gives(3)', 'Linear', 'a forward pre-hook must return None or a tuple', 'write `return args, kwargs`,'),
    ('backward_hook_with_two_gradients()', 'Linear', 'a backward hook returned 2 gradients,', 'return a tuple of 1, with'),
    ("nn.init.calculate_gain('swish')", 'calculate_gain', 'unsupported nonlinearity swish', 'use one of tanh, relu,'),
    ('nn.init.eye_(T(3))', 'eye_', 'only tensors with 2 dimensions are supported, got', 'pass a matrix, such as'),
    ('nn.init.orthogonal_(T(3))', 'orthogonal_', 'only tensors with 2 or more dimensions', 'pass a weight of at least 2'),
    ('nn.init.xavier_uniform_(T(3))', 'init', 'for a tensor of shape (3,)', 'use a weight of at least 2'),
    ("nn.init.kaiming_uniform_(T(3, 3), mode='fan')", 'init', 'mode fan is not supported', "use 'fan_in' or"),
    ('nn.Embedding(3, 4, padding_idx=3)', 'Embedding', 'padding_idx=3 must be within', 'choose it from -3 to 2'),
    ('nn.Embedding(3, 4, _weight=T(2, 4))', 'Embedding', 'shape of weight (2, 4) does not', 'pass a weight of shape'),
    ('nn.Embedding.from_pretrained(T(3))', 'Embedding', 'parameter is expected to be 2-dimensional, got', 'pass a matrix'),
    ('nn.Dropout(1.5)', 'Dropout', 'dropout probability has to be between 0 and 1, but got 1.5', 'write Dropout(p=0.5)'),
    ('nn.BatchNorm1d(3)(T(3))', 'BatchNorm1d', 'expected 2D or 3D input (got 1D input)', 'pass (batch, channels)'),
    ('torch.cat(T(3))', 'cat', "argument 'tensors' must be a list or tuple", 'pass a list: torch.cat([a, b])'),
    ('nn.Module()(T(3))', 'Module', 'Module [Module] is missing the required "forward"', 'def forward(self, input): ...'),
    ('nn.Linear(2, 3).wieght', 'Linear', "'Linear' object has no attribute 'wieght'", 'write .weight, or assign it in'),
    ("nn.Module().register_parameter('w', T(3))", 'Module', "cannot assign 'Tensor' object to", 'an nn.Parameter or None'),
    ("nn.Module().register_buffer('b', 3)", 'Module', "cannot assign 'int' object to buffer 'b'", 'pass a tensor or None'),
    ("nn.Module().add_module('m', 3)", 'Module', 'int is not a Module subclass', 'pass an instance of a class'),
    ("nn.Module().register_parameter('a.b', None)", 'Module', 'parameter name has to be a', 'choose a name that can'),
    ('nn.Module().register_buffer(3, None)', 'Module', 'and not empty, got 3', 'choose a name that can be'),
    ("nn.Linear(2, 3).register_buffer('weight', None)", 'Linear', "attribute 'weight' already", 'choose another name,'),
    ("nn.Linear(2, 3).get_parameter('weights')", 'Linear', "'Linear' object has no attribute", 'write .weight, or'),
    ("nn.Linear(2, 3).get_submodule('weight')", 'Linear', "`weight` in 'weight' is not a Module", 'look up'),
    ("nn.Linear(2, 3).get_parameter('bias.weight')", 'Linear', "`bias` in 'bias' is not a Module", 'look up'),
    ("nn.Linear(2, 3).train('yes')", 'train', 'training mode is expected to be boolean, got', 'write module.train() or'),
    ('nn.Linear(2, 3).to(torch.int64)', 'to', 'but got desired dtype=minigrad.int64', 'write'),
    ("assign(nn.Linear(2, 3), 'weight', T(3, 2))", 'Linear', "cannot assign 'Tensor' as", 'assign an nn.Parameter'),
    ("assign(nn.Sequential(nn.ReLU()), '0', 3)", 'Sequential', "as child module '0'", 'assign a Module or'),
    ("assign(nn.BatchNorm1d(3), 'running_mean', 3)", 'BatchNorm1d', "cannot assign 'int' as buffer", 'assign a tensor or'),
    ("WithoutInit('module')", 'WithoutInit', 'cannot assign module before', 'call super().__init__() first'),
    ("WithoutInit('parameter')", 'WithoutInit', 'cannot assign parameters before', 'call super().__init__()'),
    ('nn.GroupNorm(2, 3)', 'GroupNorm', 'num_channels=3 must be divisible by', 'choose num_groups as a divisor'),
    ('nn.BatchNorm1d(3)(T(2, 3, 4, 5))', 'BatchNorm1d', 'expected 2D or 3D input (got 4D input)', 'pass (batch, channels)'),
    ('nn.BatchNorm2d(3)(T(2, 3))', 'BatchNorm2d', 'expected 4D input (got 2D input)', 'pass (batch, channels,'),
    ('nn.RNNCell(3, 4)(T(2, 5))', 'RNNCell', 'expected an input of shape (batch, 3) or (3,),', 'make its last size 3, or'),
    ("nn.RNNCell(3, 4, nonlinearity='gelu')(T(2, 3))", 'RNNCell', 'unknown nonlinearity: gelu', "use 'tanh' or 'relu'"),
    ('nn.LSTM(3, 0)', 'LSTM', 'hidden_size=0 and num_layers=1 must be greater than zero', 'pass positive integers'),
    ('nn.LSTM(3, 4, proj_size=4)', 'LSTM', 'proj_size has to be smaller than hidden_size', 'pass a number from 1 to 3'),
    ('nn.GRU(3, 4, proj_size=2)', 'GRU', 'proj_size argument is only supported for LSTM', 'leave it out, or put a Linear'),
    ('nn.LSTM(3, 4)(T(5, 2, 6))', 'LSTM', 'shape (length, batch, 3) or (length, 3),', 'make its last size 3, or build'),
    ('nn.LSTM(3, 4)(T(0, 2, 3))', 'LSTM', 'expected a sequence length larger than 0', 'skip empty sequences: if'),
    ('nn.GRU(3, 4)(T(5, 2, 3), T(1, 3, 4))', 'GRU', 'expected a hidden state of shape (1, 2,', 'pass zeros(1, 2, 4), or'),
    ("nn.RNN(3, 4, nonlinearity='gelu')", 'RNN', "unknown nonlinearity 'gelu'", "use 'tanh' or 'relu'"),
    ('nn.Linear(2, 3).load_state_dict(nn.Linear(2, 4).state_dict())', 'load_state_dict', 'with shape (4, 2)', 'make the model'),
    ('nn.Linear(2, 3).load_state_dict({})', 'load_state_dict', 'Error(s) in loading state_dict', 'load into a model'),
    ("nn.Linear(2, 'a')", 'Linear', "argument 'out_features' must be an int, not 'a'", 'write Linear(in_features, out'),
    ('nn.Linear()', 'Linear', "missing a required argument: 'in_features'", 'write Linear(in_features, out_features'),
    ('nn.Parameter(3)', 'Parameter', "argument 'data' must be a tensor or None, not 3", 'write Parameter(data=None'),
    ('nn.GRU(2, 3)(7)', 'GRU.forward', "argument 'input' must be Tensor, not int", 'convert it first'),
    ('nn.Linear(2, 3).apply(3)', 'Linear.apply', "argument 'fn' must be a function, not 3", 'write Linear.apply(fn)'),
    ("nn.utils.clip_grad_norm_('a', 1.0)", 'clip_grad_norm_', "argument 'parameters' must be a tensor or a", 'write clip'),
    ('nn.init.normal_(3)', 'normal_', "argument 'tensor' must be Tensor, not int", 'convert it first'),
    ('torch.record(3)', 'record', "argument 'fn' must be a function, not int", 'write'),
    ('torch.record(abs, passes=2.5)', 'record', "argument 'passes' must be a tuple of names, not float", 'use some of forward'),
    ('torch.record(abs, T(2), tangent=7)', 'record', "argument 'tangent' must be a dictionary or a name", 'write tangent='),
    ('nn.Linear(2, 3).load_state_dict(3)', 'load_state_dict', 'expected state_dict to be dict-like, got int', 'pass the'),
    ('load_half_state()', 'load_state_dict', 'Unexpected key(s) in state_dict: "_extra_state"', 'define set_extra_state('),
    ("nn.TransformerEncoderLayer(4, 2, activation='swish')", 'TransformerEncoderLayer', 'activation should be', 'pass'),
    ('nn.Transformer(4, 2)(T(3, 2, 6), T(3, 2, 6))', 'Transformer', 'the feature number of src (3, 2,', 'embed both with'),
    ('clip_nan()', 'clip_grad_norm_', 'the total norm of order 2.0 of the gradients is', 'pass error_if_nonfinite=False'),
    ("WithoutInit('buffer')", 'WithoutInit', 'cannot assign buffer before', 'call super().__init__() first'),
    ("nn.Linear(2, 3).get_buffer('weight')", 'Linear', "`weight` in 'weight' is not a buffer", 'look up'),
    ('nn.CircularPad1d(1)(T(3))', 'CircularPad1d', 'got 1D input', 'pass (batch, channels'),
    ('nn.LazyLinear(2).weight + 1', 'UninitializedParameter', 'before the first call of its lazy module', 'model(x)'),
    ('nn.LazyLinear(2).weight.shape', 'UninitializedParameter', "can't access the shape", 'model(x)'),
    ('Undecided()(T(1))', 'Undecided', 'initialize_parameters is not implemented', 'define it'),
    ('nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), dim=4)', 'spectral_norm', 'dim=4 is out of', 'from -2 to 1'),
    ('nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)',
     'spectral_norm', 'but got 0', 'n_power_iterations=1'),
    ('nn.utils.parametrizations.weight_norm(nn.Linear(2, 3), "w")', 'parametrize', "tensor 'w'", 'named_parameters'),
    ('nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), "w")', 'spectral_norm', "with name 'w'", 'named_parameters'),
    ('nn.utils.parametrize.register_parametrization(nn.Linear(2, 3), "w", nn.ReLU())',
     'parametrize', "'w'", 'named_parameters'),
    ('assign(nn.utils.parametrize.register_parametrization(nn.Linear(2, 3), "weight", nn.ReLU()), "weight", T(3, 2))',
     'right_inverse', 'ReLU has no right_inverse', 'define right_inverse'),
    ('nn.utils.rnn.pad_sequence(3)', 'pad_sequence', 'got int', 'pass [a, b, c]'),
    ('nn.utils.rnn.pad_sequence([])', 'pad_sequence', 'empty list', 'at least one tensor'),
    ('nn.utils.rnn.pad_sequence([T(3)], padding_side="up")', 'pad_sequence', "'up'", "padding_side='right'"),
    ('nn.utils.rnn.pack_padded_sequence(T(3, 2, 4), [1])', 'pack_padded_sequence', '2 sequences, but 1', 'a length for each'),
    ('nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([T(3)]), total_length=2)',
     'pad_packed_sequence', 'total_length=2 is less', 'total_length=3 or more'),
    ('nn.utils.vector_to_parameters(3, [T(2)])', 'vector_to_parameters', 'but got int', 'pass torch.tensor(values)'),
    ('nn.utils.vector_to_parameters(T(1), [T(2)])', 'vector_to_parameters', 'but the parameters have 2', 'for each'),
    ('nn.ConvTranspose1d(1, 1, 2)(T(1, 1, 3), output_size=[9, 9, 9, 9])', 'ConvTranspose1d', '4 numbers', 'the last 1 sizes'),
    ('nn.ConvTranspose1d(1, 1, 2)(T(1, 1, 3), output_size=[9])', 'ConvTranspose1d', 'sizes from [4] to [4], not [9]', 'range'),
    ("nn.RNNBase('FAST', 2, 3)", 'RNNBase', "unrecognized RNN mode 'FAST'", "use 'LSTM'"),
    ('nn.ParameterDict({3: T(1)})', 'ParameterDict', 'the key 3 is no string', 'write str(key)'),
]
# fmt: on
test_the_message_has_the_problem_and_the_fix = each(CASES, lend)
