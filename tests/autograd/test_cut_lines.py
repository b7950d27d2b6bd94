"""An error about a missing history names the line that lost it, without debug mode."""

import linecache
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

import minigrad

ADVICE = "set requires_grad=True on an input"


def told(body, header=""):
    """Return the error of a program, and the number of the line that it names."""
    text = f"import minigrad as torch\nw = torch.ones(3, requires_grad=True)\n{textwrap.dedent(header)}{textwrap.dedent(body)}"
    file = f"<program {abs(hash(text))}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    with pytest.raises(RuntimeError) as e:
        exec(compile(text, file, "exec"), {"__name__": "program"})
    message = str(e.value)
    line = next((q for q in message.splitlines() if q.startswith(f"  at {file}:")), "")
    return message, line.partition(": ")[2]


CUTS = {
    "h = (w * 2).detach()": "detach removes the history",
    "h = torch.detach(w * 2)": "detach removes the history",
    "h = (w * 2).data": ".data gives a tensor that requires grad without its history",
    "h = torch.tensor((w * 2).tolist())": "tolist turns a tensor that requires grad into numbers",
    "h = torch.tensor((w * 2).sum().item())": "item turns a tensor",
    "h = torch.tensor(float((w * 2).sum()))": "float turns a tensor",
    "h = (w * 2).long()": "long returns integers",
    "h = (w * 2).to(torch.int64)": "to returns integers",
    "h = (w > 0).float()": "a comparison returns True or False",
    "h = (w * 2).argmax().float()": "argmax returns positions",
    "h = torch.argmax(w).float()": "argmax returns positions",
    "with torch.no_grad(): h = w * 2": "h is computed under no_grad",
}


@pytest.mark.parametrize("line", CUTS)
def test_the_line_that_cut_the_graph_is_named(line):
    message, place = told(f"{line}\nk = h * 3\nloss = k.sum()\nloss.backward()\n")
    assert place == line and CUTS[line] in message and "backward was called at" in message
    assert ADVICE not in message


@pytest.mark.parametrize("call", ["torch.autograd.grad(h.sum(), w)", "torch.autograd.backward([h.sum()])",
                                  "torch.autograd.grad(outputs=h.sum(), inputs=w)", "h.sum().backward()"])  # fmt: skip
def test_the_line_is_named_by_every_function_that_differentiates(call):
    message, place = told(f"h = w.detach()\n{call}\n")
    assert place == "h = w.detach()" and "removes the history" in message


def test_functions_and_modules_are_read_on():
    net = """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 2)
            def forward(self, x):
                h = self.fc(x)
                return self.last(h)
            def last(self, h):
                return h.detach() * 2
        def half(x):
            y = x / 2
            return y.data
        @torch.no_grad()
        def predicted(net, x):
            return net(x)
        net = Net()
    """
    lines = {"half(w)": "return y.data", "net(w)": "return h.detach() * 2", "predicted(net, w)": "@torch.no_grad()"}
    for call, line in lines.items():
        message, place = told(f"loss = {call}.sum()\nloss.backward()\n", net)
        assert place == line, message


def test_values_collected_in_a_list():
    message, place = told(
        "all = []\nfor i in range(3):\n    all.append((w * i).sum().item())\nt = torch.tensor(sum(all))\nt.backward()\n"
    )
    assert place == "all.append((w * i).sum().item())" and "item turns" in message


def test_an_input_that_was_cut_off():
    message, place = told("v = torch.ones(3, requires_grad=True)\nh = (w * 2).detach()\nloss = (h * v).sum()\n"
                          "torch.autograd.grad(loss, [v, w])\n")  # fmt: skip
    assert (
        place == "h = (w * 2).detach()"
        and "input 1, of shape (3,): detach removes" in message
        and "allow_unused=True" in message
    )


@pytest.mark.parametrize("program", [
    "v = torch.ones(3)\n(v * v).sum().backward()\n",
    "x = torch.tensor([1.0, 2.0])\nloss = (x * torch.tensor(float(x.sum()))).sum()\nloss.backward()\n",
    "target = w.detach()\nx = torch.ones(3)\n(x * 2).sum().backward()\n",
    "import os\nx = torch.ones(1)\n[x * k for k in range(3)][0].backward()\n",
])  # fmt: skip
def test_no_line_is_blamed_without_need(program):
    message, place = told(program)
    assert ADVICE in message and place == program.splitlines()[-1]


