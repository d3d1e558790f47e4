"""The settings of the phone."""

from typing import Dict, Optional

SERVICES = {"cellular": "Cellular service", "wifi": "Wifi", "location_service": "Location service"}


def _set(changes):
    # A cell that is None stays None.
    world.update("setting", {column: on for column, on in changes.items() if world.value("setting", column) is not None})


def _require_change(column, on):
    if bool(world.value("setting", column)) == on:
        raise ValueError(f"{column} already {'enabled' if on else 'disabled'}")


def _refuse_in_low_battery_mode(column, on):
    if on and world.value("setting", "low_battery_mode"):
        raise PermissionError(f"{SERVICES[column]} cannot be turned on in low battery mode")


def _set_service(column, on):
    _refuse_in_low_battery_mode(column, on)
    _require_change(column, on)
    _set({column: on})


def set_cellular_service_status(on: bool) -> None:
    """Turns cellular service of the phone on or off. It cannot be turned on in low battery mode.

    Args:
        on: true turns cellular service on, false turns it off.

    Raises:
        PermissionError: If the phone is in low battery mode.
        ValueError: If cellular service is on or off already.
    """
    _set_service("cellular", on)


def get_cellular_service_status() -> Optional[bool]:
    """Tells whether cellular service is on."""
    return world.value("setting", "cellular")


def set_wifi_status(on: bool) -> None:
    """Turns wifi of the phone on or off. It cannot be turned on in low battery mode.

    Args:
        on: true turns wifi on, false turns it off.
    """
    _set_service("wifi", on)


def get_wifi_status() -> Optional[bool]:
    """Tells whether wifi is on."""
    return world.value("setting", "wifi")


@unchecked
def set_location_service_status(on: bool) -> None:
    """Turns location service of the phone on or off. It cannot be turned on in low battery mode.

    Args:
        on: true turns location service on, false turns it off.
    """
    _refuse_in_low_battery_mode("location_service", on)
    if not isinstance(on, bool):
        raise TypeError(f"Parameter 'on' is of type '{type(on)}', but expected '{bool}'.")
    _require_change("location_service", on)
    _set({"location_service": on})


def get_location_service_status() -> Optional[bool]:
    """Tells whether location service is on."""
    return world.value("setting", "location_service")


def set_low_battery_mode_status(on: bool) -> None:
    """Turns low battery mode of the phone on or off. Turning it on turns wifi, cellular and location service off.

    Args:
        on: true turns low battery mode on, false turns it off.
    """
    _require_change("low_battery_mode", on)
    off = {column: False for column in SERVICES} if on else {}
    _set({"low_battery_mode": on, **off})


def get_low_battery_mode_status() -> Optional[bool]:
    """Tells whether low battery mode is on."""
    return world.value("setting", "low_battery_mode")


@needs("location_service")
def get_current_location() -> Dict[str, Optional[float]]:
    """Returns the latitude and longitude at which the phone is."""
    if not world.value("setting", "location_service"):
        raise PermissionError("Location service is not enabled.")
    return {"latitude": world.value("setting", "latitude"), "longitude": world.value("setting", "longitude")}
