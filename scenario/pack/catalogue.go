package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
)

// These are the name and number of Catalogue's only field.
const (
	scenariosField       = "scenarios"
	scenariosFieldNumber = 1
)

// eachEncoded calls yield for each scenario of a Catalogue in wire format until yield returns
// false. It never decodes the complete catalogue, because a small wire format may need much memory.
func eachEncoded(data []byte, yield func(*scenariov1.Scenario) bool) error {
	for len(data) > 0 {
		number, kind, length := protowire.ConsumeTag(data)
		if length < 0 {
			return protowire.ParseError(length)
		}
		data = data[length:]
		if number != scenariosFieldNumber || kind != protowire.BytesType {
			if length = protowire.ConsumeFieldValue(number, kind, data); length < 0 {
				return protowire.ParseError(length)
			}
			data = data[length:]
			continue
		}
		wire, length := protowire.ConsumeBytes(data)
		if length < 0 {
			return protowire.ParseError(length)
		}
		data = data[length:]
		s := &scenariov1.Scenario{}
		if err := proto.Unmarshal(wire, s); err != nil {
			return err
		}
		if !yield(s) {
			return nil
		}
	}
	return nil
}

// eachInJSON is eachEncoded for a Catalogue in JSON.
func eachInJSON(data []byte, yield func(*scenariov1.Scenario) bool) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := expect(decoder, json.Delim('{')); err != nil {
		return err
	}
	for seen := false; decoder.More(); seen = true {
		if err := expect(decoder, scenariosField); err != nil {
			return err
		}
		if seen {
			return fmt.Errorf("%q occurs twice", scenariosField)
		}
		if err := expect(decoder, json.Delim('[')); err != nil {
			return err
		}
		for decoder.More() {
			var text json.RawMessage
			if err := decoder.Decode(&text); err != nil {
				return err
			}
			s := &scenariov1.Scenario{}
			if err := protojson.Unmarshal(text, s); err != nil {
				return err
			}
			if !yield(s) {
				return nil
			}
		}
		if err := expect(decoder, json.Delim(']')); err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end of the catalogue")
	}
	return nil
}

// expect reads the next token.
func expect(decoder *json.Decoder, want json.Token) error {
	got, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && got != want {
		err = fmt.Errorf("%v stands where %v was expected", got, want)
	}
	return err
}
