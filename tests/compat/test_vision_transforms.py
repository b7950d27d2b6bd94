"""torchvision.transforms and utils: numbers by closed forms, by Pillow for tensors, by the generator for random ones."""

import io
import pickle

import numpy as np
import pytest
from PIL import Image

import minigrad
from minigrad import nn
from minigrad.compat.vision import functional as F
from minigrad.compat.vision import transforms as T
from minigrad.compat.vision import utils as U

HERE = __file__


def picture(height=9, width=12, mode="RGB"):
    """Return an image of Pillow whose bytes follow a closed form."""
    y, x, c = np.mgrid[:height, :width, : {"L": 1}.get(mode, 3)]
    pixels = ((y * 7 + x * 11 + c * 40 + x * y) % 256).astype(np.uint8)
    return Image.fromarray(pixels[..., 0] if mode == "L" else pixels).convert(mode)


def pixels(image):
    return np.asarray(image, dtype=np.float64)


def as_bytes(tensor):
    """Return a tensor (channels, height, width) as Pillow has it."""
    return tensor.detach().numpy().transpose(1, 2, 0).astype(np.float64)


# ---------------------------------------------------------------- images and tensors
@pytest.mark.parametrize(
    ("mode", "dtype", "top"),
    [
        *[(mode, minigrad.float32, 1.0) for mode in ("L", "RGB", "RGBA", "1")],
        ("I;16", minigrad.int16, 700),
        ("I", minigrad.int32, 70_000),
        ("F", minigrad.float32, 0.3),
    ],
)
def test_an_image_becomes_a_tensor_and_only_bytes_are_scaled(mode, dtype, top):
    made = F.to_tensor(
        Image.new(mode, (5, 2), 700 if mode == "I;16" else 70_000 if mode == "I" else 0.3 if mode == "F" else "white")
    )
    channels = {"RGB": 3, "RGBA": 4}.get(mode, 1)
    assert made.shape == (channels, 2, 5) and made.dtype == dtype
    assert made.max().item() == pytest.approx(top)


def test_arrays_have_their_channels_last_and_tensors_first():
    x = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    assert np.array_equal(F.to_tensor(x).numpy(), x.transpose(2, 0, 1) / np.float32(255))
    assert F.to_tensor(x[..., 0].astype(np.int64)).dtype == minigrad.int64
    back = T.ToPILImage()(T.ToTensor()(picture()))
    assert back.mode == "RGB" and np.array_equal(pixels(back), pixels(picture()))


def test_a_tensor_does_not_share_memory_with_its_image():
    x = np.zeros((2, 2, 1), dtype=np.int64)
    F.to_tensor(x).add_(1)
    assert not x.any()


@pytest.mark.parametrize(
    ("given", "mode", "made"),
    [
        (minigrad.ones(3, 2, 5), None, "RGB"),
        (minigrad.ones(3, 2, 5), "HSV", "HSV"),
        (minigrad.ones(1, 2, 5), None, "L"),
        (minigrad.ones(2, 5), "F", "F"),
        (minigrad.ones(2, 2, 5), None, "LA"),
        (minigrad.ones(4, 2, 5).to(minigrad.uint8), "CMYK", "CMYK"),
        (np.ones((2, 5), np.int32), None, "I"),
        (np.ones((2, 5, 1), np.int16), None, "I;16"),
    ],
)
def test_pillows_mode_follows_channels_and_dtype(given, mode, made):
    image = T.ToPILImage(mode)(given)
    assert (image.mode, image.size) == (made, (5, 2))


def test_floats_become_bytes_by_255_without_rounding():
    x = np.array([[0.0, 0.5, 0.999, 1.0]])
    assert (
        pixels(F.to_pil_image(x)).tolist()
        == pixels(F.to_pil_image(minigrad.tensor(x))).tolist()
        == [[0, 127, 254, 255]]
    )


