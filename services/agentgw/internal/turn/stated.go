package turn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/toolsandbox/toolsandbox/internal/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	exceptionType  = "TypeError"
	exceptionValue = "ValueError"
	// noID is what the source's variables are named after where a model gives no id.
	noID = "None"
)

// Stated is one call as a model stated it.
type Stated struct {
	// ID goes out as it is, even if it is empty or no identifier; nil leaves the message's column null.
	ID *string
	// Unnamed names the source's variables after the tool, and gives a call without an id one that follows from its index.
	Unnamed bool
	// Name is what the model calls the tool.
	Name string
	// Arguments is JSON text as the model wrote it.
	Arguments string
	// Cut says that the arguments may lack something, so that they must not be used.
	Cut bool
}

// Stated returns one message per call, and the first mistake in them, nil if a call has none. With Compat a tool that the role does
// not have and arguments that are no JSON are errors, of type *Mistake; otherwise the environment answers them with an error that the
// model can read. Whatever a model states, the source is that of one call: it never becomes code of its own. The messages of a
// user that can only end the conversation carry neither id nor name, as in the original; one with more tools needs them to tell answers
// apart.
func (c Composer) Stated(calls []Stated, tools *Tools) (messages []*worldv1.Message, first *Mistake, err error) {
	used := false
	taken := make(map[string]bool, len(calls))
	for _, call := range calls {
		if call.ID != nil {
			taken[*call.ID] = true
		}
	}
	for i, call := range calls {
		index := c.Index + int32(i)
		resolved, mistake := tools.stated(call.Name)
		args, wrong := call.arguments()
		if mistake == nil {
			mistake = wrong
		}
		if mistake != nil && c.Compat && mistake.raised {
			return nil, mistake, mistake
		}
		if first == nil {
			first = mistake
		}
		used = used || mistake == nil
		message := c.stated(index, call, resolved, args, taken)
		if c.Role == worldv1.Role_ROLE_USER && !tools.Hands() {
			message.ToolCallId, message.FunctionName = nil, nil
		}
		messages = append(messages, message)
	}
	if used {
		first = nil
	}
	return messages, first, nil
}

// stated resolves a name; of one that the role does not have it returns the name under which the environment refuses it.
func (t *Tools) stated(name string) (execution string, mistake *Mistake) {
	call, err := t.ByName("", name, "", true)
	if err == nil {
		return call.ExecutionName, nil
	}
	errors.As(err, &mistake)
	return t.refused(name), mistake
}

// quoted is arguments that are a text as python.ComposeCall writes them, which writes a str without quotes. A text that is itself an object
// stands in the source as it is spelled, as in the original: it is encoded twice, and the call runs.
func quoted(text string) (value python.Value, object bool) {
	if isObject(text) {
		return python.Str(text), true
	}
	return python.Str(python.Repr(python.Str(text))), false
}

// isObject says whether a text is an object and nothing else but JSON's blanks around it, in JSON or as a literal of Python. Neither is
// code, but true, false and null are names that Python does not know.
func isObject(text string) bool {
	text = strings.Trim(text, " \t\r\n")
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	value, err := python.ParseJSON(text)
	if err != nil {
		value, err = python.ParseLiteral(text)
	}
	_, ok := value.AsDict()
	return ok && err == nil
}

// arguments reads the arguments into what python.ComposeCall writes, which is a str without quotes.
func (s Stated) arguments() (python.Value, *Mistake) {
	text := strings.ToValidUTF8(s.Arguments, string(utf8.RuneError))
	asText := python.Str(python.Repr(python.Str(text)))
	if s.Cut {
		return asText, &Mistake{Exception: exceptionValue, Detail: fmt.Sprintf("the answer was cut off within the arguments of %s", s.Name)}
	}
	args, err := python.ParseJSON(text)
	if err != nil {
		exception := exceptionJSON
		var raised *python.Exception
		if errors.As(err, &raised) {
			exception = raised.Type
		}
		return asText, &Mistake{Exception: exception, Detail: fmt.Sprintf("arguments of %s: %v", s.Name, err), raised: true}
	}
	if _, ok := args.AsDict(); ok {
		return args, nil
	}
	mistake := &Mistake{Exception: exceptionType, Detail: fmt.Sprintf("arguments of %s: a JSON object expected, got %s", s.Name, args.TypeName())}
	spelled, ok := args.AsStr()
	if !ok {
		return args, mistake
	}
	value, object := quoted(spelled)
	if object {
		mistake = nil
	}
	return value, mistake
}

func (c Composer) stated(index int32, call Stated, execution string, args python.Value, taken map[string]bool) *worldv1.Message {
	variable, id := noID, call.ID
	if id != nil {
		variable = *id
	}
	if call.Unnamed {
		variable = execution
		if id == nil {
			fresh := uuid.NewSHA1(uuid.NameSpaceURL, []byte("call:"+strconv.Itoa(int(index)))).String()
			id = &fresh
		}
	}
	content := python.ComposeCall(variable, execution, args)
	if !isCall(content, variable, execution) {
		variable = freeID(index, taken)
		id = &variable
		content = python.ComposeCall(variable, execution, args)
	}
	content = strings.ToValidUTF8(content, string(utf8.RuneError))
	name := strings.ToValidUTF8(call.Name, string(utf8.RuneError))
	return &worldv1.Message{
		Index: index, Sender: c.Role, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Content: &content,
		ToolCallId: id, FunctionName: &name,
		VisibleTo: []worldv1.Role{c.Role, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT},
	}
}

// isCall says whether the environment reads the source as exactly this call. Ids are the model's text: one may be made so
// that the source says something else.
func isCall(content, variable, execution string) bool {
	if len(variable) > maxID || !utf8.ValidString(variable) {
		return false
	}
	id, tool, _, ok := python.ParseCall(content)
	return ok && id == variable && tool == execution || !ok && plain(variable)
}

// plain says whether an id consists of letters, digits and underscores of ASCII: source that is no call is then not its fault.
func plain(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