@pytest.mark.parametrize("line", ["h = w[w > 0].detach()", "h = torch.where(w > 0, w, 0 * w).data"])
def test_a_condition_is_not_blamed(line):
    message, place = told(f"{line}\nh.sum().backward()\n")
    assert place == line and "comparison" not in message


def test_a_program_with_many_calls_is_read_once():
    """Followed one by one, the calls would be 4**30, and the variables 3**30."""
    calls = "".join(f"def f{k}(x):\n    return f{k - 1}(x) + f{k - 1}(x) * f{k - 1}(2 * x)\n" for k in range(1, 31))
    names = "".join(f"    y{k} = y{k - 1} + y{k - 1} * y{k - 1}\n" for k in range(1, 31))
    many = f"def many(x):\n    y0 = 2 * x\n{names}    return y30.detach()\n"
    message, place = told("loss = many(w).sum()\nloss.backward()\n", many)
    assert place == "return y30.detach()"
    header = f"def f0(x):\n    return 2 * x\n{calls}"
    message, _ = told("x = torch.ones(3)\nloss = f6(x).sum()\nloss.backward()\n", header)
    assert ADVICE in message


def test_an_unused_input_is_not_reported_as_cut():
    message, _ = told(
        "v = torch.ones(3, requires_grad=True)\nt = v.detach()\ntorch.autograd.grad((v * t).sum(), [w])\n"
    )
    assert "detach" not in message and "allow_unused=True" in message


def test_no_code_of_the_user_runs_for_the_message():
    header = """
        class Odd:
            def __init__(self): self.w = w
            @property
            def h(self): raise AssertionError("read")
            def __getattr__(self, name): raise AssertionError("read")
        odd = Odd()
    """
    message, _ = told(
        "def f(o, x):\n    if x is None: return o.h\n    return x.data\nf(odd, w).sum().backward()\n", header
    )
    assert "read" not in message


def test_without_source_the_general_advice_is_given():
    with pytest.raises(RuntimeError, match=ADVICE):
        exec("import minigrad as torch\nw = torch.ones(3, requires_grad=True)\nw.detach().sum().backward()")


UPDATE = """
for i in range(3):
    loss = (w ** 2).sum()
    loss.backward()
    {0}
"""
UPDATES = {
    "with torch.no_grad(): w = w - 0.1 * w.grad": "is assigned a new tensor under no_grad, which does not require grad",
    "w = w.data - 0.1 * w.grad": ".data gives a tensor that requires grad without its history",
    "w = w.detach() - 0.1 * w.grad": "detach removes the history",
    "w = torch.tensor((w - 0.1 * w.grad).tolist())": "tolist turns a tensor that requires grad into numbers",
}


@pytest.mark.parametrize("line", UPDATES)
def test_an_update_that_loses_the_history_is_named_in_the_next_round(line):
    message, place = told(UPDATE.format(line))
    assert place == line and UPDATES[line] in message
    assert ("w -= 0.1 * w.grad" in message) == ("no_grad" in line)


def test_an_update_in_a_function_names_the_call():
    header = """
        def step(v):
            loss = (v ** 2).sum()
            loss.backward()
            with torch.no_grad():
                v = v - 0.1 * v.grad
            return v
    """
    message, place = told("for i in range(2):\n    w = step(w)\n", header)
    assert place == "v = v - 0.1 * v.grad" and "is assigned a new tensor" in message


def test_the_callers_of_a_function_that_differentiates_are_read_too():
    header = """
        def differentiated(loss):
            loss.backward()
        class Trainer:
            def run(self, x):
                differentiated(x.detach().sum())
    """
    message, place = told("Trainer().run(w * 2)\n", header)
    assert place == "differentiated(x.detach().sum())" and "detach removes" in message


@pytest.mark.parametrize(
    "line", ["(g,) = torch.autograd.grad((w ** 3).sum(), w)", "g = torch.autograd.grad((w ** 3).sum(), w)[0]"]
)
def test_a_gradient_without_create_graph_has_no_history(line):
    message, place = told(f"{line}\ng.sum().backward()\n")
    assert place == line and "create_graph is not set" in message and "pass create_graph=True" in message
    message, place = told("(w ** 3).sum().backward()\nh = 2 * w.grad\nh.sum().backward()\n")
    assert place == "(w ** 3).sum().backward()" and ".grad holds numbers without a history" in message


