package porttest

import "testing"

// Address returns an address of this machine that is reserved until the test ends.
func Address(tb testing.TB) string {
	tb.Helper()
	address, release, err := Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := release(); err != nil {
			tb.Error(err)
		}
	})
	return address
}
