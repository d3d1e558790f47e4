package expression

import "math/big"

// builtins are the names that Python 3.11 knows by itself and the modules that the original has imported. Their values are nothing that
// JSON can write.
const builtins = ` ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError ` +
	`BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError ` +
	`DeprecationWarning EOFError Ellipsis EncodingWarning Exception ExceptionGroup FileExistsError FileNotFoundError FloatingPointError ` +
	`FutureWarning GeneratorExit ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError ` +
	`KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError ` +
	`OverflowError PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError ` +
	`RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError ` +
	`UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError ` +
	`Warning ZeroDivisionError __build_class__ __import__ __loader__ __spec__ abs aiter all anext any ascii bin bool breakpoint bytearray bytes ` +
	`callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float format ` +
	`frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview ` +
	`min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super ` +
	`tuple type vars zip ast json `

// Methods of types, which are attributes of their values and of the types.
const (
	textMethods = ` capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii isdecimal ` +
		`isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix ` +
		`removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill `
	bytesMethods = ` capitalize center count decode endswith expandtabs find fromhex hex index isalnum isalpha isascii isdigit islower isspace ` +
		`istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit ` +
		`rstrip split splitlines startswith strip swapcase title translate upper zfill `
	intMethods   = ` as_integer_ratio bit_count bit_length conjugate from_bytes to_bytes `
	floatMethods = ` as_integer_ratio conjugate fromhex hex is_integer `
	listMethods  = ` append clear copy count extend index insert pop remove reverse sort `
	tupleMethods = ` count index `
	dictMethods  = ` clear copy fromkeys get items keys pop popitem setdefault update values `
	setMethods   = ` add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset issuperset pop ` +
		`remove symmetric_difference symmetric_difference_update union update `
	jsonNames = ` JSONDecodeError JSONDecoder JSONEncoder codecs decoder detect_encoding dump dumps encoder load loads scanner `
)

// methods returns the names of what a value, or a type by its name, has as methods.
func methods(o object) string {
	switch o.kind {
	case kindBool, kindInt:
		return intMethods
	case kindFloat:
		return floatMethods
	case kindComplex:
		return " conjugate "
	case kindText:
		return textMethods
	case kindBytes:
		return bytesMethods
	case kindList:
		return listMethods
	case kindTuple:
		return tupleMethods
	case kindDict:
		return dictMethods
	case kindSet:
		return setMethods
	case kindThing:
		return namesOf(o.text)
	case kindNone:
	}
	return ""
}

// namesOf returns the names of what types and modules have.
func namesOf(thing string) string {
	switch thing {
	case "bool", "int":
		return intMethods + "real imag numerator denominator mro "
	case "float":
		return floatMethods + "real imag mro "
	case "complex":
		return " conjugate real imag mro "
	case "str":
		return textMethods + "mro "
	case "bytes":
		return bytesMethods + "mro "
	case "list":
		return listMethods + "mro "
	case "tuple":
		return tupleMethods + "mro "
	case "dict":
		return dictMethods + "mro "
	case "set":
		return setMethods + "mro "
	case "json":
		return jsonNames
	default:
		return ""
	}
}

// part returns the parts that numbers have as attributes.
func (o object) part(name string) (part object, ok bool) {
	complexPart := name == "real" || name == "imag"
	switch {
	case o.whole != nil && (name == "real" || name == "numerator"):
		return integer(o.whole), true
	case o.whole != nil && name == "imag":
		return integer(new(big.Int)), true
	case o.whole != nil && name == "denominator":
		return integer(big.NewInt(1)), true
	case (o.kind == kindFloat || o.kind == kindComplex) && complexPart:
		if name == "real" {
			return float(o.real), true
		}
		return float(o.imag), true
	default:
		return object{}, false
	}
}
