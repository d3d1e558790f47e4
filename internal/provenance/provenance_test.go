package provenance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/provenance"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
	env   = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func says(from, to worldv1.Role, text string) *worldv1.Message {
	return &worldv1.Message{Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
}

func returned(json string) *worldv1.Message {
	return &worldv1.Message{Sender: env, Recipient: agent, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
		Traces: []*worldv1.ToolTrace{{ResultJson: json}},
	}}}
}

// stars is a tool with a scale, an enum and a default.
var stars = &worldv1.Tool{Name: "rate", ParametersJson: `{"properties": {
	"stars": {"type": "integer", "description": "From 1 to 5."}, "speed": {"enum": ["express"]}, "copies": {"default": 9},
	"colors": {"type": "array", "items": {"enum": ["rd7", "bl9"]}}, "rooms": {"additionalProperties": {"anyOf": [{"type": "null"}, {"enum": ["rd7"]}]}}}}`}

// clock is the answer of a clock: Tuesday, 7 October 2025, 17:40.
var clock = returned("1759884000.0")

// untold are arguments by case, after what was told, with those that are not told.
var untold = map[string]struct {
	told      []*worldv1.Message
	tool      string
	arguments string
	want      []string
}{
	"nothing":                  {nil, "f", `{}`, nil},
	"vocabulary":               {nil, "rate", `{"stars": 5, "speed": "express", "copies": 9, "on": true, "what": null}`, nil},
	"nested vocabulary":        {nil, "rate", `{"colors": ["rd7", "bl9"], "rooms": {"a": "rd7"}}`, nil},
	"another nested value":     {nil, "rate", `{"colors": ["rd7", "gr8"]}`, []string{`colors "rd7"`, `colors "gr8"`}},
	"another value":            {nil, "rate", `{"stars": 4, "speed": "B2", "copies": 8}`, []string{`stars 4`, `speed "B2"`, `copies 8`}},
	"free words":               {nil, "f", `{"query": "coffee shop", "relationship": "mother"}`, nil},
	"phone, national":          {[]*worldv1.Message{says(user, agent, "It's (415) 555-0177.")}, "f", `{"phone_number": "+14155550177"}`, nil},
	"phone, trunk zero":        {[]*worldv1.Message{says(user, agent, "It's 030 23125456, Berlin.")}, "f", `{"phone_number": "+493023125456"}`, nil},
	"phone, in words":          {[]*worldv1.Message{says(user, agent, "four one six, triple five, oh one double eight")}, "f", `{"phone_number": "+14165550188"}`, nil},
	"phone, other":             {[]*worldv1.Message{says(user, agent, "It's (415) 555-0177.")}, "f", `{"phone_number": "+14155550178"}`, []string{`phone_number "+14155550178"`}},
	"phone, swapped by user":   {[]*worldv1.Message{says(user, agent, "It's 415 555 0109.")}, "f", `{"phone_number": "+14155550190"}`, []string{`phone_number "+14155550190"`}},
	"phone, corrected":         {[]*worldv1.Message{returned(`{"phone_number": "+902325550160"}`)}, "f", `{"phone_number": "+902325550106"}`, nil},
	"number in words":          {[]*worldv1.Message{says(user, agent, "a lakh and a half, or 1.8 billion")}, "f", `{"a": 150000, "b": 1800000000}`, nil},
	"rounded":                  {[]*worldv1.Message{returned(`50.623708`)}, "f", `{"amount": 50.62}`, nil},
	"product":                  {[]*worldv1.Message{says(user, agent, "1.79 a liter"), returned(`3.785411784`)}, "f", `{"amount": 6.776}`, nil},
	"other amount":             {[]*worldv1.Message{says(user, agent, "1.79 a liter")}, "f", `{"amount": 6.776}`, []string{"amount 6.776"}},
	"degrees":                  {[]*worldv1.Message{says(user, agent, `37°21'25" N, 122°02'30" W`)}, "f", `{"latitude": 37.356944, "longitude": -122.041667}`, nil},
	"id":                       {[]*worldv1.Message{returned(`[{"person_id": "a1-b2"}]`)}, "f", `{"person_id": "a1-b2", "other_id": "a1-b3"}`, []string{`other_id "a1-b3"`}},
	"word for an id":           {[]*worldv1.Message{says(user, agent, "Remove Mateo.")}, "f", `{"person_id": "Mateo", "phone_number": "driver"}`, []string{`person_id "Mateo"`, `phone_number "driver"`}},
	"name":                     {[]*worldv1.Message{says(user, agent, "Save Jürgen, my plumber.")}, "add", `{"name": "Juergen"}`, nil},
	"invented name":            {[]*worldv1.Message{says(user, agent, "Save my plumber.")}, "add", `{"name": "John Doe"}`, []string{`name "John Doe"`}},
	"name in a text":           {[]*worldv1.Message{says(user, agent, "Tell him that I'm late.")}, "add", `{"content": "Tell Hildegard that I'm late"}`, []string{`content "Tell Hildegard that I'm late"`}},
	"holiday":                  {nil, "search", `{"name": "Independence Day"}`, nil},
	"place":                    {nil, "search", `{"location": "Brandenburg Gate"}`, []string{`location "Brandenburg Gate"`}},
	"name of the world":        {nil, "search", `{"name": "Zelda"}`, []string{`name "Zelda"`}},
	"date without a clock":     {[]*worldv1.Message{says(user, agent, "On Friday at nine.")}, "f", `{"year": 2025, "month": 10, "day": 10, "hour": 9, "minute": 0, "second": 0}`, []string{"year 2025"}},
	"date with a clock":        {[]*worldv1.Message{says(user, agent, "On Friday at nine."), clock}, "f", `{"year": 2025, "month": 10, "day": 10, "hour": 9, "minute": 0, "second": 0}`, nil},
	"date in digits":           {[]*worldv1.Message{says(user, agent, "His birthday is 22 May.")}, "f", `{"birthday": "05-22", "other": "22.05.", "wrong": "06-21"}`, []string{`wrong "06-21"`}},
	"date in full":             {[]*worldv1.Message{says(user, agent, "3 September 2031, 7am")}, "f", `{"year": 2031, "month": 9, "day": 3, "hour": 7, "minute": 0}`, nil},
	"other hour":               {[]*worldv1.Message{says(user, agent, "Tomorrow."), clock}, "f", `{"year": 2025, "month": 10, "day": 8, "hour": 9, "minute": 0}`, []string{"hour 9"}},
	"timestamp":                {[]*worldv1.Message{says(user, agent, "Tomorrow at half past six"), clock}, "f", `{"timestamp": 1759930200}`, nil},
	"timestamp in two hours":   {[]*worldv1.Message{says(user, agent, "in two hours"), clock}, "f", `{"timestamp": 1759891200}`, nil},
	"timestamp at random":      {[]*worldv1.Message{says(user, agent, "in two hours")}, "f", `{"timestamp": 1633072800}`, []string{"timestamp 1633072800"}},
	"shift":                    {[]*worldv1.Message{says(user, agent, "an hour and a half before, on Friday"), clock}, "f", `{"hours": -1, "minutes": -30, "days": 3}`, nil},
	"other shift":              {[]*worldv1.Message{says(user, agent, "a bit before")}, "f", `{"hours": -5, "minutes": -20}`, []string{"hours -5", "minutes -20"}},
	"nested":                   {[]*worldv1.Message{says(user, agent, "two cups")}, "f", `{"items": [{"quantity": 2}, {"quantity": 7}]}`, []string{"items.quantity 7"}},
	"own text":                 {[]*worldv1.Message{says(agent, user, "At 9:15?")}, "f", `{"content": "See you at 9:15"}`, []string{`content "See you at 9:15"`}},
	"own text, answered":       {[]*worldv1.Message{says(agent, user, "At 9:15?"), says(user, agent, "Yes.")}, "f", `{"content": "See you at 9:15"}`, nil},
	"message to somebody else": {[]*worldv1.Message{says(env, user, "It's 415 555 0177.")}, "f", `{"phone_number": "+14155550177"}`, []string{`phone_number "+14155550177"`}},
	"no object":                {nil, "f", `[7]`, nil},
}

