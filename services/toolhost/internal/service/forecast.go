package service

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"time"
	_ "time/tzdata" // where the system has no time zones

	"github.com/toolsandbox/toolsandbox/internal/timezone"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// lastSecond is the end of the year 9999 in POSIX seconds.
	lastSecond = 253402300799
	// maxDays is the maximum number of days of a forecast.
	maxDays = 14
	// cityClimate is the maximum distance in kilometers to the city whose climate applies.
	cityClimate = 150
	// full is the amplitude of a season: 1000 in midsummer, -1000 in midwinter.
	full = 1000
	// quarter is a quarter of a year in days.
	quarter = 91
	// warmestDay and longest are the warmest and the longest day of the year in the north. In the
	// south they are half a year later.
	warmestDay, longest = 200, 172
	// noon and day are in minutes.
	noon, day = 12 * 60, 24 * 60
	// warmest is the warmest minute of the day.
	warmest = 15 * 60
)

// city is a city with its climate.
type city struct {
	point
	Name    string `json:"name"`
	Region  string `json:"region"`
	Country string `json:"country"`
	// Zone is the IANA name of the time zone.
	Zone string `json:"zone"`
	// Mean is the annual mean temperature. Swing is the difference of summer and winter from it,
	// Spread that of day and night from the daily mean, in degrees Celsius.
	Mean   int `json:"mean"`
	Swing  int `json:"swing"`
	Spread int `json:"spread"`
	// Rain is the share of the days with rain in percent.
	Rain int `json:"rain"`
}

// climate returns the nearest city with its time zone. Without a near city it derives the climate
// from latitude and longitude.
func (d *data) climate(at point) (city, *time.Location) {
	if i, distance := nearest(at, len(d.cities), func(i int) point { return d.cities[i].point }); i >= 0 && distance <= cityClimate {
		if zone, err := timezone.Load(d.cities[i].Zone); err == nil {
			return d.cities[i], zone
		}
	}
	hours := int(math.Round(at.Longitude / 15))
	name := "Etc/GMT"
	if hours != 0 {
		name = fmt.Sprintf("Etc/GMT%+d", -hours) // such names count to the west
	}
	north := int(math.Abs(at.Latitude))
	return city{point: at, Zone: name, Mean: 28 - north*north*58/10_000, Swing: north / 4, Spread: 5, Rain: 25},
		time.FixedZone(name, hours*int(time.Hour/time.Second))
}

// forecast returns the weather at a point now and on the next days, starting today.
func (o *Offline) forecast(params *python.Dict) python.Value {
	at, ok := parsePoint(textOf(params, "q"))
	if !ok {
		return python.DictOf(item("error", python.DictOf(intItem("code", 1006), text("message", "No matching location found."))))
	}
	city, zone := o.data.climate(at)
	now := time.Unix(int64(min(max(o.now, 0), lastSecond)), 0).In(zone)
	days, isInt := params.Value().Field("days").AsInt()
	if !isInt {
		days = maxDays
	}
	var list []python.Value
	for i := range int(min(days, maxDays)) {
		list = append(list, city.on(now.AddDate(0, 0, i)).describe())
	}
	return python.DictOf(
		item("location", python.DictOf(
			text("name", city.Name), text("region", city.Region), text("country", city.Country),
			item("lat", python.Float(city.Latitude)), item("lon", python.Float(city.Longitude)),
			text("tz_id", city.Zone), text("localtime", now.Format("2006-01-02 15:04")),
		)),
		item("current", city.on(now).current()),
		item("forecast", python.DictOf(item("forecastday", python.List(list...)))),
	)
}

// weather is the weather of one day. Temperatures are tenths of a degree Celsius, speeds tenths of
// a kilometer per hour, amounts of rain tenths of a millimeter, pressures hectopascals.
type weather struct {
	date                time.Time
	mean, spread        int
	wind, rain          int
	humidity, pressure  int
	uv, visibility      int
	condition           condition
	sunrise, sunset     int // minutes of the wall clock
	moonlit, rainChance int
}

// condition is the state of the sky.
type condition struct {
	text string
	code int
}

// on returns the weather of the day that contains a time.
func (c city) on(date time.Time) weather {
	season, light := seasonOf(date.YearDay(), warmestDay, c.Latitude), seasonOf(date.YearDay(), longest, c.Latitude)
	dice := func(salt string, sides int) int {
		return pseudoRandom(c.point, date.Format(time.DateOnly), salt, sides)
	}
	w := weather{
		date:       date,
		mean:       10*c.Mean + 10*c.Swing*season/full + dice("mean", 51) - 25,
		spread:     10*c.Spread + dice("spread", 21) - 10,
		wind:       50 + dice("wind", 200),
		humidity:   45 + dice("humidity", 30),
		pressure:   1005 + dice("pressure", 20),
		visibility: 100,
		moonlit:    dice("moon", 2),
		uv:         max(1, (6+4*season/full)*(90-int(math.Abs(c.Latitude)))/60),
	}
	switch chance := dice("sky", 100); {
	case chance < c.Rain:
		w.condition, w.rain, w.humidity, w.visibility = condition{"Light rain", 1183}, 5+dice("rain", 80), w.humidity+15, 90
		w.mean, w.spread = w.mean-15, w.spread/2
	case chance < c.Rain+20:
		w.condition = condition{"Cloudy", 1006}
	case chance < c.Rain+45:
		w.condition = condition{"Partly cloudy", 1003}
	default:
		w.condition = condition{"Sunny", 1000}
	}
	w.rainChance = min(95, c.Rain+dice("chance", 11))
	if w.rain > 0 {
		w.rainChance = 70 + dice("chance", 26)
	}
	_, offset := date.Zone()
	middle := noon - int(math.Round(c.Longitude*4)) + offset/60
	half := min(noon-1, max(1, noon/2+int(min(math.Abs(c.Latitude), 66))*light*26/full/10))
	w.sunrise, w.sunset = (middle-half+day)%day, (middle+half+day)%day
	return w
}