def test_dtypes_are_scaled_over_their_whole_range():
    x = minigrad.tensor([0, 127, 255], dtype=minigrad.uint8)
    as_floats = F.convert_image_dtype(x)
    assert as_floats.tolist() == pytest.approx([0, 127 / 255, 1])
    assert F.convert_image_dtype(as_floats, minigrad.uint8).tolist() == [0, 127, 255]
    assert F.convert_image_dtype(x, minigrad.int16).tolist() == [0, 127 * 128, 255 * 128]
    assert F.convert_image_dtype(F.convert_image_dtype(x, minigrad.int32), minigrad.uint8).tolist() == [0, 127, 255]
    assert T.ToDtype(minigrad.float32)(x).tolist() == [0, 127, 255]
    assert T.ToDtype(minigrad.float32, scale=True)(x).tolist() == as_floats.tolist()
    assert T.ToImage()(picture()).dtype == minigrad.uint8 and T.ToImage()(x) is x


def test_normalize_is_by_channel_and_in_place_on_request():
    x = minigrad.arange(12.0).reshape(3, 2, 2)
    expected = (x.numpy() - np.array([1, 2, 3]).reshape(3, 1, 1)) / np.array([2, 4, 8]).reshape(3, 1, 1)
    assert np.allclose(T.Normalize((1, 2, 3), (2, 4, 8))(x).numpy(), expected) and x[0, 0, 1].item() == 1.0
    assert T.Normalize((1, 2, 3), (2, 4, 8), inplace=True)(x) is x and np.allclose(x.numpy(), expected)
    whole = minigrad.arange(4.0).reshape(1, 2, 2)
    assert T.Normalize(whole.mean(), whole.std())(whole).mean().item() == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- geometry: tensors as Pillow's images
@pytest.mark.parametrize("size", [4, (4,), (5, 3), (20, 7)])
@pytest.mark.parametrize("mode", ["BILINEAR", "BICUBIC"])
def test_tensors_are_resized_as_pillow_resizes(size, mode):
    resize = T.Resize(size, T.InterpolationMode[mode])
    by_pillow, of_bytes = pixels(resize(picture())), resize(F.pil_to_tensor(picture()))
    of_floats = resize(F.to_tensor(picture())).clamp(0, 1) * 255
    assert of_bytes.dtype == minigrad.uint8 and of_bytes.shape[1:] == by_pillow.shape[:2]
    assert abs(as_bytes(of_bytes) - by_pillow).max() <= 1.5 and abs(as_bytes(of_floats) - by_pillow).max() <= 1.5


@pytest.mark.parametrize(
    ("size", "most", "made"),
    [(6, None, (12, 6)), (6, 10, (10, 5)), ([6], 12, (12, 6)), (3, 40, (6, 3)), (9, 17, (17, 8))],
)
def test_one_number_is_the_smaller_edge_and_max_size_bounds_the_larger(size, most, made):
    resize = T.Resize(size, max_size=most)
    assert resize(picture(20, 10)).size == made[::-1] and resize(F.pil_to_tensor(picture(20, 10))).shape[1:] == made
    assert resize(picture(10, 20)).size == made


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("padding", [2, (1, 3), (0, 1, 2, 3)])
def test_margins_are_those_of_numpy_for_images_and_tensors(padding, mode):
    left, top, right, bottom = F.margins(padding)
    expected = np.pad(pixels(picture()), ((top, bottom), (left, right), (0, 0)), mode)
    pad = T.Pad(padding, padding_mode=mode)
    assert np.array_equal(pixels(pad(picture())), expected)
    assert np.array_equal(as_bytes(pad(F.pil_to_tensor(picture()))), expected)


def test_margins_may_have_a_colour():
    assert T.Pad(1, (1, 2, 3))(picture()).getpixel((0, 0)) == (1, 2, 3)
    assert T.Pad(1, 9)(F.pil_to_tensor(picture()))[:, 0, 0].tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    "box", [(0, 0, 4, 5), (-2, -3, 20, 20), (3, 5, 2, 9), (-5, 0, 3, 3), (8, 11, 4, 4), (20, 20, 2, 3)]
)
def test_outside_of_an_image_is_black(box):
    assert np.array_equal(as_bytes(F.crop(F.pil_to_tensor(picture()), *box)), pixels(F.crop(picture(), *box)))


@pytest.mark.parametrize("size", [4, (5,), (3, 8), (15, 4), (20, 31)])
def test_the_middle_is_the_same_for_images_and_tensors(size):
    crop = T.CenterCrop(size)
    assert crop.size == tuple(F.sides_of(size) * 2)[:2]
    assert np.array_equal(as_bytes(crop(F.pil_to_tensor(picture()))), pixels(crop(picture())))


