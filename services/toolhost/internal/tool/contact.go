package tool

import (
	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	contactModule = "contact"
	contactTable  = worldv1.TableName_TABLE_NAME_CONTACT
	// contactCutoff is the score from which a name or a relationship matches a search.
	contactCutoff = 90
)

// contactTools declares the tools of the address book.
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
			Run: addContact,
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
			Run: modifyContact,
		},
		{
			Name: "remove_contact", Module: contactModule,
			Description: "Deletes a contact from the address book.",
			Params:      []Param{{Name: "person_id", Type: Str(), Description: "Id of the contact to delete."}},
			Run: func(w *session.World, args Args) (python.Value, error) {
				return python.None(), removeRows(w, contactTable, "person_id", args.Str("person_id"), "(Stri…")
			},
		},
		{
			Name: "search_contacts", Module: contactModule, Unchecked: true,
			Description: "Finds contacts that fit all of the given fields. Name and relationship may differ a little in spelling.",
			Params: []Param{
				{Name: "person_id", Type: StrOrNotGiven(), Optional: true, Description: "Exact id of the contact."},
				{Name: "name", Type: StrOrNotGiven(), Optional: true, Description: "Name or part of the name."},
				{Name: "phone_number", Type: StrOrNotGiven(), Optional: true, Description: "Phone number exactly as it is stored, with the country code."},
				{Name: "relationship", Type: StrOrNotGiven(), Optional: true, Description: "Relationship to the owner of the phone."},
				{Name: "is_self", Type: BoolOrNotGiven(), Optional: true, Description: "Whether the contact is the owner of the phone."},
			},
			Run: searchContacts,
		},
	}
}

func addContact(w *session.World, args Args) (python.Value, error) {
	if err := checkPhone(args.Value("phone_number")); err != nil {
		return python.Value{}, err
	}
	id := python.Str(w.NewID())
	if args.Bool("is_self") {
		if err := refuseSecondSelf(w); err != nil {
			return python.Value{}, err
		}
	}
	row := session.Row{id, args.Value("name"), args.Value("phone_number"), args.Value("relationship"), args.Value("is_self")}
	w.Write(contactTable, append(append([]session.Row(nil), w.Rows(contactTable)...), row))
	return id, nil
}

func refuseSecondSelf(w *session.World) error {
	column := world.Contact().Column("is_self")
	for _, row := range w.Rows(contactTable) {
		if is, _ := row[column].AsBool(); is {
			return raise("polars.exceptions.DuplicateError", "Self entry already exists. Cannot add another one.")
		}
	}
	return nil
}

func modifyContact(w *session.World, args Args) (python.Value, error) {
	fields := []string{"name", "phone_number", "relationship", "is_self"}
	if !anyGiven(args, fields) {
		return python.Value{}, raise("ValueError", "No update information given. At least one new field should be provided among [name, phone_number, relationship, is_self] in order to modify contact")
	}
	if args.Given("phone_number") {
		if err := checkPhone(args.Value("phone_number")); err != nil {
			return python.Value{}, err
		}
	}
	if args.Bool("is_self") {
		if err := refuseSecondSelf(w); err != nil {
			return python.Value{}, err
		}
	}
	return python.None(), modifyRow(w, contactTable, "person_id", args, fields)
}

func searchContacts(w *session.World, args Args) (python.Value, error) {
	if args.Given("phone_number") {
		if err := checkPhone(args.Value("phone_number")); err != nil {
			return python.Value{}, err
		}
	}
	s := search{
		table: contactTable,
		filters: []filter{
			{column: "person_id", param: "person_id"},
			{column: "name", param: "name", cutoff: contactCutoff},
			{column: "phone_number", param: "phone_number"},
			{column: "relationship", param: "relationship", cutoff: contactCutoff},
			{column: "is_self", param: "is_self"},
		},
	}
	return s.run(w, args)
}
