package service

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/phone"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/currency"
)

// may is 2024-05-22 17:30 UTC.
const may = 1716399000

func offline(t *testing.T, now float64) *Offline {
	t.Helper()
	o, err := NewOffline(now)
	if err != nil {
		t.Fatalf("NewOffline: %v", err)
	}
	return o
}

// body returns the answer to a request.
func body(t *testing.T, o *Offline, url string, params ...python.Item) python.Value {
	t.Helper()
	dict, _ := python.DictOf(params...).AsDict()
	value, err := o.Get(context.Background(), url, dict)
	if err != nil {
		t.Fatalf("Get %s: %v", url, err)
	}
	return value
}

// dig indexes a value by texts and ints; None where something is missing.
func dig(v python.Value, keys ...any) python.Value {
	for _, key := range keys {
		i, isIndex := key.(int)
		if items, _ := v.AsList(); isIndex && i < len(items) {
			v = items[i]
		} else {
			v = v.Field(fmt.Sprint(key))
		}
	}
	return v
}

func TestBundledData(t *testing.T) {
	d := offline(t, 0).data
	for _, c := range d.cities {
		if _, err := time.LoadLocation(c.Zone); err != nil || math.Abs(c.Latitude) > 90 || math.Abs(c.Longitude) > 180 || c.Spread < 2 {
			t.Errorf("city %+v: zone error %v", c, err)
		}
	}
	for _, p := range d.places {
		if err := phone.Check(p.Phone); p.Phone != "" && err != nil {
			t.Errorf("place %s: phone number %s: %v", p.Name, p.Phone, err)
		}
		if p.Name == "" || p.Address == "" || len(p.Kinds) == 0 || p.Hours == "" || p.Rating < 1 || p.Rating > 5 {
			t.Errorf("place %+v lacks something", p)
		}
	}
	for _, s := range d.stocks {
		if s.Symbol == "" || s.Name == "" || s.Price <= 0 || s.Previous <= 0 {
			t.Errorf("stock %+v lacks something", s)
		}
	}
	for code, rate := range d.rates {
		if !currency.Valid(code) || rate <= 0 {
			t.Errorf("rate of %s: %v", code, rate)
		}
	}
	if got, want := len(d.rates), 49; got != want {
		t.Errorf("got %d rates, want %d", got, want)
	}
}

