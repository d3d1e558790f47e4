package euroeval

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// checkFunctions checks the function descriptions that are the value of a field.
func checkFunctions(field string, value python.Value) error {
	list, _ := value.AsList()
	if len(list) == 0 {
		return mismatch(field, "a list of function descriptions", value, `write [{"name": …, "parameters": …}]`)
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		description, ok := item.AsDict()
		if !ok {
			return mismatch(at, "an object with name and parameters", item, "")
		}
		value, _ := description.Get("name")
		name, ok := value.AsStr()
		if !ok || name == "" {
			return mismatch(at+".name", "a text", value, "name the function as a call names it")
		}
		if err := checkParameters(description, at+".parameters"); err != nil {
			return err
		}
	}
	return nil
}

func checkParameters(description *python.Dict, at string) error {
	value, given := description.Get("parameters")
	if !given || value.IsNone() {
		return nil
	}
	parameters, ok := value.AsDict()
	if !ok {
		return mismatch(at, "an object", value, `write {"type": "dict", "properties": {…}, "required": […]}`)
	}
	properties, given := parameters.Get("properties")
	if _, ok := properties.AsDict(); given && !ok {
		return mismatch(at+".properties", "an object", properties, "map each argument to its description")
	}
	declared, _ := properties.AsDict()
	for _, item := range declared.Items() {
		if _, ok := item.Value.AsDict(); !ok {
			return mismatch(at+".properties."+item.Key, "an object with type", item.Value, "")
		}
	}
	required, _ := parameters.Get("required")
	names, ok := required.AsList()
	if !ok && !required.IsNone() {
		return mismatch(at+".required", "a list of argument names", required, "write [] if none is required")
	}
	for i, value := range names {
		if _, ok := value.AsStr(); !ok {
			return mismatch(fmt.Sprintf("%s.required[%d]", at, i), "the name of an argument", value, "")
		}
	}
	return nil
}

// checkAnswer checks the expected calls that are the value of a field. An empty list means that no
// call is expected.
func checkAnswer(field string, value python.Value) error {
	list, ok := value.AsList()
	if !ok {
		return mismatch(field, "a list of expected calls", value, `write [{"function": {"argument": [accepted values]}}]`)
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		call, _ := item.AsDict()
		if call.Len() != 1 {
			return mismatch(at, "an object whose one key is the function", item, "give each call an object of its own")
		}
		name, accepted := call.Items()[0].Key, call.Items()[0].Value
		arguments, ok := accepted.AsDict()
		if !ok {
			return mismatch(at+"."+name, "an object of arguments", accepted, "write {} for a call without arguments")
		}
		for _, argument := range arguments.Items() {
			if values, _ := argument.Value.AsList(); len(values) == 0 {
				return mismatch(at+"."+name+"."+argument.Key, "a list of accepted values", argument.Value,
					"put the value in brackets, with \"\" beside it if it may be left out")
			}
		}
	}
	return nil
}
