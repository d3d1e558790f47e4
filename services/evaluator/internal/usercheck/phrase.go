package usercheck

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed phrases.txt
var phraseFile string

// blocks are the lines of each block of phrases.txt. An invalid file panics, as regexp.MustCompile
// does, because it is part of the program. TestPhrases compiles each block.
var blocks = readBlocks(phraseFile)

// blockName matches a reference to a block in a phrase.
var blockName = regexp.MustCompile(`\{[a-z_]+\}`)

// readBlocks returns the lines of each block by name. A line of a block begins with a tab, a
// comment with a hash.
func readBlocks(text string) map[string][]string {
	found := make(map[string][]string)
	name := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch content, inside := strings.CutPrefix(line, "\t"); {
		case inside:
			found[name] = append(found[name], content)
		case line != "" && !strings.HasPrefix(line, "#"):
			name = line
		}
	}
	return found
}

// block returns the lines of a block.
func block(name string) []string {
	lines, ok := blocks[name]
	if !ok {
		panic("usercheck: phrases.txt has no block " + name)
	}
	return lines
}

// phrase returns the regular expression of a block, compiled by the first call: most processes
// check no user. It matches any line of the block, ignoring case.
func phrase(name string) func() *regexp.Regexp {
	block(name) // an unknown one panics at once
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?i)" + alternatives(name)) })
}

func alternatives(name string) string {
	return blockName.ReplaceAllStringFunc(strings.Join(block(name), "|"), func(part string) string {
		return "(" + alternatives(strings.Trim(part, "{}")) + ")"
	})
}

// wordList returns the words of a block.
func wordList(name string) []string { return strings.Fields(strings.Join(block(name), " ")) }
