package celexpr

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"
)

// Time is a compiled time expression over a scenario's now and time zone. It is immutable.
type Time struct {
	program cel.Program
}

// timeEnvironment creates the environment of times once.
var timeEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.Variable("now", cel.TimestampType),
		cel.Variable("zone", cel.StringType),
	}
	options = append(options, zonedFunction("local", 1, []*cel.Type{cel.StringType}, func(args []ref.Val, zone *time.Location) (time.Time, error) {
		return ParseLocal(text(args[0]), zone)
	})...)
	options = append(options, zonedFunction("at", 2, []*cel.Type{cel.TimestampType, cel.StringType}, func(args []ref.Val, zone *time.Location) (time.Time, error) {
		return atClock(timestamp(args[0]), text(args[1]), zone)
	})...)
	options = append(options, zonedFunction("next_weekday", 2, []*cel.Type{cel.TimestampType, cel.StringType}, func(args []ref.Val, zone *time.Location) (time.Time, error) {
		return nextWeekday(timestamp(args[0]), text(args[1]), zone)
	})...)
	options = append(options, zonedFunction("shift", 2, []*cel.Type{cel.TimestampType, cel.MapType(cel.StringType, cel.IntType)},
		func(args []ref.Val, zone *time.Location) (time.Time, error) {
			by, err := shiftAmounts(args[1])
			if err != nil {
				return time.Time{}, err
			}
			return shift(timestamp(args[0]), by, zone)
		})...)
	return newEnvironment(nil, options...)
})

// zonedFunction declares a function whose last argument is a zone name, and a macro that inserts
// the scenario's zone if the argument is missing.
func zonedFunction(name string, count int, arguments []*cel.Type, apply func(args []ref.Val, zone *time.Location) (time.Time, error)) []cel.EnvOption {
	bound := cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		zone, err := loadZone(text(args[count]))
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		result, err := apply(args[:count], zone)
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		return types.Timestamp{Time: result}
	})
	return []cel.EnvOption{
		cel.Function(name, cel.Overload(name+"_in_zone", append(arguments, cel.StringType), cel.TimestampType, bound)),
		cel.Macros(cel.GlobalMacro(name, count, func(helper parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			return helper.NewCall(name, append(args, helper.NewIdent("zone"))...), nil
		})),
	}
}

// text returns the value of a string. The compiler has checked its type.
func text(value ref.Val) string {
	content, _ := value.Value().(string)
	return content
}

// timestamp returns the value of a timestamp. The compiler has checked its type.
func timestamp(value ref.Val) time.Time {
	t, _ := value.Value().(time.Time)
	return t
}

// shiftAmounts decodes the second argument of shift.
func shiftAmounts(value ref.Val) (map[string]int64, error) {
	mapping, ok := value.(traits.Mapper)
	if !ok {
		return nil, errors.New(`expected what to shift by as {"days": 1}`)
	}
	by := map[string]int64{}
	for each := mapping.Iterator(); each.HasNext() == types.True; {
		unit := each.Next()
		amount, ok := mapping.Get(unit).(types.Int)
		if !ok {
			return nil, fmt.Errorf("%v must be a whole number", unit.Value())
		}
		by[text(unit)] = int64(amount)
	}
	return by, nil
}

// CompileTime compiles a time: an expression whose value is a timestamp or a number of POSIX
// seconds. The error is an *Error.
func CompileTime(source string) (_ *Time, err error) {
	defer recoverPanic(&err)
	environment, err := timeEnvironment()
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	checked, err := compile(environment, source)
	if err != nil {
		return nil, err
	}
	switch typ := checked.OutputType(); typ.Kind() { //nolint:exhaustive // the rest is refused
	case types.TimestampKind, types.IntKind, types.DoubleKind:
	default:
		return nil, &Error{Problem: fmt.Sprintf("the expression gives %s, expected a time: a timestamp or a number of seconds", typ)}
	}
	prg, err := program(environment, checked)
	if err != nil {
		return nil, err
	}
	return &Time{program: prg}, nil
}

// Seconds evaluates the time for a now in POSIX seconds and a zone. It returns POSIX seconds. The
// error is an *Error.
func (t *Time) Seconds(now float64, zone *time.Location) (float64, error) {
	if !(math.Abs(now) <= 1e11) {
		return 0, &Error{Problem: fmt.Sprintf("now is %v, which is no time", now)}
	}
	nowTime := time.UnixMicro(int64(math.Round(now * 1e6))).UTC()
	out, _, err := t.program.Eval(map[string]any{"now": nowTime, "zone": zone.String()})
	if err != nil {
		return 0, &Error{Problem: err.Error()}
	}
	var seconds float64
	switch v := out.(type) {
	case types.Timestamp:
		unixSeconds, nanoseconds := v.Unix(), v.Nanosecond()
		seconds = float64(unixSeconds) + float64(nanoseconds/1000)/1e6
	default:
		seconds = toDouble(out)
	}
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return 0, &Error{Problem: fmt.Sprintf("gives %v seconds, which is no time", seconds)}
	}
	return seconds, nil
}
