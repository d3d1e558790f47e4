package contract

import (
	"regexp"
	"strings"
)

// assistant returns what only an assistant says.
func (c *check) assistant(text string) string {
	if evidence := markup.FindString(text); evidence != "" {
		return strings.Trim(evidence, " \n")
	}
	blanked := quotation.ReplaceAllStringFunc(text, func(quote string) string { // what others are to read is not the user's own speech
		return string(make([]byte, len(quote)))
	})
	patterns := []*regexp.Regexp{assistantWords, serves}
	if !thanks.MatchString(c.agent) {
		patterns = append(patterns, welcome)
	}
	if !c.hands { // a user with tools of its own has something to announce and to report
		patterns = append(patterns, report)
	}
	for _, pattern := range patterns {
		if at := pattern.FindStringIndex(blanked); at != nil && !c.dictated(text[at[0]:at[1]]) {
			return strings.TrimRight(text[at[0]:at[1]], " \n.!,")
		}
	}
	if c.hands {
		return ""
	}
	for _, sentence := range sentences(blanked) {
		said := blanked[sentence.start:sentence.end]
		if at := announcement.FindStringIndex(said); at != nil && !asking.MatchString(said) && !own.MatchString(said) {
			if evidence := text[sentence.start+at[0] : sentence.start+at[1]]; !c.dictated(evidence) {
				return strings.Trim(evidence, " \n.!,")
			}
		}
	}
	return ""
}

// dictated says whether the instructions hold the words of a text: the user may have to have them written.
func (c *check) dictated(text string) bool {
	run := words(text)
	for i := 0; i+len(run) <= len(c.instructions); i++ {
		if matches(c.instructions[i:], run) {
			return true
		}
	}
	return false
}

// matches says whether a list that is at least as long begins with words as they stand.
func matches(list []told, run []string) bool {
	for i, word := range run {
		if list[i].word != word {
			return false
		}
	}
	return true
}

// deeds are what an assistant does with its tools, acts those that nobody does without them, changed what is done then.
const (
	deeds   = `(set|send|add|remove|delete|update|change|turn|switch|create|save|search|look up|look that up|schedule|cancel|text|check|move|rename)`
	acts    = `(set|send|add|remove|delete|update|turn|switch|create|schedule|move|rename)`
	changed = `(updated|added|removed|deleted|sent|set|turned|switched|scheduled|created|changed|saved|moved|renamed|cancelled)`
	// yours is what belongs to the other side of an assistant.
	yours = `your (contacts?|contact list|address book|reminders?|messages?|phone|card|calendar|settings?)`
)

