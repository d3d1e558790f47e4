package euroeval

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python"
)

// Record is one task: a question, functions and expected calls.
type Record struct {
	ID       string
	Question string
	// Function is the list of function descriptions as JSON.
	Function string
	// TargetText is the list of expected calls as JSON. Each call is an object with the function name
	// as its only key. The value maps each argument to a list of accepted values.
	TargetText string
	// Text is the record's part of the prompt.
	Text string
	// Language is the ISO 639-1 code of the question's language, e.g. en; empty if unknown. Function
	// descriptions are in English.
	Language string
	Category Category
	// File and Line are the source of the record, empty if it was not read from a file.
	File string
	Line int
}

// FieldError reports an invalid field of a record.
type FieldError struct {
	// Field is the path of the field, e.g. question[0][0].content.
	Field string
	// Want is the expected value, Got the actual one.
	Want, Got string
	// Suggestion says how to fix the field; it may be empty.
	Suggestion string
}

// Error returns a sentence without file and line.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason() }

// Reason returns the sentence without the field.
func (e *FieldError) Reason() string {
	text := fmt.Sprintf("want %s, got %s", e.Want, e.Got)
	if e.Suggestion != "" {
		text += "; " + e.Suggestion
	}
	return text
}

// Join combines a BFCL question with its possible answer. If both have a field, the answer's wins.
// The error is a *FieldError.
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
		return Record{}, mismatch("id", "a text", get("id"), "give each record a unique id")
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

// firstMessage returns the text of the first message of the first turn, of any role.
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
	if _, ok := messages[0].AsDict(); !ok {
		return "", mismatch("question[0][0]", "an object with role and content", messages[0], shape)
	}
	content := messages[0].Field("content")
	text, ok := content.AsStr()
	if !ok {
		return "", mismatch("question[0][0].content", "a text", content, shape)
	}
	return text, nil
}

func mismatch(field, want string, got python.Value, suggestion string) *FieldError {
	return &FieldError{Field: field, Want: want, Got: describe(got), Suggestion: suggestion}
}

// describe names a value in JSON's terms for an error.
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
