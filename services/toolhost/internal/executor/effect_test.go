package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

const (
	contacts  = world.Contact
	reminders = world.Reminder
	settings  = world.Setting
)

var errRaised = errors.New("RuntimeError: raised")

// raiseIf is an exception if a condition holds.
func raiseIf(holds bool) error {
	if holds {
		return errRaised
	}
	return nil
}

func named(name string) session.Where { return session.Where{Column: 1, Value: python.Str(name)} }

func reminder(id, content string) session.Row {
	return session.Row{python.Str(id), python.Str(content), python.Float(0), python.Float(0), python.None(), python.None()}
}

// hostileTools are tools that do to a world whatever makes the order of calls hard to tell. None of
// them says so.
func hostileTools() []*tool.Tool { //nolint:funlen // one declaration for each tool
	run := func(name string, act func(w *session.World) error) *tool.Tool {
		return &tool.Tool{Name: name, Module: "hostile", Run: func(_ context.Context, w *session.World, _ tool.Args) (python.Value, error) {
			return python.None(), act(w)
		}}
	}
	on := func(w *session.World, column int) bool {
		rows := w.Find(settings, session.All(), column)
		return len(rows) > 0 && rows[0][0].Equal(python.Bool(true))
	}
	return []*tool.Tool{
		run("reverse", func(w *session.World) error { // reads and writes a whole table, as a tool that knows no better
			rows := slices.Clone(w.Rows(contacts))
			slices.Reverse(rows)
			w.Write(contacts, rows)
			return nil
		}),
		run("first_is_bob", func(w *session.World) error {
			rows := w.Rows(contacts)
			return raiseIf(len(rows) > 0 && !rows[0][1].Equal(python.Str("Bob")))
		}),
		run("peek", func(w *session.World) error { // what it reads depends on what it read
			if on(w, 2) {
				return raiseIf(w.Count(reminders, named("tea")) == 1)
			}
			return raiseIf(w.Count(contacts, named("Bob")) == 2)
		}),
		run("switch", func(w *session.World) error { // what it writes depends on what it read
			if on(w, 1) {
				w.Append(reminders, reminder("x", "tea"))
				return nil
			}
			w.Update(contacts, named("Bob"), session.Change{Column: 1, Value: python.Str("Rob")})
			return nil
		}),
		run("half", func(w *session.World) error { // raises after it wrote
			w.Append(reminders, reminder("half", "tea"))
			return raiseIf(!on(w, 1))
		}),
		run("add_odd", func(w *session.World) error { // looks into an id
			_, id := w.NewID(), w.NewID()
			w.Append(reminders, reminder(id, "odd"))
			return raiseIf(strings.ContainsAny(id[:1], "9abc"))
		}),
		run("add_some", func(w *session.World) error { // draws as many ids as there are rows of a name
			for range w.Count(contacts, named("Bob")) {
				w.Append(reminders, reminder(w.NewID(), "some"))
			}
			return nil
		}),
		run("rationed", func(w *session.World) error { return raiseIf(w.Drawn() > 3) }),
		run("rob_to_bob", func(w *session.World) error { // chooses rows by what others change
			w.Update(contacts, named("Rob"), session.Change{Column: 1, Value: python.Str("Bob")}, session.Change{Column: 2, Value: python.Str("1")})
			return nil
		}),
		run("number_0_is_bob", func(w *session.World) error {
			w.Update(contacts, session.Where{Column: 2, Value: python.Str("+14085550000")}, session.Change{Column: 1, Value: python.Str("Bob")})
			return nil
		}),
		run("some_are_ann", func(w *session.World) error {
			w.Update(contacts, session.Where{Column: 4, Value: python.Bool(true)}, session.Change{Column: 1, Value: python.Str("Ann")}, session.Change{Column: 2, Value: python.Str("2")})
			return nil
		}),
		run("two_anns", func(w *session.World) error { return raiseIf(w.Count(contacts, named("Ann")) == 2) }),
		run("drop_number", func(w *session.World) error {
			w.Remove(contacts, session.Where{Column: 2, Value: python.Str("1")})
			return nil
		}),
		run("drop_tea", func(w *session.World) error { // does not mind that there is none
			w.Remove(reminders, named("tea"))
			return nil
		}),
		run("remind_of_first", func(w *session.World) error { // copies what it does not see
			w.Append(reminders, reminder("y", ""), session.Copy{To: 1, Table: contacts, Where: session.All(), Cell: 0})
			return nil
		}),
		run("reminded_of_a", func(w *session.World) error { return raiseIf(w.Count(reminders, named("a")) == 1) }),
		run("own_copy", func(w *session.World) error { // reads what it wrote
			w.Append(reminders, reminder("z", ""), session.Copy{To: 1, Table: contacts, Where: named("Bob"), Cell: 0})
			return raiseIf(w.Count(reminders, named("b")) > 1)
		}),
		run("end_twice", func(w *session.World) error {
			w.SetActive(!w.Active())
			return nil
		}),
	}
}

