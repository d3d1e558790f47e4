package view

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
)

// rowsPerPage is the number of rollouts on one page from a server. An exported page has all.
const rowsPerPage = 100

// filterNames are the names of the state of the table in its address. The page is not part of what
// selects rollouts.
var filterNames = []string{"run", "category", "variant", "cause", "state", "user", "q", "sort"}

// The states of a rollout.
const (
	statePassed  = "passed"
	statePartial = "partial"
	stateZero    = "zero"
	stateNone    = "unscored"
	stateFailed  = "failed" // all but passed
)

// played is a rollout with its run.
type played struct {
	*run
	*analysis.Rollout
	at int
}

// choices are the values of the filters.
type choices struct{ Categories, Variants, Causes []string }

// newChoices collects the values that occur.
func (v *Viewer) newChoices() choices {
	categories, variants, causes := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, r := range v.runs {
		for _, rollout := range r.rollouts {
			variants[rollout.Variant] = true
			for _, category := range rollout.Categories {
				categories[category] = true
			}
			if rollout.Outcome != nil {
				for _, c := range rollout.Outcome.Causes {
					causes[c.Kind] = true
				}
			}
		}
	}
	return choices{slices.Sorted(maps.Keys(categories)), slices.Sorted(maps.Keys(variants)), slices.Sorted(maps.Keys(causes))}
}

