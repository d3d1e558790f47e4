package euroeval

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
)

// completeLanguages are the languages that must have all categories and enough records.
var completeLanguages = []string{"en", "nl", "da", "pl", "fi", "de", "fr", "es", "it"}

const (
	englishRecords = 300 // at least
	otherRecords   = 60  // at least, in each other language
	// maxSharedFunction is the number of records of a language that may use the same function.
	maxSharedFunction = 3
)

// builtinTask is a record of the built-in data set, decoded for both graders.
type builtinTask struct {
	Record
	functions, answers python.Value
	calls              []builtinCall
}

// builtinCall is an expected call.
type builtinCall struct {
	name      string
	arguments []python.Item // the first accepted values
	options   *python.Dict
	schema    python.Value // parameters of the function; None if no function has the name
}

func builtinTasks(t *testing.T) []builtinTask {
	t.Helper()
	sets, err := Load(os.DirFS("../../packs/euroeval"), "euroeval", "")
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for _, set := range sets {
		records = append(records, set.Records...)
	}
	var tasks []builtinTask
	for _, record := range records {
		task := builtinTask{
			Record: record, functions: parse(t, record.Function), answers: parse(t, record.TargetText),
		}
		answers, _ := task.answers.AsList()
		for _, answer := range answers {
			expected, err := expectedCall(answer)
			if err != nil {
				t.Fatalf("%s: %v", record.ID, err)
			}
			options, _ := expected.Value.AsDict()
			call := builtinCall{name: expected.Key, options: options}
			call.schema = descriptionOf(task.functions, expected.Key).Field("parameters")
			for _, option := range options.Items() {
				accepted, _ := option.Value.AsList()
				call.arguments = append(call.arguments, python.Item{Key: option.Key, Value: accepted[0]})
			}
			task.calls = append(task.calls, call)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// prediction formats calls as a model is asked to.
func prediction(calls []builtinCall) string {
	list := make([]python.Value, 0, len(calls))
	for _, call := range calls {
		list = append(list, python.DictOf(
			python.Item{Key: "function", Value: python.Str(call.name)},
			python.Item{Key: "arguments", Value: python.DictOf(call.arguments...)},
		))
	}
	return python.JSON(python.DictOf(python.Item{Key: "tool_calls", Value: python.List(list...)}))
}

// changed returns a copy of the calls in which change edits the one at place.
func changed(calls []builtinCall, place int, change func(call *builtinCall)) []builtinCall {
	calls = slices.Clone(calls)
	calls[place].arguments = slices.Clone(calls[place].arguments)
	change(&calls[place])
	return calls
}

func (c *builtinCall) requires(argument string) bool {
	names, _ := c.schema.Field("required").AsList()
	return slices.ContainsFunc(names, python.Str(argument).Equal)
}

// isCompared reports whether the euroeval grader compares an argument of the call at place. The
// description at that place decides.
func (b *builtinTask) isCompared(place int, argument string) bool {
	functions, _ := b.functions.AsList()
	if place >= len(functions) {
		return false
	}
	required, err := requiredNames(functions[place])
	names, _ := required.AsList()
	return err == nil && (len(names) == 0 || slices.ContainsFunc(names, python.Str(argument).Equal))
}

// checkVerdicts grades a prediction with both graders and reports unexpected verdicts.
func (b *builtinTask) checkVerdicts(t *testing.T, what, text string, euroeval, strict bool) {
	t.Helper()
	verdict, err := Grade(b.functions, b.answers, text)
	if err != nil {
		t.Errorf("%s: %s: euroeval raises %v", b.ID, what, err)
	}
	if verdict.Correct != euroeval {
		t.Errorf("%s: %s: euroeval: got %v (%s), want %v, of %s", b.ID, what, verdict.Correct, verdict.Detail, euroeval, text)
	}
	if verdict := GradeStrict(b.functions, b.answers, text); verdict.Correct != strict {
		t.Errorf("%s: %s: bfcl-strict: got %v (%s), want %v, of %s", b.ID, what, verdict.Correct, verdict.Detail, strict, text)
	}
}

// TestBuiltinAnswersPass grades calls built from the possible answers: the first accepted values,
// the same without optional arguments, and each accepted value by itself.
func TestBuiltinAnswersPass(t *testing.T) {
	t.Parallel()
	for _, task := range builtinTasks(t) {
		task.checkVerdicts(t, "first answer", prediction(task.calls), true, true)
		short := task.calls
		for i, call := range task.calls {
			short = changed(short, i, func(c *builtinCall) {
				c.arguments = slices.DeleteFunc(c.arguments, func(argument python.Item) bool {
					options, _ := c.options.Get(argument.Key)
					return optional(options)
				})
			})
			for j, argument := range call.arguments {
				options, _ := call.options.Get(argument.Key)
				accepted, _ := options.AsList()
				for _, value := range accepted {
					if value.Equal(python.Str("")) {
						continue
					}
					one := changed(task.calls, i, func(c *builtinCall) { c.arguments[j].Value = value })
					task.checkVerdicts(t, fmt.Sprintf("%s = %s", argument.Key, python.JSON(value)), prediction(one), true, true)
				}
			}
		}
		task.checkVerdicts(t, "answer without optional arguments", prediction(short), true, true)
	}
}

// TestBuiltinMutantsFail changes the first answer of each record. The strict grader fails every
// mutant. The euroeval grader fails every mutant whose change it checks.
func TestBuiltinMutantsFail(t *testing.T) {
	t.Parallel()
	for _, task := range builtinTasks(t) {
		functions, _ := task.functions.AsList()
		task.checkVerdicts(t, "prose", "I would call the function now.", false, false)
		if task.Category == CategoryIrrelevance {
			first, _ := functions[0].AsDict()
			name, _ := first.Get("name")
			invented := []builtinCall{{name: python.Text(name)}}
			task.checkVerdicts(t, "invented call", prediction(invented), false, false)
			continue
		}
		task.checkVerdicts(t, "no call", prediction(nil), false, false)
		task.checkVerdicts(t, "answer in prose", "Sure: "+prediction(task.calls), false, false)
		for i, call := range task.calls {
			unseen := i >= len(functions) // the euroeval grader has no description for this call
			renamed := changed(task.calls, i, func(c *builtinCall) { c.name += "_now" })
			task.checkVerdicts(t, "wrong function", prediction(renamed), unseen, false)
			task.checkVerdicts(t, "dropped call", prediction(slices.Delete(slices.Clone(task.calls), i, i+1)), false, false)
			task.checkVerdicts(t, "doubled call", prediction(slices.Insert(slices.Clone(task.calls), i, call)), false, false)
			for j, argument := range call.arguments {
				task.checkArgument(t, i, j, argument)
			}
		}
	}
}

// checkArgument omits one argument of a call and replaces it by wrong values of its type.
func (b *builtinTask) checkArgument(t *testing.T, place, index int, argument python.Item) {
	t.Helper()
	call, unseen := b.calls[place], !b.isCompared(place, argument.Key)
	functions, _ := b.functions.AsList()
	if unseen && call.requires(argument.Key) && place < len(functions) {
		t.Errorf("%s: the euroeval grader does not compare the required argument %s of call %d: function %d does not require it",
			b.ID, argument.Key, place+1, place+1)
	}
	options, _ := call.options.Get(argument.Key)
	accepted, _ := options.AsList()
	if !optional(options) {
		without := changed(b.calls, place, func(c *builtinCall) { c.arguments = slices.Delete(c.arguments, index, index+1) })
		b.checkVerdicts(t, "without "+argument.Key, prediction(without), unseen, false)
	}
	values := wrongValues(argument.Value, accepted)
	if len(values) == 0 {
		t.Errorf("%s: argument %s of call %d: every value of its type is accepted", b.ID, argument.Key, place+1)
	}
	for _, value := range values {
		mutant := changed(b.calls, place, func(c *builtinCall) { c.arguments[index].Value = value })
		b.checkVerdicts(t, fmt.Sprintf("%s = %s", argument.Key, python.JSON(value)), prediction(mutant), unseen, false)
	}
}

// wrongValues returns values of the same type that differ from every accepted value.
func wrongValues(v python.Value, accepted []python.Value) (values []python.Value) {
	switch v.Kind() {
	case python.KindStr:
		text, _ := v.AsStr()
		values = append(values, python.Str(text+" other"), python.Str("other"))
	case python.KindInt:
		number, _ := v.AsInt()
		values = append(values, python.Int(number+1), python.Int(number-1), python.Int(10*number+7))
	case python.KindFloat:
		number, _ := v.AsFloat()
		values = append(values, python.Float(number+0.5), python.Float(-number-1))
	case python.KindBool:
		truth, _ := v.AsBool()
		values = append(values, python.Bool(!truth))
	case python.KindList:
		items, _ := v.AsList()
		if len(items) == 0 {
			return nil
		}
		values = append(values, python.List(items[1:]...), python.List(append(slices.Clone(items), items[0])...))
		for _, other := range wrongValues(items[0], nil) {
			values = append(values, python.List(append([]python.Value{other}, items[1:]...)...))
		}
	case python.KindDict:
		values = append(values, python.DictOf())
		d, _ := v.AsDict()
		for i, item := range d.Items() {
			for _, other := range wrongValues(item.Value, nil) {
				items := slices.Clone(d.Items())
				items[i].Value = other
				values = append(values, python.DictOf(items...))
			}
		}
	}
	return slices.DeleteFunc(values, func(value python.Value) bool { return slices.ContainsFunc(accepted, value.Equal) })
}

// TestBuiltinShape checks that each record fits its category, and that the descriptions fit the
// expected calls.
func TestBuiltinShape(t *testing.T) {
	t.Parallel()
	for _, task := range builtinTasks(t) {
		functions, _ := task.functions.AsList()
		fits := map[Category]bool{
			CategorySimple:           len(functions) == 1 && len(task.calls) == 1,
			CategoryMultiple:         len(functions) > 1 && len(task.calls) == 1,
			CategoryParallel:         len(functions) == 1 && len(task.calls) > 1,
			CategoryParallelMultiple: len(functions) > 1 && len(task.calls) > 1,
			CategoryIrrelevance:      len(task.calls) == 0,
		}
		if !fits[task.Category] {
			t.Errorf("%s: %d functions and %d calls do not fit the category", task.ID, len(functions), len(task.calls))
		}
		if prefix := fmt.Sprintf("%s_%s_", task.Category, task.Language); !strings.HasPrefix(task.ID, prefix) {
			t.Errorf("%s: the id does not begin with %s", task.ID, prefix)
		}
		names := map[string]bool{}
		for _, function := range functions {
			name := function.Field("name")
			if names[python.Text(name)] {
				t.Errorf("%s: function %s is described twice", task.ID, python.Text(name))
			}
			names[python.Text(name)] = true
			checkDescription(t, task.ID, function)
		}
		for _, call := range task.calls {
			checkCall(t, task.ID, call)
		}
	}
}

var (
	plainName    = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)
	plainEnglish = regexp.MustCompile(`^[A-Z][ -~°€£²³–é]*\.?$`)
)

// checkDescription checks that the description of a function and its arguments is complete and in
// English.
func checkDescription(t *testing.T, id string, description python.Value) {
	t.Helper()
	name := description.Field("name")
	check := func(name string, described python.Value) {
		text := described.Field("description")
		if !plainName.MatchString(name) || !plainEnglish.MatchString(python.Text(text)) {
			t.Errorf("%s: want an English name and description, got %q: %q", id, name, python.Text(text))
		}
	}
	check(python.Text(name), description)
	parameters := description.Field("parameters")
	if kind := python.Text(parameters.Field("type")); kind != "dict" {
		t.Errorf("%s: parameters of %s: want type dict, got %q", id, python.Text(name), kind)
	}
	properties, _ := parameters.Field("properties").AsDict()
	names, isList := parameters.Field("required").AsList()
	if !isList {
		t.Errorf("%s: parameters of %s: want a list of required arguments", id, python.Text(name))
	}
	for _, argument := range names {
		if schema, _ := parameters.Field("properties").Field(python.Text(argument)).AsDict(); schema.Len() == 0 {
			t.Errorf("%s: %s requires %s, which it does not describe", id, python.Text(name), python.Text(argument))
		}
	}
	for _, property := range properties.Items() {
		check(property.Key, property.Value)
		kind, known := kindOf(property.Value)
		if !known {
			t.Errorf("%s: argument %s of %s has no known type", id, property.Key, python.Text(name))
		}
		if _, ok := kindOf(property.Value.Field("items")); kind == python.KindList && !ok {
			t.Errorf("%s: argument %s of %s does not declare the type of its items", id, property.Key, python.Text(name))
		}
	}
}

// checkCall checks an expected call against the description of its function.
func checkCall(t *testing.T, id string, call builtinCall) {
	t.Helper()
	if call.schema.IsNone() {
		t.Errorf("%s: no function is named %s", id, call.name)
		return
	}
	names, _ := call.schema.Field("required").AsList()
	for _, name := range names {
		if options, ok := call.options.Get(python.Text(name)); !ok || optional(options) {
			t.Errorf("%s: %s requires %s, the answer does not", id, call.name, python.Text(name))
		}
	}
	for _, option := range call.options.Items() {
		schema := call.schema.Field("properties").Field(option.Key)
		kind, _ := kindOf(schema)
		allowed := schema.Field("enum")
		choices, _ := allowed.AsList()
		accepted, _ := option.Value.AsList()
		for i, value := range accepted {
			leftOut := value.Equal(python.Str(""))
			switch {
			case leftOut && (i == 0 || call.requires(option.Key)):
				t.Errorf("%s: %s.%s: \"\" must be last, and only an optional argument may have it", id, call.name, option.Key)
			case !leftOut && !fitsKind(kind, value):
				t.Errorf("%s: %s.%s: %s is not of type %s", id, call.name, option.Key, python.JSON(value), python.Text(schema.Field("type")))
			case !leftOut && len(choices) > 0 && !slices.ContainsFunc(choices, value.Equal):
				t.Errorf("%s: %s.%s: %s is none of %s", id, call.name, option.Key, python.JSON(value), python.JSON(allowed))
			}
		}
		described, _ := schema.AsDict()
		byDefault, given := described.Get("default")
		if given && !call.requires(option.Key) && slices.ContainsFunc(accepted, byDefault.Equal) && !optional(option.Value) {
			t.Errorf("%s: %s.%s: an argument with its default value is optional, add \"\"", id, call.name, option.Key)
		}
	}
}

// TestBuiltinIsVaried checks that ids and questions are unique, that few records share a function,
// and that the position of the function in category multiple varies.
func TestBuiltinIsVaried(t *testing.T) {
	t.Parallel()
	ids, questions, users := map[string]bool{}, map[string]string{}, map[string]int{}
	first, multiple := map[string]int{}, map[string]int{}
	for _, task := range builtinTasks(t) {
		if ids[task.ID] {
			t.Errorf("%s: the id is not unique", task.ID)
		}
		ids[task.ID] = true
		if other, ok := questions[task.Question]; ok {
			t.Errorf("%s asks what %s asks: %s", task.ID, other, task.Question)
		}
		questions[task.Question] = task.ID
		functions, _ := task.functions.AsList()
		for i, function := range functions {
			description, _ := function.AsDict()
			name, _ := description.Get("name")
			parameters, _ := description.Get("parameters")
			key := task.Language + python.JSON(name) + python.JSON(parameters)
			if users[key]++; users[key] == maxSharedFunction+1 {
				t.Errorf("%s: more than %d records use %s", task.ID, maxSharedFunction, python.Text(name))
			}
			if task.Category == CategoryMultiple && i == 0 {
				multiple[task.Language]++
				if len(task.calls) > 0 && python.Text(name) == task.calls[0].name {
					first[task.Language]++
				}
			}
		}
	}
	for language, count := range multiple {
		if count >= 6 && 3*first[language] > 2*count {
			t.Errorf("%s: the function to call stands first in %d of %d records of multiple, want at most two thirds",
				language, first[language], count)
		}
	}
}

// TestBuiltinCounts logs the number of records of each language. It fails for a complete language
// with too few.
func TestBuiltinCounts(t *testing.T) {
	t.Parallel()
	counts, sums := map[string]map[Category]int{}, map[string]int{}
	for _, task := range builtinTasks(t) {
		if counts[task.Language] == nil {
			counts[task.Language] = map[Category]int{}
		}
		counts[task.Language][task.Category]++
		sums[task.Language]++
	}
	for _, language := range completeLanguages {
		if sums[language] == 0 {
			t.Errorf("%s: no records", language)
		}
	}
	for language, sum := range sums {
		want := otherRecords
		if language == "en" {
			want = englishRecords
		}
		report := t.Logf
		if slices.Contains(completeLanguages, language) {
			report = t.Errorf
		}
		if sum < want {
			report("%s: %d records, want at least %d", language, sum, want)
		}
		if got := len(counts[language]); got != 5 {
			report("%s: %d categories of 5: %v", language, got, counts[language])
		}
	}
}

// TestBuiltinOrder checks that English is first, followed by the other languages by code.
func TestBuiltinOrder(t *testing.T) {
	t.Parallel()
	sets, err := Load(os.DirFS("../../packs/euroeval"), "euroeval", "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, set := range sets {
		names = append(names, set.Name)
	}
	if len(names) == 0 || names[0] != "euroeval-en" || !slices.IsSorted(names[1:]) {
		t.Errorf("data sets: got %v, want English and then the others by name", names)
	}
}
