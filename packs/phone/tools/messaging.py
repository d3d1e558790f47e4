"""The text messages."""

from typing import Any, Dict, List, Union

FIRST, LAST = 315529200.0, 2524604400.0


@confirm("send a text message")
@needs("cellular")
def send_message_with_phone_number(phone_number: str, content: str) -> str:
    """Sends a text message to a phone number and returns the id that the message got.

    Args:
        phone_number: Phone number of the recipient with the country code, for example +15551234567.
        content: Text of the message.

    Raises:
        ConnectionError: If cellular service is off.
    """
    check_phone(phone_number)
    if not world.value("setting", "cellular"):
        raise ConnectionError("Cellular service is not enabled")
    message_id = world.new_id()
    selves = world.rows("contact", ["person_id", "phone_number"], is_self=True)
    if len(selves) != 1:
        raise DuplicateError(f"1 and only 1 self entry should exist in contacts database, instead found {len(selves)}")
    world.add("messaging", {
        "message_id": message_id,
        "sender_person_id": selves[0]["person_id"],
        "sender_phone_number": selves[0]["phone_number"],
        "recipient_person_id": world.value("contact", "person_id", phone_number=phone_number),
        "recipient_phone_number": phone_number,
        "content": content,
        "creation_timestamp": world.now(),
    })
    return message_id


def search_messages(
    message_id: Union[str, NotGiven] = NOT_GIVEN,
    sender_person_id: Union[str, NotGiven] = NOT_GIVEN,
    sender_phone_number: Union[str, NotGiven] = NOT_GIVEN,
    recipient_person_id: Union[str, NotGiven] = NOT_GIVEN,
    recipient_phone_number: Union[str, NotGiven] = NOT_GIVEN,
    content: Union[str, NotGiven] = NOT_GIVEN,
    creation_timestamp_lowerbound: Union[float, NotGiven] = NOT_GIVEN,
    creation_timestamp_upperbound: Union[float, NotGiven] = NOT_GIVEN,
) -> List[Dict[str, Any]]:
    """Finds text messages that fit all of the given fields. The text may differ in wording.

    Args:
        message_id: Exact id of the message.
        sender_person_id: Contact id of the sender.
        sender_phone_number: Phone number of the sender exactly as it is stored, with the country code.
        recipient_person_id: Contact id of the recipient.
        recipient_phone_number: Phone number of the recipient exactly as it is stored, with the country code.
        content: Text of the message or part of it.
        creation_timestamp_lowerbound: Earliest time at which the message was sent, in POSIX seconds.
        creation_timestamp_upperbound: Latest time at which the message was sent, in POSIX seconds.
    """
    for number in (sender_phone_number, recipient_phone_number):
        if number is not NOT_GIVEN:
            check_phone(number)
    check_range(
        FIRST, LAST, creation_timestamp_lowerbound=creation_timestamp_lowerbound, creation_timestamp_upperbound=creation_timestamp_upperbound
    )
    exact = {
        "message_id": message_id, "sender_person_id": sender_person_id, "sender_phone_number": sender_phone_number,
        "recipient_person_id": recipient_person_id, "recipient_phone_number": recipient_phone_number,
    }
    if all(value is NOT_GIVEN for value in (*exact.values(), content, creation_timestamp_lowerbound, creation_timestamp_upperbound)):
        columns = (*exact, "content", "creation_timestamp", "creation_timestamp")
        raise ValueError(f"No search criteria are given. At least one search criteria should be provided among {columns}")
    return world.rows(
        "messaging",
        **exact,
        content__about=content,
        creation_timestamp__min=creation_timestamp_lowerbound,
        creation_timestamp__max=creation_timestamp_upperbound,
    )
