package launch

import "runtime/debug"

// heapGrowth is how much may be allocated, in percent of what is in use, before garbage is collected. With Go's own 100 thousands of rollouts
// at once take an eighth more processor time.
const heapGrowth = 300

// Heap lets the garbage collector of this process run less often, unless GOGC in the environment says how often it shall.
func Heap(env func(string) (string, bool)) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(heapGrowth)
	}
}
