package celexpr

import "testing"

// BenchmarkExtract extracts one value, and four alternatives, from a trace.
func BenchmarkExtract(b *testing.B) {
	for _, name := range []string{"result_to_timestamp0_extractor", "result_to_temperature_extractor"} {
		extractor, ok := BuiltIn(name)
		if !ok {
			b.Fatalf("no extractor %s", name)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := extractor.Extract(Trace{Result: 12.5}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCompileExtractor compiles one extractor.
func BenchmarkCompileExtractor(b *testing.B) {
	for b.Loop() {
		if _, err := CompileExtractor(`[{"a": float(trace.result)}]`); err != nil {
			b.Fatal(err)
		}
	}
}
