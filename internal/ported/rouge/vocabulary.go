package rouge

// Vocabulary numbers tokens, so that many comparisons of the same texts look each token up once.
// The zero value is ready. It is not safe for concurrent use.
type Vocabulary struct {
	numbers map[string]int32
	// loaded is the target of the last comparison. slots are those of its tokens by number, −1 for
	// others.
	loaded *NumberedTarget
	slots  []int32
	// found are the slots of a prediction's tokens, scratch space of a comparison.
	found []int32
}

// Text is a text as the numbers of its tokens in a vocabulary.
type Text []int32

// Text converts a text as Tokenize does.
func (v *Vocabulary) Text(text string) Text {
	var numbers Text
	tokenize(text, func(token []byte) { numbers = append(numbers, v.number(token)) })
	return numbers
}

// NumberedTarget is a target for texts of one vocabulary.
type NumberedTarget struct {
	target     *Target
	vocabulary *Vocabulary
	tokens     []targetToken
}

// targetToken is a token of a target.
type targetToken struct{ number, slot int32 }

// Target prepares a target for the texts of this vocabulary.
func (v *Vocabulary) Target(target *Target) *NumberedTarget {
	t := &NumberedTarget{target: target, vocabulary: v, tokens: make([]targetToken, 0, len(target.slot))}
	for token, slot := range target.slot {
		t.tokens = append(t.tokens, targetToken{v.number([]byte(token)), slot})
	}
	return t
}

// FMeasure returns the ROUGE-L F-measure of prediction, 0 to 1. It is 0 if either text has no
// token.
func (t *NumberedTarget) FMeasure(prediction Text) float64 {
	v := t.vocabulary
	v.load(t)
	slots, found := v.slots, v.found[:0]
	for _, number := range prediction {
		if int(number) < len(slots) && slots[number] >= 0 {
			found = append(found, slots[number])
		}
	}
	v.found = found
	return t.target.fMeasure(t.target.commonSlots(found), len(prediction))
}

// load sets slots to those of a target.
func (v *Vocabulary) load(t *NumberedTarget) {
	if v.loaded == t {
		return
	}
	if v.loaded != nil {
		for _, token := range v.loaded.tokens {
			v.slots[token.number] = -1
		}
	}
	for len(v.slots) < len(v.numbers) {
		v.slots = append(v.slots, -1)
	}
	for _, token := range t.tokens {
		v.slots[token.number] = token.slot
	}
	v.loaded = t
}

func (v *Vocabulary) number(token []byte) int32 {
	number, ok := v.numbers[string(token)]
	if !ok {
		if v.numbers == nil {
			v.numbers = make(map[string]int32)
		}
		number = int32(len(v.numbers))
		v.numbers[string(token)] = number
	}
	return number
}
