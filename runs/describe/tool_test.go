package describe

import "testing"

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		texts []string
		want  string
	}{
		{nil, ""},
		{[]string{"longer than the line"}, "longer than the line"},
		{[]string{"abc", "def"}, "abc, def"},
		{[]string{"abcd", "efgh", "ij"}, "abcd,\nefgh, ij"},
		{[]string{"a", "longer than the line", "b"}, "a,\nlonger than the line,\nb"},
	}
	for _, test := range tests {
		if got := wrap(test.texts, 10); got != test.want {
			t.Errorf("wrap(%q, 10): got %q, want %q", test.texts, got, test.want)
		}
	}
}