def test_without_a_cut_the_tensors_that_could_require_grad_are_named():
    message, _ = told("x = torch.ones(3)\ny = x * 2\nloss = y.sum()\nloss.backward()\n")
    assert "x does not require grad; it is made at" in message and message.count("does not require grad;") == 1
    message, _ = told("losses = [torch.ones(()) for _ in range(2)]\nsum(losses).backward()\n")
    assert "losses does not require grad; it is made at" in message
    message, _ = told("i = torch.ones(3).long()\n(i * 2).sum().backward()\n")
    assert "i does not require grad" not in message, "integers cannot"


@pytest.mark.parametrize("line", ["for p in net.parameters(): p.requires_grad = False", "net.requires_grad_(False)"])
def test_a_frozen_module_is_named_with_the_line_that_froze_it(line):
    message, _ = told(f"net = torch.nn.Linear(3, 1)\n{line}\nloss = net(torch.ones(2, 3)).sum()\nloss.backward()\n")
    assert "no parameter of net requires grad; it is made at" in message
    assert "requires_grad is switched off at" in message and f": {line}" in message
    assert "requires_grad_(True)" in message


def test_gradients_that_are_switched_off_are_named_with_the_line_of_the_switch():
    header = """
        def evaluate():
            torch.set_grad_enabled(False)
            return 1
    """
    try:
        message, place = told("evaluate()\nloss = w.sum()\nloss.backward()\n", header)
    finally:
        minigrad.set_grad_enabled(True)
    assert place == "torch.set_grad_enabled(False)" and "set_grad_enabled(False) has switched gradients off" in message
    message, place = told("with torch.no_grad():\n    loss = torch.ones(3).sum()\n    loss.backward()\n")
    assert "gradients are switched off" in message and place.startswith("loss.backward()")


OTHERS = {
    "h = w * 2; h.detach_()": "detach_ removes the history",
    "f = lambda x: x.detach() * 2; h = f(w)": "detach removes the history",
    "values, h = (w * 2).max(0)": "max returns positions",
    "h = (w * 2).sort()[1]": "sort returns positions",
    "with torch.set_grad_enabled(False): h = w * 2": "h is computed under no_grad",
    "h = torch.ones(3) if (w * 2).sum() > 0 else torch.zeros(3)": "a comparison returns True or False",
    "h = torch.eye(3)[(w * 2).argmax()]": "argmax returns positions",
}


@pytest.mark.parametrize("line", OTHERS)
def test_each_operation_that_cuts_a_graph_is_named(line):
    message, place = told(f"{line}\nk = h * 3.0\nk.sum().backward()\n")
    assert place == line and OTHERS[line] in message


INNOCENT = {
    "an earlier assignment": "h = w.detach()\nh = w * 2\nh = h.data  # cut\n",
    "the other branch": "if not w.requires_grad:\n    h = w.detach()\nelse:\n    h = (w * 2).data  # cut\n",
    "a flag": "debug = False\nh = w.detach() if debug else (w * 2).data  # cut\n",
    "another attribute": "class S: pass\ns = S()\ns.log = w.detach()\ns.h = (w * 2).data  # cut\nh = s.h\n",
    "a shape": "n = w.detach().shape[0]\nh = (w * n).data  # cut\n",
    "a condition": "h = torch.where(w.detach() > 0, w, 0 * w).data  # cut\n",
    "a block with gradients": "with torch.no_grad():\n    with torch.enable_grad():\n        h = w * 2\nh = h.data  # cut\n",
    "zeros alike": "h = (w + torch.zeros_like(w.detach())).data  # cut\n",
    "a local variable of the same name": "def f(x):\n    k = x * 2\n    return k.data  # cut\nk = w.detach()\nh = f(w)\n",
}


@pytest.mark.parametrize("kind", INNOCENT)
def test_a_line_off_the_path_is_not_blamed(kind):
    message, place = told(f"{INNOCENT[kind]}h.sum().backward()\n")
    assert place.endswith("# cut") and ".data gives" in message


def test_a_variable_that_requires_grad_is_not_blamed():
    message, _ = told("v = torch.ones(3)\nh = v * float('2')\nw.sum()\n(h * 2).sum().backward()\n")
    assert "v does not require grad" in message and "w does not require grad" not in message