@pytest.mark.parametrize("angle", [0, 20, -75, 180, 333])
def test_tensors_rotate_as_images_do(angle):
    tensor, image = (F.rotate(one, angle) for one in (F.pil_to_tensor(picture(21, 30)), picture(21, 30)))
    differ = (as_bytes(tensor) != pixels(image)).any(-1).mean()
    assert differ < (0.06 if angle % 180 else 1e-9)  # a point between two pixels may take the other one


def test_an_image_may_grow_as_it_rotates_and_turn_about_any_point():
    x = F.pil_to_tensor(picture(9, 9))
    assert F.rotate(x, 45, expand=True).shape == (3, 13, 13)  # 9 * sqrt(2) is 12.7
    turned, image = F.rotate(x, 180, center=(0, 0)), F.rotate(picture(9, 9), 180, center=(0, 0))
    assert not turned.any() and not pixels(image).any()


def test_a_quarter_turn_of_a_square_is_exact_and_corners_take_the_fill():
    x = F.pil_to_tensor(picture(9, 9))
    assert np.array_equal(F.rotate(x, 90).numpy(), np.rot90(x.numpy(), axes=(1, 2)))
    turned = F.rotate(x.float(), 45, T.InterpolationMode.BILINEAR, fill=[1.0, 2.0, 3.0])
    assert turned[:, 0, 0].tolist() == [1, 2, 3] and F.rotate(picture(9, 9), 45, fill=7).getpixel((0, 0)) == (7, 7, 7)


# ---------------------------------------------------------------- colours
def test_grey_is_itu_601_and_keeps_or_triples_the_channels():
    x = minigrad.tensor([0.2, 0.4, 0.6]).reshape(3, 1, 1)
    assert T.Grayscale()(x).item() == pytest.approx(0.2989 * 0.2 + 0.587 * 0.4 + 0.114 * 0.6)
    assert T.Grayscale(3)(x).shape == (3, 1, 1) and T.Grayscale(3)(picture()).mode == "RGB"
    assert T.Grayscale()(picture()).mode == "L"


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation"])
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.0, 1.8])
def test_tensors_are_adjusted_as_pillow_adjusts(name, factor):
    adjust = getattr(F, f"adjust_{name}")
    by_pillow, tensor = pixels(adjust(picture(), factor)), adjust(F.pil_to_tensor(picture()), factor)
    assert abs(as_bytes(tensor) - by_pillow).max() <= 2 and tensor.dtype == minigrad.uint8


def test_a_third_of_the_colour_circle_moves_each_colour_to_the_next():
    x = F.to_tensor(picture())
    assert np.allclose(F.adjust_hue(x, 1 / 3).numpy(), x.numpy()[[2, 0, 1]], atol=1e-5)
    moved = pixels(F.adjust_hue(picture(), 1 / 3))
    assert abs(moved - pixels(picture())[..., [2, 0, 1]]).max() <= 12  # Pillow counts hues in bytes
    grey = minigrad.full((3, 2, 2), 0.4)
    assert np.allclose(F.adjust_hue(grey, 0.3).numpy(), 0.4)


def test_results_of_tensors_have_gradients():
    x = F.to_tensor(picture()).requires_grad_()
    all_of = T.Compose(
        [T.Resize(6), T.Pad(1, padding_mode="reflect"), T.CenterCrop(5), T.RandomRotation((20, 20)), T.Grayscale()]
    )
    all_of(F.adjust_contrast(x, 0.5)).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all() and x.grad.abs().sum().item() > 0


# ---------------------------------------------------------------- random ones
def after(seed, transform, image):
    """Return the result of a transform, and the number that the generator draws next."""
    minigrad.manual_seed(seed)
    return transform(image), minigrad.rand(1).item()


def draws(seed, *functions):
    """Return numbers drawn from minigrad's generator, and the one that it draws next."""
    minigrad.manual_seed(seed)
    return [draw() for draw in functions], minigrad.rand(1).item()


def whole(below):
    return lambda: int(minigrad.randint(0, below, size=(1,)).item())


def between(low, high):
    return lambda: minigrad.empty(1).uniform_(low, high).item()


