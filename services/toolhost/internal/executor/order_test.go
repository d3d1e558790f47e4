package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"

	"github.com/google/go-cmp/cmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
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

// someWorld returns a world with settings and a few contacts. One of them is the phone's owner.
func someWorld() session.World {
	w := session.NewWorld(&session.Config{Zone: time.UTC}, 0)
	w.Load(world.Setting, session.Decode([]*worldv1.Row{worldtest.Setting(1, 2)}))
	contact := func(id, name string, self bool) *worldv1.Row {
		return worldtest.Contact(id, name, "+14085550000", self)
	}
	w.Load(world.Contact, session.Decode([]*worldv1.Row{contact("a", "Ann", true), contact("b", "Bob", false), contact("c", "Cid", false)}))
	return w
}

// row returns a row of a built-in table.
func row(table string, cells worldtest.Cells) session.Row {
	return session.Decode([]*worldv1.Row{worldtest.Row(table, cells)})[0]
}

// sources returns calls that conflict in many ways.
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

// allOrders runs every order, as the original does, and returns the outcome of the first that
// fails, otherwise of the given one. Orders share runs of common prefixes.
func allOrders(calls []call, base session.World) ([]Answer, session.World) {
	var given []Answer
	var givenWorld session.World
	used := make([]bool, len(calls))
	var visit func(before []Answer, world session.World, failed bool) ([]Answer, session.World, bool)
	visit = func(before []Answer, world session.World, failed bool) ([]Answer, session.World, bool) {
		if len(before) == len(calls) {
			if given == nil {
				given, givenWorld = before, world
			}
			return before, world, failed
		}
		for i := range calls {
			if used[i] {
				continue
			}
			used[i] = true
			after := world
			answer := calls[i].run(context.Background(), &after)
			answer.Call = i
			answers, last, fails := visit(append(slices.Clip(before), answer), after, failed || answer.Exception != "")
			used[i] = false
			if fails {
				return answers, last, true
			}
		}
		return nil, session.World{}, false
	}
	if answers, world, fails := visit(nil, base, false); fails {
		return answers, world
	}
	return given, givenWorld
}

// worldText returns all visible state of a world as text.
func worldText(w session.World) string {
	text := fmt.Sprint(w.IDCount(), w.Active())
	for _, table := range w.Tables() {
		name := table.Name
		later := w
		later.EndExecution()
		later.Remove(name, session.Where{Value: python.Str("of no row")}) // writes a table that ever had a row
		text += fmt.Sprint("|", w.Written(name), later.Written(name), session.Encode(name, 0, w.Rows(name)))
	}
	return text
}

// callPools returns conflicting calls by topic. Together they contain all tools.
func callPools(ids []string) [][]string {
	contacts := []string{
		"add_contact('Dan', '+14085551111')", "add_contact('Eve', '+14085552222', is_self=True)", "add_contact('Fay', 'no number')",
		"search_contacts(name='bob')", "print(search_contacts(is_self=True)[0]['name'])", "send_message_with_phone_number('+14085550000', 'hi')",
		"send_message_with_phone_number('+14085552222', 'ho')", "search_messages(content='hi')",
	}
	reminders := []string{
		"add_reminder('tea', 1716399000)", "add_reminder('milk', 1716399001, 1.0, 2.0)", "search_reminder(content='tea')",
		"print(search_reminder(content='tea')[1])",
	}
	for _, id := range ids {
		contacts = append(contacts,
			"remove_contact('"+id+"')", "modify_contact('"+id+"', name='Bill')",
			"modify_contact('"+id+"', is_self=True)", "modify_contact('"+id+"', is_self=False, phone_number='+14085552222')")
		reminders = append(reminders, "remove_reminder('"+id+"')", "modify_reminder('"+id+"', content='jam')")
	}
	settings := []string{
		"set_wifi_status(False)", "set_wifi_status(True)", "set_cellular_service_status(False)", "set_cellular_service_status(True)",
		"set_location_service_status(False)", "set_location_service_status(True)", "set_location_service_status('yes')",
		"set_low_battery_mode_status(True)", "set_low_battery_mode_status(False)", "get_low_battery_mode_status()", "get_wifi_status()",
		"get_cellular_service_status()", "get_location_service_status()", "get_current_location()", "search_holiday('Christmas', 2024)",
		"search_stock('Apple')", "convert_currency(1, 'USD', 'CHF')", "search_lat_lon(37.3, -122.0)", "search_weather_around_lat_lon()",
		"search_location_around_lat_lon('bakery', 1.0, 2.0)", "send_message_with_phone_number('+14085550000', 'hi')", "end_conversation()",
	}
	others := []string{
		"end_conversation()", "get_current_timestamp()", "timestamp_to_datetime_info(1716399000)", "unit_conversion(1, 'inch', 'meter')",
		"datetime_info_to_timestamp(2024, 5, 22, 10, 30, 0)", "shift_timestamp(1716399000, days=1)", "timestamp_diff(1716399000, 1716399001)",
		"seconds_to_hours_minutes_seconds(60)", "calculate_lat_lon_distance(1, 2, 3, 4)", "get_wifi_status()", "nothing()",
		"unit_conversion(1, 'inch', 'hour')", "on = get_wifi_status()\nset_wifi_status(not on)", "x = 1\nremove_contact('a')\nadd_contact('Hal', '+14085551111')", "add_contact('Gil', '+14085551111')", "add_reminder('bread', 1716399000)",
	}
	return [][]string{contacts, reminders, settings, slices.Concat(contacts, reminders), slices.Concat(contacts, reminders, settings, others)}
}

