package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

const (
	contacts  = world.Contact
	reminders = world.Reminder
	settings  = world.Setting
)

var errRaised = errors.New("RuntimeError: raised")

// raiseIf returns an exception if a condition holds.
func raiseIf(holds bool) error {
	if holds {
		return errRaised
	}
	return nil
}

func named(name string) session.Where { return session.Where{Column: 1, Value: python.Str(name)} }

func reminder(id, content string) session.Row {
	return row(world.Reminder, worldtest.Cells{
		"reminder_id": world.Text(id), "content": world.Text(content), "creation_timestamp": world.Number(0), "reminder_timestamp": world.Number(0),
	})
}

// reminderOf returns a reminder with the first cell of the first row, null without rows.
func reminderOf(id string, rows []session.Row) session.Row {
	row := reminder(id, "")
	row[1] = python.None()
	if len(rows) > 0 {
		row[1] = rows[0][0]
	}
	return row
}

// undeclaredTool returns a tool without declared effects or parameters.
func undeclaredTool(name string, act func(w *session.World) error) *tool.Tool {
	return &tool.Tool{Name: name, Module: "hostile", Run: func(_ context.Context, w *session.World, _ tool.Args) (python.Value, error) {
		return python.None(), act(w)
	}}
}

// isOn reports whether a setting is on.
func isOn(w *session.World, column int) bool {
	rows := w.Find(settings, session.All(), column)
	return len(rows) > 0 && rows[0][0].Equal(python.Bool(true))
}

// orderSensitiveTools are tools that make the order of calls hard to analyse. They declare nothing.
func orderSensitiveTools() []*tool.Tool {
	return append(orderSensitiveContacts(), orderSensitiveReminders()...)
}

// orderSensitiveContacts are those that read and change rows that exist.
func orderSensitiveContacts() []*tool.Tool {
	return []*tool.Tool{
		undeclaredTool("reverse", func(w *session.World) error { // reads and writes a whole table
			rows := slices.Clone(w.Rows(contacts))
			slices.Reverse(rows)
			w.Write(contacts, rows)
			return nil
		}),
		undeclaredTool("first_is_bob", func(w *session.World) error {
			rows := w.Rows(contacts)
			return raiseIf(len(rows) > 0 && !rows[0][1].Equal(python.Str("Bob")))
		}),
		undeclaredTool("peek", func(w *session.World) error { // its reads depend on earlier reads
			if isOn(w, 2) {
				return raiseIf(w.Count(reminders, named("tea")) == 1)
			}
			return raiseIf(w.Count(contacts, named("Bob")) == 2)
		}),
		undeclaredTool("switch", func(w *session.World) error { // its writes depend on its reads
			if isOn(w, 1) {
				w.Append(reminders, reminder("x", "tea"))
				return nil
			}
			w.Update(contacts, named("Bob"), session.Change{Column: 1, Value: python.Str("Rob")})
			return nil
		}),
		undeclaredTool("rob_to_bob", func(w *session.World) error { // selects rows by columns that others change
			w.Update(contacts, named("Rob"), session.Change{Column: 1, Value: python.Str("Bob")}, session.Change{Column: 2, Value: python.Str("1")})
			return nil
		}),
		undeclaredTool("number_0_is_bob", func(w *session.World) error {
			w.Update(contacts, session.Where{Column: 2, Value: python.Str("+14085550000")}, session.Change{Column: 1, Value: python.Str("Bob")})
			return nil
		}),
		undeclaredTool("some_are_ann", func(w *session.World) error {
			w.Update(contacts, session.Where{Column: 4, Value: python.Bool(true)}, session.Change{Column: 1, Value: python.Str("Ann")}, session.Change{Column: 2, Value: python.Str("2")})
			return nil
		}),
		undeclaredTool("two_anns", func(w *session.World) error { return raiseIf(w.Count(contacts, named("Ann")) == 2) }),
		undeclaredTool("drop_number", func(w *session.World) error {
			w.Remove(contacts, session.Where{Column: 2, Value: python.Str("1")})
			return nil
		}),
	}
}

// orderSensitiveReminders are those that add rows, draw ids or end the conversation.
func orderSensitiveReminders() []*tool.Tool {
	return []*tool.Tool{
		undeclaredTool("half", func(w *session.World) error { // raises after a write
			w.Append(reminders, reminder("half", "tea"))
			return raiseIf(!isOn(w, 1))
		}),
		undeclaredTool("add_odd", func(w *session.World) error { // depends on an id
			_, id := w.NewID(), w.NewID()
			w.Append(reminders, reminder(id, "odd"))
			return raiseIf(strings.ContainsAny(id[:1], "9abc"))
		}),
		undeclaredTool("add_some", func(w *session.World) error { // the number of ids depends on rows
			for range w.Count(contacts, named("Bob")) {
				w.Append(reminders, reminder(w.NewID(), "some"))
			}
			return nil
		}),
		undeclaredTool("rationed", func(w *session.World) error { return raiseIf(w.IDCount() > 3) }),
		undeclaredTool("drop_tea", func(w *session.World) error { // ignores a missing row
			w.Remove(reminders, named("tea"))
			return nil
		}),
		undeclaredTool("remind_of_first", func(w *session.World) error { // copies a cell of another table
			w.Append(reminders, reminderOf("y", w.Find(contacts, session.All(), 0)))
			return nil
		}),
		undeclaredTool("reminded_of_a", func(w *session.World) error { return raiseIf(w.Count(reminders, named("a")) == 1) }),
		undeclaredTool("own_copy", func(w *session.World) error { // reads its own write
			w.Append(reminders, reminderOf("z", w.Find(contacts, named("Bob"), 0)))
			return raiseIf(w.Count(reminders, named("b")) > 1)
		}),
		undeclaredTool("end_twice", func(w *session.World) error {
			w.SetActive(!w.Active())
			return nil
		}),
	}
}

