"""The parser of the library for pages: Python's precedence and numbers, and errors for everything else."""

import numpy as np
import pytest

from .node import LiveError, evaluate

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
EXPRESSIONS = """
-x ** 2
2 ** -x
x - 1 - 2 * x / 3
x @ x.T @ x
x[0] * x[-1, ...]
x[:, ::2]
x[None, 1, :, None]
x[[1, 0]]
x[x > 0]
x[..., 1:]
x % 2 // 0.5
(x > 1) & (x < 4) | (x == -2)
+x - -x
(x,)[0]
"""


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_expressions_mean_what_they_mean_in_python(text):
    (found,) = evaluate(text, {"x": X})
    expected = eval(text, {"x": X})
    assert found.shape == expected.shape and np.array_equal(found, expected)


@pytest.mark.parametrize(
    "text, message",
    {
        "x +": "column 4: unexpected",
        "x $ 2": r'column \d: "." has no meaning in a label',
        "x y": 'expected ","',
        "sum(x": r'expected "\)"',
        "0 < x < 1": "a chain of comparisons",
        "y": '"y" is not a name of the record',
        "constructor": "is not a name of the record",
        "constructor(x)": "constructor is not live",
        "x.constructor": ".constructor is not live",
        "x.__proto__": ".__proto__ is not live",
        "x.sum(axes=1)": "sum has no argument axes",
        "x.exp(1, 2, 3)": "exp takes at most",
        "x @ x": "cannot be multiplied",
        "x[5]": "index 5 is out of 2 elements",
        "pad(x, (1, 1), 'constructor')": 'mode="constructor" is not live',
        "pad(x, (1, 1)).to(constructor)": '"constructor" is not a name',
        "ones(100000, 100000)": "a tensor of shape",
        "lambda x: x": "expected",
        "(" * 600 + "x" + ")" * 600: "levels deep",
    }.items(),
)
def test_what_is_no_label_is_an_error_with_its_place(text, message):
    with pytest.raises(LiveError, match=message):
        evaluate(text, {"x": X})