// hostile returns an environment with all tools, those that declare nothing among them.
func hostile(tb testing.TB) *Environment {
	tb.Helper()
	catalogue := tool.New(append(tool.Builtin().All(), hostileTools()...))
	selection, err := catalogue.Select(&setupv1.ToolSelection{})
	if err != nil {
		tb.Fatalf("select tools: %v", err)
	}
	return New(catalogue, selection)
}

// compareOrders compares the outcome of a batch with that of all orders, and says whether it fails
// in a later one than the given one.
func compareOrders(t *testing.T, env *Environment, base session.World, texts []string) (later bool) {
	t.Helper()
	calls := make([]call, len(texts))
	for i := range texts {
		calls[i] = env.recognised(texts[i])
	}
	wantAnswers, wantWorld := naive(calls, base)
	gotAnswers, gotWorld, err := env.Run(t.Context(), base, said(texts...), agent)
	if err != nil {
		t.Fatalf("Run(%q): %v", texts, err)
	}
	if diff := cmp.Diff(wantAnswers, gotAnswers, protocmp.Transform()); diff != "" {
		t.Fatalf("Run(%q) in %s: answers (-all orders +got):\n%s", texts, state(base), diff)
	}
	if got, want := state(gotWorld), state(wantWorld); got != want {
		t.Fatalf("Run(%q): got world %s\nwant %s", texts, got, want)
	}
	return !slices.IsSortedFunc(wantAnswers, func(a, b Answer) int { return a.Call - b.Call })
}

// TestToolsThatDeclareNothing compares batches of hostile tools, of code with several of their
// calls and of the built-in tools with all their orders.
func TestToolsThatDeclareNothing(t *testing.T) { toolsThatDeclareNothing(t, fewBatches/4) }

func TestLongToolsThatDeclareNothing(t *testing.T) { toolsThatDeclareNothing(t, manyBatches/4) }

