from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Speaker(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPEAKER_UNSPECIFIED: _ClassVar[Speaker]
    SPEAKER_SYSTEM: _ClassVar[Speaker]
    SPEAKER_USER: _ClassVar[Speaker]
    SPEAKER_AGENT: _ClassVar[Speaker]
    SPEAKER_TOOL: _ClassVar[Speaker]
    SPEAKER_NOTIFICATION: _ClassVar[Speaker]
SPEAKER_UNSPECIFIED: Speaker
SPEAKER_SYSTEM: Speaker
SPEAKER_USER: Speaker
SPEAKER_AGENT: Speaker
SPEAKER_TOOL: Speaker
SPEAKER_NOTIFICATION: Speaker

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("speaker", "text", "calls", "call_id", "tool_name", "failed", "value_json", "code")
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    speaker: Speaker
    text: str
    calls: _containers.RepeatedCompositeFieldContainer[ToolCall]
    call_id: str
    tool_name: str
    failed: bool
    value_json: str
    code: str
    def __init__(self, speaker: _Optional[_Union[Speaker, str]] = ..., text: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[ToolCall, _Mapping]]] = ..., call_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., failed: bool = ..., value_json: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "parameters_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_json: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_json: _Optional[str] = ...) -> None: ...

class ActRequest(_message.Message):
    __slots__ = ("conversation_id", "turn", "messages", "tools", "traceparent")
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    conversation_id: str
    turn: int
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    traceparent: str
    def __init__(self, conversation_id: _Optional[str] = ..., turn: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class Raised(_message.Message):
    __slots__ = ("exception_type", "text")
    EXCEPTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    exception_type: str
    text: str
    def __init__(self, exception_type: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ActResponse(_message.Message):
    __slots__ = ("text", "calls", "raised", "code", "confidence")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    RAISED_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    text: str
    calls: _containers.RepeatedCompositeFieldContainer[ToolCall]
    raised: Raised
    code: str
    confidence: float
    def __init__(self, text: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[ToolCall, _Mapping]]] = ..., raised: _Optional[_Union[Raised, _Mapping]] = ..., code: _Optional[str] = ..., confidence: _Optional[float] = ...) -> None: ...

class AttachRequest(_message.Message):
    __slots__ = ("name", "answer", "instance", "software")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    name: str
    answer: AttachAnswer
    instance: str
    software: str
    def __init__(self, name: _Optional[str] = ..., answer: _Optional[_Union[AttachAnswer, _Mapping]] = ..., instance: _Optional[str] = ..., software: _Optional[str] = ...) -> None: ...

class AttachAnswer(_message.Message):
    __slots__ = ("request_id", "response", "error", "code")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    request_id: int
    response: ActResponse
    error: str
    code: int
    def __init__(self, request_id: _Optional[int] = ..., response: _Optional[_Union[ActResponse, _Mapping]] = ..., error: _Optional[str] = ..., code: _Optional[int] = ...) -> None: ...

class AttachResponse(_message.Message):
    __slots__ = ("request_id", "request", "timeout_ms")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    request_id: int
    request: ActRequest
    timeout_ms: int
    def __init__(self, request_id: _Optional[int] = ..., request: _Optional[_Union[ActRequest, _Mapping]] = ..., timeout_ms: _Optional[int] = ...) -> None: ...