@pytest.mark.parametrize("seed", range(3))
def test_a_random_crop_draws_its_row_and_then_its_column(seed):
    found, rest = after(seed, T.RandomCrop((4, 7), padding=2), picture())
    (top, left), expected = draws(seed, whole(9 + 4 - 4 + 1), whole(12 + 4 - 7 + 1))
    assert rest == expected and np.array_equal(pixels(found), pixels(F.crop(F.pad(picture(), 2), top, left, 4, 7)))


def test_a_random_crop_of_the_whole_image_draws_nothing_and_a_small_image_grows():
    assert after(0, T.RandomCrop((9, 12)), picture())[1] == draws(0)[1]
    assert T.RandomCrop((20, 30), pad_if_needed=True)(picture()).size == (30, 20)


@pytest.mark.parametrize("seed", range(4))
def test_flips_draw_one_number_each(seed):
    for flip, axis in ((T.RandomHorizontalFlip(), 1), (T.RandomVerticalFlip(p=0.3), 0)):
        found, rest = after(seed, flip, picture())
        (drawn,), expected = draws(seed, lambda: minigrad.rand(1).item())
        turned = np.flip(pixels(picture()), axis) if drawn < flip.p else pixels(picture())
        assert rest == expected and np.array_equal(pixels(found), turned)


def test_a_rotation_draws_its_angle():
    found, rest = after(1, T.RandomRotation(30), picture())
    (angle,), expected = draws(1, between(-30, 30))
    assert rest == expected and np.array_equal(pixels(found), pixels(picture().rotate(angle)))


def test_a_jitter_draws_its_order_and_then_the_factors_that_it_uses():
    found, rest = after(2, T.ColorJitter(brightness=0.5, saturation=(0.2, 0.4)), picture())
    (order, bright, coloured), expected = draws(
        2, lambda: minigrad.randperm(4).tolist(), between(0.5, 1.5), between(0.2, 0.4)
    )
    image = picture()
    for i in order:
        image = (
            F.adjust_brightness(image, bright) if i == 0 else F.adjust_saturation(image, coloured) if i == 2 else image
        )
    assert rest == expected and np.array_equal(pixels(found), pixels(image))


def test_a_resized_crop_draws_area_shape_row_and_column():
    T.RandomResizedCrop(4)(picture())
    minigrad.manual_seed(3)
    top, left, height, width = T.RandomResizedCrop.get_params(picture(40, 40), (0.1, 0.3), (0.5, 2.0))
    (area, shape), _ = draws(3, between(0.1, 0.3), between(np.log(0.5), np.log(2.0)))
    assert (height, width) == (round((1600 * area / np.exp(shape)) ** 0.5), round((1600 * area * np.exp(shape)) ** 0.5))
    assert 0 <= top <= 40 - height and 0 <= left <= 40 - width
    assert T.RandomResizedCrop.get_params(picture(10, 40), (3.0, 4.0), (0.5, 2.0)) == (0, 10, 10, 20)  # the middle


# ---------------------------------------------------------------- as objects
@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.Pad([1, 2]), "Pad(padding=[1, 2], fill=0, padding_mode=constant)"),
        (T.Resize((4, 5), 3), "Resize(size=(4, 5), interpolation=bicubic, max_size=None, antialias=True)"),
        (T.RandomCrop(4, 2), "RandomCrop(size=(4, 4), padding=2)"),
        (T.RandomRotation(5), "RandomRotation(degrees=[-5.0, 5.0], interpolation=nearest, expand=False, fill=0)"),
        (T.ColorJitter(0.5), "ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=None)"),
        (T.ToPILImage(), "ToPILImage()"),
        (T.ToPILImage("L"), "ToPILImage(mode=L)"),
        (T.Normalize((0.5,), (0.1,)), "Normalize(mean=(0.5,), std=(0.1,))"),
        (T.Lambda(len), "Lambda()"),
        (
            T.Compose([T.ToTensor(), T.Grayscale(3)]),
            "Compose(\n    ToTensor()\n    Grayscale(num_output_channels=3)\n)",
        ),
    ],
)
def test_transforms_show_the_settings_that_torchvision_shows(transform, text):
    assert repr(transform) == text == repr(pickle.loads(pickle.dumps(transform)))


