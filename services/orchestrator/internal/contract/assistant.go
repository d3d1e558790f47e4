package contract

import (
	"regexp"
	"strings"
)

// assistant returns what only an assistant says.
func (c *check) assistant(text string) string {
	if evidence := markup.FindString(text); evidence != "" {
		return evidence
	}
	blanked := quotation.ReplaceAllStringFunc(text, func(quote string) string { // what others are to read is not the user's own speech
		return string(make([]byte, len(quote)))
	})
	patterns := []*regexp.Regexp{assistantWords, serves}
	if !c.hands { // a user with tools of its own has something to announce and to report
		patterns = append(patterns, report)
	}
	if !thanks.MatchString(c.agent) {
		patterns = append(patterns, welcome)
	}
	for _, pattern := range patterns {
		if evidence := pattern.FindString(blanked); evidence != "" && !c.dictated(evidence) {
			return strings.TrimRight(evidence, " \n.!,")
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

// deeds are what an assistant does with its tools.
const deeds = `(set|send|add|remove|delete|update|change|turn|switch|create|save|search|look up|look that up|schedule|cancel|text|check)`

var (
	quotation = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	// markup is a call written as text, a speaker's name, or the end of the conversation in brackets.
	markup = regexp.MustCompile(`(?i)\bend_conversation\b|<tool_call>|\[TOOL_CALLS\]|<<function>>|<\|im_(start|end)\|>|` + "```" + `|\{\s*"name"\s*:|` +
		`\b[a-z]+(_[a-z]+)+\(|[\[(<*]\s*(end|ends|ending)( of)?( the)?( conversation| chat)?\s*[\])>*]|(?m:^\s*(assistant|agent|user|human|ai)\s*:)`)
	// assistantWords are what assistants say.
	assistantWords = regexp.MustCompile(`(?i)\b(how (can|may) i (help|assist)( you)?|i('m| am) (here|happy|glad) to (help|assist)|` +
		`i('d| would) be (happy|glad) to (help|assist)|i can (help you with|look) that( up)?( for you)?|(what|which( \w+)?) would you like( me to)?|` +
		`(anything|what) else (i can|can i) (do|help)( for you)?|as an ai\b|ai (language model|assistant)|i('m| am) (an ai|a virtual|your virtual|an? assistant)\b|` +
		`i apologi[sz]e for (any|the) (inconvenience|confusion)|` +
		`let me know if (you need (any )?(further |more |additional )?(help|assistance)|there('s| is) anything else i can)|` +
		`i('ll| will) (look that up|check that) for you|i found (\d+|two|three|four|several|multiple|the following) \w+|here (is|are) your\b|` +
		`your (request|reminder|message|contact|text|alarm|settings?) (has|have) been (\w+ly )?(sent|added|set|saved|updated|changed|removed|deleted|created|scheduled|completed|processed))`)
	// serves is what the one says whose tools wait for the other side.
	serves = regexp.MustCompile(`(?i)\b((would you like|do you want) me to ` + deeds + `\b|(should|shall) i ` + deeds + ` (it|that|this|the|a|an)\b|` +
		`(to \w+ (a|the|this) \w+,? )?i need (the|your) (\w+ )?(number|name|address|id) of (your|the)( \w+)?)`)
	// report is what the one says who does it, or has done it.
	report = regexp.MustCompile(`(?i)\bi('ve|’ve| have) (now |just |successfully )?(updated|added|removed|deleted|sent|set|turned|switched|scheduled|created|changed) ` +
		`(your (contact|reminder|message|wifi|settings?|phone|alarm)|the (contact|reminder|message|wifi|settings?|phone|alarm)( on| off)?(\s*[.!]|\s*$| for you\b|,? as requested\b| to \+?\d))|` +
		`\bi('ll|’ll| will) (now |go ahead and )?(set|create|add) (a|the|your) (reminder|alarm|contact)|` +
		`\bi('ve|’ve| have) turned (the|your) (wifi|cellular|location service|low battery mode)`)
	welcome = regexp.MustCompile(`(?i)\byou('|’)re (very |most )?welcome\b`)
	thanks  = regexp.MustCompile(`(?i)\bthank`)
	// wantsName is a question for a name.
	wantsName = regexp.MustCompile(`(?i)\b(names?|who|whom|called|which (contact|person|friend|one))\b[^.!]*\?|\bplease (tell|give|provide)\b[^.!?]*\bname\b`)
)
