"""A ride service."""

from typing import Any, Dict, List, Optional, Union

# Seconds between a booking and the earliest pickup.
NOTICE = 600.0
# Seconds before the pickup from which on a ride cannot be cancelled or changed for nothing.
FREE_UNTIL = 1800.0
LATE_FEE = 6.0

BASE_FARE = {"small": 5.0, "large": 8.0, "accessible": 6.0}
PER_ZONE = {"small": 3.5, "large": 5.0, "accessible": 3.5}


def _online() -> None:
    setting = world.rows("setting", ["cellular", "wifi"])[0]
    if not setting["cellular"] and not setting["wifi"]:
        raise ConnectionError("The ride service needs cellular service or wifi")


def _place(place_id: str) -> Dict[str, Any]:
    places = world.rows("place", place_id=place_id)
    if not places:
        raise ValueError(f"There is no place {place_id}")
    return places[0]


def _ride(ride_id: str) -> Dict[str, Any]:
    rides = world.rows("ride", ride_id=ride_id)
    if not rides:
        raise ValueError(f"There is no ride {ride_id}")
    return rides[0]


def _price(pickup: Dict[str, Any], destination: Dict[str, Any], car: str) -> float:
    if car not in BASE_FARE:
        raise ValueError("car is small, large or accessible")
    return BASE_FARE[car] + PER_ZONE[car] * (1.0 + abs(pickup["zone"] - destination["zone"]))


def _in_time(pickup_timestamp: float) -> None:
    if pickup_timestamp < world.now() + NOTICE:
        raise ValueError("No car is there before ten minutes have passed")


def search_places(name: Union[str, NotGiven] = NOT_GIVEN) -> List[Dict[str, Any]]:
    """Finds places that the user has saved.

    Args:
        name: What the user calls the place; left out for all places.

    Returns:
        The places, each with place_id, name, address and zone.
    """
    return world.rows("place", name__about=name)


def save_place(name: str, address: str, zone: int) -> str:
    """Saves a place under a name.

    Args:
        name: What the user calls the place.
        address: Street and number.
        zone: The tariff zone, from 1 in the centre to 5.

    Returns:
        The id of the place.

    Raises:
        ValueError: If there is no such zone.
    """
    if zone < 1 or zone > 5:
        raise ValueError("zone is 1 to 5")
    place_id = world.new_id()
    world.add("place", {"place_id": place_id, "name": name, "address": address, "zone": zone})
    return place_id


def quote_ride(pickup_place_id: str, destination_place_id: str, car: str = "small") -> float:
    """Tells what a ride between two places costs, in euros.

    Args:
        pickup_place_id: Id of the place where the ride begins.
        destination_place_id: Id of the place where it ends.
        car: small, large for up to six people, or accessible for wheelchairs.

    Returns:
        The price in euros.

    Raises:
        ConnectionError: If the phone is offline.
    """
    _online()
    return _price(_place(pickup_place_id), _place(destination_place_id), car)


def book_ride(pickup_place_id: str, destination_place_id: str, pickup_timestamp: float, car: str = "small") -> Dict[str, Any]:
    """Books a ride between two places.

    Args:
        pickup_place_id: Id of the place where the ride begins.
        destination_place_id: Id of the place where it ends.
        pickup_timestamp: When it begins, in POSIX seconds. At least ten minutes
            from now.
        car: small, large for up to six people, or accessible for wheelchairs.

    Returns:
        The ride_id and the price in euros.

    Raises:
        ConnectionError: If the phone is offline.
        ValueError: If that is too early.
    """
    _online()
    pickup, destination = _place(pickup_place_id), _place(destination_place_id)
    _in_time(pickup_timestamp)
    price = _price(pickup, destination, car)
    ride_id = world.new_id()
    world.add(
        "ride",
        {
            "ride_id": ride_id,
            "name": destination["name"],
            "pickup_place_id": pickup_place_id,
            "destination_place_id": destination_place_id,
            "pickup_timestamp": pickup_timestamp,
            "car": car,
            "price": price,
            "status": "booked",
        },
    )
    return {"ride_id": ride_id, "price": price}


def search_rides(
    destination: Union[str, NotGiven] = NOT_GIVEN, status: Union[str, NotGiven] = NOT_GIVEN
) -> List[Dict[str, Any]]:
    """Lists the user's rides.

    Args:
        destination: Words of where the ride goes; left out for all.
        status: booked, done or cancelled; left out for all.

    Returns:
        The rides, each with ride_id, name, the ids of its places, pickup_timestamp,
        car, price, status and stars.
    """
    return world.rows("ride", status=status, name__about=destination)


def change_ride(
    ride_id: str, pickup_timestamp: Union[float, NotGiven] = NOT_GIVEN, car: Union[str, NotGiven] = NOT_GIVEN
) -> float:
    """Changes the time or the car of a booked ride.

    Args:
        ride_id: Id of the ride.
        pickup_timestamp: When it is to begin, in POSIX seconds.
        car: small, large or accessible.

    Returns:
        The price in euros after the change.

    Raises:
        ConnectionError: If the phone is offline.
        ValueError: If the ride is not booked, or that is too early.
    """
    _online()
    ride = _ride(ride_id)
    if ride["status"] != "booked":
        raise ValueError(f"The ride is {ride['status']}")
    changes = {}
    if pickup_timestamp is not NOT_GIVEN:
        _in_time(pickup_timestamp)
        changes["pickup_timestamp"] = pickup_timestamp
    if car is not NOT_GIVEN:
        changes["car"] = car
        changes["price"] = _price(_place(ride["pickup_place_id"]), _place(ride["destination_place_id"]), car)
    if not changes:
        raise ValueError("Give pickup_timestamp or car")
    world.update("ride", changes, ride_id=ride_id)
    return changes.get("price", ride["price"])


def cancel_ride(ride_id: str) -> Dict[str, Any]:
    """Cancels a booked ride. From half an hour before the pickup on that costs a fee.

    Args:
        ride_id: Id of the ride.

    Returns:
        The fee in euros.

    Raises:
        ConnectionError: If the phone is offline.
        ValueError: If the ride is not booked.
    """
    _online()
    ride = _ride(ride_id)
    if ride["status"] != "booked":
        raise ValueError(f"The ride is {ride['status']}")
    fee = LATE_FEE if ride["pickup_timestamp"] < world.now() + FREE_UNTIL else 0.0
    world.update("ride", {"status": "cancelled", "price": fee}, ride_id=ride_id)
    return {"fee": fee}


def rate_ride(ride_id: str, stars: int) -> None:
    """Rates a ride that is done.

    Args:
        ride_id: Id of the ride.
        stars: From 1 to 5.

    Raises:
        ValueError: If the ride is not done, or the rating is out of range.
    """
    if stars < 1 or stars > 5:
        raise ValueError("stars is 1 to 5")
    if _ride(ride_id)["status"] != "done":
        raise ValueError("Only rides that are done can be rated")
    world.update("ride", {"stars": stars}, ride_id=ride_id)
