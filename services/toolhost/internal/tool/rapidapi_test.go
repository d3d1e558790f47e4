package tool

import (
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// parsed parses JSON text.
func parsed(t *testing.T, text string) python.Value {
	t.Helper()
	value, err := python.ParseJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// outcome returns Python's text of a value, or the error.
func outcome(value python.Value, err error) string {
	if err != nil {
		return err.Error()
	}
	return python.Repr(value)
}

func TestToFloat(t *testing.T) {
	tests := []struct{ value, want string }{
		{`1`, "1.0"},
		{`true`, "1.0"},
		{`" +1_000.5e-1\n"`, "100.05"},
		{`"٣.٥"`, "3.5"},
		{`"-Infinity"`, "-inf"},
		{`"1e999"`, "inf"},
		{`"1e-999"`, "0.0"},
		{`"nan"`, "nan"},
		{`"0x10"`, "ValueError: could not convert string to float: '0x10'"},
		{`"1__0"`, "ValueError: could not convert string to float: '1__0'"},
		{`"_1"`, "ValueError: could not convert string to float: '_1'"},
		{`"1_"`, "ValueError: could not convert string to float: '1_'"},
		{`""`, "ValueError: could not convert string to float: ''"},
		{`null`, "TypeError: float() argument must be a string or a number, not 'NoneType'"},
	}
	for _, test := range tests {
		if got := outcome(toFloat(parsed(t, test.value))); got != test.want {
			t.Errorf("float(%s): got %s, want %s", test.value, got, test.want)
		}
	}
}

func TestUpdate(t *testing.T) {
	tests := []struct{ value, want string }{
		{`{"b": 2, "a": 3}`, "{'a': 3, 'b': 2}"},
		{`[["b", 2], "cd", {"e": 1, "f": 2}]`, "{'a': 1, 'b': 2, 'c': 'd', 'e': 'f'}"},
		{`[]`, "{'a': 1}"},
		{`""`, "{'a': 1}"},
		{`"é"`, "ValueError: dictionary update sequence element #0 has length 1; 2 is required"},
		{`[["b", 2], ["c"]]`, "ValueError: dictionary update sequence element #1 has length 1; 2 is required"},
		{`[5]`, "TypeError: cannot convert dictionary update sequence element #0 to a sequence"},
		{`[[[], 1]]`, "TypeError: unhashable type: 'list'"},
		{`null`, "TypeError: 'NoneType' object is not iterable"},
		{`1.5`, "TypeError: 'float' object is not iterable"},
	}
	for _, test := range tests {
		dict := &python.Dict{}
		dict.Set("a", python.Int(1))
		err := dictUpdate(dict, parsed(t, test.value))
		if got := outcome(dict.Value(), err); got != test.want {
			t.Errorf("update with %s: got %s, want %s", test.value, got, test.want)
		}
	}
}

func TestMetric(t *testing.T) {
	dict, _ := parsed(t, `{"temp_f": 50, "temp_c": 10, "current_temperature": 1, "uv": 3, "precip_mm": 4, "avghumidity": null}`).AsDict()
	want := "{'current_temperature': 10, 'uv': 3, 'average_humidity': None}"
	if got := python.Repr(metric(dict)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOffline calls tools of hosted services without recordings.
func TestOffline(t *testing.T) {
	const may = 1716399000
	services, err := service.NewOffline(may)
	if err != nil {
		t.Fatalf("service.NewOffline: %v", err)
	}
	catalogue := Builtin()
	tests := []struct{ tool, arguments, key, want string }{
		{"search_lat_lon", `{"latitude": 37.334606, "longitude": -122.009102}`, "", "'One Apple Park Way, Cupertino, CA 95014, United States'"},
		{"search_stock", `{"query": "Apple"}`, "symbol", "'AAPL'"},
		{"search_weather_around_lat_lon", `{"latitude": 36.2, "longitude": -112.2}`, "name", "'Grand Canyon'"},
		{"search_weather_around_lat_lon", `{"days": 2}`, "temperature_unit", "'Celsius'"},
		{"search_weather_around_lat_lon", `{"days": 99}`, "", "None"},
		{"search_location_around_lat_lon", `{"location": "no such place"}`, "", "[]"},
		{"convert_currency", `{"amount": 100, "from_currency_code": "usd", "to_currency_code": "EUR"}`, "", "92.4"},
	}
	for _, test := range tests {
		w := session.NewWorld(&session.Config{Zone: time.UTC, Services: services}, may)
		w.Load(world.Setting, session.Decode([]*worldv1.Row{worldtest.Setting(37.3, -122)}))
		args, err := catalogue.Find(test.tool).BindMapping(parsed(t, test.arguments))
		if err != nil {
			t.Fatalf("%s: %v", test.tool, err)
		}
		result, err := catalogue.Find(test.tool).Run(t.Context(), &w, args)
		if err == nil && test.key != "" {
			result, err = python.Index(result, python.Str(test.key))
		}
		if got := outcome(result, err); got != test.want {
			t.Errorf("%s(%s): got %s, want %s", test.tool, test.arguments, got, test.want)
		}
	}
}
