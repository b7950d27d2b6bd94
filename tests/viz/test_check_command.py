"""`minigrad check` as a user runs it: the table, exit codes, JSON, the drawing, bad use."""

import json

import pytest

from .command import minigrad

RIGHT = """
import minigrad as torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward of Double")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2
"""
WRONG = (
    RIGHT
    + """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x ** n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x ** (ctx.n - 1), None

example_inputs = {"Cube": (torch.tensor([2.0, 5.0]), 3)}
"""
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def checked(folder, text, *words, name=""):
    """Return the end of the check of a program, and the text that it prints."""
    (folder / "prog.py").write_text(text)
    done = minigrad(folder, "check", f"prog.py{name}", *words)
    return done, done.stdout.decode()


def result(folder, text, name=""):
    """Return the one result of the check of a program."""
    done, made = checked(folder, text, "--json", name=name)
    (one,) = json.loads(made or "[{}]")
    assert one, done.stderr.decode()
    return one


SWAPPED = """
import minigrad
class Swap(minigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x, g * y
"""


def test_a_right_function_ends_with_0_and_a_table(folder):
    done = minigrad(folder, "check", "right.py:Double", "--args", "tensor([1., 2.])")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "✓    gradients" in text and "·    jvp" in text and "func.jacfwd" in text
    assert "Double.apply(x)" in text and "no jvp. To support them, add:" in text
    assert "forward of Double" not in text  # what the program prints is not ours


def test_a_wrong_function_ends_with_1_the_line_the_input_the_remedy_and_a_sketch(folder):
    done = minigrad(folder, "check", "wrong.py:Cube")
    text = done.stdout.decode()
    assert done.returncode == 1, done.stderr
    assert "finite differences give 3: off by a factor of 3" in text
    assert "wrong.py:27: return g * x ** (ctx.n - 1), None" in text
    assert "x = minigrad.tensor(1.0, dtype=minigrad.float64, requires_grad=True)\n      Cube.apply(x, 3)" in text
    assert "return ...  # multiply by 3 for x" in text
    assert "✗ 1, but finite differences give 3: off by" in text and "▣  Cube(x, 3)" in text
    frame = text.partition("┌ Cube.backward")[2]
    assert "mul  g * v1" in frame and "○  grad of x ✗ 1, but finite differences give 3\n" in frame


def test_swapped_gradients_are_named_in_the_drawing(folder):
    _, text = checked(folder, SWAPPED, "-o", "swap.txt", name=":Swap")
    drawn = (folder / "swap.txt").read_text()
    assert "gradients of x and y are swapped" in text
    assert "the gradients of x and y are swapped" in " ".join(drawn.replace("│", " ").split()), drawn
    assert "○  grad of x ✗" in drawn and "○  grad of y\n" in drawn


def test_all_functions_of_a_file_are_checked(folder):
    done = minigrad(folder, "check", "wrong.py", "--json")
    results = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(r["function"], r["ok"], r["guessed"]) for r in results] == [("Double", True, True), ("Cube", False, False)]
    (failure,) = [row for row in results[1]["outcomes"] if row["status"] == "fails"]
    assert failure["name"] == "gradients" and failure["disagreement"]["numerical"] == pytest.approx(3.0)


@pytest.mark.parametrize("suffix, start", [("svg", b"<svg"), ("png", b"\x89PNG"), ("html", b"<!DOCTYPE html>")])
def test_the_drawing_goes_to_a_file(folder, suffix, start):
    done = minigrad(folder, "check", "wrong.py:Cube", "-o", f"cube.{suffix}")
    assert done.returncode == 1 and b"wrote cube" in done.stderr
    made = (folder / f"cube.{suffix}").read_bytes()
    assert made.startswith(start)
    if suffix == "svg":
        assert "but finite differences give 3" in made.decode().replace("\u00a0", " ")


def test_nothing_is_drawn_where_nothing_disagrees(folder):
    done = minigrad(folder, "check", "right.py", "-o", "right.svg")
    assert done.returncode == 0 and b"nothing to draw" in done.stderr
    assert not (folder / "right.svg").exists()


def test_rows_can_be_skipped(folder):
    done = minigrad(folder, "check", "wrong.py:Cube", "--skip", "gradients, second derivatives")
    assert done.returncode == 0, done.stdout


