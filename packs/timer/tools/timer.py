"""Timers and alarms of the phone. Each is an event of the environment."""

from typing import Any, Dict, List, Union

DAY = 86400.0
TIMER = "Timer: "
ALARM = "Alarm: "


def set_timer(minutes: Union[float, int], label: str, tell_user: bool = False) -> str:
    """Sets a timer. When it is over, a notification interrupts the conversation.

    Args:
        minutes: In how many minutes it is over, more than 0 and at most 1440.
        label: What the notification says.
        tell_user: Whether the user is notified, who may be busy, and not the assistant.

    Returns:
        The id of the timer.

    Raises:
        ValueError: If minutes is out of range or the label is empty.
    """
    if not 0 < minutes <= 1440:
        raise ValueError("minutes must be more than 0 and at most 1440")
    return _schedule(world.now() + 60 * minutes, TIMER, label, tell_user)


def set_alarm(alarm_timestamp: Union[float, int], label: str, tell_user: bool = False) -> str:
    """Sets an alarm. At its time, a notification interrupts the conversation.

    Args:
        alarm_timestamp: When it goes off, in POSIX seconds. It must lie ahead.
        label: What the notification says.
        tell_user: Whether the user is notified, who may be busy, and not the assistant.

    Returns:
        The id of the alarm.

    Raises:
        ValueError: If the time is not ahead within a year or the label is empty.
    """
    if not world.now() < alarm_timestamp <= world.now() + 366 * DAY:
        raise ValueError("alarm_timestamp must lie ahead, within a year")
    return _schedule(alarm_timestamp, ALARM, label, tell_user)


def list_alarms(label: Union[str, NotGiven] = NOT_GIVEN) -> List[Dict[str, Any]]:
    """Lists the timers and alarms that are set, the next one first.

    Args:
        label: Only those whose label contains this, in any case.

    Returns:
        The id, the text, the time in POSIX seconds and who is notified, of each.
    """
    found = [
        {"event_id": row["event_id"], "text": row["content"], "alarm_timestamp": row["due_timestamp"], "tells": row["recipient"]}
        for row in world.rows("event")
    ]
    if label != NOT_GIVEN:
        found = [alarm for alarm in found if label.lower() in alarm["text"].lower()]
    return sorted(found, key=lambda alarm: alarm["alarm_timestamp"])


def cancel_alarm(event_id: str) -> None:
    """Cancels a timer or an alarm that has not gone off.

    Args:
        event_id: The id of the timer or alarm.

    Raises:
        NoDataError: If there is none of that id.
    """
    world.unschedule(event_id)


def _schedule(due_timestamp, kind, label, tell_user):
    if not label.strip():
        raise ValueError("label must not be empty")
    return world.schedule(due_timestamp, kind + label, to="user" if tell_user else "agent")
