package service

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/ported/geodesic"
	"github.com/toolsandbox/toolsandbox/python"
)

//go:embed data/*.json
var files embed.FS

// Offline answers from built-in data: some sights, invented shops, the climate of some cities, and
// plausible stock prices and exchange rates. Its answers have the format of the hosted services.
type Offline struct {
	data *data
	now  float64
}

// data is the built-in data. It is immutable.
type data struct {
	cities []city
	places []place
	stocks []stock
	// rates are the units of each currency per US dollar, by code.
	rates map[string]float64
}

// load reads the data once.
var load = sync.OnceValues(func() (*data, error) {
	d := &data{}
	for name, into := range map[string]any{
		"cities.json": &d.cities, "places.json": &d.places, "stocks.json": &d.stocks, "rates.json": &d.rates,
	} {
		raw, err := files.ReadFile("data/" + name)
		if err != nil {
			return nil, fmt.Errorf("read bundled data: %w", err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return nil, fmt.Errorf("read bundled data: %s: %w", name, err)
		}
	}
	for i := range d.places {
		d.places[i].index()
	}
	return d, nil
})

// NewOffline returns a backend for the day of a time in POSIX seconds.
func NewOffline(now float64) (*Offline, error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	return &Offline{data: d, now: now}, nil
}

// Get implements Backend. It raises ConnectionError for a URL that this package does not define.
func (o *Offline) Get(_ context.Context, url string, params *python.Dict) (python.Value, error) {
	switch url {
	case GeocodingURL:
		return o.data.address(params), nil
	case PlacesURL:
		return o.data.find(params), nil
	case WeatherURL:
		return o.forecast(params), nil
	case StocksURL:
		return o.data.stock(params), nil
	case CurrencyURL:
		return o.data.exchange(params), nil
	default:
		return python.Value{}, &python.Exception{Type: "ConnectionError", Text: "No service at " + url}
	}
}

// point is a position on Earth in degrees.
type point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// kilometers returns the distance to another point.
func (p point) kilometers(q point) float64 {
	return geodesic.Distance(p.Latitude, p.Longitude, q.Latitude, q.Longitude)
}

const (
	// meanRadius is that of the Earth in kilometers.
	meanRadius = 6371.0088
	// shrink is a lower bound of the ratio of a distance on the ellipsoid to that on the sphere: its
	// radii of curvature are 6335 km and more.
	shrink = 0.99
)

// atLeast returns a cheap lower bound of the distance to another point.
func (p point) atLeast(q point) float64 {
	const degree = math.Pi / 180
	latitude, longitude := math.Sin((q.Latitude-p.Latitude)*degree/2), math.Sin((q.Longitude-p.Longitude)*degree/2)
	half := latitude*latitude + math.Cos(p.Latitude*degree)*math.Cos(q.Latitude*degree)*longitude*longitude
	return shrink * 2 * meanRadius * math.Asin(math.Sqrt(min(half, 1)))
}

// parsePoint parses a latitude and a longitude, separated by a comma.
func parsePoint(text string) (p point, ok bool) {
	latitude, longitude, _ := strings.Cut(text, ",")
	if p.Latitude, ok = parseDegrees(latitude, geodesic.MaxLatitude); !ok {
		return p, false
	}
	p.Longitude, ok = parseDegrees(longitude, geodesic.MaxLongitude)
	return p, ok
}

// parseDegrees parses a number of at most limit as Python prints it, or a truth value.
func parseDegrees(text string, limit float64) (degrees float64, ok bool) {
	switch text = strings.TrimSpace(text); text {
	case "True":
		return 1, true
	case "False":
		return 0, true
	}
	degrees, err := strconv.ParseFloat(text, 64)
	return degrees, err == nil && math.Abs(degrees) <= limit
}

// textOf returns a parameter if it is a text, otherwise an empty text.
func textOf(params *python.Dict, name string) string {
	text, _ := params.Value().Field(name).AsStr()
	return text
}

// nearest returns the index of the nearest of n points and its distance in kilometers; -1 if n is
// 0.
func nearest(from point, n int, at func(i int) point) (index int, kilometers float64) {
	index = -1
	if n == 0 {
		return index, 0
	}
	bounds, likely := make([]float64, n), 0
	for i := range n {
		bounds[i] = from.atLeast(at(i))
		if cmp.Less(bounds[i], bounds[likely]) {
			likely = i
		}
	}
	limit := from.kilometers(at(likely)) // exact distances are slow: compute only possible minima
	for i := range n {
		if bounds[i] > limit {
			continue
		}
		distance := limit
		if i != likely {
			distance = from.kilometers(at(i))
		}
		if index < 0 || cmp.Less(distance, kilometers) {
			index, kilometers = i, distance
		}
	}
	return index, kilometers
}

// tenths returns a number of tenths as a float.
func tenths(n int) python.Value { return python.Float(float64(n) / 10) }

// hundredths returns a number of hundredths as a float.
func hundredths(n int) python.Value { return python.Float(float64(n) / 100) }

func text(key, value string) python.Item { return python.Item{Key: key, Value: python.Str(value)} }

func item(key string, value python.Value) python.Item { return python.Item{Key: key, Value: value} }

func intItem(key string, value int) python.Item {
	return python.Item{Key: key, Value: python.Int(int64(value))}
}
