"""Conditions: expressions over a read-only view, as a small part of Python has them.

A text is parsed by `ast`, each node of a list of allowed ones is made a function, and these are called.
None of Python's own attributes and calls can be reached: a name is looked up in the view, an attribute
is the item of a JSON object, a call is one of `functions`. What a condition may take is bounded in
length, depth, steps and sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from ...suggestions import did_you_mean
from .condition_variables import VARIABLES, ConditionVariables
from .evaluation import ConditionError, EvaluationFrame
from .expression_parser import find_column, parse_expression, raise_at_column
from .functions import FUNCTIONS, METHODS, ConditionFunction, TextPattern
from .operators import COMPARISONS, OPERATIONS, check_size, get_item, name_type, negate, slice_value

#: The compiled form of a condition's node.
Code = Callable[[EvaluationFrame], Any]


class ComprehensionClause:
    """`for … in whole if tests` of a comprehension."""

    def __init__(self, iterable: Code, slot: int, tests: list[Code]) -> None:
        self._iterable = iterable
        self._slot = slot
        self._tests = tests

    def run(self, frame: EvaluationFrame, steps: int) -> Iterator[None]:
        """Set the variable to one item after the other."""
        whole = self._iterable(frame)
        if whole is None:
            return
        if not isinstance(whole, list | dict):
            raise ConditionError(
                f"a comprehension needs a list or an object, not {name_type(whole)}"
            )
        for value in whole:
            frame.charge_steps(steps)
            frame.slots[self._slot] = value
            if all(test(frame) for test in self._tests):
                yield


class Comprehension:
    """A comprehension; each pass through a clause takes as many steps as there are nodes in it."""

    def __init__(self, clauses: list[ComprehensionClause], body: Code, steps: int) -> None:
        self._clauses = clauses
        self._body = body
        self._steps = steps

    def __call__(self, frame: EvaluationFrame, first: int = 0) -> Iterator[Any]:
        """Yield the comprehension's items, from a clause on, with earlier variables set."""
        if first == len(self._clauses):
            yield self._body(frame)
            return
        for _ in self._clauses[first].run(frame, self._steps):
            yield from self(frame, first + 1)


#: The deepest nesting of a condition.
_DEEPEST: Final = 60
_ALLOWED: Final = (
    "Conditions have names, texts, numbers, lists, .items, [items], comparisons, and, or, not, in, "
    "+ - * / // %, … if … else …, comprehensions, and calls of " + ", ".join(FUNCTIONS)
)
#: The constants of JSON, as a condition has them.
_CONSTANTS: Final = {"true": "True", "false": "False", "null": "None"}
_CALLED: Final = {
    ast.Lambda: "a lambda",
    ast.NamedExpr: "“:=”",
    ast.JoinedStr: "an f-string",
    ast.Starred: "“*”",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.SetComp: "a comprehension in braces",
    ast.DictComp: "a comprehension in braces",
    ast.BinOp: "this operator",
    ast.UnaryOp: "this operator",
}