// recorded returns answers to the requests of the calls in callPools.
func recorded(t *testing.T) service.Backend {
	t.Helper()
	backend, err := service.NewRecorded([]*setupv1.RecordedAnswer{
		{Url: service.StocksURL, ParamsJson: `{"query": "Apple"}`, ResponseJson: `{"data": {"stock": [{"symbol": "AAPL:NASDAQ"}]}}`},
		{Url: service.CurrencyURL, ParamsJson: `{"from": "USD", "to": "CHF", "amount": 1}`, ResponseJson: `{"result": {"convertedAmount": 0.9}}`},
		{Url: service.GeocodingURL, ParamsJson: `{"location": "37.3,-122.0", "language": "en"}`, ResponseJson: `{"results": [{"address": "1 Road"}]}`},
		{Url: service.WeatherURL, ParamsJson: `{"q": "37.3, -122.0", "days": 1}`, ResponseJson: `{}`},
		{
			Url:          service.PlacesURL,
			ParamsJson:   `{"query": "bakery", "lat": 1.0, "lng": 2.0, "limit": 4, "country": "us", "lang": "en"}`,
			ResponseJson: `{"data": [{"name": "Crumb"}]}`,
		},
	})
	if err != nil {
		t.Fatalf("recorded services: %v", err)
	}
	return backend
}

// collidingWorld returns a world with a few rows, a random history and random settings.
func collidingWorld(random *rand.Rand, cfg *session.Config, ids []string) session.World {
	w := session.NewWorld(cfg, 1716399000)
	w.SetActive(random.IntN(4) > 0)
	w.SetIDCount(int64(random.IntN(2)))
	flag := func(odds int) *worldv1.Value { return world.Bool(random.IntN(odds) == 0) }
	if random.IntN(10) > 0 {
		cells := worldtest.Cells{
			"device_id": world.Text("device"), "low_battery_mode": flag(4), "latitude": world.Number(37.3), "longitude": world.Number(-122),
		}
		services := []string{"cellular", "wifi", "location_service"}
		for _, service := range services {
			cells[service] = world.Bool(random.IntN(4) > 0)
		}
		if random.IntN(10) == 0 {
			cells[pick(random, append(services, "low_battery_mode")...)] = world.Null()
		}
		w.Load(world.Setting, []session.Row{row(world.Setting, cells)})
	}
	load := func(name string, row func(id string) session.Row) {
		if random.IntN(4) == 0 {
			w.Load(name, nil)
			w.AddHistory(name, random.IntN(2) == 0, false)
		}
		var rows []session.Row
		for _, id := range ids {
			for range []int{0, 1, 1, 1, 1, 2}[random.IntN(6)] {
				rows = append(rows, row(id))
			}
			if random.IntN(3) == 0 {
				break
			}
		}
		w.Load(name, rows)
		w.AddHistory(name, random.IntN(2) == 0, false)
	}
	self := 2 + random.IntN(4)
	load(world.Contact, func(id string) session.Row {
		return row(world.Contact, worldtest.Cells{
			"person_id": world.Text(id), "name": world.Text("Bob"), "phone_number": world.Text("+14085550000"), "is_self": flag(self),
		})
	})
	load(world.Reminder, func(id string) session.Row {
		return row(world.Reminder, worldtest.Cells{
			"reminder_id": world.Text(id), "content": world.Text("tea"), "creation_timestamp": world.Number(1716399000), "reminder_timestamp": world.Number(1716399000),
		})
	})
	return w
}

