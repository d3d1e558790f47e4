package rouge

import "bytes"

// irregular returns the stem of a word with an exception entry, and whether it has one.
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

// stem stems a word of lower-case letters and digits, in place where possible. The slice needs
// spare capacity for one more byte.
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

// isConsonant reports whether the letter at i is a consonant. y is one at the start and after a
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

// endsShort reports whether word ends in consonant, vowel, consonant, the last not w, x or y, or
// consists of a vowel and a consonant.
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

// trimSuffix returns word without suffix, and whether it had it.
func trimSuffix(word []byte, suffix string) ([]byte, bool) {
	n := len(word) - len(suffix)
	if n < 0 || string(word[n:]) != suffix {
		return word, false
	}
	return word[:n], true
}

// plural is step 1a.
func plural(word []byte) []byte {
	if root, ok := trimSuffix(word, "sses"); ok {
		return append(root, "ss"...)
	}
	if root, ok := trimSuffix(word, "ies"); ok {
		if len(root) == 1 {
			return append(root, "ie"...)
		}
		return append(root, 'i')
	}
	if bytes.HasSuffix(word, []byte("ss")) {
		return word
	}
	root, _ := trimSuffix(word, "s")
	return root
}

// participle is step 1b.
func participle(word []byte) []byte {
	if root, ok := trimSuffix(word, "ied"); ok {
		if len(root) == 1 {
			return append(root, "ie"...)
		}
		return append(root, 'i')
	}
	if root, ok := trimSuffix(word, "eed"); ok {
		if measure(root) > 0 {
			return append(root, "ee"...)
		}
		return word
	}
	root, ok := trimSuffix(word, "ed")
	if !ok || !hasVowel(root) {
		root, ok = trimSuffix(word, "ing")
		if !ok || !hasVowel(root) {
			return word
		}
	}
	return restore(root)
}

// restore fixes the end of a word after ed or ing was removed.
func restore(word []byte) []byte {
	for _, suffix := range [...]string{"at", "bl", "iz"} {
		if _, ok := trimSuffix(word, suffix); ok {
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
	root, ok := trimSuffix(word, "y")
	if ok && len(root) > 1 && isConsonant(root, len(root)-1) {
		return append(root, 'i')
	}
	return word
}

// rule replaces a suffix after a stem with positive measure.
type rule struct{ suffix, replacement string }

// doubleSuffixes are the rules of step 2. The first matching suffix decides.
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
		root, ok := trimSuffix(word, "alli")
		if !ok || measure(root) == 0 {
			break
		}
		word = word[:len(root)+len("al")] // the rest of "alli"
	}
	if root, ok := trimSuffix(word, "logi"); ok {
		if measure(word[:len(word)-3]) > 0 {
			return append(root, "log"...)
		}
		return word
	}
	return replace(word, doubleSuffixes)
}

// replace applies the first rule with a matching suffix if the measure before the suffix is
// positive.
func replace(word []byte, rules []rule) []byte {
	for _, r := range rules {
		if root, ok := trimSuffix(word, r.suffix); ok {
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

// dropSuffix is step 4. It removes the first matching suffix if the measure before it exceeds one.
func dropSuffix(word []byte) []byte {
	for _, suffix := range droppedSuffixes {
		root, ok := trimSuffix(word, suffix)
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
	if root, ok := trimSuffix(word, "e"); ok {
		if m := measure(root); m > 1 || m == 1 && !endsShort(root) {
			word = root
		}
	}
	if root, ok := trimSuffix(word, "ll"); ok && measure(word[:len(word)-1]) > 1 {
		return append(root, 'l')
	}
	return word
}
