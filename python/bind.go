package python

// Param is one parameter of a function; it can be given by position or by name.
type Param struct {
	Name       string
	HasDefault bool
	Default    Value
}

// Signature is a function's parameters.
type Signature struct {
	Func   string // qualified name, e.g. tool_sandbox.tools.contact.add_contact
	Params []Param
}

// Arg is a parameter's value in a call: the given one or the default.
type Arg struct {
	Name  string
	Value Value
	Given bool
}

// Bind assigns the arguments of a call to the parameters, in signature order. The error is Python's
// TypeError, an *Exception: a value given twice, too many positional ones, a missing one, an
// unexpected name, in this order.
func (s Signature) Bind(positional []Value, keyword *Dict) ([]Arg, error) {
	bound := make([]Arg, len(s.Params))
	named := 0
	for i, param := range s.Params {
		value, found := keyword.Get(param.Name)
		if found {
			named++
		}
		switch {
		case i < len(positional) && found:
			return nil, typeError("multiple values for argument " + Repr(Str(param.Name)))
		case i < len(positional):
			value = positional[i]
		case found:
		case param.HasDefault:
			value = param.Default
		default:
			return nil, typeError("missing a required argument: " + Repr(Str(param.Name)))
		}
		bound[i] = Arg{Name: param.Name, Value: value, Given: found || i < len(positional)}
	}
	if len(positional) > len(s.Params) {
		return nil, typeError("too many positional arguments")
	}
	if named < keyword.Len() {
		return nil, typeError("got an unexpected keyword argument " + Repr(Str(s.unexpected(keyword))))
	}
	return bound, nil
}

// BindMapping binds the arguments of a call of the form tool(**args).
func (s Signature) BindMapping(args Value) ([]Arg, error) {
	keyword, ok := args.AsDict()
	if !ok {
		return nil, typeError(s.Func + "() argument after ** must be a mapping, not " + args.TypeName())
	}
	return s.Bind(nil, keyword)
}

// unexpected returns the first name that no parameter has.
func (s Signature) unexpected(keyword *Dict) string {
	for _, item := range keyword.Items() {
		exists := false
		for i := range s.Params {
			exists = exists || s.Params[i].Name == item.Key
		}
		if !exists {
			return item.Key
		}
	}
	return ""
}
