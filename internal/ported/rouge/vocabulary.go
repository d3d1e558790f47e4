package rouge

// Vocabulary numbers tokens, so that many comparisons of the same texts look each token up once.
// The zero value is ready. It is not safe for concurrent use.
type Vocabulary struct {
	numbers map[string]int32
	slots   []int32
}

// Text is a text as the numbers of its tokens in a vocabulary.
type Text []int32

// Text converts a text as Tokenize does.
func (v *Vocabulary) Text(text string) Text {
	tokens := Tokenize(text)
	numbers := make(Text, len(tokens))
	for i, token := range tokens {
		numbers[i] = v.number(token)
	}
	return numbers
}

// NumberedTarget is a target for texts of one vocabulary.
type NumberedTarget struct {
	target     *Target
	vocabulary *Vocabulary
	slots      []int32 // of the target's tokens by number, −1 for others
}

// Target prepares a target for the texts of this vocabulary.
func (v *Vocabulary) Target(target *Target) *NumberedTarget {
	t := &NumberedTarget{target: target, vocabulary: v, slots: make([]int32, len(v.numbers)+len(target.slot))}
	for i := range t.slots {
		t.slots[i] = -1
	}
	for token, slot := range target.slot {
		t.slots[v.number(token)] = slot
	}
	return t
}

// FMeasure returns the ROUGE-L F-measure of prediction, 0 to 1. It is 0 if either text has no
// token.
func (t *NumberedTarget) FMeasure(prediction Text) float64 {
	slots := t.vocabulary.slots[:0]
	for _, number := range prediction {
		if int(number) < len(t.slots) && t.slots[number] >= 0 {
			slots = append(slots, t.slots[number])
		}
	}
	t.vocabulary.slots = slots
	return t.target.fMeasure(t.target.commonSlots(slots), len(prediction))
}

func (v *Vocabulary) number(token string) int32 {
	number, ok := v.numbers[token]
	if !ok {
		if v.numbers == nil {
			v.numbers = make(map[string]int32)
		}
		number = int32(len(v.numbers))
		v.numbers[token] = number
	}
	return number
}
