package rouge

import "unicode/utf8"

// maxCells is the maximum size of the dynamic programming table: texts of 2000 words each.
const maxCells = 4 << 20

// Word is a common word: Target[TargetStart:TargetEnd] and
// Prediction[PredictionStart:PredictionEnd] have the same stem.
type Word struct {
	TargetStart, TargetEnd         int
	PredictionStart, PredictionEnd int
}

// Alignment is a detailed comparison. The F-measure is the harmonic mean of Precision and Recall.
type Alignment struct {
	// Precision is the share of common tokens in the prediction, Recall that in the target. Both are 0
	// without tokens.
	Precision, Recall float64
	// Common is one longest common subsequence in order, nil if the table would exceed maxCells.
	Common []Word
}

// Align compares two texts and returns their common words. It takes time proportional to the
// product of their lengths. NumberedTarget.FMeasure is faster if only the score is needed.
func Align(target, prediction string) Alignment {
	targetWords, predictionWords := words(target), words(prediction)
	if len(targetWords) == 0 || len(predictionWords) == 0 {
		return Alignment{}
	}
	common := float64(NewTarget(target).commonLength(Tokenize(prediction)))
	alignment := Alignment{Precision: common / float64(len(predictionWords)), Recall: common / float64(len(targetWords))}
	if len(targetWords)*len(predictionWords) <= maxCells {
		alignment.Common = commonSubsequence(targetWords, predictionWords)
	}
	return alignment
}

// word is a token with its position in the text.
type word struct {
	stem       string
	start, end int
}

// words is Tokenize with positions.
func words(text string) []word {
	var list []word
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		for _, stem := range Tokenize(text[start:end]) { // exactly one
			list = append(list, word{stem: stem, start: start, end: end})
		}
		start = -1
	}
	for i := 0; i < len(text); {
		letter, size, split := text[i], 1, false
		if letter >= utf8.RuneSelf {
			letter, size, split = foldNonASCII(text[i:])
		}
		isLetterOrDigit := letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9' || letter >= 'A' && letter <= 'Z'
		switch {
		case !isLetterOrDigit:
			flush(i)
		case start < 0:
			start = i
		}
		i += size
		if split {
			flush(i)
		}
	}
	flush(len(text))
	return list
}

// commonSubsequence returns the longest common subsequence with the earliest words.
func commonSubsequence(target, prediction []word) []Word {
	width := len(prediction) + 1
	longest := make([]int32, (len(target)+1)*width) // length of the longest subsequence from each pair of positions
	for i := len(target) - 1; i >= 0; i-- {
		for j := len(prediction) - 1; j >= 0; j-- {
			if target[i].stem == prediction[j].stem {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var common []Word
	for i, j := 0, 0; i < len(target) && j < len(prediction); {
		switch {
		case target[i].stem == prediction[j].stem:
			common = append(common, Word{target[i].start, target[i].end, prediction[j].start, prediction[j].end})
			i++
			j++
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return common
}