func TestAddress(t *testing.T) {
	o := offline(t, may)
	tests := []struct{ location, want string }{
		{"37.334606,-122.009102", "'One Apple Park Way, Cupertino, CA 95014, United States'"},
		{"36.1,-112.1", "'Grand Canyon, Arizona, United States of America'"},
		{"0,0", "None"},
		{"True,False", "None"},
		{"91,0", "None"},
		{"x", "None"},
	}
	for _, test := range tests {
		got := python.Repr(dig(body(t, o, GeocodingURL, text("location", test.location)), "results", 0, "address"))
		if got != test.want {
			t.Errorf("address at %s: got %s, want %s", test.location, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	o := offline(t, may)
	tests := []struct {
		query     string
		latitude  float64
		longitude float64
		limit     int
		want      []string
	}{
		{"Whole Foods on Stevens Creek", 37.334606, -122.009102, 4, []string{"Whole Foods Market"}},
		{"apple park", 0, 0, 4, []string{"Apple Park"}},
		{"the nearest coffee shops", 37.334606, -122.009102, 2, []string{"Third Rail Coffee Works", "Copper Kettle Cafe"}},
		{"coffee", -33.8688, 151.2093, 4, []string{"Harbourview Espresso"}},
		{"coffee", 0, 0, 4, nil},
		{"Bandley Dr", 37.334606, -122.009102, 4, nil},
		{"", 37.334606, -122.009102, 4, nil},
		{"coffee", 37.334606, -122.009102, 0, nil},
	}
	for _, test := range tests {
		answer := body(t, o, PlacesURL, text("query", test.query), item("lat", python.Float(test.latitude)),
			item("lng", python.Float(test.longitude)), intItem("limit", test.limit))
		list, _ := dig(answer, "data").AsList()
		var got []string
		for _, found := range list {
			name, _ := dig(found, "name").AsStr()
			got = append(got, name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("find %q (-want +got):\n%s", test.query, diff)
		}
	}
}

func TestForecast(t *testing.T) {
	weatherAt := func(now float64, at string, days int) python.Value {
		return body(t, offline(t, now), WeatherURL, text("q", at), intItem("days", days))
	}
	number := func(v python.Value) float64 { f, _ := v.Number(); return f }
	const days = 10
	for _, at := range []string{"37.334606, -122.009102", "36.23686, -112.19147", "-33.8688, 151.2093", "1.0, 2", "89, 179.5", "-90, -180", "True, False"} {
		answer := weatherAt(may, at, days)
		if diff := cmp.Diff(python.JSON(answer), python.JSON(weatherAt(may, at, days))); diff != "" {
			t.Errorf("weather at %s (-once +again):\n%s", at, diff)
		}
		list, _ := dig(answer, "forecast", "forecastday").AsList()
		if len(list) != days {
			t.Errorf("weather at %s: got %d days, want %d", at, len(list), days)
		}
		for i := range list {
			day := dig(list[i], "day")
			low, mean, high := number(dig(day, "mintemp_c")), number(dig(day, "avgtemp_c")), number(dig(day, "maxtemp_c"))
			if low >= mean || mean >= high || low < -70 || high > 55 {
				t.Errorf("weather at %s, day %d: got %v, %v, %v, want rising temperatures", at, i, low, mean, high)
			}
		}
		now := number(dig(answer, "current", "temp_c"))
		if low, high := number(dig(list[0], "day", "mintemp_c")), number(dig(list[0], "day", "maxtemp_c")); now < low || now > high {
			t.Errorf("weather at %s: got %v now, want %v to %v", at, now, low, high)
		}
	}
	if got, want := python.Repr(dig(weatherAt(may, "37.3, -122", 1), "location", "localtime")), "'2024-05-22 10:30'"; got != want {
		t.Errorf("local time: got %s, want %s", got, want)
	}
	list, _ := dig(weatherAt(may, "37.3, -122", 1000), "forecast", "forecastday").AsList()
	if len(list) != maxDays {
		t.Errorf("got %d days, want %d", len(list), maxDays)
	}
	const halfYear = 182 * 86400
	july, january := 1721000000.0, 1721000000.0+halfYear
	for at, sign := range map[string]float64{"37.3, -122": 1, "-33.9, 151.2": -1} {
		summer, winter := weatherAt(july, at, 1), weatherAt(january, at, 1)
		difference := number(dig(summer, "forecast", "forecastday", 0, "day", "avgtemp_c")) - number(dig(winter, "forecast", "forecastday", 0, "day", "avgtemp_c"))
		if difference*sign <= 0 {
			t.Errorf("at %s July is %v degrees warmer than January", at, difference)
		}
	}
	if got := dig(weatherAt(may, "nowhere", 1), "forecast"); !got.IsNone() {
		t.Errorf("weather of nowhere: got %s, want none", python.Repr(got))
	}
}

func TestStock(t *testing.T) {
	o := offline(t, may)
	tests := []struct{ query, want string }{
		{"Apple", "'AAPL:NASDAQ'"},
		{"aapl", "'AAPL:NASDAQ'"},
		{"Google stock price", "'GOOGL:NASDAQ'"},
		{"V", "'V:NYSE'"},
		{"no such company", "None"},
		{"", "None"},
	}
	for _, test := range tests {
		if got := python.Repr(dig(body(t, o, StocksURL, text("query", test.query)), "data", "stock", 0, "symbol")); got != test.want {
			t.Errorf("stock %q: got %s, want %s", test.query, got, test.want)
		}
	}
}

func TestExchange(t *testing.T) {
	o := offline(t, may)
	tests := []struct {
		from, to string
		amount   python.Value
		want     string
	}{
		{"USD", "CNY", python.Int(2048), "14829.568"},
		{"CHF", "CHF", python.Float(0.1), "0.1"},
		{"VND", "XBT", python.Int(0), "0.0"},
		{"USD", "EUR", python.Float(-10), "-9.24"},
		{"USD", "XXX", python.Int(1), "None"},
		{"XBT", "VND", python.Float(1e308), "None"},
		{"USD", "EUR", python.Str("1"), "None"},
	}
	for _, test := range tests {
		answer := body(t, o, CurrencyURL, text("from", test.from), text("to", test.to), item("amount", test.amount))
		if got := python.Repr(dig(answer, "result", "convertedAmount")); got != test.want {
			t.Errorf("%s %s in %s: got %s, want %s", python.Repr(test.amount), test.from, test.to, got, test.want)
		}
	}
}

func TestUnknownService(t *testing.T) {
	if got, want := ask(t, offline(t, may), "https://example.org", `{}`), "ConnectionError: No service at https://example.org"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
