package tool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/ported/geodesic"
	"github.com/toolsandbox/toolsandbox/internal/ported/units"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/clock"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/currency"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/holiday"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// function is a function of Go that tools in Python call by name.
type function struct {
	// name is "world.rows" for the method rows of world.
	name string
	// signature are the parameters as Python writes them. The types of those with a hint are checked.
	// With **named it takes all other named arguments, and its own parameters by position alone.
	signature string
	// doc says in Markdown what the function does.
	doc  string
	call func(m moduleWorld, args []python.Value, named *python.Dict) (python.Value, error)

	params    []Param
	signed    python.Signature
	takesRest bool
}

// functions is the table of all functions that tools in Python can call besides builtins.
func functions() []function {
	world := methods()
	for i := range world {
		world[i].name = worldName + "." + world[i].name
	}
	return slices.Concat(world, checkFunctions(), kernels())
}

// methods returns the methods of the world by their names alone.
func methods() []function {
	return []function{
		{name: rowsMethod, signature: "table, columns=None, **conditions",
			doc:  "The rows of a table that meet all conditions, each a dict of the listed columns or, without a list, of all.",
			call: moduleWorld.rows},
		{name: valueMethod, signature: "table, column: str, **conditions",
			doc:  "The cell of a column in the first row that meets all conditions, None if there is no such row.",
			call: moduleWorld.value},
		{name: addMethod, signature: "table, values",
			doc:  "Adds a row with these values by column. Omitted columns have their default.",
			call: moduleWorld.add},
		{name: updateMethod, signature: "table, values, **condition",
			doc:  "Changes the one row that meets the condition and puts it last. NoDataError if there is none, DuplicateError if there are several. Without a condition it changes all rows.",
			call: moduleWorld.update},
		{name: removeMethod, signature: "table, **condition",
			doc:  "Removes the rows that meet the condition; NoDataError if there is none.",
			call: moduleWorld.remove},
		{name: nowMethod,
			doc: "The virtual time in POSIX seconds.",
			call: func(m moduleWorld, _ []python.Value, _ *python.Dict) (python.Value, error) {
				return currentTimestamp(m.world)
			}},
		{name: idMethod,
			doc: "The next id of a row.",
			call: func(m moduleWorld, _ []python.Value, _ *python.Dict) (python.Value, error) {
				return python.Str(m.world.NewID()), nil
			}},
		{name: randomMethod,
			doc: "A number from 0 to below 1. It uses up an id, so the scenario's seed decides.",
			call: func(m moduleWorld, _ []python.Value, _ *python.Dict) (python.Value, error) {
				return python.Float(idFraction(m.world.NewID())), nil
			}},
		{name: scheduleMethod, signature: "at, text, to='" + toAgent + "'",
			doc:  "Schedules [an event](events.md) that interrupts the conversation, and returns its id. `to` is 'agent' or 'user'. It needs `events: true` in `schema.yaml`.",
			call: moduleWorld.schedule},
		{name: unscheduleMethod, signature: "event_id",
			doc:  "Removes a scheduled event; NoDataError if there is none.",
			call: moduleWorld.unschedule},
	}
}

// checkFunctions returns the checks of arguments in the original's words.
func checkFunctions() []function {
	return []function{
		{name: "check_range", signature: "low: Union[float, int], high: Union[float, int], **values",
			doc:  "Raises ValueError for the first of the named values that is a number outside low to high, as in `check_range(-90.0, 90.0, latitude=latitude)`.",
			call: checkRanges},
		{name: "check_phone", signature: "number",
			doc: "Raises the exceptions of the original for a text that is no phone number.",
			call: func(_ moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return python.None(), checkPhone(args[0])
			}},
		{name: "check_currency", signature: "code: str",
			doc: "Raises ValueError for a text that is no code of a currency, in upper or lower case.",
			call: func(_ moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return python.None(), currency.Check(text(args[0]))
			}},
	}
}