var (
	quotation = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	// markup is a call written as text, a speaker's name, or the end of the conversation in brackets.
	markup = regexp.MustCompile(`(?i)` + calls + `|<\|im_(start|end)\|>|[\[(<*]\s*(end|ends|ending|stops?|exit)( of)?( the)?( conversation| chat)?\s*[\])>*]|` +
		`[\[(<*]\s*(the )?(conversation|chat|dialogue) (is |has )?(ends?|ended|over|finished|closed)\s*[\])>*]|#{2,}\s*(stop|end|done|exit)\b|` +
		`(?m:^[\s*_#]*(assistant|agent|user|human|ai)[\s*_]*:)`)
	// written is a call as text.
	written = regexp.MustCompile(`(?i)` + calls)
	// assistantWords are what assistants say.
	assistantWords = regexp.MustCompile(`(?i)\b(how (else )?(can|may|could) i (help|assist)( you)?|i('m| am) (here|happy|glad) to (help|assist)|` +
		`i('d| would) be (happy|glad) to (help|assist)|i can (help you with|look) that( up)?( for you)?|(what|which( \w+)?) would you like( me to)?|` +
		`(anything|something|what) else (i (can|could)|(can|could) i) (do|help)( for you)?|is there anything (else )?(i (can|could) (do|help|assist)|you need( help with)?\s*([?.!]|$))|as an ai\b|ai (language model|assistant)|` +
		`i('m| am) (an ai|a virtual|(your|the) (virtual|(phone|personal|digital)('s)?( \w+)?) assistant|an? assistant)\b|i('m| am) your \w+('s)? assistant\b|` +
		`i apologi[sz]e for (any|the) (inconvenience|confusion)|(happy|glad) (to|(that )?i could) (help|assist)\b|` +
		`let me know if (you (need (any )?(further |more |additional )?(help|assistance)|have (any )?(other|more|further) questions|(would like|want) another)|there('s| is) anything else i can)|` +
		`feel free to (ask|reach out) if (you need anything else\b|you have)|(feel free to (ask|reach out)|let me know) if you (need|have) any (other|further|more) (help|assistance|questions)\b|` +
		`i('ll| will) (look that up|check that) for you|let me (look|check) (that|this|it)( up)? for you|i found (\d+|two|three|four|several|multiple|the following) \w+|here (is|are) your\b|` +
		`your (request|reminder|message|contact|text|alarm|settings?) (has|have) been (\w+ly )?(sent|added|set|saved|updated|changed|removed|deleted|created|scheduled|completed|processed))`)
	// serves is what the one says whose tools wait for the other side.
	serves = regexp.MustCompile(`(?i)\b((would you like|do you want) me to (` + deeds + `|proceed|continue|go ahead)\b|(should|shall) i (` + deeds + ` (it|that|this|the|a|an)|proceed|continue|go ahead)\b|` +
		`(should|shall) i ` + deeds + ` (?-i:\p{Lu}\p{Ll}+)|(which|what)( \w+){1,5} should i (remove|delete|move|update|change|add)\b|` +
		`(which|what) (\w+ ){1,3}you (want|would like|['’]d like) (me to ` + deeds + `|` + changed + `)\b|(sure|certainly|of course|absolutely)\W{1,2}i can ` + deeds + `\b|` +
		`(to \w+ (a|the|this) \w+,? )?i need (the|your) (\w+ )?(number|name|address|id) of (your|the)( \w+)?)`)
	// report is what the one says who does it, or has done it.
	report = regexp.MustCompile(`(?i)\bi('ve|’ve| have) (now |just |successfully )?(updated|added|removed|deleted|sent|set|turned|switched|scheduled|created|changed) ` +
		`(your (contact|reminder|message|wifi|settings?|phone|alarm)|the (contact|reminder|message|wifi|settings?|phone|alarm)( on| off)?(\s*[.!]|\s*$| for you\b|,? as requested\b| to \+?\d))|` +
		`\bi('ll|’ll| will) (now |go ahead and )?(set|create|add) (a|the|your) (reminder|alarm|contact)|` +
		`\bi('ve|’ve| have) turned (the|your) (wifi|cellular|location service|low battery mode)`)
	// announcement is the same in a statement, with a word that only fits who serves.
	announcement = regexp.MustCompile(`(?i)\bi(['’]ll| will|['’]m going to| am going to) (now |go ahead and )?` + acts + `\b[^.!?]*\b(for you|right away|` + yours + `|now\s*[.!]?\s*$)|` +
		`\bi(['’]ve| have) (now |just |successfully )?` + changed + `\b[^.!?]*\b(for you|(from|in|to) ` + yours + `)|` +
		`\b((has|have) been|is|are|was|were) (now |successfully )?(` + changed + ` (from|in|to)|no longer in) ` + yours + `|` +
		`\b(was|were|has been|have been) ` + changed + ` successfully|` +
		`^\W*(\w+ ){1,4}(has|have) been (successfully )?(removed|deleted|(turned|switched) (on|off))\W*$|` +
		`\bi(['’]m| am) (now )?(searching|checking|looking (up|through|in)|updating) ` + yours + `|` +
		`\bi (could not|couldn['’]t|can['’]t|cannot|was unable to|was not able to|wasn['’]t able to) find [^.!?]*\bin ` + yours + `|` +
		`\bi can ` + deeds + `\b[^.!?]*\bfor you\b`)
	// asking ends or begins a question, own are words of one who has to do with it otherwise.
	asking  = regexp.MustCompile(`\?\s*$`)
	own     = regexp.MustCompile(`(?i)\b(my|mine|me|myself|our|by hand|another phone|instead)\b`)
	welcome = regexp.MustCompile(`(?i)\byou('|’)re (very |most )?welcome\b`)
	thanks  = regexp.MustCompile(`(?i)\bthank`)
)

// calls is a call as models write one.
const calls = `\bend_conversation\b|<tool_call>|\[TOOL_CALLS\]|<<function>>|<function=|` + "```" + `|\{\s*"name"\s*:|\b[a-z]+(_[a-z]+)+\(`