func TestUntold(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	config := provenance.Config{
		Zone: zone, Tools: []*worldv1.Tool{stars}, Vocabulary: provenance.NamesIn([]string{"Independence Day"}),
		Names: provenance.NamesOf([]*worldv1.Table{{Name: "CONTACT", Rows: []*worldv1.Row{{Cells: []*worldv1.Value{{Kind: &worldv1.Value_Text{Text: "Zelda Voss"}}}}}}}),
	}
	for name, c := range untold {
		t.Run(name, func(t *testing.T) {
			conversation := provenance.New(config)
			for _, m := range c.told {
				conversation.Learn(m)
			}
			var got []string
			for _, a := range conversation.Untold(&worldv1.ToolCall{Tool: c.tool, ArgumentsJson: c.arguments}, c.tool != "search") {
				got = append(got, a.Name+" "+a.Value)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.arguments, diff)
			}
		})
	}
}

// TestScale judges small whole numbers only if the tools are described.
func TestScale(t *testing.T) {
	call := &worldv1.ToolCall{Tool: "f", ArgumentsJson: `{"zone": 3}`}
	if got := provenance.New(provenance.Config{}).Untold(call, true); len(got) > 0 {
		t.Errorf("without tools: got %v, want none", got)
	}
	if got := provenance.New(provenance.Config{Tools: []*worldv1.Tool{stars}}).Untold(call, true); len(got) != 1 {
		t.Errorf("with tools: got %v, want one", got)
	}
}

// TestFull judges nothing once more was told than is kept.
func TestFull(t *testing.T) {
	conversation := provenance.New(provenance.Config{})
	call := &worldv1.ToolCall{Tool: "f", ArgumentsJson: `{"amount": 123.456}`}
	if got := conversation.Untold(call, true); len(got) != 1 {
		t.Errorf("before: got %v, want one", got)
	}
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "%d ", i)
	}
	conversation.Learn(says(user, agent, many.String()))
	if got := conversation.Untold(call, true); len(got) > 0 {
		t.Errorf("after: got %v, want none", got)
	}
}

// TestProbe counts an unknown name in a search as a claim only if the tools are described.
func TestProbe(t *testing.T) {
	call := &worldv1.ToolCall{Tool: "search", ArgumentsJson: `{"name": "Zelda"}`}
	if got := provenance.New(provenance.Config{}).Untold(call, false); len(got) > 0 {
		t.Errorf("without tools: got %v, want none", got)
	}
	if got := provenance.New(provenance.Config{Tools: []*worldv1.Tool{stars}}).Untold(call, false); len(got) != 1 {
		t.Errorf("with tools: got %v, want one", got)
	}
}

// FuzzUntold reads any text and arguments.
func FuzzUntold(f *testing.F) {
	f.Add("in 2 hours at half past ten, 37°21'25\"", `{"timestamp": 1e10, "year": 2025, "month": 1, "day": 40, "name": "Ana"}`, `{"hour": 1e300}`)
	f.Fuzz(func(_ *testing.T, text, arguments, result string) {
		conversation := provenance.New(provenance.Config{})
		conversation.Learn(says(user, agent, text))
		conversation.Learn(returned(result))
		conversation.Untold(&worldv1.ToolCall{ArgumentsJson: arguments}, true)
	})
}
