package tool

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

var update = flag.Bool("update", false, "write the page of functions and the changes of tools for the original")

// may is a day of May 2024 in POSIX seconds.
const may = 1716399000

// TestFunctionsPage compares docs/tool-functions.md with the table of functions.
func TestFunctionsPage(t *testing.T) {
	page := filepath.Join("..", "..", "..", "..", "docs", "tool-functions.md")
	var b strings.Builder
	b.WriteString(functionsPreface)
	for _, f := range functions() {
		b.WriteString("| `" + f.name + "(" + f.signature + ")` | " + f.doc + " |\n")
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is not the table of functions: run go test ./services/toolhost/internal/tool -update (-page +table):\n%s", page, diff)
	}
}

// functionsPreface begins the page.
const functionsPreface = `# Functions of tools

A [tool in Python](scenarios.md#your-own-tools) of any pack calls these functions by name, without an import.
A type in the signature is checked, with the error of a tool's own argument.
` + "`go test ./services/toolhost/internal/tool -update`" + ` writes this page from the program's own table.

| function | what it does |
| -- | -- |
`

// TestFunctions checks the binding, types and results of functions. The others are called by the
// tools of the phone.
func TestFunctions(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`return check_range(-1, 2.5, y=x, z=None, w=NOT_GIVEN)`, "None"},
		{`check_range(-1, 2.5, y=2.6)`, "ValueError: Parameter 'y' is larger than its valid range maximum of 2.5."},
		{`check_range(-1, 2.5, y=2, z=-1.5)`, "ValueError: Parameter 'z' is smaller than its valid range minimum of -1.0."},
		{`check_range(-1, 2.5, y=10 ** 400)`, "ValueError: Parameter 'y' is larger than its valid range maximum of 2.5."},
		{`check_range(-1, high=2.5)`, "TypeError: check_range() missing a required argument: 'high'"},
		{`return check_currency("chf")`, "None"},
		{`check_currency("gold")`, "ValueError: gold is not a known 3 letter ISO 4217 currency code"},
		{`return local_timestamp(2024, 5, 22, hour=10, minute=30, second=0)`, "1716373800.0"},
		{`return shift_local_time(0, days=-1)`, "-86400.0"},
		{`return local_time("now")`, "TypeError: Parameter 'timestamp' is of type '<class 'str'>', but expected '<class 'float'>'."},
		{`return local_time(*[])`, "TypeError: local_time() missing a required argument: 'timestamp'"},
		{`return geodesic_distance(float("nan"), 0, 0, 0)`, "nan"},
		{`return us_holiday("independence day", 2024)`, "1720051200.0"},
		{`return ask_service("radio", {})`, "ValueError: there is no hosted service 'radio'; expected one of geocoding, places, weather, stocks, currencies"},
		{`return ask_service("radio", [])`, "TypeError: Parameter 'params' is of type '<class 'list'>', but expected 'typing.Dict[str, typing.Any]'."},
	} {
		if got := call(t, extendWith(t, toolSource(test.line)), noteWorld(t), "act", "{}"); got != test.want {
			t.Errorf("%s: got %s, want %s", test.line, got, test.want)
		}
	}
}

// phoneWorld returns the world of a phone with all services on.
func phoneWorld(t *testing.T, zone *time.Location, now float64, services service.Backend) *session.World {
	t.Helper()
	w := session.NewWorld(&session.Config{Zone: zone, Services: services}, now)
	w.Load(world.Setting, session.Decode([]*worldv1.Row{worldtest.Setting(37.3, -122)}))
	return &w
}

// TestTimeVectors calls the tools of time and calendar in several time zones.
func TestTimeVectors(t *testing.T) {
	cases := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/datetime.jsonl"), func(line int, raw []byte) {
		var c struct{ Timezone, Tool, Arguments, Content string }
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		zone, err := time.LoadLocation(c.Timezone)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		now := time.Date(2024, time.May, 22, 10, 30, 0, 0, zone).Unix()
		if got := call(t, Builtin(), phoneWorld(t, zone, float64(now), nil), c.Tool, c.Arguments); got != c.Content {
			t.Errorf("line %d: %s(%s) in %s: got %s, want %s", line, c.Tool, c.Arguments, c.Timezone, got, c.Content)
		}
		cases++
	})
	t.Logf("%d cases", cases)
}

// forecast returns an answer of the weather service for one day.
func forecast(day, current string) string {
	return `{"forecast": {"forecastday": [{"day": ` + day + `, "astro": {"moon": "full"}}]}, "location": {"name": "Here"}, "current": ` + current + `}`
}

