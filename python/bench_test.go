package python_test

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// rows is what a tool answers that finds 20 messages.
var rows = "[" + strings.TrimSuffix(strings.Repeat(`{'message_id': '0a1b2c3d-0000-4a5b-8c9d-0123456789ab', 'sender_person_id': None, 'recipient_phone_number': '+12453344098', `+
	`'content': "Don't forget: café at 8", 'creation_timestamp': 1716922801.0, 'position': [38.5, -77, True]}, `, 20), ", ") + "]"

func BenchmarkParseLiteral(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.ParseLiteral(rows); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValue(b *testing.B) {
	value, err := syntax.ParseLiteral(rows)
	if err != nil {
		b.Fatal(err)
	}
	text := python.JSON(value)
	b.Run("ParseJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := python.ParseJSON(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("JSON", func(b *testing.B) {
		for b.Loop() {
			python.JSON(value)
		}
	})
	b.Run("Repr", func(b *testing.B) {
		for b.Loop() {
			python.Repr(value)
		}
	})
	again, _ := python.ParseJSON(text)
	b.Run("Equal", func(b *testing.B) {
		for b.Loop() {
			if !value.Equal(again) {
				b.Fatal("differ")
			}
		}
	})
}