def test_without_a_gradient_the_drawing_shows_both_numbers_all_the_same(folder):
    _, text = checked(folder, RIGHT.replace("return g * 2", "return None"), "--args", "tensor([3.])")
    assert "✗ 0, but finite differences give 2" in text


THROUGH = """
import minigrad as torch

class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, layer, x):
        ctx.save_for_backward(x)
        ctx.layer = layer
        return x @ layer["weight"]

    @staticmethod
    def backward(ctx, g):
        return None, g @ ctx.layer["weight"].t()

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
"""


def test_arguments_that_cannot_be_guessed_are_the_programs_own(folder):
    apply = 'Through.apply({"weight": torch.eye(2, dtype=torch.float64)}, x.double())\n'
    done, text = checked(folder, THROUGH + apply)
    assert "called with:" in text and "[[1.0, 2.0]]" in text and "✓    gradients" in text, done.stderr.decode()


APPLIED = (
    RIGHT
    + """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t(), x.t() @ g

def make():
    class Local(Double):
        pass
    return Local
"""
)


def test_large_arguments_of_the_program_are_cut_to_sizes_that_fit_together(folder):
    call = "Times.apply(torch.ones(500, 30, requires_grad=True), torch.ones(30, 40))\n"
    made = result(folder, f"{APPLIED}\n{call}", ":Times")
    assert made["ok"] and not made["guessed"]
    x, w, _ = made["input"].splitlines()
    assert max(x.count("1.0"), w.count("1.0")) <= 64 and "requires_grad" in x and "requires_grad" not in w


def test_a_function_that_the_program_defines_inside_another_is_checked_if_it_is_applied(folder):
    text = f"{APPLIED}\nmake().apply(torch.ones(2, requires_grad=True))\n"
    _, made = checked(folder, text, "--json")
    assert {one["function"] for one in json.loads(made)} == {"Double", "Times", "Local"}
    assert result(folder, text, ":Local")["function"] == "Local"


STEP = RIGHT.replace("Double", "Step").replace("x * 2", "(x > 0).to(x.dtype)")


def test_a_surrogate_is_asked_about_once_and_then_checked_by_the_other_rows(folder):
    done, text = checked(folder, STEP)
    assert done.returncode == 1 and text.count("deliberately not the derivative") == 1
    done, text = checked(folder, STEP, "--surrogate")
    assert done.returncode == 0 and "deliberately" not in text
    done, text = checked(folder, STEP.replace("Function):\n", 'Function):\n    """A surrogate slope."""\n', 1))
    assert done.returncode == 0 and "which is meant" in " ".join(text.split())


CALLS = {
    "in a thread": """
import threading
t = threading.Thread(target=lambda: Scale.apply(torch.ones(5, requires_grad=True), Factor()))
t.start(); t.join()
""",
    "under vmap and grad": """
torch.vmap(torch.func.grad(lambda x: Scale.apply(x, Factor()).sum()))(torch.rand(4, 5))
""",
    "under vmap along the last dimension": """
torch.vmap(lambda x: Scale.apply(x, Factor()), 1, 1)(torch.rand(5, 4))
""",
    "under forward-mode AD": """
torch.func.jvp(lambda x: Scale.apply(x, Factor()), (torch.rand(5),), (torch.ones(5),))
""",
    "compiled": "torch.compile(lambda x: Scale.apply(x, Factor()))(torch.rand(5))",
    "without gradients": "with torch.no_grad(): Scale.apply(torch.rand(5), Factor())",
    "after a call that fails": """
try:
    Scale.apply(torch.rand(5), None)
except AttributeError:
    Scale.apply(torch.rand(5, requires_grad=True), Factor())
""",
    "by keywords": "Scale.apply(factor=Factor(), x=torch.rand(5))",
    "before the program exits": "Scale.apply(torch.rand(5), Factor())\nraise SystemExit(0)",
}
SCALE = """
import minigrad as torch

class Factor:
    value = 3.0

class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        assert x.shape == (5,)
        return x * factor.value

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.value = inputs[1].value

    @staticmethod
    def backward(ctx, g):
        return g * ctx.value, None

    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.value
"""


