"""Time, calendar, units and distances."""

from typing import Dict, Optional

FIRST, LAST = 315529200.0, 2524604400.0


def get_current_timestamp() -> float:
    """Returns the time now in POSIX seconds."""
    return world.now()


def timestamp_to_datetime_info(timestamp: float) -> Dict[str, int]:
    """Tells the date, the time of day and the day of the week, 1 for Monday to 7 for Sunday, at a time.

    Args:
        timestamp: The time in POSIX seconds.
    """
    check_range(FIRST, LAST, timestamp=timestamp)
    return local_time(timestamp)


def datetime_info_to_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float:
    """Returns the time at a date and time of day in POSIX seconds.

    Args:
        year: Year with four digits.
        month: Month from 1 to 12.
        day: Day of the month from 1 on.
        hour: Hour from 0 to 23.
        minute: Minute from 0 to 59.
        second: Second from 0 to 59.
    """
    return local_timestamp(year, month, day, hour, minute, second)


def shift_timestamp(timestamp: float, weeks: int = 0, days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0) -> float:
    """Moves a time on the calendar and the wall clock and returns it in POSIX seconds.

    Args:
        timestamp: The time to start from in POSIX seconds.
        weeks: Number of weeks to go forward, back if negative.
        days: Number of days to go forward, back if negative.
        hours: Number of hours to go forward, back if negative.
        minutes: Number of minutes to go forward, back if negative.
        seconds: Number of seconds to go forward, back if negative.
    """
    check_range(FIRST, LAST, timestamp=timestamp)
    return shift_local_time(timestamp, weeks, days, hours, minutes, seconds)


def timestamp_diff(timestamp_0: float, timestamp_1: float) -> Dict[str, int]:
    """Tells how many days and seconds lie between two times.

    Args:
        timestamp_0: The time to start from in POSIX seconds.
        timestamp_1: The time to go to in POSIX seconds.
    """
    check_range(FIRST, LAST, timestamp_0=timestamp_0, timestamp_1=timestamp_1)
    return local_time_between(timestamp_0, timestamp_1)


def seconds_to_hours_minutes_seconds(seconds: float) -> Dict[str, int]:
    """Tells the hour, minute and second of a number of seconds.

    Args:
        seconds: Number of seconds.
    """
    # As in the original, this is the time of day at a timestamp.
    time = local_time(seconds)
    return {"hour": time["hour"], "minute": time["minute"], "second": time["second"]}


def unit_conversion(amount: float, from_unit: str, to_unit: str) -> float:
    """Converts an amount from one unit of measurement to another.

    Args:
        amount: Amount in the first unit.
        from_unit: Name of the first unit, for example inch.
        to_unit: Name of the other unit.
    """
    return convert_unit(amount, from_unit, to_unit)


def calculate_lat_lon_distance(latitude_0: float, longitude_0: float, latitude_1: float, longitude_1: float) -> float:
    """Returns the distance between two points on Earth in kilometers.

    Args:
        latitude_0: Latitude of the first point in degrees.
        longitude_0: Longitude of the first point in degrees.
        latitude_1: Latitude of the other point in degrees.
        longitude_1: Longitude of the other point in degrees.
    """
    return geodesic_distance(latitude_0, longitude_0, latitude_1, longitude_1)


@needs("wifi")
def search_holiday(holiday_name: str, year: Optional[int] = None) -> Optional[float]:
    """Returns when a holiday of the United States begins in POSIX seconds, null if there is no such holiday.

    Args:
        holiday_name: Name of the holiday or part of it.
        year: Year of the holiday, this year if left out.

    Raises:
        ConnectionError: If wifi is off.
    """
    settings = world.rows("setting", ["wifi"])
    if not settings or not settings[0]["wifi"]:
        raise ConnectionError("Wifi is not enabled")
    return us_holiday(holiday_name, year)
