package tool

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// argumentNames are the names of a tool's arguments under AUGMENTATION_ARG_NAME_SCRAMBLED: arg_<n>,
// n counting the real names in alphabetical order from 0.
type argumentNames []string

func namesOf(t *Tool) argumentNames {
	var names argumentNames
	for i := range t.Params {
		names = append(names, t.Params[i].Name)
	}
	slices.Sort(names)
	return names
}

// shown returns the scrambled name of an argument.
func (n argumentNames) shown(name string) string {
	return "arg_" + strconv.Itoa(slices.Index(n, name))
}

// identifier finds words of a text that can only be names: those with an underscore.
var identifier = regexp.MustCompile(`\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b`)

// described replaces names of arguments in a description.
func (n argumentNames) described(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(word string) string {
		if slices.Contains(n, word) {
			return n.shown(word)
		}
		return word
	})
}

// raised replaces quoted names of arguments in the text of an exception.
func (n argumentNames) raised(err error) error {
	exception, ok := errors.AsType[*python.Exception](err)
	if !ok {
		return err
	}
	changed := *exception
	for _, name := range n {
		changed.Text = strings.ReplaceAll(changed.Text, "'"+name+"'", "'"+n.shown(name)+"'")
	}
	changed.Text = n.described(changed.Text)
	return &changed
}

// withScrambledArguments returns the tool for callers that know its arguments by scrambled names.
// Its traces have the real ones.
func (t *Tool) withScrambledArguments() *Tool {
	names := namesOf(t)
	scrambled := *t
	scrambled.argumentNames = names
	scrambled.Description = names.described(t.Description)
	scrambled.Params = slices.Clone(t.Params)
	for i := range scrambled.Params {
		param := &scrambled.Params[i]
		param.Name, param.Description = names.shown(param.Name), names.described(param.Description)
	}
	scrambled.setSignature()
	if t.Check != nil {
		scrambled.Check = func(args Args) error { return names.raised(t.Check(args)) }
	}
	if t.Run != nil {
		scrambled.Run = func(ctx context.Context, w *session.World, args Args) (python.Value, error) {
			result, err := t.Run(ctx, w, args)
			return result, names.raised(err)
		}
	}
	return &scrambled
}
