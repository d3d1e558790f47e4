package tool

import (
	"context"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	contactModule = "contact"
	contactTable  = world.Contact
	// contactCutoff is the minimum score of a matching name or relationship.
	contactCutoff = 90
)

// contactTools returns the tools of the address book.
func contactTools() []*Tool {
	return []*Tool{
		{
			Name: "add_contact", Module: contactModule,
			Description: "Stores a new contact in the address book and returns the id that the contact got.",
			Params: []Param{
				{Name: "name", Type: Str(), Description: "Full name of the person."},
				{Name: "phone_number", Type: Str(), Description: "Phone number with the country code, for example +15551234567."},
				{Name: "relationship", Type: OptionalStr(), Optional: true, Description: "What the person is to the owner of the phone, for example friend."},
				{Name: "is_self", Type: Bool(), Optional: true, Default: python.Bool(false), Description: "Whether this is the owner of the phone. Only one contact can be."},
			},
			Check: func(args Args) error { return checkPhone(args.Value("phone_number")) },
			Run:   addContact,
		},
		{
			Name: "modify_contact", Module: contactModule,
			Description: "Changes the given fields of a contact and leaves the others as they are.",
			Params: []Param{
				{Name: "person_id", Type: Str(), Description: "Id of the contact to change."},
				{Name: "name", Type: StrOrNotGiven(), Optional: true, Description: "New full name."},
				{Name: "phone_number", Type: StrOrNotGiven(), Optional: true, Description: "New phone number with the country code."},
				{Name: "relationship", Type: StrOrNotGiven(), Optional: true, Description: "New relationship to the owner of the phone."},
				{Name: "is_self", Type: BoolOrNotGiven(), Optional: true, Description: "Whether this is the owner of the phone. Only one contact can be."},
			},
			Check: checkModifyContact,
			Run:   modifyContact,
		},
		{
			Name: "remove_contact", Module: contactModule, ConsentAction: "remove a contact",
			Description: "Deletes a contact from the address book.",
			Params:      []Param{{Name: "person_id", Type: Str(), Description: "Id of the contact to delete."}},
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return python.None(), removeRows(w, contactTable, "person_id", args.Value("person_id"))
			},
		},
		searching(contactTable, map[string]float64{"name": contactCutoff, "relationship": contactCutoff}, checkPhoneArgument, Tool{
			Name: "search_contacts", Module: contactModule, ReadOnly: true, Unchecked: true,
			Description: "Finds contacts that fit all of the given fields. Name and relationship may differ a little in spelling.",
			Params: []Param{
				{Name: "person_id", Type: StrOrNotGiven(), Optional: true, Description: "Exact id of the contact."},
				{Name: "name", Type: StrOrNotGiven(), Optional: true, Description: "Name or part of the name."},
				{Name: "phone_number", Type: StrOrNotGiven(), Optional: true, Description: "Phone number exactly as it is stored, with the country code."},
				{Name: "relationship", Type: StrOrNotGiven(), Optional: true, Description: "Relationship to the owner of the phone."},
				{Name: "is_self", Type: BoolOrNotGiven(), Optional: true, Description: "Whether the contact is the owner of the phone."},
			},
		}),
	}
}

func addContact(_ context.Context, w *session.World, args Args) (python.Value, error) {
	id := python.Str(w.NewID())
	if args.Bool("is_self") {
		if err := checkSingleSelf(w, python.None()); err != nil {
			return python.Value{}, err
		}
	}
	row := session.Row{id, args.Value("name"), args.Value("phone_number"), args.Value("relationship"), args.Value("is_self")}
	if err := addRow(w, contactTable, row); err != nil {
		return python.Value{}, err
	}
	return id, nil
}

// isSelf selects the contact of the phone's owner.
func isSelf() session.Where { return whereEqual(contactTable, "is_self", python.Bool(true)) }

// checkSingleSelf raises if another contact than the one with the given id is the phone's owner.
func checkSingleSelf(w *session.World, id python.Value) error {
	selves := w.Find(contactTable, isSelf(), columnOf(contactTable, "person_id"))
	if slices.ContainsFunc(selves, func(row session.Row) bool { return row[0].Equal(id) }) {
		return nil
	}
	if len(selves) > 0 {
		return raise(duplicateError, "Self entry already exists. Cannot add another one.")
	}
	return nil
}

// contactFields returns the fields that modify_contact can change.
func contactFields() []string { return []string{"name", "phone_number", "relationship", "is_self"} }

func checkModifyContact(args Args) error {
	if err := needFields(args, "contact", contactFields()); err != nil {
		return err
	}
	return checkPhoneArgument(args)
}

func checkPhoneArgument(args Args) error { return checkPhones(args, "phone_number") }

func modifyContact(_ context.Context, w *session.World, args Args) (python.Value, error) {
	if args.Bool("is_self") {
		if err := checkSingleSelf(w, args.Value("person_id")); err != nil {
			return python.Value{}, err
		}
	}
	return python.None(), modifyRow(w, contactTable, "person_id", args.Value("person_id"), changesFromArguments(contactTable, args, contactFields())...)
}
