"""The Python code of a record that only pydantic can run, as the layout names it: by name and version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from wirelock.errors import SchemaError

__all__ = ["python_validators", "validator_name", "versioned"]

_Validator = TypeVar("_Validator", bound=Callable[..., Any])


def versioned(version: int) -> Callable[[_Validator], _Validator]:
    """Give a Python validator a version: the lock holds it beside the name.

    Right above the function, below pydantic's own decorators. Count it up when the validator takes or
    refuses other values, so that the change is one of the record's version. Raises SchemaError for a version
    below 1.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise SchemaError("", f"the version {version!r} of a validator", "count versions from 1")

    def mark(validator: _Validator) -> _Validator:
        validator.__wirelock_version__ = version  # type: ignore[attr-defined]
        return validator

    return mark


def validator_name(validator: Any) -> str:
    """Return the name of a validator in an annotation, with its version if it has one."""
    function = getattr(validator, "func", validator)
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return f"{name}{_version(function)}"


def _version(function: Any) -> str:
    version = getattr(function, "__wirelock_version__", None)
    return "" if version is None else f" version {version}"


def python_validators(cls: type[BaseModel]) -> tuple[str, ...]:
    """Name everything in Python that pydantic runs on a record and other engines cannot."""
    made = cls.__pydantic_decorators__
    found = []
    for name, field in made.field_validators.items():
        fields = ", ".join(field.info.fields)
        found.append(f"{field.info.mode} validator {name}{_version(field.func)} of {fields}")
    for name, old in made.validators.items():
        found.append(f"validator {name}{_version(old.func)} of {', '.join(old.info.fields)}")
    found += [f"validator {name}{_version(root.func)}" for name, root in made.root_validators.items()]
    for name, model in made.model_validators.items():
        if name != "_complete":
            found.append(f"{model.info.mode} validator {name}{_version(model.func)}")
    if cls.model_post_init is not BaseModel.model_post_init:
        found.append(f"model_post_init{_version(cls.model_post_init)}")
    if cls.__private_attributes__:
        found.append(f"private attributes {', '.join(cls.__private_attributes__)}")
    return tuple(found)