// batch returns two to six calls of a pool. Most batches do not raise in the given order.
func batch(random *rand.Rand, env *Environment, pool []string, world session.World) (texts []string, calls []call) {
	for range 2 + min(random.IntN(5), random.IntN(5)) {
		for range 8 {
			text := pool[random.IntN(len(pool))]
			c, after := env.resolveSource(text), world
			if c.run(context.Background(), &after).Exception != "" && random.IntN(60) > 0 {
				continue
			}
			texts, calls, world = append(texts, text), append(calls, c), after
			break
		}
	}
	return texts, calls
}

// These are numbers of random batches to compare. The few are the first of the many.
const (
	fewBatches  = 300
	manyBatches = 3_000
)

func TestFirstFailingEqualsAllOrders(t *testing.T) { equalsAllOrders(t, fewBatches) }

func TestLongFirstFailingEqualsAllOrders(t *testing.T) { equalsAllOrders(t, manyBatches) }

func equalsAllOrders(t *testing.T, batches int) {
	t.Helper()
	env, random := environment(t), rand.New(rand.NewPCG(1, 2))
	cfg := &session.Config{Zone: time.UTC, Services: recorded(t)}
	drawing := session.NewWorld(cfg, 0)
	ids := []string{"a", "b", drawing.NewID(), drawing.NewID()}
	all := callPools(ids)
	compared, givenFails, laterFails := 0, 0, 0
	for round := range batches {
		pool := all[round%len(all)]
		base := collidingWorld(random, cfg, ids)
		texts, calls := batch(random, env, pool, base)
		if len(calls) < 2 {
			continue
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
		compared++
		inOrder := slices.IsSortedFunc(wantAnswers, func(a, b Answer) int { return a.Call - b.Call })
		failed := slices.ContainsFunc(wantAnswers, func(a Answer) bool { return a.Exception != "" })
		if failed && inOrder {
			givenFails++
		} else if failed {
			laterFails++
		}
	}
	t.Logf("%d batches: %d fail in the given order, %d in a later one", compared, givenFails, laterFails)
	if compared < batches*9/10 || laterFails < compared/10 {
		t.Errorf("%d of %d batches fail in an order that is not the given one: too few", laterFails, compared)
	}
}

func repeated(n int, source string) []string { return slices.Repeat([]string{source}, n) }

// numbered returns n calls that differ in a number.
func numbered(n int, format string) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return texts
}

func TestFirstFailingBounds(t *testing.T) {
	env := environment(t)
	const read, write, program = "search_contacts(name='bob')", "add_contact('Dan', '+14085551111')", "x = 1\nadd_contact('Dan %d', '+14085551111')"
	const send, modify = "send_message_with_phone_number('+14085551111', 'hi')", "modify_contact('a', 'Name %d', is_self=True)"
	tests := []struct {
		name    string
		sources []string
		want    error
	}{
		{"64 reads", repeated(64, read), nil},
		{"65 reads", repeated(65, read), ErrTooManyOrders},
		{"60 reads and 4 writes", append(repeated(60, read), repeated(4, write)...), nil},
		{"64 writes", repeated(64, write), nil},
		{"32 writes of each of two tables", append(repeated(32, write), numbered(32, "add_reminder('tea %d', 1716399000)")...), nil},
		{"40 changes of the owner that change nothing", append(repeated(40, "modify_contact('a', is_self=True)"), repeated(20, send)...), nil},
		{"20 different changes of the owner", append(numbered(20, modify), send), ErrTooManyOrders},
		{"6 programs that write", numbered(6, program), nil},
		{"20 programs that write", numbered(20, program), nil},
		{"20 programs that read what they write", numbered(20, "search_contacts(name='Dan')\nadd_contact('Dan %d', '+14085551111')"), ErrTooManyOrders},
		{"20 programs that read what they write, the first raises", append([]string{"nothing()"}, numbered(20, "search_contacts(name='Dan')\nadd_contact('Dan %d', '+14085551111')")...), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(test.sources...), agent)
			if !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			if err == nil && len(answers) != len(test.sources) {
				t.Errorf("got %d answers, want %d", len(answers), len(test.sources))
			}
		})
	}
}

