package rouge

import "bytes"

// irregular returns the stem of the few words that the stemmer looks up instead of cutting, and
// whether word is one.
func irregular(word []byte) (string, bool) {
	switch string(word) {
	case "sky", "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "innings", "inning":
		return "inning", true
	case "outings", "outing":
		return "outing", true
	case "cannings", "canning":
		return "canning", true
	case "news", "howe", "proceed", "exceed", "succeed":
		return string(word), true
	}
	return "", false
}

// stem cuts word, lower-case letters and digits, in place where it can and returns the result. The
// slice needs spare capacity for one byte more than it holds.
func stem(word []byte) []byte {
	if text, ok := irregular(word); ok {
		return append(word[:0], text...)
	}
	if len(word) <= 2 {
		return word
	}
	word = plural(word)
	word = participle(word)
	word = finalY(word)
	word = doubleSuffix(word)
	word = replace(word, derivedSuffixes)
	word = dropSuffix(word)
	return finalE(word)
}

// isConsonant reports whether the letter at i is a consonant; y is one at the start and after a
// vowel.
func isConsonant(word []byte, i int) bool {
	switch word[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !isConsonant(word, i-1)
	}
	return true
}

// measure counts the changes from vowels to consonants.
func measure(word []byte) int {
	count := 0
	afterVowel := false
	consonant := false
	for i, letter := range word {
		switch letter {
		case 'a', 'e', 'i', 'o', 'u':
			consonant = false
		case 'y':
			consonant = i == 0 || !consonant
		default:
			consonant = true
		}
		if consonant && afterVowel {
			count++
		}
		afterVowel = !consonant
	}
	return count
}

// hasVowel reports whether a letter of word is a vowel.
func hasVowel(word []byte) bool {
	for i := range word {
		if !isConsonant(word, i) {
			return true
		}
	}
	return false
}

// endsDouble reports whether word ends with the same consonant twice.
func endsDouble(word []byte) bool {
	n := len(word)
	return n >= 2 && word[n-1] == word[n-2] && isConsonant(word, n-1)
}

// endsShort reports whether word ends in consonant, vowel, consonant, the last not w, x or y, or is
// a vowel and a consonant.
func endsShort(word []byte) bool {
	n := len(word)
	if n == 2 {
		return !isConsonant(word, 0) && isConsonant(word, 1)
	}
	if n < 3 || !isConsonant(word, n-3) || isConsonant(word, n-2) || !isConsonant(word, n-1) {
		return false
	}
	last := word[n-1]
	return last != 'w' && last != 'x' && last != 'y'
}

// cut returns word without suffix and whether it ends with it.
func cut(word []byte, suffix string) ([]byte, bool) {
	n := len(word) - len(suffix)
	if n < 0 || string(word[n:]) != suffix {
		return word, false
	}
	return word[:n], true
}

// plural is step 1a.
func plural(word []byte) []byte {
	if root, ok := cut(word, "sses"); ok {
		return append(root, "ss"...)
	}
	if root, ok := cut(word, "ies"); ok {
		if len(root) == 1 {
			return append(root, "ie"...)
		}
		return append(root, 'i')
	}
	if bytes.HasSuffix(word, []byte("ss")) {
		return word
	}
	root, _ := cut(word, "s")
	return root
}

// participle is step 1b.
func participle(word []byte) []byte {
	if root, ok := cut(word, "ied"); ok {
		if len(root) == 1 {
			return append(root, "ie"...)
		}
		return append(root, 'i')
	}
	if root, ok := cut(word, "eed"); ok {
		if measure(root) > 0 {
			return append(root, "ee"...)
		}
		return word
	}
	root, ok := cut(word, "ed")
	if !ok || !hasVowel(root) {
		root, ok = cut(word, "ing")
		if !ok || !hasVowel(root) {
			return word
		}
	}
	return restore(root)
}

// restore repairs the end of a word that lost ed or ing.
func restore(word []byte) []byte {
	for _, suffix := range [...]string{"at", "bl", "iz"} {
		if _, ok := cut(word, suffix); ok {
			return append(word, 'e')
		}
	}
	if endsDouble(word) {
		last := word[len(word)-1]
		if last == 'l' || last == 's' || last == 'z' {
			return word
		}
		return word[:len(word)-1]
	}
	if measure(word) == 1 && endsShort(word) {
		return append(word, 'e')
	}
	return word
}

// finalY is step 1c.
func finalY(word []byte) []byte {
	root, ok := cut(word, "y")
	if ok && len(root) > 1 && isConsonant(root, len(root)-1) {
		return append(root, 'i')
	}
	return word
}

// rule replaces a suffix behind a stem with a positive measure.
type rule struct{ suffix, replacement string }

// doubleSuffixes are the rules of step 2; the first suffix that fits decides.
var doubleSuffixes = []rule{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
	{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
	{"iviti", "ive"}, {"biliti", "ble"}, {"fulli", "ful"},
}

// derivedSuffixes are the rules of step 3.
var derivedSuffixes = []rule{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// doubleSuffix is step 2.
func doubleSuffix(word []byte) []byte {
	for {
		root, ok := cut(word, "alli")
		if !ok || measure(root) == 0 {
			break
		}
		word = word[:len(root)+len("al")] // what is left of "alli"
	}
	if root, ok := cut(word, "logi"); ok {
		if measure(word[:len(word)-3]) > 0 {
			return append(root, "log"...)
		}
		return word
	}
	return replace(word, doubleSuffixes)
}

// replace applies the first rule whose suffix fits, if the measure before the suffix is positive.
func replace(word []byte, rules []rule) []byte {
	for _, r := range rules {
		if root, ok := cut(word, r.suffix); ok {
			if measure(root) > 0 {
				return append(root, r.replacement...)
			}
			return word
		}
	}
	return word
}

// droppedSuffixes are the suffixes of step 4, in order.
var droppedSuffixes = []string{
	"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
	"ous", "ive", "ize",
}

// dropSuffix is step 4: the first suffix that fits goes if the measure before it is above one.
func dropSuffix(word []byte) []byte {
	for _, suffix := range droppedSuffixes {
		root, ok := cut(word, suffix)
		if !ok {
			continue
		}
		if measure(root) <= 1 {
			return word
		}
		if suffix == "ion" && root[len(root)-1] != 's' && root[len(root)-1] != 't' {
			return word
		}
		return root
	}
	return word
}

// finalE is step 5.
func finalE(word []byte) []byte {
	if root, ok := cut(word, "e"); ok {
		if m := measure(root); m > 1 || m == 1 && !endsShort(root) {
			word = root
		}
	}
	if root, ok := cut(word, "ll"); ok && measure(word[:len(word)-1]) > 1 {
		return append(root, 'l')
	}
	return word
}