// orderSensitiveEnvironment returns an environment with all tools, including those that declare
// nothing.
func orderSensitiveEnvironment(tb testing.TB) *Environment {
	tb.Helper()
	catalogue := tool.New(append(tool.Builtin().All(), orderSensitiveTools()...))
	selection, err := catalogue.Select(&setupv1.ToolSelection{})
	if err != nil {
		tb.Fatalf("select tools: %v", err)
	}
	return New(catalogue, selection)
}

// compareOrders compares the outcome of a batch with that of all orders. later reports whether the
// batch fails in an order after the given one.
func compareOrders(t *testing.T, env *Environment, base session.World, texts []string) (later bool) {
	t.Helper()
	calls := make([]call, len(texts))
	for i := range texts {
		calls[i] = env.resolveSource(texts[i])
	}
	wantAnswers, wantWorld := allOrders(calls, base)
	gotAnswers, gotWorld, err := env.Run(t.Context(), base, sourceMessages(texts...), agent)
	if err != nil {
		t.Fatalf("Run(%q): %v", texts, err)
	}
	if diff := cmp.Diff(wantAnswers, gotAnswers, protocmp.Transform()); diff != "" {
		t.Fatalf("Run(%q) in %s: answers (-all orders +got):\n%s", texts, worldText(base), diff)
	}
	if got, want := worldText(gotWorld), worldText(wantWorld); got != want {
		t.Fatalf("Run(%q): got world %s\nwant %s", texts, got, want)
	}
	return !slices.IsSortedFunc(wantAnswers, func(a, b Answer) int { return a.Call - b.Call })
}

// TestOrderSensitiveTools compares batches of orderSensitiveTools, of code that calls several of
// them and of built-in tools with all their orders.
func TestOrderSensitiveTools(t *testing.T) { orderSensitiveBatches(t, fewBatches/4) }

func TestLongOrderSensitiveTools(t *testing.T) { orderSensitiveBatches(t, manyBatches/4) }

func orderSensitiveBatches(t *testing.T, batches int) {
	t.Helper()
	env, random := orderSensitiveEnvironment(t), rand.New(rand.NewPCG(5, 6))
	cfg := &session.Config{Zone: time.UTC, Services: recorded(t)}
	drawing := session.NewWorld(cfg, 0)
	ids := []string{"a", "b", drawing.NewID(), drawing.NewID()}
	own := []string{}
	for _, declared := range orderSensitiveTools() {
		own = append(own, declared.Name+"()")
	}
	code := []string{
		"peek()\nswitch()", "try_ = 1\nswitch()\nadd_odd()", "if get_wifi_status(): half()\nelse: reverse()",
		"for c in search_contacts(name='Bob'): remove_contact(c['person_id'])", "x = add_contact('Bob', '+14085551111')\npeek()",
		"rob_to_bob()\ndrop_number()\nfirst_is_bob()",
	}
	pools := append(callPools(ids), own, slices.Concat(own, code), slices.Concat(own, own, callPools(ids)[4]))
	compared, later := 0, 0
	for round := range batches {
		pool := pools[5+round%3]
		base := collidingWorld(random, cfg, ids)
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

// generatedCall returns a call of a tool with random arguments, mostly of valid types, that use ids
// and texts of collidingWorld.
func generatedCall(random *rand.Rand, ids []string, called *tool.Tool) string {
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
		case strings.Contains(param.Type.Annotation, "bool"):
			value = python.Bool(random.IntN(2) > 0)
		case strings.Contains(param.Type.Annotation, "str"):
			value = python.Str(pick(random, "Bob", "tea", "Christmas", "Apple"))
		default:
			value = python.Int(int64(1 + random.IntN(3)))
		}
		dict.Set(param.Name, value)
	}
	return messagetext.ComposeSource("call_1", called.Name, python.Repr(dict.Value()))
}

// TestGeneratedBatches compares batches of generated calls of all tools with all their orders.
func TestGeneratedBatches(t *testing.T) {
	compareGenerated(t, orderSensitiveEnvironment(t), fewBatches/4)
}

func TestLongGeneratedBatches(t *testing.T) {
	compareGenerated(t, orderSensitiveEnvironment(t), manyBatches/4)
}

func compareGenerated(t *testing.T, env *Environment, batches int) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	cfg := &session.Config{Zone: time.UTC, Services: recorded(t)}
	drawing := session.NewWorld(cfg, 0)
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
			pool = append(pool, generatedCall(random, ids, pick(random, all...)), generatedCall(random, ids, pick(random, writing...)))
		}
		base := collidingWorld(random, cfg, ids)
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
