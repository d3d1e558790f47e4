package service

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/ported/fuzzy"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// samePlaceDistance is the maximum distance in kilometers to the place whose address applies.
	samePlaceDistance = 1
	// inCity is the maximum distance in kilometers to the city whose address applies.
	inCity = 60
	// aroundHere is the maximum distance in kilometers at which a search finds a place that is no
	// landmark.
	aroundHere = 80
	// minWordPercent is the minimum share of a query's words, in percent, that a found place has.
	minWordPercent = 50
	// shortestStem is the minimum length of a word's beginning that matches the word.
	shortestStem = 4
)

// place is a shop, a sight or another point of interest.
type place struct {
	point
	Name string `json:"name"`
	// Kinds are the kinds of the place, the most specific one first.
	Kinds   []string `json:"kinds"`
	Phone   string   `json:"phone"`
	Address string   `json:"address"`
	Website string   `json:"website"`
	// Hours are the opening hours of every day.
	Hours   string  `json:"hours"`
	Rating  float64 `json:"rating"`
	Reviews int     `json:"reviews"`
	// Landmark places are found from everywhere.
	Landmark bool `json:"landmark"`

	// own are the words of name and kinds, around those of the address.
	own, around []string
}

// index sets the words by which a search finds the place.
func (p *place) index() {
	p.own, p.around = words(p.Name+" "+strings.Join(p.Kinds, " ")), words(p.Address)
}

// address returns the address at a point.
func (d *data) address(params *python.Dict) python.Value {
	var results []python.Value
	if at, ok := parsePoint(textOf(params, "location")); ok {
		if address, kind := d.addressAt(at); address != "" {
			results = append(results, python.DictOf(
				text("address", address),
				item("location", python.DictOf(item("lat", python.Float(at.Latitude)), item("lng", python.Float(at.Longitude)))),
				text("type", kind),
			))
		}
	}
	return python.DictOf(item("results", python.List(results...)))
}

// addressAt returns the address at a point and its kind, empty if nothing is near.
func (d *data) addressAt(at point) (address, kind string) {
	if i, distance := nearest(at, len(d.places), func(i int) point { return d.places[i].point }); i >= 0 && distance <= samePlaceDistance {
		return d.places[i].Address, "street_address"
	}
	if i, distance := nearest(at, len(d.cities), func(i int) point { return d.cities[i].point }); i >= 0 && distance <= inCity {
		return d.cities[i].Name + ", " + d.cities[i].Region + ", " + d.cities[i].Country, "locality"
	}
	return "", ""
}

// find returns the places that match a query best: those with most of its words, the nearest first.
func (d *data) find(params *python.Dict) python.Value {
	type match struct {
		index    int
		distance float64
	}
	query := words(textOf(params, "query"))
	var center point
	center.Latitude, _ = params.Value().Field("lat").Number()
	center.Longitude, _ = params.Value().Field("lng").Number()
	var matches []match
	best := minWordPercent
	for i := range d.places {
		score := d.places[i].score(query)
		if score < best {
			continue
		}
		m := match{index: i, distance: center.kilometers(d.places[i].point)}
		if m.distance > aroundHere && !d.places[i].Landmark {
			continue
		}
		if score > best {
			best, matches = score, nil
		}
		matches = append(matches, m)
	}
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(a.distance, b.distance) })
	maxResults, ok := params.Value().Field("limit").AsInt()
	if !ok {
		maxResults = int64(len(matches))
	}
	found := make([]python.Value, 0, len(matches))
	for _, m := range matches[:min(int64(len(matches)), max(maxResults, 0))] {
		found = append(found, d.places[m.index].describe(m.index))
	}
	return python.DictOf(text("status", "OK"), item("data", python.List(found...)))
}

// words returns the words of a query in lower case, without stop words.
func words(query string) []string {
	return slices.DeleteFunc(strings.Fields(fuzzy.Process(query)), func(word string) bool {
		return slices.Contains([]string{"a", "an", "and", "around", "at", "by", "closest", "here", "in", "me", "near", "nearby", "nearest", "of", "on", "s", "the", "to"}, word)
	})
}

// score returns the share of a query's words that the place has, in percent; 0 if its name and
// kinds have none.
func (p *place) score(query []string) int {
	named, found := 0, 0
	for _, word := range query {
		is := func(other string) bool { return sameStem(word, other) }
		if slices.ContainsFunc(p.own, is) {
			named++
			found++
		} else if slices.ContainsFunc(p.around, is) {
			found++
		}
	}
	if named == 0 {
		return 0
	}
	return found * 100 / len(query)
}

// sameStem reports whether two words are equal except for an ending.
func sameStem(a, b string) bool {
	return a == b || min(len(a), len(b)) >= shortestStem && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// describe returns the place in the format of the hosted service.
func (p *place) describe(index int) python.Value {
	id := "offline-" + strconv.Itoa(index)
	kinds := make([]python.Value, len(p.Kinds))
	for i, kind := range p.Kinds {
		kinds[i] = python.Str(kind)
	}
	hours := &python.Dict{}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		hours.Set(day, python.List(python.Str(p.Hours)))
	}
	return python.DictOf(
		text("business_id", id),
		item("phone_number", textOrNone(p.Phone)),
		text("name", p.Name),
		text("full_address", p.Address),
		item("latitude", python.Float(p.Latitude)),
		item("longitude", python.Float(p.Longitude)),
		intItem("review_count", p.Reviews),
		item("rating", python.Float(p.Rating)),
		item("website", textOrNone(p.Website)),
		item("verified", python.Bool(true)),
		text("place_id", id),
		item("place_link", python.None()),
		item("types", python.List(kinds...)),
		item("working_hours", hours.Value()),
		item("photos", python.List()),
	)
}

// textOrNone returns a text, None if it is empty.
func textOrNone(text string) python.Value {
	if text == "" {
		return python.None()
	}
	return python.Str(text)
}