// state is the state of the table as the end of an address, without the page; empty without any.
func (v *Viewer) state(query url.Values) string {
	kept := url.Values{}
	for _, name := range filterNames {
		if value := query.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode()
}

// selected returns the rollouts that a query selects, in its order.
func (v *Viewer) selected(query url.Values) []played {
	fits := filter(query)
	var all []played
	for _, r := range v.runs {
		for i := range r.rollouts {
			if p := (played{r, &r.rollouts[i], i}); fits(p) {
				all = append(all, p)
			}
		}
	}
	name, descending := strings.CutPrefix(query.Get("sort"), "-")
	key := sortKeys[name]
	if key == nil {
		return all
	}
	slices.SortStableFunc(all, func(a, b played) int {
		x, known := key(a)
		y, alsoKnown := key(b)
		switch {
		case !known || !alsoKnown: // what has none comes last, in both directions
			return cmp.Compare(order01(!known), order01(!alsoKnown))
		case descending:
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return all
}

func order01(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// sortKeys are the columns by which the table is sorted. ok is false for a rollout without a value.
var sortKeys = map[string]func(played) (value float64, ok bool){
	"score": func(p played) (float64, bool) {
		if p.Score == nil {
			return 0, false
		}
		return *p.Score, true
	},
	"turns": func(p played) (float64, bool) { return float64(p.Turns), true },
	"calls": func(p played) (float64, bool) {
		if p.Calls == nil {
			return 0, false
		}
		return float64(*p.Calls), true
	},
	"seconds": func(p played) (float64, bool) {
		if p.Seconds == nil {
			return 0, false
		}
		return *p.Seconds, true
	},
}

// filter returns what decides whether a query selects a rollout.
func filter(query url.Values) func(played) bool {
	get := func(name string) string { return query.Get(name) }
	letter, category, variant, kind, state, user := get("run"), get("category"), get("variant"), get("cause"), get("state"), get("user")
	text := strings.ToLower(get("q"))
	return func(p played) bool {
		switch {
		case letter != "" && p.Letter != letter,
			variant != "" && p.Variant != variant,
			category != "" && !slices.Contains(p.Categories, category),
			state != "" && p.state() != state && (state != stateFailed || p.state() == statePassed),
			kind != "" && !slices.Contains(p.causes(), kind),
			user == "flagged" && !p.flagged(),
			text != "" && !strings.Contains(strings.ToLower(p.Name), text) && !strings.Contains(strings.ToLower(p.details()), text):
			return false
		}
		return true
	}
}

// state is whether the rollout passed.
func (p played) state() string {
	switch {
	case p.Score == nil:
		return stateNone
	case *p.Score >= passAt:
		return statePassed
	case *p.Score == 0:
		return stateZero
	}
	return statePartial
}

// causes are the kinds of the causes of a rollout, each once.
func (p played) causes() []string {
	if p.Outcome == nil {
		return nil
	}
	var kinds []string
	for _, c := range p.Outcome.Causes {
		if !slices.Contains(kinds, c.Kind) {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}

// flagged reports whether the simulated user left its role.
func (p played) flagged() bool { return p.Outcome != nil && len(p.Outcome.UserFlags) > 0 }

// details are the texts of causes and failure.
func (p played) details() string {
	if p.Outcome == nil {
		return p.Failure
	}
	var all strings.Builder
	all.WriteString(p.Failure)
	for _, c := range p.Outcome.Causes {
		all.WriteString("\n" + c.Kind + "\n" + c.Detail)
	}
	return all.String()
}

// rolloutsBody is the content of the table of rollouts.
type rolloutsBody struct {
	Choices choices
	Runs    []*run
	Query   map[string]string
	Rows    []tableRow
	Found   int
	All     int
	Heads   []head
	Pages   []link
}

// tableRow is a row of the table.
type tableRow struct {
	Path, Name, Letter, Variant   string
	Score                         *float64
	ScoreText, Turns, Calls, Time string
	Causes                        []string
	Failure                       string
	// Categories are the places of the categories among those of the filter.
	Categories, User string
}

// head is the title of a column that sorts the table.
type head struct{ Text, Path, Sorted string }

func (v *Viewer) rolloutsPage(p *page, query url.Values) error {
	if p.Static {
		query = url.Values{}
	}
	found := v.selected(query)
	body := &rolloutsBody{Choices: v.choices(), Runs: v.runs, Query: make(map[string]string), Found: len(found)}
	for _, r := range v.runs {
		body.All += len(r.rollouts)
	}
	for _, name := range filterNames {
		body.Query[name] = query.Get(name)
	}
	state := v.state(query)
	shown := found
	if !p.Static {
		number, err := strconv.Atoi(cmp.Or(query.Get("page"), "1"))
		pages := max((len(found)+rowsPerPage-1)/rowsPerPage, 1)
		if err != nil || number < 1 || number > pages {
			return errNoPage
		}
		shown = found[(number-1)*rowsPerPage : min(number*rowsPerPage, len(found))]
		body.Pages = pagesAround(number, pages, func(n int) string { return "rollouts.html" + with(query, "page", strconv.Itoa(n)) })
	}
	for _, rollout := range shown {
		body.Rows = append(body.Rows, newTableRow(rollout, state, p.Static, body.Choices.Categories))
	}
	for _, column := range []string{"score", "turns", "calls", "seconds"} {
		h := head{Text: column, Path: "rollouts.html" + with(query, "sort", column)}
		switch query.Get("sort") {
		case column:
			h.Sorted, h.Path = "ascending", "rollouts.html"+with(query, "sort", "-"+column)
		case "-" + column:
			h.Sorted, h.Path = "descending", "rollouts.html"+with(query, "sort", "")
		}
		body.Heads = append(body.Heads, h)
	}
	p.template, p.Title, p.Section, p.Body = "rollouts", "Rollouts", "rollouts", body
	return nil
}

// newTableRow shows a rollout. categories are those of the filter in an exported table, whose
// script knows them by their place.
func newTableRow(p played, state string, static bool, categories []string) tableRow {
	shown := tableRow{Path: rolloutPath(p.Letter, p.Name), Name: p.Name, Letter: p.Letter, Variant: p.Variant, Score: p.Score, ScoreText: "–", Turns: strconv.Itoa(p.Turns), Calls: "–", Time: "–", Causes: p.causes(), Failure: p.Failure}
	if p.Score != nil {
		shown.ScoreText = explain.Number(*p.Score)
	}
	if p.Calls != nil {
		shown.Calls = strconv.Itoa(*p.Calls)
	}
	if p.Seconds != nil {
		shown.Time = strconv.FormatFloat(*p.Seconds, 'f', 2, 64)
	}
	if p.flagged() {
		shown.User = "flagged"
	}
	if !static {
		shown.Path += state
		return shown
	}
	var places []string
	for _, category := range p.Categories {
		places = append(places, strconv.Itoa(slices.Index(categories, category)))
	}
	shown.Categories = strings.Join(places, " ")
	return shown
}

// with returns a query with another value, from its first page, as the end of an address.
func with(query url.Values, name, value string) string {
	changed := url.Values{}
	for _, kept := range filterNames {
		if query.Get(kept) != "" {
			changed.Set(kept, query.Get(kept))
		}
	}
	changed.Set(name, value)
	if value == "" {
		changed.Del(name)
	}
	if len(changed) == 0 {
		return ""
	}
	return "?" + changed.Encode()
}

// pagesAround links the first, the last and the pages around one; nil for a single page.
func pagesAround(number, pages int, path func(int) string) []link {
	if pages < 2 {
		return nil
	}
	var links []link
	last := 0
	for n := 1; n <= pages; n++ {
		if n != 1 && n != pages && (n < number-2 || n > number+2) {
			continue
		}
		if n > last+1 {
			links = append(links, link{"…", ""})
		}
		last = n
		l := link{strconv.Itoa(n), path(n)}
		if n == number {
			l.Path = ""
		}
		links = append(links, l)
	}
	return links
}

// neighbours are the links to the next, the previous and the next failed rollout of a selection.
func (v *Viewer) neighbours(r *run, at int, query url.Values) []keyLink {
	state := v.state(query)
	all := []played{}
	if state == "" {
		for i := range r.rollouts {
			all = append(all, played{r, &r.rollouts[i], i})
		}
	} else {
		all = v.selected(query)
	}
	here := slices.IndexFunc(all, func(p played) bool { return p.run == r && p.at == at })
	var keys []keyLink
	add := func(key, text string, p played) {
		keys = append(keys, keyLink{key, text, rolloutPath(p.Letter, p.Name) + state})
	}
	if here > 0 {
		add("p", "previous", all[here-1])
	}
	if here >= 0 && here+1 < len(all) {
		add("n", "next", all[here+1])
	}
	for _, p := range all[here+1:] {
		if p.state() != statePassed {
			add("f", "next failed", p)
			break
		}
	}
	return keys
}