// kernels returns the functions that need data, exact numbers or a hosted service.
func kernels() []function {
	return []function{
		{name: "local_time", signature: "timestamp: float",
			doc: "The date and time in the scenario's time zone at a time in POSIX seconds: a dict of year, month, day, hour, minute, second and isoweekday, 1 for Monday.",
			call: func(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return zoneOf(m.world).LocalTime(args[0])
			}},
		{name: "local_timestamp", signature: "year: int, month: int, day: int, hour: int, minute: int, second: int",
			doc: "The time in POSIX seconds at a date and time in the scenario's time zone, the first one if it repeats.",
			call: func(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return zoneOf(m.world).Timestamp(clock.Fields{Year: args[0], Month: args[1], Day: args[2], Hour: args[3], Minute: args[4], Second: args[5]})
			}},
		{name: "shift_local_time", signature: "timestamp: float, weeks: int = 0, days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0",
			doc: "The time in POSIX seconds after a duration on the calendar and the wall clock of the scenario's time zone.",
			call: func(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return zoneOf(m.world).Shift(args[0], clock.Delta{Weeks: args[1], Days: args[2], Hours: args[3], Minutes: args[4], Seconds: args[5]})
			}},
		{name: "local_time_between", signature: "start: float, end: float",
			doc: "The days and seconds, 0 to 86399, between two times on the wall clock of the scenario's time zone, as a dict.",
			call: func(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return zoneOf(m.world).Diff(args[0], args[1])
			}},
		{name: "us_holiday", signature: "name: str, year: Optional[int] = None",
			doc: "The time in POSIX seconds at which a federal holiday of the United States begins, by name or part of it; None without a match.",
			call: func(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return holiday.Search(zoneOf(m.world), m.world.Now(), text(args[0]), args[1])
			}},
		{name: "convert_unit", signature: "amount: float, from_unit: str, to_unit: str",
			doc: "The amount in another unit of measurement.",
			call: func(_ moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
				return units.Convert(args[0], text(args[1]), text(args[2]))
			}},
		{name: "geodesic_distance", signature: "latitude_0: float, longitude_0: float, latitude_1: float, longitude_1: float",
			doc:  "The shortest distance between two points on Earth in kilometers; ValueError for a point that is out of range.",
			call: geodesicDistance},
		{name: "ask_service", signature: "service: str, params: Dict[str, Any]",
			doc: "The answer of a hosted service to a request with these parameters: `" + strings.Join(service.Names(), "`, `") + "`. " +
				"It is recorded, or comes from built-in data, unless the run asks the service itself.",
			call: askService},
	}
}

// geodesicDistance checks both latitudes before the longitudes, as the original does.
func geodesicDistance(_ moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
	var degrees [4]float64
	for _, of := range []struct {
		name  string
		at    int
		limit float64
	}{
		{"latitude_0", 0, geodesic.MaxLatitude}, {"latitude_1", 2, geodesic.MaxLatitude},
		{"longitude_0", 1, geodesic.MaxLongitude}, {"longitude_1", 3, geodesic.MaxLongitude},
	} {
		if err := checkRange(of.name, args[of.at], -of.limit, of.limit); err != nil {
			return python.Value{}, err
		}
		degrees[of.at], _ = args[of.at].Number()
	}
	return python.Float(geodesic.Distance(degrees[0], degrees[1], degrees[2], degrees[3])), nil
}

// askService asks a hosted service by name. Tools cannot name an address, which would get the key.
func askService(m moduleWorld, args []python.Value, _ *python.Dict) (python.Value, error) {
	address, ok := service.Address(text(args[0]))
	if !ok {
		return python.Value{}, raise("ValueError", "there is no hosted service "+python.Repr(args[0])+"; expected one of "+strings.Join(service.Names(), ", "))
	}
	params, _ := args[1].AsDict()
	return m.world.Config().Services.Get(m.ctx, address, params)
}

// checkRanges checks named values in their order.
func checkRanges(_ moduleWorld, args []python.Value, values *python.Dict) (python.Value, error) {
	low, _ := args[0].Number()
	high, _ := args[1].Number()
	for _, item := range values.Items() {
		if err := checkRange(item.Key, item.Value, low, high); err != nil {
			return python.Value{}, err
		}
	}
	return python.None(), nil
}

// text returns a text whose type has been checked.
func text(v python.Value) string {
	s, _ := v.AsStr()
	return s
}

// tableOfFunctions returns the functions by name, ready for calls.
var tableOfFunctions = sync.OnceValue(func() map[string]*function {
	table := make(map[string]*function)
	for _, f := range functions() {
		f.parse()
		table[f.name] = &f
	}
	return table
})