// TestDistanceVectors calls the tool of distances with points that are out of range. Package
// geodesic compares the distances of the others.
func TestDistanceVectors(t *testing.T) {
	raised := 0
	vectortest.Lines(t, vectortest.Dir(t, "tools/geodesic.jsonl"), func(line int, raw []byte) {
		var c struct {
			Exception *string
			Content   string
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		if c.Exception == nil {
			return
		}
		vector, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		arguments := &python.Dict{}
		for _, name := range []string{"latitude_0", "longitude_0", "latitude_1", "longitude_1"} {
			arguments.Set(name, vector.Field(name))
		}
		if got := call(t, Builtin(), phoneWorld(t, time.UTC, may, nil), "calculate_lat_lon_distance", python.JSON(arguments.Value())); got != c.Content {
			t.Errorf("line %d: got %s, want %s", line, got, c.Content)
		}
		raised++
	})
	if raised == 0 {
		t.Error("got no vector that raises, want some")
	}
}

// TestAnswers calls tools of hosted services whose answers are complete, incomplete or malformed.
func TestAnswers(t *testing.T) {
	const (
		units    = ", 'temperature_unit': 'Celsius', 'distance_unit': 'Kilometer'"
		address  = `{"latitude": 1, "longitude": -2.5}`
		places   = `{"location": "bakery", "latitude": 1, "longitude": -2.5}`
		weather  = `{"days": 0, "latitude": 1, "longitude": -2.5}`
		tomorrow = `{"days": 1, "latitude": 1, "longitude": -2.5}`
		stock    = `{"query": "tea"}`
		money    = `{"amount": 5, "from_currency_code": "chf", "to_currency_code": "EUR"}`
	)
	recorded := map[string]struct{ url, params string }{
		address: {service.GeocodingURL, `{"location": "1,-2.5", "language": "en"}`},
		places:  {service.PlacesURL, `{"query": "bakery", "lat": 1, "lng": -2.5, "limit": 4, "country": "us", "lang": "en"}`},
		weather: {service.WeatherURL, `{"q": "1, -2.5", "days": 1}`}, tomorrow: {service.WeatherURL, `{"q": "1, -2.5", "days": 2}`},
		stock: {service.StocksURL, `{"query": "tea"}`}, money: {service.CurrencyURL, `{"from": "CHF", "to": "EUR", "amount": 5}`},
	}
	for _, test := range []struct{ tool, arguments, answer, want string }{
		{"search_lat_lon", address, `{"results": [{"address": "1 Main St"}]}`, "'1 Main St'"},
		{"search_lat_lon", address, `{"results": []}`, "None"},
		{"search_lat_lon", address, `{"results": {}}`, "None"},
		{"search_lat_lon", address, `{"results": null}`, "TypeError: 'NoneType' object is not subscriptable"},
		{"search_location_around_lat_lon", places, `{"data": [{"name": "Rye", "photos": [], "place_id": 1}, {}]}`, "[{'name': 'Rye'}, {}]"},
		{"search_location_around_lat_lon", places, `{}`, "[]"},
		{"search_location_around_lat_lon", places, `{"data": ""}`, "''"},
		{"search_location_around_lat_lon", places, `{"data": null}`, "TypeError: 'NoneType' object is not iterable"},
		{"search_location_around_lat_lon", places, `{"data": "none"}`, "AttributeError: 'str' object has no attribute 'pop'"},
		{"search_location_around_lat_lon", places, `{"data": [5]}`, "AttributeError: 'int' object has no attribute 'pop'"},
		{"search_location_around_lat_lon", places, `{"data": [[5]]}`, "TypeError: pop expected at most 1 argument, got 2"},
		{"search_weather_around_lat_lon", weather, forecast(`{"maxtemp_c": 9, "maxtemp_f": 48, "uv": 3}`, `{"temp_c": 7, "precip_mm": 1, "avghumidity": null}`),
			"{'uv': 3, 'moon': 'full', 'name': 'Here'" + units + ", 'current_temperature': 7, 'max_temperature': 9, 'average_humidity': None}"},
		{"search_weather_around_lat_lon", weather, forecast(`{"temp_c": 1, "current_temperature": 2}`, `[["uv", 2], "cd", {"e": 1, "f": 2}]`),
			"{'current_temperature': 1, 'moon': 'full', 'name': 'Here'" + units + ", 'uv': 2, 'c': 'd', 'e': 'f'}"},
		{"search_weather_around_lat_lon", weather, forecast(`{}`, `"é"`), "ValueError: dictionary update sequence element #0 has length 1; 2 is required"},
		{"search_weather_around_lat_lon", weather, forecast(`{}`, `[5]`), "TypeError: cannot convert dictionary update sequence element #0 to a sequence"},
		{"search_weather_around_lat_lon", weather, forecast(`{}`, `[[[], 1]]`), "TypeError: unhashable type: 'list'"},
		{"search_weather_around_lat_lon", weather, forecast(`{}`, `1.5`), "TypeError: 'float' object is not iterable"},
		{"search_weather_around_lat_lon", weather, forecast(`[]`, `{}`), "TypeError: 'list' object is not a mapping"},
		{"search_weather_around_lat_lon", weather, `{"forecast": {}}`, "None"},
		{"search_weather_around_lat_lon", tomorrow, forecast(`{}`, `{}`), "None"},
		{"search_stock", stock, `{"data": {"stock": [{"symbol": "TEA:NYSE", "price": 3}]}}`, "{'symbol': 'TEA', 'price': 3}"},
		{"search_stock", stock, `{"data": {"stock": [{"price": 3}]}}`, "None"},
		{"search_stock", stock, `{"data": {"stock": [{"symbol": 3}]}}`, "AttributeError: 'int' object has no attribute 'split'"},
		{"convert_currency", money, `{"result": {"convertedAmount": " +1_000.5e-1\n"}}`, "100.05"},
		{"convert_currency", money, `{"result": {"convertedAmount": true}}`, "1.0"},
		{"convert_currency", money, `{"result": {"convertedAmount": "1__0"}}`, "ValueError: could not convert string to float: '1__0'"},
		{"convert_currency", money, `{"result": {"convertedAmount": null}}`, "TypeError: float() argument must be a string or a number, not 'NoneType'"},
		{"convert_currency", money, `{"result": {"convertedAmount": 1` + strings.Repeat("0", 400) + `}}`, "OverflowError: int too large to convert to float"},
		{"convert_currency", money, `{"result": {}}`, "RuntimeError: Conversion failed"},
	} {
		request := recorded[test.arguments]
		services, err := service.NewRecorded([]*setupv1.RecordedAnswer{{Url: request.url, ParamsJson: request.params, ResponseJson: test.answer}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a call does not change the answer
			if got := call(t, Builtin(), phoneWorld(t, time.UTC, may, services), test.tool, test.arguments); got != test.want {
				t.Errorf("%s with the answer %s: got %s, want %s", test.tool, test.answer, got, test.want)
			}
		}
	}
}

// TestOffline calls tools of hosted services without recordings.
func TestOffline(t *testing.T) {
	services, err := service.NewOffline(may)
	if err != nil {
		t.Fatalf("service.NewOffline: %v", err)
	}
	for _, test := range []struct{ tool, arguments, part string }{
		{"search_lat_lon", `{"latitude": 37.334606, "longitude": -122.009102}`, "'One Apple Park Way, Cupertino, CA 95014, United States'"},
		{"search_lat_lon", `{"latitude": 91, "longitude": 181}`, "ValueError: Parameter 'latitude' is larger than its valid range maximum of 90.0."},
		{"search_stock", `{"query": "Apple"}`, "'symbol': 'AAPL'"},
		{"search_weather_around_lat_lon", `{"latitude": 36.2, "longitude": -112.2}`, "'name': 'Grand Canyon'"},
		{"search_weather_around_lat_lon", `{"days": 2}`, "'temperature_unit': 'Celsius'"},
		{"search_weather_around_lat_lon", `{"days": 99}`, "None"},
		{"search_weather_around_lat_lon", `{"days": 10000000000000000000000}`, "None"},
		{"search_weather_around_lat_lon", `{"days": -1}`, "ValueError: Days must be positive integer, found days=-1."},
		{"search_weather_around_lat_lon", `{"longitude": 1}`, "ValueError: Latitude and Longitude must be either both provided, or both not provided"},
		{"search_location_around_lat_lon", `{"location": "no such place"}`, "[]"},
		{"convert_currency", `{"amount": 100, "from_currency_code": "usd", "to_currency_code": "EUR"}`, "92.4"},
		{"convert_currency", `{"amount": 100, "from_currency_code": "usd", "to_currency_code": "Euro"}`, "ValueError: Euro is not a known 3 letter ISO 4217 currency code"},
	} {
		if got := call(t, Builtin(), phoneWorld(t, time.UTC, may, services), test.tool, test.arguments); !strings.Contains(got, test.part) {
			t.Errorf("%s(%s): got %s, want %s in it", test.tool, test.arguments, got, test.part)
		}
	}
}