class ConditionCompiler:
    """Makes one condition.

    Args:
        text: The condition, to say where in it something is wrong.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._scope: dict[str, int] = {}  # variables to their slots
        self._depth = 0
        #: The number of variables.
        self.slots = 0

    def code(self, node: ast.expr) -> Code:
        """The function that a node is.

        Raises:
            ConditionError: There is something in it that conditions don't have.
        """
        if self._depth == _DEEPEST:
            self._refuse(node, "the condition is nested too deeply here: simplify it")
        make = NODE_COMPILERS.get(type(node))
        if make is None:
            self._refuse_kind(node)
        self._depth += 1
        try:
            return make(self, node)
        finally:
            self._depth -= 1

    def _refuse_kind(self, node: ast.expr) -> NoReturn:
        self._refuse(
            node, f"{_CALLED.get(type(node), 'this expression')} can't be used. {_ALLOWED}"
        )

    def _refuse(self, node: ast.expr, why: str) -> NoReturn:
        raise_at_column(find_column(self._text, node), why)

    # ---- values -------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Code:
        value = node.value
        if value is not None and not isinstance(value, str | int | float):
            self._refuse(node, f"{type(value).__name__} values can't be used. {_ALLOWED}")
        try:
            check_size(value)
        except ConditionError as failed:
            self._refuse(node, str(failed))
        return lambda _frame: value

    def _name(self, node: ast.Name) -> Code:
        name = node.id
        slot = self._scope.get(name)
        if slot is not None:
            return lambda frame: frame.slots[slot]
        if name not in VARIABLES:
            called = f"“{name}” is a function: call it as {name}(…)" if name in FUNCTIONS else None
            self._refuse(node, called or f"{_unknown(name)} There are {', '.join(VARIABLES)}")
        return lambda frame: frame.variables[name]

    def _attribute(self, node: ast.Attribute) -> Code:
        name = node.attr
        if name.startswith("__"):
            self._refuse(node, f"“{name}” can't be used. {_ALLOWED}")
        whole = self.code(node.value)
        return lambda frame: get_item(frame, whole(frame), name)

    def _subscript(self, node: ast.Subscript) -> Code:
        whole = self.code(node.value)
        if not isinstance(node.slice, ast.Slice):
            key = self.code(node.slice)
            return lambda frame: get_item(frame, whole(frame), key(frame))
        if node.slice.step is not None:
            self._refuse(node.slice.step, "a slice takes a begin and an end, and no step")
        low, high = self._or_none(node.slice.lower), self._or_none(node.slice.upper)
        return lambda frame: slice_value(frame, whole(frame), low(frame), high(frame))

    def _or_none(self, node: ast.expr | None) -> Code:
        return (lambda _frame: None) if node is None else self.code(node)

    def _object(self, node: ast.Dict) -> Code:
        items: list[tuple[str, Code]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                self._refuse(node, "the keys of an object are texts in quotes")
            items.append((key.value, self.code(value)))
        return lambda frame: {name: value(frame) for name, value in items}

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Code:
        values = [self.code(each) for each in node.elts]
        return lambda frame: [value(frame) for value in values]

    # ---- operators ----------------------------------------------------------------------------------

    def _junction(self, node: ast.BoolOp) -> Code:
        return _joined([self.code(value) for value in node.values], isinstance(node.op, ast.And))

    def _sign(self, node: ast.UnaryOp) -> Code:
        if not isinstance(node.op, ast.Not | ast.USub):
            self._refuse_kind(node)
        operand = self.code(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda frame: not operand(frame)
        return lambda frame: negate(operand(frame))

    def _operation(self, node: ast.BinOp) -> Code:
        operation = OPERATIONS.get(type(node.op).__name__)
        if operation is None:
            self._refuse_kind(node)
        left, right = self.code(node.left), self.code(node.right)
        return lambda frame: operation(frame, left(frame), right(frame))

    def _comparison(self, node: ast.Compare) -> Code:
        first = self.code(node.left)
        steps = [
            (COMPARISONS[type(op).__name__], self.code(value))
            for op, value in zip(node.ops, node.comparators, strict=True)
        ]

        def code(frame: EvaluationFrame) -> bool:
            left = first(frame)
            for compare, value in steps:
                right = value(frame)
                if not compare(frame, left, right):
                    return False
                left = right
            return True

        return code

    def _choice(self, node: ast.IfExp) -> Code:
        test, one, other = self.code(node.test), self.code(node.body), self.code(node.orelse)
        return lambda frame: one(frame) if test(frame) else other(frame)

    # ---- calls --------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Code:
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS and name not in self._scope:
                function, arguments = FUNCTIONS[name], list(node.args)
            case ast.Attribute(attr=name, value=text) if name in METHODS:
                function, arguments = METHODS[name], [text, *node.args]
            case ast.Name(id=name):
                like = did_you_mean(name, FUNCTIONS)
                there = ", ".join(FUNCTIONS)
                self._refuse(node, f"there is no function “{name}”.{like} There are {there}")
            case ast.Attribute(attr=name):
                like = did_you_mean(name, METHODS)
                there = ", ".join(METHODS)
                self._refuse(node, f"there is no method “{name}”.{like} Texts have {there}")
            case _:
                self._refuse(node, f"this expression can't be called. {_ALLOWED}")
        self._check_arguments(node, name, function)
        call = function.call
        if name == "matches":
            value, pattern = self.code(arguments[0]), self._pattern(arguments[1])
            return lambda frame: call(frame, value(frame), pattern)
        argument = self._items_or_value if function.accepts_generator else self.code
        values = [argument(each) for each in arguments]
        return lambda frame: call(frame, *[value(frame) for value in values])

    def _check_arguments(self, node: ast.Call, name: str, function: ConditionFunction) -> None:
        if node.keywords:
            self._refuse(node, f"{name}() takes no arguments by name")
        if not function.min_args <= len(node.args) <= function.max_args:
            takes = {(0, 0): "none", (0, 1): "one or none", (1, 1): "one", (2, 2): "two"}
            number = takes.get(
                (function.min_args, function.max_args),
                f"{function.min_args} to {function.max_args}",
            )
            self._refuse(node, f"{name}() takes {number}, not {len(node.args)} arguments")

    def _items_or_value(self, node: ast.expr) -> Code:
        return self._items(node) if isinstance(node, ast.GeneratorExp) else self.code(node)

    def _pattern(self, node: ast.expr) -> TextPattern:
        match node:
            case ast.Constant(value=str() as text):
                try:
                    return TextPattern(text)
                except ConditionError as failed:
                    self._refuse(node, str(failed))
        self._refuse(node, 'matches() takes its pattern in quotes, as in matches(text, r"\\d+")')

    # ---- comprehensions -----------------------------------------------------------------------------

    def _list_of_items(self, node: ast.ListComp) -> Code:
        items = self._items(node)
        return lambda frame: list(items(frame))

    def _generator(self, node: ast.GeneratorExp) -> NoReturn:
        self._refuse(
            node,
            "write a comprehension in brackets, or as the argument of a function such as any()",
        )

    def _items(
        self, node: ast.GeneratorExp | ast.ListComp
    ) -> Callable[[EvaluationFrame], Iterator[Any]]:
        outside = dict(self._scope)
        clauses = [self._clause(clause) for clause in node.generators]
        body = self.code(node.elt)
        self._scope = outside
        steps = sum(1 for _ in ast.walk(node))
        return Comprehension(clauses, body, steps)

    def _clause(self, clause: ast.comprehension) -> ComprehensionClause:
        whole = self.code(clause.iter)
        if clause.is_async or not isinstance(clause.target, ast.Name):
            self._refuse(clause.target, "a comprehension takes exactly one name after “for”")
        slot = self._scope[clause.target.id] = self.slots
        self.slots += 1
        return ComprehensionClause(whole, slot, [self.code(test) for test in clause.ifs])


#: The compiler of each type of node; conditions have no other nodes.
NODE_COMPILERS: Final[dict[type[ast.expr], Callable[[ConditionCompiler, Any], Code]]] = {
    ast.Constant: ConditionCompiler._constant,
    ast.Name: ConditionCompiler._name,
    ast.Attribute: ConditionCompiler._attribute,
    ast.Subscript: ConditionCompiler._subscript,
    ast.List: ConditionCompiler._list,
    ast.Tuple: ConditionCompiler._list,
    ast.Set: ConditionCompiler._list,
    ast.Dict: ConditionCompiler._object,
    ast.BoolOp: ConditionCompiler._junction,
    ast.UnaryOp: ConditionCompiler._sign,
    ast.BinOp: ConditionCompiler._operation,
    ast.Compare: ConditionCompiler._comparison,
    ast.IfExp: ConditionCompiler._choice,
    ast.Call: ConditionCompiler._call,
    ast.ListComp: ConditionCompiler._list_of_items,
    ast.GeneratorExp: ConditionCompiler._generator,
}


def _joined(values: list[Code], all_of_them: bool) -> Code:
    """`and` and `or`: the first value that decides, else the last."""

    def code(frame: EvaluationFrame) -> Any:
        found: Any = None
        for value in values:
            found = value(frame)
            if bool(found) is not all_of_them:
                break
        return found

    return code


def _unknown(name: str) -> str:
    """The error for an unknown name, with the name that was probably meant."""
    constant = _CONSTANTS.get(name)
    like = f" Did you mean “{constant}”?" if constant else did_you_mean(name, VARIABLES)
    return f"there is no name “{name}”.{like}"


__all__ = ["Condition", "ConditionError", "load_condition", "parse_condition"]


class Condition:
    """A condition that can be evaluated at halt points.

    Args:
        code: The compiled condition.
        slots: The number of its variables.
    """

    __slots__ = ("_code", "_slots")

    def __init__(self, code: Code, slots: int) -> None:
        self._code = code
        self._slots = slots

    def __call__(self, variables: ConditionVariables) -> bool:
        """Whether the condition holds.

        Raises:
            ConditionError: The condition has no value here: texts compared with numbers, too many steps.
        """
        try:
            return bool(self._code(EvaluationFrame(variables, self._slots)))
        except RecursionError:
            raise ConditionError("the data is nested too deeply here") from None


def parse_condition(text: str) -> Condition:
    """Parse a condition.

    Raises:
        ConditionError: The text is no condition; the error names the column, and what is allowed there.
    """
    compiler = ConditionCompiler(text)
    code = compiler.code(parse_expression(text))
    return Condition(code, compiler.slots)


def load_condition(text: str) -> Condition:
    """Parse the condition of a breakpoint in force; an invalid one fails at each evaluation."""
    try:
        return parse_condition(text)
    except ConditionError as failed:
        message = str(failed)

    def fail(_frame: EvaluationFrame) -> bool:
        raise ConditionError(message)

    return Condition(fail, 0)