KINDS = {
    "an in-place operation": (
        "x.clamp_(min=0); ctx.mark_dirty(x); return x",
        "g",
        "torch.ones(3, requires_grad=True) * 2",
    ),
    "integers only": ("return x * 2", "None", "torch.tensor([1, 2])"),
    "an output without gradient": (
        "out = x > 0; ctx.mark_non_differentiable(out); return out",
        "None",
        "torch.ones(3)",
    ),
}
EXAMPLE = "Double.apply(torch.ones(3, requires_grad=True))\nexample_inputs = (torch.tensor([0.125]),)\n"
FOUND = {  # the program, the function, a part of its arguments
    "a call": (f"{APPLIED}\nDouble.apply(torch.tensor([0.25, 7.0], requires_grad=True))\n", ":Double", "[0.25, 7.0]"),
    "example_inputs come before what the program applies": (f"{APPLIED}\n{EXAMPLE}", ":Double", "[0.125]"),
    **{how: (SCALE + call, "", "factor = ...  # Factor") for how, call in CALLS.items()},
    **{
        kind: (
            f"{RIGHT.replace('return x * 2', body).replace('return g * 2', f'return {gradient}')}\nDouble.apply({x})\n",
            "",
            "",
        )
        for kind, (body, gradient, x) in KINDS.items()
    },
}


@pytest.mark.parametrize("how", FOUND)
def test_the_programs_own_arguments_are_found_wherever_they_are(folder, how):
    text, name, shown = FOUND[how]
    made = result(folder, text, name)
    assert made["ok"] and not made["guessed"] and shown in made["input"]


def test_arguments_that_cannot_be_used_twice_are_named(folder):
    text = RIGHT.replace("(ctx, x)", "(ctx, x, numbers)").replace("x * 2", "x * next(numbers)")
    done, _ = checked(folder, f"{text}\nDouble.apply(torch.ones(2), iter([3.0]))\n")
    assert done.returncode == 2 and b"on those of the program it raises StopIteration. Pass them" in done.stderr


def test_a_parameter_of_a_module_that_is_passed_as_well_is_no_input_of_its_own(folder):
    made = result(
        folder,
        """
import minigrad as torch

class Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer, *parameters):
        ctx.layer = layer
        ctx.save_for_backward(x)
        return layer(x)

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            found = torch.autograd.grad(ctx.layer(x), [x, *ctx.layer.parameters()], g)
        return found[0], None, *found[1:]

layer = torch.nn.Linear(3, 2)
Run.apply(torch.rand(4, 3, requires_grad=True), layer, *layer.parameters())
""",
    )
    assert {one["name"]: one["status"] for one in made["outcomes"]}["gradients"] == "holds"


def test_without_arguments_of_the_program_the_option_is_named(folder):
    done, _ = checked(folder, THROUGH)
    message = done.stderr.decode()
    assert done.returncode == 2 and "found no arguments for which Through.forward runs" in message
    assert '--args "x, ..."' in message and "example_inputs in prog.py" in message and "check(" not in message


OBJECT = (
    (
        WRONG.replace("x, n)", "x, layers)")
        .replace("x ** n", "layers(x) ** 3")
        .replace("x, ctx.n = inputs", "x, _ = inputs")
    )
    .replace("ctx.n - 1", "1")
    .partition("example_inputs")[0]
    + """
layers = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
example_inputs = {"Cube": (torch.tensor([2.0, 5.0]), layers)}
"""
)


def test_an_object_among_the_arguments_stands_by_its_name_in_code_and_drawing(folder):
    done, text = checked(folder, OBJECT, name=":Cube")
    assert done.returncode == 1 and not done.stderr, done.stderr.decode()
    assert "layers = ...  # Sequential(...)\n    Cube.apply(x, layers)" in text and "finite differences give" in text
    assert "(x, Sequential(...))" in text  # in the drawing


@pytest.mark.parametrize("words", [[], ["--args", "torch.tensor([1.0, 2.0])"]])
def test_under_as_torch_code_to_paste_has_pytorchs_names(folder, words):
    program = RIGHT.replace("import minigrad as torch", "import torch").replace("g * 2", "g * 3")
    done, text = checked(folder, program, "--as-torch", *words)
    assert "torch.tensor(" in text and "dtype=torch.float64" in text, done.stderr.decode()
    assert "minigrad." not in text and "only minigrad" not in text
