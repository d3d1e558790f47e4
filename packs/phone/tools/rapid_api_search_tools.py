"""Places, weather, stocks and currencies, as hosted services know them."""

from typing import Any, Dict, List, Optional, Union

# What the answer about a place has beside what the tool returns.
PRIVATE = ("business_id", "place_id", "place_link", "verified", "photos")

# What the answer about the weather has beside metric values.
IMPERIAL = (
    "temp_f", "feelslike_f", "vis_miles", "wind_mph", "maxtemp_f", "mintemp_f", "avgtemp_f", "maxwind_mph", "avgvis_miles",
    "pressure_in", "precip_mm", "precip_in", "totalprecip_mm", "totalprecip_in",
)
METRIC = (
    ("temp_c", "current_temperature"),
    ("feelslike_c", "perceived_temperature"),
    ("vis_km", "visibility_distance"),
    ("wind_kph", "wind_speed"),
    ("maxtemp_c", "max_temperature"),
    ("mintemp_c", "min_temperature"),
    ("avgtemp_c", "average_temperature"),
    ("maxwind_kph", "max_wind_speed"),
    ("avgvis_km", "average_visibility_distance"),
    ("pressure_mb", "barometric_pressure"),
    ("avghumidity", "average_humidity"),
)


def _ask(service, params):
    if not world.value("setting", "wifi"):
        raise ConnectionError("Wifi is not enabled")
    return ask_service(service, params)


def _check_point(latitude, longitude):
    check_range(-90.0, 90.0, latitude=latitude)
    check_range(-180.0, 180.0, longitude=longitude)
    if (latitude is None) != (longitude is None):
        raise ValueError("Latitude and Longitude must be either both provided, or both not provided")


def _point(latitude, longitude):
    """Returns the given point, by default that of the phone."""
    _check_point(latitude, longitude)
    if latitude is not None:
        return latitude, longitude
    if not world.value("setting", "location_service"):
        raise PermissionError("Location service is not enabled.")
    latitude, longitude = world.value("setting", "latitude"), world.value("setting", "longitude")
    assert latitude is not None and longitude is not None
    return latitude, longitude


@needs("wifi")
def search_lat_lon(latitude: float, longitude: float) -> Optional[str]:
    """Returns the address at a place given by its coordinates, null if there is none.

    Args:
        latitude: Latitude in degrees.
        longitude: Longitude in degrees.
    """
    _check_point(latitude, longitude)
    answer = _ask("geocoding", {"location": f"{latitude},{longitude}", "language": "en"})
    try:
        return answer["results"][0]["address"]
    except (KeyError, IndexError):
        return None


@needs("wifi")
@needs_by_default("location_service")
def search_location_around_lat_lon(
    location: str, latitude: Optional[float] = None, longitude: Optional[float] = None
) -> List[Dict[str, Any]]:
    """Finds shops, sights and other places by name or kind near a point and returns what is known about them.

    Args:
        location: Name or kind of the place, for example a bakery.
        latitude: Latitude in degrees, the phone's own if both are left out.
        longitude: Longitude in degrees, the phone's own if both are left out.
    """
    latitude, longitude = _point(latitude, longitude)
    params = {"query": location, "lat": latitude, "lng": longitude, "limit": 4, "country": "us", "lang": "en"}
    answer = _ask("places", params)
    try:
        places = answer["data"]
    except (KeyError, IndexError):
        return []
    for place in places:
        for key in PRIVATE:
            place.pop(key, None)
    return places


@needs("wifi")
@needs_by_default("location_service")
def search_weather_around_lat_lon(
    days: int = 0, latitude: Optional[float] = None, longitude: Optional[float] = None
) -> Optional[Dict[str, Any]]:
    """Returns the weather at a point, now or on a later day; null if there is no forecast for that day.

    Args:
        days: Number of days from today, 0 for the weather now.
        latitude: Latitude in degrees, the phone's own if both are left out.
        longitude: Longitude in degrees, the phone's own if both are left out.
    """
    latitude, longitude = _point(latitude, longitude)
    if days < 0:
        raise ValueError(f"Days must be positive integer, found {days=}.")
    answer = _ask("weather", {"q": f"{latitude}, {longitude}", "days": days + 1})
    try:
        day = answer["forecast"]["forecastday"][days]
        weather = {**day["day"], **day["astro"], **answer["location"], "temperature_unit": "Celsius", "distance_unit": "Kilometer"}
        if days == 0:
            weather.update(answer["current"])
    except (KeyError, IndexError):
        return None
    for key in IMPERIAL:
        weather.pop(key, None)
    for key, name in METRIC:
        if key in weather:
            weather[name] = weather.pop(key)
    return weather


@needs("wifi")
def search_stock(query: str) -> Optional[Dict[str, Any]]:
    """Finds the stock of a company with its symbol and its price, null if there is none.

    Args:
        query: Name of the company or symbol of the stock.
    """
    answer = _ask("stocks", {"query": query})
    try:
        stock = answer["data"]["stock"][0]
        stock["symbol"] = stock["symbol"].split(":")[0]  # without the exchange
        return stock
    except (KeyError, IndexError):
        return None


@needs("wifi")
def convert_currency(amount: Union[float, int], from_currency_code: str, to_currency_code: str) -> float:
    """Converts an amount of money to another currency.

    Args:
        amount: Amount in the first currency.
        from_currency_code: ISO 4217 code of the first currency, for example CHF.
        to_currency_code: ISO 4217 code of the other currency.
    """
    check_currency(from_currency_code)
    check_currency(to_currency_code)
    answer = _ask("currencies", {"from": from_currency_code.upper(), "to": to_currency_code.upper(), "amount": amount})
    try:
        amount = answer["result"]["convertedAmount"]
    except (KeyError, IndexError):
        raise RuntimeError("Conversion failed")
    return float(amount)
