package euroeval

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/python"
)

// checkFunctions checks the function descriptions that are the value of a field.
func checkFunctions(field string, value python.Value) error {
	list, _ := value.AsList()
	if len(list) == 0 {
		return mismatch(field, "a list of function descriptions", value, `write [{"name": …, "parameters": …}]`)
	}
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", field, i)
		description, ok := item.AsDict()
		if !ok {
			return mismatch(path, "an object with name and parameters", item, "")
		}
		value, _ := description.Get("name")
		name, ok := value.AsStr()
		if !ok || name == "" {
			return mismatch(path+".name", "a text", value, "name the function as a call names it")
		}
		if err := checkParameters(description, path+".parameters"); err != nil {
			return err
		}
	}
	return nil
}

func checkParameters(description *python.Dict, path string) error {
	value, exists := description.Get("parameters")
	if !exists || value.IsNone() {
		return nil
	}
	parameters, ok := value.AsDict()
	if !ok {
		return mismatch(path, "an object", value, `write {"type": "dict", "properties": {…}, "required": […]}`)
	}
	properties, exists := parameters.Get("properties")
	if _, ok := properties.AsDict(); exists && !ok {
		return mismatch(path+".properties", "an object", properties, "map each argument to its description")
	}
	declared, _ := properties.AsDict()
	for _, item := range declared.Items() {
		if _, ok := item.Value.AsDict(); !ok {
			return mismatch(path+".properties."+item.Key, "an object with type", item.Value, "")
		}
	}
	required, _ := parameters.Get("required")
	names, ok := required.AsList()
	if !ok && !required.IsNone() {
		return mismatch(path+".required", "a list of argument names", required, "write [] if none is required")
	}
	for i, value := range names {
		if _, ok := value.AsStr(); !ok {
			return mismatch(fmt.Sprintf("%s.required[%d]", path, i), "the name of an argument", value, "")
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
		path := fmt.Sprintf("%s[%d]", field, i)
		call, _ := item.AsDict()
		if call.Len() != 1 {
			return mismatch(path, "an object whose one key is the function", item, "give each call an object of its own")
		}
		name, accepted := call.Items()[0].Key, call.Items()[0].Value
		arguments, ok := accepted.AsDict()
		if !ok {
			return mismatch(path+"."+name, "an object of arguments", accepted, "write {} for a call without arguments")
		}
		for _, argument := range arguments.Items() {
			if values, _ := argument.Value.AsList(); len(values) == 0 {
				return mismatch(path+"."+name+"."+argument.Key, "a list of accepted values", argument.Value,
					"put the value in brackets, with \"\" beside it if it may be left out")
			}
		}
	}
	return nil
}
