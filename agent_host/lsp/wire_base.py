"""How JSON is typed at the edge: what comes in is exact, what goes out is camelCase.

Every refusal names the field and never repeats the value. Not here: the messages themselves.
"""

from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainValidator,
    PositiveInt,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from agent_host.core.errors import InvalidRequest
from agent_host.lsp.message import is_object


class Params(BaseModel):
    """What an editor asks with: exact types, and a misspelt key is not silently ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class Heard(BaseModel):
    """What an editor tells or answers: unknown keys are left alone."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, strict=True)


class Told(BaseModel):
    """What the host tells or answers."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    def json_object(self) -> dict[str, object]:
        """As JSON values; a key without a value is left out."""
        return self.model_dump(by_alias=True, exclude_none=True, warnings=False)


_Heard = TypeVar("_Heard", bound=BaseModel)


def read(model: type[_Heard], params: object) -> _Heard:
    """Check params; raises InvalidRequest with the path of the first bad field in `field`."""
    if not is_object(params):
        raise InvalidRequest("params: Input should be an object.", field="params")
    try:
        return model.model_validate(params, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _refusal(model, error) from None


def _refusal(model: type[BaseModel], error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = _path(first["loc"])
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        known = ", ".join(sorted(to_camel(name) for name in model.model_fields)) or "none"
        return InvalidRequest(f"{path}: there is no such key. Known: {known}.", field=path)
    if first["type"] == "extra_forbidden":
        return InvalidRequest(f"{path}: there is no such key.", field=path)
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "too_long" and isinstance(error.errors()[0]["input"], str):
        reason = reason.replace("items after validation", "characters")
    return InvalidRequest(f"{path or 'params'}: {reason}.", field=path)


def _path(location: tuple[int | str, ...]) -> str:
    """`limits.maxTurns`, `prompt[0].text`; tags of unions (`<text>`) are none of the reader's."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step.startswith("<"):
            continue
        else:
            path += f".{step}" if path else step
    return path


def _whole(value: object) -> object:
    """Lua and JavaScript may write 3 as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _scalar(text: str) -> str:
    """Without halves of surrogate pairs, which no file and no vendor's JSON can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _token(value: object) -> str | int:
    value = _whole(value)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("Input should be a string or a whole number")


Token = Annotated[str | int, PlainValidator(_token, json_schema_input_type=str | int)]
"""LSP's progress token."""
Whole = Annotated[int, BeforeValidator(_whole, json_schema_input_type=int)]
Index = Annotated[int, Field(ge=0), BeforeValidator(_whole, json_schema_input_type=NonNegativeInt)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_whole, json_schema_input_type=PositiveInt)]
Text = Annotated[str, AfterValidator(_scalar)]
Name = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_scalar)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$", max_length=128)]
"""A session's or a run's id: safe in file names, URIs and logs."""
