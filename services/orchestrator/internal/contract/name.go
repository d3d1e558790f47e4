package contract

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// knowsName says whether a name is known, as it stands, shortened or with an ending.
func (k *knowledge) knowsName(name string) bool {
	if k.words[name] || slices.Contains(ordinary(), name) {
		return true
	}
	if month := slices.Index(months(), name); month >= 0 && k.values[strconv.Itoa(month+1)] {
		return true
	}
	const stem, ending = 4, 2
	for word := range k.words {
		long := len(word) >= stem && len(name)-len(word) <= ending
		if utf8.RuneCountInString(name) >= shortestName && strings.HasPrefix(word, name) || long && strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

var (
	// wantsName is a question for the name of a person, wantsPlace one for that of a place.
	wantsName  = regexp.MustCompile(`(?i)\b(names?|who|whom|called|which (contact|person|friend|one))\b[^.!]*\?|\bplease (tell|give|provide)\b[^.!?]*\bname\b`)
	wantsPlace = regexp.MustCompile(`(?i)\b(where (is|are|was|were|does|do|did|exactly)|(which|what) (\w+ )?(city|town|place|country|countries|province|state|region|village))\b[^.!]*\?`)
	// label stands before a name that is written after a colon.
	label = regexp.MustCompile(`(?i)\b(name|contact|person|sender|recipient|place|street|city|address):\s*$`)
	// title stands before a name; its dot ends no sentence. hedge follows an answer.
	title = regexp.MustCompile(`(?i)\b(mr|mrs|ms|mx|dr|prof|st|rev)\.\s*$`)
	hedge = regexp.MustCompile(`(?i)^\s*(i (think|believe|guess|suppose)|if i (remember|recall)|maybe|perhaps|probably|or so)\b`)
)

func months() []string {
	return []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}
}

func weekdays() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// ordinary returns words that are written with a capital and name nobody.
func ordinary() []string {
	return []string{
		"alexa", "assistant", "bluetooth", "celsius", "cheers", "dad", "fahrenheit", "god", "grandma", "grandpa", "hello", "hey", "hmm", "internet",
		"mama", "miss", "mom", "mrs", "mum", "okay", "papa", "please", "prof", "siri", "sorry", "thank", "thanks", "wifi", "yeah", "yes", "you",
	}
}

// openers returns words with which an answer begins that is no name.
func openers() []string {
	return []string{
		"about", "abroad", "actually", "ah", "all", "and", "any", "anybody", "anyone", "anywhere", "ask", "beats", "both", "but", "can", "check", "clueless",
		"could", "don't", "downtown", "dunno", "either", "everywhere", "exactly", "forget", "forgot", "forgotten", "from", "good", "great", "her", "here",
		"his", "home", "how", "i'm", "in", "indoors", "inside", "isn't", "it's", "its", "just", "let", "look", "maybe", "mine", "near", "nearby", "neither",
		"never", "nobody", "none", "nope", "not", "nothing", "nowhere", "on", "online", "only", "outdoors", "outside", "really", "same", "see", "she",
		"she's", "he's", "some", "somebody", "someone", "somewhere", "sure", "that", "that's", "the", "their", "them", "then", "there", "they", "this",
		"those", "true", "unknown", "upstairs", "wait", "well", "what", "whatever", "which", "whichever", "who", "whoever", "why", "with", "work", "wrong",
		"yep",
	}
}

// common returns words for places that are no names.
func common() []string {
	return []string{
		"airport", "bakery", "beach", "cafe", "calendar", "church", "contacts", "email", "forest", "garage", "garden", "gym", "hospital", "hotel", "inbox",
		"kitchen", "lake", "library", "mail", "market", "messages", "mountains", "notes", "office", "park", "pharmacy", "phone", "reminders", "restaurant",
		"school", "settings", "shop", "station", "store", "street", "town", "texts", "woods",
	}
}

// names returns the words that name somebody or something: those that are capital though no sentence begins with them, weekdays
// and months, and a short answer to one who asked for a name.
func names(text string, asked bool) []span {
	var list []span
	for i, t := range tokens(text) {
		found := []rune(text[t.start:t.end])
		capital := len(found) >= shortestName && unicode.IsUpper(found[0]) && unicode.IsLower(found[1])
		begins := beginsSentence(text[:t.start])
		day := slices.Contains(weekdays(), strings.TrimSuffix(t.word, "s"))
		month := capital && slices.Contains(months(), t.word) && t.word != "may" && t.word != "march"
		answer := asked && i == 0 && shortAnswer(text[t.end:]) && !slices.Contains(openers(), t.word) && !slices.Contains(common(), t.word)
		if day || month || capital && (!begins || answer || label.MatchString(before(text, t.start))) {
			list = append(list, span{t.start, t.start + len(bare(text[t.start:t.end]))})
		}
	}
	return list
}

// shortAnswer says whether little, a pause or a doubt follows the first word.
func shortAnswer(rest string) bool {
	return rest == "" || strings.ContainsAny(rest[:1], ".,!") || len(words(rest)) < 2 || hedge.MatchString(rest)
}

// beginsSentence says whether a sentence, a quotation or an item begins after a text: its first word is capital whatever it is.
func beginsSentence(before string) bool {
	trimmed := strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsSpace(r) && r != '\n' })
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	switch {
	case trimmed == "" || last == '\n':
		return true
	case last == '.' && title.MatchString(tail(trimmed)):
		return false
	case unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(",;'’/&%)@+_", last):
		return false
	case last == '-':
		return trimmed != before // a dash, not a hyphen
	}
	return true
}
