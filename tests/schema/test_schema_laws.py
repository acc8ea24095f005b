"""What holds for the record of any layout: engines, validation and JSON all give the same record."""

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.schema.record_maker import Unwritable, record_of
from tests.strategies import layouts, mutated, samples
from wirelock import DecodeError, EncodeError, SchemaError, layout_of

laws = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@st.composite
def records(draw):
    """A Record class for a random layout."""
    source = draw(layouts())
    try:
        return record_of(source)
    except Unwritable:
        return assume(False)
    except SchemaError as error:
        # Alone, `this._root` is the record itself, and a struct of a bit region has no region around it.
        known = ("has another layout here", "of the union's types fits the case")
        assert error.path.startswith("Inner") or any(text in error.problem for text in known)
        return assume(False)


@st.composite
def records_and_bytes(draw):
    record = draw(records())
    return record, draw(samples(layout_of(record)))[0]


def outcome(run, *arguments, **options):
    try:
        return run(*arguments, **options)
    except (DecodeError, EncodeError) as error:
        return error.fault


def fields(record):
    return {name: getattr(record, name) for name in type(record).model_fields}


@laws
@given(records_and_bytes())
def test_a_parsed_record_is_the_validated_one(case):
    cls, data = case
    parsed = cls.parse(data)
    assert parsed.build() == data
    reference = cls.parse(data, engine="reference")
    assert reference.build(engine="reference") == data
    by_hand = cls(**fields(parsed))
    for other in (reference, by_hand):
        assert other.build() == data
        assert type(other) is cls
        assert repr(other) == repr(parsed)
        assert other.model_fields_set == parsed.model_fields_set == set(cls.model_fields)
        assert list(other.__dict__) == list(parsed.__dict__)
        assert other.model_dump_json() == parsed.model_dump_json()
        assert other.__pydantic_extra__ is parsed.__pydantic_extra__ is None
        assert other.__pydantic_private__ is parsed.__pydantic_private__ is None
        if "nan" not in repr(parsed):
            assert other == parsed
            assert hash(other) == hash(parsed)
            assert other.model_dump() == parsed.model_dump()


@laws
@given(records_and_bytes())
def test_json_loads_back_to_the_same_bytes(case):
    cls, data = case
    text = cls.parse(data).model_dump_json()
    again = cls.model_validate_json(text)
    assert again.build() == data
    assert again.model_dump_json() == text
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON


@laws
@given(records_and_bytes())
def test_what_follows_from_other_fields_may_be_left_out(case):
    cls, data = case
    parsed = cls.parse(data)
    implied = {item.label for item in layout_of(cls).fields if item.derived is not None}
    given_fields = {name: value for name, value in fields(parsed).items() if name not in implied}
    by_hand = cls(**given_fields)
    assert by_hand.build() == data
    assert by_hand.model_fields_set == set(cls.model_fields)


@laws
@given(st.data())
def test_bytes_are_a_record_or_one_decode_error(data):
    cls, octets = data.draw(records_and_bytes())
    for _ in range(4):
        tried = data.draw(mutated(octets))
        found = outcome(cls.parse, tried)
        other = outcome(cls.parse, tried, engine="reference")
        if isinstance(found, cls):
            assert found.build() == tried
            assert repr(other) == repr(found)
        else:
            assert other == found
