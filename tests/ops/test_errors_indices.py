"""Indexing, gathering, sorting and choosing: what is refused is explained."""

import pytest

from tests.refusals import check


def lend(module, given):
    """Assignments, which are no expressions."""

    def assign(x, index, value):
        x[index] = value

    def delete(x):
        del x[0]

    def add_at(x):
        x.index_put_((module.tensor([5]),), given["T"](1, 3), accumulate=True)

    return {"assign": assign, "delete": delete, "add_at": add_at}


# fmt: off
CASES = [
    ('T(6).put(torch.zeros(1), T(1))', 'put', 'expected dtype int64 for index, got minigrad.float32', 'index.long()'),
    ('T(6).put(I(1, 1), I(1, 1))', 'put', 'must have the same dtype', 'write source.to(input.dtype)'),
    ('T(6).put(I(2, 1), T(1))', 'put', 'as many elements in source as in index, but got 1 and 2', 'one element for each'),
    ('T(6).put(I(2, 1) + 7, T(2))', 'put', 'index 7 is out of bounds', 'use indices from -6 to 5'),
    ("T(2, 3).index_reduce(0, I(1, 1), T(1, 3), 'sum')", 'index_reduce', 'amax or amin but got sum', "write reduce='mean'"),
    ("T(2, 3).index_reduce(0, I(1, 1) + 2, T(1, 3), 'prod')", 'index_reduce', 'index 2 is out of bounds', 'from 0 to 1'),
    ('torch.unravel_index(T(2), (2, 3))', 'unravel_index', 'to be integer dtype, but got float32', 'indices.long()'),
    ('torch.unravel_index(I(2, 1), (2, -3))', 'unravel_index', 'negative values, but got (2, -3)', 'tuple(x.shape)'),
    ('T(2, 3)[2]', 'index', 'index 2 is out of bounds for dimension 0 with size 2', 'use an index from -2 to 1: the'),
    ('T(2, 3)[0, 0, 0]', 'index', 'too many indices for tensor of dimension 2: the index', 'write at most 2 of them: the'),
    ('T(2, 3)[:, 5]', 'index', 'index 5 is out of bounds for dimension 1 with size 3', 'use an index from -3 to 2: the'),
    ('T()[0]', 'index', 'too many indices for tensor of dimension 0: the index takes 1', 'use .item() for its value'),
    ("T(2, 3)['a']", 'index', 'only integers, slices (`:`), ellipsis (`...`),', 'write x[i], x[i:j] or x[mask] with'),
    ('T(2, 3)[1.0]', 'index', 'only integers, slices (`:`), ellipsis (`...`),', 'write x[i], x[i:j] or x[mask] with'),
    ('T(2, 3)[T(2)]', 'index', 'tensors used as indices must be of int64, int32, uint8 or bool,', 'convert: index.long()'),
    ('T(2, 3)[B(3)]', 'index', 'the shape of the mask [3] at index 0 does not match the', 'make the mask from the tensor'),
    ('torch.slice_scatter(T(5), T(2), step=0)', 'slice_scatter', 'must be greater than zero, got 0', 'src.flip(dim)'),
    ('torch.slice_scatter(T(), T(2))', 'slice_scatter', 'input has no dimensions', 'input.reshape(1)'),
    ('T(2, 3)[::-1]', 'index', 'step must be greater than zero, got -1', 'write x.flip(dim) to reverse a'),
    ("T(2, 3)['a':]", 'index', 'slice indices must be integers or None or have an __index__ method, got', 'write int(i)'),
    ('T(2, 3)[torch.tensor([0, 5])]', 'index', 'index 5 is out of bounds for dimension 0', 'use indices from -2 to 1'),
    ('T(2, 3).index_put((torch.tensor([5]),), T(3))', 'index_put', 'index 5 is out of bounds for', 'use indices from -2'),
    ('torch.take(T(0), I(2, 6))', 'take', 'cannot take elements from an empty tensor', 'skip the call for it'),
    ('T(2, 3).index_put([None], T(3))', 'index_put', 'needs at least one tensor of indices', 'write x[...] = values'),
    ('torch.take_along_dim(T(3, 4), I(2, 4, 3), 1)', 'take_along_dim', 'apart from dimension 1, the shapes (3, 1) and (2, 1)',
     'the same sizes, or 1, except in dimension 1'),
    ('torch.searchsorted(T(3), T(2), sorter=T(3))', 'searchsorted', 'sorter must be an int64 tensor of shape (3,), got (3,)',
     'pass sorter=sorted_sequence.argsort()'),
    ('torch.repeat_interleave(T(3))', 'repeat_interleave', 'repeats must be integers, not minigrad.float32',
     'write repeat_interleave(input, repeats)'),
    ('add_at(T(2, 3))', 'index_put_', 'index 5 is out of bounds for dimension 0 with size 2', 'use indices from -2 to 1'),
    ('T(2, 3)[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]', 'index', 'with shapes [2], [3]', 'use indices of equal'),
    ('T(2, 3).index_put((torch.tensor([0, 1]), torch.tensor([0, 1, 2])), T(2))', 'index_put', 'with shapes [2], [3]',
     'use indices of equal'),
    ("assign(T(2, 3), 0, 'a')", 'setitem', "can't assign a str to a tensor", 'assign a number or a tensor:'),
    ('assign(T(2, 3), torch.tensor([0, 1]), T(2, 4))', 'setitem', 'tensor of shape [2, 4] cannot', 'assign a number, or'),
    ('assign(T(2, 3), torch.tensor([0, 1]), T(2, 3).double())', 'index_put', 'minigrad.float32 for the', 'convert the'),
    ('assign(T(2, 3), 0, T(4))', 'setitem', 'shape mismatch: value tensor of shape [4]', 'assign a number, or a value'),
    ('delete(T(2, 3))', 'del', 'a tensor does not support deleting items', 'select the remaining ones: x = x[mask]'),
    ('vmap(lambda x: x[x > 0])(T(2, 3))', 'nonzero', 'the shape of the result depends on the', 'use torch.where(mask,'),
    ('vmap(torch.nonzero)(T(2, 3))', 'nonzero', 'the shape of the result depends on the', 'use torch.where(mask, a,'),
    ('vmap(torch.unique)(T(2, 3))', 'unique', 'the shape of the result depends on the', 'use torch.where(mask, a,'),
    ('T(2, 3).gather(0, I(2, 1))', 'gather', 'as input tensor, got 1 and 2', 'write index.unsqueeze(-1): index'),
    ('T(2, 3).gather(1, I(2, 1))', 'gather', 'as input tensor, got 1 and 2', 'write index.unsqueeze(-1): index'),
    ('T(2, 3).gather(1, I(3, 2, 1))', 'gather', 'size does not match at dimension 0: expected', 'write index[:2, :]'),
    ('T(2, 3).gather(2, I(2, 3, 1))', 'gather', '(expected to be in range of [-2, 1], but got 2)', 'write dim=1, or'),
    ('T(2, 3).gather(0, torch.full((1, 3), 2))', 'gather', 'index 2 is out of bounds for', 'use indices from 0 to 1'),
    ('T(2, 3).gather(0, T(1, 3))', 'gather', 'expected dtype int64 or int32 for index, got', 'convert: index.long()'),
    ('T(2, 3).gather(0, None)', 'gather', "argument 'index' must be Tensor, not", 'check whether a function lacks'),
    ('torch.take_along_dim(T(2, 3), I(2, 1), 0)', 'take_along_dim', 'of dimensions, but got 2 dimensions for', 'write'),
    ('T(2, 3).scatter(0, I(2, 3, 1), T(1, 3))', 'scatter', 'size does not match at dimension 0:', 'write index[:1, :]'),
    ('T(2, 3).scatter(0, I(1, 3, 1), T(1, 3).double())', 'scatter', 'src.dtype, got minigrad.float32 and', 'write'),
    ('T(2, 3).scatter(0, torch.full((1, 3), 7), 1.0)', 'scatter', 'index 7 is out of bounds for', 'use indices from 0'),
    ("T(2, 3).scatter(0, I(1, 3, 1), T(1, 3), reduce='max')", 'scatter', 'reduce argument must be either', 'use scatter_'),
    ('T(2, 3).scatter_add(0, I(2, 1), T(2))', 'scatter_add', 'dimensions as input tensor, got 1 and 2', 'write'),
    ("T(2, 3).scatter_reduce(0, I(2, 3, 1), T(2, 3), 'max')", 'scatter_reduce', 'reduce argument', "write reduce='sum'"),
    ('T(2, 3).index_select(0, I(1, 2, 1))', 'index_select', 'vector, got shape (1, 2)', 'write index.flatten()'),
    ('T(2, 3).index_select(0, torch.tensor([2]))', 'index_select', 'index 2 is out of bounds for', 'use indices from 0'),
    ('T(2, 3).index_select(0, T(2))', 'index_select', 'expected dtype int64 or int32 for index,', 'convert: index.long()'),
    ('T(2, 3).index_add(0, I(2, 1), T(3, 3))', 'index_add', 'the source must have shape (2,', 'pass a source of shape'),
    ('T(2, 3).index_add(0, I(2, 1), T(2, 3).double())', 'index_add', 'self (minigrad.float32) and', 'write source.to('),
    ('T(2, 3).index_copy(0, I(2, 1), T(2, 4))', 'index_copy', 'must have shape (2, 3), one', 'pass a source of shape'),
    ('T(2, 3).index_fill(0, I(2, 1), T(2))', 'index_fill', 'only supports a 0-dimensional value', 'pass a number, or use'),
    ('T(2).index_put((I(1, 1), I(1, 1)), T(1))', 'index_put', 'tensor of dimension 1 (got 2)', 'pass at most 1 tensors'),
    ('T(2).index_put([0], T(1))', 'index_put', 'expected tensors as indices, got int', 'write x[...] = values'),
    ('torch.take(T(2, 3), torch.tensor([6]))', 'take', 'index 6 is out of bounds for', 'use indices from -6 to 5'),
    ('T(2, 3).masked_fill(I(2, 3, 1), 0.0)', 'masked_fill', 'dtype minigrad.int64', 'compare first: mask != 0'),
    ('T(2, 3).masked_fill(B(2, 3), T(2))', 'masked_fill', 'only supports a 0-dimensional', 'use where(mask, values,'),
    ('T(2, 3).masked_fill(B(2, 4), 0.0)', 'masked_fill', 'the shapes (2, 3) and (2, 4) cannot', 'give them the same size'),
    ('T(2, 3).masked_select(T(2, 3))', 'masked_select', 'dtype minigrad.float32', 'compare first: mask != 0'),
    ('T(2, 3).masked_scatter(B(2, 3), T(2))', 'masked_scatter', 'number of elements of source (2)', 'pass at least one value'),
    ('T(2, 3).masked_scatter(B(2, 3), T(6).double())', 'masked_scatter', 'but got minigrad.float32 and', 'write'),
    ('F.one_hot(T(2))', 'one_hot', 'type LongTensor, got minigrad.float32', 'use .long()'),
    ('F.one_hot(torch.tensor([-1]))', 'one_hot', 'class values must be non-negative, got -1', 'write input.clamp(min=0),'),
    ('F.one_hot(torch.tensor([5]), 3)', 'one_hot', 'smaller than num_classes, 3, got 5', 'write num_classes=6, or -1'),
    ('F.one_hot(torch.zeros(0, dtype=torch.int64))', 'one_hot', 'can not infer total number of', 'pass num_classes'),
    ('vmap(F.one_hot)(I(2, 3, 1))', 'one_hot', 'the shape of the result depends on the', 'use torch.where(mask, a,'),
    ('F.embedding(T(2), T(3, 4))', 'embedding', 'expected integer indices, got minigrad.float32', 'convert with .long()'),
    ('F.embedding(torch.tensor([3]), T(3, 4))', 'embedding', 'index out of range: found 3 to 3', 'indices are 0 to 2'),
    ('F.embedding(I(2, 1), T(3))', 'embedding', "'weight' must be 2-D, got shape (3,)", 'pass a weight of shape'),
    ('F.embedding(I(2, 1), T(3, 4), padding_idx=3)', 'embedding', 'padding_idx=3 must be within', 'choose it from -3 to'),
    ('F.embedding(I(2, 1), T(3, 4), sparse=True)', 'embedding', 'sparse gradients are not supported', 'leave sparse=True out'),
    ('F.embedding_bag(torch.tensor([[3]]), T(3, 4))', 'embedding_bag', 'index out of range: found 3 to 3', 'make the table'),
    ('F.embedding_bag(I(3, 2), T(3, 4), torch.tensor([1, 2]))', 'embedding_bag', 'length 3, but are [1, 2]', 'begins'),
    ('F.embedding_bag(I(3, 2), T(3, 4), torch.tensor([0, 4]))', 'embedding_bag', 'must begin with 0', 'index in input'),
    ('F.embedding_bag(I(3, 2), T(3, 4), torch.tensor([0, 2, 1]))', 'embedding_bag', 'must begin with 0, grow', 'each bag'),
    ('F.embedding_bag(I(3, 2), T(3, 4))', 'embedding_bag', 'a 1D tensor, got None', 'input.unsqueeze(0)'),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), I(1, 1))', 'embedding_bag', 'whose rows are the bags', 'leave offsets out'),
    ('F.embedding_bag(I(1, 1, 3, 2), T(3, 4))', 'embedding_bag', 'but has shape (1, 1, 3)', 'pass (bags, length)'),
    ('F.embedding_bag(I(1, 3, 2), T(3))', 'embedding_bag', 'but has shape (3,)', '(num_embeddings, embedding_dim)'),
    ('F.embedding_bag(T(1, 3), T(3, 4))', 'embedding_bag', 'as input, got minigrad.float32', 'convert with .long()'),
    ('F.embedding_bag(I(1, 3, 2), I(3, 4, 2))', 'embedding_bag', 'got int64', 'weight.float()'),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), mode="min")', 'embedding_bag', "got 'min'", "write mode='mean'"),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), mode="max", scale_grad_by_freq=True)', 'embedding_bag', 'frequency', "mode='sum'"),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), sparse=True)', 'embedding_bag', 'sparse gradients are not', 'leave sparse=True out'),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), per_sample_weights=T(1, 3))', 'embedding_bag', "got mode='mean'", "mode='sum'"),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), per_sample_weights=T(3), mode="sum")', 'embedding_bag', '(3,)', 'for each index'),
    ('F.embedding_bag(I(1, 3, 2), T(3, 4), padding_idx=3)', 'embedding_bag', 'padding_idx=3 must be within', 'choose it from'),
    ('nn.EmbeddingBag(3, 4, padding_idx=3)', 'EmbeddingBag', 'padding_idx=3 must be within', 'choose it from -3 to'),
    ('nn.EmbeddingBag.from_pretrained(T(3))', 'EmbeddingBag', 'got shape (3,)', 'pass a matrix'),
    ('nn.Embedding(3, 4)(torch.tensor([3]))', 'embedding', 'index out of range: found 3 to 3', 'indices are 0 to 2'),
    ('nn.Embedding(3, 4)(T(2))', 'embedding', 'expected integer indices, got minigrad.float32', 'convert with .long()'),
    ('torch.topk(T(3), 4)', 'topk', 'selected index k out of range: k is 4, the dimension', 'write k=3, or less: min(k,'),
    ('torch.kthvalue(T(3), 4)', 'kthvalue', 'selected number k out of range for dimension 0: k is', 'write k from 1 to 3'),
    ('torch.sort(T(3), 1)', 'sort', '(expected to be in range of [-1, 0], but got 1)', 'write dim=0, or x.unsqueeze(d)'),
    ("torch.searchsorted(T(3), T(2), side='up')", 'searchsorted', "side can only be 'left' or", "write side='left',"),
    ('torch.searchsorted(T(2, 3), T(3, 1))', 'searchsorted', 'boundaries tensor should be 1 dimension', 'pass one row of'),
    ('torch.bucketize(T(2), T(2, 2))', 'bucketize', 'boundaries tensor must be 1', 'write boundaries.flatten()'),
    ('torch.bincount(T(2))', 'bincount', 'bincount only supports 1-d non-negative', 'write input.flatten().long(),'),
    ('torch.bincount(I(2, 1), T(3))', 'bincount', 'weights should be 1-d and have the same', 'pass weights of shape (2,)'),
    ('torch.bincount(I(2, 1), minlength=-1)', 'bincount', 'minlength should be >= 0, got -1', 'write minlength=0'),
    ('torch.histc(I(2, 1))', 'histc', 'not implemented for minigrad.int64', 'write bincount(x) or x.float()'),
    ('torch.histc(T(2), 0)', 'histc', 'bins must be > 0, got 0', 'write bins=100'),
    ('torch.histc(T(2), 3, 2, 1)', 'histc', 'max must be larger than min, got 2 and 1', 'write min=1, max=2'),
    ("torch.histc(torch.tensor([float('nan')]))", 'histc', 'range of [nan, nan] or its', 'leave infinities out'),
    ('torch.histc(torch.tensor([1e308, -1e308], dtype=torch.float64), 4)', 'histc', 'or its width is not', 'histc(input / 4)'),
    ('torch.zeros(0, 3).argmax()', 'argmax', 'specified for input.numel() == 0 (shape (0,', 'check input.numel() > 0'),
    ('torch.zeros(0, 3).max(0)', 'max', 'Expected reduction dim 0 to have non-zero size,', 'check input.numel() > 0'),
    ('torch.zeros(0, 3).max()', 'max', 'specified for input.numel() == 0, shape (0, 3):', 'pass the dimension: dim='),
    ('torch.zeros(0).median(0)', 'median', 'Expected reduction dim 0 to have non-zero', 'check input.numel() > 0'),
    ('torch.zeros(0, 2).amax(0)', 'amax', 'Expected reduction dim 0 to have non-zero size,', 'check input.numel() > 0'),
    ('torch.zeros(0).amax()', 'amax', 'specified for input.numel() == 0, shape (0,):', 'pass the dimension: dim='),
    ('torch.where(T(2), T(2), T(2))', 'where', 'with dtype minigrad.float32', 'compare first, as in'),
    ('torch.where(B(2), T(3), T(2))', 'where', 'the shapes (2,) and (3,) and (2,) cannot', 'give condition and input and'),
    ('torch.where(B(2), T(2))', 'where', 'input or other is missing', 'pass both, or the condition'),
    ('torch.where(True, T(2), T(2))', 'where', "argument 'condition' must be Tensor, not", 'convert it first:'),
]
# fmt: on


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_message_has_the_problem_and_the_fix(case):
    check(*case, lend=lend)