// parse reads the signature.
func (f *function) parse() {
	name := f.name[strings.LastIndexByte(f.name, '.')+1:]
	m := &module{name: name, source: "def " + name + "(" + f.signature + "):\n    pass\n"}
	_, defs := source.Parse(m.source, refusal, m.fail)
	def := defs[name]
	if def == nil {
		panic(m.mistakes) // the table is part of the program
	}
	f.takesRest = def.Function.Kwargs >= 0
	f.signed.Func = f.name
	for i := range def.Function.Params[:def.Function.Positional] {
		f.addParam(m, def, &def.Function.Params[i])
	}
	if len(m.mistakes) > 0 {
		panic(m.mistakes)
	}
}

func (f *function) addParam(m *module, def *syntax.Def, p *syntax.Param) {
	param := Param{Name: p.Name, Type: Type{anything: p.Hint == nil}, Optional: p.Default != nil}
	if p.Hint != nil {
		param.Type, _ = hints{}.read(p.Hint)
	}
	if param.Optional {
		m.parseDefault(def, p, &param)
	}
	f.params = append(f.params, param)
	f.signed.Params = append(f.signed.Params, python.Param{Name: param.Name, HasDefault: param.Optional, Default: param.Default})
}

// bind returns the values of the parameters, and the other named arguments.
func (f *function) bind(positional []python.Value, keyword *python.Dict) (args []python.Value, named *python.Dict, err error) {
	if f.takesRest {
		named, keyword = keyword, nil
	}
	args = positional
	if len(positional) != len(f.params) || keyword.Len() > 0 {
		if args, err = f.complete(positional, keyword); err != nil {
			return nil, nil, err
		}
	}
	for i, arg := range args {
		if !f.params[i].Type.accepts(arg) {
			return nil, nil, f.params[i].Type.refuse(f.params[i].Name, arg)
		}
	}
	return args, named, nil
}

// complete returns the values of the parameters, of which some are named or have their defaults.
func (f *function) complete(positional []python.Value, keyword *python.Dict) ([]python.Value, error) {
	bound, err := f.signed.Bind(positional, keyword)
	if exception, ok := errors.AsType[*python.Exception](err); ok {
		return nil, raise(exception.Type, f.name+"() "+exception.Text)
	}
	args := make([]python.Value, len(bound))
	for i, arg := range bound {
		args[i] = arg.Value
	}
	return args, nil
}

// library is the API for tools in Python besides builtins.
var library = sync.OnceValue(func() *interp.Library {
	names := interp.Names{Decorators: decorators(), Exceptions: []string{noDataError, duplicateError, columnNotFoundError}}
	for _, f := range functions() {
		names.Functions = append(names.Functions, f.name)
	}
	return interp.NewLibrary(names)
})

// topLevel is what the top of a file can reach when it is checked: a calendar, but no world.
type topLevel struct{}

// Callable implements interp.Host.
func (topLevel) Callable(string) bool { return false }

// Call implements interp.Host.
func (topLevel) Call(name string, _ []python.Value, _ *python.Dict) (python.Value, error) {
	return python.Value{}, raise("RuntimeError", name+" cannot be called here")
}

// Now implements interp.Clock.
func (topLevel) Now() float64 { return 0 }

// Zone implements interp.Clock.
func (topLevel) Zone() *time.Location { return time.UTC }

// moduleWorld is what a call of a tool in Python can reach. The world records its uses.
type moduleWorld struct {
	ctx   context.Context
	world *session.World
}

// Callable implements interp.Host. The library contains all functions by name.
func (moduleWorld) Callable(string) bool { return false }

// Now implements interp.Clock.
func (m moduleWorld) Now() float64 { return m.world.Now() }

// Zone implements interp.Clock.
func (m moduleWorld) Zone() *time.Location {
	if zone := m.world.Config().Zone; zone != nil {
		return zone
	}
	return time.UTC
}

// Call implements interp.Host.
func (m moduleWorld) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	f := tableOfFunctions()[name]
	args, named, err := f.bind(positional, keyword)
	if err != nil {
		return python.Value{}, err
	}
	return f.call(m, args, named)
}
