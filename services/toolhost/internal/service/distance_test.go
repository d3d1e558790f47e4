package service

import (
	"math/rand/v2"
	"testing"
)

// TestAtLeast compares the cheap bound with the distance, for points all over the Earth and close
// together.
func TestAtLeast(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		p := point{Latitude: random.Float64()*180 - 90, Longitude: random.Float64()*360 - 180}
		q := point{Latitude: random.Float64()*180 - 90, Longitude: random.Float64()*360 - 180}
		switch random.IntN(4) {
		case 0:
			q = point{Latitude: p.Latitude + random.Float64()/100, Longitude: p.Longitude}
		case 1:
			q = point{Latitude: -p.Latitude, Longitude: p.Longitude + 180}
		}
		bound, distance := p.atLeast(q), p.kilometers(q)
		if !(bound <= distance) || bound < distance*0.98 {
			t.Errorf("from %v to %v: got a bound of %v, want at most %v and at least 0.98 of it", p, q, bound, distance)
		}
	}
}

// TestNearest finds what a search that measures every distance finds.
func TestNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		from := point{Latitude: random.Float64()*180 - 90, Longitude: random.Float64()*360 - 180}
		points := make([]point, 40)
		for i := range points {
			points[i] = point{Latitude: random.Float64()*180 - 90, Longitude: random.Float64()*360 - 180}
		}
		want := 0
		for i := range points {
			if from.kilometers(points[i]) < from.kilometers(points[want]) {
				want = i
			}
		}
		if got, _ := nearest(from, len(points), func(i int) point { return points[i] }); got != want {
			t.Errorf("nearest to %v: got point %d, want %d of %v", from, got, want, points)
		}
	}
}
