from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    def __init__(self, tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "parameters_json", "reads", "writes", "clock", "ids", "user", "server_name", "read_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_json: str
    reads: _containers.RepeatedCompositeFieldContainer[Rows]
    writes: _containers.RepeatedCompositeFieldContainer[Rows]
    clock: bool
    ids: int
    user: bool
    server_name: str
    read_only: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_json: _Optional[str] = ..., reads: _Optional[_Iterable[_Union[Rows, _Mapping]]] = ..., writes: _Optional[_Iterable[_Union[Rows, _Mapping]]] = ..., clock: bool = ..., ids: _Optional[int] = ..., user: bool = ..., server_name: _Optional[str] = ..., read_only: bool = ...) -> None: ...

class Rows(_message.Message):
    __slots__ = ("table", "columns")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    table: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, table: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class CallRequest(_message.Message):
    __slots__ = ("tool", "arguments_json", "rows_json", "now", "ids")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    ROWS_JSON_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments_json: str
    rows_json: str
    now: float
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tool: _Optional[str] = ..., arguments_json: _Optional[str] = ..., rows_json: _Optional[str] = ..., now: _Optional[float] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CallResponse(_message.Message):
    __slots__ = ("value_json", "raised", "changes")
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    RAISED_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    value_json: str
    raised: Raised
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    def __init__(self, value_json: _Optional[str] = ..., raised: _Optional[_Union[Raised, _Mapping]] = ..., changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ...) -> None: ...

class Raised(_message.Message):
    __slots__ = ("type", "text")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    type: str
    text: str
    def __init__(self, type: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("table", "add_json", "update", "remove")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    ADD_JSON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    table: str
    add_json: str
    update: Update
    remove: Where
    def __init__(self, table: _Optional[str] = ..., add_json: _Optional[str] = ..., update: _Optional[_Union[Update, _Mapping]] = ..., remove: _Optional[_Union[Where, _Mapping]] = ...) -> None: ...

class Where(_message.Message):
    __slots__ = ("column", "value_json")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    column: str
    value_json: str
    def __init__(self, column: _Optional[str] = ..., value_json: _Optional[str] = ...) -> None: ...

class Update(_message.Message):
    __slots__ = ("where", "values_json")
    WHERE_FIELD_NUMBER: _ClassVar[int]
    VALUES_JSON_FIELD_NUMBER: _ClassVar[int]
    where: Where
    values_json: str
    def __init__(self, where: _Optional[_Union[Where, _Mapping]] = ..., values_json: _Optional[str] = ...) -> None: ...
