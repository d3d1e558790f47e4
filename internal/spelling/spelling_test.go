package spelling_test

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"set_wifi_status", "get_wifi_status", "oracle"}
	for name, want := range map[string]string{
		"orcale":                 "oracle",
		"ORACLE":                 "oracle",
		"get_wify_status":        "get_wifi_status",
		"xet_wifi_status":        "get_wifi_status", // as near as the other; first in byte order
		"unlike":                 "",
		"":                       "",
		strings.Repeat("o", 300): "",
	} {
		if got := spelling.Nearest(name, known, 1); got != want {
			t.Errorf("Nearest(%q): got %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"wor\ufeffld", "world", 1}} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q): got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"", 0, ""}, {"four", 4, "four"}, {"seven", 4, "seve…"}, {"naïve", 3, "na…"}, {"naïve", 4, "naï…"}, {"日本", 2, "…"}} {
		if got := spelling.Shorten(c.text, c.limit); got != c.want {
			t.Errorf("Shorten(%q, %d): got %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
