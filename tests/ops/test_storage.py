"""Storage: the memory behind tensors, where they begin in it and how they step through it."""

import minigrad


def test_views_share_a_storage():
    x = minigrad.arange(6.0)
    for view in (x[2:], x.view(2, 3).t(), x[2:].expand(3, 4), x.unfold(0, 2, 1), x[None], x.as_strided((2,), (3,))):
        assert view.untyped_storage() == x.untyped_storage() and view.storage().tolist() == x.tolist()
    assert x.clone().untyped_storage() != x.untyped_storage()
    assert x[2:].untyped_storage().nbytes() == 24 and len(x[2:].storage()) == 6 and x[2:].storage()[1] == 1.0


def test_an_expanded_view_has_the_offset_of_its_base():
    assert minigrad.arange(6.0)[2:].expand(3, 4).storage_offset() == 2


def test_new_dimensions_have_the_strides_of_pytorch():
    x = minigrad.arange(6.0).view(2, 3)
    assert x[None].stride() == (6, 3, 1) and x[:, None].stride() == (3, 3, 1) and x[..., None].stride() == (3, 1, 1)
    assert minigrad.tensor(1.0)[None].stride() == (1,)
    assert x[:, :1].expand(2, 4).stride() == (3, 0)