// seasonOf returns the season of a day of the year, from -full to full; peak is the day of
// midsummer.
func seasonOf(yearDay, height int, latitude float64) int {
	distance := yearDay - height
	if latitude < 0 {
		distance += 2 * quarter
	}
	distance = max(distance, -distance) % (4 * quarter)
	distance = min(distance, 4*quarter-distance)
	return (quarter - distance) * full / quarter
}

// pseudoRandom returns a number from 0 to sides-1 that depends only on its arguments.
func pseudoRandom(at point, date, salt string, sides int) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(strconv.FormatFloat(at.Latitude, 'f', 1, 64) + " " + strconv.FormatFloat(at.Longitude, 'f', 1, 64) + " " + date + " " + salt))
	sum := hash.Sum64()
	return int((sum ^ sum>>32) % uint64(sides))
}

// fahrenheit converts tenths of degrees.
func fahrenheit(celsius int) int { return celsius*9/5 + 320 }

// miles converts tenths of kilometers to tenths of miles.
func miles(kilometers int) int { return kilometers * 6214 / 10_000 }

// inches converts tenths of millimeters to hundredths of inches.
func inches(millimeters int) int { return millimeters * 100 / 254 }

// current returns the weather at the time of w.
func (w weather) current() python.Value {
	minute := w.date.Hour()*60 + w.date.Minute()
	minutesFromWarmest := max(minute-warmest, warmest-minute)
	minutesFromWarmest = min(minutesFromWarmest, day-minutesFromWarmest)
	temperature := w.mean + w.spread*(noon/2-minutesFromWarmest)/(noon/2)
	feels := temperature - w.wind/25
	isDay := 0
	if (minute-w.sunrise+day)%day < (w.sunset-w.sunrise+day)%day {
		isDay = 1
	}
	winds := [...]string{"N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW"}
	return python.DictOf(
		item("temp_c", tenths(temperature)), item("temp_f", tenths(fahrenheit(temperature))),
		intItem("is_day", isDay), item("condition", w.condition.describe()),
		item("wind_mph", tenths(miles(w.wind))), item("wind_kph", tenths(w.wind)),
		text("wind_dir", winds[w.pressure%len(winds)]),
		item("pressure_mb", tenths(10*w.pressure)), item("pressure_in", hundredths(w.pressure*2953/1000)),
		item("precip_mm", tenths(w.rain/4)), item("precip_in", hundredths(inches(w.rain/4))),
		intItem("humidity", w.humidity),
		item("feelslike_c", tenths(feels)), item("feelslike_f", tenths(fahrenheit(feels))),
		item("vis_km", tenths(w.visibility)), item("vis_miles", tenths(miles(w.visibility))),
		item("uv", tenths(10*w.uv*isDay)),
	)
}

// describe returns the day in the format of the hosted service.
func (w weather) describe() python.Value {
	highest, lowest := w.mean+w.spread, w.mean-w.spread
	strongest := w.wind * 3 / 2
	rains := 0
	if w.rain > 0 {
		rains = 1
	}
	return python.DictOf(
		text("date", w.date.Format(time.DateOnly)),
		item("day", python.DictOf(
			item("maxtemp_c", tenths(highest)), item("maxtemp_f", tenths(fahrenheit(highest))),
			item("mintemp_c", tenths(lowest)), item("mintemp_f", tenths(fahrenheit(lowest))),
			item("avgtemp_c", tenths(w.mean)), item("avgtemp_f", tenths(fahrenheit(w.mean))),
			item("maxwind_mph", tenths(miles(strongest))), item("maxwind_kph", tenths(strongest)),
			item("totalprecip_mm", tenths(w.rain)), item("totalprecip_in", hundredths(inches(w.rain))),
			item("avgvis_km", tenths(w.visibility)), item("avgvis_miles", tenths(miles(w.visibility))),
			intItem("avghumidity", w.humidity), intItem("daily_will_it_rain", rains), intItem("daily_chance_of_rain", w.rainChance),
			item("condition", w.condition.describe()), item("uv", tenths(10*w.uv)),
		)),
		item("astro", python.DictOf(
			text("sunrise", wallClock(w.sunrise)), text("sunset", wallClock(w.sunset)), intItem("is_moon_up", w.moonlit),
		)),
	)
}

func (s condition) describe() python.Value {
	return python.DictOf(text("text", s.text), intItem("code", s.code))
}

// wallClock prints a minute of the day.
func wallClock(minute int) string {
	return time.Date(2000, time.January, 1, minute/60, minute%60, 0, 0, time.UTC).Format("03:04 PM")
}
