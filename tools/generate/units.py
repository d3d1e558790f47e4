#!/usr/bin/env python3
"""Prints units.json of the toolhost's package units: the default registry of pint 0.23.

In a virtual environment with pint==0.23, from the root of the repository:

    python tools/generate/units.py > internal/ported/units/units.json

Numbers are printed as pint holds them: an int as its digits, a float as the shortest text that reads back as the same
float. The order of prefixes, and of the units in a reference, is pint's own: its results depend on it.
"""
import json
import logging
import sys

import pint

VERSION = "0.23"


def number(value):
    """Returns a number whose text keeps whether it is an int or a float."""
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is neither int nor float")
    return value


def power(name, exponent):
    """Returns a unit, or a dimension, with its power."""
    return name if exponent == 1 and isinstance(exponent, int) else f"{name}^{number(exponent)!r}"


def definition(unit, aliases):
    """Returns the entry of one unit."""
    converter = unit.converter
    entry = {"name": unit.name}
    if aliases:
        entry["aliases"] = aliases
    kind = type(converter).__name__
    if unit.is_base:
        entry["base"] = True
    elif kind == "OffsetConverter":
        entry["offset"] = number(converter.offset)
    elif kind == "LogarithmicConverter":
        entry["logarithm"] = {"base": number(converter.logbase), "factor": number(converter.logfactor)}
    elif kind != "ScaleConverter":
        raise TypeError(f"{unit.name}: unknown converter {kind}")
    entry["scale"] = number(converter.scale)
    if unit.reference:
        entry["reference"] = [power(name, exponent) for name, exponent in unit.reference.items()]
    return entry


def prefixes(registry):
    """Returns the prefixes in pint's order, each with its symbols and aliases."""
    entries = []
    for key, prefix in registry._prefixes.items():
        if entries and entries[-1]["name"] == prefix.name:
            entries[-1].setdefault("aliases", []).append(key)
        elif key == prefix.name:
            entries.append({"name": key, "scale": number(prefix.value)})
        else:
            raise ValueError(f"{key} does not follow {prefix.name}")
    return entries


def lines(entries):
    """Returns the entries as a JSON list with one entry a line."""
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]"


def main():
    if pint.__version__ != VERSION:
        sys.exit(f"units.py: pint {VERSION} is wanted, {pint.__version__} is installed")
    logging.disable(logging.CRITICAL)
    registry = pint.UnitRegistry()
    units = dict(registry._units)
    canonical = {unit.name: unit for unit in units.values()}
    aliases = {name: [] for name in canonical}
    for key in sorted(units, key=str.encode):
        if key != units[key].name:
            aliases[units[key].name].append(key)
    for name, unit in canonical.items():
        if units[name] is not unit:
            raise ValueError(f"{name} means another unit")
    source = f"tools/generate/units.py, from the default registry of pint {VERSION} by the Pint Authors (BSD licence)"
    definitions = [definition(canonical[name], aliases[name]) for name in sorted(canonical, key=str.encode)]
    print(f'{{"source": {json.dumps(source)},')
    print(f'"prefixes": {lines(prefixes(registry))},')
    print(f'"units": {lines(definitions)}}}')


if __name__ == "__main__":
    main()
