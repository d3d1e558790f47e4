"""The reminders."""

from typing import Any, Dict, List, Optional, Union

FIELDS = ("content", "reminder_timestamp", "latitude", "longitude")
FIRST, LAST = 315529200.0, 2524604400.0


def _check_place(latitude, longitude):
    check_range(-90.0, 90.0, latitude=latitude)
    check_range(-180.0, 180.0, longitude=longitude)


def add_reminder(content: str, reminder_timestamp: float, latitude: Optional[float] = None, longitude: Optional[float] = None) -> str:
    """Stores a new reminder and returns the id that the reminder got.

    Args:
        content: What to be reminded of.
        reminder_timestamp: When to be reminded, in POSIX seconds.
        latitude: Latitude of the place that the reminder is about, in degrees.
        longitude: Longitude of the place that the reminder is about, in degrees.
    """
    check_range(FIRST, LAST, reminder_timestamp=reminder_timestamp)
    _check_place(latitude, longitude)
    reminder_id = world.new_id()
    world.add("reminder", {
        "reminder_id": reminder_id, "content": content, "creation_timestamp": world.now(), "reminder_timestamp": reminder_timestamp,
        "latitude": latitude, "longitude": longitude,
    })
    return reminder_id


def modify_reminder(
    reminder_id: str,
    content: Union[str, NotGiven] = NOT_GIVEN,
    reminder_timestamp: Union[float, NotGiven] = NOT_GIVEN,
    latitude: Union[float, None, NotGiven] = NOT_GIVEN,
    longitude: Union[float, None, NotGiven] = NOT_GIVEN,
) -> None:
    """Changes the given fields of a reminder and leaves the others as they are. The reminder counts as created anew.

    Args:
        reminder_id: Id of the reminder to change.
        content: What to be reminded of instead.
        reminder_timestamp: When to be reminded instead, in POSIX seconds.
        latitude: New latitude of the place in degrees, null for no place.
        longitude: New longitude of the place in degrees, null for no place.
    """
    check_range(FIRST, LAST, reminder_timestamp=reminder_timestamp)
    _check_place(latitude, longitude)
    values = [content, reminder_timestamp, latitude, longitude]
    changes = {field: value for field, value in zip(FIELDS, values) if value is not NOT_GIVEN}
    if not changes:
        raise ValueError(
            f"No update information given. At least one new field should be provided among [{', '.join(FIELDS)}] in order to modify reminder"
        )
    world.update("reminder", {"creation_timestamp": world.now(), **changes}, reminder_id=reminder_id)


@confirm("remove a reminder")
def remove_reminder(reminder_id: str) -> None:
    """Deletes a reminder.

    Args:
        reminder_id: Id of the reminder to delete.
    """
    world.remove("reminder", reminder_id=reminder_id)


def search_reminder(
    reminder_id: Union[str, NotGiven] = NOT_GIVEN,
    content: Union[str, NotGiven] = NOT_GIVEN,
    creation_timestamp_lowerbound: Union[float, NotGiven] = NOT_GIVEN,
    creation_timestamp_upperbound: Union[float, NotGiven] = NOT_GIVEN,
    reminder_timestamp_lowerbound: Union[float, NotGiven] = NOT_GIVEN,
    reminder_timestamp_upperbound: Union[float, NotGiven] = NOT_GIVEN,
    latitude: Union[float, NotGiven] = NOT_GIVEN,
    longitude: Union[float, NotGiven] = NOT_GIVEN,
) -> List[Dict[str, Any]]:
    """Finds reminders that fit all of the given fields. The text may differ in wording.

    Args:
        reminder_id: Exact id of the reminder.
        content: Text of the reminder or part of it.
        creation_timestamp_lowerbound: Earliest time at which the reminder was created or changed, in POSIX seconds.
        creation_timestamp_upperbound: Latest time at which the reminder was created or changed, in POSIX seconds.
        reminder_timestamp_lowerbound: Earliest time for which the reminder is set, in POSIX seconds.
        reminder_timestamp_upperbound: Latest time for which the reminder is set, in POSIX seconds.
        latitude: Exact latitude of the place in degrees.
        longitude: Exact longitude of the place in degrees.
    """
    times = {
        "creation_timestamp_lowerbound": creation_timestamp_lowerbound, "creation_timestamp_upperbound": creation_timestamp_upperbound,
        "reminder_timestamp_lowerbound": reminder_timestamp_lowerbound, "reminder_timestamp_upperbound": reminder_timestamp_upperbound,
    }
    check_range(FIRST, LAST, **times)
    _check_place(latitude, longitude)
    if all(value is NOT_GIVEN for value in (reminder_id, content, *times.values(), latitude, longitude)):
        columns = (
            "reminder_id", "content", "creation_timestamp", "creation_timestamp", "reminder_timestamp", "reminder_timestamp", "latitude", "longitude"
        )
        raise ValueError(f"No search criteria are given. At least one search criteria should be provided among {columns}")
    return world.rows(
        "reminder",
        reminder_id=reminder_id,
        content__about=content,
        creation_timestamp__min=creation_timestamp_lowerbound,
        creation_timestamp__max=creation_timestamp_upperbound,
        reminder_timestamp__min=reminder_timestamp_lowerbound,
        reminder_timestamp__max=reminder_timestamp_upperbound,
        latitude=latitude,
        longitude=longitude,
    )