def test_transforms_are_modules():
    assert nn.Sequential(T.Resize(4), T.CenterCrop((2, 3)))(minigrad.rand(5, 3, 8, 8)).shape == (5, 3, 2, 3)


REFUSED = [
    (lambda: T.ToTensor()(minigrad.ones(3, 2, 2)), TypeError, "pic should be PIL Image or ndarray", "leave it out"),
    (lambda: F.to_tensor(np.ones(3)), ValueError, "Got 1 dimensions", "(height, width, channels)"),
    (lambda: F.to_pil_image(picture()), TypeError, "should be Tensor or ndarray", "pass a tensor"),
    (lambda: F.to_pil_image(minigrad.ones(2, 3, 4, 4)), ValueError, "Got shape (2, 3, 4, 4)", "batch[0]"),
    (lambda: F.to_pil_image(minigrad.ones(3, 4, 4), "L"), ValueError, "Incorrect mode (L)", "('RGB', 'YCbCr', 'HSV')"),
    (lambda: F.to_pil_image(minigrad.ones(4, 4).bool()), TypeError, "bool is not supported", "convert it to uint8"),
    (lambda: F.hflip("x.png"), TypeError, "Got <class 'str'>", "Image.fromarray"),
    (lambda: T.Normalize((0.5,), (0.5,))(picture()), TypeError, "should be a float tensor", "apply ToTensor() before"),
    (lambda: F.normalize(minigrad.ones(2, 2), 0, 1), ValueError, "(2, 2)", "x.unsqueeze(0)"),
    (lambda: F.normalize(minigrad.ones(1, 2, 2), 0, [0.0]), ValueError, "division by zero", "write 1 for 0"),
    (
        lambda: F.normalize(minigrad.ones(1, 2, 2), (0, 0, 0), 1),
        RuntimeError,
        "the 1 channels of (1, 2, 2)",
        "pass 1 number",
    ),
    (lambda: T.ConvertImageDtype(minigrad.float32)(picture()), TypeError, "Tensor Image", "apply PILToTensor() before"),
    (
        lambda: F.convert_image_dtype(minigrad.ones(2), minigrad.int64),
        RuntimeError,
        "cannot be performed safely",
        "uint8",
    ),
    (lambda: T.Resize((1, 2, 3)), ValueError, "size = (1, 2, 3) should have 1 or 2 values", "(height, width)"),
    (lambda: T.Resize(4, "bilinear"), TypeError, "got 'bilinear'", "InterpolationMode.BILINEAR"),
    (
        lambda: T.Resize(9, max_size=8)(picture()),
        ValueError,
        "max_size = 8 should be greater than size = 9",
        "max_size out",
    ),
    (lambda: T.Pad((1, 2, 3)), ValueError, "not a 3 element tuple", "(left, top, right, bottom)"),
    (lambda: F.pad(picture(), 1, padding_mode="wrap"), ValueError, "'wrap'", "'symmetric'"),
    (lambda: F.pad(picture(), 1, (1, 2)), ValueError, "2 != 3", "pass one number"),
    (
        lambda: T.RandomCrop(20)(picture()),
        ValueError,
        "(20, 20) is larger than input image size (9, 12)",
        "pad_if_needed=True",
    ),
    (lambda: T.RandomRotation(-5), ValueError, "from 5 to -5", "the smaller one first"),
    (lambda: F.rotate(minigrad.ones(1, 4, 4), 5, T.InterpolationMode.BICUBIC), ValueError, "bicubic", "use BILINEAR"),
    (lambda: F.rgb_to_grayscale(picture(), 2), ValueError, "either 1 or 3", "write 1 or 3"),
    (lambda: F.rgb_to_grayscale(minigrad.ones(4, 2, 2)), TypeError, "found 4", "img[:3]"),
    (lambda: F.adjust_contrast(minigrad.ones(3, 2, 2), -1), ValueError, "-1 is not non-negative", "pass 0 or more"),
    (lambda: F.adjust_hue(picture(), 0.6), ValueError, "(0.6) is not in [-0.5, 0.5]", "-0.5 to 0.5"),
    (lambda: T.ColorJitter(hue=0.7), ValueError, "hue values should be between -0.5 and 0.5", "(low, high)"),
    (lambda: T.ColorJitter(-1), ValueError, "brightness values", "at least 0"),
    (lambda: T.Lambda(3), TypeError, "callable, got 3", "pass a function"),
    (lambda: U.make_grid([3]), TypeError, "tensor or list of tensors", "pass a batch"),
]


