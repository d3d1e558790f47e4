"""Tools as one writes them for the original."""

import random
import time
import uuid
from typing import Any, Dict, List, Literal, Optional, Union

import polars as pl
from polars.exceptions import NoDataError
from typeguard import typechecked

from tool_sandbox.common.execution_context import (
    DatabaseNamespace,
    RoleType,
    get_current_context,
)
from tool_sandbox.common.utils import NOT_GIVEN, NotGiven, register_as_tool
from tool_sandbox.common.validators import validate_type


@register_as_tool(visible_to=(RoleType.AGENT,))
@typechecked
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
    validate_type(name, "name", str)

    current_context = get_current_context()
    people = current_context.get_database(DatabaseNamespace.CONTACT).filter(pl.col("name") == name).to_dicts()
    if not people:
        raise NoDataError("Nobody is called " + name)
    greeting = "Dear " + name if tone == "warm" else name
    return greeting + ", your number is " + people[0]["phone_number"]


@register_as_tool(visible_to=(RoleType.USER, RoleType.AGENT))
def keep_greeting(content: str, reminder_timestamp: Union[float, NotGiven] = NOT_GIVEN) -> str:
    """Keeps a greeting as a reminder.

    Args:
        content: What to keep.
        reminder_timestamp: When to be reminded.
    """
    reminder_id = str(uuid.uuid4())
    due = reminder_timestamp or time.time() + 60 * random.random()
    context = get_current_context()
    context.add_to_database(
        namespace=DatabaseNamespace.REMINDER,
        rows=[{"reminder_id": reminder_id, "content": content, "reminder_timestamp": due}],
    )
    return reminder_id


@register_as_tool(visible_to=(RoleType.USER,))
def drop_greeting(reminder_id: str) -> Optional[List[Dict[str, Any]]]:
    """Drops a greeting.

    Args:
        reminder_id: Which one.
    """
    get_current_context().remove_from_database(
        namespace=DatabaseNamespace.REMINDER, predicate=pl.col("reminder_id") == reminder_id
    )
    return None
