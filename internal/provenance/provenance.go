// Package provenance answers whether an agent was told the arguments of a call before it made it:
// by a message, the answer of a tool, the description of a tool, or by sums and calendars over
// these.
//
// Only facts count: numbers, times, dates, ids and names. Other words are the agent's own. A
// switch, null, a value of a schema's enum or its default is a fixed vocabulary.
package provenance

import (
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/numeral"
	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// Config describes what an agent knows before the first message.
type Config struct {
	// Zone is the time zone in which people speak of times.
	Zone *time.Location
	// Tools are the agent's tools; their descriptions tell. Without any, whole numbers up to 12 are
	// not judged, because they may be on a scale that a tool describes.
	Tools []*worldv1.Tool
	// Names are the names of the world. Without Tools, a name in a search that neither the
	// conversation nor the world has is a probe and no claim.
	Names Names
	// Vocabulary are names that everybody knows, such as those of holidays.
	Vocabulary Names
}

// Conversation is what an agent was told so far.
type Conversation struct {
	zone       *time.Location
	parameters map[string][]parameter.Parameter // by tool, as the agent and as the world calls it
	public     Names
	vocabulary Names
	facts
	said []string // texts of the agent that the user has not answered
	read int      // bytes of messages
}

// maxRead bounds the bytes of the messages. A conversation with more is full: nothing counts as
// untold any more.
const maxRead = 1 << 20

// Argument is an argument that nothing has told.
type Argument struct {
	// Name is the path of the argument, e.g. items.quantity.
	Name string
	// Value is its value as JSON.
	Value string
}

// New returns the state before the first message.
func New(cfg Config) *Conversation {
	c := &Conversation{zone: cfg.Zone, parameters: make(map[string][]parameter.Parameter), public: cfg.Names, vocabulary: cfg.Vocabulary, facts: newFacts()}
	if c.zone == nil {
		c.zone = time.UTC
	}
	for _, tool := range cfg.Tools {
		c.strict = true
		list, err := parameter.Read(tool.GetParametersJson())
		if err != nil {
			continue // nothing is known of such parameters
		}
		c.parameters[tool.GetName()], c.parameters[tool.GetExecutionName()] = list, list
	}
	return c
}

// Learn adds what the agent reads in a message. Its own texts count once the user has answered
// them; calls tell nothing.
func (c *Conversation) Learn(m *worldv1.Message) {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	c.read += len(messagetext.Content(m))
	c.full = c.full || c.read > maxRead
	switch {
	case c.full || !world.VisibleTo(m, agent):
	case m.GetSender() == agent:
		if m.GetRecipient() == user {
			c.said = append(c.said, m.GetText())
		}
	case m.GetResult() != nil:
		c.learnResult(m.GetResult())
	default:
		if m.GetSender() == user {
			for _, text := range c.said {
				c.learnText(text)
			}
			c.said = nil
		}
		c.learnText(messagetext.Content(m))
	}
}

// learnResult adds the answer of a tool.
func (c *Conversation) learnResult(result *worldv1.ToolResult) {
	if len(result.GetTraces()) == 0 {
		c.learnText(result.GetText())
		return
	}
	for _, trace := range result.GetTraces() {
		if value, err := python.ParseJSON(trace.GetResultJson()); err == nil {
			c.learnValue(value)
		}
	}
}

// learnValue adds a value at any depth.
func (c *Conversation) learnValue(value python.Value) {
	if dict, ok := value.AsDict(); ok {
		c.learnMoment(dict)
		for _, item := range dict.Items() {
			c.learnValue(item.Value)
		}
		return
	}
	if list, ok := value.AsList(); ok {
		for _, item := range list {
			c.learnValue(item)
		}
		return
	}
	if number, ok := numberOf(value); ok {
		c.learnNumber(number, c.zone)
		c.returned[python.Text(value)] = true
		return
	}
	if text, ok := value.AsStr(); ok {
		c.learnText(text)
		c.returned[text], c.returned[numeral.Digits(text)] = true, true
	}
}

// numberOf returns the number of a value that is no truth value.
func numberOf(value python.Value) (float64, bool) {
	if _, ok := value.AsBool(); ok {
		return 0, false
	}
	return value.Number()
}

// Untold returns the arguments of a call that the agent was not told, in order. writes means that
// the call changes the world, so that its names are claims. A call whose arguments are no object
// has none.
func (c *Conversation) Untold(call *worldv1.ToolCall, writes bool) []Argument {
	value, err := messagetext.Arguments(call)
	if err != nil || c.full {
		return nil
	}
	dict, ok := value.AsDict()
	if !ok {
		return nil
	}
	j := &judge{Conversation: c, writes: writes}
	j.moment("", dict)
	for _, item := range dict.Items() {
		if !c.isVocabulary(call.GetTool(), item) {
			j.value(item.Key, item.Key, item.Value)
		}
	}
	return j.found
}

// isVocabulary reports whether the schema of an argument names its value, or its description does.
func (c *Conversation) isVocabulary(tool string, item python.Item) bool {
	list := c.parameters[tool]
	at := slices.IndexFunc(list, func(p parameter.Parameter) bool { return p.Name == item.Key })
	if at < 0 {
		return false
	}
	if namesValue(list[at].Schema, item.Value) {
		return true
	}
	described := newFacts()
	described.learnText(list[at].Description)
	number, ok := numberOf(item.Value)
	text, isText := item.Value.AsStr()
	return ok && described.isTold(number) || isText && described.words[fold(text)]
}

// namesValue reports whether a schema names a value, or all values in a list or a dict.
func namesValue(schema, value python.Value) bool {
	for _, key := range []string{"enum", "examples"} {
		values, _ := schema.Field(key).AsList()
		if slices.ContainsFunc(values, value.Equal) {
			return true
		}
	}
	alternatives, _ := schema.Field("anyOf").AsList()
	if schema.Field("default").Equal(value) || schema.Field("const").Equal(value) ||
		slices.ContainsFunc(alternatives, func(one python.Value) bool { return namesValue(one, value) }) {
		return true
	}
	items, _ := value.AsList()
	part := schema.Field("items")
	if dict, ok := value.AsDict(); ok {
		part = schema.Field("additionalProperties")
		for _, item := range dict.Items() {
			items = append(items, item.Value)
		}
	}
	return len(items) > 0 && !slices.ContainsFunc(items, func(item python.Value) bool { return !namesValue(part, item) })
}

// judge collects the untold arguments of one call.
type judge struct {
	*Conversation
	writes  bool
	checked map[string]bool // parts of a date and time, judged together
	found   []Argument
}

func (j *judge) add(path string, value python.Value) {
	j.found = append(j.found, Argument{Name: path, Value: python.JSON(value)})
}

// value judges an argument at any depth. name is the nearest key.
func (j *judge) value(path, name string, value python.Value) {
	if dict, ok := value.AsDict(); ok {
		j.moment(path+".", dict)
		for _, item := range dict.Items() {
			j.value(path+"."+item.Key, item.Key, item.Value)
		}
		return
	}
	if list, ok := value.AsList(); ok {
		for _, item := range list {
			j.value(path, name, item)
		}
		return
	}
	if j.checked[path] {
		return
	}
	if number, ok := numberOf(value); ok {
		if !j.toldNumber(name, number) {
			j.add(path, value)
		}
		return
	}
	if text, ok := value.AsStr(); ok && !j.toldText(name, text, j.writes) {
		j.add(path, value)
	}
}