@pytest.mark.parametrize(("call", "kind", "what", "fix"), REFUSED)
def test_what_is_wrong_is_named_with_the_users_line_and_a_fix(call, kind, what, fix):
    with pytest.raises(kind) as raised:
        call()
    problem, place, remedy = str(raised.value).split("\n")[:3]
    assert what in problem and f"{HERE}:{call.__code__.co_firstlineno}" in place and fix in remedy


# ---------------------------------------------------------------- utils
def test_a_grid_has_margins_and_a_last_row_that_may_be_short():
    images = minigrad.arange(5.0).reshape(5, 1, 1, 1).expand(5, 1, 2, 3)
    grid = U.make_grid(images, nrow=2, padding=1, pad_value=9.0)
    assert grid.shape == (3, 10, 9)
    assert grid[0, 1::3, 1::4].tolist() == [[0, 1], [2, 3], [4, 9]] and grid[:, 0].unique().tolist() == [9]


def test_a_grid_of_one_image_is_the_image_and_lists_are_stacked():
    x = minigrad.rand(3, 4, 5)
    assert np.array_equal(U.make_grid(x).numpy(), x.numpy())
    assert np.array_equal(U.make_grid([x, x]).numpy(), U.make_grid(minigrad.stack([x, x])).numpy())
    assert U.make_grid(x[0]).shape == (3, 4, 5)


@pytest.mark.parametrize(
    ("how", "made"),
    [({}, [0, 0.25, 0.75, 1]), ({"scale_each": True}, [0, 1, 0, 1]), ({"value_range": (1, 3)}, [0, 0, 1, 1])],
)
def test_a_grid_is_scaled_to_the_whole_or_to_each_image_or_to_a_range(how, made):
    images = minigrad.tensor([0.0, 1.0, 3.0, 4.0]).reshape(2, 1, 1, 2)
    grid = U.make_grid(images, padding=0, normalize=True, **how)
    assert grid[0, 0].tolist() == pytest.approx(made) and images.max().item() == 4


def test_save_image_rounds_to_bytes_and_keeps_no_graph(tmp_path):
    x = minigrad.tensor([-0.5, 0.0, 0.5, 0.999, 2.0]).expand(2, 1, 2, 5).clone().requires_grad_()
    U.save_image(x, tmp_path / "x.png", padding=0)
    assert pixels(Image.open(tmp_path / "x.png"))[0, :5, 0].tolist() == [0, 0, 128, 255, 255]
    file = io.BytesIO()
    U.save_image(x[0], file, format="bmp")
    assert Image.open(file).size == (5, 2)


@pytest.mark.parametrize(
    ("saved", "mode", "channels"),
    [
        ("RGB", "unchanged", 3), ("L", "UNCHANGED", 1), ("P", "UNCHANGED", 3), ("1", "UNCHANGED", 1), ("RGBA", "UNCHANGED", 4),
        ("L", "RGB", 3), ("RGBA", "RGB", 3), ("RGB", "GRAY", 1), ("RGB", "GRAY_ALPHA", 2), ("P", "RGB_ALPHA", 4),
    ],
)  # fmt: skip
def test_an_image_is_read_with_the_channels_of_the_file_or_others(saved, mode, channels, tmp_path):
    rng = np.random.default_rng(3)
    Image.fromarray(rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)).convert(saved).save(tmp_path / "x.png")
    for given in (mode, U.ImageReadMode[mode.upper()]):
        x = U.read_image(str(tmp_path / "x.png"), given)
        assert x.dtype is minigrad.uint8 and tuple(x.shape) == (channels, 4, 6)
    same = Image.open(tmp_path / "x.png").convert({1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels])
    assert x.tolist() == F.pil_to_tensor(same).tolist()


def test_programs_find_the_reader_under_both_modules():
    with minigrad.as_torch():
        import torchvision  # type: ignore[import-not-found]

        assert torchvision.io.read_image is U.read_image
        assert torchvision.io.image.ImageReadMode is U.ImageReadMode
