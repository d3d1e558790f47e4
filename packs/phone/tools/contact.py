"""The address book."""

from typing import Any, Dict, List, Optional, Union

FIELDS = ("name", "phone_number", "relationship", "is_self")


def _refuse_second_self(person_id):
    selves = [row["person_id"] for row in world.rows("contact", ["person_id"], is_self=True)]
    if selves and person_id not in selves:
        raise DuplicateError("Self entry already exists. Cannot add another one.")


def add_contact(name: str, phone_number: str, relationship: Optional[str] = None, is_self: bool = False) -> str:
    """Stores a new contact in the address book and returns the id that the contact got.

    Args:
        name: Full name of the person.
        phone_number: Phone number with the country code, for example +15551234567.
        relationship: What the person is to the owner of the phone, for example friend.
        is_self: Whether this is the owner of the phone. Only one contact can be.

    Returns:
        The id of the contact.

    Raises:
        DuplicateError: If there is an owner of the phone already.
    """
    check_phone(phone_number)
    person_id = world.new_id()
    if is_self:
        _refuse_second_self(None)
    world.add("contact", {
        "person_id": person_id, "name": name, "phone_number": phone_number, "relationship": relationship, "is_self": is_self,
    })
    return person_id


def modify_contact(
    person_id: str,
    name: Union[str, NotGiven] = NOT_GIVEN,
    phone_number: Union[str, NotGiven] = NOT_GIVEN,
    relationship: Union[str, NotGiven] = NOT_GIVEN,
    is_self: Union[bool, NotGiven] = NOT_GIVEN,
) -> None:
    """Changes the given fields of a contact and leaves the others as they are.

    Args:
        person_id: Id of the contact to change.
        name: New full name.
        phone_number: New phone number with the country code.
        relationship: New relationship to the owner of the phone.
        is_self: Whether this is the owner of the phone. Only one contact can be.
    """
    values = [name, phone_number, relationship, is_self]
    changes = {field: value for field, value in zip(FIELDS, values) if value is not NOT_GIVEN}
    if not changes:
        raise ValueError(
            f"No update information given. At least one new field should be provided among [{', '.join(FIELDS)}] in order to modify contact"
        )
    if "phone_number" in changes:
        check_phone(phone_number)
    if is_self:
        _refuse_second_self(person_id)
    world.update("contact", changes, person_id=person_id)


@confirm("remove a contact")
def remove_contact(person_id: str) -> None:
    """Deletes a contact from the address book.

    Args:
        person_id: Id of the contact to delete.
    """
    world.remove("contact", person_id=person_id)


@unchecked
def search_contacts(
    person_id: Union[str, NotGiven] = NOT_GIVEN,
    name: Union[str, NotGiven] = NOT_GIVEN,
    phone_number: Union[str, NotGiven] = NOT_GIVEN,
    relationship: Union[str, NotGiven] = NOT_GIVEN,
    is_self: Union[bool, NotGiven] = NOT_GIVEN,
) -> List[Dict[str, Any]]:
    """Finds contacts that fit all of the given fields. Name and relationship may differ a little in spelling.

    Args:
        person_id: Exact id of the contact.
        name: Name or part of the name.
        phone_number: Phone number exactly as it is stored, with the country code.
        relationship: Relationship to the owner of the phone.
        is_self: Whether the contact is the owner of the phone.
    """
    if phone_number is not NOT_GIVEN:
        check_phone(phone_number)
    if all(value is NOT_GIVEN for value in (person_id, name, phone_number, relationship, is_self)):
        raise ValueError(
            f"No search criteria are given. At least one search criteria should be provided among {('person_id', *FIELDS)}"
        )
    return world.rows(
        "contact", person_id=person_id, name__like=name, phone_number=phone_number, relationship__like=relationship, is_self=is_self
    )
