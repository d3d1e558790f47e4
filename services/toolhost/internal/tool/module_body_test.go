package tool

import "testing"

// TestBodyMistakes checks what is found in a tool that nothing calls: imports, calls, hints and
// results.
func TestBodyMistakes(t *testing.T) {
	const head = "import json\n\n\ndef act() -> str:\n    '''Acts.'''\n"
	for _, test := range []struct {
		source string
		want   []string
	}{
		{head + "    import os\n    return os.name\n", []string{
			"6:5: act: os cannot be imported: tools may import datetime, enum, json, math, re and typing; the world is there as world"}},
		{head + "    if act:\n        from decimal import Decimal\n    return ''\n", []string{
			"7:9: act: decimal cannot be imported: tools may import datetime, enum, json, math, re and typing; the world is there as world"}},
		{head + "    from json import dump\n    return ''\n", []string{"6:5: act: json has no dump here, only JSONDecodeError, dumps, loads"}},
		{head + "    return json.dumpz(1)\n", []string{`6:12: act: json has no dumpz; did you mean "dumps"?`}},
		{head + "    return _help(1, 2)\n\n\ndef _help(x):\n    return x\n", []string{"6:12: act: the call of _help does not fit: too many positional arguments"}},
		{head + "    return _help(y=1)\n\n\ndef _help(x):\n    return x\n", []string{"6:12: act: the call of _help does not fit: missing a required argument: 'x'"}},
		{head + "    return local_time(1.0, zone='UTC')\n", []string{"6:12: act: the call of local_time does not fit: got an unexpected keyword argument 'zone'"}},
		{head + "    return world.new_id(5)\n", []string{"6:12: act: the call of world.new_id does not fit: too many positional arguments"}},
		{head + "    return ''\n\n\ndef _help(x: Order) -> List[Dish]:\n    return x\n", []string{
			`9:14: _help: name "Order" is not defined`, `9:29: _help: name "Dish" is not defined`}},
		{head + "    def inner(x: str) -> Dish:\n        return x\n    return inner('')\n", []string{`6:26: act: name "Dish" is not defined`}},
		{"def act() -> Dict[str, Dish]:\n    '''Acts.'''\n    return {}\n", []string{
			"1:14: act: the type of what it returns is none that a tool can give; write None, str, bool, int, float, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…]"}},
		{"def act() -> float or str:\n    '''Acts.'''\n    return 1.0\n", []string{
			"1:14: act: the type of what it returns is none that a tool can give; write None, str, bool, int, float, List[…] or Dict[str, …], perhaps in Optional[…] or Union[…]"}},
		{head + "    return 5\n", []string{"6:5: act: it returns int, but the hint says str"}},
		{"def act() -> None:\n    '''Acts.'''\n    return []\n", []string{"3:5: act: it returns list, but the hint says None"}},
		{"def act() -> List[str]:\n    '''Acts.'''\n    if world.now() > 5:\n        return\n    return {}\n", []string{
			"4:9: act: it returns NoneType, but the hint says List[str]", "5:5: act: it returns dict, but the hint says List[str]"}},
		{head + "    x = 5\n", []string{"4:1: act: it returns nothing, but the hint says str; add a return, or write -> None"}},
	} {
		wantMistakes(t, test.source, test.want)
	}
}

// TestBodiesWithoutMistakes compiles what only looks like a mistake.
func TestBodiesWithoutMistakes(t *testing.T) {
	for _, source := range []string{
		"def act() -> float:\n    '''Acts.'''\n    return 1\n",
		"def act() -> Optional[Dict[str, Union[float, None]]]:\n    '''Acts.'''\n    return None\n",
		"def act() -> str | None:\n    '''Acts.'''\n    return f'{1}'\n",
		"def act() -> List:\n    '''Acts.'''\n    return (1, 2)\n",
		"def act() -> str:\n    '''Acts.'''\n    raise ValueError('never')\n",
		"def act() -> str:\n    '''Acts.'''\n    def inner():\n        return 5\n    return str(inner())\n",
		"def act() -> str:\n    '''Acts.'''\n    json = {}\n    return json.get('x', '')\n",
		"def act() -> str:\n    '''Acts.'''\n    return _help(*[1], **{})\n\n\ndef _help(x: Any, *rest, y: int = 5) -> str:\n    return x\n",
		"from json import dumps\n\n\ndef act() -> str:\n    '''Acts.'''\n    from typing import List\n    return dumps([])\n",
	} {
		extendWith(t, source)
	}
}
