"""Tools as one writes them for the original."""

from typing import Any, Dict, List, Literal, Optional, Union


def my_new_tool(name: str, tone: Literal["warm", "brief"] = "warm") -> str:
    """Greets a contact.

    Args:
        name:       Whom to greet
        tone:       How to sound

    Returns:
        The greeting

    Raises:
        NoDataError:    If nobody has that name
    """
    people = world.rows("contact", name=name)
    if not people:
        raise NoDataError("Nobody is called " + name)
    greeting = "Dear " + name if tone == "warm" else name
    return greeting + ", your number is " + people[0]["phone_number"]


@visible_to("agent", "user")
def keep_greeting(content: str, reminder_timestamp: Union[float, NotGiven] = NOT_GIVEN) -> str:
    """Keeps a greeting as a reminder.

    Args:
        content: What to keep.
        reminder_timestamp: When to be reminded.
    """
    reminder_id = world.new_id()
    due = reminder_timestamp or world.now() + 60 * world.random()
    world.add("reminder", {'reminder_id': reminder_id, 'content': content, 'reminder_timestamp': due})
    return reminder_id


@user
def drop_greeting(reminder_id: str) -> Optional[List[Dict[str, Any]]]:
    """Drops a greeting.

    Args:
        reminder_id: Which one.
    """
    world.remove("reminder", reminder_id=reminder_id)
    return None
