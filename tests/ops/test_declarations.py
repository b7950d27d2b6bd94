"""An operation's class names rules of other folders; each of them exists, and some operation names it."""

import pytest

from minigrad.compile.rules import RULES
from minigrad.formulas.spelling import SPELLINGS
from minigrad.ops.base.primitive import Primitive


@pytest.mark.parametrize(("attribute", "rules"), [("lowering", RULES), ("spelling", SPELLINGS)])
def test_the_rules_that_operations_name_are_all_rules_that_exist(attribute, rules):
    classes: list[type[Primitive]] = [Primitive]
    for cls in classes:  # grows while it is iterated over
        classes += cls.__subclasses__()
    assert {getattr(cls, attribute) for cls in classes} == {"", *rules}
