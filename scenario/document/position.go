package document

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// TextPosition is the position of a text's first character in its file. line is 0 if it is unknown.
type TextPosition struct {
	Line, Column int
}

// insideScalar returns the start of a plain or quoted text on one line without escapes.
func insideScalar(t *token.Token) TextPosition {
	written := strings.TrimSpace(t.Origin)
	switch {
	case t.Position == nil || t.Value == "":
	case written == t.Value:
		return TextPosition{t.Position.Line, t.Position.Column}
	case written == `"`+t.Value+`"` || written == `'`+t.Value+`'`:
		return TextPosition{t.Position.Line, t.Position.Column + 1}
	}
	return TextPosition{}
}

// insideBlock returns the start of a text in a literal block.
func insideBlock(node *ast.LiteralNode) TextPosition {
	header, text := node.GetToken(), node.Value.GetToken()
	if header == nil || header.Type != token.LiteralType || header.Position == nil || text == nil {
		return TextPosition{}
	}
	indent := len(text.Origin) - len(strings.TrimLeft(text.Origin, " "))
	return TextPosition{header.Position.Line + 1, indent + 1}
}
