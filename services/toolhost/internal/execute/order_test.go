package execute

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

const agent = worldv1.Role_ROLE_AGENT

func environment(tb testing.TB) *Environment {
	tb.Helper()
	catalogue := tool.Builtin()
	selection, err := catalogue.Select(&setupv1.ToolSelection{})
	if err != nil {
		tb.Fatalf("select tools: %v", err)
	}
	return New(catalogue, selection)
}

// someWorld returns a world with settings and a few contacts, one of them the owner of the phone.
func someWorld() session.World {
	w := session.NewWorld(&session.Frame{Zone: time.UTC}, 0)
	w.Load(worldv1.TableName_TABLE_NAME_SETTING, []session.Row{{
		python.Str("device"), python.Bool(true), python.Bool(true), python.Bool(true), python.Bool(false), python.Float(1), python.Float(2),
	}}, false)
	contact := func(id, name string, self bool) session.Row {
		return session.Row{python.Str(id), python.Str(name), python.Str("+14085550000"), python.None(), python.Bool(self)}
	}
	w.Load(worldv1.TableName_TABLE_NAME_CONTACT, []session.Row{contact("a", "Ann", true), contact("b", "Bob", false), contact("c", "Cid", false)}, false)
	return w
}

// sources are calls that get into each other's way in many ways.
func sources() []string {
	return []string{
		"print(repr(set_wifi_status(False)))",
		"print(repr(set_wifi_status(True)))",
		"print(repr(set_low_battery_mode_status(True)))",
		"print(repr(set_low_battery_mode_status(False)))",
		"print(repr(set_location_service_status(False)))",
		"print(repr(get_current_location()))",
		"print(repr(get_wifi_status()))",
		"print(repr(add_contact('Dan', '+14085551111')))",
		"print(repr(add_contact('Eve', '+14085552222', 'self', True)))",
		"print(repr(add_contact('Fay', 'no number')))",
		"print(repr(remove_contact('a')))",
		"print(repr(remove_contact('b')))",
		"print(repr(remove_contact('c')))",
		"print(repr(modify_contact('b', name='Bill')))",
		"print(repr(modify_contact('c', is_self=True)))",
		"print(repr(modify_contact('a', is_self=False)))",
		"print(repr(search_contacts(name='bob')))",
		"print(search_contacts(is_self=True)[0]['name'])",
		"print(repr(end_conversation()))",
		"print(repr(nothing()))",
		"search_contacts(",
	}
}

// naive runs every order, as the original does, and keeps the first one that fails, else the given one.
func naive(calls []call, base session.World) ([]Answer, session.World) {
	var order []int
	used := make([]bool, len(calls))
	var first, failing []Answer
	var firstWorld, failingWorld session.World
	var visit func()
	visit = func() {
		if failing != nil {
			return
		}
		if len(order) == len(calls) {
			world, failed := base, false
			var answers []Answer
			for _, i := range order {
				answer := calls[i].run(&world)
				answer.Call = i
				failed = failed || answer.Exception != ""
				answers = append(answers, answer)
			}
			if first == nil {
				first, firstWorld = answers, world
			}
			if failed {
				failing, failingWorld = answers, world
			}
			return
		}
		for i := range calls {
			if !used[i] {
				used[i] = true
				order = append(order, i)
				visit()
				order, used[i] = order[:len(order)-1], false
			}
		}
	}
	visit()
	if failing != nil {
		return failing, failingWorld
	}
	return first, firstWorld
}

// state prints everything of a world that can be seen later.
func state(w session.World) string {
	text := fmt.Sprint(w.Drawn(), w.Active())
	for _, name := range session.Tables() {
		text += fmt.Sprint("|", w.Written(name), w.Ever(name), session.Encode(name, 0, w.Rows(name)))
	}
	return text
}

func TestFirstFailingEqualsAllOrders(t *testing.T) {
	env, pool := environment(t), sources()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		texts := make([]string, 2+random.IntN(4))
		for i := range texts {
			texts[i] = pool[random.IntN(len(pool))]
		}
		if round%2 == 0 { // without the calls that always fail the orders matter more often
			for i := range texts {
				texts[i] = pool[random.IntN(9)]
			}
		}
		base := someWorld()
		if round%3 == 0 {
			base.Load(worldv1.TableName_TABLE_NAME_CONTACT, nil, true)
		}
		calls := make([]call, len(texts))
		for i := range texts {
			calls[i] = env.recognise(texts[i], agent)
		}
		wantAnswers, wantWorld := naive(calls, base)
		gotAnswers, gotWorld, err := env.Run(base, texts, agent)
		if err != nil {
			t.Fatalf("Run(%q): %v", texts, err)
		}
		if diff := cmp.Diff(wantAnswers, gotAnswers); diff != "" {
			t.Fatalf("Run(%q): answers (-all orders +got):\n%s", texts, diff)
		}
		if got, want := state(gotWorld), state(wantWorld); got != want {
			t.Fatalf("Run(%q): got world %s\nwant %s", texts, got, want)
		}
	}
}

func TestFirstFailingBounds(t *testing.T) {
	env := environment(t)
	batch := func(n int, source string) []string {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = source
		}
		return texts
	}
	const read, write = "print(repr(search_contacts(name='bob')))", "print(repr(add_contact('Dan', '+14085551111')))"
	tests := []struct {
		name    string
		sources []string
		want    error
	}{
		{"64 reads", batch(64, read), nil},
		{"65 reads", batch(65, read), ErrTooManyOrders},
		{"60 reads and 4 writes", append(batch(60, read), batch(4, write)...), nil},
		{"8 writes", batch(8, write), nil},
		{"20 writes", batch(20, write), ErrTooManyOrders},
		{"20 writes, the first raises", append([]string{"nothing()"}, batch(20, write)...), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, _, err := env.Run(someWorld(), test.sources, agent)
			if !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			if err == nil && len(answers) != len(test.sources) {
				t.Errorf("got %d answers, want %d", len(answers), len(test.sources))
			}
		})
	}
}

func BenchmarkRun(b *testing.B) {
	env, world := environment(b), someWorld()
	args := python.DictOf(python.Item{Key: "name", Value: python.Str("bob")})
	one := python.ComposeCall("call_1", "search_contacts", args)
	benchmarks := []struct {
		name    string
		sources []string
	}{
		{"one", []string{one}},
		{"two reads", []string{one, "print(repr(get_wifi_status()))"}},
		{"two writes", []string{"print(repr(set_wifi_status(False)))", "print(repr(add_contact('Dan', '+14085551111')))"}},
		{"eight writes", []string{
			"add_contact('A', '+14085551111')", "add_contact('B', '+14085551111')", "add_contact('C', '+14085551111')", "add_contact('D', '+14085551111')",
			"add_contact('E', '+14085551111')", "add_contact('F', '+14085551111')", "add_contact('G', '+14085551111')", "add_contact('H', '+14085551111')",
		}},
	}
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := env.Run(world, bench.sources, agent); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
