package euroeval

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// Record is one task: a question, the functions that may be called and the expected calls.
type Record struct {
	ID       string
	Question string
	// Function is the list of function descriptions as JSON.
	Function string
	// TargetText is the list of expected calls as JSON. Each is an object whose one key is the
	// function; its value maps each argument to a list of accepted values.
	TargetText string
	// Text is what the prompt shows.
	Text string
	// Language is the language of the question as ISO 639-1 names it, e.g. en; empty if nobody said.
	// Functions are described in English.
	Language string
	Category Category
	// File and Line are where the record stands; empty for one that was not read from a file.
	File string
	Line int
}

// FieldError says which field of a record is not what it has to be.
type FieldError struct {
	// Field is the path of the field, e.g. question[0][0].content.
	Field string
	// Want is what the field has to be, Got what it is.
	Want, Got string
	// Suggestion says how to mend it; it may be empty.
	Suggestion string
}

// Error returns a sentence without file and line, which the reader adds.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason() }

// Reason is the sentence without the field.
func (e *FieldError) Reason() string {
	text := fmt.Sprintf("want %s, got %s", e.Want, e.Got)
	if e.Suggestion != "" {
		text += "; " + e.Suggestion
	}
	return text
}

// Join makes a record of a question and the possible answer to it, both as BFCL has them. A field
// that both have is the answer's. The error is a *FieldError.
func Join(question, answer *python.Dict) (Record, error) {
	get := func(name string) python.Value {
		if value, ok := answer.Get(name); ok {
			return value
		}
		value, _ := question.Get(name)
		return value
	}
	id, ok := get("id").AsStr()
	if !ok {
		return Record{}, mismatch("id", "a text", get("id"), "give each record an id of its own")
	}
	text, err := firstMessage(get("question"))
	if err != nil {
		return Record{}, err
	}
	record := Record{
		ID: id, Question: text,
		Function: python.ASCIIJSON(get("function")), TargetText: python.ASCIIJSON(get("ground_truth")),
	}
	record.Text = "Functions:\n" + record.Function + "\nQuestion: " + record.Question
	return record, nil
}

// firstMessage returns the text of the first message of the first turn, whatever its role.
func firstMessage(turns python.Value) (string, error) {
	const shape = `write it as [[{"role": "user", "content": "…"}]]`
	list, _ := turns.AsList()
	if len(list) == 0 {
		return "", mismatch("question", "a list of turns", turns, shape)
	}
	messages, _ := list[0].AsList()
	if len(messages) == 0 {
		return "", mismatch("question[0]", "a list of messages", list[0], shape)
	}
	message, ok := messages[0].AsDict()
	if !ok {
		return "", mismatch("question[0][0]", "an object with role and content", messages[0], shape)
	}
	content, _ := message.Get("content")
	text, ok := content.AsStr()
	if !ok {
		return "", mismatch("question[0][0].content", "a text", content, shape)
	}
	return text, nil
}

func mismatch(field, want string, got python.Value, suggestion string) *FieldError {
	return &FieldError{Field: field, Want: want, Got: describe(got), Suggestion: suggestion}
}

// describe names a value in an error in words that hold for JSON.
func describe(v python.Value) string {
	const longest = 60
	switch v.Kind() {
	case python.KindNone:
		return "nothing"
	case python.KindList:
		if items, _ := v.AsList(); len(items) == 0 {
			return "an empty list"
		}
		return "a list"
	case python.KindDict:
		return "an object"
	default:
		text := []rune(python.JSON(v))
		if len(text) > longest {
			return string(text[:longest]) + "…"
		}
		return string(text)
	}
}
