package tool

import (
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// setting returns a cell of the only row of settings, None without a row.
func setting(w *session.World, column string) python.Value {
	rows := w.Find(world.Setting, session.All(), w.Table(world.Setting).Column(column))
	if len(rows) == 0 {
		return python.None()
	}
	return rows[0][0]
}

// needWifi raises if wifi is off.
func needWifi(w *session.World) error {
	if !setting(w, string(NeedWifi)).Truth() {
		return raise("ConnectionError", "Wifi is not enabled")
	}
	return nil
}

// needLocation raises if location service is off.
func needLocation(w *session.World) error {
	if !setting(w, string(NeedLocationService)).Truth() {
		return raise("PermissionError", "Location service is not enabled.")
	}
	return nil
}
