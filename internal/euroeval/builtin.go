package euroeval

import (
	"embed"
	"io/fs"
)

// BuiltinName is the name of the built-in data set and of its pack.
const BuiltinName = "euroeval"

//go:embed data/*/*.jsonl data/*/possible_answer/*.jsonl
var builtinFiles embed.FS

// Files returns the files of the built-in data set for Load, with a folder for each language.
func Files() fs.FS {
	files, err := fs.Sub(builtinFiles, "data")
	if err != nil {
		panic(err) // the path is valid
	}
	return files
}
