package tool

import (
	"context"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	messagingModule = "messaging"
	messagingTable  = world.Messaging
	// contentCutoff is the minimum score of a matching text of a message or reminder.
	contentCutoff = 50
)

// messagingTools returns the tools of text messages.
func messagingTools() []*Tool {
	return []*Tool{
		{
			Name: "send_message_with_phone_number", Module: messagingModule, Needs: []Need{NeedCellular}, ConsentAction: "send a text message",
			Description: "Sends a text message to a phone number and returns the id that the message got.",
			Params: []Param{
				{Name: "phone_number", Type: Str(), Description: "Phone number of the recipient with the country code, for example +15551234567."},
				{Name: "content", Type: Str(), Description: "Text of the message."},
			},
			Check: func(args Args) error { return checkPhone(args.Value("phone_number")) },
			Run:   sendMessage,
		},
		searching(messagingTable, map[string]float64{"content": contentCutoff}, checkMessageSearch, Tool{
			Name: "search_messages", Module: messagingModule, ReadOnly: true,
			Description: "Finds text messages that fit all of the given fields. The text may differ in wording.",
			Params: []Param{
				{Name: "message_id", Type: StrOrNotGiven(), Optional: true, Description: "Exact id of the message."},
				{Name: "sender_person_id", Type: StrOrNotGiven(), Optional: true, Description: "Contact id of the sender."},
				{Name: "sender_phone_number", Type: StrOrNotGiven(), Optional: true, Description: "Phone number of the sender exactly as it is stored, with the country code."},
				{Name: "recipient_person_id", Type: StrOrNotGiven(), Optional: true, Description: "Contact id of the recipient."},
				{Name: "recipient_phone_number", Type: StrOrNotGiven(), Optional: true, Description: "Phone number of the recipient exactly as it is stored, with the country code."},
				{Name: "content", Type: StrOrNotGiven(), Optional: true, Description: "Text of the message or part of it."},
				{Name: "creation_timestamp_lowerbound", Type: FloatOrNotGiven(), Optional: true, Description: "Earliest time at which the message was sent, in POSIX seconds."},
				{Name: "creation_timestamp_upperbound", Type: FloatOrNotGiven(), Optional: true, Description: "Latest time at which the message was sent, in POSIX seconds."},
			},
		}),
	}
}

func checkMessageSearch(args Args) error {
	if err := checkPhones(args, "sender_phone_number", "recipient_phone_number"); err != nil {
		return err
	}
	return inClockRange(args, "creation_timestamp_lowerbound", "creation_timestamp_upperbound")
}

func sendMessage(_ context.Context, w *session.World, args Args) (python.Value, error) {
	if !isOn(w, "cellular") {
		return python.Value{}, raise("ConnectionError", "Cellular service is not enabled")
	}
	id := python.Str(w.NewID())
	if selves := w.Count(contactTable, isSelf()); selves != 1 {
		return python.Value{}, raise(duplicateError,
			"1 and only 1 self entry should exist in contacts database, instead found "+strconv.Itoa(selves))
	}
	number := args.Value("phone_number")
	if err := encodable(number); err != nil {
		return python.Value{}, err
	}
	now, err := currentTimestamp(w)
	if err != nil {
		return python.Value{}, err
	}
	person, none := whereEqual(contactTable, "phone_number", number), python.None()
	err = addRow(w, messagingTable, session.Row{id, none, none, none, number, args.Value("content"), now},
		copyFromContact("sender_person_id", isSelf(), "person_id"),
		copyFromContact("sender_phone_number", isSelf(), "phone_number"),
		copyFromContact("recipient_person_id", person, "person_id"))
	if err != nil {
		return python.Value{}, err
	}
	return id, nil
}

// copyFromContact copies a cell of a message from the first contact that a condition selects.
func copyFromContact(to string, contact session.Where, column string) session.Copy {
	return session.Copy{To: columnOf(messagingTable, to), Table: contactTable, Where: contact, Cell: columnOf(contactTable, column)}
}
