package launch

import "runtime/debug"

// heapGrowth is how much may be allocated, in percent of what is in use, before garbage is collected. While it is, everything else goes at half its speed: with 200
// the last of 5,000 rollouts at once end a second later, and two thirds of the memory do. A limit in GOMEMLIMIT holds all the same.
const heapGrowth = 400

// Heap lets the garbage collector of this process run less often, unless GOGC in the environment says how often it shall.
func Heap(env func(string) (string, bool)) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(heapGrowth)
	}
}
