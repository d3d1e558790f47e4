package euroeval

import (
	"embed"
	"io/fs"
)

// BuiltinName names the data set that is part of the program, and as a pack.
const BuiltinName = "euroeval"

//go:embed data/*/*.jsonl data/*/possible_answer/*.jsonl
var builtinFiles embed.FS

// Files returns the files of the data set that is part of the program, for Load: a folder for each
// language.
func Files() fs.FS {
	files, err := fs.Sub(builtinFiles, "data")
	if err != nil {
		panic(err) // only for a path that is none
	}
	return files
}
