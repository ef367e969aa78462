"""Check that `help()` of every public name is all the documentation that its users need."""

import inspect
import re
from importlib import import_module

import pytest

import lookalike as la

MODULES = ("measures", "families", "exact", "entities", "baskets", "news", "fingerprints", "linking", "spark")
OWN = object.__init__, Exception.__init__


def public():
    """Return all public functions and classes by the name that users write, and methods of classes."""
    names = {f"la.{name}": getattr(la, name) for name in la.__all__ if name not in MODULES}
    for module in MODULES:
        room = import_module("lookalike.theory.exact" if module == "exact" else f"lookalike.{module}")
        names |= {f"la.{module}.{name}": getattr(room, name) for name in room.__all__}
    return {name: one for name, one in names.items() if callable(one)}


NAMES = public()
FUNCTIONS = {name: one for name, one in NAMES.items() if not inspect.isclass(one)}
CLASSES = {name: one for name, one in NAMES.items() if inspect.isclass(one)}
METHODS = {
    f"{owner}.{name}": getattr(one, name)
    for owner, one in CLASSES.items()
    for name, method in vars(one).items()
    if not name.startswith("_") and (inspect.isfunction(method) or isinstance(method, classmethod | staticmethod))
}


def parameters(function):
    return [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_show_their_parameters_return_value_and_an_example(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    assert text, "no docstring"
    assert ">>>" in text, "no example"
    assert re.search(r"\b(Returns?|Yields?)\b", text), "no word about what comes back"
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for one in parameters(function):
        assert one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL), f"{one} hides its names"
        assert one.annotation is not one.empty, f"{one.name} has no type"
        assert re.search(rf"\b{re.escape(one.name)}\b", text), f"{one.name} is not described"


@pytest.mark.parametrize("name", CLASSES)
def test_classes_say_what_an_instance_is(name):
    kind = CLASSES[name]
    text = kind.__doc__ or ""
    assert text.strip(), "no docstring"
    assert not text.startswith(f"{kind.__name__}("), "only what dataclasses write themselves"
    if not issubclass(kind, Exception) and not inspect.isabstract(kind):
        assert ">>>" in text, "no example"


@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_they_do(name):
    method = METHODS[name]
    text = inspect.getdoc(method)
    assert text, "no docstring"
    for one in parameters(method):
        assert one.kind is not one.VAR_KEYWORD or f"`{one.name}`" in text, f"{one} hides its names"
        assert one.annotation is not one.empty, f"{one.name} has no type"


def test_classes_have_names_of_their_own():
    """No two public names mean different things."""
    last = [name.rpartition(".")[2] for name in CLASSES if name.count(".") == 1]
    assert len(set(last)) == len(last)