def test_globals_and_variables_of_an_outer_function_are_followed():
    message, place = told("h = w.detach()\ndef go():\n    h.sum().backward()\ngo()\n")
    assert place == "h = w.detach()" and "detach removes" in message
    message, place = told("""
        def make():
            v = torch.ones(3, requires_grad=True)
            h = v.data * 2
            def go():
                h.sum().backward()
            return go
        make()()
    """)
    assert place == "h = v.data * 2"


def test_only_arguments_that_reach_the_loss_are_followed_into_the_caller():
    header = """
        def step(log, loss, *rest, **more):
            loss.backward()
        def passed(*args, **kwargs):
            step(*args, **kwargs)
    """
    for call in ("step(w.detach(), torch.ones(()))", "step(log=w.detach(), loss=torch.ones(()))"):
        message, place = told(f"{call}\n", header)
        assert "detach" not in message.partition("To fix")[0].replace(place, "")
    message, place = told("passed(0, (w * 2).sum().detach())\n", header)
    assert place == "passed(0, (w * 2).sum().detach())"


def test_frames_outside_the_program_are_not_searched():
    """The frames of a command or of a wrapper around a program have variables with the program's names."""
    w = minigrad.ones(3, requires_grad=True)
    loss = w.detach().sum()
    message, place = told("x = torch.zeros(1)\nx.backward()\n")
    assert "internal" not in message and "detach" not in message and loss.grad_fn is None
    with ThreadPoolExecutor(1) as pool:
        message, place = pool.submit(told, "h = w.detach()\nh.sum().backward()\n").result()
    assert place == "h = w.detach()" and "internal" not in message


def test_a_long_program_is_read_or_skipped():
    lines = "".join(f"y{k} = y{k - 1} + 1\n" for k in range(1, 800))
    message, _ = told(f"def f(y0):\n{textwrap.indent(lines, '    ')}    return y799.detach()\nf(w).sum().backward()\n")
    assert "internal" not in message
    message, _ = told("""
        rows = []
        def f(x):
            for k in range(3):
                rows.append(rows)
            return x.data
        f(torch.ones(3)).sum().backward()
    """)
    assert "internal" not in message


STEP = """
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, level):
        {lines}

    @staticmethod
    def backward(ctx, *gs):
        return gs[0]
"""
WHOLE = {  # the last line of forward: the dtype, and the fix
    "return level > 0": ("minigrad.bool", "(level > 0).float()"),
    "return (level > 0).long()": ("minigrad.int64", "(level > 0).long().float()"),
    "return level.sign().to(torch.int32)": ("minigrad.int32", "level.sign().to(torch.int32).float()"),
    "return level.to(torch.int16)": ("minigrad.int16", "level.to(torch.int16).float()"),
    "return level.to(torch.int8)": ("minigrad.int8", "level.to(torch.int8).float()"),
    "return level.to(torch.uint8)": ("minigrad.uint8", "level.to(torch.uint8).float()"),
    "return level * 2, level > 0": ("output 1 as minigrad.bool", "(level > 0).float()"),
}


@pytest.mark.parametrize("use", ["s.sum().backward()", "torch.autograd.grad((s * 2.0).sum(), w)",
                                 "k = s.float()\nloss = k.sum()\nloss.backward()"])  # fmt: skip
@pytest.mark.parametrize("line", WHOLE)
def test_an_output_that_has_no_derivative_is_named_with_its_dtype(line, use):
    pick = "[1]" if "," in line else ""
    message, place = told(f"s = Step.apply(w){pick}\n{use}\n", STEP.format(lines=line))
    dtype, fix = WHOLE[line]
    assert (
        place == line
        and f"Step returns {dtype}, which has no derivative" in message
        and f"return floats, {fix}" in message
    )
    assert "does not require grad; it is made" not in message


def test_an_output_in_a_variable_of_forward():
    lines = "mask = level > 0\n        return mask"
    message, place = told("Step.apply(w).float().sum().backward()\n", STEP.format(lines=lines))
    assert place == "return mask" and "return floats, mask.float()" in message


def test_integers_of_a_tensor_without_grad_are_not_blamed_on_the_tensor_that_has_it():
    message, _ = told("x = torch.ones(3)\ns = x.long()\ns.sum().backward()\n")
    assert "w does not require grad" not in message and "x does not require grad" in message
    message, _ = told("s = torch.arange(3)\ns.sum().backward()\n")
    assert "it has dtype minigrad.int64, which has no derivative" in message and "floating-point" in message
