package bus

import "crypto/sha256"

// Owner returns which of some candidates owns a name, by rendezvous hashing: the one with the
// highest hash of itself and the name. It is empty without candidates. All who know the same
// candidates get the same owner. A candidate that comes or goes moves only its own names.
func Owner(candidates []string, name string) string {
	if len(candidates) == 1 {
		return candidates[0]
	}
	var owner string
	var highest [sha256.Size]byte
	for _, candidate := range candidates {
		sum := sha256.Sum256([]byte(candidate + "\x00" + name))
		if owner == "" || string(sum[:]) > string(highest[:]) {
			owner, highest = candidate, sum
		}
	}
	return owner
}
