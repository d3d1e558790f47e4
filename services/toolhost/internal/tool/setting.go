package tool

import (
	"context"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	settingModule = "setting"
	settingTable  = world.Setting
)

// phoneService is one of the phone's services that can be turned on and off.
type phoneService struct {
	column string
	// title is the service's name in error texts.
	title string
	// lowBatteryFirst checks low battery mode before the argument's type.
	lowBatteryFirst bool
}

const lowBatteryColumn = "low_battery_mode"

func phoneServices() []phoneService {
	return []phoneService{
		{column: "cellular", title: "Cellular service"},
		{column: "wifi", title: "Wifi"},
		{column: "location_service", title: "Location service", lowBatteryFirst: true},
	}
}

// settingTools returns the tools of the phone's settings.
func settingTools() []*Tool {
	onParam := func(description string) []Param {
		return []Param{{Name: "on", Type: Bool(), Description: "true turns " + description + " on, false turns it off."}}
	}
	getter := func(name, description, column string) *Tool {
		return &Tool{
			Name: name, Module: settingModule, ReadOnly: true,
			Description: "Tells whether " + description + " is on.",
			Answer:      func(w *session.World, _ Args) python.Value { return setting(w, column) },
		}
	}
	setter := func(name, description string, s phoneService) *Tool {
		return &Tool{
			Name: name, Module: settingModule, CheckLate: true,
			Description: "Turns " + description + " of the phone on or off. It cannot be turned on in low battery mode.",
			Params:      onParam(description),
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return python.None(), setService(w, args, s)
			},
		}
	}
	services := phoneServices()
	return []*Tool{
		setter("set_cellular_service_status", "cellular service", services[0]),
		getter("get_cellular_service_status", "cellular service", services[0].column),
		setter("set_wifi_status", "wifi", services[1]),
		getter("get_wifi_status", "wifi", services[1].column),
		setter("set_location_service_status", "location service", services[2]),
		getter("get_location_service_status", "location service", services[2].column),
		{
			Name: "set_low_battery_mode_status", Module: settingModule,
			Description: "Turns low battery mode of the phone on or off. Turning it on turns wifi, cellular and location service off.",
			Params:      onParam("low battery mode"),
			Run: func(_ context.Context, w *session.World, args Args) (python.Value, error) {
				return python.None(), setLowBattery(w, args)
			},
		},
		getter("get_low_battery_mode_status", "low battery mode", lowBatteryColumn),
		{
			Name: "get_current_location", Module: settingModule, ReadOnly: true, Needs: []Need{NeedLocationService},
			Description: "Returns the latitude and longitude at which the phone is.",
			Run:         func(_ context.Context, w *session.World, _ Args) (python.Value, error) { return currentLocation(w) },
		},
	}
}

// setting returns a cell of the only row of settings, None without a row.
func setting(w *session.World, column string) python.Value {
	rows := w.Find(settingTable, session.All(), columnOf(settingTable, column))
	if len(rows) == 0 {
		return python.None()
	}
	return rows[0][0]
}

// settingChange returns a change of a setting. As in the original, a null cell stays null.
func settingChange(column string, value python.Value) session.Change {
	return session.Change{Column: columnOf(settingTable, column), Value: value, KeepNull: true}
}

// isOn reports whether a setting is on. Null is off.
func isOn(w *session.World, column string) bool {
	on, _ := setting(w, column).AsBool()
	return on
}

func setService(w *session.World, args Args, s phoneService) error {
	unavailable := func() error {
		if args.Value("on").Truth() && isOn(w, lowBatteryColumn) {
			return raise("PermissionError", s.title+" cannot be turned on in low battery mode")
		}
		return nil
	}
	checks := []func() error{args.Check, unavailable}
	if s.lowBatteryFirst {
		checks = []func() error{unavailable, args.Check}
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	if err := checkDifferent(w, args, s.column); err != nil {
		return err
	}
	w.Update(settingTable, session.All(), settingChange(s.column, args.Value("on")))
	return nil
}

// checkDifferent raises if a setting already has the wanted value. Null counts as off.
func checkDifferent(w *session.World, args Args, column string) error {
	if isOn(w, column) != args.Bool("on") {
		return nil
	}
	state := map[bool]string{false: "disabled", true: "enabled"}[args.Bool("on")]
	return raise("ValueError", column+" already "+state)
}

func setLowBattery(w *session.World, args Args) error {
	if err := checkDifferent(w, args, lowBatteryColumn); err != nil {
		return err
	}
	changes := []session.Change{settingChange(lowBatteryColumn, args.Value("on"))}
	if args.Bool("on") {
		for _, s := range phoneServices() {
			changes = append(changes, settingChange(s.column, python.Bool(false)))
		}
	}
	w.Update(settingTable, session.All(), changes...)
	return nil
}

// needWifi raises if wifi is off.
func needWifi(w *session.World) error {
	if !isOn(w, "wifi") {
		return raise("ConnectionError", "Wifi is not enabled")
	}
	return nil
}

// needLocation raises if location service is off.
func needLocation(w *session.World) error {
	if !isOn(w, "location_service") {
		return raise("PermissionError", "Location service is not enabled.")
	}
	return nil
}

func currentLocation(w *session.World) (python.Value, error) {
	if err := needLocation(w); err != nil {
		return python.Value{}, err
	}
	return python.DictOf(
		python.Item{Key: "latitude", Value: setting(w, "latitude")},
		python.Item{Key: "longitude", Value: setting(w, "longitude")},
	), nil
}