func toolsThatDeclareNothing(t *testing.T, batches int) {
	t.Helper()
	env, random := hostile(t), rand.New(rand.NewPCG(5, 6))
	frame := &session.Frame{Zone: time.UTC, Services: recorded(t)}
	drawing := session.NewWorld(frame, 0)
	ids := []string{"a", "b", drawing.NewID(), drawing.NewID()}
	own := []string{}
	for _, declared := range hostileTools() {
		own = append(own, declared.Name+"()")
	}
	code := []string{
		"peek()\nswitch()", "try_ = 1\nswitch()\nadd_odd()", "if get_wifi_status(): half()\nelse: reverse()",
		"for c in search_contacts(name='Bob'): remove_contact(c['person_id'])", "x = add_contact('Bob', '+14085551111')\npeek()",
		"rob_to_bob()\ndrop_number()\nfirst_is_bob()",
	}
	pools := append(pools(ids), own, slices.Concat(own, code), slices.Concat(own, own, pools(ids)[4]))
	compared, later := 0, 0
	for round := range batches {
		pool := pools[5+round%3]
		base := collidingWorld(random, frame, ids)
		texts, calls := batch(random, env, pool, base)
		if len(calls) < 2 {
			continue
		}
		compared++
		if compareOrders(t, env, base, texts) {
			later++
		}
	}
	t.Logf("%d batches: %d fail in a later order", compared, later)
	if compared < batches*9/10 || later < compared/20 {
		t.Errorf("%d of %d batches fail in an order that is not the given one: too few", later, compared)
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// generated returns a call of a tool with random arguments, mostly of the right types, that name
// ids and texts of colliding worlds.
func generated(random *rand.Rand, ids []string, called *tool.Tool) string {
	dict := &python.Dict{}
	for _, param := range called.Params {
		if param.Optional && random.IntN(2) > 0 {
			continue
		}
		var value python.Value
		switch {
		case random.IntN(20) == 0:
			value = pick(random, python.None(), python.Int(7), python.Str("?"), python.Bool(true))
		case strings.HasSuffix(param.Name, "_id"):
			value = python.Str(pick(random, ids...))
		case strings.Contains(param.Name, "phone_number"):
			value = python.Str(pick(random, "+14085550000", "+14085551111"))
		case strings.HasSuffix(param.Name, "_code"):
			value = python.Str(pick(random, "USD", "CHF"))
		case strings.HasSuffix(param.Name, "_unit"):
			value = python.Str(pick(random, "inch", "meter"))
		case strings.Contains(param.Name, "timestamp"):
			value = python.Float(1716399000)
		case param.Type.Schema == "boolean":
			value = python.Bool(random.IntN(2) > 0)
		case param.Type.Schema == "string":
			value = python.Str(pick(random, "Bob", "tea", "Christmas", "Apple"))
		default:
			value = python.Int(int64(1 + random.IntN(3)))
		}
		dict.Set(param.Name, value)
	}
	return sandbox.ComposeSource("call_1", called.Name, python.Repr(dict.Value()))
}

// TestGeneratedBatches compares batches of calls of all tools with generated arguments with all
// their orders.
func TestGeneratedBatches(t *testing.T) { generatedBatches(t, fewBatches) }

func TestLongGeneratedBatches(t *testing.T) { generatedBatches(t, manyBatches) }

func generatedBatches(t *testing.T, batches int) {
	t.Helper()
	t.Run("built-in", func(t *testing.T) { compareGenerated(t, hostile(t), batches/4) })
	t.Run("in Python", func(t *testing.T) { compareGenerated(t, inPython(t), batches/20) })
}

// inPython returns an environment in which the tools of four modules are written in Python.
func inPython(tb testing.TB) *Environment {
	tb.Helper()
	var modules []*setupv1.ToolModule
	for _, name := range []string{"contact", "messaging", "reminder", "setting"} {
		source, err := os.ReadFile(filepath.Join("..", "..", "testdata", "rewritten", name+".py"))
		if err != nil {
			tb.Fatal(err)
		}
		modules = append(modules, &setupv1.ToolModule{Name: name, Source: string(source)})
	}
	others := slices.DeleteFunc(slices.Clone(tool.Builtin().All()), func(t *tool.Tool) bool {
		return slices.ContainsFunc(modules, func(m *setupv1.ToolModule) bool { return m.GetName() == t.Module })
	})
	catalogue, err := tool.New(others).Extend(tool.Pack{Modules: modules, Schema: world.Builtin()})
	if err != nil {
		tb.Fatal(err)
	}
	selection, err := catalogue.Select(&setupv1.ToolSelection{})
	if err != nil {
		tb.Fatal(err)
	}
	return New(catalogue, selection)
}

func compareGenerated(t *testing.T, env *Environment, batches int) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	frame := &session.Frame{Zone: time.UTC, Services: recorded(t)}
	drawing := session.NewWorld(frame, 0)
	ids := []string{"a", "b", drawing.NewID(), drawing.NewID()}
	var writing []*tool.Tool
	for _, declared := range tool.Builtin().All() {
		if !declared.ReadOnly {
			writing = append(writing, declared)
		}
	}
	all, compared, later := env.catalogue.All(), 0, 0
	for range batches {
		var pool []string
		for range 12 {
			pool = append(pool, generated(random, ids, pick(random, all...)), generated(random, ids, pick(random, writing...)))
		}
		base := collidingWorld(random, frame, ids)
		texts, calls := batch(random, env, pool, base)
		if len(calls) < 2 {
			continue
		}
		compared++
		if compareOrders(t, env, base, texts) {
			later++
		}
	}
	t.Logf("%d batches: %d fail in a later order", compared, later)
	if compared < batches*9/10 || later < compared/20 {
		t.Errorf("%d of %d batches fail in an order that is not the given one: too few", later, compared)
	}
}