type benchmark struct {
	name    string
	sources []string
}

func benchmarks() []benchmark {
	args := python.DictOf(python.Item{Key: "name", Value: python.Str("bob")})
	one := messagetext.ComposeSource("call_1", "search_contacts", python.Repr(args))
	return []benchmark{
		{"one", []string{one}},
		{"two reads", []string{one, "get_wifi_status()"}},
		{"two writes", []string{"set_wifi_status(False)", "add_contact('Dan', '+14085551111')"}},
		{"8 add_contact", numbered(8, "add_contact('A %d', '+14085551111')")},
		{"8 add_reminder", numbered(8, "add_reminder('tea %d', 1716399000)")},
		{"8 add and send", append(numbered(4, "add_contact('A %d', '+14085551111')"), numbered(4, "send_message_with_phone_number('+14085551111', 'hi %d')")...)},
		{"8 setters and getters", []string{
			"set_wifi_status(False)", "set_cellular_service_status(False)", "set_location_service_status(False)", "get_wifi_status()",
			"get_cellular_service_status()", "get_location_service_status()", "get_low_battery_mode_status()", "end_conversation()",
		}},
		{"7 add_contact and a search", append(numbered(7, "add_contact('A %d', '+14085551111')"), "search_contacts(name='A')")},
		{"8 modify of one contact", numbered(8, "modify_contact('b', name='Name %d')")},
		{"4 changes of the owner and 4 sends", append(numbered(4, "modify_contact('a', name='Name %d')"), numbered(4, "send_message_with_phone_number('+14085551111', 'hi %d')")...)},
		{"6 changes of the owner's number and a send", append(numbered(6, "modify_contact('a', phone_number='+1408555111%d', is_self=True)"), "send_message_with_phone_number('+14085551111', 'hi')")},
		{"20 remove", numbered(20, "remove_contact('id%d')")},
		{"20 remove and send", append(numbered(20, "remove_contact('id%d')"), "send_message_with_phone_number('+14085551111', 'hi')")},
		{"64 reads", repeated(64, one)},
		{"64 add_contact", numbered(64, "add_contact('A %d', '+14085551111')")},
		{"5 dependent", []string{
			"set_wifi_status(False)", "set_wifi_status(True)", "search_stock('Apple')", "search_location_around_lat_lon('bakery')", "search_holiday('Christmas')",
		}},
		{"5 dependent, last order", []string{
			"search_stock('Apple')", "search_location_around_lat_lon('bakery')", "search_weather_around_lat_lon()", "search_holiday('Christmas')", "set_wifi_status(False)",
		}},
		{"5 programs", numbered(5, "x = 1\nadd_contact('A %d', '+14085551111')")},
	}
}

func BenchmarkRun(b *testing.B) {
	backend, err := service.NewOffline(1716399000)
	if err != nil {
		b.Fatalf("offline services: %v", err)
	}
	env, world := environment(b), someWorld()
	world.Config().Services = backend
	contacts := slices.Clone(world.Rows("CONTACT"))
	for i := range 40 {
		contacts = append(contacts, session.Decode([]*worldv1.Row{worldtest.Contact(fmt.Sprint("id", i), "Gus", "+14085550000", false)})...)
	}
	world.Load("CONTACT", contacts)
	for _, bench := range benchmarks() {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := env.Run(b.Context(), world, sourceMessages(bench.sources...), agent); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
